"""Trivial baselines. Without them a table tells nothing: in MSE black beats a ball drawn 5 px off."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from videopred.check import require


def blank(context: Tensor, horizon: int) -> Tensor:
    """Black frames: (B, horizon, C, H, W) zeros, for a context film (B, T, C, H, W)."""
    return torch.zeros_like(context[:, :1]).expand(-1, horizon, -1, -1, -1)


def blocks(masks: Tensor) -> Tensor:
    """A segmentation that looks at nothing: a block, about square, for each object that a clip shows, and one more.

    Args:
        masks: (B, T, H, W) whole numbers: the true object at each pixel, from 1; 0 is none.

    Returns:
        (B, T, H, W) int64, from 1.
    """
    frames, height, width = masks.shape[1:]
    counts = [int((clip.bincount()[1:] > 0).sum()) for clip in masks.flatten(1)]  # numbers may have gaps
    of_clips = [_grid(count + 1, height, width) for count in counts]
    return torch.stack(of_clips).unsqueeze(1).expand(-1, frames, -1, -1)


def _grid(count: int, height: int, width: int) -> Tensor:
    """So many blocks in rows of as many columns, or one more: (H, W)."""
    rows = math.isqrt(count)
    row = torch.arange(height) * rows // height
    first, after = row * count // rows, (row + 1) * count // rows
    column = torch.arange(width) * (after - first).unsqueeze(1) // width
    return first.unsqueeze(1) + column + 1


def copy_last(context: Tensor, horizon: int) -> Tensor:
    """The last frame of the context, again and again: (B, horizon, C, H, W)."""
    return context[:, -1:].expand(-1, horizon, -1, -1, -1)


_AT_ONCE = 2**19
"""Values that are made precise at once: as many stay in a core's cache, where they are summed nine times as fast."""


class TrainingStatistics:
    """What the two baselines that learn know of the training part. Filled batch by batch; keeps only sums.

    Args:
        context: frames before the rollout.
        horizon: frames of the rollout.
        film_shape: channels, height and width.
    """

    def __init__(self, context: int, horizon: int, film_shape: tuple[int, int, int]):
        self.context, self.horizon = context, horizon
        self._frames = 0
        self._frame_sum = torch.zeros(film_shape, dtype=torch.float64, device="cpu")
        self._pixels = torch.zeros(2, 1, dtype=torch.float64, device="cpu")  # of the last context frame: dark, lit
        self._intensity = torch.zeros(2, horizon, dtype=torch.float64, device="cpu")  # their sum at each step

    def update(self, film: Tensor) -> None:
        """Add whole clips of the training part: (B, T, C, H, W), T at least context + horizon."""
        needed = self.context + self.horizon
        fix = "lower --horizon or give a --reference with longer clips"
        require(film.shape[1] >= needed, "training clips", f"have {needed} frames", film.shape[1], fix)
        self._frames += film.shape[0] * film.shape[1]
        for clips in film.split(max(1, _AT_ONCE // film.shape[1:].numel())):
            self._add(clips.double())

    def _add(self, clips: Tensor) -> None:
        self._frame_sum += clips.sum(dim=(0, 1)).cpu()
        lit = clips[:, self.context - 1 : self.context] >= 0.5
        future = clips[:, self.context : self.context + self.horizon]
        for kind, pixels in enumerate((~lit, lit)):
            self._pixels[kind] += pixels.sum().cpu()
            self._intensity[kind] += (future * pixels).sum(dim=(0, 2, 3, 4)).cpu()

    def add_up(self, total: Callable[[Tensor], Tensor]) -> None:
        """Take what other processes have seen into account.

        Sums of black and white pixels are whole numbers, and exact; those of others are exact to 1e-15.

        Args:
            total: gives the sum of a tensor over all processes.
        """
        self._frames = int(total(torch.tensor(self._frames, device="cpu")))
        self._frame_sum, self._pixels, self._intensity = map(total, (self._frame_sum, self._pixels, self._intensity))

    @property
    def mean_frame(self) -> Tensor:
        """Mean of all frames of all training clips: (C, H, W) float64 in [0, 1]."""
        return self._frame_sum / self._frames

    @property
    def chances(self) -> Tensor:
        """How bright pixels are at each step that were dark (row 0) or lit (row 1) in the last context frame.

        The mean intensity: for black and white films, the probability of being lit. A kind that never
        occurred gets the mean of all pixels.

        Returns:
            (2, horizon) float64 in [0, 1].
        """
        overall = self._intensity.sum(dim=0) / self._pixels.sum()
        return torch.where(self._pixels > 0, self._intensity / self._pixels, overall)


def mean_frame(context: Tensor, statistics: TrainingStatistics) -> Tensor:
    """The mean frame of the training part at every step: (B, horizon, C, H, W)."""
    frame = statistics.mean_frame.to(context)
    return frame.expand(len(context), statistics.horizon, -1, -1, -1)


def copy_last_calibrated(context: Tensor, statistics: TrainingStatistics) -> Tensor:
    """The last frame of the context with honest probabilities: (B, horizon, C, H, W).

    A pixel that is lit (at least 0.5) in the last context frame gets, at step s, the chance that such a pixel
    had on the training part s frames later; a dark one likewise. On the training part itself, no other two
    numbers per step have a lower BCE.
    """
    dark, lit = statistics.chances.to(context).view(2, 1, -1, 1, 1, 1)
    return torch.where(context[:, -1:] >= 0.5, lit, dark)
