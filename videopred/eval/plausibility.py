"""Plausibility: how often impossible films look more plausible than possible ones.

A scene is four films of the same two runs, two possible and two impossible. Arrays over films are (scenes, 4).

    relative error  share of scenes whose impossible films are together more plausible; a tie counts one half
    strict          the same as the benchmark's own script counts: a tie is no error, so a constant scores 0
    absolute error  1 - AUC, over all films of all scenes; equal scores count one half

Each is 0 at best, and 0.5 by chance. Sums of floating-point numbers depend on their order in the last bit, which would
break ties; here they are exact until the comparison. A scorer that looks at each frame by itself therefore gets a
relative error of exactly 0.5 with `mean` and `matched`, as possible and impossible films show the same frames equally
often. With `max` it does not: an object that is absent in one run shows in one possible film and in both impossible
ones, so the largest number of lit pixels is enough to tell.

Source: Riochet et al. 2018 (IntPhys) for both errors; IntPhys-Baselines for half credit. Intervals over scenes are
ours: of relative errors Wilson's (1927), as the bootstrap's have no width at 0 and 1 and too little near them; of
absolute errors the bootstrap's, with the share of pairs within scenes held, widened as those over clips are.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np

from videopred import check
from videopred.eval.intervals import Estimate, over_clips

_AT_ONCE = 200  # resamples


@dataclass(frozen=True)
class Scenes:
    """The films to judge, and what is known of them.

    Raises:
        FaultyFileError: a scene has not two possible and two impossible films.
    """

    names: Sequence[Sequence[str]]
    """Names of the four films of each scene."""
    possible: np.ndarray | None
    """(scenes, 4) bool; None if it is not known."""
    conditions: Mapping[str, Sequence[str]]
    """Name such as block -> its value for each scene."""

    def __post_init__(self) -> None:
        if self.possible is None:
            return
        for count, films in zip(self.possible.sum(1), self.names, strict=True):
            must, got = "hold two possible and two impossible films of each scene", f"{count} possible of "
            fix = "mend its labels, or leave the scene out"
            check.require_sound(count == 2, "DATA", must, got + ", ".join(films), fix)


AGGREGATES: dict[str, Callable[[np.ndarray, np.ndarray], list[float]]] = {
    "mean": lambda surprise, differs: surprise.tolist(),
    "max": lambda surprise, differs: [surprise.max()],
    "matched": lambda surprise, differs: surprise[differs].tolist(),
}
"""Name -> (surprise (T,), whether a frame differs from that of the film with the same beginning (T,)) -> the numbers
whose mean is the surprise of the film. Of films whose means are compared, exact sums of them are."""


@dataclass(frozen=True)
class Plausible:
    """How plausible films are, and by how much the possible films of a scene lead."""

    films: np.ndarray
    """(scenes, 4) float64; larger is more plausible."""
    margins: np.ndarray | None
    """(scenes,) float64 of exact sign: possible less impossible; None if it is not known which are possible."""


def aggregate(name: str, surprise: np.ndarray, differs: np.ndarray, possible: np.ndarray | None) -> Plausible:
    """Plausibility of films: less surprise is more plausible.

    Args:
        name: a key of AGGREGATES.
        surprise: (scenes, 4, T) float64, finite.
        differs: (scenes, 4, T) bool: where a film differs from the one with the same beginning.
        possible: (scenes, 4) bool, or None if it is not known.

    Raises:
        ValueError: there is no such aggregate; with `matched`, a film nowhere differs.
    """
    terms_of = AGGREGATES[check.one_of("--aggregates", name, AGGREGATES)]
    films, margins = np.empty(surprise.shape[:2]), np.empty(len(surprise))
    for scene, (of_scene, differing) in enumerate(zip(surprise, differs, strict=True)):
        check_differing([name], differing, scene)
        terms = [terms_of(*film) for film in zip(of_scene, differing, strict=True)]
        films[scene] = [-math.fsum(of_film) / len(of_film) for of_film in terms]
        if possible is not None:
            margins[scene] = _margin(terms, possible[scene])
    return Plausible(films, None if possible is None else margins)


def check_differing(aggregates: Sequence[str], differs: np.ndarray, scene: int) -> None:
    """Refuse a scene of which `matched` can say nothing, if it is among the aggregates.

    Args:
        aggregates: names of what is asked for.
        differs: (4, T) bool: where a film differs from the one with the same beginning.
        scene: its number.

    Raises:
        ValueError: a film nowhere differs.
    """
    must, got = "hold films that differ from those with the same beginning", f"none in scene {scene} (counted from 0)"
    fix = "leave matched out of --aggregates, lower --every or --burn-in, or take larger frames"
    check.require("matched" not in aggregates or bool(differs.any(1).all()), "DATA", must, got, fix)


def _margin(terms: list[list[float]], possible: np.ndarray) -> float:
    """Mean terms of the impossible films less those of the possible ones: a number of exact sign.

    Multiplied by the number of terms; where films have several such numbers, by their least common multiple, so that no
    term is divided: terms of shorter films are added several times.
    """
    whole, signs = math.lcm(*map(len, terms)), np.where(possible, -1, 1)
    films = zip(signs, terms, strict=True)
    return math.fsum(sign * term for sign, film in films for term in film * (whole // len(film)))


def from_numbers(films: np.ndarray, possible: np.ndarray | None) -> Plausible:
    """Plausibility made elsewhere, one number per film. Margins no larger than rounding makes them count as ties.

    Args:
        films: (scenes, 4) float64, finite; larger is more plausible.
        possible: (scenes, 4) bool, or None if it is not known.
    """
    if possible is None:
        return Plausible(films, None)
    margins = np.array([math.fsum(scene) for scene in np.where(possible, films, -films)])
    rounding = 2 * np.finfo(float).eps * np.abs(films).max(1)
    return Plausible(films, np.where(np.abs(margins) <= rounding, 0, margins))


# --- errors --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Errors:
    """The errors in scenes of one kind."""

    where: Mapping[str, str]
    """Condition -> value that the scenes share, such as block -> O1; empty for all scenes."""
    scenes: int
    relative: Estimate
    strict: float
    ties: int
    """Scenes whose possible and impossible films are equally plausible."""
    absolute: Estimate


def errors(plausible: Plausible, scenes: Scenes, *, resamples: int = 1000, seed: int = 0) -> list[Errors]:
    """Errors over all scenes, by each condition, and by block and each other condition; none without labels.

    Intervals depend only on the seed and the scenes of a row.

    Args:
        plausible: of the films, with its margins.
        scenes: which films are possible, and the conditions.
        resamples: how often scenes are resampled for the intervals of absolute errors.
        seed: random seed of the resamples.

    Returns:
        All scenes first. Kinds without scenes are left out.
    """
    if scenes.possible is None:
        return []
    kinds = kinds_of(scenes)
    return [_errors(plausible, scenes.possible, where, chosen, resamples, seed) for where, chosen in kinds]


def wrong(plausible: Plausible) -> np.ndarray:
    """(scenes,) in {0, 0.5, 1}: whether a scene's impossible films are more plausible; a tie counts one half."""
    assert plausible.margins is not None, "errors need labels"
    return np.where(plausible.margins == 0, 0.5, plausible.margins < 0)


