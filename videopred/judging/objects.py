"""Objects of a batch of clips: the true ones, from the file, and those of a predicted film, found by tracking."""

from collections.abc import Iterable
from dataclasses import replace
from math import isnan, nan

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from videopred import check
from videopred.amounts import counted
from videopred.datasets.clip_source import ClipSource
from videopred.eval import OBJECT_METRICS, make_metric
from videopred.eval.matching import gates
from videopred.eval.objects import TRUTH, Objects
from videopred.eval.tracking import LIT, track
from videopred.judging.batches import Batch, Predicted
from videopred.judging.given_films import GivenTruth

_COVERED = float(np.float16(0.9))  # as files hold such shares
"""Share of an object that is seen, below which something covers it."""
_LOOKED_AT = 8  # clips, to see whether objects are lit
_TO_TRACK = ("positions", "groups")
"""What tracking needs to know: where objects are in the last observed frame, and, of the masks, how large."""


def check_truth(names: Iterable[str], file: ClipSource) -> None:
    """Refuse object metrics of a file that does not know its objects.

    Args:
        names: metrics asked for, of any kind.
        file: holds the clips.

    Raises:
        ValueError: a truth that a metric needs is not in the file.
    """
    must = f"be a metric that {file.path} has the truth for"
    fix = "leave it out, or score clips of which it is known; `videopred inspect` says what is"
    if isinstance(file, GivenTruth):
        fix = "leave it out, or give a data file with these as DATA, not as --true"
    for name in (name for name in names if name in OBJECT_METRICS):
        metric = make_metric(name)
        for truth in dict.fromkeys((*(() if metric.of_own_masks else _TO_TRACK), *metric.needs)):
            check.require(truth in (*file.truth, "film"), "--metrics", must, f"{name}, which needs {truth}", fix)
        got = f"{name}, which needs positions that lie where groups show the objects"
        check.require(file.places_known or metric.of_own_masks, "--metrics", must, got, fix)


def notes_on_places(names: Iterable[str], file: ClipSource, part: str) -> list[str]:
    """What a reader of object metrics must know of where the file says that objects are, and where films show any."""
    if all(name not in OBJECT_METRICS or make_metric(name).of_own_masks for name in names):
        return []
    told = [file.remarks[name] for name in ("numbers", "offset", "velocities", "radii") if name in file.remarks]
    return [f"{file.path}: {note}" for note in (*told, *_note_on_light(file, part))]


def _note_on_light(file: ClipSource, part: str) -> list[str]:
    """Whether in the first clips objects are dark, or all around them is lit, so that tracking finds others."""
    some = min(file.parts[part], _LOOKED_AT)
    lit = file.read_frames(part, 0, some).max(-1) >= 255 * LIT  # (B, T, H, W)
    objects = file.read(part, "groups", 0, some) > 0
    seen, around = (float(lit[where].mean()) if where.any() else nan for where in (objects, ~objects))
    if not (seen < 0.5 or around > 0.5):
        return []
    shares = {"the objects' pixels": seen, "the others": around}
    told = [f"{share:.0%} of {what}" for what, share in shares.items() if not isnan(share)]
    return [
        f"{' and '.join(told)} are lit in the first "
        f"{counted(some, 'clip')}; object metrics are of lit objects on dark ground, and tell nothing of others"
    ]


def true_objects(batch: Batch) -> Objects:
    """What the file knows of the objects, from the last observed frame on; on the CPU."""
    known = {field: _read(batch, name) for name, field in TRUTH.items() if name in batch.file.truth}
    objects = Objects(film=batch.film[:, batch.given - 1 :].cpu(), **known)
    return objects if objects.visibility is not None else _seen_in_masks(objects)


def true_masks(batch: Batch) -> Objects:
    """The objects as masks alone, from the last observed frame on, of a file that may know no positions; on the CPU."""
    masks = _read(batch, "groups")
    return Objects(positions=torch.empty(*masks.shape[:2], 0, 2, dtype=torch.float64), masks=masks)


def said_masks(said: Predicted, true: Objects) -> Objects:
    """The masks that a model itself gives, after the last observed frame; on the CPU."""
    return Objects(positions=true.positions, own_masks=_from_last_observed(said.masks))


def _seen_in_masks(objects: Objects) -> Objects:
    """The objects of a file that does not say how much of an object is seen: whether masks show any of it.

    What they never show counts as not there: files of others may have numbers for it all the same.
    """
    assert objects.masks is not None, "metrics of objects need masks"
    numbers = range(1, objects.positions.shape[2] + 1)
    shown = torch.stack([(objects.masks == number).any(-1).any(-1) for number in numbers], -1)  # (B, 1 + T, N)
    there = shown.any(1, keepdim=True)
    nowhere = objects.positions.masked_fill(~there.unsqueeze(-1), torch.nan)
    return replace(objects, positions=nowhere, visibility=shown.double().masked_fill(~there, torch.nan))


def predicted_objects(said: Predicted, batch: Batch, true: Objects) -> Objects:
    """The objects that predicted films show, after the last observed frame; on the CPU."""
    assert true.film is not None, "true objects of judging have a film"
    assert true.visibility is not None, "true objects of judging say how much of them is seen"
    whole = torch.cat([true.film[:, :1], said.film.to(true.film)], 1)
    places = true.positions[:, 0]
    speeds = _read(batch, "velocities")[:, 0] if "velocities" in batch.file.truth else torch.zeros_like(places)
    covered = (true.visibility < _COVERED).any((1, 2))
    found = track(whole, places, speeds, gates(true), covered)
    return replace(found, own_masks=_from_last_observed(said.masks))


def _from_last_observed(masks: Tensor | None) -> Tensor | None:
    """Masks of predicted frames, with an empty one for the last observed frame before them."""
    return None if masks is None else pad(masks.cpu(), (0, 0, 0, 0, 1, 0))


def _read(batch: Batch, name: str) -> Tensor:
    """One kind of truth about a batch: (B, 1 + T, …) from the last observed frame on, or (B, …) if it has no time."""
    values = torch.from_numpy(batch.file.read(batch.part, name, batch.start, batch.start + len(batch.film)))
    values = values.double() if values.is_floating_point() else values
    if name.startswith("objects/"):
        return values
    return values[:, batch.given - 1 : batch.film.shape[1]]
