"""What stands in a panel of scores, and where its axis ends so that models can be told apart."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from videopred.eval.comparison_rows import ComparedRow
from videopred.eval.tables import CEILING


class Curve(NamedTuple):
    """A line, and the band in which it could lie as well."""

    values: np.ndarray
    """(T,), NaN where nothing is known, and so are `low` and `high`."""
    low: np.ndarray
    high: np.ndarray
    faint: bool = False
    """Whether it is no model but a trivial baseline, there to compare with."""


class ScorePanel(NamedTuple):
    """What stands in a panel."""

    rows: Mapping[str, Curve]
    """Name of a line -> the line."""
    higher_is_better: bool
    along: str = ""
    """What x is, if not what it is in the other panels of a figure."""

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest value of the axis.

        It holds all model curves with their bands. A baseline's values that are worse than every model by more than the
        models' own spread are cut off; so are the physics oracle's values that are that much better or worse: 100 dB
        would leave no room for anything else. Without models it holds every row; without any value it is (0, 1).
        """
        models = _known(side for row in self.rows.values() if not row.faint for side in (row.values, row.low, row.high))
        models = models if models.size else _known(row.values for row in self.rows.values())
        low, high = (float(models.min()), float(models.max())) if models.size else (0.0, 1.0)
        span = high - low or abs(high) or 1.0
        near = [low, high]
        for name, row in self.rows.items():
            values = _known([row.values])
            if name == CEILING or not self.higher_is_better:
                values = values[values <= high + span]
            if name == CEILING or self.higher_is_better:
                values = values[values >= low - span]
            near.extend(values)
        return float(min(near)), float(max(near))


def over_steps(rows: Mapping[str, ComparedRow], column: str) -> ScorePanel:
    """The values of rows of a comparison by a metric at each step, with their intervals as far as the metric goes."""
    metric = next(iter(rows.values())).scores.metrics[column]
    curves = {}
    for name, row in rows.items():
        values, ends = row.values(column), row.intervals(column)
        low, high = (values, values) if ends is None else np.clip(ends, *metric.range)
        low, high = (np.where(np.isnan(end), values, end) for end in (low, high))  # of too few clips, no band
        curves[name] = Curve(values, low, high, faint=not row.is_model)
    return ScorePanel(curves, metric.higher_is_better, metric.along)


def _known(values: Iterable[np.ndarray]) -> np.ndarray:
    """All values but NaN, one after another."""
    found = np.concatenate([np.empty(0), *values])
    return found[~np.isnan(found)]
