"""What a metric is: per-clip, per-frame measurements that are pooled over clips only at the very end.

Because the pooling comes last and takes weights, one set of measurements gives pooled scores, intervals by
reweighting clips, and exact sums over batches or processes.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor

from videopred.amounts import number_told
from videopred.check import FailedError, complaint, require, require_kind
from videopred.settings import Settings
from videopred.systems import lacking_memory
from videopred.user_errors import MEND, error_told, is_complaint


class Quantity(ABC):
    """Something to measure about a prediction, in each frame of each clip."""

    name: ClassVar[str]
    """Key in its table; MODULE:CLASS for one that is in none."""
    label: ClassVar[str]
    """Head of its column in a table."""
    range: ClassVar[tuple[float, float]]
    """Lowest and highest value that can come out."""
    higher_is_better: ClassVar[bool]
    decimals: ClassVar[int]
    """Decimals that a table shows; up to two more of a small error."""
    unit: ClassVar[str] = ""
    """Unit of its values, with which its convention begins; empty for a plain number, such as a share."""
    along: ClassVar[str] = ""
    """What its steps count, if not those of the rollout."""
    is_time: ClassVar[bool] = False
    """Whether its mean over the steps, times their number, is a time in frames."""

    def __init__(self, config: Settings):
        self.config = config

    @classmethod
    def is_own(cls) -> bool:
        """Whether a user gave it, as MODULE:CLASS."""
        return ":" in cls.name

    @property
    @abstractmethod
    def convention(self) -> str:
        """One sentence that fixes the number: unit, sum or mean, and every constant."""

    @property
    def best(self) -> float:
        """The better end of its range."""
        return self.range[1] if self.higher_is_better else self.range[0]

    def reduce(self, measured: dict[str, Tensor], clip_weights: Tensor | None = None) -> Tensor:
        """One value per step: what `of_sums` makes of the sums over the clips that have a value there; NaN if none has.

        Args:
            measured: measurements (B, T) of any number of clips.
            clip_weights: (B,) non-negative; how often each clip counts. None counts each once.

        Returns:
            (T,) float64.
        """
        return self._pooled(measured, weights_of(next(iter(measured.values())), clip_weights))

    def reduce_each(self, measured: dict[str, Tensor], draws: Tensor) -> Tensor:
        """What `reduce` gives for each of several weights of the clips, at once unless a subclass has its own `reduce`.

        Args:
            measured: measurements (B, T) of any number of clips.
            draws: (R, B) float64; how often each clip counts in each draw.

        Returns:
            (R, T) float64.
        """
        if type(self).reduce is Quantity.reduce:
            return self._pooled(measured, draws)
        return torch.stack([self.reduce(measured, weights) for weights in draws])

    def of_each_clip(self, measured: dict[str, Tensor]) -> Tensor:
        """What `reduce` gives for each clip by itself: (B, T) float64 of measurements (B, T)."""
        if type(self).reduce is not Quantity.reduce:
            clips = range(len(next(iter(measured.values()))))
            return torch.stack(
                [self.reduce({key: values[i : i + 1] for key, values in measured.items()}) for i in clips]
            )
        known = ~torch.stack([values.isnan() for values in measured.values()]).any(0)
        sums = {key: values.double().where(known, 0) for key, values in measured.items()}
        return self.of_sums(sums, known.double()).where(known, torch.nan)

    def of_sums(self, sums: dict[str, Tensor], clips: Tensor) -> Tensor:
        """The score from measurements summed over clips: the mean, for a single measurement.

        Args:
            sums: name -> (..., T) float64.
            clips: (..., 1) float64, or (..., T) where some have no value at some steps; how many clips were summed.

        Returns:
            (..., T) float64.

        Raises:
            ValueError: there are several measurements.
        """
        must, fix = "have a reduce of its own for several measurements", "write one, or measure a single thing"
        require(len(sums) == 1, f"metric {self.name}", must, ", ".join(sums), fix)
        (total,) = sums.values()
        return total / clips

    def _pooled(self, measured: dict[str, Tensor], weights: Tensor) -> Tensor:
        known = ~torch.stack([values.isnan() for values in measured.values()]).any(0)  # (B, T)
        clips = weights.sum(-1, keepdim=True)
        if known.all():  # as of all metrics of films in the table
            return self.of_sums({key: weights @ values.double() for key, values in measured.items()}, clips)
        sums = {key: weights @ values.double().where(known, 0) for key, values in measured.items()}
        clips = weights @ known.to(weights)
        return self.of_sums(sums, clips).where(clips > 0, torch.nan)

    def remark(self, measured: dict[str, Tensor]) -> str:
        """What a reader of this score must know about these clips, such as how many frames were capped; usually empty.

        Args:
            measured: measurements (B, T) of any number of clips.
        """
        return ""


class Metric(Quantity):
    """A way to compare a predicted film with the true one."""

    @abstractmethod
    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        """Measurements of every frame by itself.

        Args:
            prediction: (B, T, C, H, W) floating, in [0, 1]: probabilities or intensities.
            truth: the same, of the same shape; may be soft (grey).

        Returns:
            name -> (B, T) float64.

        Raises:
            TypeError, ValueError: see `check_films`.
        """


_NO_INFINITY = "give NaN where nothing can be said, or bound it"


def check_measured(metric: Metric, measured: Any, frames: tuple[int, ...]) -> None:
    """Refuse what a user's own metric measured unless it is a number for each frame, or NaN, under a name.

    Args:
        metric: which gave it.
        measured: what `measure` returned.
        frames: (B, T) of the films.

    Raises:
        TypeError: it is no dict of tensors. ValueError: it is empty, or they have other shapes or are infinite.
    """
    name, fix = f"metric {metric.name}", "return tensors of torch by their names"
    require_kind(isinstance(measured, dict), name, "measure a dict", type(measured).__name__, fix)
    require(len(measured) > 0, name, "measure something", "an empty dict", fix)
    for key, values in measured.items():
        require("/" not in str(key), name, "measure under names without /", key, "rename it")
        require_kind(isinstance(values, Tensor), name, "measure tensors", f"{type(values).__name__} as {key}", fix)
        must, got = f"measure one number of each of {frames} frames", f"{tuple(values.shape)} as {key}"
        require(values.shape == frames, name, must, got, "take means over the other axes")
        require(not values.isinf().any(), name, "measure finite numbers or NaN", f"infinity as {key}", _NO_INFINITY)


@contextmanager
def naming(metric: Quantity | type[Quantity]) -> Iterator[None]:
    """Within it, an error of a user's own metric is told as one, with the line of theirs from which it came.

    Complaints of this package, as about the films, stay as they are.

    Raises:
        FailedError: it raised an error.
    """
    try:
        yield
    except Exception as error:  # a stranger's metric may raise anything
        if not metric.is_own() or is_complaint(error) or lacking_memory(error):
            raise
        raise FailedError(complaint(f"metric {metric.name}", "raise no error", error_told(error), MEND)) from error


def reduced(metric: Quantity, measured: dict[str, Tensor]) -> Tensor:
    """What `metric.reduce` gives: one value per step, (T,) float64.

    Raises:
        ValueError: a user's own metric gives something else, or raises an error.
    """
    with naming(metric):
        values = metric.reduce(measured)
    steps = next(iter(measured.values())).shape[1]
    got: Any = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
    must, fix = f"reduce to a tensor of shape ({steps},), one value per step", "pool over clips, and not over steps"
    require(got == (steps,), f"metric {metric.name}", must, got, fix)
    _check_finite(metric, values)
    if metric.is_own():
        lowest, highest = metric.range
        known = values[~values.isnan()]
        sizes = [abs(end) for end in metric.range if not math.isinf(end)]
        slack = 1e-3 * max([1.0, *sizes])  # of rounding
        odd = known[(known < lowest - slack) | (known > highest + slack)]
        must, fix = f"reduce to numbers in its range, {lowest:g} to {highest:g}", "widen it: skill is told by its ends"
        require(odd.numel() == 0, f"metric {metric.name}", must, f"{odd[:1].sum():g}", fix)
    return values


def clip_means(metric: Quantity, measured: dict[str, Tensor]) -> Tensor:
    """Each clip's mean over those steps of which something can be said of it: (B,) float64; NaN where there are none.

    Raises:
        ValueError: see `reduced`.
    """
    reduced(metric, measured)
    with naming(metric):
        values = metric.of_each_clip(measured)
    _check_finite(metric, values)
    return values.nanmean(1)


def _check_finite(metric: Quantity, values: Tensor) -> None:
    must = "reduce to finite numbers or NaN"
    require(not values.isinf().any(), f"metric {metric.name}", must, "infinity", _NO_INFINITY)


def weights_of(values: Tensor, clip_weights: Tensor | None) -> Tensor:
    """The weight of each clip of a measurement (B, T): those given, else ones. (B,) float64.

    Raises:
        TypeError: they are no tensor.
        ValueError: one is negative or not a number, all are zero, or there are not B of them.
    """
    if clip_weights is None:
        return values.new_ones(len(values), dtype=torch.float64)
    _check_tensor("clip_weights", clip_weights)
    fix = "give one number of at least 0 for each clip"
    got = tuple(clip_weights.shape)
    require(got == (len(values),), "clip_weights", f"have shape ({len(values)},)", got, fix)
    allowed = bool((clip_weights >= 0).all()) and bool(clip_weights.sum() > 0)
    require(allowed, "clip_weights", "be at least 0 and not all 0", clip_weights.tolist(), fix)
    return clip_weights.to(values.device, torch.float64)


def check_films(prediction: Tensor, truth: Tensor) -> None:
    """Refuse what is not a pair of films; nothing is broadcast, cast or clipped.

    Raises:
        TypeError: one of them is no tensor, or not floating point.
        ValueError: they have not five axes, differ in shape or device, hold nothing, leave [0, 1] or hold NaN.
    """
    check_pair(prediction, truth)
    check_unit_range("prediction", prediction)
    check_unit_range("truth", truth)


def check_pair(prediction: Tensor, truth: Tensor) -> None:
    """What `check_films` refuses, but for values outside [0, 1] and NaN."""
    check_axes("prediction", prediction)
    check_axes("truth", truth)
    check_same_shape("prediction", prediction, truth)
    must = f"be on {truth.device}, where the truth is"
    require(prediction.device == truth.device, "prediction", must, prediction.device, "move one of them with .to()")


def check_axes(name: str, film: Tensor) -> None:
    """Refuse what is no tensor of floating point (TypeError), has not the five axes, or holds nothing (ValueError)."""
    _check_tensor(name, film)
    if not film.is_floating_point():
        fix = "convert stored frames with videopred.to_film"
        raise TypeError(complaint(name, "be floating point in [0, 1]", film.dtype, fix))
    axes = "have the axes (clips, frames, channels, height, width)"
    require(film.dim() == 5, name, axes, f"shape {tuple(film.shape)}", "add the missing axes")
    require(film.numel() > 0, name, "hold at least one value", f"shape {tuple(film.shape)}", "add clips")


def _check_tensor(name: str, value: Tensor) -> None:
    """Refuse with a TypeError what is no tensor, such as an array of NumPy."""
    fix = "make it one with torch.as_tensor"
    require_kind(isinstance(value, Tensor), name, "be a tensor", type(value).__name__, fix)


def check_same_shape(name: str, film: Tensor, truth: Tensor) -> None:
    """Refuse with a ValueError a film of another shape than the truth."""
    must = f"have the truth's shape {tuple(truth.shape)}"
    fix = "predict the same clips, frames and size"
    require(film.shape == truth.shape, name, must, tuple(film.shape), fix)


def check_unit_range(name: str, film: Tensor) -> None:
    """Refuse with a ValueError a film with values outside [0, 1] or NaN."""
    check_bounds(name, film.amin(), film.amax())


def check_bounds(name: str, lowest: Tensor, highest: Tensor) -> None:
    """Refuse with a ValueError a film with these bounds, both NaN if a value of it is."""
    low, high = lowest.item(), highest.item()
    must, fix = "lie in [0, 1]", "divide pixel values by their maximum, or apply a sigmoid to logits"
    require(not math.isnan(low), name, must, "NaN", "look for the first step at which it arises")
    require(low >= 0 and high <= 1, name, must, f"values from {number_told(low)} to {number_told(high)}", fix)
