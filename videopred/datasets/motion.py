"""One ball that moves in one of three ways.

Data sheet
    World      one ball; its way of moving is drawn for the clip and stays
    Frames     binary, one channel, a hard-edged disc of radius 0.8; 51 of 64 x 64 px by default
    Modes      accelerate  from rest, 0.002 to 0.006 per frame², in a direction that is uniform
               constant    0.05 to 0.15 per frame, in a direction that is uniform
               walk        0.1 to 0.2 per frame; at each frame it turns by a Gaussian angle of deviation 45 degrees, and
                           it reflects at the walls
               equally likely; accelerations and speeds are uniform
    Start      uniform: anywhere for a walk, else over the places from which the ball meets no wall
    Units      the frame is 10 units high: 6.4 px per unit; files hold px and px per frame
    Truth      positions, velocities at the frame's time, masks, contacts of walks with exact times; labels/mode: 0
               accelerate, 1 constant, 2 walk
    Protocol   5 frames given, 46 imagined: after about five, SCOFF's schemata have settled (figure 3)

Source: Goyal et al. 2020 (SCOFF), section 5, who give the three modes only. Sizes, speeds, walls and numbers of
frames are ours.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from videopred.datasets.chance import draw_tables, open_in_blocks, to_whole
from videopred.datasets.clip import Clip
from videopred.datasets.one_ball import Paths, draw_clips, reflect
from videopred.datasets.one_ball_settings import Mode, MotionConfig

MODES: tuple[str, ...] = get_args(Mode)
"""What the numbers in labels/mode mean."""
_CLIPS_AT_ONCE = 64


class OneMotion:
    """Clips of one ball with one way to move: see `World`."""

    def __init__(self, recipe: MotionConfig) -> None:
        self.recipe = recipe

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, in this order; each depends on its own address alone."""
        for sources in open_in_blocks(seed, part, indices, _CLIPS_AT_ONCE):
            modes, paths = _draw(self.recipe, sources)
            for mode, clip in zip(modes, draw_clips(self.recipe, paths), strict=True):
                yield replace(clip, labels={"mode": np.asarray(mode, np.uint8)})


def _draw(recipe: MotionConfig, sources: Sequence[np.random.Generator]) -> tuple[np.ndarray, Paths]:
    """Modes (B,) and paths of some clips."""
    pick, start, angle, share = draw_tables(sources, (), (2,), (), ())
    turns = np.radians(recipe.turn) * np.stack([source.standard_normal(recipe.frames) for source in sources], axis=1)
    mode = np.array([MODES.index(name) for name in recipe.modes])[to_whole(pick, 0, len(recipe.modes) - 1)]
    spans = np.array([recipe.acceleration, recipe.constant_speed, recipe.walk_speed])
    low, high = spans[mode].T * recipe.px_per_unit
    amount = low + share * (high - low)  # px per frame or, to accelerate, px per frame²
    room = np.reshape(recipe.room, (2, 1)) * recipe.px_per_unit
    angle = 2 * np.pi * angle
    direction = np.stack([np.cos(angle), np.sin(angle)])

    time = np.arange(recipe.frames + 1)[:, None]
    speeds_up = mode == MODES.index("accelerate")
    way = amount * np.where(speeds_up, time**2 / 2, time)  # (T + 1, B): the last step may not meet a wall either
    left, right = np.maximum(0, -way[-1] * direction), np.minimum(room, room - way[-1] * direction)
    places = left + start * (right - left) + way[:-1, None] * direction
    velocities = amount * direction * np.where(speeds_up, time[:-1], 1)[:, None]

    def turn(frame: int, velocity: np.ndarray) -> np.ndarray:
        (x, y), (cos, sin) = velocity, (np.cos(turns[frame]), np.sin(turns[frame]))
        return np.stack([x * cos - y * sin, x * sin + y * cos])

    walk = reflect(start * room, amount * direction, room, recipe.frames, turn)
    walks = mode == MODES.index("walk")
    chosen = (walk.places, places), (walk.velocities, velocities), (walk.hits, np.full_like(places, np.nan))
    return mode, Paths(*(np.where(walks, *pair) for pair in chosen))
