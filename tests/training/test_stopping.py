"""What ends a training early: Ctrl-C and other signals, time limits, --stop-after, failures; and what it leaves."""

import gc
import json
import multiprocessing
import os
import signal
import tempfile
import weakref
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_runs import tiny_model, tiny_training
from torch import Tensor
from torch.utils.data import DataLoader
from training_runs import equal, learner, load, weights

from videopred.checkpoint import CONFIG_KEY, RunConfig, load_run
from videopred.datasets.clip_file import ClipFile
from videopred.frames import to_film
from videopred.interrupt import as_ctrl_c, stop_if_lost
from videopred.rollout import roll_out
from videopred.settings import ComputeConfig, seconds_of
from videopred.training import course
from videopred.training.batches import Batches
from videopred.training.clips import TrainingClips
from videopred.training.learner import Learner
from videopred.training.run import resume, train
from videopred.training.stopping import StopSigns, TimeLimit

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]


def interrupting(monkeypatch: pytest.MonkeyPatch, at: int, times: int = 1, number: int = signal.SIGINT) -> list[int]:
    """Have a signal arrive in the middle of a training step; returns the updates that were begun."""
    begun, step = [], Learner.training_step

    def interrupted(self: Learner, frames: Tensor, batch: int) -> Tensor:
        begun.append(self.global_step)
        if self.global_step == at:
            for _ in range(times):
                signal.raise_signal(number)
        return step(self, frames, batch)

    monkeypatch.setattr(Learner, "training_step", interrupted)
    return begun


def test_a_signal_that_comes_too_late_is_told_to_what_comes_after(data, tmp_path, monkeypatch):
    """In the last look at the validation clips; the run itself is finished."""
    plain = Learner.validation_step

    def signalled(self: Learner, batch: Any, number: int) -> None:
        signal.raise_signal(signal.SIGTERM)
        plain(self, batch, number)

    with as_ctrl_c() as around:
        run = train(data, tiny_model("gru"), tiny_training(updates=1), out=tmp_path / "quiet", device="cpu")
        stop_if_lost()
        monkeypatch.setattr(Learner, "validation_step", signalled)
        run = train(data, tiny_model("gru"), tiny_training(updates=1), out=tmp_path / "run", device="cpu")
        assert json.loads((run / "run.json").read_text())["state"] == "finished"
        assert around.heard == "SIGTERM"
        with pytest.raises(KeyboardInterrupt):
            stop_if_lost()


def test_a_signal_after_the_last_update_leaves_a_finished_run(data, tmp_path, monkeypatch):
    """Lightning has let go of signals by then, and loggers may take their time to close."""
    said = course.say

    def signalled(told: str) -> None:
        if told.startswith("finished"):
            signal.raise_signal(signal.SIGTERM)
        said(told)

    monkeypatch.setattr(course, "say", signalled)
    run = train(data, tiny_model("gru"), tiny_training(updates=1), out=tmp_path / "run", device="cpu")
    assert json.loads((run / "run.json").read_text())["state"] == "finished"


def test_ctrl_c_finishes_the_step_and_leaves_a_run_that_works(data, tmp_path, monkeypatch):
    begun = interrupting(monkeypatch, at=2)
    handler = signal.getsignal(signal.SIGINT)
    settings = tiny_training(updates=9, validate_every=7)
    with pytest.raises(KeyboardInterrupt, match=r"^SIGINT received: 3 of 9 updates are done"):
        train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    assert signal.getsignal(signal.SIGINT) is handler
    assert begun == [0, 1, 2]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["state"], record["updates"]) == ("interrupted", 3)
    last = load(tmp_path / "run" / "checkpoints" / "last.ckpt")
    assert last["global_step"] == 3
    assert RunConfig.model_validate_json(last[CONFIG_KEY]).training == settings
    predictor = load_run(tmp_path / "run")
    roll_out(predictor, to_film(ClipFile(data).read_frames("test", 0, 2))[:, :3], 2)
    monkeypatch.undo()
    whole = train(data, tiny_model(), tiny_training(updates=3), out=tmp_path / "whole", device="cpu")
    assert equal(weights(tmp_path / "run"), weights(whole))


@pytest.mark.parametrize("number", [*SIGNALS, signal.SIGHUP], ids=lambda one: one.name)
def test_loader_processes_go_on_until_the_training_has_saved(data, number):
    """A terminal and Slurm send their signals to them as well."""
    config = learner().config.model_copy(update={"compute": ComputeConfig(workers=2)})
    batches = Batches(TrainingClips(ClipFile(data), config.training, config.compute), config, torch.device("cpu"))
    batches.trainer = SimpleNamespace(world_size=1, global_rank=0, global_step=0)  # type: ignore[assignment]
    coming = iter(batches.train_dataloader())
    next(coming), next(coming)  # one from each: they have begun
    for loader in multiprocessing.active_children():
        assert loader.pid is not None
        os.kill(loader.pid, number)
    for _ in range(9):  # more than are made ahead
        next(coming)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1], ids=lambda one: one.name)
