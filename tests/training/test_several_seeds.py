"""One training from several seeds: which runs and what summary it leaves, and how it goes on where it was stopped."""

import functools
import gc
import json
import shutil
import signal
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import run
from slow_proofs import slow
from tiny_runs import tiny_model, tiny_training
from training_runs import UNDRAWN, equal, load, stderr_unread, weights

from videopred.check import FailedError, FaultyFileError
from videopred.checkpoint import ExperimentRecord
from videopred.files import write_json
from videopred.settings import ComputeConfig, WatchConfig
from videopred.training import seeds as several
from videopred.training.clips import TrainingClips
from videopred.training.learner import Learner
from videopred.training.places import noted_to_replace
from videopred.training.resuming import read_settings
from videopred.training.run import train
from videopred.training.seeds import resume_seeds, train_seeds
from videopred.training.stopping import StopSigns, TimeLimit


def test_several_seeds_are_several_runs_and_a_summary(data, tmp_path):
    out = train_seeds(data, (2, 5), tiny_model(), tiny_training(), out=tmp_path / "runs", device="cpu")
    summary = json.loads((out / "seeds.json").read_text())
    lowest = [load(out / f"seed-{seed}" / "checkpoints" / "best.ckpt")["videopred_looks"]["lowest"] for seed in (2, 5)]
    assert summary == {
        "seeds": [2, 5],
        "validation": {"2": lowest[0], "5": lowest[1]},
        "mean": pytest.approx(np.mean(lowest)),
        "deviation": pytest.approx(np.std(lowest, ddof=1)),
    }
    alone = train(data, tiny_model(), tiny_training(seed=5), out=tmp_path / "alone", device="cpu")
    assert equal(weights(out / "seed-5"), weights(alone))


@pytest.mark.parametrize("hold", ["memory", "device"])
def test_the_clips_of_one_seed_are_let_go_before_those_of_the_next_are_read(data, tmp_path, monkeypatch, hold):
    """Those of a paper's experiment take 10 GB of a GPU, and wait on disk where that is no more free."""
    made: list[weakref.ref[TrainingClips]] = []
    plain = TrainingClips.__init__

    def watched(self: TrainingClips, *data: Any, **named: Any) -> None:
        plain(self, *data, **named)
        made.append(weakref.ref(self))
        assert [clips() is not None for clips in made] == [False] * (len(made) - 1) + [True]

    monkeypatch.setattr(TrainingClips, "__init__", watched)
    compute = ComputeConfig(hold=hold)
    gc.disable()
    try:
        train_seeds(
            data, (0, 1, 2), tiny_model(), tiny_training(), compute=compute, out=tmp_path / "runs", device="cpu"
        )
    finally:
        gc.enable()
    assert len(made) == 3


def test_several_seeds_are_gone_on_with(data, tmp_path, monkeypatch):
    """The first is finished, the second has stopped, the third has not begun."""
    count = iter(range(100))
    monkeypatch.setattr(StopSigns, "reason", lambda self, trainer: "stopped" if next(count) == 1 else "")
    settings = tiny_training()
    with pytest.raises(KeyboardInterrupt):
        train_seeds(data, (0, 1, 2), tiny_model(), settings, out=tmp_path / "runs", device="cpu")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [".lock", "seed-0", "seed-1", "seeds.json"]
    out = resume_seeds(tmp_path / "runs", settings, device="cpu")
    straight = train_seeds(data, (0, 1, 2), tiny_model(), settings, out=tmp_path / "straight", device="cpu")
    assert (out / "seeds.json").read_text() == (straight / "seeds.json").read_text()
    with pytest.raises(ValueError, match=r"^--updates must be 2, as in the run that is resumed, got 9"):
        resume_seeds(out, tiny_training(updates=9), device="cpu")


def test_seeds_are_gone_on_with_where_the_first_was_stopped(data, tmp_path, monkeypatch):
    count, out = iter(range(100)), tmp_path / "runs"
    monkeypatch.setattr(StopSigns, "reason", lambda self, trainer: "stopped" if next(count) == 0 else "")
    with pytest.raises(KeyboardInterrupt, match=f" for this seed, or `videopred train --resume {out}` for all$"):
        train_seeds(data, (3, 4), tiny_model(), tiny_training(), out=out, device="cpu")
    assert set(json.loads((resume_seeds(out, device="cpu") / "seeds.json").read_text())["validation"]) == {"3", "4"}


