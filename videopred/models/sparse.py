"""Attention weights that keep few entries."""

import torch
from torch import Tensor

# What the authors add to thresholds and sums, so that equal entries give zeros and not a division by zero.
_EPSILON = 1e-7


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
    exact = attention.to(torch.promote_types(attention.dtype, torch.float32))  # 1 / ε is infinite in float16
    threshold = exact.topk(count + 1, dim).values.narrow(dim, count, 1)
    rest = (exact - (threshold + _EPSILON)).clamp(min=0)
    sparse = (rest / (rest.sum(dim, keepdim=True) + _EPSILON)).to(attention.dtype)
    return sparse if silent is None else torch.where((~silent).sum() <= count + 1, attention, sparse)
