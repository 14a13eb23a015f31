"""The picture of what modules did."""

import numpy as np
import torch

from videopred.activity import activity_image, drawable


def test_what_has_a_number_for_each_module_is_drawn():
    axes = {"active": "K", "input_attention": "heads K L", "layer0.top_down": "K", "phase": ""}
    assert drawable(axes) == ["active", "layer0.top_down"]


def test_cells_are_black_where_a_module_is_active_and_the_rollout_is_marked():
    """Seven steps, of which three are given; module 1 of 2 is active throughout, in clip 1 only."""
    trace = {"active": torch.zeros(2, 7, 2, dtype=torch.bool)}
    trace["active"][1, :, 1] = True
    resting, image = (activity_image(trace, ["active"], clip, 3) for clip in (0, 1))
    assert image.dtype == np.uint8
    assert image.shape == resting.shape
    assert image.shape[2] == 3
    orange = np.argwhere((image == (230, 159, 0)).all(2))
    dark = np.argwhere((image == 0).all(2) & (resting == 255).all(2))
    rows, columns = dark.min(0), dark.max(0)
    assert orange[:, 0].min() < rows[0] - 5, "the upper module should be light"
    width = columns[1] - rows[1]
    assert abs((orange[:, 1].mean() - rows[1]) / width - 3 / 7) < 0.02


def test_nothing_to_draw():
    assert activity_image({}, [], 0, 3) is None