def kinds_of(scenes: Scenes) -> list[tuple[dict[str, str], np.ndarray]]:
    """What the scenes of a kind share, and which they are; all scenes first. Kinds without scenes are left out."""
    known = {name: np.array(values) for name, values in scenes.conditions.items()}
    kinds: list[tuple[dict[str, str], np.ndarray]] = [({}, np.arange(len(scenes.names)))]
    kinds += [
        ({name: value}, np.flatnonzero(values == value)) for name, values in known.items() for value in _sorted(values)
    ]
    blocks = known.pop("block", np.array([]))
    for name, values in known.items():
        if len(set(blocks)) > 1 < len(set(values)):
            for block, value in product(_sorted(blocks), _sorted(values)):
                kinds.append(({"block": block, name: value}, np.flatnonzero((blocks == block) & (values == value))))
    return [(where, chosen) for where, chosen in kinds if len(chosen)]


def _sorted(values: np.ndarray) -> list[str]:
    """The values that there are, words by the alphabet, and numbers by their size."""
    return sorted({str(value) for value in values}, key=lambda value: (int(value) if value.isdigit() else 0, value))


def _errors(
    plausible: Plausible, possible: np.ndarray, where: dict[str, str], chosen: np.ndarray, resamples: int, seed: int
) -> Errors:
    assert plausible.margins is not None, "errors need labels"
    margins = plausible.margins[chosen]
    return Errors(
        where,
        len(chosen),
        _relative(float(wrong(plausible)[chosen].mean()), len(chosen)),
        float((margins < 0).mean()),
        int((margins == 0).sum()),
        _absolute(plausible.films[chosen], possible[chosen], resamples, seed),
    )


