"""Dropout masks, drawn for all steps before the loop: they need no state."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def dropout_mask(rate: float, like: Tensor, *shape: int) -> Tensor:
    """Factors that are 0 with probability `rate`, and otherwise large enough that their mean is 1.

    Each entry takes 16 random bits, four from every draw of torch's global generator, where torch's own dropout draws
    for each: on a CPU this takes a third of the time. So the probability is `rate` to the nearest 65536th.

    Args:
        rate: in [0, 1).
        like: a tensor of the dtype and on the device that the mask shall have.
        shape: of the mask.
    """
    count, dropped = math.prod(shape), min(round(rate * 2**16), 2**16 - 1)
    draws = torch.randint(-(2**63), 2**63 - 1, (-(-count // 4),), device=like.device)
    bits = draws.view(torch.int16)[:count].view(shape)
    return (bits >= dropped - 2**15).to(like.dtype).mul_(2**16 / (2**16 - dropped))


def dropout_masks(module: nn.Module, rate: float, like: Tensor, steps: int, *shape: int) -> Sequence[Tensor | None]:
    """A mask for each of T steps; None if nothing is dropped.

    Args:
        module: whose mode says whether it is training.
        rate, like, shape: see `dropout_mask`.
        steps: T.
    """
    if not module.training or rate == 0:
        return [None] * steps
    return dropout_mask(rate, like, steps, *shape).unbind(0)
