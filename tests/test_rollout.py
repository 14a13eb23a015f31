"""Rollouts: which entry is about which frame, what is fed back, and that nothing else changes."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import HEIGHT, WIDTH, tiny_model
from torch import Tensor, nn

from videopred.models import CORES, build
from videopred.models.predictor import Prediction
from videopred.models.rnem import UpsampleConv
from videopred.rollout import (
    Rollout,
    made_in,
    predict_next,
    predict_on,
    roll_out,
    rollout_words,
    save_rollout,
    save_trace,
)

B, CONTEXT, HORIZON, C, H, W = 2, 4, 3, 1, 5, 7


class Clock(nn.Module):
    """Knows the time: reads a frame that is t/100 all over, says (t + 1)/100, and counts its steps in its state."""

    film_shape = (C, H, W)

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def forward(self, film: Tensor, state: Any = None, *, trace: bool = False) -> Prediction:
        self.seen.append(film)
        start = 0 if state is None else state
        steps = torch.arange(start, start + film.shape[1]).expand(len(film), -1)
        return Prediction(torch.logit(film + 0.01), start + film.shape[1], {"step": steps} if trace else {})


def clock_film(frames: int, first: int = 10) -> Tensor:
    times = torch.arange(first, first + frames) / 100
    return times.view(1, frames, 1, 1, 1).expand(B, frames, C, H, W)


def times(film: Tensor) -> list[int]:
    assert film.shape[0] == B
    assert film.shape[2:] == (C, H, W)
    assert torch.allclose(film, film[:1, :, :, :1, :1])
    return (film[0, :, 0, 0, 0] * 100).round().int().tolist()


def test_predictions_are_about_the_frames_that_follow():
    rollout = roll_out(Clock(), clock_film(CONTEXT), HORIZON)
    assert times(rollout.context) == [10, 11, 12, 13]
    assert times(rollout.one_step) == [11, 12, 13]
    assert times(rollout.prediction) == [14, 15, 16]
    assert rollout.trace == {}


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64])
def test_a_horizon_may_be_a_number_of_numpys(kind):
    assert times(roll_out(Clock(), clock_film(CONTEXT), kind(HORIZON)).prediction) == [14, 15, 16]


def test_a_kept_rollout_is_told_by_the_words_that_are_not_the_usual_ones():
    usual = {"run": "a", "part": "test", "feedback": "soft", "intervention": []}
    assert rollout_words(usual) == ["a"]
    other = {"part": "validation", "feedback": "sample", "intervention": ["without 1"]}
    assert rollout_words(usual | other) == ["a", "--part", "validation", "--feedback", "sample", "without 1"]


@pytest.mark.parametrize("made", ["[" * 100_000, '{"intervention": 1, "run": "a"}', "null"])
def test_what_others_call_made_says_nothing_odd(made):
    assert rollout_words(made_in({"made": np.array(made)})) in ([], ["a"])


@pytest.mark.parametrize(("context", "horizon"), [(1, 1), (1, 4), (5, 1)])
def test_the_shortest_rollouts(context, horizon):
    rollout = roll_out(Clock(), clock_film(context), horizon)
    assert times(rollout.one_step) == list(range(11, 10 + context))
    assert times(rollout.prediction) == list(range(10 + context, 10 + context + horizon))


def test_probabilities_themselves_are_fed_back_with_the_state():
    clock = Clock()
    rollout = roll_out(clock, clock_film(CONTEXT), HORIZON, trace=True)
    assert [film.shape[1] for film in clock.seen] == [CONTEXT, 1, 1]
    for fed, predicted in zip(clock.seen[1:], rollout.prediction.split(1, dim=1), strict=False):
        assert torch.equal(fed, predicted)
    assert rollout.trace["step"].tolist() == [list(range(CONTEXT + HORIZON - 1))] * B


@pytest.mark.parametrize(("threshold", "fed"), [("0.4", 1), ("0.5", 1), ("0.6", 0)])
def test_a_threshold_itself_counts_as_lit(threshold, fed):
    clock = Clock()
    rollout = roll_out(clock, torch.full((B, 1, C, H, W), 0.49), 2, feedback=f"threshold:{threshold}")
    assert rollout.prediction[:, 0].unique().tolist() == [0.5]
    assert clock.seen[1].unique().tolist() == [fed]


def test_each_clip_is_sampled_from_a_stream_of_its_own():
    clock = Clock()
    roll_out(clock, torch.full((B, 1, C, H, W), 0.49), 2, feedback="sample")
    first, second = clock.seen[1][:2]
    assert first.unique().tolist() == second.unique().tolist() == [0, 1]
    assert not torch.equal(first, second)


def test_teacher_forcing_sees_true_frames_only():
    clock = Clock()
    said = predict_on(clock, clock_film(6), 0)
    assert len(clock.seen) == 1
    assert times(torch.sigmoid(said.logits)) == [11, 12, 13, 14, 15, 16]


@pytest.fixture(params=CORES)
def predictor(request) -> nn.Module:
    torch.manual_seed(0)
    predictor = build(tiny_model(request.param), (C, HEIGHT, WIDTH))
    for weight in predictor.core.parameters():
        nn.init.normal_(weight, std=0.5)
    return predictor


def film(frames: int = CONTEXT) -> Tensor:
    return torch.rand(B, frames, C, HEIGHT, WIDTH, generator=torch.Generator().manual_seed(1))


def test_a_rollout_is_a_loop_by_hand(predictor):
    rollout = roll_out(predictor, film(), HORIZON, trace=True)
    predictor.eval()
    frames, state, said = list(film().unbind(1)), None, []
    with torch.no_grad():
        for t in range(CONTEXT + HORIZON - 1):
            slots = predictor.encoder(frames[t])
            state = predictor.core.initial_state(B) if state is None else state
            output, state, _ = predictor.core.step(slots, state)
            said.append(torch.sigmoid(predictor.decoder(output)[0]))
            if t >= CONTEXT - 1:
                frames.append(said[-1])
    torch.testing.assert_close(rollout.one_step, torch.stack(said[: CONTEXT - 1], 1))
    torch.testing.assert_close(rollout.prediction, torch.stack(said[CONTEXT - 1 :], 1))
    assert not torch.allclose(said[-1], said[-2]), "a still film would show no mistake in time"
    for name, happened in rollout.trace.items():
        assert happened.shape[:2] == (B, CONTEXT + HORIZON - 1), name


def test_the_decoders_kernels_are_folded_once_in_each_rollout(predictor, monkeypatch):
    folded, fold = [], UpsampleConv.folded
    monkeypatch.setattr(UpsampleConv, "folded", lambda layer: folded.append(layer) or fold(layer))
    first = roll_out(predictor, film(), HORIZON)
    layers = [layer for layer in predictor.decoder.modules() if isinstance(layer, UpsampleConv)]
    assert folded == layers != []
    with torch.no_grad():
        layers[-1].weight += 1
    assert not torch.allclose(roll_out(predictor, film(), HORIZON).prediction, first.prediction)
    assert folded == 2 * layers


def test_a_longer_rollout_begins_with_the_shorter(predictor):
    short, long = roll_out(predictor, film(), 2), roll_out(predictor, film(), 5)
    torch.testing.assert_close(long.prediction[:, :2], short.prediction)


def test_two_halves_are_one(predictor):
    """Going on from the state that a first half left, with the frame it said last."""
    predictor.eval()
    whole = predict_on(predictor, film(), 4)
    first = predict_on(predictor, film(), 1)
    second, state, last = [], first.state, first.logits[:, -1:]
    for _ in range(3):
        said = predictor(torch.sigmoid(last), state)
        last, state = said.logits, said.state
        second.append(last)
    torch.testing.assert_close(torch.cat([first.logits, *second], 1), whole.logits)


def test_films_lie_in_0_to_1_and_carry_no_gradient(predictor):
    rollout = roll_out(predictor, film(), HORIZON)
    for part in (rollout.one_step, rollout.prediction):
        assert 0 <= part.min() <= part.max() <= 1
        assert not part.requires_grad
    assert all(weight.grad is None for weight in predictor.parameters())


def test_in_training_gradients_flow_through_what_is_fed_back(predictor):
    """A true frame reaches the prediction after next by the state, and by the film that is fed back."""
    given = film(1).requires_grad_()
    predictor.eval()
    first = predictor(given)
    fed = torch.sigmoid(first.logits).detach().requires_grad_()
    last = predict_on(predictor, given, 1).logits[:, -1]
    (whole,) = torch.autograd.grad(last.square().sum(), given)
    (by_state,) = torch.autograd.grad(predictor(fed, first.state).logits.square().sum(), given)
    assert by_state.abs().sum() > 0
    assert not torch.allclose(whole, by_state), "no gradient comes through the film"


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_evaluation_during_and_as_it_was_after(training):
    modes = []

    class Watched(Clock):
        def forward(self, film: Tensor, state: Any = None, *, trace: bool = False) -> Prediction:
            modes.append(self.training)
            if len(modes) == 3:
                raise RuntimeError("stop")
            return super().forward(film, state, trace=trace)

    watched = Watched().train(training)
    roll_out(watched, clock_film(CONTEXT), 2)
    assert watched.training == training
    with pytest.raises(RuntimeError, match="stop"):
        roll_out(watched, clock_film(CONTEXT), 2)
    assert watched.training == training
    assert modes == [False, False, False]


def test_each_part_is_in_its_own_mode_afterwards(predictor):
    predictor.train()
    predictor.core.eval()
    roll_out(predictor, film(), 2)
    predict_next(predictor, film())
    assert predictor.training
    assert predictor.decoder.training
    assert not any(part.training for part in predictor.core.modules())


def test_what_comes_out_may_go_into_what_has_gradients(predictor):
    said = roll_out(predictor, film(), 2, trace=True)
    for values in (said.prediction, said.one_step, predict_next(predictor, film()), said.trace["states"]):
        weight = torch.ones(values.shape[-1], requires_grad=True)
        (values * weight).sum().backward()
        torch.testing.assert_close(weight.grad, values.flatten(0, -2).sum(0))


def test_chance_is_one_generator_for_each_clip(predictor):
    kind = "chance must be a list of torch.Generator, one for each clip, got "
    for chance, got in ((torch.Generator(), "Generator"), ([1] * B, "list")):
        with pytest.raises(TypeError, match=f"{kind}{got}; give that, or leave it out"):
            roll_out(predictor, film(), 2, feedback="sample", chance=chance)
    for count in (0, 1, B + 1):
        message = f"chance must hold {B} generators, one a clip, got {count}; give that"
        with pytest.raises(ValueError, match=message):
            roll_out(predictor, film(), 2, feedback="sample", chance=[torch.Generator()] * count)


@pytest.mark.parametrize(
    ("context", "arguments", "message"),
    [
        (clock_film(3), {"horizon": 0}, "^--horizon must be at least 1, got 0"),
        (
            clock_film(3)[:, :0],
            {"horizon": 2},
            r"^context must be \(B, T, C, H, W\) with T at least 1, got \(2, 0, 1, 5",
        ),
        (
            clock_film(3)[0],
            {"horizon": 2},
            r"^context must be \(B, T, C, H, W\) with T at least 1, got \(3, 1, 5, 7\); add .* by film\[None\]$",
        ),
        (
            clock_film(3)[0, 0],
            {"horizon": 2},
            r"^context must be \(B, T, C, H, W\) with T at least 1, got \(1, 5, 7\); give at least 1 frame$",
        ),
        (
            clock_film(3),
            {"horizon": 2, "feedback": "hard"},
            "^--feedback must be one of soft, threshold:0.5, sample, got hard",
        ),
        (
            clock_film(3),
            {"horizon": 2, "feedback": "true"},
            "^--feedback must be soft, threshold:0.5 or sample, got true; videopred.rollout.predict_next predicts each",
        ),
        (
            clock_film(3) * 255,
            {"horizon": 2},
            r"^context must hold numbers in \[0, 1\], got 25.5 to 30.6; make",
        ),
        (clock_film(3) * 20 - 1, {"horizon": 2}, r"^context must hold numbers in \[0, 1\], got 1 to 1.4; make"),
        (clock_film(3) * torch.nan, {"horizon": 2}, "got NaN among them; make it with videopred"),
    ],
)
def test_what_cannot_be_rolled_out(context, arguments, message):
    with pytest.raises(ValueError, match=message):
        roll_out(Clock(), context, **arguments)


def test_films_are_of_the_precision_of_the_model():
    film, model = torch.rand(2, 3, 1, HEIGHT, WIDTH), build(tiny_model("gru"), (1, HEIGHT, WIDTH))
    message = r" must be torch\.float32, as the model's weights are, got torch\.float64; convert"
    with pytest.raises(TypeError, match="^context" + message):
        roll_out(model, film.double(), 2)
    with pytest.raises(TypeError, match="^film" + message):
        predict_next(model, film.double())
    fix = "got torch.float32; convert the model with .float()"  # films that are read from data are of that precision
    with pytest.raises(TypeError, match=fix):
        roll_out(build(tiny_model("gru"), (1, HEIGHT, WIDTH)).double(), film, 2)
    with pytest.raises(ValueError, match=r"^film must be \(B, T, C, H, W\) with T at least 2, got \(2, 1, 1, "):
        predict_next(model, film[:, :1])


def test_films_are_where_the_model_is():
    film, model = torch.rand(2, 3, 1, HEIGHT, WIDTH), build(tiny_model("gru"), (1, HEIGHT, WIDTH))
    with pytest.raises(ValueError, match=r"^context must be on meta, as the model's weights are, got cpu; move it or"):
        roll_out(model.to("meta"), film, 2)
    with pytest.raises(ValueError, match=r"^film must be on meta, as the model's weights are, got cpu; move it or"):
        model(film)


def test_films_of_another_shape_are_refused(predictor):
    with pytest.raises(ValueError, match=r"^context must be \(B, T, 1, 24, 32\), got \(2, 4, 1, 5, 7\); use films"):
        roll_out(predictor, clock_film(CONTEXT), HORIZON)


def test_of_what_is_wrapped_the_model_inside_is_asked_for():
    averaged = torch.optim.swa_utils.AveragedModel(Clock())
    message = r"^predictor must be a model, got AveragedModel; give what .*load_run returns \(here its \.module\)$"
    with pytest.raises(TypeError, match=message):
        roll_out(averaged, torch.zeros(B, CONTEXT, C, H, W), HORIZON)
    roll_out(averaged.module, torch.zeros(B, CONTEXT, C, H, W), HORIZON)


def test_a_rollout_can_be_kept(tmp_path):
    def draw(*shape: int) -> Tensor:
        return torch.rand(shape)

    rollout = Rollout(draw(B, 4, C, H, W), draw(B, 3, C, H, W), draw(B, 5, C, H, W), {"mask": draw(B, 8, 6)})
    truth = draw(B, 5, C, H, W)
    path = tmp_path / "new" / "rollout.npz"
    for _ in range(2):  # what is there is replaced
        save_rollout(path, rollout, truth, {"part": "test"})
    with np.load(path) as kept:
        assert sorted(kept) == ["context", "made", "one_step", "prediction", "truth"]
        assert json.loads(str(kept["made"])) == {"part": "test"}
        for name in ("context", "one_step", "prediction"):
            np.testing.assert_array_equal(kept[name], getattr(rollout, name))
        np.testing.assert_array_equal(kept["truth"], truth)
    assert [file.name for file in path.parent.iterdir()] == ["rollout.npz"]


def test_a_rollout_in_bfloat16_is_kept_in_single_precision(tmp_path):
    model = build(tiny_model("rims"), (C, HEIGHT, WIDTH)).bfloat16()
    rollout = roll_out(model, film().bfloat16(), HORIZON, trace=True)
    save_rollout(tmp_path / "rollout.npz", rollout, film(), {})
    save_trace(tmp_path / "trace.npz", rollout, {}, {})
    with np.load(tmp_path / "rollout.npz") as films, np.load(tmp_path / "trace.npz") as trace:
        assert {films["prediction"].dtype, trace["states"].dtype} == {np.dtype(np.float32)}
        np.testing.assert_array_equal(films["prediction"], rollout.prediction.float())
        np.testing.assert_array_equal(trace["states"], rollout.trace["states"].float())


def test_kept_numbers_are_of_the_type_that_they_were(tmp_path):
    kinds = {"states": torch.float64, "active": torch.bool, "schema": torch.int64}
    film = torch.rand(B, 4, C, H, W, dtype=torch.float64)
    rollout = Rollout(film, film[:, 1:], film, {name: torch.ones(B, 7, 3, dtype=kind) for name, kind in kinds.items()})
    save_rollout(tmp_path / "rollout.npz", rollout, film, {})
    save_trace(tmp_path / "trace.npz", rollout, {}, {})
    with np.load(tmp_path / "rollout.npz") as films, np.load(tmp_path / "trace.npz") as trace:
        np.testing.assert_array_equal(films["prediction"], film, strict=True)
        told = {name.removeprefix("trace/"): str(values.dtype) for name, values in trace.items()}
        assert {name: told[name] for name in kinds} == {"states": "float64", "active": "bool", "schema": "int64"}


def test_a_trace_is_kept_with_what_is_known_of_the_clips(tmp_path):
    rollout = roll_out(build(tiny_model("rims"), (C, HEIGHT, WIDTH)), film(), HORIZON, trace=True)
    truth = {"positions": np.ones((B, CONTEXT + HORIZON, 2, 2)), "labels/mode": np.arange(B)}
    save_trace(tmp_path / "new" / "trace.npz", rollout, truth, {"part": "test"})
    with np.load(tmp_path / "new" / "trace.npz") as kept:
        names = {f"trace/{name}" for name in rollout.trace if name != "states"} | {f"truth/{name}" for name in truth}
        assert set(kept) == {"states", "context", "made", *names}
        np.testing.assert_array_equal(kept["states"], rollout.trace["states"])
        np.testing.assert_array_equal(kept["trace/active"], rollout.trace["active"])
        np.testing.assert_array_equal(kept["truth/labels/mode"], truth["labels/mode"])
        assert kept["context"] == CONTEXT