def test_what_batch_systems_send_finishes_the_step_as_well(data, tmp_path, monkeypatch, number):
    begun, before = interrupting(monkeypatch, at=2, number=number), signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt, match=f"^{number.name} received: 3 of 9 updates are done"):
        train(data, tiny_model(), tiny_training(updates=9, validate_every=7), out=tmp_path / "run", device="cpu")
    assert begun == [0, 1, 2]
    assert signal.getsignal(number) is before
    assert load(tmp_path / "run" / "checkpoints" / "last.ckpt")["global_step"] == 3


@pytest.mark.parametrize(("usual", "stops"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_terminal_that_closes_finishes_the_step_as_well_unless_that_is_ignored(
    data, tmp_path, monkeypatch, usual, stops
):
    """As with nohup."""
    interrupting(monkeypatch, at=0, number=signal.SIGHUP)
    before = signal.signal(signal.SIGHUP, usual)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"^SIGHUP received: 1 of 2 updates") if stops else nullcontext():
            train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
        assert signal.getsignal(signal.SIGHUP) == usual
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("looks", "saved"), [(2, 2), (1, 2), (7, 0)])
def test_a_second_ctrl_c_is_at_once_and_says_what_is_saved(data, tmp_path, monkeypatch, looks, saved):
    begun = interrupting(monkeypatch, at=2, times=2)
    handler = signal.getsignal(signal.SIGINT)
    said = f"^stopped at once: {saved} of 9 updates are saved; continue with `videopred train --resume .*/run`$"
    with pytest.raises(KeyboardInterrupt, match=said):
        train(data, tiny_model(), tiny_training(updates=9, validate_every=looks), out=tmp_path / "run", device="cpu")
    assert signal.getsignal(signal.SIGINT) is handler
    assert begun == [0, 1, 2]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["state"], record["updates"]) == ("interrupted", saved)
    if saved:
        load_run(tmp_path / "run")
        assert load(tmp_path / "run" / "checkpoints" / "last.ckpt")["global_step"] == saved
    else:
        assert not list((tmp_path / "run" / "checkpoints").iterdir())


