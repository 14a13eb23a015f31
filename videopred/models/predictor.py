"""The whole rollout model: frames are encoded, a core moves its state over time, frames are decoded."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from videopred import check, check_path
from videopred.amounts import shapes_told
from videopred.models import build_core, build_decoder
from videopred.models.arguments import autocast_on, check_painted, how_to_make_a_film
from videopred.models.core import State, Trace, Unrolled, unroll
from videopred.models.encoder import build_encoder
from videopred.models.settings import PredictorConfig
from videopred.models.stacking import Stacked, stack_frames

# Frames that pass encoder or decoder together. On a CPU, blocks that stay in cache beat all T at once severalfold. On a
# GPU each block starts as many kernels as the next. There, 64 clips of 51 frames of 64 x 64 pixels at once are a
# twentieth faster than 1024 frames at a time, and keep 0.8 GB of the decoder's in place of 0.3. The larger frames are,
# the fewer make a block.
_BLOCK, _PIXELS_ON_GPU = 128, 4096 * 64 * 64


class Prediction(NamedTuple):
    """What a predictor says after each frame it saw."""

    logits: Tensor
    """(B, T, C, H, W): entry t is about frame t + 1."""
    state: State
    """Where it stands after the last frame, the core's state or `Stacked`; give it back to go on from there."""
    trace: Trace
    """name -> (B, T, …), detached, so that no gradient flows through it: what core and decoder did, and `states`, the
    core's output (B, T, K, D), of which `observe` gives those that a loss can be of; empty unless asked for."""

    def __repr__(self) -> str:
        logits = shapes_told({"logits": self.logits})
        return f"<{type(self).__name__}: {logits}; trace of {', '.join(self.trace) or 'nothing'}>"


