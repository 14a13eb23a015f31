"""Intervals: how much a score depends on the choice of clips, or of runs.

Over clips: the bootstrap. As many clips are drawn with repetition as there are, again and again; a metric's `reduce`
takes as weights how often each clip was drawn, so that pooled scores such as F1 are pooled anew each time. Clips that
are films of one scene are alike: then whole scenes are drawn, and count below in the place of clips. The draws depend
only on the number of clips and on their scenes: two tables of the same clips have the same draws, and their differences
are paired.
The middle of the draws is too narrow: with B clips it has (B - 1) / B of the variance, and normal tails. So it is
widened by sqrt(B / (B - 1)) and by Student's t over the normal quantile: of a mean, the interval is Student's. B counts
the clips that have a value, which of objects that are lost, say, may be few; a single one has no interval.

Over runs from several seeds: Student's t.

Over both: clips and seeds are independent, so variances add: that of the bootstrap and, for each model with several
runs, that of its mean. The sum has Welch's degrees of freedom.

Source: Hesterberg 2015, The American Statistician 69, 371, for what the bootstrap lacks; Welch 1947, Biometrika 34, 28;
Satterthwaite 1946, Biometrics Bulletin 2, 110; Agresti and Min 2005, Statistics in Medicine 24, 729, for shares.
Limits: over few clips whose values are skewed, intervals are still too narrow (docs/scoring.md), and may reach beyond a
metric's bounds. Runs are taken as independent draws from a normal distribution, and two or three say little about its
width. What a seed does to single clips is in both variances, so intervals are slightly too wide.
"""

import warnings
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
import torch

from videopred.eval.metric import Quantity, naming, reduced

RESAMPLES = 1000
LEVEL = 0.95
OVER_CLIPS = "bootstrap, widened by Student's t"
"""How `over_clips` comes by its intervals, in a legend's words."""
_POINT = (1 + LEVEL) / 2
_AT_ONCE = 200  # draws: of 10,000 clips, their weights take 16 MB

Measured = Mapping[str, np.ndarray]
"""What a metric measured: name -> (B, T) float64."""


class Interval(NamedTuple):
    """Two ends, between which the truth lies in 95 % of cases."""

    low: Any
    """A number, or (horizon,) float64 of intervals at every step."""
    high: Any

    @property
    def half(self) -> float:
        """Half of the width of a single interval."""
        return float(self.high - self.low) / 2