def stopped_after_two_of_nine(data: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that Ctrl-C stopped."""
    with monkeypatch.context() as first:
        interrupting(first, at=1)
        with pytest.raises(KeyboardInterrupt, match=r"^SIGINT received: 2 of 9 updates are done"):
            train(data, tiny_model(), tiny_training(updates=9, validate_every=7), out=run, device="cpu")
    return run


def test_a_second_ctrl_c_right_after_a_resume_knows_what_was_saved_before(data, tmp_path, monkeypatch):
    run = stopped_after_two_of_nine(data, tmp_path / "run", monkeypatch)
    interrupting(monkeypatch, at=3, times=2)
    with pytest.raises(KeyboardInterrupt, match=r"^stopped at once: 2 of 9 updates are saved"):
        resume(run, device="cpu")


def test_what_stops_before_the_checkpoint_is_read_takes_back_no_update(data, tmp_path, monkeypatch):
    run = stopped_after_two_of_nine(data, tmp_path / "run", monkeypatch)

    def stopped(*anything: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lightning.Trainer.fit", stopped)
    with pytest.raises(KeyboardInterrupt, match=r"^stopped at once: 2 of 9 updates are saved"):
        resume(run, device="cpu")
    assert json.loads((run / "run.json").read_text())["updates"] == 2


def test_a_failure_is_recorded_and_passed_on(data, tmp_path, monkeypatch):
    def failing(self: Learner, frames: Tensor, batch: int) -> Tensor:
        raise RuntimeError("the machine caught fire")

    monkeypatch.setattr(Learner, "training_step", failing)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="caught fire"):
        train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    assert signal.getsignal(signal.SIGINT) is handler
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "failed"


@pytest.mark.parametrize("failing", ["validation_step", "on_validation_epoch_end"])
def test_loader_processes_end_with_a_training_that_fails(data, tmp_path, monkeypatch, failing):
    """Else Python would wait for them at its own end: they ignore the SIGTERM that it sends."""

    def fail(*anything: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Learner, failing, fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ours = multiprocessing.current_process()._config
    monkeypatch.setitem(ours, "tempdir", None)
    compute, out = ComputeConfig(workers=2), tmp_path / "run"
    with pytest.raises(OSError, match="no space left"):
        train(data, tiny_model("gru"), tiny_training(), compute=compute, out=out, device="cpu")
    for loader in multiprocessing.active_children():
        loader.join(60)
        assert loader.exitcode == 0
    assert list(map(str, tmp_path.glob("pymp-*"))) == [ours["tempdir"]], "loaders leave folders of their own"


def test_a_loader_process_that_is_killed_is_a_complaint_and_no_bug(data, tmp_path, monkeypatch):
    """As the system does it when memory is used up. Here torch's error is raised without a kill, for torch raises it in
    a signal's handler: wherever Python is then, in this test or in pytest itself."""
    step, out = Learner.training_step, tmp_path / "run"

    def bereaved(self: Learner, frames: Tensor, batch: int) -> Tensor:
        if self.global_step == 1:
            raise RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed. ")
        return step(self, frames, batch)

    monkeypatch.setattr(Learner, "training_step", bereaved)
    message = (
        r"^a loader process must work along to the end, got nothing more of it \(DataLoader worker \(pid \d+\) is"
        r" killed by signal: Killed\); what was saved before is kept: lower --workers if memory has run out, and"
        rf" continue with `videopred train --resume {out}`$"
    )
    settings, compute = tiny_training(updates=3, validate_every=1), ComputeConfig(workers=2)
    with pytest.raises(ConnectionError, match=message):
        train(data, tiny_model("gru"), settings, compute=compute, out=out, device="cpu")
    assert json.loads((out / "run.json").read_text())["state"] == "failed"
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda: "spawn")
    told = r"has run out, put what a script does under `if __name__ == \"__main__\":`, and continue with"
    with pytest.raises(ConnectionError, match=told):
        train(data, tiny_model("gru"), settings, out=tmp_path / "again", device="cpu")
    monkeypatch.undo()
    straight = train(data, tiny_model("gru"), settings, out=tmp_path / "straight", device="cpu")
    assert equal(weights(resume(out, device="cpu")), weights(straight))


