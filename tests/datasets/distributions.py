"""A look at what was drawn: does it come from the documented distribution?"""

import numpy as np


def assert_drawn_from(counts: np.ndarray, shares: np.ndarray | None = None) -> None:
    """Fail if counts of independent draws fit their shares (equal ones if None) suspiciously badly, or too well.

    Chi squared of k degrees of freedom is, to the power 1/3 and divided by k, nearly Gaussian with mean 1 - 2 / (9 k)
    and variance 2 / (9 k) (Wilson & Hilferty 1931); beyond 4 deviations lies 1 of 16,000 seeds.
    """
    counts = np.asarray(counts)
    expected = counts.sum() * (np.full(len(counts), 1 / len(counts)) if shares is None else np.asarray(shares))
    assert expected.min() >= 5, "too few draws to tell"
    k = len(counts) - 1
    chi2 = ((counts - expected) ** 2 / expected).sum()
    deviation = ((chi2 / k) ** (1 / 3) - 1 + 2 / (9 * k)) / np.sqrt(2 / (9 * k))
    assert abs(deviation) < 4, (deviation, counts)


def count_bins(values: np.ndarray, low: float, high: float, bins: int = 10) -> np.ndarray:
    """How many values lie in each of some equal intervals; all lie in one."""
    counts = np.histogram(values, bins, (low, high))[0]
    assert counts.sum() == np.size(values), "values lie outside"
    return counts
