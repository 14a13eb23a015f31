"""Films of a scene that begin alike."""

import numpy as np
import pytest

from videopred.eval.mates import differing, mates


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1), (3, 2, 1, 0)])
def test_films_that_begin_alike_are_mates(order):
    """AA with AB, BB with BA, in any order, with labels or without."""
    chance = np.random.default_rng(0)
    a, b = chance.integers(0, 9, (2, 7, 2, 3, 1), np.uint8)
    a[0] = b[0]
    splice = 4
    runs = [a, b, np.r_[a[:splice], b[splice:]], np.r_[b[:splice], a[splice:]]]
    shown, possible = np.stack([runs[k] for k in order]), np.array([True, True, False, False])[list(order)]
    for known in (possible, None):
        np.testing.assert_array_equal(differing(shown, known), [[False] * splice + [True] * 3] * 4)


def test_labels_settle_what_pictures_leave_open():
    """All begin alike for as long; a possible film is never set beside a possible one."""
    different = np.ones((4, 4, 5), bool)
    assert mates(different, np.array([True, True, False, False])) in ([2, 3, 0, 1], [3, 2, 1, 0])
    assert mates(different, np.array([True, False, True, False])) in ([1, 0, 3, 2], [3, 2, 1, 0])


def test_films_that_never_differ_are_mates():
    different = np.zeros((4, 4, 5), bool)
    different[:2, 2:, 3:] = different[2:, :2, 3:] = True
    assert mates(different, None) == [1, 0, 3, 2]
