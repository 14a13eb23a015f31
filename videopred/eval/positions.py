"""Where objects are: errors in px, misses, counts, and for how long they are kept."""

import torch
from torch import Tensor

from videopred.check import require
from videopred.eval.matching import followed, gates
from videopred.eval.object_metric import ObjectMetric, each, pooled
from videopred.eval.object_settings import KeptConfig
from videopred.eval.objects import Objects


class Position(ObjectMetric):
    """Distance of predicted from true centres.

    Who is who is settled by Hungarian matching in the last observed frame and then held, so that two balls that trade
    places are two errors, which matching anew in every frame would hide. Hidden objects, and those that were not found,
    do not count; `missed` counts the latter.
    """

    name = "position"
    label = "position"
    unit = "px"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 2
    convention = (
        "px from the true centre, matched in the last observed frame; mean over the seen objects that were found"
    )

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        apart = errors(predicted, true)
        return pooled(apart, true.seen[:, 1:] & ~apart.isnan())


class Missed(ObjectMetric):
    """Seen objects whose own track, by the matching of `position`, is absent or more than a radius away."""

    name = "missed"
    label = "missed"
    range = (0.0, 1.0)
    higher_is_better = False
    decimals = 3
    convention = "share of the seen objects whose own track is absent or more than their radius away"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        near = errors(predicted, true) <= gates(true).unsqueeze(1)
        return pooled((~near).double(), true.seen[:, 1:])


class Count(ObjectMetric):
    """How many objects too few or too many a frame shows."""

    name = "count"
    label = "count"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 2
    convention = "|objects found - objects seen| in a frame, mean over clips"

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        found, there = predicted.seen[:, 1:].sum(-1), true.seen[:, 1:].sum(-1)
        return each((found - there).abs())


class Kept(ObjectMetric):
    """For how long a rollout follows the true objects.

    At each step the share of clips that are not lost yet. A clip is lost from the first of three frames in a row whose
    mean position error exceeds the threshold; a seen object that was not found is infinitely far. Clips that are never
    lost are cut off by the horizon, all at the same frame, so the share is the Kaplan-Meier estimate, and its mean over
    the steps times the horizon is the mean time to divergence up to the horizon.
    """

    name = "kept"
    label = "kept"
    range = (0.0, 1.0)
    higher_is_better = True
    decimals = 3
    is_time = True
    config: KeptConfig

    @property
    def convention(self) -> str:
        limit = f"{self.config.threshold_px:g} px" if self.config.threshold_px else "the smallest radius"
        rule = f"{self.config.frames} frames in a row with a mean position error above {limit}"
        return f"share of clips not lost yet: no {rule}; a missing object is infinitely far"

    def check_horizon(self, horizon: int) -> None:
        """Refuse a horizon within which no clip can be lost."""
        frames = self.config.frames
        must = f"be at least {frames} for {self.name}, which takes so many frames to lose a clip"
        fix = f"give a longer one, or --metric-settings {self.name}.frames={horizon}"
        require(horizon >= frames, "--horizon", must, horizon, fix)

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        horizon = true.positions.shape[1] - 1
        self.check_horizon(horizon)
        lost_at = divergence(predicted, true, self.config)
        steps = torch.arange(1, horizon + 1, device=lost_at.device)
        return each(steps < lost_at.unsqueeze(1))


class Kept2(Kept):
    """`kept` with a threshold of 2 px, where a forecast counts as lost in docs/data.md as well."""

    name = "kept-2px"
    label = "kept 2px"


def errors(predicted: Objects, true: Objects) -> Tensor:
    """Distance (B, T, N), px, of true objects from their own tracks in predicted frames; NaN where one is absent."""
    return (followed(predicted, true) - true.positions)[:, 1:].norm(dim=-1)


def divergence(predicted: Objects, true: Objects, config: KeptConfig) -> Tensor:
    """The step, from 1, at which each clip is lost; T + 1 if it is not within its T steps. (B,) int64.

    T must be at least as many steps as it takes to lose one.
    """
    seen, apart = true.seen[:, 1:], errors(predicted, true)
    apart = torch.where(seen, apart.nan_to_num(nan=torch.inf), 0.0)
    mean = apart.sum(-1) / seen.sum(-1).clamp(min=1)
    limit = torch.full_like(mean[:, :1], config.threshold_px)
    if not config.threshold_px:
        limit = gates(true).nan_to_num(nan=torch.inf).amin(1, keepdim=True)
    far = (mean > limit).long()
    runs = far.unfold(1, config.frames, 1).all(-1)
    return torch.where(runs.any(1), runs.long().argmax(1) + 1, far.shape[1] + 1)
