"""Clips to look at: the worst and best by a metric, or any."""

import numpy as np
import pytest
import torch
from tiny_runs import CLIPS, tiny_data, tiny_model

from videopred import models
from videopred.datasets import open_dataset
from videopred.eval import make_metric
from videopred.eval.metric import Metric
from videopred.judging import imagine
from videopred.judging.choosing import clip_scores, extreme_clips
from videopred.rendering.planning import known_clips, random_clips
from videopred.rendering.settings import ClipChoice


class Likeness(Metric):
    label, decimals, range, higher_is_better = "likeness", 3, (-1.0, 0.0), True
    convention = "minus the mean squared error"

    def measure(self, prediction, truth):
        return {"likeness": -(prediction - truth).square().mean((2, 3, 4))}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model, and a file of as many clips for validation as for tests."""
    clips = CLIPS | {"validation": CLIPS["test"]}
    file = open_dataset(tiny_data(tmp_path_factory.mktemp("choosing"), clips))
    return models.build(tiny_model(), (1, file.height, file.width)), file


@pytest.mark.parametrize(("metric", "part"), [("mse", "test"), ("f1", "test"), ("mse", "validation")])
@pytest.mark.parametrize("batch_size", [2, 7])
def test_a_clip_has_the_score_it_has_alone(place, metric, part, batch_size):
    predictor, file = place
    scores = clip_scores(predictor, file, part, metric, 3, 4, batch_size=batch_size)
    assert scores.shape == (CLIPS["test"],)
    measure = make_metric(metric)
    for clip in range(CLIPS["test"]):
        rollout, truth = imagine(predictor, file, part, [clip], 3, 4)
        alone = measure.reduce(measure.measure(rollout.prediction, truth)).mean()
        np.testing.assert_allclose(scores[clip], alone, rtol=1e-5)
    first = clip_scores(predictor, file, part, metric, 3, 4, first=3, batch_size=batch_size)
    np.testing.assert_allclose(first, scores[:3], rtol=1e-5)


@pytest.mark.parametrize(
    ("metric", "which", "clips"),
    [("mse", "worst", [2, 1]), ("mse", "best", [0, 3]), ("f1", "worst", [0, 3]), ("f1", "best", [2, 1])],
)
def test_worst_and_best_heed_what_is_good(metric, which, clips):
    scores = np.array([0.1, 0.4, 0.9, 0.2, 0.4])
    assert extreme_clips(scores, metric, which, 2) == clips
    many = np.tile(scores, 4)  # any sort keeps up to 16 in order
    assert extreme_clips(many, metric, which, 5) == [*range(clips[0], 20, 5), clips[1]]


def test_a_metric_of_ones_own_says_what_is_worst_and_best(place):
    predictor, file = place
    theirs = clip_scores(predictor, file, "test", "test_choosing:Likeness", 3, 4)
    np.testing.assert_allclose(theirs, -clip_scores(predictor, file, "test", "mse", 3, 4), rtol=1e-5)
    for which in ("worst", "best"):
        assert extreme_clips(theirs, "test_choosing:Likeness", which, 2) == extreme_clips(-theirs, "mse", which, 2)


class Darker(Likeness):
    label = "darker"

    def measure(self, prediction, truth):
        return {"darker": prediction.mean((2, 3, 4)) < truth.mean((2, 3, 4))}


def test_a_metric_may_say_yes_or_no_of_frames(place):
    predictor, file = place
    scores = clip_scores(predictor, file, "test", "test_choosing:Darker", 3, 4)
    rollout, truth = imagine(predictor, file, "test", range(CLIPS["test"]), 3, 4)
    darker = rollout.prediction.mean((2, 3, 4)) < truth.mean((2, 3, 4))
    np.testing.assert_array_equal(scores, darker.double().mean(1))


class Late(Likeness):
    """Of the first clip it says nothing, of the second nothing of the first steps."""

    label = "late"

    def measure(self, prediction, truth):
        measured = super().measure(prediction, truth)["likeness"]
        measured[0], measured[1, :2] = torch.nan, torch.nan
        return {"late": measured}


def test_clips_of_which_nothing_can_be_said_are_not_chosen(place):
    predictor, file = place
    clips = CLIPS["test"]
    scores = clip_scores(predictor, file, "test", "test_choosing:Late", 3, 4)
    assert np.isnan(scores).tolist() == [True] + [False] * (clips - 1)
    for which in ("worst", "best"):
        assert sorted(extreme_clips(scores, "test_choosing:Late", which, clips - 1)) == list(range(1, clips))
        must = f"^--{which} must be at most {clips - 1}, the clips that have a score by test_choosing:Late, got {clips}"
        with pytest.raises(ValueError, match=must):
            extreme_clips(scores, "test_choosing:Late", which, clips)
    with pytest.raises(ValueError, match=r"be at most 0, the clips .*, got 1; choose another metric with --by$"):
        extreme_clips(np.full(3, np.nan), "mse", "worst", 1)
    assert extreme_clips(np.array([np.nan, 0.4, 0.9, np.nan, 0.4]), "mse", "worst", 2) == [2, 1]


def test_random_clips_differ_and_come_again_with_their_seed():
    drawn = random_clips(20, 6, 5)
    assert drawn == sorted(set(drawn)) == random_clips(20, 6, 5)
    assert drawn != random_clips(20, 6, 6)
    assert random_clips(4, 4, 0) == [0, 1, 2, 3]


def test_what_cannot_be_chosen_is_refused(place):
    predictor, file = place
    scores = np.array([1.0])
    for which in ("worst", "best"):
        with pytest.raises(
            ValueError, match=f"--{which} must be at most 1, the clips that have a score .*, got 2; lower"
        ):
            extreme_clips(scores, "mse", which, 2)
    with pytest.raises(ValueError, match="--random must be at most 3, the clips there are, got 4; lower it"):
        random_clips(3, 4, 0)
    with pytest.raises(ValueError, match=r"--by must be one of bce, .* got msse; did you mean"):
        clip_scores(predictor, file, "test", "msse", 3, 4)
    with pytest.raises(ValueError, match=r"--by must be a metric of films, got kept; clips are ranked"):
        clip_scores(predictor, file, "test", "kept", 3, 4)  # a metric of objects
    with pytest.raises(
        ValueError, match=r"metric test_choosing:Unlike must derive from .*; the metrics there are Likeness"
    ):
        clip_scores(predictor, file, "test", "test_choosing:Unlike", 3, 4)
    with pytest.raises(ValueError, match=r"--context plus --horizon must be at most 9, .* got 5 \+ 6 = 11"):
        clip_scores(predictor, file, "test", "mse", 5, 6)
    other = models.build(tiny_model(), (1, file.height, file.width + 8))
    with pytest.raises(ValueError, match=r"must hold frames of 1 x 24 x 40 .*, which the model was built for, got 1"):
        clip_scores(other, file, "test", "mse", 3, 4)


def test_clips_at_random_are_among_the_first_and_of_their_seed():
    assert known_clips(ClipChoice(random=4, first=4), 30) == [0, 1, 2, 3]
    assert known_clips(ClipChoice(random=4, seed=1), 30) != known_clips(ClipChoice(random=4, seed=2), 30)
    assert known_clips(ClipChoice(first=2), 30) == [0, 1]
