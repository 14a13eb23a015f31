"""Previews of clips: where everything lies, and outlines of objects."""

import imageio.v3 as iio
import numpy as np
import pytest
from command_line import run
from tiny_runs import tiny_data

from videopred.datasets import open_dataset
from videopred.preview import OBJECT_COLORS, draw_outlines, preview_gif

HEIGHT, WIDTH = 12, 20


def test_preview_lays_clips_out_in_rows(tmp_path):
    frames = np.random.default_rng(0).integers(0, 2, (5, 3, HEIGHT, WIDTH, 1), np.uint8) * 255
    film = iio.imread(preview_gif(frames, tmp_path / "preview.gif", columns=2, panel_px=2 * WIDTH))
    assert film.shape == (3, 14 + 3 * (2 * HEIGHT + 14), 14 + 2 * (2 * WIDTH + 14), 3)
    top, left = 14 + 2 * HEIGHT + 14, 14 + 2 * WIDTH + 14  # second row, second column: clip 3
    cell = film[1, top : top + 2 * HEIGHT : 2, left : left + 2 * WIDTH : 2]
    np.testing.assert_array_equal(cell, np.broadcast_to(frames[3, 1], (HEIGHT, WIDTH, 3)))


@pytest.mark.parametrize("thickness", [1, 2])
def test_outlines_are_the_outer_pixels_of_every_object(thickness):
    masks = np.zeros((2, HEIGHT, WIDTH), np.uint8)
    masks[0, 2:7, 3:9] = 1
    masks[0, 5:10, 7:14] = 2  # hides a corner of the first
    masks[1, 0:3, 16:20] = 9  # at the border of the frame, and as many as there are colours further than 2
    film = np.full((2, HEIGHT, WIDTH, 3), 7, np.uint8)
    draw_outlines(film, masks, thickness)
    for t, y, x in np.ndindex(masks.shape):
        near = [k for k in range(-thickness, thickness + 1) if k]
        neighbors = [(y + k, x) for k in near] + [(y, x + k) for k in near]
        inside = [masks[t, r, c] for r, c in neighbors if 0 <= r < HEIGHT and 0 <= c < WIDTH]
        own = masks[t, y, x]
        is_edge = own > 0 and any(other != own for other in inside)
        expected = OBJECT_COLORS[(own - 1) % 7] if is_edge else (7, 7, 7)
        assert tuple(film[t, y, x]) == tuple(expected), (t, y, x)


def test_a_preview_with_masks_has_outlines_of_two_screen_pixels(tmp_path):
    frames, masks = np.zeros((1, 2, HEIGHT, WIDTH, 1), np.uint8), np.zeros((1, 2, HEIGHT, WIDTH), np.uint8)
    frames[:, :, 4:6, 8:11], masks[:, :, 4:6, 8:11] = 255, 1
    frames[0, 1, 0, 0] = 255  # equal frames are merged in a GIF
    film = iio.imread(preview_gif(frames, tmp_path / "p.gif", masks, panel_px=4 * WIDTH))
    assert film.shape[1:3] == (14 + 4 * HEIGHT + 14, 14 + 4 * WIDTH + 14)  # a row of one clip, not of three
    orange = (film[0] == OBJECT_COLORS[0]).all(-1)
    assert orange.sum() == 8 * 12 - 4 * 8  # a rectangle of 8 x 12 without its inside


def test_the_command_outlines_the_objects_of_each_clip(tmp_path):
    file = tiny_data(tmp_path / "tiny.h5")
    data = open_dataset(file)
    frames, masks = data.read_frames("train", 0, 6), data.read("train", "groups", 0, 6)
    assert run(f"inspect {file} --preview {tmp_path / 'p.gif'}") == 0
    expected = iio.imread(preview_gif(frames, tmp_path / "expected.gif", masks))
    np.testing.assert_array_equal(iio.imread(tmp_path / "p.gif"), expected)
