"""Numbers in at least 32 bits, where fewer would lose what matters, and numbers that are none."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def widened(values: Tensor) -> Tensor:
    """The values, any axes, in float32 if they have fewer bits; else the tensor itself.

    Modules are chosen by such: fresh weights give them attentions that differ by less than half precision tells apart,
    so that they would tie, and the modules with the lowest numbers would win at every step. And a loss that is compared
    with others, as their mean would keep but its eight bits.
    """
    return values.float() if torch.finfo(values.dtype).bits < 32 else values


def not_finite(saved: Mapping[str, Any]) -> list[str]:
    """Names in a state_dict of what is no tensor of finite numbers."""
    return [name for name, value in saved.items() if not (isinstance(value, Tensor) and _is_finite(value))]


def _is_finite(values: Tensor) -> bool:
    wide = values if values.is_complex() else values.float()  # torch does not tell of every kind of 8 bits
    return bool(wide.isfinite().all())
