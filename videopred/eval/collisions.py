"""Pixels where objects collide: what they do to each other shows there, and a mean over frames hides it."""

from typing import ClassVar

import torch
from torch import Tensor

from videopred.eval.metric import check_films
from videopred.eval.object_metric import ObjectMetric
from videopred.eval.object_settings import CollisionBCEConfig
from videopred.eval.objects import Objects
from videopred.eval.pixel import clipped_log


class CollisionBCE(ObjectMetric):
    """Binary cross-entropy of a predicted frame over the pixels of the objects that collided on the way to it.

    The pixels are those that the objects had in the frame before, as in R-NEM's relational loss; frames without a
    collision do not count, where R-NEM counts them as 0.

    Source: van Steenkiste et al. 2018 (R-NEM), whose files hold these pixels as `collisions`.
    """

    name = "collision-bce"
    label = "coll. BCE"
    unit = "nats per frame with a collision"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 1
    needs: ClassVar[tuple[str, ...]] = ("collisions", "film")
    reads: ClassVar[tuple[str, ...]] = ("film",)
    config: CollisionBCEConfig

    @property
    def convention(self) -> str:
        low = self.config.clamp
        pixels = "sum over pixels that colliding objects had one frame before"
        return f"nats per frame with a collision: {pixels}, predictions clipped to [{low:g}, 1 - {low:g}]"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        assert predicted.film is not None, "what it reads was checked"
        assert true.film is not None, "what it needs was checked"
        assert true.collisions is not None, "what it needs was checked"
        ours, theirs = predicted.film[:, 1:], true.film[:, 1:]
        check_films(ours, theirs)
        pixels = true.collisions[:, :-1].unsqueeze(2)
        probability, truth, clamp = ours.double(), theirs.double(), self.config.clamp
        lit, dark = clipped_log(probability.clone(), clamp), clipped_log(1 - probability, clamp)
        nats = -(truth * lit + (1 - truth) * dark)
        happens = pixels.flatten(2).any(2)
        return {"total": torch.where(pixels, nats, 0.0).sum((2, 3, 4)), "count": happens}
