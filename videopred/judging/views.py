"""What can be seen of clips: their truth, and what models, or films made elsewhere, say of them."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from videopred.datasets.clip_source import ClipSource
from videopred.datasets.motion import MODES
from videopred.datasets.switching import AXES
from videopred.judging.batches import Batch, Predicted, read_film, seeded_sample
from videopred.judging.fitting import check_fit
from videopred.judging.predicting import PredictBatch, imagine
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import intervene
from videopred.models.predictor import Predictor
from videopred.rendering.clip_view import ClipView, view_of_film, view_of_rollout

Source = Predictor | PredictBatch
"""Where predictions are from: a model, or what else makes films of a batch of clips."""


def as_model(source: object) -> Predictor | None:
    """The source if it is a model, also a compiled one; None of what else makes films."""
    return cast(Predictor, source) if hasattr(source, "film_shape") else None


def views_of(
    source: Source,
    file: ClipSource,
    part: str,
    clips: Sequence[int],
    context: int,
    horizon: int,
    intervention: Intervention = Intervention(),
) -> list[ClipView]:
    """What can be seen of some clips and of predictions of them, also of a model's under an intervention.

    Args:
        source: a model, whose rollouts are seen; of other films, the first sample of each clip.
        file, part, clips, context, horizon: as for `imagine`.
        intervention: what is done to the model in a second rollout.
    """
    if (model := as_model(source)) is not None:
        views = _of_rollouts(model, file, part, clips, context, horizon, intervention)
    else:
        views = [_of_film(source, file, part, clip, context, horizon) for clip in clips]
    return [_with_truths(view, file, part, clip) for view, clip in zip(views, clips, strict=True)]


def _of_rollouts(
    predictor: Predictor,
    file: ClipSource,
    part: str,
    clips: Sequence[int],
    context: int,
    horizon: int,
    intervention: Intervention,
) -> list[ClipView]:
    """Views of a model's rollouts, and of those under an intervention."""
    rollout, truth = imagine(predictor, file, part, clips, context, horizon)
    changed = None
    if not intervention.idle:
        changed, _ = imagine(intervene(predictor, intervention, context), file, part, clips, context, horizon)
    encoder, views = predictor.encoder, []
    for i in range(len(clips)):
        view = view_of_rollout(rollout, truth, i)
        view = view._replace(map_shape=encoder.map_shape, strips=encoder.strips)
        view = view._replace(schema_count=getattr(predictor.core, "schema_count", 0))
        if changed is not None:
            other = view_of_rollout(changed, truth, i)
            view = view._replace(changed=other.prediction, changed_trace=other.trace, intervention=intervention.words)
        views.append(view)
    return views


def _of_film(predict: PredictBatch, file: ClipSource, part: str, clip: int, context: int, horizon: int) -> ClipView:
    """A view of a film of which nothing else is known."""
    film = read_film(file, part, clip, clip + 1)[:, : context + horizon]
    batch = Batch(file, part, clip, film, context)
    return view_of_film(film[0], film_of(predict, batch, film.device)[0].cpu())


def film_of(predict: PredictBatch, batch: Batch, device: torch.device) -> Tensor:
    """The first film that it makes of each clip of a batch, the same each time."""
    with torch.no_grad(), seeded_sample(batch.start, 0, device):
        said = predict(batch, 0)
    return said.film if isinstance(said, Predicted) else said


def _with_truths(view: ClipView, file: ClipSource, part: str, clip: int) -> ClipView:
    """The view with what its data tell of the objects in it."""
    frames = len(view.truth)
    known: dict[str, np.ndarray] = {
        name: file.read(part, name, clip, clip + 1)[0, :frames]
        for name in ("groups", "positions", "visibility/fraction")
        if name in file.truth
    }
    known |= _motion(file, part, clip, frames)
    return view._replace(masks=known.pop("groups", None), truths=known)


def _motion(file: ClipSource, part: str, clip: int, frames: int) -> dict[str, np.ndarray]:
    """Words for the ways in which the one ball came to each frame, under the name motion; empty where none are told."""
    if file.recipe is None:  # others may call something else so
        return {}
    if "labels/mode" in file.truth:
        (mode,) = file.read(part, "labels/mode", clip, clip + 1)
        return {"motion": np.full(frames, MODES[mode])}
    if "series/indicator" in file.truth:
        # The indicator says how the ball goes on from a frame; to the first it did not come.
        onward = np.array(AXES)[file.read(part, "series/indicator", clip, clip + 1)[0, :frames]]
        return {"motion": np.concatenate([onward[:1], onward[:-1]])}
    return {}


def views_of_each(
    sources: Mapping[str, Source],
    file: ClipSource,
    part: str,
    clips: Sequence[int],
    context: int,
    horizon: int,
) -> list[ClipView]:
    """What can be seen of some clips, and of several predictions of each, beside one another.

    Args:
        sources: name -> where its predictions are from.
        file, part, clips, context, horizon: as for `imagine`.
    """
    for name, source in sources.items():
        if (model := as_model(source)) is not None:
            check_fit(model, file, name)
    of_sources = [
        [view._replace(model=name) for view in views_of(source, file, part, clips, context, horizon)]
        for name, source in sources.items()
    ]
    return [first._replace(beside=others) for first, *others in zip(*of_sources, strict=True)]
