"""The folder of a run by itself, without a training: what is noted in it and when, by which process, and its lock."""

import json
import os
import platform
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.utilities import rank_zero_only
from test_locking import another_process_holds
from tiny_runs import files_of, no_file_longer_than
from training_runs import learner

from videopred.checkpoint import DataRecord
from videopred.files import write_json
from videopred.run_files import aside as beside
from videopred.systems import home_of_processes
from videopred.training.aside import bring_back
from videopred.training.folder import RunFolder
from videopred.training.provenance import provenance
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


def test_from_its_beginning_it_says_that_it_runs_and_where(folder):
    """Whoever lists runs sees whether that process lives."""
    told = record(folder)
    assert (told["state"], told["device"], told["process"]) == ("running", "cuda:3", os.getpid())
    assert told["data"] == DATA.model_dump()
    assert read_settings(folder.path)[0] == CONFIG
    assert not {"finished", "updates", "seconds"} & set(told)


def test_what_is_stopped_while_it_looks_where_it_runs_leaves_nothing_and_moves_nothing(folder, monkeypatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    folder.end("interrupted", 3)
    before = files_of(folder.path)
    monkeypatch.setattr("videopred.training.folder.provenance", interrupted)
    for path, overwrite in ((folder.path, True), (folder.path.with_name("new"), False)):
        with pytest.raises(KeyboardInterrupt):
            RunFolder(path).begin(CONFIG, "cpu", overwrite)
    assert [path.name for path in folder.path.parent.iterdir()] == ["run"]
    assert files_of(folder.path) == before


NO_TEXT = os.fsdecode(b"l\xe4tin")
TOLD_IN = [{"data": DATA.model_copy(update={"path": f"/data/{NO_TEXT}.h5"})}, {"init_from": f"/runs/{NO_TEXT}"}]


@pytest.mark.parametrize(("name", "changes"), [(NO_TEXT, {}), ("new", TOLD_IN[0]), ("run", TOLD_IN[1])])
def test_names_that_are_no_text_are_refused_before_a_run_begins(folder, name, changes):
    """It would fail as it saves, and be in the way of the same command with PYTHONUTF8=1."""
    folder.end("finished", 5)
    before = files_of(folder.path.parent)
    with pytest.raises(UnicodeEncodeError):
        RunFolder(folder.path.with_name(name)).begin(CONFIG.model_copy(update=changes), "cpu", overwrite=True)
    assert files_of(folder.path.parent) == before
    assert [path.name for path in folder.path.parent.iterdir()] == ["run"]


def test_a_run_that_goes_on_with_data_whose_name_is_no_text_stays_as_it_was(folder):
    before = files_of(folder.path)
    with pytest.raises(UnicodeEncodeError):
        folder.go_on(CONFIG.model_copy(update=TOLD_IN[0]), record(folder), "cpu", 3)
    assert files_of(folder.path) == before


@pytest.mark.parametrize("replaced", [True, False])
def test_a_run_whose_settings_cannot_be_written_leaves_the_place_as_it_was(folder, replaced):
    folder.end("finished", 5)
    place = folder.path if replaced else folder.path.with_name("new")
    before = files_of(folder.path.parent)
    with pytest.raises(OSError, match=r"settings\.json must be a file that can be written"), no_file_longer_than(10):
        RunFolder(place).begin(CONFIG, "cpu", overwrite=replaced)
    assert files_of(folder.path.parent) == before
    assert [path.name for path in folder.path.parent.iterdir()] == ["run"]
    RunFolder(place).begin(CONFIG, "cpu", overwrite=replaced)  # nothing holds it


@pytest.mark.parametrize("name", ["settings.json", "run.json"])
def test_an_empty_folder_in_which_a_run_cannot_begin_stays_empty(tmp_path, monkeypatch, name):
    (tmp_path / "run").mkdir()
    write = write_json

    def failing(path: Path, content: dict[str, Any]) -> None:
        if path.name == name:
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr("videopred.training.folder.write_json", failing)
    with pytest.raises(KeyboardInterrupt):
        RunFolder(tmp_path / "run").begin(CONFIG, "cpu", overwrite=False)
    assert not list((tmp_path / "run").iterdir())


def test_a_run_that_came_and_ended_while_another_began_is_not_written_into(tmp_path, monkeypatch):
    other, told = RunFolder(tmp_path / "run"), provenance()

    def meanwhile() -> dict[str, Any]:
        other.begin(CONFIG, "cpu", overwrite=False)
        other.end("finished", 5)
        return told

    with monkeypatch.context() as first:
        first.setattr("videopred.training.folder.provenance", lambda: first.undo() or meanwhile())
        with pytest.raises(FileExistsError, match=r"--out must be a new path, got .*/run"):
            RunFolder(tmp_path / "run").begin(CONFIG, "cuda:1", overwrite=True)
    assert (record(other)["state"], record(other)["device"]) == ("finished", "cpu")


def test_a_process_that_cannot_set_a_run_aside_leaves_the_place_to_the_one_that_did(folder, monkeypatch):
    folder.end("finished", 5)
    there = files_of(folder.path)
    monkeypatch.setattr("os.replace", lambda *anything: (_ for _ in ()).throw(OSError(39, "Directory not empty")))
    with pytest.raises(OSError, match=r"--out must be a folder that can be made, got .*Directory not empty"):
        RunFolder(folder.path).begin(CONFIG, "cpu", overwrite=True)
    assert files_of(folder.path) == there
    with another_process_holds(folder.path):
        pass


def test_a_run_that_could_not_begin_is_held_by_nobody(folder, monkeypatch):
    folder.end("finished", 5)
    monkeypatch.setattr("videopred.training.folder.provenance", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError) as kept, pytest.MonkeyPatch.context():
        RunFolder(folder.path).begin(CONFIG, "cpu", overwrite=True)
    with another_process_holds(folder.path):
        assert kept.value


def test_a_folder_that_holds_a_link_is_not_empty(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "photos").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="--out must be a run folder or new"):
        RunFolder(tmp_path / "run").begin(CONFIG, "cpu", overwrite=False)


