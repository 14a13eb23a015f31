"""What an unroll is given, checked once before its loop, from shapes and types alone: nothing waits for the device.

Only with VIDEOPRED_DEBUG set in the environment are the numbers themselves looked at.
"""

import os
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from videopred import check


def check_slots(core: Any, slots: Tensor, name: str = "slots") -> None:
    """Raise unless these are slots (B, T, L, D) for this core, in words that call them by a name.

    Raises:
        ValueError: other axes, or another width than the core was built for; with VIDEOPRED_DEBUG, also a number that
            is not finite, with its clip and step.
        TypeError: no tensor; whole numbers; or another precision than the core's, unless autocast is to settle that.
    """
    kind, fix = type(slots).__name__, "make one, e.g. with torch.as_tensor"
    check.require_kind(isinstance(slots, Tensor), name, "be a tensor", kind, fix)
    fits = slots.dim() == 4 and min(slots.shape[:3]) > 0
    must = "be (B, T, L, D) with B, T and L at least 1"
    check.require(fits, name, must, tuple(slots.shape), "give a plain vector as L = 1")
    fix = "convert them, e.g. with .float()"
    check.require_kind(slots.is_floating_point(), name, "be floating point numbers", slots.dtype, fix)
    precisions = {parameter.dtype: None for parameter in core.parameters()}
    if precisions and slots.dtype not in precisions and not autocast_on(slots.device):
        must = f"be {next(iter(precisions))}, as the parameters of {type(core).__name__} are"
        raise TypeError(check.complaint(name, must, slots.dtype, "convert these or those with .to()"))
    width = getattr(core, "input_size", None)
    must = f"have the D = {width} features that {type(core).__name__} was built for"
    check.require(width in (None, slots.shape[3]), name, must, slots.shape[3], "build it for these, or map them")
    check_finite(name, slots)


def how_to_make_a_film(given: Any) -> str:
    """What to do with what is no tensor: numbers with a point are a film already, whole ones are frames."""
    floating = getattr(getattr(given, "dtype", None), "kind", "") == "f"
    return "give torch.from_numpy(…).float()" if floating else "make it with videopred.to_film"


def autocast_on(device: torch.device) -> bool:
    """Whether autocast is on for a device; False on meta, which has none."""
    return device.type != "meta" and torch.is_autocast_enabled(device.type)


def debugging() -> bool:
    """Whether numbers are to be looked at: with VIDEOPRED_DEBUG, but where torch.compile makes a program."""
    return bool(os.environ.get("VIDEOPRED_DEBUG")) and not torch.compiler.is_compiling()


def check_finite(name: str, values: Tensor) -> None:
    """When `debugging`, raise ValueError for the earliest step at which values (B, T, …) are NaN or infinite."""
    if not debugging():
        return
    wrong = ~values.isfinite().flatten(2).all(-1)  # (B, T)
    if not wrong.any():
        return
    step, clip = wrong.T.nonzero()[0].tolist()
    there = values[clip, step]
    got = f"{there[~there.isfinite()][0].item()} in clip {clip} at step {step}"
    fix = "look there first: it reaches every later step of the clip"
    raise ValueError(check.complaint(name, "be finite", got, fix))


def check_done(core: Any, done: Any, batch: int, *steps: int) -> None:
    """Raise unless this is what a step gives for so many clips, or `run` for so many steps of them.

    Raises:
        TypeError: it is not output, state and trace, the state is not of tensors alone, or the trace is no dict.
        ValueError: an output of another shape than the core says.
    """
    name, fix = f"core {type(core).__name__}", "see videopred/models/core.py and `videopred check-core`"
    got = f"{len(done)} values" if isinstance(done, tuple) else type(done).__name__
    check.require_kind(isinstance(done, tuple) and len(done) == 3, name, "return output, state, trace", got, fix)
    others = _no_tensors(tree.tree_leaves(done[1]))
    check.require_kind(not others, name, "return a state of tensors alone", ", ".join(others), fix)
    must = "return a dict of tensors as its trace"
    check.require_kind(isinstance(done[2], Mapping), name, must, type(done[2]).__name__, "return {} for none")
    if not (hasattr(core, "rows") and hasattr(core, "units")):  # which only what is built on it needs to know
        return
    output, expected = done[0], (batch, *steps, core.rows, core.units)
    shape = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
    must = f"return an output ({'B, T' if steps else 'B'}, rows, units), here {expected}"
    check.require(shape == expected, name, must, shape, fix)


