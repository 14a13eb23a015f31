"""Codecs and decoders from elsewhere: what such a class is built with, and what it must give.

A codec is built from the shape of frames (C, H, W), and is what `videopred.models.codec` says. A decoder is built from
the codec, the core and the shape of frames, and is what `videopred.models.decoder` says.
"""

import math
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from videopred import check
from videopred.models.arguments import check_painted
from videopred.models.codec import Codec
from videopred.models.codec_settings import OwnCodecConfig, OwnDecoderConfig
from videopred.models.core import READ_TRACES
from videopred.models.own import build_own, in_evaluation
from videopred.user_errors import error_told

_ANY_WIDTH = 7
"""Of vectors or pictures, of which a codec must give layers for each."""
_ALONE = "mix no frames in evaluation, keep nothing on self, and draw nothing then"


def build_own_codec(config: OwnCodecConfig, film_shape: tuple[int, int, int]) -> Codec:
    """A codec of one's own, whose layers were tried once.

    Raises:
        ValueError: see `build_own`; or its layers give other shapes than it says, or do what layers must not.
        TypeError: they give numbers of another precision.
        FailedError: see `build_own`; or a layer fails.
    """
    codec, argument = build_own(config, film_shape), f"codec {config.source}"
    for name in ("shrunk_shape", "start_shape"):
        value, fix = getattr(codec, name, None), "set it in __init__, e.g. to (64, 8, 8)"
        fits = isinstance(value, tuple) and len(value) == 3 and all(map(_is_size, value))
        check.require(fits, argument, f"have a {name}, a tuple of channels, rows and columns", repr(value), fix)
    value, fix = getattr(codec, "embedding", None), "set it in __init__: it is the width of what embed gives"
    check.require(_is_size(value), argument, "have a whole number embedding", repr(value), fix)
    with torch.device("cpu"), torch.random.fork_rng(devices=()), torch.no_grad():
        maps = _tried(argument, codec, "shrink", _numbers(2, *film_shape).abs(), codec.shrunk_shape)
        _tried(argument, codec, "embed", maps, (codec.embedding,))
        start = _tried(argument, codec, "expand", _numbers(2, _ANY_WIDTH), codec.start_shape, _ANY_WIDTH)
        logits = _tried(argument, codec, "grow", start, (_ANY_WIDTH, *film_shape[1:]), _ANY_WIDTH)
    _check_logits(argument, "list layers in grow that end without an activation", logits)
    return codec


def _tried(argument: str, codec: Any, method: str, inputs: Tensor, shape: tuple[int, ...], *given: int) -> Tensor:
    """What the layers of a method make of two inputs, checked for all that layers must do and must not."""
    listing, fix = f"list layers in {method} that", "see videopred/models/codec.py"
    must = f"{listing} lead from {tuple(inputs.shape)} to {(2, *shape)}"
    before = inputs.clone()
    try:
        layers, others = (nn.Sequential(*getattr(codec, method)(*given)).eval() for _ in range(2))
        found, alone = layers(inputs), layers(inputs[:1])
    except Exception as error:
        raise check.FailedError(check.complaint(argument, must, error_told(error), fix)) from error
    got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
    check.require(got == (2, *shape), argument, must, got, fix)
    must, fix = f"{listing} give {inputs.dtype}, as they are given", "convert by .float()"
    check.require_kind(found.dtype == inputs.dtype, argument, must, found.dtype, fix)
    must, fix = f"{listing} leave what they are given as it is", "begin with one that does not change it in place"
    check.require(torch.equal(inputs, before), argument, must, "others", fix)
    check.require(_is_close(alone, found[:1]), argument, f"{listing} take each frame by itself", "others", _ALONE)
    one, other = ({id(weight) for weight in each.parameters() if weight.requires_grad} for each in (layers, others))
    must, fix = f"list new layers in {method} each time", "make them within that method, not before"
    check.require(one.isdisjoint(other), argument, must, "the same weights twice", fix)
    return found


def build_own_decoder(config: OwnDecoderConfig, codec: Codec, core: Any, film_shape: tuple[int, int, int]) -> Any:
    """A decoder of one's own with fresh weights, which was tried once.

    Raises:
        ValueError, TypeError, FailedError: see `build_own`; or it has wrong `trace_axes` or `pictures`, or does not
            give what it must.
    """
    decoder, argument = build_own(config, codec, core, film_shape), f"decoder {config.source}"
    for name, usual in (("trace_axes", {}), ("pictures", 1)):
        if not hasattr(decoder, name):  # it need not say that it traces nothing, and paints one picture for a frame
            setattr(decoder, name, usual)
    must, fix = "have a dict of axes by name as its trace_axes", "see videopred/models/decoder.py"
    check.require(isinstance(decoder.trace_axes, Mapping), argument, must, repr(decoder.trace_axes), fix)
    check.require(_is_size(decoder.pictures), argument, "have a whole number of pictures", decoder.pictures, fix)
    for name, axes in decoder.trace_axes.items():
        own, fix = name not in (*core.trace_axes, "states"), "choose another name"
        check.require(own, argument, "have names of its own in trace_axes", f"{name}, which a core traces", fix)
        known = READ_TRACES.get(name, axes)
        check.require(axes == known, argument, f"have the axes {known} for {name} in trace_axes", axes, "trace these")
    device = next(decoder.parameters(), torch.empty(0)).device
    if device.type != "meta":
        with in_evaluation(decoder), torch.device(device), torch.random.fork_rng(devices=()), torch.no_grad():
            _try_decoder(argument, decoder, core, film_shape)
    return decoder


def _try_decoder(argument: str, decoder: Any, core: Any, film_shape: tuple[int, int, int]) -> None:
    """Let a decoder paint two frames, and the first of them alone."""
    outputs = _numbers(2, core.rows, core.units)
    before = outputs.clone()
    done = decoder(outputs, trace=True)
    check_painted(decoder, done, (2, *film_shape), trace=True)
    alone = decoder(outputs[:1], trace=False)
    check_painted(decoder, alone, (1, *film_shape), trace=False)
    fix = "copy them before they are changed in place"
    check.require(torch.equal(outputs, before), argument, "leave the outputs as they are", "others", fix)
    logits, trace = done
    check.require(_is_close(alone[0], logits[:1]), argument, "take each frame by itself", "others", _ALONE)
    _check_logits(argument, "return logits", logits)
    sizes = {"K": core.rows, "H": film_shape[1], "W": film_shape[2]}
    for name, values in trace.items():
        axes = decoder.trace_axes[name].split()
        wanted = (2, *(sizes.get(axis, size) for axis, size in zip(axes, values.shape[1:], strict=True)))
        fix = "see its trace_axes"
        check.require(values.shape == wanted, argument, f"trace {name} as {wanted}", tuple(values.shape), fix)


def _check_logits(argument: str, must: str, logits: Tensor) -> None:
    """Refuse what must be probabilities; all the same value, as of a layer that begins with zeros, may be logits."""
    lowest, highest = logits.min(), logits.max()
    fits = lowest < 0 or highest > 1 or lowest == highest
    got, fix = f"numbers from {lowest:.3g} to {highest:.3g} alone", "leave the sigmoid out: the loss has it"
    check.require(bool(fits), argument, must, got, fix)


def _numbers(*shape: int) -> Tensor:
    """Any numbers in [-1, 1], of which no two in a row are alike; no chance is taken."""
    return torch.arange(math.prod(shape)).mul(0.7).sin().view(shape)


def _is_close(one: Tensor, other: Tensor) -> bool:
    """Whether results are equal, but for the order of sums."""
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True)


def _is_size(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) > 0
