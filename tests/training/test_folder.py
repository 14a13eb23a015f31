"""The folder of a run by itself, without a training: what is noted in it and when, by which process, and its lock."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.utilities import rank_zero_only
from test_locking import another_process_holds
from tiny_runs import no_file_longer_than
from training_runs import learner

from videopred.checkpoint import DataRecord
from videopred.training.folder import RunFolder
from videopred.training.resuming import read_settings

DATA = DataRecord(path="/data/d.h5", name="balls4", sha256="ab12")
CONFIG = learner().config.model_copy(update={"data": DATA})


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    """Of a run that has begun."""
    folder = RunFolder(tmp_path / "run")
    folder.begin(CONFIG, "cuda:3", overwrite=False)
    return folder


def record(folder: RunFolder) -> dict[str, Any]:
    return read_settings(folder.path)[1]


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_from_its_beginning_it_says_that_it_runs_and_where(folder):
    """Whoever lists runs sees whether that process lives."""
    told = record(folder)
    assert (told["state"], told["device"], told["process"]) == ("running", "cuda:3", os.getpid())
    assert told["data"] == DATA.model_dump()
    assert read_settings(folder.path)[0] == CONFIG
    assert not {"finished", "updates", "seconds"} & set(told)


def test_a_resumed_run_is_that_of_its_new_process_with_all_that_were_before(folder):
    before = record(folder) | {"process": 1, "state": "interrupted", "updates": 3, "finished": "then"}
    for done in (3, 4):
        folder.go_on(CONFIG, before, "cpu", done)
        before = record(folder)
        assert (before["state"], before["device"], before["process"]) == ("running", "cpu", os.getpid())
        assert not {"finished", "updates"} & set(before)
    assert [start["updates"] for start in before["resumed"]] == [3, 4]
    folder.end("finished", 9)
    told = record(folder)
    assert (told["state"], told["updates"], told["data"]) == ("finished", 9, DATA.model_dump())
    assert told["finished"] >= told["started"]


def test_the_time_of_all_its_processes_adds_up(folder):
    folder.go_on(CONFIG, {"seconds": 4000.0, "cpu_seconds": 7000.0}, "cpu", 3)
    folder.end("finished", 5)
    assert 4000 <= record(folder)["seconds"] < 5000
    assert 7000 <= record(folder)["cpu_seconds"] < 8000


def test_the_time_of_a_process_that_is_killed_counts_up_to_its_last_save(folder):
    folder.go_on(CONFIG, {"seconds": 4000.0, "cpu_seconds": 7000.0}, "cpu", 3)
    folder.settle()  # which every save calls
    told = record(folder)
    assert (told["state"], "updates" in told) == ("running", False)
    again = RunFolder(folder.path)
    again.go_on(CONFIG, told, "cpu", 4)
    again.end("finished", 5)
    assert record(again)["seconds"] >= 4000
    assert record(again)["cpu_seconds"] >= 7000


def test_a_disk_that_is_full_does_not_end_a_training_that_has_just_saved(folder):
    with no_file_longer_than(10):
        folder.settle()
    assert record(folder)["state"] == "running"


def test_the_run_is_let_go_even_where_its_end_cannot_be_noted(folder):
    """A process that goes on after a failed training may be a notebook, which lives for days."""
    with pytest.raises(AssertionError), another_process_holds(folder.path):
        pass
    with pytest.raises(OSError, match=r"run\.json must be a file that can be written"), no_file_longer_than(10):
        folder.end("finished", 5)
    with another_process_holds(folder.path):
        pass


def test_other_processes_than_the_first_write_nothing(folder, monkeypatch):
    aside = folder.path.with_name(".run.replaced")
    aside.mkdir()
    monkeypatch.setattr(rank_zero_only, "rank", 1, raising=False)
    before = files_of(folder.path.parent)
    second = RunFolder(folder.path)
    second.begin(CONFIG, "cpu", overwrite=True)
    second.take_up()
    second.go_on(CONFIG.model_copy(update={"data": None}), json.loads("{}"), "cpu", 3)
    second.settle()
    second.end("failed", 4)
    assert files_of(folder.path.parent) == before
    assert aside.exists()
