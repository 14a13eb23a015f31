"""Where axes of values end."""

import numpy as np
import pytest

from videopred.plots.score_panel import Curve, ScorePanel


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
