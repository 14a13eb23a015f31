"""How a run begins: over an old one, from other weights, compiled."""

import functools
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from command_line import run as command
from lightning.pytorch.utilities import rank_zero_only
from tiny_runs import CORE_SIZES, HEIGHT, WIDTH, tiny_model, tiny_training
from training_runs import UNDRAWN, equal, learner, load, weights

from videopred.check import FaultyFileError
from videopred.checkpoint import load_run
from videopred.models import CORES
from videopred.models.codec_settings import RNEMConfig
from videopred.models.settings import PredictorConfig
from videopred.run_files import aside
from videopred.settings import ComputeConfig
from videopred.training import course
from videopred.training.folder import RunFolder
from videopred.training.learner import Learner
from videopred.training.resuming import read_settings
from videopred.training.run import resume, train
from videopred.training.stopping import StopSigns

STILL = tiny_training(updates=1, learning_rate=1e-30)
"""Leaves weights as they are."""

# --- over an old run -----------------------------------------------------------------------------------------


@pytest.fixture
def old(data, tmp_path) -> Path:
    return train(data, tiny_model("lstm"), tiny_training(), out=tmp_path / "run", device="cpu")


def test_the_old_run_comes_back_if_the_new_one_fails_before_it_saves(data, old, monkeypatch):
    before = weights(old)
    monkeypatch.setattr(Learner, "training_step", lambda *anything: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(data, tiny_model(), tiny_training(), out=old, device="cpu", overwrite=True)
    assert equal(weights(old), before)
    assert json.loads((old / "run.json").read_text())["state"] == "finished"
    assert [path.name for path in old.parent.iterdir()] == ["run"]


@pytest.mark.parametrize("step", ["forecast", "watchers", "make_trainer"])
def test_a_failure_before_the_first_update_is_one_as_well(data, old, monkeypatch, step):
    before, settings = weights(old), tiny_training(updates=100, validate_every=100)
    monkeypatch.setattr(course, step, lambda *anything: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(data, tiny_model(), settings, out=old, device="cpu", overwrite=True)
    assert equal(weights(old), before)
    with pytest.raises(ZeroDivisionError):
        train(data, tiny_model(), settings, out=old.parent / "new", device="cpu")
    record = json.loads((old.parent / "new" / "run.json").read_text())
    assert (record["state"], record["updates"]) == ("failed", 0)


def test_the_old_run_goes_when_the_new_one_has_saved(data, old, monkeypatch):
    step = Learner.training_step

    def failing(self: Learner, frames: torch.Tensor, batch: int) -> torch.Tensor:
        assert self.global_step < 1, "late"
        return step(self, frames, batch)

    monkeypatch.setattr(Learner, "training_step", failing)
    with pytest.raises(AssertionError, match="late"):
        train(data, tiny_model(), tiny_training(), out=old, device="cpu", overwrite=True)
    assert load_run(old).config == tiny_model()
    assert [path.name for path in old.parent.iterdir()] == ["run"]


def set_aside(run: Path) -> Path:
    """As a process leaves a run that was killed before it saved the one that replaces it; returns where it waits."""
    hidden = run.rename(aside(run))
    (run / "checkpoints").mkdir(parents=True)
    for name in ("settings.json", "run.json"):
        shutil.copy(hidden / name, run)
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"state": "running", "updates": 0}))
    return hidden


def test_a_name_that_is_too_long_to_be_set_aside_is_told_as_it_was_given(data, tmp_path, capsys):
    out = tmp_path / ("a" * 250)
    assert command(f"train {data} --batch-size 4 --updates 1 --out {out}") == 2
    assert f"--out must have names of at most 221 bytes, got {str(out)[:150]}" in capsys.readouterr().err


def test_a_command_brings_back_the_run_that_a_killed_one_had_set_aside(data, old, tmp_path, capfd):
    """Also that of one of several seeds."""
    before = weights(old)
    for run, words in ((old, f"--out {old}"), (tmp_path / "seed-3", f"--out {tmp_path} --seeds 3")):
        set_aside(old.rename(run))
        assert command(f"train {data} --updates 1 {words}") == 1
        assert "--out must be a new path, got" in capfd.readouterr().err
        assert equal(weights(run), before)
        old = run


def test_a_run_that_waits_for_one_that_has_saved_nothing_can_be_found(data, old, tmp_path, capfd):
    hidden = set_aside(old)
    waits = rf"{old}; the run that was to be replaced waits in {hidden}: delete {old} and give that its name$"
    told = rf"must hold checkpoints.*, got {waits}"
    with pytest.raises(FileNotFoundError, match=f"^RUN {told}"):
        load_run(old)
    with pytest.raises(FileNotFoundError, match=f"^--init-from {told}"):
        train(data, tiny_model("lstm"), STILL, out=tmp_path / "new", init_from=old, device="cpu")
    (old / "settings.json").unlink()
    with pytest.raises(FileNotFoundError, match=rf"^RUN must be a run folder with a settings\.json, got {waits}"):
        load_run(old)
    assert command(f"train --resume {old}") == 1
    assert capfd.readouterr().err.endswith(f": delete {old} and give that its name\n")
    shutil.rmtree(old)
    with pytest.raises(FileNotFoundError, match=rf"got {old}; the run .* waits in {hidden}: give that its name$"):
        load_run(old)


