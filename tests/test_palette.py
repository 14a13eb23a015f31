"""What colours must do: be told apart, also on paper without them."""

from itertools import combinations

import numpy as np

from videopred.palette import AGREED, INVENTED, MISSED, OBJECT_COLORS, PAGE, SCHEMA_COLORS, module_colors


def grey(color) -> float:
    """How bright a colour is where there are none, 0 to 255 (ITU-R BT.601, which most programs take)."""
    return float(np.dot(color, (0.299, 0.587, 0.114)))


def test_a_difference_is_told_in_grey():
    """On the dark ground of a film; what has a wrong color needs colors."""
    for one, other in combinations(((0, 0, 0), AGREED, MISSED, INVENTED), 2):
        assert abs(grey(one) - grey(other)) > 30


def test_every_module_has_a_colour_of_its_own_as_long_as_there_are_some():
    found = module_colors(2 * len(OBJECT_COLORS))
    assert len(np.unique(found, axis=0)) == len(OBJECT_COLORS)
    np.testing.assert_array_equal(found[: len(OBJECT_COLORS)], found[len(OBJECT_COLORS) :])


def test_the_first_three_schemata_are_told_in_grey():
    for one, other in combinations((PAGE, *SCHEMA_COLORS[:3]), 2):
        assert abs(grey(one) - grey(other)) > 40
