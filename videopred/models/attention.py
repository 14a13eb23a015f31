"""What the attentions of all cores are made of: heads, softmaxes, and what leaves entries of them out."""

import torch
from torch import Tensor

from videopred.models.precision import widened

# What the authors add to thresholds and sums, so that equal entries give zeros and not a division by zero.
_EPSILON = 1e-7


def per_head(rows: Tensor, heads: int) -> Tensor:
    """(…, B, N, heads size) -> (…, B heads, N, size), so that all heads share one batched product."""
    return rows.unflatten(-1, (heads, -1)).transpose(-3, -2).flatten(-4, -3)


def heads_together(rows: Tensor, heads: int, mask: Tensor | None = None) -> Tensor:
    """(B heads, N, size) -> (B, N, heads size), times a mask of that shape if there is one."""
    rows = rows.unflatten(0, (-1, heads)).transpose(1, 2)
    if mask is not None:
        rows = mask.unflatten(-1, (heads, -1)) * rows  # laid out as the first, so that nothing is copied below
    return rows.flatten(2)


def softmax_over_few(scores: Tensor) -> Tensor:
    """Attention (N, M, L), a softmax over the few things that are attended to, from scores (N, L, M).

    On a CPU a softmax along a last axis of a handful takes two to three times as long.
    """
    return torch.softmax(scores, 1).transpose(1, 2)


def unheard(scores: Tensor, silent: Tensor | None, dim: int) -> Tensor:
    """Scores that are so low where modules are silent that a softmax gives these nothing.

    Args:
        scores: any axes, floating point.
        silent: (N,) bool, one for each place along `dim`, or None; where all are silent, the softmax is even.
        dim: the axis of the modules.
    """
    if silent is None:
        return scores
    shape = [1] * scores.dim()
    shape[dim] = -1
    return scores.masked_fill(silent.view(shape), torch.finfo(scores.dtype).min)  # not infinity: no NaN if all are


def sparsified(attention: Tensor, count: int, dim: int, silent: Tensor | None = None) -> Tensor:
    """The attention with at most `count` entries above 0 along a dimension, which again sum to 1.

    The (count + 1)-th largest entry is taken off all of them, what falls below 0 is cut, and the rest is scaled:
    [0.4, 0.3, 0.15, 0.1, 0.05] with count 2 becomes [0.625, 0.375, 0, 0, 0]. Where the largest ones are equal, nothing
    is left and all are 0. With at most count + 1 entries the attention stays as it is; those along `dim` of `silent`
    modules, (K,) bool, are 0 and do not count.

    Source: Sparse_attention in the code of the RIMs authors, which took it from sparse attentive backtracking
    (Ke et al. 2018), with both peculiarities.
    """
    if attention.shape[dim] <= count + 1:
        return attention
    wide = widened(attention)  # 1 / ε is infinite in float16
    threshold = wide.topk(count + 1, dim).values.narrow(dim, count, 1)
    rest = (wide - (threshold + _EPSILON)).clamp(min=0)
    sparse = (rest / (rest.sum(dim, keepdim=True) + _EPSILON)).to(attention.dtype)
    return sparse if silent is None else torch.where((~silent).sum() <= count + 1, attention, sparse)
