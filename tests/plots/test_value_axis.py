"""Where axes of values end."""

import numpy as np
import pytest

from videopred.plots.value_axis import axis_ends

NOTHING = np.array([np.nan])


@pytest.mark.parametrize(
    ("models", "trivial", "higher_is_better", "ends"),
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
    models, trivial, higher_is_better, ends
):
    assert axis_ends(np.array(models), np.array(trivial), higher_is_better=higher_is_better) == ends


def test_without_models_nothing_lies_outside():
    assert axis_ends(NOTHING, np.array([1.0, 50.0, 2.0]), higher_is_better=False) == (1, 50)
    assert axis_ends(np.array([]), NOTHING, higher_is_better=True) == (0, 1)
