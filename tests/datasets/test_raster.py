"""Pixels of discs, against slow code that looks at every pixel of every frame."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets import raster
from videopred.datasets.raster import draw_discs, pixels_of, visible_fraction


def draw_slowly(positions, radius, height, width):
    """Masks (T, H, W) and pixel counts (T, N), one pixel at a time by d² <= r², outside the frame too."""
    margin = 20
    row, column = np.mgrid[-margin : height + margin, -margin : width + margin] + 0.5
    frame = slice(margin, -margin), slice(margin, -margin)
    masks = np.zeros((len(positions), height, width), np.uint8)
    drawn = np.zeros(positions.shape[:2], int)
    for t, n in np.ndindex(drawn.shape):
        x, y = positions[t, n]
        inside = (column - x) ** 2 + (row - y) ** 2 <= radius[n] ** 2
        masks[t][inside[frame]] = n + 1
        drawn[t, n] = inside.sum()
    return masks, drawn


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(8, 23), st.sampled_from([8, 9, 37, 63, 64, 65, 130]))
def test_discs_are_exact_also_across_the_edge(seed, height, width):
    chance = np.random.default_rng(seed)
    radius = chance.uniform(0.3, 9, 5)
    positions = chance.uniform(-6, 6, (3, 5, 2)) + chance.random(2) * (width, height)
    radius[3], positions[:, 3] = np.nan, np.nan
    masks, drawn = draw_discs(positions, radius, height, width)
    slow_masks, slow_drawn = draw_slowly(positions, radius, height, width)
    assert (masks == slow_masks).all()
    assert (drawn == slow_drawn).all()


def test_discs_out_of_sight_leave_nothing():
    positions = np.array([[[7.5, -4.3], [7, 15.5], [-4.5, 6], [18.5, 6]]])
    masks, drawn = draw_discs(positions, np.full(4, 2.9), 11, 14)
    assert not masks.any()
    assert (drawn > 20).all()


def test_a_pixel_centre_on_the_edge_belongs_to_the_disc():
    masks, drawn = draw_discs(np.array([[[6.5, 5.5]]]), np.array([5.0]), 11, 14)
    assert drawn == [[81]]  # lattice points with a² + b² <= 25 (Gauss's circle problem)
    assert masks[0, 0].nonzero()[0].tolist() == [6]
    assert masks[0, 5].nonzero()[0].tolist() == list(range(1, 12))


@pytest.mark.parametrize(("radius", "least", "most"), [(5.12, 80, 87), (6.4, 122, 133), (7.68, 182, 189)])
def test_the_area_is_that_of_a_circle(radius, least, most):
    """Bounds are the least and most that were counted on R-NEM's films, whose radii these are; few places give more."""
    centres = np.random.default_rng(1).uniform(8, 40, (400, 1, 2))
    masks, drawn = draw_discs(centres, np.array([radius]), 48, 50)
    assert abs(drawn.mean() - math.pi * radius**2) < 0.5  # about four standard errors
    assert ((drawn >= least) & (drawn <= most)).mean() > 0.98
    assert np.abs(drawn - math.pi * radius**2).max() < 8
    assert ((masks > 0).sum((1, 2)) == drawn[:, 0]).all()


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(8, 20), st.sampled_from([9, 64, 70]), st.integers(1, 9))
def test_bits_tell_the_same_as_pixels(seed, height, width, count):
    chance = np.random.default_rng(seed)
    radius = chance.uniform(1, 7, (4, count))
    positions = chance.random((4, count, 2)) * (width, height)
    discs, _ = raster.disc_rows(positions, radius, height, width)
    each = raster.to_pixels(discs, width)  # (N, F, H, W)
    assert each.shape == (count, 4, height, width)
    assert (raster.to_pixels(raster.any_of(discs), width) == each.any(0)).all()
    seen = raster.uncovered(discs)
    masks = (each * np.arange(1, count + 1)[:, None, None, None]).max(0)
    assert (raster.to_masks(seen, width) == masks).all()
    counted = [[(masks[f] == n + 1).sum() for n in range(count)] for f in range(4)]
    assert (raster.count_pixels(seen) == counted).all()


def test_more_discs_than_a_nibble_counts():
    column = np.arange(250) % 50
    positions = np.stack([3.5 * column + 2, 4 * (np.arange(250) // 50) + 2.0], axis=-1)[None]
    masks, _ = draw_discs(positions, np.full(250, 0.8), 21, 180)
    assert np.unique(masks).tolist() == list(range(251))


def test_rows_of_a_rectangle():
    boxes = np.array([[2, 3, 4, 66], [0, 0, 9, 70], [8, 69, 1, 1], [5, 5, 0, 0]])
    pixels = raster.to_pixels(raster.box_rows(boxes, 9, 70), 70)
    for box, (top, left, rows, columns) in zip(pixels, boxes, strict=True):
        expected = np.zeros((9, 70))
        expected[top : top + rows, left : left + columns] = 1
        assert (box == expected).all()


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
