"""Collects the measurements of every row, batch by batch: a few numbers per clip and frame, never a film."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.eval.frame_metric import measure_all
from videopred.eval.intervals import Measured, mean_over_steps, reduce
from videopred.eval.metric import Metric, Quantity, check_measured, clip_means, reduced
from videopred.eval.object_metric import ObjectMetric, nothing
from videopred.eval.objects import Objects
from videopred.judging.batches import Batch, Predicted
from videopred.judging.objects import predicted_objects, said_masks, true_masks, true_objects

Pick = Callable[[Quantity, list[dict[str, Tensor]]], dict[str, Tensor]]
"""(metric, what it measured of each sample of some clips) -> one measurement of these clips."""


class Found(NamedTuple):
    """The measurements of a row on a batch."""

    start: int
    """The first clip of the batch."""
    row: str
    measured: dict[str, dict[str, np.ndarray]]
    """column -> name -> (B, ...)."""


class Tally:
    """Collects what metrics measure.

    With a single sample, a metric's column has the metric's name. With N samples it has two columns, `<metric> best of
    N` and `<metric> mean of N`: for each metric by itself, a clip's best sample is the one with the best mean over the
    steps. The best of the first n is measured for a few n as well, to show how the best grows with N.

    Args:
        metrics: name -> metric.
        samples: N, how many films a model predicts of each clip.

    Attributes:
        measured_here: what this process measured, in the order in which it was added.
    """

    def __init__(self, metrics: Mapping[str, Quantity], samples: int = 1):
        self._metrics, self._samples = metrics, samples
        objects = [metric for metric in metrics.values() if isinstance(metric, ObjectMetric)]
        self._tracks = not all(metric.of_own_masks for metric in objects)
        self._true: tuple[Batch, Objects] | None = None  # the true objects of the last batch: all rows ask for them
        self._names: dict[str, list[str]] = {}
        self.measured_here: list[Found] = []

    @property
    def columns(self) -> dict[str, Quantity]:
        """Column -> its metric."""
        return {
            column: metric
            for name, metric in self._metrics.items()
            for column, (count, _) in self._picks(name).items()
            if count == self._samples
        }

    def add(self, row: str, batch: Batch, samples: Iterable[Predicted]) -> None:
        """Measure the films that a row predicts of a batch: as many as there are samples, or one that stands for all.

        Args:
            row: whose films they are.
            batch: with the truth.
            samples: each is let go before the next is asked for.
        """
        with check.named({"prediction": f"prediction of {row}"}):
            several = [self._measure(one, batch) for one in samples]
        measured = {}
        for name, metric in self._metrics.items():
            one_by_one = [of_sample[name] for of_sample in several]
            self._check_own(metric, one_by_one)
            for column, (count, pick) in self._picks(name).items():
                measured[column] = one_by_one[0] if len(several) == 1 else pick(metric, one_by_one[:count])
        arrays = {column: {key: values.numpy() for key, values in of.items()} for column, of in measured.items()}
        self.measured_here.append(Found(batch.start, row, arrays))

    def _check_own(self, metric: Quantity, one_by_one: Sequence[dict[str, Tensor]]) -> None:
        """Refuse what a user's own metric measures of a batch if it could not be joined with others, or reduced."""
        if not metric.is_own():
            return
        for measured in one_by_one:
            names = self._names.setdefault(metric.name, sorted(measured))
            must, fix = f"measure under the same names each time, here {', '.join(names)}", "measure NaN for nothing"
            check.require(sorted(measured) == names, f"metric {metric.name}", must, ", ".join(sorted(measured)), fix)
            reduced(metric, measured)

    def joined(self, found: Sequence[Found]) -> dict[str, dict[str, Measured]]:
        """row -> column -> the measurements of all clips, in their order, from those of all processes."""
        ordered = sorted(found, key=lambda one: one.start)
        rows = dict.fromkeys(one.row for one in found)
        return {
            row: {
                column: _joined([one.measured[column] for one in ordered if one.row == row]) for column in self.columns
            }
            for row in rows
        }

    def curves(self, found: Sequence[Found], models: Iterable[str]) -> dict[str, dict[str, dict[int, float]]]:
        """row -> metric -> n -> mean over the steps of the best of the first n samples; empty with a single sample."""
        if self._samples == 1:
            return {}
        ordered = sorted(found, key=lambda one: one.start)

        def value(row: str, name: str, count: int) -> float:
            batches = [one.measured[f"{name} best of {count}"] for one in ordered if one.row == row]
            return float(mean_over_steps(reduce(self._metrics[name], _joined(batches))))

        counts = _growing(self._samples)
        return {row: {name: {n: value(row, name, n) for n in counts} for name in self._metrics} for row in models}

    def _measure(self, said: Predicted, batch: Batch) -> dict[str, dict[str, Tensor]]:
        """What every metric measures of the films predicted of a batch; their objects are looked for only once."""
        of_films = {name: metric for name, metric in self._metrics.items() if isinstance(metric, Metric)}
        of_objects = {name: metric for name, metric in self._metrics.items() if isinstance(metric, ObjectMetric)}
        measured = measure(of_films, said.film, batch.truth)
        if of_objects:
            predicted, true = self._objects(said, batch)
            measured |= {
                name: metric.measure(predicted, true) if metric.answers(predicted) else nothing(true)
                for name, metric in of_objects.items()
            }
        return measured

    def _objects(self, said: Predicted, batch: Batch) -> tuple[Objects, Objects]:
        """The objects of predicted films, and the true ones; of either the masks alone where nothing else is asked."""
        if self._true is None or self._true[0] is not batch:
            self._true = batch, true_objects(batch) if self._tracks else true_masks(batch)
        true = self._true[1]
        return predicted_objects(said, batch, true) if self._tracks else said_masks(said, true), true

    def _picks(self, name: str) -> dict[str, tuple[int, Pick]]:
        """Column -> of how many samples it is, and what is made of them."""
        if self._samples == 1:
            return {name: (1, _best)}
        best = {f"{name} best of {count}": (count, _best) for count in _growing(self._samples)}
        return best | {f"{name} mean of {self._samples}": (self._samples, _mean)}


