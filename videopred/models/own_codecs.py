"""Codecs and decoders from elsewhere: what such a class is built with, and what it must give.

A codec is built from the shape of frames (C, H, W), and is what `videopred.models.codec` says. A decoder is built from
the codec, the core and the shape of frames, and is what `videopred.models.decoder` says.
"""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from videopred import check
from videopred.models.codec import Codec
from videopred.models.codec_settings import OwnCodecConfig, OwnDecoderConfig
from videopred.models.own import build_own
from videopred.user_errors import error_told

_ANY_WIDTH = 7
"""Of vectors or pictures, of which a codec must give layers for each."""


def build_own_codec(config: OwnCodecConfig, film_shape: tuple[int, int, int]) -> Codec:
    """A codec of one's own, whose layers were tried once on dark frames.

    Raises:
        ValueError: see `build_own`; or its layers give other shapes than it says.
        FailedError: see `build_own`; or a layer fails.
    """
    codec, argument = build_own(config, film_shape), f"codec {config.source}"
    for name in ("shrunk_shape", "start_shape"):
        value, fix = getattr(codec, name, None), "set it in __init__, e.g. to (64, 8, 8)"
        fits = isinstance(value, tuple) and len(value) == 3 and all(map(_is_size, value))
        check.require(fits, argument, f"have a {name}, a tuple of channels, rows and columns", repr(value), fix)
    value, fix = getattr(codec, "embedding", None), "set it in __init__: it is the width of what embed gives"
    check.require(_is_size(value), argument, "have a whole number embedding", repr(value), fix)
    with torch.random.fork_rng(devices=()), torch.no_grad():
        maps = _tried(argument, codec, "shrink", torch.zeros(1, *film_shape), codec.shrunk_shape)
        _tried(argument, codec, "embed", maps, (codec.embedding,))
        start = _tried(argument, codec, "expand", torch.zeros(1, _ANY_WIDTH), codec.start_shape, _ANY_WIDTH)
        _tried(argument, codec, "grow", start, (_ANY_WIDTH, *film_shape[1:]), _ANY_WIDTH)
    return codec


def _tried(argument: str, codec: Any, method: str, inputs: Tensor, shape: tuple[int, ...], *given: int) -> Tensor:
    """What the layers of a method make of one input, checked to have a shape."""
    must = f"list layers in {method} that lead from {(1, *inputs.shape[1:])} to {(1, *shape)}"
    fix = "see videopred/models/codec.py"
    try:
        found = nn.Sequential(*getattr(codec, method)(*given)).eval()(inputs)
    except Exception as error:
        raise check.FailedError(check.complaint(argument, must, error_told(error), fix)) from error
    got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
    check.require(got == (1, *shape), argument, must, got, fix)
    must = f"list layers in {method} that give {inputs.dtype}, as they are given"
    check.require_kind(found.dtype == inputs.dtype, argument, must, found.dtype, "convert by .float()")
    return found


def build_own_decoder(config: OwnDecoderConfig, codec: Codec, core: Any, film_shape: tuple[int, int, int]) -> Any:
    """A decoder of one's own with fresh weights.

    Raises:
        ValueError, FailedError: see `build_own`; or it has wrong `trace_axes` or `pictures`.
    """
    decoder, argument = build_own(config, codec, core, film_shape), f"decoder {config.source}"
    for name, usual in (("trace_axes", {}), ("pictures", 1)):
        if not hasattr(decoder, name):  # it need not say that it traces nothing, and paints one picture for a frame
            setattr(decoder, name, usual)
    must, fix = "have a dict of axes by name as its trace_axes", "see videopred/models/decoder.py"
    check.require(isinstance(decoder.trace_axes, Mapping), argument, must, repr(decoder.trace_axes), fix)
    check.require(_is_size(decoder.pictures), argument, "have a whole number of pictures", decoder.pictures, fix)
    return decoder


def _is_size(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) > 0
