"""A run is trained by one process at a time; a lock ends with the process that holds it."""

import errno
import fcntl
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from tiny_runs import files_of, tiny_model, tiny_training
from training_runs import learner

from videopred.run_files import LOCK, SETTINGS, SUMMARY
from videopred.training import seeds as several
from videopred.training.aside import bring_back, bring_back_seeds
from videopred.training.folder import RunFolder
from videopred.training.learner import Learner
from videopred.training.locking import FolderLock, held
from videopred.training.run import resume, train
from videopred.training.seeds import resume_seeds, train_seeds
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
    for overwrite in (True, False):
        with pytest.raises(ValueError, match=r"^--out must be a run folder or new"):
            RunFolder(stopped).begin(learner().config, "cpu", overwrite=overwrite)
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
    plain = Learner.training_step

    def look(self: Learner, *batch: Any) -> Any:
        for folder in (run, run.with_name(".run.replaced")):
            words = [sys.executable, "-c", HOLDER, str(folder / LOCK)]
            seen.append(subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True).stderr)
        return plain(self, *batch)

    monkeypatch.setattr(Learner, "training_step", look)
    train(data, tiny_model(), tiny_training(updates=1), out=run, device="cpu", overwrite=True)
    assert len(seen) == 2
    assert all(b"BlockingIOError" in said for said in seen)
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


@pytest.mark.parametrize(
    ("argument", "fix"),
    [("--out", "choose another place"), ("--resume", "copy it to where you can write, and name the copy")],
)
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch, argument, fix):
    def refuse(*anything: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    message = rf"{argument} must be a folder that can be written, got \S+ \(Permission denied\); {fix}$"
    with pytest.raises(PermissionError, match=message):
        FolderLock(tmp_path).hold(argument, tmp_path)


@pytest.fixture
def runs(data, tmp_path) -> Path:
    """Of several seeds."""
    return train_seeds(data, (3, 5), tiny_model("gru"), tiny_training(updates=1), out=tmp_path / "run", device="cpu")


def test_runs_from_several_seeds_are_refused_as_a_whole(data, runs):
    """Before any of them is touched, also those that are finished."""
    before = files_of(runs)
    with another_process_holds(runs):
        with pytest.raises(ValueError, match=f"^--resume {REFUSED}"):
            resume_seeds(runs, device="cpu")
        with pytest.raises(ValueError, match=f"^--out {REFUSED}"):
            train_seeds(data, (3, 5), tiny_model("gru"), tiny_training(), out=runs, device="cpu", overwrite=True)
    assert files_of(runs) == before
    assert resume_seeds(runs, device="cpu") == runs


def test_two_that_begin_several_seeds_in_a_new_folder_are_one(data, tmp_path):
    out = tmp_path / "run"
    out.mkdir()  # as the other has made it, and has got no further
    with another_process_holds(out), pytest.raises(ValueError, match=f"^--out {REFUSED}"):
        train_seeds(data, (3, 5), tiny_model("gru"), tiny_training(), out=out, device="cpu")
    assert [path.name for path in out.iterdir()] == [LOCK]


def test_seeds_that_another_process_has_trained_meanwhile_are_kept(data, tmp_path, monkeypatch):
    out = tmp_path / "run"

    def end_first(self: FolderLock, argument: str, folder: Path) -> None:
        (folder / "seed-3").mkdir()
        for name in (SUMMARY, "seed-3/settings.json"):
            (folder / name).write_text('{"seeds": [3, 5]}')

    monkeypatch.setattr(FolderLock, "hold", end_first)
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*run \(runs that are not all"):
        train_seeds(data, (3, 5), tiny_model("gru"), tiny_training(), out=out, device="cpu")
    assert files_of(out) == {out / name: b'{"seeds": [3, 5]}' for name in (SUMMARY, "seed-3/settings.json")}


def test_several_seeds_are_held_until_they_are_summed_up(data, tmp_path, monkeypatch):
    """Or fail, also where the error is kept, and with it all that it knows."""
    out, looks = tmp_path / "run", 0

    def looking(plain: Callable[..., Path]) -> Callable[..., Path]:
        def look(*args: Any, **how: Any) -> Path:
            nonlocal looks
            looks += 1
            with pytest.raises(AssertionError), another_process_holds(out):
                pass
            return plain(*args, **how)

        return look

    for name in ("train", "resume", "_summed_up"):
        monkeypatch.setattr(several, name, looking(getattr(several, name)))
    train_seeds(data, (3, 5), tiny_model("gru"), tiny_training(updates=1), out=out, device="cpu")
    with another_process_holds(out):
        assert looks == 3
    shutil.rmtree(out / "seed-5")
    resume_seeds(out, device="cpu")
    with another_process_holds(out):
        assert looks == 6
    with pytest.raises(ValueError, match=r"^--updates must be 1") as kept:
        resume_seeds(out, tiny_training(updates=2), device="cpu")
    with another_process_holds(out):
        assert kept.value


def test_a_seed_that_waits_aside_is_left_to_the_process_that_trains_the_others(data, runs, capfd):
    aside = (runs / "seed-5").rename(runs / ".seed-5.replaced")
    before = files_of(runs)
    with another_process_holds(runs):
        assert run(f"train {data} --seeds 3,5 --out {runs} --overwrite --device cpu") == 1
    assert re.search(f"--out {REFUSED}", capfd.readouterr().err)
    assert files_of(runs) == before
    bring_back_seeds(runs, (3, 5))
    assert (runs / "seed-5").exists()
    assert not aside.exists()


def test_the_other_seeds_are_gone_on_with_where_one_is_trained_alone(runs, capfd):
    shutil.rmtree(runs / "seed-5")
    (runs / "seed-3" / "run.json").unlink()  # so that it counts as stopped
    with another_process_holds(runs / "seed-3"):
        assert run(f"train --resume {runs} --device cpu") == 1
    told = capfd.readouterr().err
    assert f"seed 3 has failed: --resume must be a run that nobody trains now, got {runs / 'seed-3'}, which" in told
    assert (runs / "seed-5" / "checkpoints" / "last.ckpt").exists()


def test_only_the_first_process_holds_several_seeds(tmp_path, monkeypatch):
    with another_process_holds(tmp_path):
        with pytest.raises(ValueError, match=r"^--out must be a run that nobody trains now"), held("--out", tmp_path):
            pass
        monkeypatch.setenv("RANK", "1")
        with held("--out", tmp_path):
            pass
