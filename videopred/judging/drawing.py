"""From a file and what predicts its clips to pictures."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Literal

import numpy as np
from torch import nn

from videopred import check, check_path, pictures
from videopred.datasets.clip_source import ClipSource
from videopred.files import write_each
from videopred.judging.choosing import clip_scores, extreme_clips
from videopred.judging.fitting import check_frames, check_names, check_opened, check_part
from videopred.judging.predicting import Predict, function_predictor
from videopred.judging.views import Source, as_model, views_of, views_of_each
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import without_each
from videopred.models.predictor import Predictor
from videopred.rendering import OF_ALL_CLIPS
from videopred.rendering.clip_view import ClipView
from videopred.rendering.encoding import draw_figure, draw_view
from videopred.rendering.planning import check_intervention, check_several, known_clips, new_paths
from videopred.rendering.settings import ClipChoice, PictureConfig


def render(
    predictor: Predictor | Predict | Mapping[str, Predictor | Predict],
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
        predictor: a trained model, the rollout is on its device; or a function that makes films from the context, on
            the CPU (see `Predict`); or several of such by name, drawn beside one another. Of these, the first decides
            which clips are worst and best. What draws by chance may draw others in the pictures than were ranked.
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
        ValueError: clips, rows or a figure that there are not or that the models cannot show; films of another shape
            than asked for; or see `imagine`.
        OSError: a file cannot be written.
        TypeError: a path in the place of the model or of clips, or settings of another kind.
    """
    models = dict(predictor) if isinstance(predictor, Mapping) else {"": predictor}
    check_opened(file, itertools.filterfalse(_is_function, models.values()), ", or several in a dict")
    if isinstance(predictor, Mapping):  # one alone has no name
        check_names(models, "predictor")
    picture = PictureConfig() if picture is None else picture
    intervention = Intervention() if intervention is None else intervention
    check.require_instance("picture", picture, PictureConfig)
    check.require_instance("intervention", intervention, Intervention)
    sources: dict[str, Source] = {}
    for name, one in models.items():
        model = as_model(one)
        sources[name] = function_predictor(name or "the function", one) if model is None else model
    return draw_sources(
        sources,
        file,
        choice=_choice(clips),
        part=part,
        context=file.context if context is None else context,
        horizon=file.horizon if horizon is None else horizon,
        picture=picture,
        intervention=intervention,
        out=check_path.as_path("--out", out),
        overwrite=overwrite,
    )


def _is_function(model: object) -> bool:
    """Whether it makes films as a function does; a module that wraps a model would be called in another way, and a part
    of one not at all."""
    if isinstance(model, type) or (isinstance(model, nn.Module) and type(model).forward is nn.Module.forward):
        return False
    return callable(model) and not any(hasattr(one, "film_shape") for one in (model, getattr(model, "module", None)))


def draw_sources(
    sources: Mapping[str, Source],
    file: ClipSource,
    *,
    choice: ClipChoice,
    part: str,
    context: int,
    horizon: int,
    picture: PictureConfig,
    intervention: Intervention,
    out: Path,
    overwrite: bool,
    count: int | None = None,
) -> list[Path]:
    """Paths of the pictures drawn of predictions of any origin; see `render`.

    Args:
        sources: name -> a model, or what else makes films of a batch of clips; the name is empty of one alone.
        choice: which clips.
        count: how many clips there are to choose among, from the first of the part on; all when None.
    """
    check_frames(file, context, horizon)
    context, horizon = int(context), int(horizon)  # small numbers of NumPy's would wrap around in sums
    check_intervention(intervention, picture, horizon)
    check_several(len(sources), intervention, picture)
    first = next(iter(sources.values()))
    model = as_model(first)
    flags = ", ".join(f"--{flag}" for flag in intervention.changes)
    fix = "leave it out, or draw a model"
    check.require(model is not None or not flags, flags, "come with a model", "films of another origin", fix)
    if "mp4" in picture.kinds(out):
        pictures.check_mp4()
    there = check_part(part, file) if count is None else count
    chosen = known_clips(choice, there, "the part" if count is None else "the films")
    if chosen is None:
        among = there if choice.first is None else choice.first
        scores = clip_scores(first, file, part, choice.by, context, horizon, first=among)
        which: Literal["worst", "best"] = "best" if choice.worst is None else "worst"
        chosen = extreme_clips(scores, choice.by, which, getattr(choice, which))
    paths = new_paths(out, part, chosen, picture, overwrite)
    if len(sources) > 1:
        views = views_of_each(sources, file, part, chosen, context, horizon)
    else:
        views = views_of(first, file, part, chosen, context, horizon, intervention)
    if picture.figure == "mask-out" and model is not None:  # of others it is refused as what they cannot show
        for changed in without_each(model, context):
            views += views_of(changed, file, part, chosen, context, horizon)
    rows = picture.row_names(changed=not intervention.idle, several=len(sources) > 1)
    return write_each(_drawn(views, paths, picture, rows), overwrite=overwrite)


def _choice(clips: Sequence[int] | np.ndarray | ClipChoice | None) -> ClipChoice:
    """How clips are chosen that `render` was given."""
    if isinstance(clips, ClipChoice) or clips is None:
        return clips or ClipChoice()
    clips = clips.tolist() if hasattr(clips, "tolist") else clips
    fix = f"write ({clips},)" if isinstance(clips, Integral) else "write e.g. (0, 1)"
    chosen = check.as_tuple("--clips", clips, "be numbers of clips", fix)
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
