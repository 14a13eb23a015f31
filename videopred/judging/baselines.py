"""The baselines in every table, which no model makes: the trivial ones, and for balls, what physics knows."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from videopred.datasets.clip_source import ClipSource
from videopred.eval.baselines import TrainingStatistics, blank, blocks, copy_last, copy_last_calibrated, mean_frame
from videopred.eval.tables import CEILING, COPY_LAST
from videopred.judging.batches import Batch
from videopred.judging.objects import true_masks
from videopred.judging.oracle import knows_physics, physics_oracle

Draw = Callable[[Batch, TrainingStatistics | None], Tensor]
"""(batch, what is known of the training part) -> film (B, horizon, C, H, W)."""


class Baseline(NamedTuple):
    """A prediction that takes no model."""

    draw: Draw
    needs_training: bool = False
    """Whether it takes the training part."""
    needs_context: bool = True
    """Whether it takes a frame to start from."""
    needs_physics: bool = False
    """Whether it takes balls whose states are known."""
    segment: Callable[[Batch], Tensor] | None = None
    """Its own masks of the frames to predict, (B, horizon, H, W) whole numbers from 1; None if it has none."""


def _from_last(draw: Callable[[Tensor, int, Any], Tensor]) -> Draw:
    """A baseline drawn from the context; with predictions of one step, from each true frame by itself.

    Args:
        draw: (context film, horizon, what is known of the training part) -> film.
    """

    def baseline(batch: Batch, statistics: TrainingStatistics | None) -> Tensor:
        if not batch.one_step:
            return draw(batch.context, batch.horizon, statistics)
        last = batch.film[:, batch.given - 1 : -1]
        return draw(last.flatten(0, 1).unsqueeze(1), 1, statistics).view_as(last)

    return baseline


def _blocks(batch: Batch) -> Tensor:
    masks = true_masks(batch).masks
    assert masks is not None
    return blocks(masks[:, 1:])


BASELINES: dict[str, Baseline] = {
    "blank": Baseline(lambda batch, _: blank(batch.film, batch.horizon), needs_context=False, segment=_blocks),
    "mean frame": Baseline(
        _from_last(lambda context, _, statistics: mean_frame(context, statistics)), needs_training=True
    ),
    COPY_LAST: Baseline(_from_last(lambda context, horizon, _: copy_last(context, horizon))),
    "copy last calibrated": Baseline(
        _from_last(lambda context, _, statistics: copy_last_calibrated(context, statistics)), needs_training=True
    ),
    CEILING: Baseline(lambda batch, _: physics_oracle(batch), needs_physics=True),
}
"""Name -> baseline, in the order of tables."""


def baselines_for(file: ClipSource, context: int, training: bool) -> dict[str, Baseline]:
    """The baselines that can be drawn.

    Args:
        file: holds the clips.
        context: frames given.
        training: whether there is a training part.
    """
    return {
        name: baseline
        for name, baseline in BASELINES.items()
        if (training or not baseline.needs_training)
        and (context > 0 or not baseline.needs_context)
        and (not baseline.needs_physics or knows_physics(file))
    }
