"""From a file and what predicts its clips to pictures."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Literal

import numpy as np

from videopred import check, check_path, pictures
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.motion import MODES
from videopred.datasets.switching import AXES
from videopred.files import write_each
from videopred.judging.choosing import clip_scores, extreme_clips
from videopred.judging.fitting import check_fit, check_names, check_opened, check_part
from videopred.judging.predicting import imagine
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import intervene, without_each
from videopred.models.predictor import Predictor
from videopred.rendering import OF_ALL_CLIPS
from videopred.rendering.clip_view import ClipView, view_of_rollout
from videopred.rendering.encoding import draw_figure, draw_view
from videopred.rendering.planning import check_intervention, check_several, known_clips, new_paths
from videopred.rendering.settings import ClipChoice, PictureConfig


def views_of(
    predictor: Predictor,
    file: ClipSource,
    part: str,
    clips: Sequence[int],
    context: int,
    horizon: int,
    intervention: Intervention = Intervention(),
) -> list[ClipView]:
    """What can be seen of some clips and of a model's rollouts of them, also of those under an intervention.

    Args:
        predictor, file, part, clips, context, horizon: as for `imagine`.
        intervention: what is done to the model in a second rollout.
    """
    rollout, truth = imagine(predictor, file, part, clips, context, horizon)
    changed = None
    if not intervention.idle:
        changed, _ = imagine(intervene(predictor, intervention, context), file, part, clips, context, horizon)
    views = []
    for i, clip in enumerate(clips):
        known: dict[str, np.ndarray] = {
            name: file.read(part, name, clip, clip + 1)[0, : context + horizon]
            for name in ("groups", "positions", "visibility/fraction")
            if name in file.truth
        }
        known |= _motion(file, part, clip, context + horizon)
        masks, encoder = known.pop("groups", None), predictor.encoder
        view = view_of_rollout(rollout, truth, i)
        view = view._replace(masks=masks, map_shape=encoder.map_shape, strips=encoder.strips, truths=known)
        view = view._replace(schema_count=getattr(predictor.core, "schema_count", 0))
        if changed is not None:
            other = view_of_rollout(changed, truth, i)
            view = view._replace(changed=other.prediction, changed_trace=other.trace, intervention=intervention.words)
        views.append(view)
    return views


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
    predictors: Mapping[str, Predictor],
    file: ClipSource,
    part: str,
    clips: Sequence[int],
    context: int,
    horizon: int,
) -> list[ClipView]:
    """What can be seen of some clips, and of the rollouts of several models of each, beside one another.

    Args:
        predictors: name -> model.
        file, part, clips, context, horizon: as for `imagine`.
    """
    for name, predictor in predictors.items():
        check_fit(predictor, file, name)
    of_models = [
        [view._replace(model=name) for view in views_of(predictor, file, part, clips, context, horizon)]
        for name, predictor in predictors.items()
    ]
    return [first._replace(beside=others) for first, *others in zip(*of_models, strict=True)]


def render(
    predictor: Predictor | Mapping[str, Predictor],
    file: ClipSource,
    *,
    clips: Sequence[int] | np.ndarray | ClipChoice | None = None,
    part: str = "test",
    context: int | None = None,
    horizon: int | None = None,
    picture: PictureConfig | None = None,
    intervention: Intervention | None = None,
    out: Path | str,
    overwrite: bool = False,
) -> list[Path]:
    """Paths of the pictures drawn of some clips: films and strips of chosen rows, or a figure of the papers.

    All of them take their places together at the end, or none does.

    Args:
        predictor: a trained model, the rollout is on its device; or several by name, drawn beside one another. Of
            these, the first decides which clips are worst and best.
        file: holds the clips.
        clips: their indices in the part, from 0, or how they are chosen; the first three when None.
        part: train, validation or test.
        context, horizon: frames given and predicted; the data's own when None.
        picture: rows and formats, or a figure; the usual ones when None.
        intervention: what is done to the model in a second rollout, drawn beside the first; none when None.
        out: folder, made if it is not there, where files are `<part>-<clip>.gif` and so on; or, for one clip or a
            figure of all, a file.
        overwrite: replace files that are there.

    Raises:
        FileExistsError: a file is there and `overwrite` is false.
        ValueError: clips, rows or a figure that there are not or that the models cannot show; or see `imagine`.
        OSError: a file cannot be written.
        TypeError: a path in the place of the model or of clips, or settings of another kind.
    """
    models = dict(predictor) if isinstance(predictor, Mapping) else {"": predictor}
    check.require(len(models) > 0, "predictor", "hold at least one model", "none", "give one, or name several")
    check_opened(file, models.values(), ", or several in a dict")
    check_names(models)
    picture = PictureConfig() if picture is None else picture
    intervention = Intervention() if intervention is None else intervention
    check.require_instance("picture", picture, PictureConfig)
    check.require_instance("intervention", intervention, Intervention)
    out = check_path.as_path("--out", out)
    choice = _choice(clips)
    context = file.context if context is None else context
    horizon = file.horizon if horizon is None else horizon
    file.check_rollout(context, horizon)
    check_intervention(intervention, picture, horizon)
    check_several(len(models), intervention, picture)
    if "mp4" in picture.kinds(out):
        pictures.check_mp4()
    chosen = known_clips(choice, check_part(part, file))
    first = next(iter(models.values()))
    if chosen is None:
        scores = clip_scores(first, file, part, choice.by, context, horizon, first=choice.first)
        which: Literal["worst", "best"] = "best" if choice.worst is None else "worst"
        chosen = extreme_clips(scores, choice.by, which, getattr(choice, which))
    paths = new_paths(out, part, chosen, picture, overwrite)
    if len(models) > 1:
        views = views_of_each(models, file, part, chosen, context, horizon)
    else:
        views = views_of(first, file, part, chosen, context, horizon, intervention)
    if picture.figure == "mask-out":
        for changed in without_each(first, context):
            views += views_of(changed, file, part, chosen, context, horizon)
    rows = picture.row_names(changed=not intervention.idle, several=len(models) > 1)
    return write_each(_drawn(views, paths, picture, rows), overwrite=overwrite)


def _choice(clips: Sequence[int] | np.ndarray | ClipChoice | None) -> ClipChoice:
    """How clips are chosen that `render` was given."""
    if isinstance(clips, ClipChoice) or clips is None:
        return clips or ClipChoice()
    clips = clips.tolist() if hasattr(clips, "tolist") else clips
    check.require_kind(not isinstance(clips, Integral), "--clips", "be numbers of clips", clips, f"write ({clips},)")
    chosen = tuple(clips)
    check.require(len(chosen) > 0, "--clips", "name at least one", "none", "leave it out")
    return ClipChoice(clips=chosen)


def _drawn(
    views: list[ClipView], paths: list[list[Path]], picture: PictureConfig, rows: tuple[str, ...]
) -> Iterator[tuple[Path, bytes]]:
    """The path and the content of each picture, of a view or of all, drawn as it is asked for: long films are large."""
    groups = [views] if picture.figure in OF_ALL_CLIPS else [[view] for view in views]
    for group, of_group in zip(groups, paths, strict=True):
        if picture.figure is None:
            yield from draw_view(group[0], of_group, rows, frame_ms=picture.frame_ms).items()
        else:
            yield from draw_figure(picture.figure, group, of_group).items()
