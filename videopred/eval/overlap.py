"""Overlap of lit pixels: what is made of the counts of hits, inventions and misses."""

from abc import abstractmethod

import torch
from torch import Tensor

from videopred.eval.frame_metric import FrameMetric, Frames
from videopred.eval.settings import OverlapConfig


class Overlap(FrameMetric):
    """A score of lit pixels from counts that are pooled over the pixels of all clips at a step.

    Pooling is not averaging: a frame whose balls are all hidden adds its few false pixels to the counts,
    where a mean over frames would give it the weight of a full frame. Every channel of a pixel counts by itself.
    """

    range = (0.0, 1.0)
    higher_is_better = True
    decimals = 3
    config: OverlapConfig
    formula: str
    """In true and false positives and negatives."""

    @property
    def convention(self) -> str:
        lit = f"lit where p >= {self.config.threshold:g} (truth >= 0.5)"
        counts = "counts pooled over the channels and pixels of all clips at a step"
        return f"{self.formula}; {lit}, {counts}; {self.nothing}"

    nothing: str
    """What the score is where the formula says 0/0."""

    @abstractmethod
    def of_counts(self, hits: Tensor, invented: Tensor, missed: Tensor, rest: Tensor) -> Tensor:
        """The score of pooled counts TP, FP, FN, TN, each (..., T)."""

    def measure_frames(self, frames: Frames) -> dict[str, Tensor]:
        return frames.once(_counts, self.config.threshold)

    def finish(self, counted: dict[str, Tensor], values: int) -> dict[str, Tensor]:
        hits = counted["hits"]
        invented, missed = counted["lit"] - hits, counted["truly lit"] - hits
        return {"tp": hits, "fp": invented, "fn": missed, "tn": values - counted["lit"] - missed}

    def of_sums(self, sums: dict[str, Tensor], clips: Tensor) -> Tensor:
        return self.of_counts(*(sums[key] for key in ("tp", "fp", "fn", "tn")))


class F1(Overlap):
    """F1 score: the harmonic mean of precision and recall."""

    name = "f1"
    label = "F1"
    formula = "2 TP / (2 TP + FP + FN)"
    nothing = "1 if both films are dark"

    def of_counts(self, hits: Tensor, invented: Tensor, missed: Tensor, rest: Tensor) -> Tensor:
        return _ratio(2 * hits, 2 * hits + invented + missed, 1.0)


class Precision(Overlap):
    """Share of the predicted lit pixels that are lit."""

    name = "precision"
    label = "precision"
    formula = "TP / (TP + FP)"
    nothing = "1 if both films are dark, 0 if only the prediction is"

    def of_counts(self, hits: Tensor, invented: Tensor, missed: Tensor, rest: Tensor) -> Tensor:
        return _ratio(hits, hits + invented, (missed == 0).to(hits))


class Recall(Overlap):
    """Share of the lit pixels that are predicted lit."""

    name = "recall"
    label = "recall"
    formula = "TP / (TP + FN)"
    nothing = "1 if both films are dark, 0 if only the truth is"

    def of_counts(self, hits: Tensor, invented: Tensor, missed: Tensor, rest: Tensor) -> Tensor:
        return _ratio(hits, hits + missed, (invented == 0).to(hits))


class IoU(Overlap):
    """Intersection over union of the lit pixels of both films: F1 / (2 − F1)."""

    name = "iou"
    label = "IoU"
    formula = "TP / (TP + FP + FN)"
    nothing = "1 if both films are dark"

    def of_counts(self, hits: Tensor, invented: Tensor, missed: Tensor, rest: Tensor) -> Tensor:
        return _ratio(hits, hits + invented + missed, 1.0)


class BalancedAccuracy(Overlap):
    """Mean of the shares of lit and of dark pixels that are predicted as such: a constant gets 1/2."""

    name = "balanced-accuracy"
    label = "balanced accuracy"
    formula = "(TP / (TP + FN) + TN / (TN + FP)) / 2"
    nothing = "the one share that there is, if the truth is all dark or all lit"

    def of_counts(self, hits: Tensor, invented: Tensor, missed: Tensor, rest: Tensor) -> Tensor:
        lit, dark = _ratio(hits, hits + missed, torch.nan), _ratio(rest, rest + invented, torch.nan)
        return torch.stack([lit, dark]).nanmean(0)


def _counts(frames: Frames, threshold: float) -> dict[str, Tensor]:
    """Pixels of each frame that are predicted lit, truly lit, and both, (N,)."""
    # 1 where lit, else 0, in the films' own type: bytes take thrice as long to sum. Exact below 2^24 values.
    ours, true = frames.spare
    true = frames.truth if frames.black_and_white else torch.ge(frames.truth, 0.5, out=true)
    lit = torch.ge(frames.prediction, threshold, out=ours).sum((1, 2, 3))
    return {"lit": lit, "truly lit": true.sum((1, 2, 3)), "hits": ours.mul_(true).sum((1, 2, 3))}


def _ratio(part: Tensor, whole: Tensor, otherwise: Tensor | float) -> Tensor:
    """The share, and what it is taken to be where there is nothing to share."""
    return torch.where(whole > 0, part / whole, otherwise)
