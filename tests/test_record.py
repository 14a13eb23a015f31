"""Where a run came from."""

import json
import os
import platform
import subprocess
from pathlib import Path

import pytest
import torch

from videopred.record import commit, ending, provenance


def test_what_is_known_before_the_first_update(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/some/where/videopred", "train", "my data.h5", "--seed", "3"])
    told = provenance()
    assert told["command"] == "videopred train 'my data.h5' --seed 3"
    assert told["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert {"videopred", "lightning", "numpy", "h5py"} < set(told["versions"])
    assert (told["process"], told["host"], told["threads"]) == (os.getpid(), platform.node(), torch.get_num_threads())
    assert json.loads(json.dumps(told)) == told


def test_what_is_known_at_the_end(monkeypatch):
    monkeypatch.setattr("videopred.record.now", lambda: "2026-03-01T00:00:30+00:00")
    told = ending({"started": "2026-02-28T23:59:00+00:00"}, "interrupted")
    assert told == {"state": "interrupted", "finished": "2026-03-01T00:00:30+00:00", "seconds": 90}


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@b"]
    return subprocess.run(["git", "-C", folder, *who, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A repository with one commit, which holds a package."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "code.py").write_text("1\n")
    git(tmp_path, "init")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_the_commit_of_a_checkout(checkout):
    head = git(checkout, "rev-parse", "HEAD").strip()
    assert commit(checkout / "package") == head
    (checkout / "notes.txt").write_text("not of the package\n")
    assert commit(checkout / "package") == head
    (checkout / "package" / "code.py").write_text("2\n")
    assert commit(checkout / "package") == f"{head}, changed"


def test_outside_a_checkout_there_is_no_commit(checkout, tmp_path_factory, monkeypatch):
    """An environment inside somebody's repository is no checkout of ours."""
    installed = checkout / ".venv" / "site-packages" / "package"
    installed.mkdir(parents=True)
    assert commit(installed) is None
    assert commit(tmp_path_factory.mktemp("nowhere")) is None
    monkeypatch.setenv("PATH", "")
    assert commit(checkout / "package") is None