def test_a_folder_that_a_process_left_that_was_killed_as_it_began_is_taken(tmp_path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / ".lock").write_bytes(b"")
    RunFolder(tmp_path / "run").begin(CONFIG, "cpu", overwrite=False)
    assert read_settings(tmp_path / "run")[0] == CONFIG


def test_a_run_that_holds_another_is_not_replaced(folder):
    folder.end("finished", 5)
    RunFolder(folder.path / "inner").begin(CONFIG, "cpu", overwrite=False)
    before = files_of(folder.path)
    with pytest.raises(
        ValueError, match=r"--out must hold nothing but a run, .* got .*/run, which holds inner/\.lock, inner/run\.json"
    ):
        RunFolder(folder.path).begin(CONFIG, "cpu", overwrite=True)
    assert files_of(folder.path) == before


@pytest.mark.parametrize("name", ["notes.md", "checkpoints/mine.ckpt", "logs/today/plot.png"])
def test_notes_in_a_run_are_not_replaced_with_it(folder, name):
    folder.end("finished", 5)
    (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
    (folder.path / name).write_text("three weeks of work")
    before = files_of(folder.path)
    with pytest.raises(
        ValueError, match=rf"--out must hold nothing but a run, .* got .*/run, which holds {name}; move"
    ):
        RunFolder(folder.path).begin(CONFIG, "cpu", overwrite=True)
    assert files_of(folder.path) == before


@pytest.mark.parametrize(("names", "told"), [("abc", "a, b, c; move"), ("abcd", "a, b, c, …; move")])
def test_three_of_the_notes_in_a_run_are_named(folder, names, told):
    folder.end("finished", 5)
    for name in names:
        (folder.path / name).write_text("three weeks of work")
    with pytest.raises(ValueError, match=f"--out must hold nothing but a run, .*/run, which holds {told}"):
        RunFolder(folder.path).begin(CONFIG, "cpu", overwrite=True)


def test_notes_in_a_run_that_has_saved_nothing_do_not_go_with_it(folder):
    """The one that it was to replace waits until they are elsewhere."""
    folder.end("finished", 5)
    second = RunFolder(folder.path)
    second.begin(CONFIG, "cuda:1", overwrite=True)
    (folder.path / "notes.md").write_text("what I tried")
    second.end("failed", 0)
    assert (folder.path / "notes.md").read_text() == "what I tried"
    (folder.path / "notes.md").unlink()
    bring_back(folder.path)
    assert record(folder)["device"] == "cuda:3"


@pytest.mark.parametrize("others", [{}, {"thesis.tex": "three years of work"}])
def test_a_folder_with_the_settings_of_another_program_is_not_replaced(tmp_path, others):
    project = tmp_path / "project"
    write_json(project / "settings.json", {"editor.tabSize": 4})
    for name, content in others.items():
        (project / name).write_text(content)
    before = files_of(project)
    with pytest.raises(
        ValueError, match=r"--out must be a run folder or new, got .*/project; choose another --out; only"
    ):
        RunFolder(project).begin(CONFIG, "cpu", overwrite=True)
    assert files_of(project) == before


def test_a_run_whose_settings_are_damaged_is_replaced_with_all_that_training_left(folder):
    folder.end("finished", 5)
    (folder.path / "settings.json").write_text("{")
    left = (
        *(
            "run.json.damaged",
            "log.txt",
            "profile.json",
            "logs/metrics.csv",
            "tensorboard/events.out.tfevents.7.vm.9.0",
        ),
        *("checkpoints/best.ckpt.damaged", "checkpoints/update-0001000.ckpt", "checkpoints/.last.ckpt.vm.3.a.partial"),
        *(".run.json.vm.3.a.partial", "wandb/run-2/files/output.log", "logs/.DS_Store"),
    )
    for name in left:
        (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.path / name).write_text("")
    RunFolder(folder.path).begin(CONFIG, "cuda:1", overwrite=True)
    assert record(folder)["device"] == "cuda:1"
    assert [name for name in left if (folder.path / name).exists()] == []


def test_a_run_that_a_link_leads_to_is_replaced_where_it_is(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "run").mkdir()
    link = tmp_path / "run"
    link.symlink_to("disk/run")
    for again in (False, True, True):
        folder = RunFolder(link)
        folder.begin(CONFIG, "cpu", overwrite=again)
        (folder.checkpoints / "last.ckpt").write_bytes(b"saved")
        folder.settle(1)
        folder.end("finished", 1)
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "run"]
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["run"]


