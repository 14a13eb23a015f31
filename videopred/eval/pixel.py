"""Errors that compare each pixel with the same pixel of the true frame."""

from torch import Tensor

from videopred.eval.metric import Metric, check_films
from videopred.eval.settings import BCEConfig


class BCE(Metric):
    """Binary cross-entropy of the true frame under the predicted probabilities, in nats per frame.

        p' = clip(p, clamp, 1 − clamp)
        BCE = Σ_{c,h,w} −[y ln p' + (1 − y) ln(1 − p')]

    The sum over pixels is a frame's negative log-likelihood when the truth is black and white. The clamp
    keeps it finite, and dominates once sure predictions fail: at 1e-6 a wrong, sure pixel costs 13.8 nats.
    A perfect prediction scores C·H·W·clamp, not quite 0; a grey truth adds its own entropy.

    Source: R-NEM's upper bound with clipped predictions (van Steenkiste et al. 2018).
    """

    name = "bce"
    label = "BCE"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 1
    config: BCEConfig

    @property
    def convention(self) -> str:
        low = self.config.clamp
        return f"nats per frame: sum over channels and pixels, predictions clipped to [{low:g}, 1 - {low:g}]"

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_films(prediction, truth)
        # In float64: 1 − 1e-6 has only three digits left of its distance to 1 in float32.
        probability = prediction.double().clamp(self.config.clamp, 1 - self.config.clamp)
        truth = truth.double()
        nats = -(truth * probability.log() + (1 - truth) * (1 - probability).log())
        return {"bce": nats.sum(dim=(2, 3, 4))}


class MSE(Metric):
    """Mean squared error, averaged over channels and pixels.

    Other toolkits sum it over pixels (times C·H·W) or measure it on [−1, 1] (times 4).
    """

    name = "mse"
    label = "MSE"
    range = (0.0, 1.0)
    higher_is_better = False
    decimals = 4

    @property
    def convention(self) -> str:
        return "mean over channels and pixels, intensities in [0, 1]"

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_films(prediction, truth)
        return {"mse": (prediction.double() - truth.double()).square().mean(dim=(2, 3, 4))}
