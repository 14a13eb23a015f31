"""Errors that compare each pixel with the same pixel of the true frame."""

import math

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from videopred.check import require
from videopred.eval.frame_metric import FrameMetric, Frames
from videopred.eval.metric import check_axes, check_same_shape, check_unit_range
from videopred.eval.settings import BCEConfig, BCEMeanConfig


class BCE(FrameMetric):
    """Binary cross-entropy of the true frame under the predicted probabilities, in nats per frame.

        p' = clip(p, clamp, 1 − clamp)
        BCE = Σ_{c,h,w} −[y ln p' + (1 − y) ln(1 − p')]

    The sum over pixels is a frame's negative log-likelihood when the truth is black and white. The clamp
    keeps it finite, and dominates once sure predictions fail: at 1e-6 a wrong, sure pixel costs 13.8 nats.
    A perfect prediction scores C·H·W·clamp, not quite 0; a grey truth adds its own entropy. Films in single
    precision are good to 6e-8 nats per pixel.

    Source: R-NEM's upper bound with clipped predictions (van Steenkiste et al. 2018).
    """

    name = "bce"
    label = "BCE"
    unit = "nats per frame"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 1
    config: BCEConfig | BCEMeanConfig

    @property
    def convention(self) -> str:
        return f"nats per frame: sum over channels and pixels, {self._clipping}"

    @property
    def _clipping(self) -> str:
        return f"predictions clipped to [{self.config.clamp:g}, 1 - {self.config.clamp:g}]"

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        return {self.name: frames.once(_cross_entropy, self.config.clamp)}


class BCEMean(BCE):
    """As BCE, divided by the values of a frame: nats per channel and pixel."""

    name = "bce-mean"
    label = "BCE mean"
    unit = "nats per value"
    decimals = 4

    @property
    def convention(self) -> str:
        return f"nats per value: mean over channels and pixels, {self._clipping}"

    def finish(self, counted: dict[str, Tensor], values: int) -> dict[str, Tensor]:
        return {self.name: counted[self.name] / values}


class MSE(FrameMetric):
    """Mean squared error, averaged over channels and pixels.

    Other toolkits sum it over pixels (times C·H·W) or measure it on [−1, 1] (times 4).
    """

    name = "mse"
    label = "MSE"
    unit = "mean over channels and pixels"
    range = (0.0, 1.0)
    higher_is_better = False
    decimals = 4
    convention = "mean over channels and pixels, intensities in [0, 1]"

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        return {self.name: frames.once(_mean_square)}


class MSESum(MSE):
    """Squared error, summed over the channels and pixels of a frame: C·H·W times `mse`.

    Source: what OpenSTL, PredRNN and vp-suite call MSE. SlotFormer sums over pixels and averages over channels.
    """

    name = "mse-sum"
    label = "MSE sum"
    unit = "per frame"
    range = (0.0, float("inf"))
    decimals = 2
    convention = "per frame: sum over channels and pixels, intensities in [0, 1]"

    def finish(self, counted: dict[str, Tensor], values: int) -> dict[str, Tensor]:
        return {self.name: counted[self.name] * values}


class MAE(MSE):
    """Mean absolute error, averaged over channels and pixels."""

    name = "mae"
    label = "MAE"

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        return {self.name: frames.once(_mean_absolute)}


class MAESum(MSESum, MAE):
    """Absolute error, summed over the channels and pixels of a frame: C·H·W times `mae`."""

    name = "mae-sum"
    label = "MAE sum"


class PSNR(FrameMetric):
    """Peak signal-to-noise ratio of each frame, in dB: −10 log10 of its mean squared error, intensities in [0, 1].

    The mean is over the values of frames. Where the squared error is averaged first, as kornia and torchmetrics do,
    the same films get less. A frame that equals the truth would be infinitely good and hide all others: it
    counts as the cap, and how many did is told beside the score.
    """

    name = "psnr"
    label = "PSNR"
    unit = "dB"
    range = (0.0, 100.0)
    higher_is_better = True
    decimals = 2

    @property
    def convention(self) -> str:
        return f"dB, peak 1: mean of the values of frames, each at most {self.best:g}"

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        return {"mse": frames.once(_mean_square)}

    def finish(self, counted: dict[str, Tensor], values: int) -> dict[str, Tensor]:
        decibels = -10 * counted["mse"].log10()
        return {"psnr": decibels.clamp(max=self.best), "capped": (decibels > self.best).double()}

    def of_sums(self, sums: dict[str, Tensor], clips: Tensor) -> Tensor:
        return sums["psnr"] / clips

    def remark(self, measured: dict[str, Tensor]) -> str:
        capped = measured["capped"]
        if not capped.any():
            return ""
        # Of the mean over samples, the count is one as well, and need not be whole.
        return f"{capped.sum().item():.10g} of {capped.numel()} frames above {self.best:g} dB, counted as {self.best:g}"


def bce_of_logits(logits: Tensor, truth: Tensor) -> Tensor:
    """Binary cross-entropy in nats per frame from logits, which needs no clamp: sum over channels and pixels.

    What a model that has logits can be charged exactly. It is not `bce`, which clips: a sure miss at logit −40 costs
    40 nats here, 13.8 there. So do not put both in a table.

    Args:
        logits: (B, T, C, H, W) floating: log-odds of lit pixels.
        truth: the same shape, in [0, 1].

    Returns:
        (B, T) float64; 0 is best.

    Raises:
        TypeError: one of them is no tensor, or not floating point.
        ValueError: the truth is no film in [0, 1], the shapes differ, or a logit is infinite or not a number.
    """
    check_axes("logits", logits)
    check_axes("truth", truth)
    check_same_shape("logits", logits, truth)
    check_unit_range("truth", truth)
    finite = bool(torch.isfinite(logits).all())
    require(finite, "logits", "be finite", "infinity or NaN", "look for a loss that diverged")
    nats = binary_cross_entropy_with_logits(logits.double(), truth.double(), reduction="none")
    return nats.sum(dim=(2, 3, 4))


def _cross_entropy(frames: Frames, clamp: float) -> Tensor:
    """Nats per frame, (N,)."""
    black_and_white = frames.black_and_white  # writes over a spare film
    dark, lit = frames.spare
    torch.sub(1, frames.prediction, out=dark)
    if black_and_white:
        logarithm = clipped_log(dark.lerp_(frames.prediction, frames.truth), clamp)
    else:
        clipped_log(dark, clamp)
        logarithm = dark.lerp_(clipped_log(lit.copy_(frames.prediction), clamp), frames.truth)
    return -logarithm.sum((1, 2, 3))


def clipped_log(probability: Tensor, clamp: float) -> Tensor:
    """ln of clip(p, clamp, 1 − clamp), in place."""
    # From below before the logarithm, which takes twenty times as long for 0, and from above after it: in single
    # precision 1 − 1e-6 has only three digits left of its distance to 1.
    return probability.clamp_(min=clamp).log_().clamp_(max=math.log1p(-clamp))


def _mean_square(frames: Frames) -> Tensor:
    """Squared error per value, (N,)."""
    return _difference(frames).square_().mean((1, 2, 3))


def _mean_absolute(frames: Frames) -> Tensor:
    """Absolute error per value, (N,)."""
    return _difference(frames).abs_().mean((1, 2, 3))


def _difference(frames: Frames) -> Tensor:
    return torch.sub(frames.prediction, frames.truth, out=frames.spare[0])
