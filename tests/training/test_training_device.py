"""Trainings on a device, a pretended one, from the first clip to the last checkpoint: the weights are the CPU's."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from documents import blocks
from pretended_device import Pretended, held, pretended_device, waits
from slow_proofs import slow
from tiny_runs import FRAMES, HEIGHT, RECIPE, WIDTH, tiny_model, tiny_training
from training_runs import UNDRAWN, everything_of, learner, load, stop_after, weights

from videopred import cli
from videopred.datasets import open_dataset
from videopred.settings import ComputeConfig, WatchConfig
from videopred.training import course
from videopred.training.clips import TrainingClips
from videopred.training.learner import Learner
from videopred.training.run import foresee, resume, train

SPEED = Path(__file__).parents[2] / "docs" / "speed.md"
EVERYTHING = {"accumulate": 2, "free_running": 3, "noise": 0.1, "sampling": "linear", "clip_norm": 0.5}


def same(here: Path, there: Path) -> None:
    """Raise AssertionError unless both runs came to the same weights, and their files are readable without a device.

    But for rounding, which Adam can make as large as a share of an update.
    """
    torch.testing.assert_close(weights(there), weights(here), rtol=1e-4, atol=1e-5)
    assert json.loads((there / "run.json").read_text())["state"] == "finished"


def is_fused(run: Path) -> bool | None:
    """Whether the last update was done by the optimizer that leaves out what is not finite."""
    (optimizer,) = load(run / "checkpoints" / "last.ckpt")["optimizer_states"]
    return optimizer["param_groups"][0]["fused"]


@pytest.mark.parametrize(("core", "workers"), [("scoff", 0), *slow(("brims", 2))])
def test_a_training_there_is_that_on_the_cpu(data, tmp_path, core, workers):
    """With workers the clips come from the host's memory, else they wait on the device."""
    settings, compute = tiny_training(**EVERYTHING), ComputeConfig(workers=workers)
    how: dict[str, Any] = {"compute": compute, "watch": WatchConfig()}
    here = train(data, tiny_model(core), settings, out=tmp_path / "here", device="cpu", **how)
    with pretended_device():
        there = train(data, tiny_model(core), settings, out=tmp_path / "there", device="cuda", **how)
    same(here, there)
    assert json.loads((there / "run.json").read_text())["device"] == "cuda (pretended)"


@pytest.mark.slow
def test_a_training_goes_on_there(data, tmp_path, monkeypatch):
    """From a checkpoint of the device; and a run of the device goes on on the CPU."""
    settings = tiny_training(**EVERYTHING, updates=3)
    whole = train(data, tiny_model(), settings, out=tmp_path / "whole", watch=UNDRAWN, device="cpu")
    for name, second in (("there", "cuda"), ("back", "cpu")):
        with pretended_device():
            stop_after(monkeypatch, 1)
            with pytest.raises(KeyboardInterrupt):
                train(data, tiny_model(), settings, out=tmp_path / name, watch=UNDRAWN, device="auto")
            stop_after(monkeypatch, 0)
            if second == "cuda":
                resume(tmp_path / name, device="cuda")
        if second == "cpu":
            resume(tmp_path / name, device="cpu")
        same(whole, tmp_path / name)
        assert everything_of(tmp_path / name)["updates"] == 3
        assert is_fused(tmp_path / name) == (True if second == "cuda" else None)
        told = "cuda (pretended)" if second == "cuda" else "cpu"
        assert json.loads((tmp_path / name / "run.json").read_text())["device"] == told


@pytest.mark.parametrize(("hold", "workers", "told"), [("disk", 0, True), ("disk", 2, False), ("device", 0, False)])
def test_a_device_that_waits_for_clips_is_told_of(data, tmp_path, hold, workers, told):
    compute, out = ComputeConfig(hold=hold, workers=workers), tmp_path / "run"
    with pretended_device():
        train(data, tiny_model(), tiny_training(updates=1), compute=compute, out=out, watch=UNDRAWN, device="cuda")
    said = "cuda waits while clips are read from disk; with --workers 2 that happens meanwhile"
    assert (said in (out / "log.txt").read_text()) == told


