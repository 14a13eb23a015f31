"""Losses from elsewhere, given as MODULE:FUNCTION.

Such a function takes logits and true frames in [0, 1], both (N, C, H, W) of at least 32 bits, and returns the loss of
each of these values. It is called with few frames or many at a time, of any clips, and must take each by itself.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from videopred import check
from videopred.addresses import find_own
from videopred.settings import TrainingConfig

_FRAMES = 3
"""On which a loss is tried."""


def own_loss(address: str) -> Callable[[Tensor, Tensor], Tensor]:
    """The function at an address.

    Raises:
        ValueError: there is no such module or function, or the module cannot be imported.
    """
    argument = f"loss {address}"
    module, found = find_own(argument, address)
    own = [(name, value) for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    functions = [name for name, value in own if not isinstance(value, type)]  # nor what it imports
    there = f"the functions there are {', '.join(functions)}" if functions else "there is none in that module"
    got = "nothing of that name" if found is None else repr(found)
    fix = check.suggest(address.partition(":")[2], functions, there)
    check.require(callable(found) and not isinstance(found, type), argument, "be a function", got, fix)
    return found


def try_out(training: TrainingConfig, film_shape: tuple[int, int, int], device: torch.device) -> None:
    """Call a loss of one's own once, if training is by one, before anything is written.

    Raises:
        ValueError: see `own_loss`; or what it returns are not losses of the values that it was given.
        TypeError: it returns no tensor.
    """
    if not training.has_own_loss:
        return
    source = torch.Generator().manual_seed(0)
    frames = (_FRAMES, *film_shape)
    logits, truth = (draw(frames, generator=source).to(device) for draw in (torch.randn, torch.rand))
    argument, loss = f"loss {training.loss}", own_loss(training.loss)
    found = _of_each_value(argument, loss, logits.requires_grad_(), truth)
    fix = "compute it by operations of torch through which gradients flow"
    check.require(found.requires_grad, argument, "depend on the logits", "what has no gradient", fix)
    alone = torch.cat([_of_each_value(argument, loss, logits[[i]], truth[[i]]) for i in range(_FRAMES)])
    by_itself = torch.allclose(found, alone, rtol=1e-3, atol=1e-6, equal_nan=True)
    got, fix = f"others for {_FRAMES} frames at once", "average over the values of a frame only, and draw nothing"
    check.require(by_itself, argument, "be the same for each frame alone", got, fix)


def _of_each_value(argument: str, loss: Callable[[Tensor, Tensor], Any], logits: Tensor, truth: Tensor) -> Tensor:
    """What a loss returns for these frames, if it is of each value of them."""
    found = loss(logits, truth)
    must = f"return a tensor of the shape of its logits, {tuple(truth.shape)}"
    fix = "return losses before their mean; what is of a whole frame may be expanded to its values"
    check.require_kind(isinstance(found, Tensor), argument, must, type(found).__name__, fix)
    check.require(found.shape == truth.shape, argument, must, tuple(found.shape), fix)
    return found
