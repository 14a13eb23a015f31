"""Intervals: how far a score could lie by the choice of clips, or of runs.

Over clips: the bootstrap. As many clips are drawn with repetition as there are, again and again; a metric's `reduce`
takes how often each was drawn as its weight, so that pooled scores such as F1 are pooled anew each time. The draws
depend on the number of clips alone: two tables of the same clips are drawn alike, and their differences are paired.

Over runs: Student's t, since there are few.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from videopred.eval.metric import Quantity

RESAMPLES = 1000
LEVEL = 0.95

Measured = Mapping[str, np.ndarray]
"""What a metric measured: name -> (B, T) float64."""

_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The 97.5 % points of Student's distribution with 1, 2, … degrees of freedom, as in any table."""
_NORMAL = 1.960


class Interval(NamedTuple):
    """Where the middle 95 % lie."""

    low: np.ndarray
    high: np.ndarray

    @property
    def half(self) -> float:
        """Half of the width of a single interval."""
        return float(self.high - self.low) / 2


def reduce(metric: "Quantity", measured: Measured, weights: np.ndarray | None = None) -> np.ndarray:
    """A metric's value at each step: (T,) float64."""
    tensors = {key: torch.from_numpy(values) for key, values in measured.items()}
    return metric.reduce(tensors, None if weights is None else torch.from_numpy(weights)).numpy()


def resample(
    measurements: Mapping[str, Mapping[str, Measured]], metrics: Mapping[str, "Quantity"], *, resamples: int = RESAMPLES
) -> dict[str, dict[str, np.ndarray]]:
    """Scores by other draws of the clips.

    Args:
        measurements: row -> metric -> what was measured, all of the same clips.
        metrics: name -> metric.
        resamples: how many draws, R.

    Returns:
        row -> metric -> (R, T) float64. All rows and metrics see the same draws.
    """
    clips = _clips(measurements)
    chance = np.random.default_rng(0)
    drawn: dict[str, dict[str, list[np.ndarray]]] = {row: {name: [] for name in of} for row, of in measurements.items()}
    for _ in range(resamples):
        weights = np.bincount(chance.integers(clips, size=clips), minlength=clips).astype(np.float64)
        for row, of_row in measurements.items():
            for name, measured in of_row.items():
                drawn[row][name].append(reduce(metrics[name], measured, weights))
    return {row: {name: np.stack(values) for name, values in of_row.items()} for row, of_row in drawn.items()}


def middle(drawn: np.ndarray) -> Interval:
    """The interval of values drawn again and again, (R, ...), leaving out those that are NaN."""
    tail = (1 - LEVEL) / 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice")
        return Interval(*np.nanquantile(drawn, (tail, 1 - tail), axis=0))


def mean_over_steps(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis of the steps about which something can be said: NaN only where all are."""
    said = ~np.isnan(values)
    count = said.sum(axis=-1)
    return np.where(count > 0, np.where(said, values, 0).sum(axis=-1) / np.maximum(count, 1), np.nan)


def over_runs(values: Sequence[float]) -> float:
    """Half of the width of the interval of the mean over runs, by Student's t; of two runs at least."""
    degrees = len(values) - 1
    point = _STUDENT[degrees - 1] if degrees <= len(_STUDENT) else _NORMAL
    return float(point * np.std(values, ddof=1) / np.sqrt(len(values)))


def _clips(measurements: Mapping[str, Mapping[str, Measured]]) -> int:
    return next(len(values) for of in measurements.values() for measured in of.values() for values in measured.values())
