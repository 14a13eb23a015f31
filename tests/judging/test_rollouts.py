"""Judging models: what is fed back, several samples, several runs, one step ahead, and shares of processes."""

from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import tiny_data, tiny_model
from torch import Tensor, distributed, nn

from videopred import models
from videopred.datasets import open_dataset
from videopred.eval.settings import Protocol
from videopred.frames import to_film
from videopred.judging import evaluate, imagine, judge
from videopred.judging.batches import Batch
from videopred.judging.choosing import clip_scores
from videopred.judging.predicting import batch_predictor
from videopred.judging.sharing import Share
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import intervene
from videopred.models.predictor import Prediction
from videopred.processes import my_place
from videopred.rollout import predict_next, roll_out

HEIGHT, WIDTH = 24, 32


class Doubting(nn.Module):
    """Says of a lit pixel that it is lit with a chance of 0.7, of a dark one with 0.2: probabilities of its input."""

    film_shape = (1, HEIGHT, WIDTH)

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.0))

    def forward(self, film: Tensor, state: Any = None, *, trace: bool = False) -> Prediction:
        return Prediction(torch.logit(0.2 + 0.5 * film) * self.gain, state, {})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return open_dataset(tiny_data(tmp_path_factory.mktemp("data")))


def test_soft_threshold_and_sample_by_hand():
    """From a lit pixel: soft 0.7 then 0.2 + 0.35 = 0.55; thresholds below make it 1 again, above 0."""
    lit = torch.ones(1, 1, 1, 2, 3)
    said = {
        feedback: roll_out(Doubting(), lit, 3, feedback=feedback).prediction[0, :, 0, 0, 0].tolist()
        for feedback in ("soft", "threshold:0.6", "threshold:0.8")
    }
    assert said["soft"] == pytest.approx([0.7, 0.55, 0.475])
    assert said["threshold:0.6"] == pytest.approx([0.7, 0.7, 0.7])
    assert said["threshold:0.8"] == pytest.approx([0.7, 0.2, 0.2])
    film = roll_out(Doubting(), torch.ones(1, 1, 1, 60, 80), 2, feedback="sample").prediction[0, 1]
    assert film.unique().tolist() == pytest.approx([0.2, 0.7])
    assert (film > 0.5).float().mean().item() == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("feedback", ["true", "elsewhere", "hard", "threshold:0", "threshold:x", "threshold"])
def test_other_feedback_is_refused(feedback):
    with pytest.raises(ValueError, match="--feedback must"):
        roll_out(Doubting(), torch.ones(1, 1, 1, 2, 3), 2, feedback=feedback)


class Dice:
    """Films at random."""

    def __call__(self, film: Tensor, horizon: int) -> Tensor:
        return torch.rand(len(film), horizon, *film.shape[2:])


def test_samples_depend_on_the_clip_and_the_sample_alone(file):
    asked = {"context": 2, "horizon": 4, "metrics": ("mse", "f1"), "feedback": "sample"}
    whole = evaluate(Doubting(), file, batch_size=5, samples=3, **asked)
    for size in (1, 2):
        split = evaluate(Doubting(), file, batch_size=size, samples=3, **asked)
        for column, values in whole.values["model"].items():
            np.testing.assert_allclose(split.values["model"][column], values, rtol=1e-6)
    first = evaluate(Doubting(), file, samples=1, **asked)
    assert not np.allclose(first.values["model"]["mse"], whole.values["model"]["mse mean of 3"])


def test_samples_that_are_all_the_same_are_said_to_be(file):
    told = "all samples of a clip are the same film in "
    asked = Protocol(context=2, horizon=3, metrics=("mse", "mae"), samples=3)
    models = {"steady": lambda film, n: 0.5 * film[:, -1:].expand(-1, n, -1, -1, -1), "dice": Dice()}
    assert judge(models, file, asked).notes == (f"{told}steady",)
    for seldom_best in (asked, asked.model_copy(update={"samples": 2, "clips": 1})):
        assert judge(Dice(), file, seldom_best).notes == ()
    how = {"context": 2, "horizon": 3, "metrics": ("mse",)}
    assert evaluate(Doubting(), file, **how).notes == ()
    assert evaluate(Doubting(), file, **how, samples=2).notes == (f"{told}model; --feedback sample draws them",)
    assert evaluate(Doubting(), file, **how, samples=2, feedback="sample").notes == ()