def test_a_device_that_waits_for_clips_that_are_made_is_told_of_that(tmp_path):
    endless, training = tmp_path / "two.json", tiny_training(updates=1, validation_clips=3)
    endless.write_text(RECIPE.model_dump_json())
    with pretended_device():
        train(endless, tiny_model(), training, out=tmp_path / "run", watch=UNDRAWN, device="cuda")
    log = (tmp_path / "run" / "log.txt").read_text()
    assert "cuda waits while clips are made; with --workers 2 that happens meanwhile" in log
    assert "clips of balls are made as they are needed, without end; none are read from a file" in log


@pytest.mark.parametrize("pieces", [1, *slow(2)])
def test_the_host_waits_once_an_update_while_the_device_computes_the_next_loss(data, tmp_path, monkeypatch, pieces):
    """For whether losses and gradients of the update before are finite."""
    order, plain = [], Learner.loss_to_learn

    def waited() -> list[str]:
        values = [what for what in waits if what in ("event", "aten._local_scalar_dense.default")]
        waits.clear()
        return values

    def watched(self: Learner, *what: Any) -> Any:
        order.extend(waited())
        found = plain(self, *what)
        order.extend([*waited(), f"loss of update {self.global_step + 1}"])
        return found

    monkeypatch.setattr(Learner, "loss_to_learn", watched)
    settings = tiny_training(updates=4, validate_every=4, accumulate=pieces)
    with pretended_device():
        train(data, tiny_model("rims"), settings, out=tmp_path / "run", watch=UNDRAWN, device="cuda")
    first, last = (order.index(f"loss of update {number}") for number in (1, 4))
    second, third = (["event" if at == 1 else f"loss of update {n}" for at in range(pieces + 1)] for n in (2, 3))
    assert order[first:last] == ["loss of update 1"] * pieces + second + third


class _Spoiled(torch.autograd.Function):
    """A number whose gradient is none."""

    @staticmethod
    def forward(context: Any, number: torch.Tensor) -> torch.Tensor:
        return number.clone()

    @staticmethod
    def backward(context: Any, upstream: torch.Tensor) -> torch.Tensor:
        return upstream * torch.nan


@pytest.mark.parametrize(
    ("spoiled", "got"), [(lambda loss: loss + torch.inf, "inf"), (_Spoiled.apply, "a gradient of norm nan")]
)
def test_an_update_that_is_not_finite_is_left_out_and_named(data, tmp_path, monkeypatch, spoiled, got):
    """The third, once the loss of the fourth is asked for, which has the weights of before."""
    plain, before = Learner.loss_to_learn, []

    def watched(self: Learner, *what: Any) -> Any:
        before.append([held(weight).detach().clone() for weight in self.parameters()])
        loss = plain(self, *what)
        return spoiled(loss) if len(before) == 3 else loss

    monkeypatch.setattr(Learner, "loss_to_learn", watched)
    settings, message = tiny_training(updates=6, validate_every=6), f"keep the loss finite, got {got} at update 3,"
    with pretended_device(), pytest.raises(ValueError, match=message):
        train(data, tiny_model("rims"), settings, out=tmp_path / "run", watch=UNDRAWN, device="cuda")
    _, second, third, fourth = before
    assert all(torch.equal(one, other) for one, other in zip(third, fourth, strict=True))
    assert not any(torch.equal(one, other) for one, other in zip(second, third, strict=True) if one.any())


def test_the_weight_whose_gradient_is_none_is_named_behind_the_clipping_of_all(data, tmp_path, monkeypatch):
    plain = Learner.configure_gradient_clipping

    def spoiling(self: Learner, *what: Any, **more: Any) -> None:
        for weight in self.predictor.decoder.parameters():
            weight.grad = weight.grad * torch.nan
        plain(self, *what, **more)

    monkeypatch.setattr(Learner, "configure_gradient_clipping", spoiling)
    settings, message = tiny_training(clip_norm=0.1), "a gradient of norm nan at update 1, first in the gradient of dec"
    with pretended_device(), pytest.raises(ValueError, match=message):
        train(data, tiny_model("rims"), settings, out=tmp_path / "run", watch=UNDRAWN, device="cuda")


