"""Scenes of the occlusion world: what stands where, and what happens, before anything is drawn.

A scene has two possible runs, A and B, that differ in the target alone. All lengths are px, all times frames.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from videopred.datasets.painting import PALETTE
from videopred.datasets.settings import OBJECT_SIDE, OcclusionConfig
from videopred.datasets.shapes import HALF_WIDTH, HEIGHT, SHAPES, half_widths, spans

SHADES = {"wall": (15, 35), "floor": (45, 70), "occluder": (95, 115)}
"""Range of each surface's grey, which is then tinted a little; all below half of white, where objects are above."""
LANES = 3


class Condition(NamedTuple):
    """What a scene is about."""

    block: str
    movement: str
    occlusion: str
    objects: int


class Run(NamedTuple):
    """What one object does in a possible clip."""

    x: np.ndarray
    """(T,) float64, px, the column of its centre."""
    shape: int
    """Its number in SHAPES."""
    present: bool
    """Whether it is there at all."""


@dataclass(frozen=True)
class Thing:
    """An object of a scene."""

    ground: int
    """Row on whose upper edge it stands."""
    color: np.ndarray
    """(3,) uint8."""
    runs: tuple[Run, Run]
    """What it does in A and in B; the same but for the target."""


@dataclass(frozen=True)
class Scene:
    """All there is to draw, and to know, of a scene."""

    condition: Condition
    stage: "Stage"
    colors: dict[str, np.ndarray]
    """wall, floor, occluder -> (3,) uint8."""
    floor: int
    """First row of the floor."""
    things: tuple[Thing, ...]
    """Objects from the back to the front; no two ever overlap."""
    target: int
    """Which of them A and B differ in."""
    occluders: np.ndarray
    """(T, R, 4) int16, px: top, left, height and width of each occluder; height 0 while it is down."""
    splices: tuple[int, ...]
    """Frames at which an impossible clip goes on with the other run."""
    order: np.ndarray
    """(4,) int, a permutation: which of AA, BB, AB, BA each clip of a test scene is."""


