"""Where the time goes: on a clock that counts, so that every second has its place."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_model, tiny_training

from videopred.models import build
from videopred.rollout import predict_on
from videopred.settings import ComputeConfig, WatchConfig
from videopred.training.profiling import PARTS, Profile, summary, table
from videopred.training.run import train
from videopred.training.watching import check_watch


class Clock:
    """Tells the seconds that it was moved on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pause(clock: Clock, forward_seconds: float, backward_seconds: float) -> Any:
    """Gives its input back, after that many seconds, and the gradient after so many."""

    class Pause(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, values: torch.Tensor) -> torch.Tensor:
            clock.now += forward_seconds
            return values.clone()

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
            clock.now += backward_seconds
            return gradient

    return Pause.apply


def delay(module: torch.nn.Module, before: Any) -> None:
    inner = module.forward
    module.forward = lambda values, **options: inner(before(values), **options)  # type: ignore[method-assign]


@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize("core", ["gru", "rims", "scoff"])
def test_parts_of_the_model_are_told_apart_both_ways(tmp_path, monkeypatch, core, own):
    """A call of the encoder takes 1 s and 2 s back, of the decoder 10 and 20; a step of the core 100 and 200."""
    clock = Clock()
    predictor = build(tiny_model(core), (1, HEIGHT, WIDTH))
    delay(predictor.encoder, pause(clock, 1, 2))
    delay(predictor.decoder, pause(clock, 10, 20))
    name, wait = "advance" if hasattr(predictor.core, "advance") else "step", pause(clock, 100, 200)
    inner = getattr(predictor.core, name)

    def slow(*arguments: Any) -> Any:
        output, state, trace = inner(*arguments)
        return wait(output), state, trace

    monkeypatch.setattr(predictor.core, name, slow)
    profile = Profile(tmp_path / "profile.json", 1, clock=clock)
    profile.attach(predictor)
    film = torch.rand(3, FRAMES, 1, HEIGHT, WIDTH, requires_grad=True)
    predict_on(predictor, film, own).logits.sum().backward()
    profile.turn("data")
    assert profile.seconds["encoder"] == 3 * (1 + own)
    assert profile.seconds["decoder"] == 30 * (1 + own)
    assert profile.seconds["core"] == 300 * (FRAMES + own)
    assert profile.seconds["rest"] == 0


def test_looks_are_no_part_of_an_update(tmp_path):
    clock = Clock()
    predictor = build(tiny_model(), (1, HEIGHT, WIDTH))
    delay(predictor.encoder, pause(clock, 1, 0))
    profile = Profile(tmp_path / "profile.json", 1, clock=clock)
    profile.attach(predictor)
    profile.on_validation_start()
    with torch.no_grad():
        predictor(torch.rand(1, FRAMES, 1, HEIGHT, WIDTH))
    clock.now += 4
    profile.on_validation_end(None, None)  # type: ignore[arg-type]
    clock.now += 2  # in which checkpoints are saved
    profile.on_train_batch_start()
    assert (profile.seconds["validation"], profile.seconds["encoder"], profile.seconds["data"]) == (7, 0, 0)


@pytest.mark.parametrize(("pieces", "updates"), [(1, 2), (2, 1)])
def test_the_first_update_is_left_out(tmp_path, pieces, updates):
    """With all its pieces."""
    clock = Clock()
    profile = Profile(tmp_path / "profile.json", 36, pieces, clock=clock)
    for seconds in (*[1000] * pieces, 3, 5):
        profile.on_train_batch_start()
        clock.now += 1
        profile.on_after_backward()
        clock.now += seconds
        profile.on_train_batch_end()
        clock.now += 6
    profile.on_train_end(SimpleNamespace(is_global_zero=True), None)  # type: ignore[arg-type]
    kept = json.loads((tmp_path / "profile.json").read_text())
    # After the first update: its wait for data 6, then 1 + 3 + 6 and 1 + 5 + 6.
    assert kept["updates"] == updates
    assert kept["seconds_per_update"] == 28 / updates
    assert kept["frames_per_second"] == pytest.approx(36 * updates / 28)
    assert kept["shares"]["data"] == pytest.approx(18 / 28)
    assert kept["shares"]["optimizer"] == pytest.approx(8 / 28)
    assert kept["shares"]["rest"] == pytest.approx(2 / 28)


def test_a_run_keeps_its_profile(data, tmp_path):
    watch, run = WatchConfig(profile=True), tmp_path / "run"
    train(data, tiny_model("rims"), tiny_training(updates=4), watch=watch, out=run, device="cpu")
    kept = json.loads((run / "profile.json").read_text())
    assert list(kept["shares"]) == list(PARTS)
    assert sum(kept["shares"].values()) == pytest.approx(1)
    assert all(share > 0 for share in kept["shares"].values())
    assert kept["updates"] == 3
    told = table(run)
    assert "frames/s" in told
    assert all(part in told for part in PARTS)