def test_the_best_and_the_mean_of_samples_by_hand(file):
    """Three films that are 0.1, 0.3 and 0.2 off in even clips, and 0.3, 0.1, 0.2 in odd ones."""
    off = iter([(0.1, 0.3), (0.3, 0.1), (0.2, 0.2)])
    truth = torch.from_numpy(file.read_frames("test", 0, 5)).movedim(-1, 2).float().div(255)[:, 2:5]

    def predict(context: Tensor, horizon: int) -> Tensor:
        even, odd = next(off)
        shift = torch.tensor([even, odd, even, odd, even]).view(5, 1, 1, 1, 1)
        return (truth - shift).abs()

    scores = judge(predict, file, Protocol(context=2, horizon=3, metrics=("mae",), samples=3), batch_size=5)
    assert list(scores.metrics) == ["mae best of 3", "mae mean of 3"]
    np.testing.assert_allclose(scores.values["model"]["mae best of 3"], 0.1, rtol=1e-5)
    np.testing.assert_allclose(scores.values["model"]["mae mean of 3"], 0.2, rtol=1e-5)
    assert "MAE best of 3 ↓" in scores.table()
    assert "chosen with the truth at hand" in scores.table()
    assert np.array_equal(scores.values["blank"]["mae best of 3"], scores.values["blank"]["mae mean of 3"])


def test_one_step_ahead_every_frame_comes_from_the_true_one_before(file):
    frames = torch.from_numpy(file.read_frames("test", 0, 5)).movedim(-1, 2).float().div(255)
    torch.testing.assert_close(predict_next(Doubting(), frames), 0.2 + 0.5 * frames[:, :-1])
    scores = evaluate(Doubting(), file, context=3, horizon=4, metrics=("mse",), feedback="true")
    before, after = frames[:, 2:6].double(), frames[:, 3:7].double()
    train = torch.from_numpy(file.read_frames("train", 0, file.parts["train"])).movedim(-1, 2).double().div(255)
    was_lit = train[:, 2] >= 0.5
    dark, lit = (train[:, 3][kind].mean() for kind in (~was_lit, was_lit))  # one step after the three that are given
    rows = {
        "model": 0.2 + 0.5 * before,
        "copy last": before,
        "blank": 0 * before,
        "mean frame": train.mean(dim=(0, 1)),
        "copy last calibrated": torch.where(before >= 0.5, lit, dark),
    }
    for row, film in rows.items():
        expected = (film - after).square().mean(dim=(0, 2, 3, 4))
        np.testing.assert_allclose(scores.values[row]["mse"], expected, rtol=1e-5, err_msg=row)


def test_several_models_are_rows_on_the_same_clips(file):
    alone = evaluate(Doubting(), file, context=3, horizon=4, metrics=("mse",))
    both = evaluate({"a": Doubting(), "b": Doubting()}, file, context=3, horizon=4, metrics=("mse",))
    assert both.models == ("a", "b")
    assert list(both.values)[:3] == ["a", "b", "blank"]
    np.testing.assert_array_equal(both.values["b"]["mse"], alone.values["model"]["mse"])


def test_several_models_of_one_kind_have_a_mean_over_their_seeds(file):
    a, b, c = (models.build(tiny_model(), file.film_shape) for _ in range(3))
    asked: dict[str, Any] = {"context": 3, "horizon": 2, "metrics": ("mse",)}
    scores = evaluate({"a": a, "b": b, "c": c}, file, **asked, seeds={"two": ["a", "c"]})
    assert scores.seeds == {"two": ("a", "c")}
    alone = [evaluate(one, file, **asked).mean("model", "mse") for one in (a, c)]
    assert scores.over_seeds("two", "mse")[0] == pytest.approx(np.mean(alone))
    assert evaluate(a, file, **asked).seeds == {}
    with pytest.raises(TypeError, match=r"^seeds must be a dict of rows by group, got \(\); write"):
        evaluate(a, file, **asked, seeds=())
    with pytest.raises(ValueError, match=r"seeds two must be one of model, got a; choose one of these"):
        evaluate(a, file, **asked, seeds={"two": ["a", "c"]})


def test_processes_share_clips_only_where_that_is_asked_for(file, monkeypatch):
    """Several that were started together may each judge a model of their own."""
    asked: dict[str, Any] = {"context": 3, "horizon": 2, "metrics": ("mse",)}
    protocol, still = Protocol(**asked), lambda context, horizon: context[:, -1:].expand(-1, horizon, -1, -1, -1)
    model = models.build(tiny_model(), file.film_shape)
    alone = evaluate(model, file, **asked).mean("model", "mse"), judge(still, file, protocol).mean("model", "mse")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    own = evaluate(model, file, **asked).mean("model", "mse"), judge(still, file, protocol).mean("model", "mse")
    assert own == alone
    with pytest.raises(ValueError, match="MASTER_ADDR must say where the processes meet"):
        evaluate(model, file, **asked, share=True)
    with pytest.raises(TypeError, match=r"^share must be True or False, got 1; choose one of these$"):
        evaluate(model, file, **asked, share=1)
    with pytest.raises(ValueError, match="MASTER_ADDR must say where the processes meet"):
        judge(still, file, protocol, share=True)


def test_the_data_says_how_many_frames_are_given_and_predicted(file):
    asked = evaluate(Doubting(), file, metrics=("mse",)).protocol
    assert (asked.context, asked.horizon) == (file.context, file.horizon)
    assert file.context != file.horizon
    with pytest.raises(ValueError, match="--context must be at least 1, got 0"):
        evaluate(Doubting(), file, context=0, metrics=("mse",))


