"""Several films of a clip: the best and the mean, how the best grows with their number, and films with an axis N."""

import json

import numpy as np
import pytest
import torch
from given_arrays import open_one, score_one
from torch import Tensor

from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.datasets.settings import BallsConfig
from videopred.eval.comparison import compare
from videopred.eval.metric import Metric
from videopred.eval.saved_scores import load_scores
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.judging.batches import Batch, Predicted
from videopred.judging.given_films import GivenFilms
from videopred.judging.scoring import judge_rows
from videopred.judging.tally import Tally
from videopred.settings import Settings

RECIPE = BallsConfig(frames=8, height=24, width=32, balls=(2,))
CLIPS, CONTEXT, HORIZON, SAMPLES = 4, 3, 5, 12
OFF = np.random.default_rng(0).permuted(np.tile(np.arange(1, SAMPLES + 1) / 20, (CLIPS, 1)), axis=1)
"""(clips, samples): how far off each film is; in another order for each clip."""


@pytest.fixture(scope="module")
def file() -> RecipeClips:
    return open_recipe(RECIPE, {"train": 2, "test": CLIPS}, seed=2)


def film(truth: Tensor, clips: range, sample: int) -> Tensor:
    return (truth - torch.from_numpy(OFF[clips.start : clips.stop, sample]).view(-1, 1, 1, 1, 1).to(truth)).abs()


def scores_of(file: RecipeClips, samples: int = SAMPLES, metrics: tuple[str, ...] = ("mae", "f1")) -> Scores:
    def predict_batch(batch: Batch, sample: int) -> Tensor:
        return film(batch.truth, batch.clips, sample % SAMPLES)

    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=metrics, samples=samples)
    return judge_rows({"mine": predict_batch}, file, asked, batch_size=3)


def test_the_best_of_the_first_n_by_hand(file):
    found = scores_of(file).best_of
    assert list(found) == ["mine"]
    assert list(found["mine"]["mae"]) == [1, 2, 5, 10, 12]
    for count, value in found["mine"]["mae"].items():
        assert value == pytest.approx(OFF[:, :count].min(1).mean(), rel=1e-6)


def test_how_the_best_grows_is_told_of_round_numbers_of_samples(file):
    assert list(scores_of(file, 101, ("mae",)).best_of["mine"]["mae"]) == [1, 2, 5, 10, 20, 50, 100, 101]


def test_of_a_metric_that_is_better_when_higher_the_best_is_the_highest(file):
    found = scores_of(file, metrics=("psnr",)).best_of["mine"]["psnr"]
    for count, value in found.items():
        assert value == pytest.approx(-20 * np.log10(OFF[:, :count].min(1)).mean(), rel=1e-5)


@pytest.mark.parametrize("blank", [0, 1])
def test_a_film_of_which_nothing_can_be_said_is_not_the_best(file, blank):
    """In a blank film no object is found, and so none is out of its place."""

    def predict_batch(batch: Batch, sample: int) -> Tensor:
        return batch.truth * (sample != blank)

    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("position",), samples=2)
    scores = judge_rows({"mine": predict_batch}, file, asked)
    with torch.device("meta"):  # which torch makes what is new on, for who asks for that
        again = judge_rows({"mine": predict_batch}, file, asked)
    assert scores.mean("mine", "position best of 2") == again.mean("mine", "position best of 2") < 0.3
    assert np.isnan(scores.best_of["mine"]["position"][1]) == (blank == 0)


class Errors(Metric):
    """A metric of somebody's own: in how many pixels a frame is wrong."""

    name, label, decimals, range, higher_is_better = "errors", "errors", 1, (0.0, float("inf")), False
    convention = "pixels that are wrong"

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        return {"errors": (prediction.round() != truth).sum((2, 3, 4))}


