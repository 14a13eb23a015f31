"""What the checks of cores stand on: the slots that they read, weights that show all, and what equal means."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as tree

BATCH, STEPS, FEATURES = 3, 7, 11


def prepared(core: Any) -> Any:
    """The core as the checks want it: float64, evaluation mode, weights large enough that all it does shows."""
    return shaken(core.double().eval())


def shaken(core: Any) -> Any:
    """The core with weights drawn anew: at their own start, attention may be uniform to 1e-3."""
    for parameter in core.parameters():
        nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5 if parameter.dim() else 1.0)
    return core


def slots(core: Any = None, *, batch: int = BATCH, steps: int = STEPS, seed: int = 1) -> Tensor:
    """What a core reads, (B, T, L, `FEATURES`), float64, from a unit normal distribution.

    By what `build_core` found, or else by its attribute `reads`, L is 5 for a core that reads a map, K for one that
    reads strips, else 1.
    """
    generator = torch.Generator().manual_seed(seed)
    kind = getattr(core, "input_kind", getattr(core, "reads", "vector"))
    there = {"map": 5, "strips": getattr(core, "rows", 1)}.get(kind, 1)
    return torch.randn(batch, steps, there, FEATURES, generator=generator, dtype=torch.float64)


def need(condition: Any, reason: str) -> None:
    if not condition:
        raise AssertionError(reason)


def same(left: Any, right: Any, reason: str) -> None:
    """Both trees have the same shape and the same numbers, to 1e-10."""
    left, right = tree.tree_leaves(left), tree.tree_leaves(right)
    shapes = [tuple(leaf.shape) for leaf in left], [tuple(leaf.shape) for leaf in right]
    need(shapes[0] == shapes[1], f"{reason}; shapes {shapes[0]} and {shapes[1]}")
    for one, other in zip(left, right, strict=True):
        gap = (one.double() - other.double()).abs()
        fits = gap <= 1e-12 + 1e-10 * other.double().abs()  # false for NaN too
        need(fits.all(), f"{reason}; they differ by {gap.max().item() if gap.numel() else 0:.2g}")


def mixed(values: Tensor) -> Tensor:
    """A number that follows every value: each has a weight of its own, so that no two of them can cancel."""
    generator = torch.Generator().manual_seed(4)
    return (values * torch.randn(values.shape, generator=generator, dtype=values.dtype)).sum()