def _growing(samples: int) -> list[int]:
    """Numbers of samples for which the best is told: 1, 2, 5, 10, 20, ... and all."""
    round_ones = (digit * 10**power for power in range(len(str(samples))) for digit in (1, 2, 5))
    return [*(count for count in round_ones if count < samples), samples]


def measure(metrics: Mapping[str, Metric], film: Tensor, truth: Tensor) -> dict[str, dict[str, Tensor]]:
    """What metrics of films measure, on the CPU: metric -> name -> (B, T) float64.

    Raises:
        TypeError, ValueError: a user's own metric measures something other than a number for each frame.
    """
    found = dict(zip(metrics, measure_all(list(metrics.values()), film, truth), strict=True))
    for name, measured in found.items():
        check_measured(metrics[name], measured, tuple(film.shape[:2]))
    return {name: {key: values.cpu().double() for key, values in of.items()} for name, of in found.items()}


def _mean(_: Quantity, samples: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each measurement over the samples, which pools counts of pixels."""
    return {key: torch.stack([one[key] for one in samples]).mean(dim=0) for key in samples[0]}


def _best(metric: Quantity, samples: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The measurements of each clip's best sample, by the metric's own mean over its steps."""
    values = torch.stack([clip_means(metric, one) for one in samples])  # (N, B)
    worst = -torch.inf if metric.higher_is_better else torch.inf  # a sample of which nothing can be said
    values = values.nan_to_num(nan=worst)
    chosen = values.argmax(dim=0) if metric.higher_is_better else values.argmin(dim=0)
    clips = torch.arange(len(chosen), device=chosen.device)
    return {key: torch.stack([one[key] for one in samples])[chosen, clips] for key in samples[0]}


def _joined(batches: list[dict[str, np.ndarray]]) -> Measured:
    """The measurements of several batches as those of one."""
    return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}