@dataclass(frozen=True)
class Stage:
    """Sizes that follow from the size of the frame."""

    height: int
    width: int

    @property
    def side(self) -> float:
        """Side of the square that has the area of every object."""
        return OBJECT_SIDE * min(self.height, self.width)

    @property
    def half_width(self) -> float:
        """Half of the widest object's width."""
        return HALF_WIDTH * self.side

    @property
    def rows(self) -> int:
        """Rows of the band that holds an object of any shape."""
        return math.ceil(HEIGHT * self.side)

    @property
    def base(self) -> int:
        """Row on whose upper edge the occluders stand."""
        return self.height - max(1, self.height // 32)

    def ground(self, lane: int) -> int:
        """Row on whose upper edge the objects of a lane stand; lane 0 is in front, and no two lanes share a row."""
        return self.base - 1 - lane * (self.rows + 1)


class Timing(NamedTuple):
    """When the occluders move: they rise from frame `rise` to `up`, and fall from `down` to `fallen`."""

    rise: int
    up: int
    down: int
    fallen: int


def draw_scene(recipe: OcclusionConfig, condition: Condition, chance: np.random.Generator) -> Scene:
    """A scene of that condition."""
    stage = Stage(recipe.height, recipe.width)
    lanes = np.sort(chance.permutation(LANES)[: condition.objects])[::-1]
    target, colors = int(chance.integers(condition.objects)), PALETTE[chance.permutation(len(PALETTE))]
    timing = _draw_timing(recipe.frames, chance)
    places, occluders = _draw_target(recipe.frames, stage, condition, timing, chance)
    splices = _hidden_middles(stage, places, occluders)
    seen = _columns_seen(recipe, condition, timing, occluders)
    pieces = list(zip(np.split(places[0], splices), np.split(seen, splices), strict=True))
    things = []
    for number, lane in enumerate(lanes):
        runs = _draw_runs(condition, stage, places, pieces, chance)
        if number != target:
            runs = (Run(_wander(recipe.frames, stage, chance), runs[0].shape, True),) * 2
        things.append(Thing(stage.ground(lane), colors[number], runs))
    top = things[target].ground - stage.rows - int(chance.integers(1, 2 + stage.rows // 3))
    moving = _move_occluders(recipe, condition, stage.base, stage.base - top, timing, occluders)
    greys = {name: chance.integers(low, high) + chance.integers(-12, 13, 3) for name, (low, high) in SHADES.items()}
    paints = {name: grey.astype(np.uint8) for name, grey in greys.items()}
    floor = stage.ground(LANES - 1) - int(chance.integers(1, 2 + stage.rows // 2))
    return Scene(condition, stage, paints, floor, tuple(things), target, moving, splices, chance.permutation(4))


def _draw_timing(frames: int, chance: np.random.Generator) -> Timing:
    """Occluders up by a sixth of the clip, and down again in its last sixth."""
    last = frames - 1
    rise, up, down, fallen = chance.uniform((0.04, 0.12, 0.12, 0.04), (0.07, 0.16, 0.16, 0.07))
    return Timing(round(rise * last), round(up * last), last - round(down * last), last - round(fallen * last))


def _columns_seen(recipe: OcclusionConfig, condition: Condition, timing: Timing, occluders: np.ndarray) -> np.ndarray:
    """(T, W) bool: which columns no occluder hides any part of."""
    columns, frames = np.arange(recipe.width), np.arange(recipe.frames)[:, None]
    behind = ((occluders[:, :1] <= columns) & (columns < occluders[:, 1:])).any(0)
    return ~(behind & (timing.rise < frames) & (frames < timing.fallen) & (condition.occlusion == "occluded"))


def _draw_runs(
    condition: Condition,
    stage: Stage,
    places: np.ndarray,
    pieces: Sequence[tuple[np.ndarray, np.ndarray]],
    chance: np.random.Generator,
) -> tuple[Run, Run]:
    """What the target does in A and in B; another shape can be told from the first before and after every splice.

    Args:
        pieces: before, between and after splices, where it is in A (T,), and the columns that are seen (T, W).
    """
    shape, other = map(int, chance.choice(len(SHAPES), 2, replace=False))
    one = Run(places[0], shape, True)
    if condition.block == "O1":
        return one, one._replace(present=False)
    if condition.block == "O2":
        if any(_look_alike(stage, *piece, shape, other) for piece in pieces):
            other = len(SHAPES) - shape - other  # the third one: the three numbers sum to 3
        return one, one._replace(shape=other)
    return one, one._replace(x=places[1])


def _look_alike(stage: Stage, x: np.ndarray, seen: np.ndarray, shape: int, other: int) -> bool:
    """Whether two shapes cover the same of the columns seen in all frames, as a disc and a square in 24 rows may do.

    Args:
        x: (T,) where they are.
        seen: (T, W) bool.
        shape, other: their numbers.
    """
    columns, covered = np.arange(stage.width), []
    for number in (shape, other):
        starts, stops = spans(x, half_widths(number, stage.side, stage.rows), stage.width)  # (T, rows)
        inside = (starts[..., None] <= columns) & (columns < stops[..., None])
        covered.append(inside & seen[:, None])
    return np.array_equal(*covered)


def _wander(frames: int, stage: Stage, chance: np.random.Generator) -> np.ndarray:
    """Columns (T,) of an object that nothing happens to: at rest, or in uniform motion inside the frame."""
    first, last = chance.uniform(stage.half_width, stage.width - stage.half_width, 2)
    rests = chance.random() < 0.5
    return _as_stored(np.full(frames, first) if rests else np.linspace(first, last, frames))


def _as_stored(places: np.ndarray) -> np.ndarray:
    """Places rounded to what a file holds, so that the masks can be drawn again from it."""
    return places.astype(np.float32).astype(float)


def _draw_target(
    frames: int, stage: Stage, condition: Condition, timing: Timing, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Where the target is in both runs, and where occluders hide it.

    In O3 one run is ahead of the other by the `lead`; both are hidden at the same time for a while.

    Returns:
        places: (2, T) float64, columns of its centre.
        occluders: (R, 2) int, left and right of each occluder.
    """
    width, half = stage.width, stage.half_width
    leads = {"static": (0.2, 0.3), "dynamic-1": (0.15, 0.2), "dynamic-2": (0.06, 0.08)}[condition.movement]
    lead = chance.uniform(*leads) * width * (condition.block == "O3")
    free, mirrored = chance.uniform(-1, 1), chance.random() < 0.5
    room = width / 2 - half - lead / 2  # from the middle of the frame to the end of a run's middle
    if condition.movement == "static":
        reach = half + lead / 2 + chance.uniform(0.03, 0.06) * width
        middle, path = width / 2 + free * (width / 2 - reach), 0.0
        edges = [(middle - reach, middle + reach)]
    elif condition.movement == "dynamic-1":
        path = chance.uniform(0.5, 0.6) * width
        middle = width / 2 + free * (room - path / 2)
        reach = half + lead / 2 + chance.uniform(0.06, 0.1) * path
        edges = [(middle - reach, middle + reach)]
    else:
        path = chance.uniform(0.95, 1) * 2 * room
        middle = width / 2 + free * (room - path / 2)
        gap = half + chance.uniform(0.005, 0.01) * width
        before, after = (path * (share / (frames - 1) - 0.5) for share in (timing.up, timing.down))
        edges = [(middle + before - lead / 2 - half, middle - gap), (middle + gap, middle + after + lead / 2 + half)]
    places = middle + np.linspace(-path / 2, path / 2, frames) + np.array([[-lead / 2], [lead / 2]])
    occluders = np.array([(max(math.floor(left), 0), min(math.ceil(right), width)) for left, right in edges])
    if mirrored:
        places, occluders = width - places, width - occluders[::-1, ::-1]
    return _as_stored(places), occluders


def _hidden_middles(stage: Stage, places: np.ndarray, occluders: np.ndarray) -> tuple[int, ...]:
    """For each occluder, the middle of the frames in which the target is behind it in both runs, in order of time."""
    half, middles = stage.half_width, []
    for left, right in occluders:
        hidden = ((places - half >= left) & (places + half <= right)).all(0)
        behind = np.flatnonzero(hidden)
        middles.append(int(behind[len(behind) // 2]))
    return tuple(sorted(middles))


def _move_occluders(
    recipe: OcclusionConfig, condition: Condition, base: int, tallest: int, timing: Timing, occluders: np.ndarray
) -> np.ndarray:
    """Places (T, R, 4) int16 of the occluders over time; zeros for those that the scene does not have."""
    most = 2 if "dynamic-2" in recipe.movements else 1
    moving = np.zeros((recipe.frames, most, 4), np.int16)
    if condition.occlusion == "occluded":
        share = np.interp(np.arange(recipe.frames), timing, (0, 1, 1, 0))
        height = np.rint(tallest * share**2 * (3 - 2 * share)).astype(int)  # starts and stops gently
        for number, (left, right) in enumerate(occluders):
            moving[:, number] = np.stack(np.broadcast_arrays(base - height, left, height, right - left), axis=1)
    return moving
