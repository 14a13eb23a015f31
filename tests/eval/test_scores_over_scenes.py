"""Scores of clips several of which are films of one scene: intervals are over scenes."""

from dataclasses import replace

import numpy as np
import pytest

from videopred.eval import make_metric
from videopred.eval.comparison import compare
from videopred.eval.intervals import resample
from videopred.eval.saved_scores import load_scores
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.report.tables import comparison_block

SCENES = np.array([7, 2, 2, 7, 5, 7, 5, 2, 5])
"""Three films of each of three scenes, in no order."""
METRICS = {"mse": make_metric("mse")}


def scores_of(values: np.ndarray, scenes: np.ndarray | None) -> Scores:
    return Scores(
        measurements={"model": {"mse": {"mse": values}}},
        metrics=METRICS,
        file="occlusion.h5",
        fingerprint="123",
        reference=None,
        protocol=Protocol(context=4, horizon=values.shape[1], metrics=("mse",), clips=len(values)),
        scenes=scenes,
    )


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(4).normal(5, 2, (len(SCENES), 2))


def of_scenes(values: np.ndarray) -> np.ndarray:
    """The mean over each scene's films, in the order of the scenes' numbers."""
    return np.stack([values[scene == SCENES].mean(0) for scene in (2, 5, 7)])


def test_films_of_a_scene_are_drawn_together(values):
    """With as many films of each, a mean is that of the scenes' means."""
    drawn = resample({"model": {"mse": {"mse": values}}}, METRICS, SCENES, resamples=50)
    expected = resample({"model": {"mse": {"mse": of_scenes(values)}}}, METRICS, resamples=50)
    np.testing.assert_allclose(drawn["model"]["mse"], expected["model"]["mse"])


def test_an_interval_is_as_wide_as_so_many_scenes_say(values):
    scores, by_scene = scores_of(values, SCENES), scores_of(of_scenes(values), None)
    np.testing.assert_allclose(scores.interval("model", "mse"), by_scene.interval("model", "mse"))
    np.testing.assert_allclose(scores.intervals("model", "mse"), by_scene.intervals("model", "mse"))
    assert "±     half of the 95 % interval over scenes (" in scores.table()
    assert scores.to_dict()["interval"].startswith("95 % over scenes (")


def test_scenes_that_have_a_value_count(values):
    values[SCENES == 5] = np.nan
    values[1, 0] = np.nan  # one of three
    scores = scores_of(values, SCENES)
    assert scores.clips_with_values("model", "mse") == 2
    np.testing.assert_array_equal(scores.clips_at_steps("model", "mse"), [2, 2])
    values[SCENES == 2, 0] = np.nan
    np.testing.assert_array_equal(scores_of(values, SCENES).clips_at_steps("model", "mse"), [1, 2])
    values[SCENES == 2] = np.nan
    assert scores_of(values, SCENES).remarks == ("MSE of model: a single scene has a value, so there is no interval",)


def test_a_single_scene_has_no_interval(values):
    scores = scores_of(values[:3], np.zeros(3, np.int64))
    assert scores.interval("model", "mse") is None
    assert "±     not given for a single scene" in scores.table()
    assert "no interval for a single scene" in compare({"a": scores}).table()


def test_scenes_are_read_again(values, tmp_path):
    scores_of(values, SCENES).save(tmp_path / "scenes")
    again = load_scores(tmp_path / "scenes")
    np.testing.assert_array_equal(again.scenes, SCENES)
    assert list(again.measurements) == ["model"]
    scores_of(values, None).save(tmp_path / "clips")
    assert load_scores(tmp_path / "clips").scenes is None


def test_a_difference_is_paired_by_scenes(values):
    other = replace(scores_of(values * 1.5, SCENES), models=("other",))
    other = replace(other, measurements={"other": other.measurements["model"]})
    compared = compare({"a": scores_of(values, SCENES), "b": other})
    assert "95 % over scenes (paired" in compared.table()
    found = compared.difference("b", "mse")
    low, high = scores_of(values * 0.5, SCENES).interval("model", "mse")
    assert (found.low, found.high) == pytest.approx((low, high))


def test_tables_of_a_report_say_so(values):
    several = {name: scores_of(values * by, SCENES) for name, by in (("a", 1), ("b", 2))}
    block = comparison_block(several, several)
    assert block.tables[1].caption.startswith("Differences from a, with paired 95 % intervals over scenes;")
    assert block.legend["shaded"].startswith("95 % interval over scenes (")


def test_scores_over_scenes_and_over_clips_are_not_compared(values):
    said = "b with intervals over clips, and a with intervals over scenes; evaluate both in the same way"
    with pytest.raises(ValueError, match=f"^SCORES must be of the same data as a, got {said}"):
        compare({"a": scores_of(values, SCENES), "b": scores_of(values, None)})
