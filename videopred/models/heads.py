"""How several heads of an attention share one batched product."""

from torch import Tensor


def per_head(rows: Tensor, heads: int) -> Tensor:
    """(…, B, N, heads size) -> (…, B heads, N, size)."""
    return rows.unflatten(-1, (heads, -1)).transpose(-3, -2).flatten(-4, -3)


def heads_together(rows: Tensor, heads: int) -> Tensor:
    """(B heads, N, size) -> (B, N, heads size)."""
    return rows.unflatten(0, (-1, heads)).transpose(1, 2).flatten(2)
