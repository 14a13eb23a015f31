"""The masks that a model itself gives: which of its modules each pixel belongs to, by its decoder or its attention.

The decoder `masks` shares each pixel of a predicted frame out among modules. Modules that read positions of a map say
where they look in a frame that they read; the positions are enlarged to the frame. Of both, a pixel belongs to the
module with the largest share, to the first of those with equal ones.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor

from videopred import check
from videopred.datasets.clip_source import ClipSource
from videopred.eval import OBJECT_METRICS, make_metric
from videopred.eval.settings import DEFAULT_METRICS
from videopred.frames import nearest
from videopred.models.core import Trace
from videopred.models.predictor import Predictor
from videopred.models.settings import PredictorConfig

Source = Literal["decoder", "attention"]
_SOURCE_IN_WORDS = {
    "decoder": "its decoder's",
    "attention": "where its modules attend on a map of {} x {} positions, enlarged",
}
USUAL_WITH_MASKS = ("own-fg-ari", "own-miou")
"""What is scored besides the usual metrics where a model paints masks, and the true ones are known."""


def usual_metrics(models: Iterable[PredictorConfig], file: ClipSource) -> tuple[str, ...]:
    """What models are scored with unless metrics are named."""
    paints = any(model.decoder.kind == "masks" for model in models)
    return (*DEFAULT_METRICS, *(USUAL_WITH_MASKS if paints and "groups" in file.truth else ()))


def asks_for_masks(metrics: Iterable[str]) -> str | None:
    """The first of some metrics that is of a model's own masks; None if none is."""
    asking = (name for name in metrics if name in OBJECT_METRICS and make_metric(name).of_own_masks)
    return next(asking, None)


def source_of(predictor: object) -> Source | None:
    """Where a model's own masks are from; None if it gives none."""
    if not isinstance(predictor, Predictor):
        return None
    if "masks" in predictor.decoder.trace_axes:
        return "decoder"
    attends = "input_attention" in predictor.core.trace_axes and predictor.encoder.map_shape is not None
    return "attention" if attends else None


def check_masks(metrics: Iterable[str], predictors: Mapping[str, object]) -> tuple[str, ...]:
    """Refuse metrics of masks that no model gives; says what a reader should know of those that are given.

    Args:
        metrics: names of all that is asked for.
        predictors: name of a row -> what makes its films.

    Raises:
        ValueError: a metric is of a model's own masks, and no model has any.
    """
    name = asks_for_masks(metrics)
    if name is None:
        return ()
    sources = {row: source_of(one) for row, one in predictors.items()}
    fix = "leave it out, or train with --decoder masks or a core that attends on a map"
    got = f"{name}, and {', '.join(sources)} has none"
    check.require(any(sources.values()), "--metrics", "be of masks that a model gives", got, fix)
    return tuple(f"own masks of {row}: {_told(predictors[row], source)}" for row, source in sources.items())


def _told(predictor: object, source: Source | None) -> str:
    if source is None:
        return "it has none"
    assert isinstance(predictor, Predictor)
    return _SOURCE_IN_WORDS[source].format(*(predictor.encoder.map_shape or ()))


def masks_of(predictor: Predictor, trace: Trace, horizon: int) -> Tensor:
    """The module of each pixel of the predicted frames: (B, horizon, H, W) int16, counted from 1.

    Args:
        predictor: one that gives masks.
        trace: of a rollout of one step more than the horizon: its last step reads the last of these frames.
        horizon: frames to say it of.
    """
    if source_of(predictor) == "decoder":  # at each step, of the frame after it
        shares = trace["masks"][:, -horizon - 1 : -1]
    else:
        assert predictor.encoder.map_shape is not None
        read = trace["input_attention"][:, -horizon:].mean(2)  # (B, T, K, L)
        shares = _enlarged(read.unflatten(-1, predictor.encoder.map_shape), *predictor.film_shape[1:])
    return shares.argmax(2).add(1).to(torch.int16)


def _enlarged(maps: Tensor, height: int, width: int) -> Tensor:
    """Each pixel with the value of the nearest position of (…, rows, columns): (…, H, W)."""
    down, across = maps.shape[-2:]
    return maps[..., nearest(height, down), :][..., nearest(width, across)]
