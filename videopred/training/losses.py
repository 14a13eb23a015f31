"""The losses of training: how far predictions are from the true frames. They come as logits, whose sigmoid is the
predicted intensity.

Each loss is (logits, truth, deviation, by) -> the loss of each value, or its mean: `by` is torch's "none" or "mean".
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from videopred.settings import TrainingConfig
from videopred.training.own_loss import each_own_loss


def bce(logits: Tensor, truth: Tensor, deviation: float, by: str) -> Tensor:
    """Binary cross-entropy in nats, from logits without a clamp."""
    return functional.binary_cross_entropy_with_logits(logits, truth, reduction=by)


def mse(logits: Tensor, truth: Tensor, deviation: float, by: str) -> Tensor:
    """Squared error of intensities."""
    return functional.mse_loss(torch.sigmoid(logits), truth, reduction=by)


def gaussian(logits: Tensor, truth: Tensor, deviation: float, by: str) -> Tensor:
    """Negative log likelihood of intensities, in nats, under a Gaussian around the predicted ones."""
    return mse(logits, truth, deviation, by) / (2 * deviation**2) + math.log(deviation * math.sqrt(2 * math.pi))


LOSSES: dict[str, Callable[[Tensor, Tensor, float, str], Tensor]] = {"bce": bce, "mse": mse, "gaussian": gaussian}


def loss_between(training: TrainingConfig, logits: Tensor, truth: Tensor, by: str = "mean") -> Tensor:
    """The loss that training lowers: a mean over frames of the mean, or the sum, over the values of a frame.

    Args:
        training: says which loss.
        logits: (…, C, H, W), about the frames of `truth`.
        truth: (…, C, H, W) float in [0, 1].
        by: mean for one number, none for (…, C, H, W) numbers whose mean it is.
    """
    if training.has_own_loss:
        loss = each_own_loss(training, logits, truth)
        loss = loss.mean() if by == "mean" else loss
    else:
        loss = LOSSES[training.loss](logits, truth, training.gaussian_deviation, by)
    return loss * truth.shape[-3:].numel() if training.reduction == "sum" else loss


def as_logged(training: TrainingConfig, loss: Tensor, values: int) -> Tensor:
    """A loss of `loss_between` in the unit of the metric of its name: for bce and gaussian a sum over a frame, else a
    mean.

    Args:
        training: says which loss it is, and whether it is summed over a frame.
        loss: any shape.
        values: numbers in a frame, C·H·W.
    """
    summed = training.reduction == "sum"
    if training.loss in ("bce", "gaussian"):
        return loss if summed else loss * values
    return loss / values if summed else loss
