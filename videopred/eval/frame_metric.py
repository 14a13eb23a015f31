"""Metrics that look at each frame by itself, and what lets several of them share a walk through the films."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeGuard

import torch
from torch import Tensor

from videopred.eval.metric import Metric, check_bounds, check_pair, check_unit_range, naming

VALUES_AT_ONCE = 2**17
"""Values of a film that are worked on together: few enough to stay in a processor's cache, so memory does not grow."""


class Frames:
    """Frames to compare, and what several metrics make of them, made once.

    Attributes:
        prediction: (N, C, H, W) float32 or float64 in [0, 1], contiguous.
        truth: the same, of the same type.
        spare: two films of the same shape and type that anybody may write over: fresh memory costs as much time as the
            arithmetic in it.
    """

    def __init__(self, prediction: Tensor, truth: Tensor, spare: Sequence[Tensor]):
        self.prediction = prediction
        self.truth = truth
        self.spare = spare
        self._made: dict[tuple, Any] = {}

    @cached_property
    def doubt(self) -> tuple[float, float]:
        """Lowest and highest y − y² of the true values, both NaN if one of them is.

        Below 0 a value is outside [0, 1]; where all are 0, every true value is 0 or 1. Writes over a spare film.
        """
        doubts = torch.addcmul(self.truth, self.truth, self.truth, value=-1, out=self.spare[0])
        return doubts.amin().item(), doubts.amax().item()

    @property
    def black_and_white(self) -> bool:
        """Whether every true value is 0 or 1, for which less arithmetic gives the same numbers."""
        return self.doubt == (0, 0)

    def once(self, make: Callable[..., Any], *settings: Any) -> Any:
        """What `make(frames, *settings)` returns; a second metric that asks gets the same object."""
        key = (make, *settings)
        if key not in self._made:
            self._made[key] = make(self, *settings)
        return self._made[key]


class FrameMetric(Metric):
    """A metric whose measurements of a frame depend on that frame alone."""

    @abstractmethod
    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        """What is counted of a few frames: name -> (N,), of any floating type. The films are checked already."""

    def finish(self, counted: dict[str, Tensor], values: int) -> dict[str, Tensor]:
        """The measurements that come of it: the same, unless a metric says otherwise.

        Args:
            counted: name -> (B, T) float64, from `measure_frames`.
            values: values of a frame, C·H·W.
        """
        return counted

    @torch.no_grad()
    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_pair(prediction, truth)
        (measured,) = _walk([self], prediction, truth)
        return measured


@torch.no_grad()
def measure_all(metrics: Sequence[Metric], prediction: Tensor, truth: Tensor) -> list[dict[str, Tensor]]:
    """What each metric measures on one pair of films, faster than by itself: equal to `metric.measure`, to the bit.

    Our metrics of frames walk through the films together, a few frames at a time.

    Args:
        metrics: any of them.
        prediction: (B, T, C, H, W) floating, in [0, 1].
        truth: the same, of the same shape.

    Returns:
        For each metric, name -> (B, T) float64.

    Raises:
        TypeError, ValueError: see `check_films` and `naming`.
    """
    check_pair(prediction, truth)
    walked = iter(_walk([metric for metric in metrics if _may_share(metric)], prediction, truth))
    measured = []
    for metric in metrics:
        if _may_share(metric):
            measured.append(next(walked))
            continue
        with naming(metric):  # the others are users' own, which may write into what they are given
            measured.append(metric.measure(prediction.clone(), truth.clone()))
    return measured


def _may_share(metric: Metric) -> TypeGuard[FrameMetric]:
    """Whether it looks at frames, and leaves them as they are for others, as ours do."""
    return isinstance(metric, FrameMetric) and not metric.is_own()


def _walk(metrics: Sequence[FrameMetric], prediction: Tensor, truth: Tensor) -> list[dict[str, Tensor]]:
    """What each metric measures: name -> (B, T) float64."""
    blocks, lowest, highest, sound = [], [], [], True
    for frames in _in_blocks(prediction, truth):
        # Values are looked at here, while they are in the cache, and complained of below, with those of all blocks.
        lowest.append(frames.prediction.amin())
        highest.append(frames.prediction.amax())
        sound &= frames.doubt[0] >= 0
        with torch.autocast(frames.truth.device.type, enabled=False):  # a model's, which would round sums to 16 bits
            blocks.append([metric.measure_frames(frames) for metric in metrics])
    check_bounds("prediction", torch.stack(lowest).amin(), torch.stack(highest).amax())
    if not sound:
        check_unit_range("truth", truth)
    measured = []
    for metric, counted in zip(metrics, zip(*blocks, strict=True), strict=True):
        joined = {key: torch.cat([block[key] for block in counted]) for key in counted[0]}
        films = {key: values.double().view(truth.shape[:2]) for key, values in joined.items()}
        measured.append(metric.finish(films, truth[0, 0].numel()))
    return measured


def _in_blocks(prediction: Tensor, truth: Tensor) -> Iterator[Frames]:
    """Films (B, T, C, H, W) a few frames at a time, in single precision or, if one of them is in double, in that.

    Clip by clip, since a score must not depend, even by rounding, on the clip's neighbours in a batch.
    """
    dtype = torch.promote_types(torch.promote_types(prediction.dtype, truth.dtype), torch.float32)
    length = math.ceil(truth.shape[1] / math.ceil(truth[0].numel() / VALUES_AT_ONCE))
    spare = truth.new_empty(2, length, *truth.shape[2:], dtype=dtype)
    for clip in zip(prediction, truth, strict=True):
        for first in range(0, truth.shape[1], length):
            ours, true = (film[first : first + length].to(dtype).contiguous() for film in clip)
            yield Frames(ours, true, spare[:, : len(true)].unbind())