def test_whole_numbers_have_a_mean_over_the_samples(file):
    """Of two films, one without an error and one with 3 in every frame."""
    truth = torch.zeros(CLIPS, HORIZON, 1, RECIPE.height, RECIPE.width)
    wrong = truth.clone()
    wrong[..., 5, 2:5] = 1
    tally = Tally({"errors": Errors(Settings())}, samples=2)
    tally.add("mine", Batch(file, "test", 0, truth, given=0), [Predicted(truth), Predicted(wrong)])
    measured = tally.measured_here[0].measured["errors mean of 2"]["errors"]
    assert measured.dtype == np.float64
    assert (measured == 1.5).all()


def test_what_several_processes_measured_is_in_the_order_of_the_clips(file):
    """Each of two takes every other batch, and what the first has found comes first."""
    tally, dark = Tally({"errors": Errors(Settings())}), torch.zeros(2, HORIZON, 1, RECIPE.height, RECIPE.width)
    for start in (0, 4, 2):
        wrong = dark.clone()
        wrong[1, ..., : start + 1, 7] = 1
        tally.add("mine", Batch(file, "test", start, dark, given=0), [Predicted(wrong)])
    joined = tally.joined(tally.measured_here)["mine"]["errors"]["errors"]
    assert joined[:, -1].tolist() == [0, 1, 0, 3, 0, 5]


def test_every_model_has_its_curve(file):
    def off(by: float):
        return lambda batch, sample: (batch.truth - by * (1 + sample)).abs()

    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("mae",), samples=2)
    found = judge_rows({"near": off(0.1), "far": off(0.3)}, file, asked).best_of
    assert {row: curves["mae"] for row, curves in found.items()} == {
        "near": pytest.approx({1: 0.1, 2: 0.1}),
        "far": pytest.approx({1: 0.3, 2: 0.3}),
    }


def test_the_curve_ends_at_the_score(file):
    scores = scores_of(file)
    for name in ("mae", "f1"):
        assert scores.best_of["mine"][name][SAMPLES] == scores.mean("mine", f"{name} best of {SAMPLES}")
    assert list(scores.metrics) == ["mae best of 12", "mae mean of 12", "f1 best of 12", "f1 mean of 12"]
    np.testing.assert_allclose(scores.values["mine"]["mae mean of 12"], OFF.mean(), rtol=1e-6)


def test_best_and_mean_are_blocks_of_their_own(file):
    """Side by side, four metrics would make lines of some 180 letters."""
    table = scores_of(file).table().split("\n\n")
    heads = [block.splitlines()[0] for block in table if block.startswith(("mean of", "skill  "))]
    assert [" ".join(head.split()[-10:]) for head in heads if head.startswith("mean")] == [
        "MAE best of 12 ↓ F1 best of 12 ↑",
        "MAE mean of 12 ↓ F1 mean of 12 ↑",
    ]
    assert [head.split()[1:] for head in heads if head.startswith("skill")] == [
        ["MAE", "best", "of", "12", "F1", "best", "of", "12"],
        ["MAE", "mean", "of", "12", "F1", "mean", "of", "12"],
    ]
    assert sum(block.startswith("mean of") for block in scores_of(file, samples=1).table().split("\n\n")) == 1


def test_the_table_shows_the_curve_of_models(file):
    table = scores_of(file).table()
    (block,) = (block for block in table.split("\n\n") if block.startswith("MAE ↓, best of"))
    head, line = block.splitlines()
    assert head.split()[-5:] == ["1", "2", "5", "10", "12"]
    assert line.split() == ["mine", *(f"{OFF[:, :n].min(1).mean():.4f}" for n in (1, 2, 5, 10, 12))]
    assert ", best of" not in scores_of(file, samples=1).table()
    assert scores_of(file, samples=1).best_of == {}


def test_the_curve_is_kept(file, tmp_path):
    scores = scores_of(file)
    scores.save(tmp_path)
    again = load_scores(tmp_path)
    assert again.best_of == scores.best_of
    assert again.table() == scores.table()
    assert compare({"mine": again}).table().count("\nMAE: ") == 1
    told = json.loads((tmp_path / "scores.json").read_text())
    assert told["best_of"]["mine"]["mae"]["12"] == scores.best_of["mine"]["mae"][12]