class Estimate(NamedTuple):
    """A number with its 95 % interval; NaN where it has none."""

    value: float
    low: float = nan
    high: float = nan

    @property
    def half(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2

    def excludes(self, number: float) -> bool:
        """Whether there is an interval, and the number lies outside."""
        return self.low > number or self.high < number


UNKNOWN = Estimate(nan)


def reduce(metric: Quantity, measured: Measured) -> np.ndarray:
    """A metric's value at each step: (T,) float64."""
    return reduced(metric, tensors_of(measured)).numpy()


def resample(
    measurements: Mapping[str, Mapping[str, Measured]],
    metrics: Mapping[str, Quantity],
    scenes: np.ndarray | None = None,
    *,
    resamples: int = RESAMPLES,
) -> dict[str, dict[str, np.ndarray]]:
    """Scores of resampled clips.

    Args:
        measurements: row -> metric -> what was measured, all of the same clips.
        metrics: name -> metric.
        scenes: (B,) the scene that each clip is a film of; None where each is of its own.
        resamples: how many draws, R.

    Returns:
        row -> metric -> (R, T) float64, from the same draws for all rows and metrics.
    """
    scene_of = np.arange(_clips(measurements)) if scenes is None else np.unique(scenes, return_inverse=True)[1]
    number, chance = int(scene_of.max()) + 1, np.random.default_rng(0)
    drawn: dict[str, dict[str, list[np.ndarray]]] = {row: {name: [] for name in of} for row, of in measurements.items()}
    for begin in range(0, resamples, _AT_ONCE):
        chosen = [chance.integers(number, size=number) for _ in range(min(_AT_ONCE, resamples - begin))]
        often = np.stack([np.bincount(drawn_scenes, minlength=number) for drawn_scenes in chosen])
        draws = torch.from_numpy(often[:, scene_of]).double()
        for row, of_row in measurements.items():
            for name, measured in of_row.items():
                with naming(metrics[name]):
                    drawn[row][name].append(metrics[name].reduce_each(tensors_of(measured), draws).numpy())
    return {row: {name: np.concatenate(values) for name, values in of_row.items()} for row, of_row in drawn.items()}


def having_value(metric: Quantity, measured: Measured) -> np.ndarray:
    """Which clips have a value by themselves, at each step: (B, T) bool.

    Where none has though all together have, as of a deviation over clips, those count of which all is known.
    """
    tensors = tensors_of(measured)
    with naming(metric):
        alone, together = ~metric.of_each_clip(tensors).isnan(), ~metric.reduce(tensors).isnan()
    known = ~torch.stack([values.isnan() for values in tensors.values()]).any(0)
    return torch.where(together & ~alone.any(0), known, alone).numpy()


def mean_over_steps(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis without NaN; NaN only where all are."""
    said = ~np.isnan(values)
    count = said.sum(axis=-1)
    return np.where(count > 0, np.where(said, values, 0).sum(axis=-1) / np.maximum(count, 1), np.nan)


def over_runs(values: Sequence[float]) -> float:
    """Half the width of the interval of the mean over at least two runs, by Student's t."""
    return float(_half_width([_of_mean(np.asarray(values))]))


def over_clips(drawn: np.ndarray, clips: np.ndarray | int, *sides: np.ndarray) -> Interval:
    """The interval over clips, and over seeds where there are several runs; NaN where fewer than two clips count.

    Args:
        drawn: (R, ...), a number for resampled clips; those that are NaN are left out.
        clips: how many have a value: one number, or (...).
        sides: values of the runs of each model in that number, (S, ...). A single run adds nothing, as its seeds are
            unknown.
    """
    low, high = _middle(drawn)
    half, several = (high - low) / 2, np.maximum(clips, 2)
    of_clips = _Chance((half / _students_t(np.inf)) ** 2 * several / (several - 1), several - 1)
    more = _half_width([of_clips, *(_of_mean(values) for values in sides if len(values) > 1)]) - half
    more = np.where(np.equal(several, clips), more, np.nan)
    return Interval(low - more, high + more)


def of_shares(differences: np.ndarray, *sides: np.ndarray) -> Interval:
    """The interval of a mean difference between two shares of the same clips, such as how often two models are wrong.

    Agresti and Min's, after two clips are added of which one differs by 0, half of one by 1, and half of one by -1. So
    it has a width even where all clips agree, where the bootstrap's has none. Theirs is of a normal number, which holds
    too little over few clips; ours is Student's.

    Args:
        differences: (B, ...) in [-1, 1], one share less the other.
        sides: as in `over_clips`.
    """
    clips = len(differences) + 2
    middle = differences.sum(0) / clips
    variance = ((differences**2).sum(0) + 1) / clips - middle**2
    of_clips = _Chance(variance / clips, max(1, len(differences) - 1))
    half = _half_width([of_clips, *(_of_mean(values) for values in sides if len(values) > 1)])
    return Interval(np.maximum(middle - half, -1.0), np.minimum(middle + half, 1.0))


def _middle(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the middle 95 % of resampled values (R, ...), without those that are NaN."""
    tail = (1 - LEVEL) / 2
    # nanquantile goes through the columns one by one, and almost never there is a NaN.
    quantile = np.nanquantile if np.isnan(drawn).any() else np.quantile
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice")
        low, high = quantile(drawn, (tail, 1 - tail), axis=0)
    return low, high


class _Chance(NamedTuple):
    """One source of randomness in a number."""

    variance: np.ndarray
    degrees: np.ndarray | float


def _of_mean(values: np.ndarray) -> _Chance:
    """The randomness of the mean of independent values, along the first axis."""
    return _Chance(values.var(axis=0, ddof=1) / len(values), len(values) - 1)


def _half_width(chances: Sequence[_Chance]) -> np.ndarray:
    """Half the width of the interval of a number with several sources of randomness, by Welch's degrees of freedom."""
    total = np.asarray(sum(variance for variance, _ in chances))
    shares = [variance / np.where(total == 0, 1, total) for variance, _ in chances]
    with np.errstate(divide="ignore"):
        degrees = 1 / sum(share**2 / chance.degrees for share, chance in zip(shares, chances, strict=True))
    return _students_t(degrees) * np.sqrt(total)


def _students_t(degrees: np.ndarray | float) -> np.ndarray:
    """The upper end of the interval of Student's t; that of a normal number where the degrees are infinite."""
    from scipy.special import stdtrit  # loaded for intervals alone, as it takes long

    return np.asarray(stdtrit(degrees, _POINT))


def tensors_of(measured: Measured) -> dict[str, torch.Tensor]:
    """What was measured as metrics take it."""
    return {key: torch.from_numpy(values) for key, values in measured.items()}


def _clips(measurements: Mapping[str, Mapping[str, Measured]]) -> int:
    return next(len(values) for of in measurements.values() for measured in of.values() for values in measured.values())
