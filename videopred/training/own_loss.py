"""Losses from elsewhere, given as MODULE:FUNCTION.

Such a function takes logits and true frames in [0, 1], both (N, C, H, W) of at least 32 bits, and returns the loss of
each of these values. It is called with few frames or many at a time, of any clips, and must take each by itself.
Around it there is no autocast, and torch makes numbers of as many bits as it is given.
"""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from videopred import check
from videopred.addresses import find_own
from videopred.device import usual_numbers
from videopred.models.precision import widened
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
    functions = [name for name, value in own if callable(value) and not isinstance(value, type)]  # nor what it imports
    there = f"the functions there are {', '.join(functions)}" if functions else "there is none in that module"
    got = "nothing of that name" if found is None else repr(found)
    fix = check.suggest(address.partition(":")[2], functions, there)
    check.require(callable(found) and not isinstance(found, type), argument, "be a function", got, fix)
    return found


def each_own_loss(training: TrainingConfig, logits: Tensor, truth: Tensor) -> Tensor:
    """The loss (…, C, H, W) of each value by a function of one's own, whatever the training's precision is.

    Raises:
        ValueError: see `own_loss`; or what it returns are not losses of the values that it was given.
        TypeError: it returns no tensor.
    """
    loss, frames = own_loss(training.loss), [widened(values.flatten(0, -4)) for values in (logits, truth)]
    with torch.autocast(logits.device.type, enabled=False), usual_numbers(frames[0].dtype):
        found = loss(*frames)
    argument, must = f"loss {training.loss}", f"return a tensor of the shape of its logits, {tuple(frames[1].shape)}"
    fix = "return losses before their mean; what is of a whole frame may be expanded to its values"
    check.require_kind(isinstance(found, Tensor), argument, must, type(found).__name__, fix)
    check.require(found.shape == frames[1].shape, argument, must, tuple(found.shape), fix)
    fix = "return what is lower where a prediction is better, such as an abs()"
    check.require(found.is_floating_point(), argument, "return floating point numbers", found.dtype, fix)
    return widened(found).view_as(truth)


def try_out(training: TrainingConfig, film_shape: tuple[int, int, int], device: torch.device) -> None:
    """Call a loss of one's own, if training is by one, before anything is written.

    Raises:
        ValueError: see `each_own_loss`; or gradients do not flow through it, or it does not take frames by themselves.
        TypeError: see `each_own_loss`.
    """
    if not training.has_own_loss:
        return
    source = torch.Generator().manual_seed(0)
    dtype = torch.float64 if training.precision == "64-true" else torch.float32
    frames = (_FRAMES, *film_shape)
    logits, truth = (draw(frames, generator=source).to(device, dtype) for draw in (torch.randn, torch.rand))
    argument, fix = f"loss {training.loss}", "write it as def NAME(logits, truth)"
    check.require(_takes_two(own_loss(training.loss)), argument, "take logits and truth", "other arguments", fix)
    given = logits.requires_grad_().clone()  # as in training no leaf, so that what changes it in place is told below
    kept = truth.clone()
    found = each_own_loss(training, given, truth)
    must, fix = "leave the truth as it is", "copy it before it is changed in place"
    check.require(torch.equal(truth, kept), argument, must, "a change", fix)
    flows = found.requires_grad and torch.autograd.grad(found.sum(), logits, allow_unused=True)[0] is not None
    fix = "compute it by operations of torch through which gradients flow"
    check.require(flows, argument, "depend on the logits", "what has no gradient", fix)
    with torch.no_grad():  # as in validation
        alone = torch.cat([each_own_loss(training, given[[i]], truth[[i]]) for i in range(_FRAMES)])
    by_itself = torch.allclose(found, alone, rtol=1e-3, atol=1e-5, equal_nan=True)
    got = f"others for {_FRAMES} frames at once"
    fix = "average over the values of a frame only, draw nothing, and change neither logits nor truth in place"
    check.require(by_itself, argument, "be the same for each frame alone", got, fix)


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether it can be called with two arguments, as far as it says."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        pass  # it is not written in Python, and does not say
    return True
