"""Pixels of discs, against slow code that looks at every pixel of every frame."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets.raster import draw_discs, pixels_of, visible_fraction


def draw_slowly(positions, radius, height, width):
    """Masks (T, H, W) and pixel counts (T, N), one pixel at a time by d² <= r²."""
    row, column = np.mgrid[:height, :width] + 0.5
    masks = np.zeros((len(positions), height, width), np.uint8)
    drawn = np.zeros(positions.shape[:2], int)
    for t, n in np.ndindex(drawn.shape):
        x, y = positions[t, n]
        inside = (column - x) ** 2 + (row - y) ** 2 <= radius[n] ** 2
        masks[t][inside] = n + 1
        drawn[t, n] = inside.sum()
    return masks, drawn


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(8, 23), st.integers(8, 37))
def test_discs_are_exact_also_across_the_edge(seed, height, width):
    chance = np.random.default_rng(seed)
    radius = chance.uniform(0.3, 9, 5)
    positions = chance.uniform(-6, 6, (3, 5, 2)) + chance.random(2) * (width, height)
    radius[3], positions[:, 3] = np.nan, np.nan
    masks, drawn = draw_discs(positions, radius, height, width)
    slow_masks, slow_drawn = draw_slowly(positions, radius, height, width)
    assert (masks == slow_masks).all()
    assert (drawn == slow_drawn).all()


def test_a_pixel_centre_on_the_edge_belongs_to_the_disc():
    masks, drawn = draw_discs(np.array([[[6.5, 5.5]]]), np.array([5.0]), 11, 14)
    assert drawn == [[81]]  # lattice points with a² + b² <= 25 (Gauss's circle problem)
    assert masks[0, 0].nonzero()[0].tolist() == [6]
    assert masks[0, 5].nonzero()[0].tolist() == list(range(1, 12))


def test_the_mean_area_is_that_of_a_circle():
    chance = np.random.default_rng(1)
    for radius in (5.12, 6.4, 7.68):
        centres = chance.uniform(8, 40, (200, 1, 2))
        _, drawn = draw_discs(centres, np.array([radius]), 48, 50)
        assert abs(drawn.mean() - math.pi * radius**2) < 0.5  # about three standard errors


def test_a_later_disc_hides_an_earlier():
    positions = np.array([[[5.0, 5.0], [7.0, 5.0], [30.0, 5.0]]])
    masks, drawn = draw_discs(positions, np.array([3.0, 3.0, 2.0]), 12, 40)
    assert masks[0, 5, 6] == 2
    assert masks[0, 5, 2] == 1
    fraction = visible_fraction(masks, drawn)
    slow = [[(masks == n + 1).sum() / drawn[0, n] for n in range(3)]]
    np.testing.assert_allclose(fraction, slow, atol=1e-3)
    assert fraction[0, 0] < 1
    assert fraction[0, 1] == fraction[0, 2] == 1


def test_an_absent_object_has_no_visible_fraction():
    masks, drawn = np.zeros((2, 3, 5), np.uint8), np.array([[4, 0], [4, 0]])
    assert np.array_equal(visible_fraction(masks, drawn), [[0, np.nan], [0, np.nan]], equal_nan=True)


def test_pixels_of_the_chosen():
    masks = np.random.default_rng(2).integers(0, 4, (5, 6, 7)).astype(np.uint8)
    chosen = np.random.default_rng(3).random((5, 3)) < 0.5
    slow = [[[m > 0 and chosen[t, m - 1] for m in row] for row in masks[t]] for t in range(5)]
    assert (pixels_of(masks, chosen) == np.array(slow)).all()
