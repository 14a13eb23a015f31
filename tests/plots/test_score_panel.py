"""Where axes of values end, and the bands in them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from videopred.eval import make_metric
from videopred.eval.intervals import Interval
from videopred.plots.score_panel import Curve, ScorePanel, over_steps


def ends(
    models: list[float], trivial: list[float], higher_is_better: bool, name: str = "trivial"
) -> tuple[float, float]:
    """Of the axis of a panel with a model and a trivial baseline."""
    ours, theirs = np.array(models), np.array(trivial)
    rows = {"model": Curve(ours, ours, ours), name: Curve(theirs, theirs, theirs, faint=True)}
    return ScorePanel(rows, higher_is_better).ends


@pytest.mark.parametrize(
    ("models", "trivial", "higher_is_better", "found"),
    [
        ([2.0, 3.0], [3.5, 4.0, 4.1], False, (2, 4)),
        ([2.0, 3.0], [0.9, 1.0, 1.5], True, (1, 3)),
        ([2.0, 3.0], [-50.0], False, (-50, 3)),
        ([2.0, 3.0], [50.0], True, (2, 50)),
        ([2.0], [4.0, 4.1], False, (2, 4)),
        ([0.0], [1.0, 1.1], False, (0, 1)),
        ([np.nan, 3.0, 2.0], [np.nan, 3.5], False, (2, 3.5)),
    ],
)
def test_an_axis_holds_all_models_and_trivial_values_that_are_as_far_as_these_lie_apart(
    models, trivial, higher_is_better, found
):
    assert ends(models, trivial, higher_is_better) == found


@pytest.mark.parametrize(
    ("oracle", "higher_is_better", "found"),
    [([100.0, 100.0], True, (2, 3)), ([100.0, 4.0], True, (2, 4)), ([-9.0, 1.0], False, (1, 3)), ([0.5], True, (2, 3))],
)
def test_the_oracle_leaves_where_it_is_far_better_too(oracle, higher_is_better, found):
    assert ends([2.0, 3.0], oracle, higher_is_better, "physics oracle") == found


def test_without_models_nothing_lies_outside():
    assert ends([np.nan], [1.0, 50.0, 2.0], False) == (1, 50)
    assert ends([], [np.nan], True) == (0, 1)


def test_a_band_stays_within_the_metrics_range_and_closes_where_there_is_no_interval():
    low, high = np.array([0.7, np.nan, -0.2]), np.array([1.2, np.nan, 0.3])
    row: Any = SimpleNamespace(
        scores=SimpleNamespace(metrics={"f1": make_metric("f1")}),
        values=lambda column: np.array([0.9, 0.5, 0.1]),
        intervals=lambda column: Interval(low, high),
        is_model=True,
    )
    curve = over_steps({"mine": row}, "f1").rows["mine"]
    assert (curve.low.tolist(), curve.high.tolist()) == ([0.7, 0.5, 0], [1, 0.5, 0.3])
