"""Codecs and decoders from elsewhere: what such a class is built with, and what it must say of itself.

A codec is built from the shape of frames (C, H, W), and is what `videopred.models.codec` says. A decoder is built from
the codec, the core and the shape of frames, and is what `videopred.models.decoder` says.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from videopred import check
from videopred.models.codec import Codec
from videopred.models.codec_settings import OwnCodecConfig, OwnDecoderConfig
from videopred.models.core import READ_TRACES
from videopred.models.own import build_own, is_size


def build_own_codec(config: OwnCodecConfig, film_shape: tuple[int, int, int]) -> Codec:
    """A codec of one's own.

    Raises:
        ValueError, FailedError: see `build_own`; or it says no shapes.
    """
    codec, argument = build_own(config, film_shape), f"codec {config.source}"
    for name in ("shrunk_shape", "start_shape"):
        value, fix = getattr(codec, name, None), "set it in __init__, e.g. to (64, 8, 8)"
        fits = isinstance(value, tuple) and len(value) == 3 and all(map(is_size, value))
        check.require(fits, argument, f"have a {name}, a tuple of channels, rows and columns", repr(value), fix)
    value, fix = getattr(codec, "embedding", None), "set it in __init__: it is the width of what embed gives"
    check.require(is_size(value), argument, "have a whole number embedding", repr(value), fix)
    return _Listed(codec, argument)


class _Listed:
    """A codec each of whose methods gives a list, of torch modules alone.

    Args:
        codec: one of one's own.
        argument: what messages call it.
    """

    def __init__(self, codec: Any, argument: str):
        self.codec, self.argument = codec, argument
        self.shrunk_shape, self.start_shape, self.embedding = codec.shrunk_shape, codec.start_shape, codec.embedding

    def __getattr__(self, name: str) -> Any:
        """What else it has, for a decoder that knows it."""
        if name == "codec":  # while a copy is made
            raise AttributeError(name)
        return getattr(self.codec, name)

    def shrink(self) -> list[nn.Module]:
        return self._layers("shrink")

    def embed(self) -> list[nn.Module]:
        return self._layers("embed")

    def expand(self, features: int) -> list[nn.Module]:
        return self._layers("expand", features)

    def grow(self, outputs: int) -> list[nn.Module]:
        return self._layers("grow", outputs)

    def _layers(self, method: str, *given: int) -> list[nn.Module]:
        layers = getattr(self.codec, method)(*given)
        listed = isinstance(layers, Iterable)
        must, fix = f"list torch modules in {method}", "put brackets around a single one"
        check.require_kind(listed, self.argument, must, type(layers).__name__, fix)
        layers = [*layers]
        others = [repr(layer) for layer in layers if not isinstance(layer, nn.Module)]
        fix = "write e.g. nn.ReLU() for a function"
        check.require_kind(not others, self.argument, must, ", ".join(others), fix)
        return layers


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
    check.require(is_size(decoder.pictures), argument, "have a whole number of pictures", decoder.pictures, fix)
    for name, axes in decoder.trace_axes.items():
        own, fix = name not in (*core.trace_axes, "states"), "choose another name"
        check.require(own, argument, "have names of its own in trace_axes", f"{name}, which a core traces", fix)
        known = READ_TRACES.get(name, axes)
        check.require(axes == known, argument, f"have the axes {known} for {name} in trace_axes", axes, "trace these")
    return decoder
