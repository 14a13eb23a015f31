"""What parts of one's own must do and must not, tried before a model is trained: much of it would be wrong in silence.

On the CPU, with a few numbers: enough for what is usual, not a proof.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from videopred import check
from videopred.models import build, build_codec, reads
from videopred.models.arguments import check_painted
from videopred.models.codec_settings import OwnCodecConfig
from videopred.models.core import READ_TRACES, Trace
from videopred.models.own import in_evaluation
from videopred.models.own_settings import OwnPart
from videopred.models.precision import not_finite
from videopred.models.predictor import Predictor
from videopred.models.settings import PredictorConfig
from videopred.user_errors import error_told

_LARGE = 1e4
"""Factor with which logits leave [0, 1], where they may begin as a constant and a little noise."""
_ALONE = "mix no frames in evaluation, keep nothing on self, and draw nothing then"


def try_out(predictor: Predictor) -> None:
    """Have a model with parts of one's own see films of a few frames; it stays as it is.

    Raises:
        ValueError: layers of the codec, or the decoder, give other shapes than they must, or do what they must not; a
            core knows what it must not; or what the model saves is not all that it is, or not all finite numbers, which
            no command would take.
        TypeError: numbers are of another precision.
        FailedError: a layer fails.
    """
    config, core, film_shape = predictor.config, predictor.core, predictor.film_shape
    film = _numbers(2, 2, *film_shape).abs()
    others = {str(weight.dtype) for weight in predictor.parameters() if weight.is_floating_point()} - {str(film.dtype)}
    fix = "convert them by .float(), as is done where a run is loaded"
    check.require_kind(not others, "model", f"have weights of {film.dtype} alone", ", ".join(others), fix)
    painter = next((part for part in (config.decoder, config.codec) if isinstance(part, OwnPart)), None)
    with (
        in_evaluation(predictor),
        torch.autocast(film.device.type, enabled=False),
        torch.random.fork_rng(devices=()),
    ):
        with torch.no_grad():
            if isinstance(config.codec, OwnCodecConfig):
                _try_codec(config.codec, config, core, film_shape)
            outputs, _, traced = predictor.observe(film, trace=True)
            _check_precision(f"core {type(core).__name__}", "an output", outputs, film)
            predictor.paint(outputs)
            _try_weights(predictor, film)
            if isinstance(config.core, OwnPart):
                _try_trace(f"core {config.core.source}", core, traced)
                _try_core(f"core {config.core.source}", predictor)
        if painter is not None:
            _try_decoder(f"{painter.part()} {painter.source}", predictor.decoder, core, film_shape)
    odd = not_finite(predictor.state_dict())
    fix = "draw finite parameters, register such a buffer, as of a mask, with persistent=False, and save no extra state"
    check.require(not odd, "model", "save tensors of finite numbers alone", ", ".join(odd), fix)


def _try_weights(predictor: Predictor, film: Tensor) -> None:
    """Give the weights, as they are saved, to another model of these settings, which must then be the same.

    The model has seen a film: what it makes only then is missing in the other.
    """
    argument = ", ".join(f"{part.part()} {part.source}" for part in predictor.config.own_parts)
    other, weights = build(predictor.config, predictor.film_shape), predictor.state_dict()
    fresh = other.state_dict()
    late = sorted(weights.keys() ^ fresh.keys())
    must, fix = "have all its weights from __init__ on", "make its layers there, not as it runs"
    check.require(not late, argument, must, f"{', '.join(late)} later", fix)
    grown = [name for name, one in weights.items() if not is_lazy(fresh[name]) and one.shape != fresh[name].shape]
    must, fix = "keep the shapes that its weights have from __init__ on", "what a core remembers belongs in its state"
    check.require(not grown, argument, must, f"another of {', '.join(grown)}", fix)
    must, got = "give the same for the same film", "another result the second time"
    fix = "keep nothing on self, as what a core remembers belongs in its state, and draw by torch's global stream alone"
    check.require(_is_close(_logits(predictor, film), _logits(predictor, film)), argument, must, got, fix)
    other.load_state_dict(weights)
    with in_evaluation(other):
        ours, theirs = _repeatable(predictor, film), _repeatable(other, film)
    if ours is None or theirs is None:  # it draws, so that nothing can be compared
        return
    must, got = "give the same once its saved weights are loaded", "another result, as of weights that are not saved"
    fix = "keep layers in nn.ModuleList or as attributes, and tensors as parameters or buffers"
    check.require(_is_close(ours, theirs), argument, must, got, fix)


def _try_trace(argument: str, core: Any, trace: Trace) -> None:
    """Look at the axes of what pictures and metrics read of a trace (B, T, …), and at K of what is in no layer."""
    for name, values in trace.items():
        axes = READ_TRACES.get(name.rpartition(".")[2], "").split()
        if not axes:
            continue
        sizes, is_whole = values.shape[2:], "." not in name
        fits = len(sizes) == len(axes) and all(
            size == core.rows for axis, size in zip(axes, sizes, strict=True) if axis == "K" and is_whole
        )
        rows = f" with K = {core.rows}" if "K" in axes and is_whole else ""
        must, fix = f"trace {name} as ({', '.join(['B', *axes])}){rows}", "see docs/cores.md, or choose another name"
        check.require(fits, argument, must, (len(values), *sizes), fix)


def _try_core(argument: str, predictor: Predictor) -> None:
    """Let a core see a film of two clips, only its first frame, and only its second clip."""
    film = _numbers(2, 3, *predictor.film_shape).abs()
    whole, first, alone = (_repeatable(predictor, part) for part in (film, film[:, :1], film[1:]))
    if whole is None or first is None or alone is None:
        return
    fix = f"write into no tensor in place in its step; `videopred check-{argument}` tells more"
    got = "another output for a film that goes on"
    check.require(_is_close(whole[:, :1], first), argument, "know nothing of later frames", got, fix)
    got, fix = "another output for a clip alone", "mix no clips in evaluation"
    check.require(_is_close(whole[1:], alone), argument, "take each clip by itself", got, fix)


def _repeatable(predictor: Predictor, film: Tensor) -> Tensor | None:
    """The logits of what follows each frame; None of a model that draws in evaluation."""
    one, other = _logits(predictor, film), _logits(predictor, film, seed=2)
    return one if _is_close(one, other) else None


def _logits(predictor: Predictor, film: Tensor, *, seed: int = 1) -> Tensor:
    torch.manual_seed(seed)
    return predictor.paint(predictor.observe(film).output)[0]


def _try_codec(own: OwnCodecConfig, config: PredictorConfig, core: Any, film_shape: tuple[int, int, int]) -> None:
    """Try each list of layers of a codec that the encoder, or a decoder of ours, is made of."""
    channels, height, width = film_shape
    seen = channels * config.stack, height, width
    codec = build_codec(own, seen)
    maps = _tried(own, codec, "shrink", _numbers(2, *seen).abs(), codec.shrunk_shape)
    if reads(config.core) != "map":
        _tried(own, codec, "embed", maps, (codec.embedding,))
    if config.decoder.kind == "own":
        return  # it may use the other layers in any way
    codec, pictures, features = build_codec(own, film_shape), channels, core.rows * core.units
    start = _numbers(2, *codec.start_shape)
    if config.decoder.kind == "masks":
        pictures += 1
    else:
        start = _tried(own, codec, "expand", _numbers(2, features), codec.start_shape, features)
    _tried(own, codec, "grow", start, (pictures, height, width), pictures)


def _tried(own: OwnCodecConfig, codec: Any, method: str, inputs: Tensor, shape: tuple[int, ...], *given: int) -> Tensor:
    """What the layers of a method make of two inputs, checked for all that layers must do and must not."""
    argument, listing, fix = f"codec {own.source}", f"list layers in {method} that", "see videopred/models/codec.py"
    must = f"{listing} lead from {tuple(inputs.shape)} to {(2, *shape)}"
    before = inputs.clone()
    try:
        layers, others = (nn.Sequential(*getattr(codec, method)(*given)).eval() for _ in range(2))
        found, alone = layers(inputs), layers(inputs[1:])
    except Exception as error:
        raise check.FailedError(check.complaint(argument, must, error_told(error), fix)) from error
    got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
    check.require(got == (2, *shape), argument, must, got, fix)
    must, fix = f"{listing} give {inputs.dtype}, as they are given", "convert what they compute with by .float()"
    check.require_kind(found.dtype == inputs.dtype, argument, must, found.dtype, fix)
    must, fix = f"{listing} leave what they are given as it is", "begin with one that does not change it in place"
    check.require(torch.equal(inputs, before), argument, must, "a change", fix)
    must, got = f"{listing} take each frame by itself", "another result for a frame alone"
    check.require(_is_close(alone, found[1:]), argument, must, got, _ALONE)
    one, other = ({id(weight) for weight in each.parameters() if weight.requires_grad} for each in (layers, others))
    must, fix = f"list new layers in {method} each time", "make them within that method, not before"
    check.require(one.isdisjoint(other), argument, must, "the same weights twice", fix)
    return found


def _try_decoder(argument: str, decoder: Any, core: Any, film_shape: tuple[int, int, int]) -> None:
    """Let a decoder paint two frames, and the second of them alone, which must know nothing of the first."""
    outputs = _numbers(2, core.rows, core.units).requires_grad_()
    given = outputs.clone()
    done = decoder(given, trace=True)
    check_painted(decoder, done, (2, *film_shape), trace=True)
    logits, trace = done
    must, fix = "leave what it is given as it is", "copy it before it is changed in place"
    check.require(torch.equal(given, outputs), argument, must, "a change", fix)
    _check_precision(argument, "logits", logits, outputs)
    flows = logits.requires_grad and torch.autograd.grad(logits.sum(), outputs, allow_unused=True)[0] is not None
    must, fix = "make logits that depend on what it is given", "leave out detach, no_grad and the like"
    check.require(flows, argument, must, "others, from which the core cannot learn", fix)
    with torch.no_grad():
        alone = decoder(outputs[1:], trace=False)
        check_painted(decoder, alone, (1, *film_shape), trace=False)
        got = "another result for a frame alone"
        check.require(_is_close(alone[0], logits[1:]), argument, "take each frame by itself", got, _ALONE)
        if not _may_be_logits(logits):
            logits = decoder(_LARGE * outputs, trace=False)[0]
        got = f"numbers from {logits.min():.3g} to {logits.max():.3g} alone"
        check.require(_may_be_logits(logits), argument, "make logits", got, "leave the activation out: the loss has it")
    sizes = {"K": core.rows, "H": film_shape[1], "W": film_shape[2]}
    for name, values in trace.items():
        axes = decoder.trace_axes[name].split()
        wanted = (2, *(sizes.get(axis, size) for axis, size in zip(axes, values.shape[1:], strict=True)))
        fix = "see its trace_axes"
        check.require(values.shape == wanted, argument, f"trace {name} as {wanted}", tuple(values.shape), fix)
    if "masks" in trace:
        lowest, highest = trace["masks"].min(), trace["masks"].max()
        got, fix = f"{lowest:.3g} to {highest:.3g}", "take their softmax over modules"
        check.require(bool(lowest >= 0 and highest <= 1), argument, "trace masks in [0, 1]", got, fix)


def _check_precision(argument: str, what: str, found: Tensor, given: Tensor) -> None:
    fix = "convert what it computes with, such as buffers made from NumPy's numbers, by .float()"
    must = f"return {what} of {given.dtype}, as its parameters are"
    check.require_kind(found.dtype == given.dtype, argument, must, found.dtype, fix)


def _may_be_logits(logits: Tensor) -> bool:
    """Whether these are neither probabilities nor cut at 0; all may be alike, as of a layer that begins with zeros."""
    lowest, highest = logits.min(), logits.max()
    return not (0 <= lowest < highest and (highest <= 1 or lowest == 0))  # NaN tells nothing


def _numbers(*shape: int) -> Tensor:
    """Any numbers in [-1, 1], of which no two in a row are alike; no chance is taken."""
    return torch.arange(math.prod(shape)).mul(0.7).sin().view(shape)


def _is_close(one: Tensor, other: Tensor) -> bool:
    """Whether results are equal, but for the order of sums, which tells beside the largest of them."""
    largest = other.abs().nan_to_num(0, 0).max().item()
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-3, atol=1e-4 * largest, equal_nan=True)
