"""What an object metric is: measurements of objects, pooled over clips at the very end as those of films are."""

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from videopred.check import require
from videopred.eval.metric import Quantity
from videopred.eval.objects import TRUTH, Objects, check_objects


class ObjectMetric(Quantity):
    """A way to compare predicted objects with the true ones; its name is a key in OBJECT_METRICS.

    The first frame is the last observed one: it says who is who, and is not scored. Frames without a value, such as
    those in which all objects are hidden, do not count; a step at which no clip has a value is NaN.
    """

    needs: ClassVar[tuple[str, ...]] = ("positions",)
    """Names of the truth that it needs, as data files have them; see `objects.TRUTH`."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Fields of the predicted objects that it reads beside the positions."""

    of_own_masks: ClassVar[bool] = False
    """Whether it compares the masks that a model itself gives, and asks nothing of objects found in its pictures."""

    def measure(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        """Measurements of every predicted frame.

        Args:
            predicted: what was found in a predicted film, or said by a model.
            true: what was there.

        Returns:
            name -> (B, T) float64, for objects in 1 + T frames.

        Raises:
            ValueError: the objects do not fit together, or the true ones lack what the metric needs.
        """
        check_objects(predicted, true)
        for name in self.needs:
            there = getattr(true, TRUTH[name]) is not None
            require(there, f"metric {self.name}", f"have the truth {name}", "none", "score other metrics on this data")
        for field in self.reads:
            there = getattr(predicted, field) is not None
            require(there, f"metric {self.name}", f"have the predicted {field}", "none", "give them, or leave it out")
        return {key: values.double() for key, values in self.compare(predicted, true).items()}

    def answers(self, predicted: Objects) -> bool:
        """Whether predicted objects have all that the metric reads."""
        return all(getattr(predicted, field) is not None for field in self.reads)

    @abstractmethod
    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        """Measurements (B, T) of objects that were checked: what `measure` gives."""

    def of_sums(self, sums: dict[str, Tensor], clips: Tensor) -> Tensor:
        """`total` over `count`: (..., T) float64; NaN where nothing was counted."""
        return torch.where(sums["count"] > 0, sums["total"] / sums["count"], torch.nan)


def pooled(values: Tensor, counts: Tensor) -> dict[str, Tensor]:
    """Measurements for `reduce`: the sum over the last axis of what counts, and how many do.

    Args:
        values: (B, T, N) float; may be NaN where it does not count.
        counts: (B, T, N) bool.
    """
    return {"total": torch.where(counts, values, 0.0).sum(-1), "count": counts.sum(-1)}


def each(values: Tensor) -> dict[str, Tensor]:
    """Measurements for `reduce` of what every clip has in every frame: (B, T)."""
    return {"total": values, "count": torch.ones_like(values)}


def nothing(true: Objects) -> dict[str, Tensor]:
    """Measurements for `reduce` of which none counts, for every clip and frame of the true objects."""
    unsaid = true.positions.new_zeros(len(true.positions), true.positions.shape[1] - 1)
    return {"total": unsaid, "count": unsaid}
