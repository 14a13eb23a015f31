"""Scores that were saved, read again, and refused unless all of them are of one evaluation."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check, check_path
from videopred.eval import find_metric, make_metric
from videopred.eval.file_names import SCORE_FILES, SCORES
from videopred.eval.metric import Quantity
from videopred.eval.scores import MEASURED, SCENES, Scores
from videopred.eval.settings import Protocol
from videopred.files import whole_npz
from videopred.own_code import say_changed_code

_FIX, _AGAIN = "make them with `videopred evaluate`", "make them again with `videopred evaluate --overwrite`"
"""What to do about scores that are not there, and about damaged ones."""


def load_scores(path: Path | str) -> Scores:
    """What `Scores.save` wrote.

    Args:
        path: the folder, or scores.json in it.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: one is not what `save` wrote.
        TypeError: no path.
    """
    folder = check_path.as_path("SCORES", path)
    folder = folder.parent if folder.name == SCORES else folder
    for name in (SCORES, SCORE_FILES[2]):
        check_path.existing_file("SCORES", folder / name, _FIX)
    try:
        return _read(folder)
    except check.FaultyFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        must = "hold the scores that `videopred evaluate` wrote"
        got = f"{folder / SCORES} ({f'no {error}' if isinstance(error, KeyError) else error})"
        raise check.FaultyFileError(check.complaint("SCORES", must, got, _AGAIN)) from None


def _read(folder: Path) -> Scores:
    """The scores in the files of a folder; raises whatever files that hold others lead to."""
    kept = json.loads((folder / SCORES).read_text(encoding="utf-8"))
    # As when they were saved, columns by the same metric share one object: tables tell of each metric once.
    by_name = {said["metric"]: _metric(said) for said in kept["metrics"].values()}
    say_changed_code(by_name, kept, f"{folder} was scored")
    metrics = {column: by_name[said["metric"]] for column, said in kept["metrics"].items()}
    for column, metric in metrics.items():
        if (said := kept["metrics"][column]["convention"]) != metric.convention:
            raise ValueError(f"{column} by another convention, {said}; here it is {metric.convention}")
        if (better := kept["metrics"][column]["higher_is_better"]) != metric.higher_is_better:
            told = {True: "higher", False: "lower"}
            raise ValueError(f"{column} of which {told[better]} is better; here {told[not better]} is")
    measurements: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    arrays_file = folder / SCORE_FILES[2]
    with whole_npz("SCORES", arrays_file, _AGAIN), np.load(arrays_file) as arrays:
        scenes = arrays.get(SCENES)
        for place in (name for name in arrays.files if name != SCENES):
            row, column, key = place.rsplit("/", 2)
            measurements.setdefault(row, {}).setdefault(column, {})[key] = arrays[place]
    # Of two evaluations if a process was killed just while its files took the places of others.
    same, got = kept[MEASURED] == sha256(arrays_file.read_bytes()).hexdigest(), f"{folder}, where they are of another"
    check.require_sound(same, "SCORES", f"hold {SCORES} and measurements of one evaluation", got, _AGAIN)
    scores = Scores(
        measurements=measurements,
        metrics=metrics,
        file=kept["file"],
        fingerprint=kept["fingerprint"],
        reference=kept["reference"],
        protocol=Protocol(**kept["protocol"]),
        clips_in_part=kept["clips_in_part"],
        models=tuple(kept["models"]),
        seeds={name: tuple(rows) for name, rows in kept["seeds"].items()},
        stamps=kept["stamps"],
        notes=tuple(kept["notes"]),
        scenes=scenes,
        predictable=kept["predictable"],
        code=kept.get("code", {}),
        best_of={
            row: {name: {int(count): value for count, value in of.items()} for name, of in of_row.items()}
            for row, of_row in kept["best_of"].items()
        },
    )
    _check_fits(scores)
    return scores


def _check_fits(scores: Scores) -> None:
    """Refuse what was read if its parts are not of one evaluation; load_scores makes it one line."""
    if not all(isinstance(name, str) for name in (scores.file, scores.fingerprint, scores.reference or "")):
        raise TypeError("a name that is no text")
    shape = scores.protocol.clips, scores.protocol.horizon
    for row, columns in scores.measurements.items():
        for column, arrays in columns.items():
            if column not in scores.metrics:
                raise ValueError(f"no metric {column}")
            if any(array.shape != shape for array in arrays.values()):
                raise ValueError(f"other clips or steps of {row}")
    if missing := set(scores.models) - set(scores.measurements):
        raise ValueError(f"nothing of {', '.join(sorted(missing))}")
    for rows in (scores.models, *scores.seeds.values()):
        if len(set(rows)) < len(rows) or not set(rows) <= set(scores.models):
            raise ValueError(f"{', '.join(rows)} in the place of models")


def _metric(said: Mapping[str, Any]) -> Quantity:
    name = said["metric"]
    return make_metric(name, find_metric(f"a metric in {SCORES}", name)[0](**said["settings"]))