def test_the_noise_of_a_clip_is_its_own(file):
    """Of four clips that are the same, and of the last two by themselves: these draw as they did, and as no other."""
    same = torch.ones(1, 6, 1, HEIGHT, WIDTH)
    draw = batch_predictor(Doubting(), "sample")
    four, two = (draw(Batch(file, "test", start, same.repeat(4 - start, 1, 1, 1, 1), 2), 1) for start in (0, 2))
    assert torch.equal(four[2:], two)
    first = draw(Batch(file, "test", 0, same.repeat(4, 1, 1, 1, 1), 2), 0)  # of the samples
    assert len({clip.numpy().tobytes() for clip in (*first, *four)}) == 8


def test_shares_are_disjoint_and_whole():
    work = list(range(11))
    assert [Share(rank, 3).writes for rank in range(3)] == [True, False, False]
    parts = [Share(rank, 3).of(work) for rank in range(3)]
    assert sorted(item for part in parts for item in part) == work
    assert Share().of(work) == work
    assert my_place() == (0, 1)


def test_a_total_leaves_what_was_added_up_as_it_was(monkeypatch):
    monkeypatch.setattr(distributed, "all_reduce", lambda values, group: values.mul_(3))
    mine = torch.tensor([1.0, 2.5])
    assert Share(1, 3).total(mine).tolist() == [3, 7.5]
    assert mine.tolist() == [1, 2.5]


def test_what_is_drawn_for_a_clip_is_what_evaluate_draws_for_its_first_film(tmp_path):
    file = open_dataset(tiny_data(tmp_path))
    predictor = models.build(tiny_model("lstm"), file.film_shape).eval()
    shown, _ = imagine(predictor, file, "test", [1, 2], 3, 5, feedback="sample")
    batch = Batch(file, "test", 1, to_film(file.read_frames("test", 1, 3))[:, :8], 3)
    first, second = (batch_predictor(predictor, "sample")(batch, sample) for sample in (0, 1))
    assert torch.equal(shown.prediction, first)
    assert not torch.equal(shown.prediction, second)


def test_what_a_model_itself_draws_is_the_same_again_and_leaves_torchs_stream_alone(tmp_path):
    file = open_dataset(tiny_data(tmp_path))
    core = models.core_config("scoff", files=3, units=5, eval_sample=True)
    config = tiny_model("scoff").model_copy(update={"core": core})
    predictor = models.build(config, file.film_shape).eval()
    torch.manual_seed(1)
    before = torch.get_rng_state()
    (first, _), (again, _) = (imagine(predictor, file, "test", [1, 2], 3, 5) for _ in range(2))
    assert torch.equal(first.prediction, again.prediction)
    assert torch.equal(torch.get_rng_state(), before)
    others, _ = imagine(predictor, file, "test", [2, 1], 3, 5)
    assert not torch.equal(others.prediction[[1, 0]], first.prediction), "it draws at all"
    second, _ = imagine(predictor, file, "test", [1, 2], 3, 5, sample=1)
    assert not torch.equal(second.prediction, first.prediction)
    with pytest.raises(ValueError, match=r"^sample must be at least 0, got -1; count from 0$"):
        imagine(predictor, file, "test", [1, 2], 3, 5, sample=-1)
    scores = clip_scores(predictor, file, "test", "mse", 3, 5, batch_size=2)
    assert torch.equal(torch.get_rng_state(), before)
    judged = evaluate(predictor, file, context=3, horizon=5, metrics=("mse",), batch_size=2)
    np.testing.assert_allclose(scores, judged.measurements["model"]["mse"]["mse"].mean(1))


@pytest.mark.parametrize(("kind", "metric"), [("rims", "mse"), ("scoff", "own-fg-ari")])
def test_true_frames_that_go_on_behind_the_context_are_judged_under_an_intervention(tmp_path, kind, metric):
    """Its beginning is held against the context, not against all frames that are read."""
    file = open_dataset(tiny_data(tmp_path))
    config = tiny_model(kind)
    if kind == "scoff":
        config = config.model_copy(
            update={"codec": models.codec_config("rnem", channels=(2, 3)), "decoder": models.decoder_config("masks")}
        )
    model = models.build(config, file.film_shape)
    asked: dict[str, Any] = {"context": 3, "horizon": 4, "metrics": (metric,), "feedback": "true"}
    changed = evaluate(intervene(model, Intervention(without=(1,)), 3), file, **asked)
    assert changed.mean("model", metric) != evaluate(model, file, **asked).mean("model", metric)
    with pytest.raises(ValueError, match=r"^context must have as many frames as `intervene` was told, 4, got 3; give"):
        evaluate(intervene(model, Intervention(without=(1,)), 4), file, **asked)
    late = intervene(model, Intervention(without=(1,), from_step=5), 3)
    with pytest.raises(ValueError, match=r"^--from-step must be at most 4, the steps of the rollout, got 5; lower it"):
        evaluate(late, file, **asked)