def test_a_name_that_no_disk_takes_is_told_as_one_of_no_run(tmp_path):
    """Not as that of the hidden place beside it, which is longer still."""
    must = rf"^RUN must be a run folder with a settings\.json, got {tmp_path}/a+.*; give"
    with pytest.raises(FileNotFoundError, match=must):
        load_run(tmp_path / (250 * "a"))


def test_a_run_replaces_the_one_that_gives_its_weights(data, old, monkeypatch):
    """When it is stopped or killed before it has saved anything, these wait beside."""
    before, how = weights(old), {"watch": UNDRAWN, "device": "cpu"}
    again = functools.partial(train, data, tiny_model("lstm"), STILL, out=old, init_from=old, overwrite=True, **how)

    def interrupted(*anything: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Learner, "training_step", interrupted)
    told = rf"^stopped at once: 0 of 1 updates are saved, and the run .* waits in {aside(old)}; continue with `"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt, match=told):
            again()
    monkeypatch.undo()
    assert equal(weights(resume(old, **how)), before)
    assert not aside(old).exists()


def test_other_processes_find_the_weights_that_the_first_has_set_aside(data, old, monkeypatch):
    before, begun = weights(old), []
    set_aside(old)
    monkeypatch.setattr(rank_zero_only, "rank", 1, raising=False)
    monkeypatch.setenv("VIDEOPRED_STARTED_BY", "7")
    monkeypatch.setattr(course.Course, "to_the_end", lambda self: begun.append(self.learner.state_dict()))
    train(data, tiny_model("lstm"), STILL, out=old, init_from=old, overwrite=True, device="cpu")
    assert equal(begun[0], before)


def test_a_process_killed_before_it_saved_leaves_the_old_run_to_the_next(data, old):
    """It had set the old run aside, under a hidden name."""
    before = weights(old)
    set_aside(old)
    with pytest.raises(FileExistsError, match="--out must be a new path"):
        train(data, tiny_model(), tiny_training(), out=old, device="cpu")
    assert equal(weights(old), before)


def test_a_process_killed_after_it_saved_leaves_the_new_run_to_the_next(old):
    aside, before = old.with_name(".run.replaced"), weights(old)
    aside.mkdir()
    with pytest.raises(FileExistsError, match="--out must be a new path"):
        RunFolder(old).begin(learner().config, "cpu", overwrite=False)
    assert equal(weights(old), before)
    assert not aside.exists()
    aside.mkdir()
    RunFolder(old).settle(1)  # which every save calls
    assert not aside.exists()


def test_a_run_that_was_stopped_before_it_saved_can_be_gone_on_with(old):
    """Only a failure gives its place back; the old run waits until there is something to keep."""
    folder = RunFolder(old)
    folder.begin(learner().config, "cpu", overwrite=True)
    folder.end("interrupted", 0)
    assert json.loads((old / "run.json").read_text())["state"] == "interrupted"
    assert read_settings(old)[0] == learner().config
    assert weights(old.with_name(".run.replaced"))


# --- from other weights --------------------------------------------------------------------------------------


def test_the_first_weights_are_those_of_another_run(data, old, tmp_path):
    run = train(data, tiny_model("lstm"), STILL, out=tmp_path / "new", init_from=old, device="cpu")
    theirs = load(old / "checkpoints" / "best.ckpt")["state_dict"]
    assert equal(weights(run), theirs)
    assert not equal(weights(train(data, tiny_model("lstm"), STILL, out=tmp_path / "fresh", device="cpu")), theirs)
    assert json.loads((run / "settings.json").read_text())["init_from"] == str(old)


def test_the_first_weights_are_drawn_from_the_seed(data, tmp_path):
    """Nothing is learned here but the signs of zeros, so that the order of clips says nothing."""
    drawn = []
    for out, seed in (("one", 3), ("again", 3), ("other", 5)):
        settings = tiny_training(updates=1, learning_rate=1e-30, seed=seed)
        drawn.append(weights(train(data, tiny_model("lstm"), settings, out=tmp_path / out, device="cpu")))
    assert equal(drawn[0], drawn[1])
    matrices = [name for name, drawn_first in drawn[0].items() if drawn_first.ndim > 1]
    assert not any(torch.equal(drawn[0][name], drawn[2][name]) for name in matrices)


