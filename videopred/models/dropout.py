"""Dropout masks, drawn for all steps before the loop: they need no state."""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional


def dropout_masks(module: nn.Module, rate: float, like: Tensor, steps: int, *shape: int) -> Sequence[Tensor | None]:
    """For each of T steps what to multiply with: 0 with chance `rate`, else 1 / (1 − rate); None if nothing is dropped.

    Args:
        module: whose mode says whether it is training.
        rate: chance of a zero, in [0, 1).
        like: a tensor of the dtype and on the device that the masks shall have.
        steps: T.
        shape: of one mask.
    """
    if not module.training or rate == 0:
        return [None] * steps
    return functional.dropout(like.new_ones(steps, *shape), rate).unbind(0)