def test_how_much_is_saved_is_noted_while_it_runs_and_then_what_it_came_to(folder):
    folder.settle(3)
    assert (record(folder)["saved"], "updates" in record(folder)) == (3, False)
    folder.go_on(CONFIG, record(folder), "cpu", 2)
    assert record(folder)["saved"] == 2
    folder.end("interrupted", 4)
    assert (record(folder)["updates"], "saved" in record(folder)) == (4, False)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("called", ["{run}", "."])
def test_an_empty_folder_becomes_a_run(tmp_path, monkeypatch, called, overwrite):
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    RunFolder(Path(called.format(run=tmp_path / "run"))).begin(CONFIG, "cpu", overwrite)
    assert read_settings(tmp_path / "run")[0] == CONFIG
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_resumed_run_is_that_of_its_new_process_with_all_that_were_before(folder):
    before = record(folder) | {"process": 1, "state": "interrupted", "updates": 3, "finished": "then"}
    before |= {"host": "another", "home": "another", "job": "7"}
    for done in (3, 4):
        folder.go_on(CONFIG, before, "cpu", done)
        before = record(folder)
        assert (before["state"], before["device"], before["process"]) == ("running", "cpu", os.getpid())
        assert before["host"] == platform.node()
        assert before["home"] == home_of_processes()  # where alone its process can be seen
        assert not {"finished", "updates", "job"} & set(before)
    assert [start["updates"] for start in before["resumed"]] == [3, 4]
    folder.end("finished", 9)
    told = record(folder)
    assert (told["state"], told["updates"], told["data"]) == ("finished", 9, DATA.model_dump())
    assert told["finished"] >= told["started"]


def test_a_resumed_run_is_of_the_job_that_goes_on_with_it(folder, monkeypatch):
    """Whoever lists runs asks Slurm whether that one lives."""
    monkeypatch.setattr("videopred.training.provenance.my_job", lambda: "8")
    folder.go_on(CONFIG, record(folder) | {"job": "7"}, "cpu", 3)
    assert record(folder)["job"] == "8"


@pytest.mark.parametrize(("done", "mark"), [(0, "now"), (3, "then")])
def test_the_code_of_a_resumed_run_is_that_of_its_first_updates(folder, monkeypatch, done, mark):
    monkeypatch.setattr("videopred.training.folder.code_record", lambda addresses: {"code": {"mine:Core": "now"}})
    folder.go_on(CONFIG, record(folder) | {"code": {"mine:Core": "then"}}, "cpu", done)
    assert record(folder)["code"] == {"mine:Core": mark}


def test_a_process_killed_right_after_it_set_a_run_aside_leaves_it_to_the_next(folder):
    """Nothing is in its place yet."""
    folder.end("finished", 5)
    before = files_of(folder.path)
    folder.path.rename(folder.path.with_name(".run.replaced"))
    with pytest.raises(FileExistsError, match="--out must be a new path"):
        RunFolder(folder.path).begin(CONFIG, "cpu", overwrite=False)
    assert files_of(folder.path) == before
    assert [path.name for path in folder.path.parent.iterdir()] == ["run"]


