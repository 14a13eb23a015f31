"""A run is trained by one process at a time; a lock ends with the process that holds it."""

import errno
import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tiny_runs import files_of, tiny_model, tiny_training
from training_runs import learner

from videopred.run_files import LOCK, SETTINGS
from videopred.training.aside import bring_back
from videopred.training.folder import RunFolder
from videopred.training.locking import FolderLock
from videopred.training.run import resume, train
from videopred.training.stopping import StopSigns

HOLDER = """
import fcntl, sys
with open(sys.argv[1], "ab") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("held", flush=True)
    sys.stdin.read()
"""
REFUSED = r"must be a run that nobody trains now, got .*/run, which another process trains; wait for it, or stop it"


@contextmanager
def another_process_holds(folder: Path) -> Iterator[None]:
    """As one that trains the run; it is killed by -9 in the end, and frees nothing itself."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder / LOCK)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.kill()


@pytest.fixture
def stopped(data, tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(StopSigns, "reason", lambda self, trainer: "told to" if trainer.global_step == 1 else "")
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    monkeypatch.undo()
    return tmp_path / "run"


def test_a_run_that_is_trained_is_not_gone_on_with_nor_replaced(data, stopped):
    before = files_of(stopped)
    with another_process_holds(stopped):
        with pytest.raises(ValueError, match=f"^--resume {REFUSED}"):
            resume(stopped, device="cpu")
        with pytest.raises(ValueError, match=f"^--out {REFUSED}"):
            train(data, tiny_model(), tiny_training(), out=stopped, device="cpu", overwrite=True)
    assert files_of(stopped) == before
    assert resume(stopped, device="cpu") == stopped


def test_a_run_that_is_being_replaced_is_not_put_back(data, stopped):
    """Else two trainings to one name would take the folder away from each other."""
    aside = stopped.with_name(".run.replaced")
    stopped.rename(aside)
    before = files_of(aside)
    with another_process_holds(aside), pytest.raises(ValueError, match=f"^--out {REFUSED}"):
        train(data, tiny_model(), tiny_training(), out=stopped, device="cpu", overwrite=True)
    assert files_of(aside) == before
    assert not stopped.exists()


def test_a_run_that_is_gone_on_with_does_not_give_its_place_back(stopped):
    """It has saved nothing yet, and the one that it is to replace waits beside."""
    aside = shutil.copytree(stopped, stopped.with_name(".run.replaced"))
    shutil.rmtree(stopped / "checkpoints")
    before = files_of(stopped)
    for begin in (lambda: bring_back(stopped), lambda: RunFolder(stopped).begin(learner().config, "cpu", True)):
        with another_process_holds(stopped), pytest.raises(ValueError, match=f"^--out {REFUSED}"):
            begin()
    assert files_of(stopped) == before
    assert aside.exists()


def test_what_has_come_to_lie_at_the_place_of_a_run_that_waits_is_kept(stopped):
    """Such as runs from several seeds, made there after that run's successor was removed."""
    aside = shutil.copytree(stopped, stopped.with_name(".run.replaced"))
    shutil.rmtree(stopped)
    (stopped / "seed-0").mkdir(parents=True)
    (stopped / "seed-0" / SETTINGS).write_text("{}")
    (stopped / "notes.txt").write_text("mine")

    def left() -> dict[Path, bytes]:
        return {path: kept for path, kept in files_of(stopped.parent).items() if path.name != LOCK}

    before = left()
    bring_back(stopped)
    with pytest.raises(ValueError, match=r"^--out must be a run folder or new"):
        RunFolder(stopped).begin(learner().config, "cpu", overwrite=True)
    with pytest.raises(FileExistsError, match=r"^--out must be a new path"):
        RunFolder(stopped).begin(learner().config, "cpu", overwrite=False)
    assert left() == before
    assert aside.exists()


def test_a_folder_that_is_held_is_not_locked_again(tmp_path, monkeypatch):
    """By some systems' locks, the second would be refused as another's."""
    taken: list[object] = []
    monkeypatch.setattr("videopred.training.locking.take_lock", lambda file: taken.append(file) or True)
    lock = FolderLock(tmp_path)
    for _ in range(2):
        lock.hold("--out", tmp_path)
    assert len(taken) == 1
    (tmp_path / LOCK).unlink()
    lock.hold("--out", tmp_path)  # another file, which another process may hold
    assert len(taken) == 2
    lock.let_go()


def test_training_holds_its_folder_until_it_ends(data, tmp_path, monkeypatch):
    """And the one it replaces, until there is something in its place."""
    run = train(data, tiny_model("lstm"), tiny_training(), out=tmp_path / "run", device="cpu")
    seen: list[bytes] = []

    def look(self: StopSigns, trainer: object) -> str:
        done = subprocess.run([sys.executable, "-c", HOLDER, str(run / LOCK)], stdin=subprocess.DEVNULL, **quiet)
        seen.append(done.stderr)
        return ""

    quiet = {"capture_output": True}
    monkeypatch.setattr(StopSigns, "reason", look)
    train(data, tiny_model(), tiny_training(), out=run, device="cpu", overwrite=True)
    assert len(seen) == 1
    assert b"BlockingIOError" in seen[0]
    with another_process_holds(run):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_where_there_are_no_locks_it_trains_without(data, tmp_path, monkeypatch, number):
    def refuse(*anything: object) -> None:
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    train(data, tiny_model(), tiny_training(updates=1), out=tmp_path / "run", device="cpu")


def test_other_failures_are_not_hidden(tmp_path, monkeypatch):
    def fail(*anything: object) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    monkeypatch.setattr(fcntl, "lockf", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        FolderLock(tmp_path).hold("--out", tmp_path)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(*anything: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        OSError, match=r"\.lock must be a file that can be written, got Permission denied; choose anoth"
    ):
        FolderLock(tmp_path).hold("--out", tmp_path)