def test_pieces_of_a_batch_are_one_update(data, tmp_path):
    watch, run = WatchConfig(profile=True), tmp_path / "run"
    train(data, tiny_model(), tiny_training(updates=3, accumulate=2), watch=watch, out=run, device="cpu")
    kept = json.loads((run / "profile.json").read_text())
    assert kept["updates"] == 2
    assert kept["frames_per_second"] * kept["seconds_per_update"] == pytest.approx(4 * FRAMES)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"compile": "eager"}, "--compile, got both, --compile eager; leave one of them out"),
        ({"cuda_graphs": True}, "--cuda-graphs, got both; leave one of them out"),
    ],
)
def test_a_compiled_or_recorded_model_has_no_parts(how, message):
    with pytest.raises(ValueError, match=f"^--profile must come without {message}"):
        check_watch(WatchConfig(profile=True), ComputeConfig(**how))


def test_one_update_has_no_profile(data, tmp_path):
    watch, run = WatchConfig(profile=True), tmp_path / "run"
    train(data, tiny_model(), tiny_training(updates=1), watch=watch, out=run, device="cpu")
    assert not (run / "profile.json").exists()
    assert table(run) == "no profile: it begins with the second update"


def test_a_profile_by_hand(tmp_path):
    seconds = {
        "data": 1.0,
        "encoder": 2.0,
        "core": 3.0,
        "decoder": 1.0,
        "optimizer": 2.0,
        "rest": 1.0,
        "validation": 99.0,
    }
    told = summary(seconds, updates=5, frames=200)
    assert (told["seconds_per_update"], told["frames_per_second"], told["seconds_of_validation"]) == (2.0, 20.0, 99.0)
    assert told["shares"] == {"data": 0.1, "encoder": 0.2, "core": 0.3, "decoder": 0.1, "optimizer": 0.2, "rest": 0.1}
    (tmp_path / "profile.json").write_text(json.dumps(told))
    assert table(tmp_path).split() == [
        "20", "frames/s,", "2.0000", "s", "an", "update", "data", "10.0%", "encoder", "20.0%", "core", "30.0%",
        "decoder", "10.0%", "optimizer", "20.0%", "rest", "10.0%",
    ]  # fmt: skip


def after_two_updates(path: Path, trainer: Any, device: str = "cpu") -> tuple[Profile, Any]:
    """A profile, and the predictor that it listened to."""
    profile, predictor = Profile(path, 36), build(tiny_model(), (1, HEIGHT, WIDTH))
    profile.on_train_start(trainer, SimpleNamespace(predictor=predictor, device=torch.device(device)))  # type: ignore[arg-type]
    for _ in range(2):
        profile.on_train_batch_start()
        profile.on_train_batch_end()
    return profile, predictor


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_of_several_processes_the_first_writes_also_where_it_is_stopped(tmp_path, first, stopped):
    """And whoever uses the predictor then is not listened to."""
    path, trainer = tmp_path / "profile.json", SimpleNamespace(is_global_zero=first)
    profile, predictor = after_two_updates(path, trainer)
    assert predictor.encoder._forward_hooks
    if stopped:
        profile.on_exception(trainer, None, KeyboardInterrupt())  # type: ignore[arg-type]
    else:
        profile.on_train_end(trainer, None)  # type: ignore[arg-type]
    assert path.exists() == first
    for module in (predictor.encoder, predictor.decoder):
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_after_one_update_that_was_stopped_there_is_nothing_to_tell(tmp_path):
    trainer: Any = SimpleNamespace(is_global_zero=True)
    profile = Profile(tmp_path / "profile.json", 36)
    profile.on_train_batch_start()
    profile.on_exception(trainer, None, KeyboardInterrupt())  # type: ignore[arg-type]
    profile.on_train_batch_end()
    profile.on_exception(trainer, None, KeyboardInterrupt())  # type: ignore[arg-type]
    assert not (tmp_path / "profile.json").exists()


@pytest.mark.parametrize(("device", "waits"), [("cpu", 0), ("cuda", 4), ("mps", 4)])
def test_a_gpu_is_waited_for_at_each_border(tmp_path, monkeypatch, device, waits):
    """Here at two borders of each of two updates."""
    waited: list[int] = []
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: waited.append(1))
    after_two_updates(tmp_path / "profile.json", None, device)
    assert len(waited) == waits
