"""Where a run came from."""

import json
import os
import platform
import re
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import videopred
from videopred.training.provenance import TimeSpent, commit, provenance


def test_what_is_known_before_the_first_update(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/some/where/videopred", "train", "my data.h5", "--seed", "3"])
    told = provenance()
    assert told["command"] == "videopred train 'my data.h5' --seed 3"
    assert told["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert {"videopred", "lightning", "numpy", "h5py"} < set(told["versions"])
    assert (told["process"], told["host"], told["threads"]) == (os.getpid(), platform.node(), torch.get_num_threads())
    assert told["commit"] == commit(Path(videopred.__file__).parent)
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{3}\+00:00", told["started"])  # of two in a second, each has its own
    assert json.loads(json.dumps(told)) == told


def test_a_module_that_is_run_is_called_as_its_command(monkeypatch):
    """`python -m videopred`; another package's module of that name is not ours."""
    home = Path(videopred.__file__).parent
    for program, named in ((home / "__main__.py", "videopred"), ("/some/where/__main__.py", "__main__.py")):
        monkeypatch.setattr("sys.argv", [str(program), "train", "two.h5"])
        assert provenance()["command"] == f"{named} train two.h5"


@pytest.mark.parametrize("program", ["/env/ipykernel_launcher.py", "", "-c"])
def test_what_a_notebook_or_an_interpreter_was_started_with_is_no_command(monkeypatch, program):
    monkeypatch.setattr("sys.argv", [program, "-f", "/tmp/kernel.json"])
    assert "command" not in provenance()


def test_nor_is_what_began_with_a_prompt(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/env/bin/ipython", "--no-banner"])
    monkeypatch.setattr("sys.ps1", "In : ", raising=False)
    assert "command" not in provenance()


def test_a_run_knows_the_job_it_is_of(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert "job" not in provenance()
    monkeypatch.setenv("SLURM_JOB_ID", "1234")
    assert provenance()["job"] == "1234"


def set_clocks(monkeypatch: pytest.MonkeyPatch, clock: float, *worked: float) -> None:
    """Worked: CPU time of the process and of the system for it, and those of its children."""
    names = ("user", "system", "children_user", "children_system")
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    monkeypatch.setattr(os, "times", lambda: SimpleNamespace(**dict(zip(names, worked, strict=True))))


def test_time_spent_is_that_of_the_clock_and_of_all_that_worked(monkeypatch):
    set_clocks(monkeypatch, 500, 10, 1, 3, 0)
    spent = TimeSpent()
    assert spent.so_far() == {"seconds": 0, "cpu_seconds": 0}
    set_clocks(monkeypatch, 560.04, 40, 3, 8, 0.5)
    assert spent.so_far() == {"seconds": 60, "cpu_seconds": 37.5}  # 30 + 2 + 5 + 0.5


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ({"seconds": 4000.0, "cpu_seconds": 7000.0}, {"seconds": 4060, "cpu_seconds": 7020}),
        ({}, {"seconds": 60, "cpu_seconds": 20}),  # killed before it saved
    ],
)
def test_what_was_spent_before_adds_up(monkeypatch, before, told):
    set_clocks(monkeypatch, 0, 0, 0, 0, 0)
    spent = TimeSpent()
    spent.add(before)
    set_clocks(monkeypatch, 60, 20, 0, 0, 0)
    assert spent.so_far() == told


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@b"]
    return subprocess.run(["git", "-C", folder, *who, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Path:
    """A repository with one commit, which holds a package."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # in a hook of git's they name the repository that it is of
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
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
    (checkout / "link").symlink_to(checkout)
    assert commit(checkout / "link" / "package") == head
    (checkout / "package" / "code.py").write_text("2\n")
    assert commit(checkout / "package") == f"{head}, changed"


def test_looking_for_changes_changes_nothing_in_the_repository(checkout):
    """`git status` would take a lock, and note in the index that a file was touched and is the same."""
    os.utime(checkout / "package" / "code.py", (1, 1))
    before = (checkout / ".git" / "index").read_bytes()
    assert commit(checkout / "package") == git(checkout, "rev-parse", "HEAD").strip()
    assert (checkout / ".git" / "index").read_bytes() == before


def test_outside_a_checkout_there_is_no_commit(checkout, tmp_path_factory, monkeypatch):
    """An environment inside somebody's repository is no checkout of ours."""
    installed = checkout / ".venv" / "site-packages" / "package"
    installed.mkdir(parents=True)
    assert commit(installed) is None
    assert commit(tmp_path_factory.mktemp("nowhere")) is None
    monkeypatch.setenv("PATH", "")
    assert commit(checkout / "package") is None
