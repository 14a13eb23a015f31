"""Linear probes: what can be read from a model's states by a linear map, fitted on half of the clips.

The other half is scored. The halves are drawn, the same each time: clips may be in an order, and were those of a
condition all in one half, a map would be asked for what it was never shown. A linear map, since a stronger one would
work out what the states do not hold; ridge regression in closed form, since it has no training of its own that could
fail. Its penalty is the one that reads best each quarter of the fitted clips from the other three: with a single one
for all, wide states fit the noise of the clips more than narrow ones do, and seem to hold less. Labels are read by
regression onto one number per class, the largest of which is the answer.
"""

from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from videopred.check import require, require_kind

PENALTIES = (1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3)
"""Weights of the squared coefficients beside the mean squared error, of inputs of variance 1, to choose among."""


class PlaceProbe(NamedTuple):
    """How well places can be read, over the clips that were not fitted."""

    error_px: float
    """Mean distance from the true place."""
    mean_error_px: float
    """Mean distance of a guess that is always the mean place in the fitted clips."""
    r2: float
    """Share of the variance that is read: 1 is all, 0 as good as that guess."""


class LabelProbe(NamedTuple):
    """How well a label can be read, over the clips that were not fitted."""

    accuracy: float
    """Share of right answers."""
    commonest: float
    """Share that the commonest label of the fitted clips has."""


def probe_places(
    states: np.ndarray, places: np.ndarray, penalty: float | None = None, scenes: np.ndarray | None = None
) -> PlaceProbe:
    """How well the places of objects can be read from states.

    Args:
        states: (B, T, D) float, all finite.
        places: (B, T, N, 2) px; NaN where an object is not there.
        penalty: of PENALTIES or another above 0; None chooses one for each object.
        scenes: (B,) the scene that each clip is of, whose clips are alike, so that all are fitted or all are scored;
            each clip is one of its own when None.

    Raises:
        ValueError: fewer than two clips or scenes, arrays of other axes, states and places of other clips or steps,
            states that are not finite, or a penalty of 0 or less.
        TypeError: no arrays.
    """
    _check(states, places, "places", penalty)
    _check_places(places)
    fitted, scored = halves(_scenes(len(states), scenes))
    shown, true = places[fitted], places[scored]
    read, mean = np.empty((2, *true.shape))
    for one in range(places.shape[2]):
        read[:, :, one], mean[:, :, one] = _read(states[fitted], shown[:, :, one], states[scored], penalty)
    missed, guessed = (np.linalg.norm(said - true, axis=-1) for said in (read, mean))
    with np.errstate(invalid="ignore"):
        share = 1 - np.nansum((read - true) ** 2) / np.nansum((mean - true) ** 2)
    return PlaceProbe(_mean(missed), _mean(guessed), float(share))


def probe_labels(
    states: np.ndarray, labels: np.ndarray, penalty: float | None = None, scenes: np.ndarray | None = None
) -> LabelProbe:
    """How well a label can be read from states.

    Args:
        states: (B, T, D) float, all finite.
        labels: (B, T) whole numbers.
        penalty: of PENALTIES or another above 0; None chooses one.
        scenes: as for `probe_places`.

    Raises:
        ValueError, TypeError: as for `probe_places`.
    """
    _check(states, labels, "labels", penalty)
    fits, fix = labels.ndim == 2 and labels.dtype.kind in "biu", "give one whole number for each clip and step"
    require(fits, "labels", "be whole numbers (clips, steps)", f"shape {labels.shape} of {labels.dtype}", fix)
    fitted, scored = halves(_scenes(len(states), scenes))
    classes, kind = np.unique(labels, return_inverse=True)
    kind = kind.reshape(labels.shape)
    scores, _ = _read(states[fitted], np.eye(len(classes))[kind[fitted]], states[scored], penalty)
    common = np.bincount(kind[fitted].ravel(), minlength=len(classes)).argmax()
    return LabelProbe(float((scores.argmax(-1) == kind[scored]).mean()), float((kind[scored] == common).mean()))