def check_painted(decoder: Any, done: Any, shape: tuple[int, ...], *, trace: bool) -> None:
    """Raise unless this is what a decoder gives for frames of a shape (N, C, H, W).

    Raises:
        TypeError: it is not logits and trace, or the trace is no dict.
        ValueError: logits of another shape; or, where a trace was asked for, others than `trace_axes` names.
    """
    name, fix = f"decoder {type(decoder).__name__}", "see videopred/models/decoder.py"
    got = f"{len(done)} values" if isinstance(done, tuple) else type(done).__name__
    check.require_kind(isinstance(done, tuple) and len(done) == 2, name, "return logits and trace", got, fix)
    logits, happened = done
    given = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    check.require(given == shape, name, f"return logits (N, C, H, W), here {shape}", given, fix)
    must = "return a dict of tensors as its trace"
    check.require_kind(isinstance(happened, Mapping), name, must, type(happened).__name__, "return {} for none")
    if trace:
        axes = {key: len(words.split()) for key, words in decoder.trace_axes.items()}
        fits = happened.keys() == axes.keys() and all(
            isinstance(values, Tensor) and values.shape[:1] == shape[:1] and values.dim() == 1 + axes[key]
            for key, values in happened.items()
        )
        named = [f"{key} ({', '.join(['N', *words.split()])})" for key, words in decoder.trace_axes.items()]
        must = f"trace what its trace_axes name, {', '.join(named) or 'nothing'}"
        got = ", ".join(f"{key} {_shapes([values])}" for key, values in happened.items()) or "nothing"
        check.require(fits, name, must, got, fix)


def check_state(core: Any, batch: int, state: Any) -> None:
    """Raise ValueError unless this is a state of this core for so many clips and on its device, and TypeError unless in
    its precision.

    It is compared with the core's initial state; an axis that has size 0 there may have grown, as a cache does. With
    VIDEOPRED_DEBUG, its numbers must be finite, too.

    Nothing is checked in three places. Under torch.compile, because making a generator for the initial state would
    break the graph. Under torch.jit.trace, because sizes are tensors there. While CUDA records a graph, because that
    refuses a generator.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return
    parameter = next(core.parameters(), None)
    if parameter is not None and parameter.is_cuda and torch.cuda.is_current_stream_capturing():
        return
    # A generator of its own, so that a drawn initial state takes nothing from the chance of others; on meta there is no
    # chance.
    device = parameter.device if parameter is not None else torch.device("cpu")
    generator = None if device.type == "meta" else torch.Generator(device)
    first, name = core.initial_state(batch, generator=generator), type(core).__name__
    others, fix = _no_tensors(tree.tree_leaves(first)), "see videopred/models/core.py and `videopred check-core`"
    check.require_kind(not others, f"core {name}", "have a first state of tensors alone", ", ".join(others), fix)
    _check_shapes(name, batch, state, first)
    got = tree.tree_leaves(state)
    for leaf, initial in zip(got, tree.tree_leaves(first), strict=True):
        must, fix = f"be on {initial.device}, as the first state of {name} is", "move it with .to()"
        check.require(leaf.device == initial.device, "state", must, leaf.device, fix)
        must, fix = f"be {initial.dtype}, as the first state of {name} is", "convert it with .to()"
        fits = leaf.dtype == initial.dtype or parameter is None or autocast_on(parameter.device)
        check.require_kind(fits, "state", must, leaf.dtype, fix)
    if got and debugging():
        broken = torch.stack([~leaf.unsqueeze(-1).isfinite().flatten(1).all(1) for leaf in got]).any(0)  # (B,)
        if broken.any():
            clip, fix = broken.nonzero()[0].item(), "look at the steps before, which led there"
            raise ValueError(check.complaint("state", "be finite", f"NaN or infinity in clip {clip}", fix))


def _check_shapes(name: str, batch: int, state: Any, first: Any) -> None:
    """Raise ValueError unless a state is a tree of tensors for so many clips as the first state of a core is."""
    got, got_tree = tree.tree_flatten(state)
    expected, expected_tree = tree.tree_flatten(first)
    fix = "carry on from a state that this core gave for these clips"
    sizes = {leaf.shape[0] for leaf in got if isinstance(leaf, Tensor) and leaf.dim()} - {batch}
    if got_tree == expected_tree and len(sizes) == 1:
        raise ValueError(check.complaint("state", f"be of {batch} clips, as the slots are", sizes.pop(), fix))
    same = got_tree == expected_tree and all(map(_is_like, got, expected))
    must, shown = f"be one of {name}, with the shapes {_shapes(expected)}", _shapes(got)
    if got_tree != expected_tree and shown == _shapes(expected):
        shown = f"these in other containers, the outermost a {type(state).__name__}"
    check.require(same, "state", must, shown, fix)


def _no_tensors(leaves: list[Any]) -> list[str]:
    """The types of what is no tensor."""
    return [type(leaf).__name__ for leaf in leaves if not isinstance(leaf, Tensor)]


def _is_like(leaf: Any, initial: Tensor) -> bool:
    """Whether a tensor has the axes of the initial one."""
    if not isinstance(leaf, Tensor) or leaf.dim() != initial.dim():
        return False
    return all(first in (0, size) for size, first in zip(leaf.shape, initial.shape, strict=True))


def _shapes(leaves: list[Any]) -> str:
    """The shapes of tensors, and the types of what is none."""
    return ", ".join(str(tuple(x.shape)) if isinstance(x, Tensor) else type(x).__name__ for x in leaves) or "none"
