"""What scenes with occluders look like: shapes, colors, occluders and the floor, as the truth says."""

import math

import numpy as np
import pytest
from test_occlusion import SIZES, recipe_of

from videopred.datasets.occlusion import Occlusion
from videopred.datasets.shapes import HALF_WIDTH, HEIGHT, SHAPES, half_widths, spans


def test_shapes_have_the_same_area():
    """Counted at 50 times the pixels of the default, where edges no longer matter."""
    side = 387.0
    for shape, _ in enumerate(SHAPES):
        rows = math.ceil(HEIGHT * side)
        start, stop = spans(np.array([500.2]), half_widths(shape, side, rows), 1000)
        assert (stop - start).sum() == pytest.approx(side**2, rel=0.005)
        assert (stop - start).max() <= 2 * HALF_WIDTH * side + 1


@pytest.mark.parametrize("shape", range(3))
def test_masks_are_the_shapes_at_the_stored_places(shape):
    """Compared with a slow drawing of each pixel from the file's numbers alone."""
    found = 0
    for clip in Occlusion(recipe_of(occlusion=("visible",))).clips(3, "train", range(18)):
        for item in np.flatnonzero(clip.objects["active"]):
            if clip.series["shapes"][0, item] != shape:
                continue
            t, side = 11, float(clip.objects["size"][item])
            x, y = map(float, clip.positions[t, item])
            rows, columns = np.mgrid[: SIZES["height"], : SIZES["width"]] + 0.5
            if shape == 0:
                inside = (rows - y) ** 2 + (columns - x) ** 2 <= side**2 / math.pi
            elif shape == 1:
                inside = (abs(rows - y) <= side / 2) & (abs(columns - x) <= side / 2)
            else:
                up = y + 1.6 * side / 3 - rows  # above the ground
                inside = (up >= 0) & (abs(columns - x) <= 0.625 * side * (1 - up / (1.6 * side)))
            assert ((clip.masks[t] == item + 1) != inside).sum() <= 1  # a centre on the very edge
            found += 1
    assert found > 3


def test_objects_are_their_color_and_occluders_hide_them():
    for clip in Occlusion(recipe_of(occlusion=("occluded",))).clips(3, "train", range(27)):
        for item in np.flatnonzero(clip.objects["active"]):
            assert (clip.frames[clip.masks == item + 1] == clip.objects["color"][item]).all()
        assert ((clip.frames >= 128).any(-1) == (clip.masks > 0)).all()
        colors = {tuple(color) for color in clip.objects["color"][clip.objects["active"]]}
        assert len(colors) == clip.objects["active"].sum()
        for t in (0, 9, 26, 40, 52):
            for top, left, height, width in clip.series["occluders"][t]:
                area = clip.frames[t, top : top + height, left : left + width]
                assert not clip.masks[t, top : top + height, left : left + width].any()
                assert (area == area[:1, :1]).all()


def test_occluders_are_down_at_both_ends_and_up_between():
    for clip in Occlusion(recipe_of(occlusion=("occluded",), frames=100)).clips(3, "train", range(27)):
        height = clip.series["occluders"][..., 2].max(1).astype(int)
        assert height[0] == height[-1] == 0
        assert (height[17:84] == height.max()).all()
        assert (np.diff(height[:50]) >= 0).all()
        assert (np.diff(height[50:]) <= 0).all()


def test_the_floor_is_where_the_label_says():
    for clip in Occlusion(recipe_of()).clips(3, "train", range(9)):
        floor = int(clip.labels["floor"])
        edge = clip.frames[0, :, 0].astype(int)
        assert (edge[floor] != edge[floor - 1]).any()
        assert (edge[:floor][clip.masks[0, :floor, 0] == 0] == edge[0]).all()


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_positions_are_centres_of_area(shape):
    found = 0
    for clip in Occlusion(recipe_of(occlusion=("visible",), height=240, width=336)).clips(3, "train", range(27)):
        for item in np.flatnonzero(clip.series["shapes"][0] == shape):
            rows, columns = np.nonzero(clip.masks[11] == item + 1)
            centre = columns.mean() + 0.5, rows.mean() + 0.5
            np.testing.assert_allclose(clip.positions[11, item], centre, atol=0.4)
            found += 1
    assert found > 1


def test_occluders_start_and_stop_gently():
    """In the first and in the last fifth of its way an occluder moves by less than a seventh of it."""
    recipe = recipe_of(occlusion=("occluded",), frames=400, height=240, width=336)
    for clip in Occlusion(recipe).clips(3, "train", range(4)):
        height = clip.series["occluders"][..., 2].max(1).astype(int)
        for half in (height[:200], height[:199:-1]):
            rise, up = (half == 0).sum() - 1, (half < half.max()).sum()
            fifth = (up - rise) // 5
            assert half[rise + fifth] < half.max() / 7
            assert half[up - fifth] > half.max() * 6 / 7


def test_objects_stand_on_the_floor_and_occluders_in_front_of_all():
    for clip in Occlusion(recipe_of(occlusion=("occluded",))).clips(3, "train", range(27)):
        lowest = [
            np.flatnonzero((clip.masks == item + 1).any((0, 2))).max()
            for item in np.flatnonzero(clip.objects["active"])
        ]
        assert min(lowest) >= clip.labels["floor"]
        top, _, height, _ = clip.series["occluders"][26].T
        assert set((top + height)[height > 0].tolist()) == {SIZES["height"] - 1}
