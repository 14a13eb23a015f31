"""Who stays who: identity switches, and tracks that survive while their object is hidden."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from videopred.eval.matching import NOBODY, assign, distances, gates
from videopred.eval.object_metric import ObjectMetric, each
from videopred.eval.object_settings import SurvivalConfig
from videopred.eval.objects import SEEN, Objects

_STAYS = 1000.0  # worth more than any set of new pairs, whose worth is at most 1 each
_RECENT = 3  # frames before an occlusion in which the object must have been on a track
_HALF = 0.5  # share of an object that must be seen to say where it came out


class Switches(ObjectMetric):
    """Objects that are matched to another track than the last time they were matched.

    They are matched anew in every frame, within a radius: those that can stay on their tracks stay, then the others go
    to the nearest tracks that are left.
    Two balls that trade places are two switches, once; `position` keeps counting from then on.

    Source: CLEAR MOT (Bernardin & Stiefelhagen 2008), with the order of preference of trackeval.
    """

    name = "switches"
    label = "switches"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 3
    convention = (
        "objects per clip that change tracks at the step; matched within a radius, keeping tracks first (CLEAR)"
    )

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        matched = matches(predicted, true)
        last = _last_known(matched)
        changed = (matched[:, 1:] != NOBODY) & (last[:, :-1] != NOBODY) & (matched[:, 1:] != last[:, :-1])
        return each(changed.sum(-1))


class Survival(ObjectMetric):
    """Tracks that come out together with their object from behind what hid it.

    An occlusion is a run of frames in which less than 5 % of an object is seen, after a frame in which more was, and
    before frames in which half of it is. It counts if the object was on a track shortly before. The track survives if
    the object is matched to it in the first frames after. The result is by length: entry l is of all occlusions of l
    frames, wherever in the rollout they were.
    """

    name = "survival"
    label = "survival"
    range = (0.0, 1.0)
    higher_is_better = True
    decimals = 3
    along = "hidden frames"
    needs: ClassVar[tuple[str, ...]] = ("positions", "visibility/fraction")
    config: SurvivalConfig

    @property
    def convention(self) -> str:
        return (
            f"share of hidden objects that are on their old track for {self.config.frames} frames after they reappear; "
            f"`step` l: of those hidden for l frames, at least {self.config.shortest}"
        )

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        events = occlusions(predicted, true, self.config)
        return _by_length(events, events.survived.astype(float), np.ones(len(events.clip), bool), true)


class ExitError(Survival):
    """How far from its true place a track is when its object comes out: at the first frame that shows half of it.

    For the occlusions of `survival`, if the track is there; one that is not is no error here, but does not survive.
    """

    name = "exit-error"
    label = "exit error"
    unit = "px"
    range = (0.0, float("inf"))
    higher_is_better = False
    decimals = 2

    @property
    def convention(self) -> str:
        return (
            f"px between an object and its old track at the first of {self.config.frames} frames that show half of it "
            f"again; `step` l: of those hidden for l frames, at least {self.config.shortest}"
        )

    def compare(self, predicted: Objects, true: Objects) -> dict[str, Tensor]:
        events = occlusions(predicted, true, self.config)
        return _by_length(events, events.exit_error, ~np.isnan(events.exit_error), true)


@dataclass(frozen=True)
class Occlusions:
    """All occlusions of some clips, one entry each."""

    clip: np.ndarray
    """(E,) int."""
    object: np.ndarray
    """(E,) int, counted from 0."""
    length: np.ndarray
    """(E,) int: hidden frames."""
    survived: np.ndarray
    """(E,) bool: whether the object is on the same track afterwards as before."""
    exit_error: np.ndarray
    """(E,) float64, px, of that track when half of the object is seen again; NaN if the track is not there."""


def occlusions(predicted: Objects, true: Objects, config: SurvivalConfig) -> Occlusions:
    """The occlusions that begin and end within the predicted frames, of objects that were on a track before."""
    matched = matches(predicted, true).cpu().numpy()
    recent = _recent(matched)
    assert true.visibility is not None, "metrics that need it have checked"
    visibility, places = true.visibility.cpu().numpy(), true.positions.cpu().numpy()
    tracks, rows = predicted.positions.cpu().numpy(), []
    for clip, thing in np.ndindex(visibility.shape[0], visibility.shape[2]):
        for start, stop, after in _hidden_runs(visibility[clip, :, thing], config):
            track = recent[clip, start - 1, thing]
            if track != NOBODY:
                survived = bool((matched[clip, after, thing] == track).all())
                apart = np.linalg.norm(tracks[clip, after[0], track] - places[clip, after[0], thing])
                rows.append((clip, thing, stop - start, survived, apart))
    columns = zip(*rows, strict=True) if rows else [()] * 5
    return Occlusions(*(np.array(c, kind) for c, kind in zip(columns, (int, int, int, bool, float), strict=True)))


def matches(predicted: Objects, true: Objects) -> Tensor:
    """The track of each true object in each frame, matched anew: (B, 1 + T, N) int64, NOBODY where none is near."""
    gate, seen = gates(true).unsqueeze(-1), true.seen
    frames = []
    before = torch.full_like(gate[..., 0], NOBODY, dtype=torch.int64)
    for frame in range(true.positions.shape[1]):
        apart = distances(predicted.positions[:, frame], true.positions[:, frame])
        columns = torch.arange(apart.shape[-1], device=apart.device)
        worth = 1 - apart / (2 * gate) + _STAYS * (before.unsqueeze(-1) == columns)
        before = assign(worth, seen[:, frame].unsqueeze(-1) & (apart <= gate))
        frames.append(before)
    return torch.stack(frames, 1)


def _last_known(matched: Tensor) -> Tensor:
    """The track on which each object was matched last, up to and with each frame."""
    known = matched.clone()
    for frame in range(1, known.shape[1]):
        known[:, frame] = torch.where(known[:, frame] == NOBODY, known[:, frame - 1], known[:, frame])
    return known


def _recent(matched: np.ndarray) -> np.ndarray:
    """The same, but of the last few frames only."""
    known = matched.copy()
    for back in range(1, _RECENT):
        known[:, back:] = np.where(known[:, back:] == NOBODY, matched[:, :-back], known[:, back:])
    return known


def _hidden_runs(visibility: np.ndarray, config: SurvivalConfig) -> list[tuple[int, int, np.ndarray]]:
    """First hidden frame, first frame after, and the frames after in which it must be on its track, of one object."""
    hidden = visibility < SEEN  # false where it is not there at all
    edges = np.flatnonzero(np.diff(hidden.astype(int)))
    runs = []
    for start, stop in pairwise([*(edges + 1), len(hidden)]):
        if not hidden[start] or stop - start < config.shortest:
            continue
        again = np.flatnonzero(hidden[stop:])
        until = stop + again[0] if len(again) else len(hidden)
        after = stop + np.flatnonzero(visibility[stop:until] >= _HALF)[: config.frames]
        if len(after) == config.frames:  # else the clip ends, or it hides again, before anything can be told
            runs.append((int(start), int(stop), after))
    return runs


def _by_length(events: Occlusions, values: np.ndarray, counts: np.ndarray, true: Objects) -> dict[str, Tensor]:
    """Measurements (B, T) by length: entry l - 1 sums what is known of the occlusions of l frames."""
    shape = (len(true.positions), true.positions.shape[1] - 1)
    total, count = np.zeros(shape), np.zeros(shape)
    place = events.clip[counts], events.length[counts] - 1
    np.add.at(total, place, values[counts])
    np.add.at(count, place, 1)
    device = true.positions.device
    return {"total": torch.from_numpy(total).to(device), "count": torch.from_numpy(count).to(device)}