class Predictor(nn.Module):
    """Encoder, core over time, decoder.

    Args:
        config: settings of core, codec and decoder.
        film_shape: (channels, height, width) of the films it will see.
    """

    def __init__(self, config: PredictorConfig, film_shape: tuple[int, int, int]):
        super().__init__()
        self.config, self.film_shape = config, film_shape
        channels, height, width = film_shape
        self.encoder = build_encoder(config.codec, (channels * config.stack, height, width), config.core)
        self.core = build_core(config.core, self.encoder.features)
        self.decoder = build_decoder(config.decoder, config.codec, self.core, film_shape)

    def forward(self, film: Tensor, state: State | None = None, *, trace: bool = False) -> Prediction:
        """Read T frames and predict the one after each.

        Args:
            film: (B, T, C, H, W) float in [0, 1].
            state: where to start, as a prediction gave it; None is the beginning of a clip.
            trace: keep what core and decoder did at each step.

        Raises:
            ValueError: the film is not of the shape the predictor was built for, or is empty, or the state is not one
                of its core for so many clips. TypeError: the film is of another precision than the predictor.
        """
        outputs, state, happened = self.observe(film, state, trace=trace)
        logits, painted = self.paint(outputs, trace=trace)
        if trace:
            happened |= painted | {"states": outputs.detach()}
        return Prediction(logits, state, happened)

    def observe(
        self, film: Tensor, state: State | None = None, *, trace: bool = False, detach: bool = True
    ) -> Unrolled:
        """Read T frames as `forward` does, and paint none: the core's outputs, where it stands, and what it did.

        Without `detach`, gradients flow through the trace, as a penalty on what modules do needs.

        Raises:
            ValueError, TypeError: see `forward`; or the film is no tensor of floating point numbers.
        """
        kind, fix = type(film).__name__, how_to_make_a_film(film)
        check.require_kind(isinstance(film, Tensor), "film", "be a tensor", kind, fix)
        check.require_kind(film.is_floating_point(), "film", "hold floating point numbers in [0, 1]", film.dtype, fix)
        fits = film.dim() == 5 and tuple(film.shape[2:]) == self.film_shape
        must = f"be (B, T, {', '.join(map(str, self.film_shape))})"
        check.require(fits, "film", must, tuple(film.shape), "use films like those the model was built for")
        check.require(film.numel() > 0, "film", "hold a frame", tuple(film.shape), "give B and T of at least 1")
        check_suits_weights("film", film, self)
        batch_and_time = film.shape[:2]
        recent = None
        if self.config.stack > 1:
            state, recent = self._parted(state)
            film, recent = stack_frames(film, self.config.stack, recent)
        frames = film.flatten(0, 1).split(self.block_on(film.device))
        slots = torch.cat([self.encoder(block) for block in frames]).unflatten(0, batch_and_time)
        outputs, state, happened = unroll(self.core, slots, state, trace=trace, detach=detach)
        return Unrolled(outputs, state if recent is None else Stacked(state, recent), happened)

    def paint(self, outputs: Tensor, *, trace: bool = False) -> tuple[Tensor, Trace]:
        """The core's outputs (B, T, K, D) as logits (B, T, C, H, W), and what the decoder did."""
        blocks = self.blocks(outputs)
        said = [self.decoder(block, trace=trace) for block in blocks]
        for block, one in zip(blocks, said, strict=True):
            check_painted(self.decoder, one, (len(block), *self.film_shape), trace=trace)
        logits = torch.cat([block for block, _ in said]).unflatten(0, outputs.shape[:2])
        names = said[0][1]
        happened = {name: torch.cat([painted[name].detach() for _, painted in said]) for name in names}
        return logits, {name: values.unflatten(0, outputs.shape[:2]) for name, values in happened.items()}

    def blocks(self, values: Tensor) -> tuple[Tensor, ...]:
        """(B, T, …), such as the core's outputs, in blocks (N, …) of as many frames as the decoder paints at once."""
        return values.flatten(0, 1).split(self.block_on(values.device, self.decoder.pictures))

    def block_on(self, device: torch.device, pictures: int = 1) -> int:
        """Frames in a block there, of which each takes so many pictures."""
        _, height, width = self.film_shape
        block = _BLOCK if device.type == "cpu" else _PIXELS_ON_GPU // (height * width)
        return max(1, block // pictures)

    def _parted(self, state: State | None) -> tuple[State | None, Tensor | None]:
        """State of the core, and the frames before the film."""
        if state is None:
            return None, None
        fix = "carry on from a state that this predictor gave"
        fits = isinstance(state, Stacked)
        check.require(fits, "state", "hold the frames before, with stack above 1", type(state).__name__, fix)
        return state.core, state.recent


def check_model(model: object, also: str = "") -> None:
    """Raise TypeError for what is no model; for a path, the message has the call that loads one.

    Args:
        model: what was given as `predictor`.
        also: what else could have been meant, behind the advice to load one.
    """
    check_path.not_a_path("predictor", model, "be a model", "load_run")
    fits = isinstance(model, nn.Module) and hasattr(model, "film_shape")
    inside = " (here its .module)" if hasattr(getattr(model, "module", None), "film_shape") else ""
    fix = f"give what videopred.load_run returns{inside}{also}"
    check.require_kind(fits, "predictor", "be a model", type(model).__name__, fix)


def check_suits_weights(name: str, film: Tensor, model: nn.Module) -> None:
    """Raise unless a film is where a model's weights are, and of their precision or autocast is to settle that.

    Raises:
        ValueError: it is on another device.
        TypeError: it is of another precision.
    """
    weight = next(model.parameters(), None)
    if weight is None:
        return
    must, fix = f"be on {weight.device}, as the model's weights are", "move it or the model with .to()"
    check.require(film.device == weight.device, name, must, film.device, fix)
    fits = film.dtype == weight.dtype or autocast_on(film.device)
    must = f"be {weight.dtype}, as the model's weights are"
    fix = "convert it with .to()"
    if not film.is_floating_point():
        fix = "make it with videopred.to_film"
    elif film.dtype == torch.float32:  # as all films are that were read from data
        fix = "convert the model with .float(), or what it is given with .to()"
    check.require_kind(fits, name, must, film.dtype, fix)