def test_first_weights_in_64_bits_are_not_rounded(data, tmp_path):
    settings = tiny_training(updates=1, precision="64-true")
    first = train(data, tiny_model(), settings, out=tmp_path / "first", device="cpu")
    settings = tiny_training(updates=1, precision="64-true", learning_rate=1e-30)
    run = train(data, tiny_model(), settings, out=tmp_path / "new", init_from=first, device="cpu")
    torch.testing.assert_close(weights(run), weights(first, "best"), rtol=0, atol=1e-29)


def test_first_weights_are_not_asked_for_again_once_something_is_saved(data, old, tmp_path, monkeypatch):
    """The run that they are from may be gone, or be named from another folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(StopSigns, "reason", lambda self, trainer: "stopped" if trainer.global_step == 1 else "")
    settings = tiny_training(updates=3, validate_every=1)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model("lstm"), settings, out=tmp_path / "new", init_from="run", device="cpu")
    monkeypatch.undo()
    assert read_settings(tmp_path / "new")[0].init_from == str(old)
    straight = train(data, tiny_model("lstm"), settings, out=tmp_path / "straight", init_from=old, device="cpu")
    shutil.rmtree(old)
    assert equal(weights(resume(tmp_path / "new", device="cpu")), weights(straight))


def test_first_weights_that_are_gone_are_asked_for_before_anything_is_said(data, old, tmp_path, monkeypatch, capfd):
    def killed(*anything: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Learner, "training_step", killed)
    new = tmp_path / "new"
    with pytest.raises(MemoryError):
        train(data, tiny_model("lstm"), STILL, out=new, init_from=old, watch=UNDRAWN, device="cpu")
    old.rename(tmp_path / "moved")
    capfd.readouterr()
    told = (
        f"--init-from must be where it was, got {old} (nothing there); put it back, or train anew with --out {new} --ov"
    )
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(told)}"):
        resume(new, device="cpu")
    assert capfd.readouterr().err == ""
    (new / "checkpoints" / "last.ckpt").write_bytes(b"half")
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(told)}"):
        resume(new, device="cpu")
    assert "last.ckpt must be" in capfd.readouterr().err
    record = json.loads((new / "run.json").read_text())
    (new / "run.json").write_text(json.dumps(record | {"updates": 2}))
    (new / "checkpoints" / "last.ckpt.damaged").unlink()
    with pytest.raises(FaultyFileError, match=r"^--resume must hold its checkpoints"):
        resume(new, device="cpu")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            tiny_model("gru"),
            r"with core gru, got core lstm; give a",
        ),
        (
            PredictorConfig(
                core=CORES["lstm"][0](**CORE_SIZES["lstm"]), codec=RNEMConfig(channels=(2, 3), embedding=9)
            ),
            r"with codec\.embedding 9, got codec\.embedding 11; give a run",
        ),
    ],
)
def test_weights_of_another_model_are_refused(data, old, tmp_path, model, message):
    with pytest.raises(ValueError, match=f"^--init-from must hold the same model, {message}"):
        train(data, model, tiny_training(), out=tmp_path / "new", init_from=old, device="cpu")
    assert not (tmp_path / "new").exists()


# --- compilation, and bfloat16 -------------------------------------------------------------------------------


@pytest.mark.parametrize(("capability", "told"), [("AVX2", True), ("AVX512", False)])
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_where_bfloat16_is_slow_a_run_says_so(data, tmp_path, monkeypatch, capability, told, precision):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    run = train(data, tiny_model(), tiny_training(updates=1, precision=precision), out=tmp_path / "run", device="cpu")
    said = "this CPU has no instructions for bfloat16" in (run / "log.txt").read_text()
    assert said == (told and precision == "bf16-mixed")


def test_validation_is_not_compiled():
    """Once more, for the shapes of a rollout, would take longer than it gains."""
    compiled = []
    model = learner(free_running=2)
    model.predictor.compile(backend=lambda graph, inputs: compiled.append(1) or graph.forward)
    frames = torch.randint(256, (2, 5, HEIGHT, WIDTH, 1), dtype=torch.uint8)
    with torch.no_grad():
        model.losses_of(frames)
    assert compiled == []
    model.loss_of(frames, 2)
    assert compiled != []


def test_a_compiled_model_learns_the_same(data, tmp_path):
    """Backend eager compiles to the same operations; weights keep their names, so that the run loads."""
    usual = train(data, tiny_model(), tiny_training(), out=tmp_path / "usual", device="cpu")
    compiled = ComputeConfig(compile="eager")
    run = train(data, tiny_model(), tiny_training(), compute=compiled, out=tmp_path / "run", device="cpu")
    one, other = weights(run), weights(usual)
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], msg=name)
    load_run(run)