def stop_before(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have somebody stop the training as that of a seed would begin."""

    def learn(*args: Any, out: Path, **how: Any) -> Path:
        if out.name == f"seed-{seed}":
            raise KeyboardInterrupt("stopped")
        return train(*args, out=out, **how)

    monkeypatch.setattr(several, "train", learn)


@pytest.mark.parametrize("record", [None, *slow("{}", "{")])
def test_old_runs_are_replaced_where_that_was_stopped_before_the_last(data, tmp_path, monkeypatch, capfd, record):
    """And are not judged beside new ones meanwhile; also where an old run's record is damaged or says nothing."""
    out = tmp_path / "runs"
    learn = functools.partial(train_seeds, data, (3, 4, 5), tiny_model("gru"), out=out, device="cpu")
    learn(training=tiny_training(updates=1))
    if record is not None:
        (out / "seed-5" / "run.json").write_text(record)
    stop_before(5, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        learn(training=tiny_training(updates=2), overwrite=True)
    monkeypatch.undo()
    assert run(f"evaluate {out} {data}") == 1
    assert f"got {out}, of which seed 5 must still be replaced; `videopred train --resume" in capfd.readouterr().err
    assert run(f"train --resume {out} --device cpu") == 0
    assert f"wrote {out}\n" in capfd.readouterr().out
    assert [load(path)["global_step"] for path in sorted(out.glob("seed-*/checkpoints/last.ckpt"))] == [2, 2, 2]
    assert run(f"evaluate {out} {data} --out {tmp_path / 'scores'}") == 0


def test_times_are_told_of_seeds_that_were_profiled_alone(data, tmp_path, monkeypatch, capfd):
    """Not of those that were finished before that was asked for."""
    out = tmp_path / "runs"
    stop_before(4, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train_seeds(data, (3, 4), tiny_model("gru"), tiny_training(updates=2), out=out, device="cpu")
    monkeypatch.undo()
    assert run(f"train --resume {out} --profile --device cpu") == 0
    told = capfd.readouterr().out
    assert f"{out / 'seed-4'}: " in told
    assert "seed-3: " not in told


@pytest.mark.parametrize("first", [3, 5])
def test_old_runs_stay_together_where_the_first_had_not_begun(data, tmp_path, first):
    out = train_seeds(data, (3, 4), tiny_model("gru"), tiny_training(updates=1), out=tmp_path / "runs", device="cpu")
    before = (out / "seed-4" / "run.json").read_bytes()
    write_json(out / "seeds.json", {"seeds": [first, 4], "to_replace": noted_to_replace(out, [first, 4])})
    resume_seeds(out, device="cpu")
    assert (out / "seed-4" / "run.json").read_bytes() == before


def test_seeds_behind_one_that_fails_are_trained_as_well(data, tmp_path, monkeypatch, capfd):
    """And when all are gone on with; each failure keeps its words."""
    plain, out = Learner.training_step, tmp_path / "runs"

    def step(self: Learner, frames: torch.Tensor, batch: int) -> torch.Tensor:
        if self.config.training.seed == 3 and self.global_step == 1:
            self._complain(2, "nan", "core")
        return plain(self, frames, batch)

    monkeypatch.setattr(Learner, "training_step", step)
    settings = tiny_training(validate_every=1)
    begin = functools.partial(train_seeds, data, (3, 4), tiny_model("gru"), settings, out=out, device="cpu")
    told = f"^runs from several seeds must all be finished, got {out}, of which seed 3 failed as said above; "
    told += (
        f"`videopred train --resume {out}` tries again; a loss that is not finite comes again: then train anew, with "
    )
    for go in (begin, functools.partial(resume_seeds, out, device="cpu")):
        with pytest.raises(FailedError, match=told):
            go()
        said = capfd.readouterr().err
        assert said.startswith("videopred: seed 3 has failed: training must keep the loss finite, got nan at update 2")
        states = [json.loads((out / f"seed-{seed}" / "run.json").read_text())["state"] for seed in (3, 4)]
        assert states == ["failed", "finished"]
    monkeypatch.undo()
    assert set(json.loads((resume_seeds(out, device="cpu") / "seeds.json").read_text())["validation"]) == {"3", "4"}


def test_a_seed_is_trained_even_if_nobody_reads_that_the_one_before_has_failed(data, tmp_path, monkeypatch):
    def failing(*args: Any, out: Path, **how: Any) -> Path:
        if out.name == "seed-4":
            raise FailedError("nan")
        return train(*args, out=out, **how)

    monkeypatch.setattr(several, "train", failing)
    out = tmp_path / "runs"
    with pytest.raises(FailedError, match="of which seed 4 failed"), stderr_unread():
        train_seeds(data, (3, 4, 5), tiny_model("gru"), tiny_training(updates=1), out=out, device="cpu")
    assert sorted(path.name for path in out.iterdir()) == [".lock", "seed-3", "seed-5", "seeds.json"]


def test_one_time_limit_holds_for_all_seeds(data, tmp_path, monkeypatch):
    """Of four runs of two updates, which take a second each: in the second run, then after the third."""
    seconds, out, plain = 0, tmp_path / "runs", Learner.training_step

    def learning(self: Learner, frames: torch.Tensor, batch: int) -> torch.Tensor:
        nonlocal seconds
        seconds += 1
        return plain(self, frames, batch)

    monkeypatch.setattr(Learner, "training_step", learning)
    monkeypatch.setattr(several, "TimeLimit", lambda limit: TimeLimit(limit, clock=lambda: seconds))
    compute, on = ComputeConfig(time_limit="3s"), f"continue with `videopred train --resume {out}"
    told = f"^time limit of 3s reached: 1 of 2 updates are done; {on}/seed-1` for this seed, or `.* {out}` for all$"
    with pytest.raises(KeyboardInterrupt, match=told):
        train_seeds(data, range(4), tiny_model("gru"), tiny_training(), compute=compute, out=out, device="cpu")
    with pytest.raises(KeyboardInterrupt, match=f"^time limit of 3s reached: 3 of 4 seeds are finished; {on}`$"):
        resume_seeds(out, compute=compute, device="cpu")
    assert sorted(path.name for path in out.iterdir()) == [".lock", "seed-0", "seed-1", "seed-2", "seeds.json"]
    resume_seeds(out, device="cpu")
    assert seconds == 8


def test_seeds_that_are_gone_on_with_have_the_time_limit_that_they_began_with(data, tmp_path):
    """It counts anew, unless another is given."""
    out, how = tmp_path / "runs", {"watch": UNDRAWN, "device": "cpu"}
    compute, three = ComputeConfig(time_limit="0s"), tiny_training(updates=3)
    with pytest.raises(KeyboardInterrupt, match=r"^time limit of 0s reached: 1 of 3 updates are done"):
        train_seeds(data, [4, 5], tiny_model("gru"), three, compute=compute, out=out, **how)
    with pytest.raises(KeyboardInterrupt, match=r"^time limit of 0s reached: 2 of 3 updates are done"):
        resume_seeds(out, **how)


def test_a_signal_that_comes_too_late_for_one_seed_stops_before_the_next(data, tmp_path, monkeypatch):
    """In the last look of the first seed, after which it has nothing left to learn."""
    plain, out = Learner.validation_step, tmp_path / "runs"

    def signalled(self: Learner, batch: Any, number: int) -> None:
        signal.raise_signal(signal.SIGUSR1)
        plain(self, batch, number)

    monkeypatch.setattr(Learner, "validation_step", signalled)
    told = f"^SIGUSR1 received: 1 of 2 seeds are finished; continue with `videopred train --resume {out}`$"
    with pytest.raises(KeyboardInterrupt, match=told):
        train_seeds(data, (3, 4), tiny_model("gru"), tiny_training(updates=1), out=out, device="cpu")
    assert json.loads((out / "seed-3" / "run.json").read_text())["state"] == "finished"
    assert sorted(path.name for path in out.iterdir()) == [".lock", "seed-3", "seeds.json"]


def test_seeds_are_gone_on_with_where_the_first_was_killed(data, tmp_path, monkeypatch):
    """A killed process can write nothing more, so they are written before. What has not begun begins as the first."""
    first = train(data, tiny_model("lstm"), tiny_training(updates=1), out=tmp_path / "first", device="cpu")

    class Killed(BaseException):
        pass

    def killed(*anything: object) -> None:
        assert json.loads((tmp_path / "runs" / "seeds.json").read_text()) == {"seeds": [3, 4], "to_replace": {}}
        raise Killed

    monkeypatch.setattr(Learner, "training_step", killed)
    how: dict[str, Any] = {"init_from": first, "experiment": ExperimentRecord(name="mine", scale="tiny")}
    with pytest.raises(Killed):
        train_seeds(data, (3, 4), tiny_model("lstm"), tiny_training(), out=tmp_path / "runs", device="cpu", **how)
    monkeypatch.undo()
    out = resume_seeds(tmp_path / "runs", device="cpu")
    assert set(json.loads((out / "seeds.json").read_text())["validation"]) == {"3", "4"}
    one, other = (read_settings(out / f"seed-{seed}")[0] for seed in (3, 4))
    same = other.model_copy(update={"training": other.training.model_copy(update={"seed": 3})})
    assert same == one
    assert (one.init_from, one.experiment) == (str(first), how["experiment"])


def test_what_was_stopped_before_its_first_update_has_nothing_to_go_on_from(data, tmp_path, monkeypatch):
    def stop(*args: Any, **how: Any) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(several, "train", stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        train_seeds(data, [3, 1], tiny_model("gru"), tiny_training(), out=tmp_path / "runs")
    assert str(stopped.value) == ""
    assert not (tmp_path / "runs").exists()


def test_a_later_seed_that_was_stopped_before_its_first_update_is_gone_on_with(data, tmp_path, monkeypatch):
    out = tmp_path / "runs"

    def stop(*args: Any, out: Path, **how: Any) -> Path:
        if out.name == "seed-1":
            raise KeyboardInterrupt
        return train(*args, out=out, **how)

    monkeypatch.setattr(several, "train", stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        train_seeds(data, [3, 1], tiny_model("gru"), tiny_training(updates=1), out=out, device="cpu")
    assert str(stopped.value) == f"continue with `videopred train --resume {out}`"
    monkeypatch.setattr(several, "train", train)
    assert set(json.loads((resume_seeds(out, device="cpu") / "seeds.json").read_text())["validation"]) == {"3", "1"}


def test_a_summary_needs_no_best_checkpoint(data, tmp_path):
    """It may have been damaged; and where no look saw a number, there never was one."""
    settings = tiny_training(updates=1)
    out = train_seeds(data, (1, 2, 4), tiny_model(), settings, out=tmp_path / "runs", device="cpu")
    before = (out / "seeds.json").read_text()
    for best in out.glob("seed-*/checkpoints/best.ckpt"):
        best.unlink()
    assert (resume_seeds(out, device="cpu") / "seeds.json").read_text() == before
    last = out / "seed-2" / "checkpoints" / "last.ckpt"
    content = load(last)
    content["videopred_looks"]["lowest"] = float("inf")
    torch.save(content, last)
    summary = json.loads((resume_seeds(out, device="cpu") / "seeds.json").read_text())
    assert (summary["validation"]["2"], summary["mean"], summary["deviation"]) == (None, None, None)
    assert summary["validation"]["1"] == json.loads(before)["validation"]["1"]
    last.unlink()
    with pytest.raises(FaultyFileError, match=rf"^{last} must be there, as the lowest validation loss of that seed is"):
        resume_seeds(out, device="cpu")


def test_a_summary_needs_no_last_checkpoint_either(data, tmp_path):
    """Who is short of room may delete it once a run is finished; the best knows what was the lowest."""
    out = train_seeds(data, (1, 2), tiny_model(), tiny_training(), out=tmp_path / "runs", device="cpu")
    before = (out / "seeds.json").read_text()
    (out / "seed-1" / "checkpoints" / "last.ckpt").unlink()
    (out / "seed-2" / "checkpoints" / "last.ckpt").write_bytes(b"damaged")
    assert (resume_seeds(out, device="cpu") / "seeds.json").read_text() == before


def test_seeds_that_have_not_begun_learn_from_clips_that_were_moved(data, tmp_path):
    here = tmp_path / "here.h5"
    here.write_bytes(data.read_bytes())
    out = train_seeds(here, (1,), tiny_model(), tiny_training(updates=1), out=tmp_path / "runs", device="cpu")
    (out / "seeds.json").write_text('{"seeds": [1, 2]}')  # as a run that was killed leaves it
    there = here.rename(tmp_path / "there.h5")
    resume_seeds(out, data=there, device="cpu")
    assert read_settings(out / "seed-2")[0].data.path == str(there)


def test_seeds_that_have_not_begun_are_trained_as_the_others_are_gone_on_with(data, tmp_path, monkeypatch):
    out = train_seeds(data, (1,), tiny_model(), tiny_training(updates=1), out=tmp_path / "runs", device="cpu")
    (out / "seeds.json").write_text('{"seeds": [1, 2]}')
    told: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(several, "resume", lambda run, **how: told.update({run.name: how}))
    monkeypatch.setattr(several, "train", lambda *anything, out, **how: told.update({out.name: how}))
    monkeypatch.setattr(several, "_summed_up", lambda out, seeds: out)
    how: dict[str, Any] = {"compute": ComputeConfig(hold="disk"), "watch": UNDRAWN, "device": "cpu", "progress": True}
    resume_seeds(out, **how)
    assert told["seed-1"].items() >= how.items()
    assert told["seed-2"].items() >= how.items()


def test_a_seed_that_is_deleted_is_trained_again_as_the_others_were(data, tmp_path):
    """Also the first, and with what they recorded."""
    how: Any = {"out": tmp_path / "runs", "device": "cpu", "watch": WatchConfig(pictures_every=0)}
    out = train_seeds(data, (1, 2), tiny_model(), tiny_training(updates=1), **how)
    before = weights(out / "seed-1")
    shutil.rmtree(out / "seed-1")
    resume_seeds(out, device="cpu")
    assert equal(weights(out / "seed-1"), before)
    assert read_settings(out / "seed-1")[0].watch == how["watch"]
