"""Skill: how much of the way from a trivial baseline to the best value of a metric."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from videopred.eval.metric import Quantity


def skill(value: np.ndarray | float, baseline: np.ndarray | float, metric: "Quantity") -> np.ndarray:
    """The share of what a trivial baseline leaves to be won: (value − baseline) / (best − baseline).

    1 is the best value, 0 one as good as the baseline, below 0 a worse one. For an error it is one minus the ratio of
    the errors; for F1, (F1 − F1_copy) / (1 − F1_copy). Of PSNR, whose best value is a cap, it means little; and BCE has
    its best value, 0, of black and white films alone.

    Args:
        value: any shape: scores by this metric.
        baseline: the same shape, or one number: those of the baseline, usually *copy last*, on the same clips.
        metric: what `make_metric` gives; says which value is best.

    Returns:
        float64, the shape of both. Where the trivial baseline is perfect there is nothing to win: 0 for a value
        that is perfect too, −infinity for any other.
    """
    value, baseline = np.broadcast_arrays(np.asarray(value, np.float64), np.asarray(baseline, np.float64))
    won, to_win = value - baseline, metric.best - baseline
    nothing_left = np.where(np.isnan(won), won, np.where(won == 0, 0.0, -np.inf))
    return np.divide(won, to_win, out=nothing_left, where=to_win != 0) + 0.0  # never -0.0
