"""Colors and soft edges, against slow code that looks at every pixel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets.painting import paint_masks, paint_soft

WHITE = np.full((9, 1), 255, np.uint8)


def covered(x: float, y: float, r: float, height: int, width: int) -> np.ndarray:
    """Share (H, W) of each pixel within a disc, by 40 x 40 points in it."""
    row, column = ((np.arange(size * 40).reshape(size, 40) + 0.5) / 40 for size in (height, width))
    d2 = (row[:, :, None, None] - y) ** 2 + (column[None, None] - x) ** 2  # (H, 40, W, 40)
    return (d2 <= r * r).mean((1, 3))


@settings(max_examples=15)
@given(st.floats(-2, 35), st.floats(-2, 21), st.floats(3, 9))
def test_a_smooth_disc_is_as_grey_as_it_covers(x, y, r):
    frames = paint_soft(np.array([[[x, y]]]), np.array([r]), WHITE[:1], "smooth", 19, 33)
    assert frames.shape == (1, 19, 33, 1)
    assert np.abs(frames[0, ..., 0] / 255 - covered(x, y, r, 19, 33)).max() < 0.06 + 1 / 255 + 1 / 80  # so many points


@settings(max_examples=15)
@given(st.integers(0, 2**32))
def test_sutskevers_blobs_add_up_to_white(seed):
    chance = np.random.default_rng(seed)
    positions, radius = chance.random((3, 4, 2)) * (33, 19), chance.uniform(1, 9, 4)
    positions[:, 2], radius[2] = np.nan, np.nan
    row, column = np.mgrid[:19, :33] + 0.5
    frames = paint_soft(positions, radius, WHITE[:4], "sutskever", 19, 33)
    for t in range(3):
        light = np.zeros((19, 33))
        for n in (0, 1, 3):
            d2 = (row - positions[t, n, 1]) ** 2 + (column - positions[t, n, 0]) ** 2
            light += np.exp(-((d2 / radius[n] ** 2) ** 4))
        assert np.abs(frames[t, ..., 0] - 255 * np.minimum(light, 1)).max() < 0.51


def test_the_edge_of_sutskevers_blobs():
    frames = paint_soft(np.array([[[10.5, 8.5]]]), np.array([6.0]), WHITE[:1], "sutskever", 17, 21)
    assert frames[0, 8, 16, 0] == round(255 / np.e)  # at d = r
    assert frames[0, 8, 10, 0] == 255


@pytest.mark.parametrize("edges", ["smooth", "sutskever"])
def test_colors_mix_where_discs_overlap_and_are_pure_elsewhere(edges):
    color = np.array([[200, 0, 40], [0, 100, 80]], np.uint8)
    frames = paint_soft(np.array([[[8.5, 8.5], [16.5, 8.5]]]), np.array([6.0, 6]), color, edges, 17, 25)
    assert frames[0, 8, 6].tolist() == [200, 0, 40]
    assert frames[0, 8, 18].tolist() == [0, 100, 80]
    assert frames[0, 8, 12].tolist() == [100, 50, 60]  # half of each
    assert (frames[0, 0, 0] == 0).all()


def test_a_soft_disc_larger_than_the_frame_fills_it():
    frames = paint_soft(np.array([[[5.0, 4.0]]]), np.array([40.0]), WHITE[:1], "smooth", 8, 11)
    assert (frames == 255).all()


@pytest.mark.parametrize("edges", ["smooth", "sutskever"])
def test_a_disc_out_of_sight_leaves_no_light(edges):
    """Also for who has NumPy raise where numbers are too small."""
    positions = np.array([[[-30.0, 4.0]], [[5, 90]]])
    with np.errstate(all="raise"):
        assert not paint_soft(positions, np.array([4.0]), WHITE[:1], edges, 8, 11).any()


def test_masks_take_the_colors_of_their_objects():
    masks = np.random.default_rng(2).integers(0, 4, (5, 6, 7)).astype(np.uint8)
    color = np.random.default_rng(3).integers(0, 256, (3, 3)).astype(np.uint8)
    slow = [[[color[m - 1] if m else (0, 0, 0) for m in row] for row in frame] for frame in masks]
    frames = paint_masks(masks, color)
    assert frames.dtype == np.uint8
    assert (frames == np.array(slow)).all()
