"""How several heads of an attention share one batched product."""

import torch
from torch import Tensor


def per_head(rows: Tensor, heads: int) -> Tensor:
    """(…, B, N, heads size) -> (…, B heads, N, size)."""
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