@pytest.mark.parametrize("precision", ["16-mixed", "bf16-mixed", "bf16-true", "64-true"])
def test_every_precision_comes_to_its_end(data, tmp_path, precision):
    settings = tiny_training(precision=precision)
    with pretended_device():
        run = train(data, tiny_model(), settings, out=tmp_path / "run", watch=WatchConfig(profile=True), device="cuda")
    assert all(value.isfinite().all() for value in weights(run).values())
    assert (run / "profile.json").is_file()
    assert is_fused(run) == (None if precision == "16-mixed" else True)


@pytest.mark.parametrize(("strategy", "fused"), [("auto", True), ("ddp", True), ("fsdp", None)])
def test_lightning_clips_parts_of_weights_and_wants_no_fused_optimizer_for_that(strategy, fused):
    model = learner(strategy=strategy)
    model.trainer = trainer = SimpleNamespace(strategy=SimpleNamespace(root_device=torch.device("cuda")))
    assert model.fused is fused
    trainer.strategy.root_device = torch.device("cpu")
    assert model.fused is None


@pytest.mark.parametrize("hold", ["auto", "device"])
def test_clips_wait_on_the_device(data, hold):
    with pretended_device() as device:
        clips = TrainingClips(open_dataset(data), tiny_training(), ComputeConfig(hold=hold), str(device))
        frames = clips.frames_on(device)
    assert clips.held_on_device
    assert isinstance(frames, Pretended)
    assert torch.equal(frames.held, torch.from_numpy(open_dataset(data).read_frames("train", 0, 12)))


def test_what_is_compiled_depends_on_the_device(data, tmp_path, monkeypatch):
    asked: list[Any] = []
    monkeypatch.setattr(course, "compile_predictor", lambda predictor, *how: asked.append(how))
    compute = ComputeConfig(compile="eager")
    with pretended_device():
        for name in ("cuda", "cpu"):
            out = tmp_path / name
            train(data, tiny_model(), tiny_training(), compute=compute, out=out, watch=UNDRAWN, device=name)
    assert asked == [("eager", "cuda"), ("eager", "cpu")]


def test_what_a_training_will_take_there_is_foretold(data, monkeypatch):
    optimizers, plain = [], torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda adam: optimizers.append(adam) or plain(adam))
    with pretended_device():
        foretold = foresee(data, tiny_model("rims"), tiny_training(), device="cuda")
    assert {adam.param_groups[0]["fused"] for adam in optimizers} == {True}
    here = foresee(data, tiny_model("rims"), tiny_training(), device="cpu")
    assert foretold.device == "cuda"
    assert (foretold.parameters, foretold.disk) == (here.parameters, here.disk)
    assert foretold.memory == 10**6 + 12 * FRAMES * HEIGHT * WIDTH  # what it says it took, and the clips


def test_the_page_on_speed_times_updates(data, tmp_path, monkeypatch, capsys):
    """From the second to the fourth, by a clock that goes on by 0.25 s whenever it is looked at."""
    (program,) = (text for text in blocks(SPEED.read_text(), "python") if "on_train_batch_start" in text)
    words, names = [], {}
    monkeypatch.setattr(cli, "main", words.extend)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(Learner, "on_train_batch_start", Learner.on_train_batch_start)  # which comes back
    exec(program.replace("10, 110", "1, 3"), names)
    names["time"] = SimpleNamespace(perf_counter=itertools.count(0, 0.25).__next__)
    with pretended_device():
        train(data, tiny_model(), tiny_training(updates=5), out=tmp_path / "run", watch=UNDRAWN, device="cuda")
    assert capsys.readouterr().out == "125.0 ms\n"
    with pytest.raises(SystemExit):
        cli.run(["train", "--help"])
    told = capsys.readouterr().out
    assert [word for word in words if word.startswith("--") and word not in told] == []
