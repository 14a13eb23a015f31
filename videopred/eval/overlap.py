"""Overlap of lit pixels."""

import torch
from torch import Tensor

from videopred.eval.metric import Metric, check_films, weights_of
from videopred.eval.settings import F1Config


class F1(Metric):
    """F1 score of lit pixels: 2 TP / (2 TP + FP + FN), counts pooled over the pixels of all clips at a step.

    Pooling is not averaging: a frame whose balls are all hidden adds its few false pixels to the counts,
    where a mean over frames would give it the weight of a full frame. Nothing lit in either film scores 1.
    Every channel of a pixel counts by itself.
    """

    name = "f1"
    label = "F1"
    range = (0.0, 1.0)
    higher_is_better = True
    decimals = 3
    config: F1Config

    @property
    def convention(self) -> str:
        lit = f"lit where p >= {self.config.threshold:g} (truth >= 0.5)"
        return f"{lit}, counts pooled over the pixels of all clips at a step, 1 if both films are dark"

    def measure(self, prediction: Tensor, truth: Tensor) -> dict[str, Tensor]:
        check_films(prediction, truth)
        ours, true = prediction >= self.config.threshold, truth >= 0.5

        def count(pixels: Tensor) -> Tensor:
            return pixels.sum(dim=(2, 3, 4), dtype=torch.float64)

        return {
            "tp": count(ours & true),
            "fp": count(ours & ~true),
            "fn": count(~ours & true),
            "tn": count(~ours & ~true),
        }

    def reduce(self, measured: dict[str, Tensor], clip_weights: Tensor | None = None) -> Tensor:
        weights = weights_of(measured["tp"], clip_weights)
        hits, invented, missed = (weights @ measured[key] for key in ("tp", "fp", "fn"))
        lit = 2 * hits + invented + missed
        return torch.where(lit > 0, 2 * hits / lit, 1.0)
