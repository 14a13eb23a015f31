"""What it takes to leave modules out of an attention: masks (K,) bool of silent ones, None where all take part."""

import torch
from torch import Tensor


def unheard(scores: Tensor, silent: Tensor | None, dim: int) -> Tensor:
    """Scores of an attention, so low where modules are silent that a softmax gives them nothing.

    Args:
        scores: any axes, floating point.
        silent: (N,) bool, one for each place along `dim`; where all are, the softmax is even.
        dim: the axis of the modules.
    """
    if silent is None:
        return scores
    shape = [1] * scores.dim()
    shape[dim] = -1
    return scores.masked_fill(silent.view(shape), torch.finfo(scores.dtype).min)  # not infinity: no NaN if all are


def awake(active: Tensor, silent: Tensor | None) -> Tensor:
    """The active modules (B, K) bool without the silent ones."""
    return active if silent is None else active & ~silent


def last(scores: Tensor, silent: Tensor | None) -> Tensor:
    """Scores (B, K) of which the lowest win, with those of silent modules behind all others."""
    return scores if silent is None else scores.masked_fill(silent, torch.inf)