def test_a_place_without_a_name_has_a_place_beside_it_too():
    assert beside(Path("/")).name == "..replaced"


@pytest.fixture
def clocks(monkeypatch) -> dict[str, float]:
    """What the clocks say, to be set."""
    told = {"seconds": 0.0, "cpu_seconds": 0.0}
    monkeypatch.setattr("videopred.training.provenance._clocks", told.copy)
    return told


def test_the_time_of_all_its_processes_adds_up(tmp_path, clocks):
    """A killed one counts up to its last save."""
    first = RunFolder(tmp_path / "run")
    first.begin(CONFIG, "cpu", overwrite=False)
    clocks.update(seconds=60.0, cpu_seconds=100.0)
    first.settle(4)  # which every save calls
    told = record(first)
    assert (told["state"], told["seconds"], told["cpu_seconds"], "updates" in told) == ("running", 60, 100, False)
    clocks.update(seconds=70.0, cpu_seconds=110.0)
    second = RunFolder(tmp_path / "run")
    second.go_on(CONFIG, told, "cpu", 4)
    clocks.update(seconds=75.0, cpu_seconds=118.0)
    second.end("finished", 5)
    told = record(second)
    assert (told["state"], told["seconds"], told["cpu_seconds"], told["updates"]) == ("finished", 65, 108, 5)


@pytest.mark.parametrize("called", [".", "../run", "{run}"])
def test_a_run_is_not_replaced_from_within(folder, monkeypatch, called):
    """What `.` means would move away with it."""
    folder.end("finished", 5)
    before = files_of(folder.path)
    monkeypatch.chdir(folder.path)
    with pytest.raises(
        ValueError, match=r"^--out must be no folder that one is in, to be replaced, got .*; go to anot"
    ):
        RunFolder(Path(called.format(run=folder.path))).begin(CONFIG, "cpu", overwrite=True)
    assert files_of(folder.path) == before


@pytest.mark.parametrize("state", ["finished", "interrupted", "failed"])
def test_a_run_that_was_taken_away_meanwhile_leaves_its_place_free(folder, state):
    """A record without settings could be neither taken as an empty folder nor replaced as a run."""
    folder.path.rename(folder.path.with_name("elsewhere"))
    folder.settle(3)
    folder.end(state, 5)
    assert [path.name for path in folder.path.parent.iterdir()] == ["elsewhere"]


def test_a_disk_that_is_full_does_not_end_a_training_that_has_just_saved(folder):
    with no_file_longer_than(10):
        folder.settle(3)
    assert record(folder)["state"] == "running"


def test_the_run_is_let_go_even_where_its_end_cannot_be_noted(folder):
    """A process that goes on after a failed training may be a notebook, which lives for days."""
    with pytest.raises(AssertionError), another_process_holds(folder.path):
        pass
    with pytest.raises(OSError, match=r"run\.json must be a file that can be written"), no_file_longer_than(10):
        folder.end("finished", 5)
    with another_process_holds(folder.path):
        pass


def test_only_the_first_process_holds_the_run(folder, monkeypatch):
    """The others would find it held."""
    folder.end("interrupted", 3)
    with another_process_holds(folder.path):
        with pytest.raises(ValueError, match=r"^--resume must be a run that nobody trains now"):
            RunFolder(folder.path).take_up()
        monkeypatch.setattr(rank_zero_only, "rank", 1, raising=False)
        RunFolder(folder.path).take_up()


def test_other_processes_than_the_first_write_nothing(folder, monkeypatch):
    aside = folder.path.with_name(".run.replaced")
    aside.mkdir()
    monkeypatch.setattr(rank_zero_only, "rank", 1, raising=False)
    before = files_of(folder.path.parent)
    second = RunFolder(folder.path)
    second.begin(CONFIG, "cpu", overwrite=True)
    second.go_on(CONFIG.model_copy(update={"data": None}), json.loads("{}"), "cpu", 3)
    second.settle(3)
    second.end("failed", 4)
    assert files_of(folder.path.parent) == before
    assert aside.exists()


def test_a_run_that_is_write_protected_is_not_replaced(folder, monkeypatch):
    """Of what is in it, only a part could be removed afterwards."""
    folder.end("finished", 5)
    before = files_of(folder.path)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != folder.path)
    with pytest.raises(
        ValueError, match=r"^--out must be a run that may be replaced, got \S+ \(write-protected\); choose"
    ):
        RunFolder(folder.path).begin(CONFIG, "cpu", overwrite=True)
    assert files_of(folder.path) == before
