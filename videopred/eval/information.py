"""How much one way of sorting things tells about another: mutual information and purity."""

import numpy as np

from videopred.check import require


def mutual_information(choices: np.ndarray, truth: np.ndarray) -> float:
    """Normalised mutual information of two sortings of the same things: 0 says nothing, 1 everything.

        NMI = I(choices; truth) / ((H(choices) + H(truth)) / 2)

    Names do not matter. Two sortings into one heap each are equal, and score 1. More heaps alone raise it a little, so
    compare with a shuffled sorting when there are few things.

    Args:
        choices: (M,) whole numbers, such as the schema that a module chose at each step.
        truth: (M,) whole numbers, such as the mode of motion at that step.

    Raises:
        ValueError: nothing, or other numbers of things.

    Source: the arithmetic mean of Danon et al. 2005, as in scikit-learn.
    """
    table = _table(choices, truth)
    share = table / table.sum()
    both = _entropy(share.sum(1)) + _entropy(share.sum(0))
    if both == 0:
        return 1.0
    return min(max((both - _entropy(share)) / (both / 2), 0.0), 1.0)


def purity(choices: np.ndarray, truth: np.ndarray) -> float:
    """Share of things that are in a heap most of which is of their kind: from the share of the commonest kind to 1.

    Args:
        choices: (M,) whole numbers, the heap of each thing.
        truth: (M,) whole numbers, its kind.

    Raises:
        ValueError: nothing, or other numbers of things.
    """
    table = _table(choices, truth)
    return float(table.max(1).sum() / table.sum())


def patterns(choices: np.ndarray) -> np.ndarray:
    """One number for what all modules chose together: (M,) int, equal where all of (M, K) are equal."""
    return np.unique(choices, axis=0, return_inverse=True)[1].reshape(-1)


def _table(choices: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """How many things are in each heap and of each kind."""
    same = choices.shape == truth.shape and choices.ndim == 1 and choices.size > 0
    must, got = "be as many as there are truths, and at least one", f"shapes {choices.shape} and {truth.shape}"
    require(same, "choices", must, got, "give one number of each for every thing")
    ours, theirs = (np.unique(values, return_inverse=True)[1] for values in (choices, truth))
    columns = int(theirs.max()) + 1
    return np.bincount(ours * columns + theirs, minlength=(int(ours.max()) + 1) * columns).reshape(-1, columns)


def _entropy(shares: np.ndarray) -> float:
    """In nats."""
    some = shares[shares > 0]
    return float(-(some * np.log(some)).sum())