def test_ctrl_c_while_loader_processes_begin_is_an_interruption(data, tmp_path, monkeypatch):
    """Lightning then complains that its loaders have not begun."""

    def interrupted(self: DataLoader[Any]) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(DataLoader, "__iter__", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"^stopped at once: 0 of 2 updates are saved; continue with"):
        train(data, tiny_model("gru"), tiny_training(), out=tmp_path / "run", device="cpu")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "interrupted"


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_before_the_first_update_a_signal_ends_it_at_once(data, tmp_path, monkeypatch, number):
    """Nothing is there to save, and whoever waits for other processes would wait on."""
    before = signal.getsignal(number)
    monkeypatch.setattr(course, "forecast", lambda *anything: signal.raise_signal(number))
    settings = tiny_training(updates=100, validate_every=100)
    with pytest.raises(KeyboardInterrupt, match=r"^stopped at once: 0 of 100 updates are saved; continue with `vi"):
        train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    assert signal.getsignal(number) is before
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "interrupted"


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_a_signal_is_not_lost_while_what_is_left_of_a_training_ends(data, monkeypatch, number):
    """Python passes over what is raised there; between two seeds, most of the time is spent so."""

    def collect() -> None:
        left = {1, 2}
        watched = weakref.ref(left, lambda _: signal.raise_signal(number))
        del left
        assert watched() is None

    monkeypatch.setattr(gc, "collect", collect)
    with as_ctrl_c(), pytest.raises(KeyboardInterrupt):
        TrainingClips(ClipFile(data), tiny_training())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_a_signal_that_is_lost_while_clips_are_read_ends_training_before_it_begins(data, tmp_path, monkeypatch, number):
    stopped = stopped_after_two_of_nine(data, tmp_path / "stopped", monkeypatch)
    record, read = (stopped / "run.json").read_text(), ClipFile.read_frames

    def read_while_an_object_ends(self: ClipFile, *which: Any) -> Any:
        left = {1, 2}
        watched = weakref.ref(left, lambda _: signal.raise_signal(number))
        del left
        assert watched() is None
        return read(self, *which)

    monkeypatch.setattr(ClipFile, "read_frames", read_while_an_object_ends)
    with as_ctrl_c(), pytest.raises(KeyboardInterrupt):
        train(data, tiny_model(), tiny_training(updates=2), out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()
    with as_ctrl_c(), pytest.raises(KeyboardInterrupt):
        resume(stopped, device="cpu")
    assert (stopped / "run.json").read_text() == record


def test_a_signal_that_is_lost_just_before_updates_begin_stops_at_the_first():
    signs = StopSigns(TimeLimit(None), several=False)
    with signs.held:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signs.held.listen()
        assert signs.held.asked
        assert signs.held.heard == "SIGINT"


@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
def test_several_processes_are_left_to_the_system_until_training_begins(number):
    """A process that waits for another does so where no handler of Python's is called."""
    signs = StopSigns(TimeLimit(None), several=True)
    with signs.held:
        assert signal.getsignal(number) == signal.SIG_DFL
        signs.held.listen()
        signal.raise_signal(number)
    assert signs.held.heard == number.name


@pytest.mark.parametrize(
    ("limit", "elsewhere", "told"),
    [
        (None, False, ""),
        (None, True, "another process was asked to stop"),
        ("0s", False, "time limit of 0s reached"),
        ("0s", True, "time limit of 0s reached"),
    ],
)
def test_what_one_of_two_processes_is_asked_both_do(limit, elsewhere, told):
    """Else one would wait for the other's gradients for ever."""

    class Strategy:
        def reduce_boolean_decision(self, decision: bool, all: bool = True) -> bool:
            return (decision and elsewhere) if all else (decision or elsewhere)

    trainer: Any = SimpleNamespace(world_size=2, strategy=Strategy())
    assert StopSigns(TimeLimit(limit), several=True).reason(trainer) == told


def test_an_update_of_several_pieces_is_finished_before_a_stop(data, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(StopSigns, "reason", lambda self, trainer: asked.append(trainer.global_step) or "")
    settings = tiny_training(updates=3, accumulate=2, validate_every=3)
    train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    assert asked == [1, 2]


def test_the_time_limit_stops_after_an_update(data, tmp_path):
    compute = ComputeConfig(time_limit="0s")
    with pytest.raises(KeyboardInterrupt, match=r"^time limit of 0s reached: 1 of 3 updates are done"):
        train(data, tiny_model(), tiny_training(updates=3), out=tmp_path / "run", compute=compute, device="cpu")
    with pytest.raises(KeyboardInterrupt, match=r"^time limit of 0s reached: 2 of 3 updates are done"):
        resume(tmp_path / "run", device="cpu")
    resume(tmp_path / "run", device="cpu")  # the last update is the end
    straight = train(data, tiny_model(), tiny_training(updates=3), out=tmp_path / "straight", device="cpu")
    assert equal(weights(tmp_path / "run"), weights(straight))


def test_the_time_limit_counts_from_when_training_begins(data, tmp_path, monkeypatch):
    """Reading the clips does not count."""
    order: list[str] = []
    monkeypatch.setattr("videopred.training.run.check_memory", lambda *anything: order.append("clips are there"))
    monkeypatch.setattr("videopred.training.run.TimeLimit", lambda limit: order.append("counts") or TimeLimit(limit))
    train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    assert order == ["clips are there", "counts"]


def test_time_limits():
    ticks = iter([9000.0, 9000.0 + 5399, 9000.0 + 5400])
    signs = StopSigns(TimeLimit("1.5h", clock=lambda: next(ticks)), several=False)
    alone: Any = SimpleNamespace(world_size=1)
    assert [signs.reason(alone) for _ in range(2)] == ["", "time limit of 1.5h reached"]
    for wrong in ("4", "h", "-1h", "4 hours", "", "30m1h", "1h1h", "1.5.1h", "1h30", ".h"):
        with pytest.raises(
            ValueError, match=r"^--time-limit must be numbers with d, h, m or s, the longest first, got"
        ):
            ComputeConfig(time_limit=wrong)


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("2d3h4m5s", 183845), ("1d5s", 86405), (".5m", 30), ("0s", 0)],
)
def test_a_time_may_have_several_units(time, seconds):
    assert seconds_of(time) == seconds


def test_training_stops_when_the_loss_has_stopped_falling(data, tmp_path):
    settings = tiny_training(updates=20, stop_after=3, improvement=0.99)
    run = train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    record = json.loads((run / "run.json").read_text())
    assert (record["state"], record["updates"]) == ("finished", 4)
    told = (
        "finished after 4 of 20 updates: 3 validations in a row without a loss lower by a share of 0.99 (--stop-after)"
    )
    assert told in (run / "log.txt").read_text()
    learned = weights(run)
    (run / "run.json").write_text(json.dumps(record | {"state": "running"}))  # as if killed right after the last look
    resume(run, device="cpu")
    again = json.loads((run / "run.json").read_text())
    assert (again["state"], again["updates"]) == ("finished", 4)
    assert equal(weights(run), learned)
