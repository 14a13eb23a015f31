"""Frames that carry those before them on their channels, so that one frame shows motion."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from videopred import check


class Stacked(NamedTuple):
    """Where a predictor that sees several frames at once stands."""

    core: Any
    """State of its core."""
    recent: Tensor
    """(B, stack − 1, C, H, W): the frames before the next one, the oldest first."""


def stack_frames(film: Tensor, stack: int, recent: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Each frame with those before it on the channel axis, the oldest first; and the frames that the next one needs.

    Before the first frame of a clip stands the first frame itself, as in `FilmDataset`.

    Args:
        film: (B, T, C, H, W).
        stack: frames that are seen at once, at least 2.
        recent: (B, stack − 1, C, H, W), the frames before the film; None at the beginning of a clip.

    Returns:
        (B, T, stack * C, H, W), and (B, stack − 1, C, H, W).

    Raises:
        ValueError: `recent` is of another shape.
    """
    clips, _, *frame = film.shape
    expected = (clips, stack - 1, *frame)
    if recent is None:
        recent = film[:, :1].expand(expected)
    fix = "carry on from a state that this predictor gave for these clips"
    check.require(tuple(recent.shape) == expected, "state", f"hold frames {expected}", tuple(recent.shape), fix)
    seen = torch.cat([recent, film], 1)
    stacked = torch.stack([seen[:, age : age + film.shape[1]] for age in range(stack)], 2)
    return stacked.flatten(2, 3), seen[:, -(stack - 1) :]
