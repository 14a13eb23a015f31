"""From a file and what predicts its clips to pictures."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from videopred import check
from videopred.judging.evaluating import imagine
from videopred.judging.fitting import check_part
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import intervene
from videopred.rendering import USUAL_ROWS, check_rows
from videopred.rendering.scene import Scene, scene_of_rollout
from videopred.rendering.writing import write_scene

if TYPE_CHECKING:
    from videopred.datasets.source import ClipSource
    from videopred.models.predictor import Predictor

USUAL_CLIPS = 3
"""How many clips are drawn when nobody says which."""


def scenes_of(
    predictor: "Predictor",
    file: "ClipSource",
    part: str,
    clips: Sequence[int],
    context: int,
    horizon: int,
    intervention: Intervention | None = None,
) -> list[Scene]:
    """What can be seen of some clips and of a model's rollouts of them, also of those under an intervention.

    Args:
        predictor, file, part, clips, context, horizon: as for `imagine`.
        intervention: what is done to the model in a second rollout.
    """
    rollout, truth = imagine(predictor, file, part, clips, context, horizon)
    changed = None
    if intervention is not None and not intervention.idle:
        changed, _ = imagine(intervene(predictor, intervention, context), file, part, clips, context, horizon)
    scenes = []
    for i, clip in enumerate(clips):
        known: dict[str, np.ndarray] = {
            name: file.read(part, name, clip, clip + 1)[0, : context + horizon]
            for name in ("groups", "positions", "visibility/fraction")
            if name in file.truth
        }
        masks = known.pop("groups", None)
        scenes.append(scene_of_rollout(rollout, truth, i, masks, predictor.encoder.map_shape, known))
        if changed is not None:
            scenes[-1] = scenes[-1]._replace(changed=scene_of_rollout(changed, truth, i).prediction)
    return scenes


def render(
    predictor: "Predictor",
    file: "ClipSource",
    *,
    clips: Sequence[int] | None = None,
    part: str = "test",
    context: int | None = None,
    horizon: int | None = None,
    rows: Sequence[str] = USUAL_ROWS,
    out: Path | str,
    overwrite: bool = False,
) -> list[Path]:
    """Paths of a GIF and a film strip of each clip: truth, prediction and difference, or other rows.

    Args:
        predictor: a trained model; the rollout is on its device.
        file: holds the clips.
        clips: their indices in the part, from 0; the first three when None.
        part: train, validation or test.
        context, horizon: frames given and predicted; the data's own when None.
        rows: what is drawn, of `videopred.rendering.ROWS`.
        out: folder, made if it is not there; files are `<part>-<clip>.gif` and `.png`.
        overwrite: replace files that are there.

    Raises:
        FileExistsError: a file is there and `overwrite` is false.
        ValueError: a clip named twice, or a row that is none or that the model cannot show; or see `imagine`.
        OSError: a file cannot be written.
    """
    rows = check_rows(tuple(rows))
    if clips is None:
        clips = range(min(USUAL_CLIPS, check_part(part, file)))
    check.require(len(set(clips)) == len(clips), "--clips", "name each clip once", tuple(clips), "leave one out")
    paths = [[Path(out) / f"{part}-{clip}{suffix}" for suffix in (".gif", ".png")] for clip in clips]
    for path in chain(*paths):
        check.absent("--out", path, overwrite)
    context = file.context if context is None else context
    horizon = file.horizon if horizon is None else horizon
    scenes = scenes_of(predictor, file, part, clips, context, horizon)
    return [path for one in zip(scenes, paths, strict=True) for path in write_scene(*one, rows)]
