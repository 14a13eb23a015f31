"""Broken object metrics: each shared check must fail on one of them."""

import torch
from torch import Tensor

from videopred.eval.object_metric import ObjectMetric, pooled
from videopred.eval.object_settings import CountConfig, MissedConfig, PositionConfig
from videopred.eval.objects import Objects
from videopred.eval.positions import Count, Missed, Position


class PositionInSinglePrecision(Position):
    def measure(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        return {key: values.float() for key, values in super().measure(predicted, true).items()}


class CountUpsideDown(Count):
    higher_is_better = True


class PositionByNumber(Position):
    """Takes the first predicted object for the first true one."""

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        apart = (predicted.positions[:, 1:, : true.positions.shape[2]] - true.positions[:, 1:]).norm(dim=-1)
        return pooled(apart, ~apart.isnan())


class MissedInTheBatch(Missed):
    """Gives every clip the misses of all."""

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        measured = super().compare(predicted, true)
        return {key: values.sum(0, keepdim=True).expand_as(values) for key, values in measured.items()}


class MissedOfEachClip(Missed):
    """Averages over clips without their weights."""

    def reduce(self, measured: dict[str, Tensor], clip_weights: Tensor | None = None) -> Tensor:
        return ObjectMetric.reduce(self, measured)


class MissedOfTheFirstDraw(Missed):
    """Says of every draw of the clips what it says of the first."""

    def reduce_each(self, measured: dict[str, Tensor], draws: Tensor) -> Tensor:
        return super().reduce_each(measured, draws[:1].expand_as(draws))


class PositionInPlace(Position):
    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        true.positions.add_(torch.ones(()))
        return super().compare(predicted, true)


class PositionOfAnything(Position):
    """Does not look at what it is given."""

    def measure(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        nothing = true.positions.new_zeros(true.positions.shape[:2])
        return {"total": nothing, "count": nothing}


BAD_OBJECT_METRICS: dict[str, ObjectMetric] = {
    "check_shape": PositionInSinglePrecision(PositionConfig()),
    "check_perfect_is_best": CountUpsideDown(CountConfig()),
    "check_names_do_not_matter": PositionByNumber(PositionConfig()),
    "check_a_clip_stands_alone": MissedInTheBatch(MissedConfig()),
    "check_weights_count_clips": MissedOfEachClip(MissedConfig()),
    "check_draws_are_reduced_each": MissedOfTheFirstDraw(MissedConfig()),
    "check_leaves_objects_alone": PositionInPlace(PositionConfig()),
    "check_refusals": PositionOfAnything(PositionConfig()),
}
"""The check that must catch it -> the broken metric."""
