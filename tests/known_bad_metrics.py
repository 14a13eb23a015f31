"""Metrics that are deliberately broken, each of which a shared check must notice."""

import torch
from kornia.metrics import ssim
from torch import Tensor

from videopred.eval.metric import Metric, check_films
from videopred.eval.overlap import F1
from videopred.eval.pixel import BCE, MSE
from videopred.eval.settings import BCEConfig, F1Config, MSEConfig, SSIMConfig
from videopred.eval.similarity import SSIM


class F1OfEachClip(F1):
    """Averages the F1 of each clip, where counts must be pooled."""

    def reduce(self, measured: dict[str, Tensor], clip_weights: Tensor | None = None) -> Tensor:
        weights = torch.ones(len(measured["tp"])) if clip_weights is None else clip_weights
        weights = weights.to(measured["tp"])
        hits = 2 * measured["tp"]
        return weights @ (hits / (hits + measured["fp"] + measured["fn"])) / weights.sum()


class SSIMWithBorder(SSIM):
    """kornia's default: windows that hang over the border count too."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_films(prediction, truth)
        values = ssim(prediction.flatten(0, 1), truth.flatten(0, 1).to(prediction), 11)
        return {"ssim": values.mean(dim=(1, 2, 3)).double().view(prediction.shape[:2])}


class MSEOfBatch(MSE):
    """Scales by the brightest pixel of the batch, so a clip's score depends on its neighbours."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        return super().measure(prediction / prediction.max(), truth)


class MSEThatBroadcasts(MSE):
    """Does not look at what it is given."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        return {"mse": (prediction.double() - truth.double()).square().mean(dim=(2, 3, 4))}


class MSEWithoutWeights(MSE):
    """Counts each clip once, whatever its weight."""

    def reduce(self, measured: dict[str, Tensor], clip_weights: Tensor | None = None) -> Tensor:
        return super().reduce(measured)


class MSEOfAllDraws(MSE):
    """Counts the clips of all draws together."""

    def of_sums(self, sums: dict[str, Tensor], clips: Tensor) -> Tensor:
        return sums["mse"] / clips.sum()


class BCEInSinglePrecision(BCE):
    """Hands out the film's precision, in which sums over many clips round."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_films(prediction, truth)
        clamp = self.config.clamp
        prediction = prediction.clamp(clamp, 1 - clamp)
        nats = -(truth * prediction.log() + (1 - truth) * (1 - prediction).log())
        return {"bce": nats.sum(dim=(2, 3, 4))}


class BCEInPlace(BCE):
    """Clips the caller's own film."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        return super().measure(prediction.clamp_(0.1, 0.9), truth)


class MSEOfFirstClip(MSE):
    """Gives every clip the error of the first."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        values = super().measure(prediction, truth)["mse"]
        return {"mse": values[:1].expand_as(values)}


class MSEUpsideDown(MSE):
    """Says that more error is better."""

    higher_is_better = True


class MSEInFilmPrecision(MSE):
    """Averages in the precision of the films, and widens the number afterwards."""

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_films(prediction, truth)
        return {"mse": (prediction - truth).square().mean(dim=(2, 3, 4)).double()}


BAD_METRICS: dict[str, Metric] = {
    "check_equals_reference: f1": F1OfEachClip(F1Config()),
    "check_equals_reference: ssim": SSIMWithBorder(SSIMConfig()),
    "check_a_frame_stands_alone": MSEOfBatch(MSEConfig()),
    "check_refusals": MSEThatBroadcasts(MSEConfig()),
    "check_weights_count_clips": MSEWithoutWeights(MSEConfig()),
    "check_draws_are_reduced_each": MSEOfAllDraws(MSEConfig()),
    "check_shape": BCEInSinglePrecision(BCEConfig()),
    "check_leaves_films_alone": BCEInPlace(BCEConfig()),
    "check_clip_order": MSEOfFirstClip(MSEConfig()),
    "check_perfect_is_best": MSEUpsideDown(MSEConfig()),
    "check_precisions": MSEInFilmPrecision(MSEConfig()),
}
"""The check that must catch it (and what it breaks) -> the broken metric."""