def _relative(wrong: float, scenes: int) -> Estimate:
    """A share of so many scenes with Wilson's interval, which is somewhat too wide where there are ties."""
    square = NormalDist().inv_cdf(0.975) ** 2
    reach = math.sqrt(square * (wrong * (1 - wrong) * scenes + square / 4))
    least, least_right = ((share * scenes + square / 2 - reach) / (scenes + square) for share in (wrong, 1 - wrong))
    return Estimate(wrong, least, 1 - least_right)


def _absolute(films: np.ndarray, possible: np.ndarray, resamples: int, seed: int) -> Estimate:
    """1 - AUC with the bootstrap's interval over scenes; a single scene has none."""
    scenes = len(films)
    value = float(_weighted_absolute(films, possible, np.ones((1, scenes)))[0])
    if scenes == 1:
        return Estimate(value)
    draws = np.random.default_rng(seed).multinomial(scenes, np.full(scenes, 1 / scenes), size=resamples).astype(float)
    low, high = over_clips(_weighted_absolute(films, possible, draws), scenes)
    return Estimate(value, max(0.0, float(low)), min(1.0, float(high)))


def _weighted_absolute(films: np.ndarray, possible: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(R,): 1 - AUC when scenes are drawn as often as `weights` (R, scenes) say, as many as there are.

    That is the share of pairs of a possible and an impossible film whose impossible film scores higher, ties one half.
    One pair in so many as there are scenes is of films of one scene. If a scene drawn twice were held against its copy,
    about twice as many would be. As films of a scene are compared more easily, resamples would err less than the films
    that they are drawn from. So the errors within scenes and across scenes are measured apart, and keep their weights.
    """
    scenes, pairs = len(films), 4  # of films of a scene, or of two
    order = np.argsort(films, axis=None, kind="stable")
    scores, is_possible, scene = films.ravel()[order], possible.ravel()[order], order // films.shape[1]
    starts = np.flatnonzero(np.diff(scores, prepend=-np.inf))  # of each run of equal scores
    ahead = films[possible].reshape(scenes, 2, 1) - films[~possible].reshape(scenes, 1, 2)
    own = ((ahead < 0) + (ahead == 0) / 2).sum((1, 2))  # wrong pairs within each scene
    found = []
    for some in np.split(weights, range(_AT_ONCE, len(weights), _AT_ONCE)):
        each = some[:, scene]
        good, bad = (np.add.reduceat(each * which, starts, axis=1) for which in (is_possible, ~is_possible))
        below = good.cumsum(1) - good / 2  # possible films that score less, and half of those that score as much
        wrong, square = (bad * below).sum(1), some**2
        within = some @ own / (pairs * scenes)
        others = pairs * (scenes**2 - square.sum(1))  # none where one scene is all that was drawn
        across = np.divide(wrong - square @ own, others, out=within.copy(), where=others > 0)
        found.append((within + (scenes - 1) * across) / scenes)
    return np.concatenate(found)