def from_left_to_right(places: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """Objects in the order of their x in each frame, absent ones last: (B, T, N, 2).

    Balls have no names, so no map could say which of them is the first; it can say where the leftmost is.

    Args:
        places: (B, T, N, 2) px; NaN where an object is not there.
        values: (B, T, N, 2), what is put into this order, such as velocities; the places themselves when None.

    Raises:
        ValueError: arrays of other axes. TypeError: no arrays.
    """
    _check_places(places)
    if values is not None:
        _check_array("values", values)
        must, fix = f"have the clips, steps and objects of the places, {places.shape[:3]}", "cut both alike"
        require(values.ndim == 4 and values.shape[:3] == places.shape[:3], "values", must, values.shape, fix)
    order = np.argsort(places[..., 0], axis=-1, kind="stable")  # NaN comes last
    return np.take_along_axis(places if values is None else values, order[..., None], axis=-2)


def halves(scenes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The clips that are fitted, and those that are scored: those of half of the scenes each, drawn by a fixed seed.

    Args:
        scenes: (B,) the scene that each clip is of.
    """
    place = in_random_order(scenes, np.random.default_rng(0))
    order, fitted = np.argsort(place, kind="stable"), np.count_nonzero(place < (place.max() + 1) // 2)
    return order[:fitted], order[fitted:]


def in_random_order(scenes: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """(B,): which one the scene of each clip is, counted from 0, among the scenes in a random order."""
    kinds, scene = np.unique(scenes, return_inverse=True)
    return chance.permutation(len(kinds))[scene]


def _scenes(clips: int, scenes: np.ndarray | None) -> np.ndarray:
    """The scene that each clip is of."""
    if scenes is None:
        return np.arange(clips)
    _check_array("scenes", scenes)
    must, fix = f"have the clips of the states, ({clips},)", "cut both alike"
    require(scenes.shape == (clips,), "scenes", must, scenes.shape, fix)
    several, fix = len(np.unique(scenes)) > 1, "one half is fitted, the other scored"
    require(several, "scenes", "be two at least", 1, fix)
    return scenes


def _read(
    states: np.ndarray, target: np.ndarray, scored: np.ndarray, penalty: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """What is read from states that are scored, by a map from states to a target (B, T, P), and the target's mean."""
    inputs, wanted = states.reshape(-1, states.shape[-1]).astype(float), target.reshape(-1, target.shape[-1])
    known = np.isfinite(wanted).all(-1)
    shape = (*scored.shape[:2], target.shape[-1])
    if not known.any():
        return np.full(shape, np.nan), np.full(shape, np.nan)
    inputs, wanted = inputs[known], wanted[known]
    middle, spread, mean = inputs.mean(0), inputs.std(0), wanted.mean(0)
    spread = np.where(spread > 1e-6 * np.abs(middle), spread, 1)
    inputs, wanted = (inputs - middle) / spread, wanted - mean
    (weights,) = _maps(inputs, wanted, [_best_penalty(inputs, wanted) if penalty is None else penalty])
    return (scored - middle) / spread @ weights + mean, np.broadcast_to(mean, shape)


def _best_penalty(inputs: np.ndarray, wanted: np.ndarray) -> float:
    """The one of PENALTIES whose maps, each of three quarters of the steps, err least on the fourth.

    Steps stay in their order, so that those of most clips, which are much alike, are in one quarter.
    """
    steps, errors = np.arange(len(inputs)), np.zeros(len(PENALTIES))
    for quarter in np.array_split(steps, 4):
        others = np.setdiff1d(steps, quarter)
        maps = _maps(inputs[others], wanted[others], PENALTIES)
        errors += [((inputs[quarter] @ weights - wanted[quarter]) ** 2).sum() for weights in maps]
    return PENALTIES[errors.argmin()]


def _maps(inputs: np.ndarray, wanted: np.ndarray, penalties: Sequence[float]) -> list[np.ndarray]:
    """The coefficients (D, P) of least squares with each of these penalties."""
    steps = max(1, len(inputs))
    values, vectors = np.linalg.eigh(inputs.T @ inputs / steps)
    along = vectors.T @ (inputs.T @ wanted / steps)
    return [vectors @ (along / (values[:, None] + penalty)) for penalty in penalties]


def _mean(values: np.ndarray) -> float:
    """Mean of those that are numbers; NaN if none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _check_places(places: np.ndarray) -> None:
    """Refuse what are no places of objects."""
    _check_array("places", places)
    fits, fix = places.ndim == 4 and places.shape[3] == 2, "give what a data file has of `positions`"
    require(fits, "places", "have the axes (clips, steps, objects, 2)", f"shape {places.shape}", fix)
    finite, fix = not np.isinf(places).any(), "give NaN where an object is not there"
    require(finite, "places", "be finite or NaN", "infinite ones among them", fix)


def _check_array(argument: str, value: object) -> None:
    fix = "use NumPy's asarray, of a tensor after .cpu()"
    plain = isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    require_kind(plain, argument, "be an array", type(value).__name__, fix)
    assert isinstance(value, np.ndarray)
    require_kind(value.dtype.kind in "biuf", argument, "be of real numbers", value.dtype, "convert it")


def _check(states: np.ndarray, truth: np.ndarray, name: str, penalty: float | None) -> None:
    """Refuse what are no arrays, states and truths of other clips and steps, and what cannot be fitted."""
    for argument, value in (("states", states), (name, truth)):
        _check_array(argument, value)
    require(
        states.ndim == 3, "states", "have the axes (clips, steps, features)", f"shape {states.shape}", "flatten them"
    )
    require(states.shape[2] > 0, "states", "have at least one feature", f"shape {states.shape}", "give some")
    must, fix = f"have the clips and steps of the states, {states.shape[:2]}", "cut both alike"
    require(truth.shape[:2] == states.shape[:2], name, must, truth.shape[:2], fix)
    require(len(states) > 1, "states", "be of two clips at least", len(states), "one half is fitted, the other scored")
    fix = "leave such clips out, or train again"
    require(bool(np.isfinite(states).all()), "states", "be finite", "others among them", fix)
    number, fix = penalty is None or isinstance(penalty, Real), "give one, or leave it out"
    require_kind(number, "penalty", "be a number", repr(penalty), fix)
    require(penalty is None or penalty > 0, "penalty", "be above 0", penalty, "leave it out to have one chosen")