def given_films(file: RecipeClips) -> np.ndarray:
    """N B T C H W."""
    truth = torch.from_numpy(file.read_frames("test", 0, CLIPS)).movedim(-1, 2).double().div(255)[:, CONTEXT:]
    return torch.stack([film(truth, range(CLIPS), sample) for sample in range(SAMPLES)]).numpy()


@pytest.mark.parametrize(("axes", "order"), [("NBTCHW", (0, 1, 2, 3, 4, 5)), ("BTNHWC", (1, 2, 0, 4, 5, 3))])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_films_with_an_axis_of_samples_score_as_samples_do(file, tmp_path, axes, order, suffix):
    films, path = given_films(file).transpose(order), tmp_path / f"p.{suffix}"
    np.save(path, films) if suffix == "npy" else np.savez(path, mine=films, other=np.zeros(3))
    array = "mine" if suffix == "npz" else None
    predicted, _ = open_one("test", file, pred=path, range=(0, 1), axes=axes, pred_array=array)
    assert (predicted.samples, predicted.clips, predicted.frames) == (SAMPLES, CLIPS, HORIZON)
    asked = Protocol(context=CONTEXT, horizon=HORIZON, metrics=("mae", "f1"), samples=SAMPLES, feedback="elsewhere")
    theirs, ours = score_one(predicted, file, asked, batch_size=3), scores_of(file)
    for column, values in ours.values["mine"].items():
        np.testing.assert_allclose(theirs.values["prediction"][column], values, rtol=1e-5, atol=1e-7)
    assert theirs.best_of["prediction"]["mae"] == pytest.approx(ours.best_of["mine"]["mae"], rel=1e-5)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ("NNBTCHW", "--axes must name each axis once, got NNBTCHW; leave one N out"),
        ("NBTHW", r"--axes must name each axis of the array, \(12, 4, 5, 1, 24, 32\) in .*p.npy, got 5 \(NBTHW\)"),
        ("NXTCHW", "--axes must be letters of B clips"),
    ],
)
def test_axes_that_do_not_fit_are_refused(file, tmp_path, axes, message):
    np.save(tmp_path / "p.npy", given_films(file))
    with pytest.raises(ValueError, match=message):
        GivenFilms("--pred", tmp_path / "p.npy", value_range=(0, 1), axes=axes)


def test_only_arrays_have_samples_and_there_is_one_truth(file, tmp_path):
    from PIL import Image

    Image.fromarray(np.zeros((5, 7), np.uint8)).save(tmp_path / "p.gif")
    with pytest.raises(ValueError, match="--axes must be left out where no array is given, got NBTCHW; pictures and"):
        open_one("test", pred=tmp_path / "p.gif", axes="NBTCHW")
    np.save(tmp_path / "p.npy", given_films(file))
    np.save(tmp_path / "t.npy", given_films(file)[0])
    said = {"range": (0, 1), "axes": "NBTCHW"}
    with pytest.raises(ValueError, match="--axes must name an axis N only if --pred is an array, got NBTCHW; leave N"):
        open_one("test", pred=tmp_path / "p.gif", true=tmp_path / "t.npy", **said)
    with pytest.raises(ValueError, match="--true-axes must name no axis N, got NBTCHW; there is one truth of a clip"):
        open_one("test", pred=tmp_path / "p.npy", true=tmp_path / "p.npy", **said, true_axes="NBTCHW")


def test_as_many_samples_as_are_asked_for(file, tmp_path):
    np.save(tmp_path / "p.npy", given_films(file))
    films = GivenFilms("--pred", tmp_path / "p.npy", value_range=(0, 1), axes="NBTCHW")
    message = "--pred must hold 1 films of each clip, got 12 in .*; say with an N in --axes which axis they are"
    with pytest.raises(ValueError, match=message):
        score_one(films, file, Protocol(context=CONTEXT, horizon=HORIZON, metrics=("mae",)))


def test_the_best_is_called_so_in_files(file):
    assert scores_of(file).to_dict()["metrics"]["mae best of 12"]["label"] == "MAE best of 12"
