"""How digits move: the laws of Moving MNIST, for many clips at once.

Every law stops a digit that would leave at the wall, and then turns it:

    fixed       the component towards the wall is drawn anew and points away from it, the other is drawn anew
    svg         the same with SVG's faults, from its one stream of random numbers, to the bit
    srivastava  the component towards the wall turns round

Clips lie along the last axis while they walk, and every operation is elementwise along it, so a clip's walk is the
same whatever is made beside it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from videopred.datasets.chance import draw_tables, to_whole
from videopred.datasets.clip import clip_seed
from videopred.datasets.contacts import contact_tables, wall_number
from videopred.datasets.settings import MovingMNISTConfig


class Walks(NamedTuple):
    """Walks of B clips of N digits over T frames."""

    picks: np.ndarray
    """(B, N) int, which of the part's handwritten digits."""
    active: np.ndarray
    """(B, N) bool, whether the clip has this digit."""
    corners: np.ndarray
    """(B, T, N, 2) float64 px, x and y of each digit's top left corner, inside the frame."""
    velocities: np.ndarray
    """(B, T, N, 2) float64 px per frame; after the bounce, if the digit has just bounced."""
    walls: np.ndarray
    """(B, T, N, 2) int8, what is hit along x and y on the way to the next frame: -1 the low, 1 the high wall, or 0."""

    @property
    def contacts(self) -> list[np.ndarray]:
        """B tables of CONTACT: a bounce counts to the frame at which the digit has turned."""
        clip, frame, digit, axis = np.nonzero(self.walls)
        walls = wall_number(axis, self.walls[clip, frame, digit, axis] > 0)
        return contact_tables([(clip, frame + 1, digit, walls, np.full(len(clip), np.nan))], len(self.walls))


def walk(recipe: MovingMNISTConfig, rows: int, sources: Sequence[np.random.Generator]) -> Walks:
    """Walks by the laws fixed and srivastava, one for each random source.

    Args:
        recipe: its law says which.
        rows: handwritten digits that the part has.
        sources: the random source of each clip, at its beginning.
    """
    frames, most = recipe.frames, max(recipe.digits)
    room = np.reshape([recipe.width, recipe.height], (2, 1, 1)) - recipe.digit_size
    count, pick, start, launch, turns = draw_tables(sources, (), (most,), (2, most), (2, most), (frames, 2, most))
    if recipe.law == "srivastava":
        angle = 2 * np.pi * launch[0]
        velocity = recipe.speed * np.stack([np.cos(angle), np.sin(angle)])
        steps = _steps(start * room, velocity, room, frames + 1, _reflect)
        corners, velocities, walls = (array[1:] for array in steps)  # the first frame shows the first step
    else:
        speed = int(recipe.speed)

        def leave(frame: int, velocity: np.ndarray, hit: np.ndarray) -> np.ndarray:
            # Both of one random number, as only one of them counts.
            inward, free = to_whole(turns[frame], 1, speed), to_whole(turns[frame], -speed, speed)
            return np.where(hit != 0, -hit * inward, np.where(hit.any(0), free, velocity))

        turn = _reflect if recipe.deterministic else leave
        corners, velocities, walls = _steps(
            to_whole(start, 0, room), to_whole(launch, -speed, speed), room, frames, turn
        )
    active = np.arange(most)[:, None] < np.array(recipe.digits)[to_whole(count, 0, len(recipe.digits) - 1)]  # (N, B)
    walls *= active
    return Walks(
        to_whole(pick, 0, rows - 1).T,
        active.T,
        *(array.transpose(3, 0, 2, 1) for array in (corners, velocities, walls)),
    )


def _reflect(frame: int, velocity: np.ndarray, hit: np.ndarray) -> np.ndarray:
    """The velocity, turned round along the axes that hit a wall."""
    return np.where(hit != 0, -velocity, velocity)


def _steps(
    corner: np.ndarray,
    velocity: np.ndarray,
    room: np.ndarray,
    frames: int,
    turn: Callable[[int, np.ndarray, np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners, velocities and walls (T, 2, N, B) of a walk from its start.

    Args:
        corner: (2, N, B) px.
        velocity: (2, N, B) px per frame.
        room: (2, 1, 1) px, the largest corner.
        frames: number of frames T.
        turn: (frame, velocity, walls hit) -> velocity after it, all (2, N, B).
    """
    corners, velocities = np.empty((2, frames, *corner.shape))
    walls = np.empty((frames, *corner.shape), np.int8)
    for frame in range(frames):
        corners[frame], velocities[frame] = corner, velocity
        reached = corner + velocity
        hit = np.subtract(reached > room, reached < 0, dtype=np.int8)
        corner, velocity = np.clip(reached, 0, room), turn(frame, velocity, hit)
        walls[frame] = hit
    return corners, velocities, walls


class LegacyWalks:
    """Walks by SVG's law, in order from its one stream of random numbers.

    The stream is `np.random.seed(k)`, k being the first 32-bit word of the random source of the part's first clip.
    SVG's code after that call, given the part's handwritten digits, makes these clips.

    Args:
        recipe: what to make.
        rows: handwritten digits that the part has.
        seed: seed of the whole data set.
        part: train, validation or test.
    """

    def __init__(self, recipe: MovingMNISTConfig, rows: int, seed: int, part: str) -> None:
        self._recipe, self._rows = recipe, rows
        self._word = clip_seed(seed, part, 0).generate_state(1)[0]
        self._rewind()

    def walk(self, indices: Sequence[int]) -> Walks:
        """The walks of these clips, each reached by drawing all before it."""
        columns = zip(*map(self._reach, indices), strict=True)
        picks, corners, velocities, walls = map(np.stack, columns)
        moves = corners.astype(float), velocities.astype(float), walls.astype(np.int8)
        return Walks(picks, np.ones(picks.shape, bool), *(array.swapaxes(1, 2) for array in moves))

    def _rewind(self) -> None:
        self._chance, self._next = np.random.RandomState(self._word), 0

    def _reach(self, index: int) -> tuple[np.ndarray, ...]:
        if index < self._next:
            self._rewind()
        for _ in range(self._next, index):
            self._clip()
        self._next = index + 1
        return self._clip()

    def _clip(self) -> tuple[np.ndarray, ...]:
        """Picks (N,), corners, velocities and walls (N, T, 2) of the stream's next clip: digit after digit."""
        digits = [self._digit() for _ in range(self._recipe.digits[0])]
        return tuple(map(np.array, zip(*digits, strict=True)))

    def _digit(self) -> tuple[int, list[tuple[int, ...]], list[tuple[int, ...]], list[list[int]]]:
        """One digit: which, then its start, its velocity, and at each wall y before x."""
        recipe, draw = self._recipe, self._chance.randint
        speed = int(recipe.speed)
        # SVG's faults: the last place along each axis is never taken, and the second wall of a corner draws both
        # components again without care for the first.
        ends = recipe.width - recipe.digit_size - 1, recipe.height - recipe.digit_size - 1
        pick = draw(self._rows)
        corner = [draw(ends[0] + 1), draw(ends[1] + 1)]
        velocity = [draw(-speed, speed + 1), draw(-speed, speed + 1)]
        corners, velocities, walls = [], [], []
        for frame in range(1, recipe.frames + 1):
            corners.append(tuple(corner))
            velocities.append(tuple(velocity))
            reached = [corner[axis] + velocity[axis] for axis in (0, 1)]
            hit = [int(reached[axis] > ends[axis]) - int(reached[axis] < 0) for axis in (0, 1)]
            corner = [min(max(reached[axis], 0), ends[axis]) for axis in (0, 1)]
            walls.append(hit)
            for axis in (1, 0):
                if hit[axis] and recipe.deterministic:
                    velocity[axis] = -velocity[axis]
                elif hit[axis] and frame < recipe.frames:  # nothing is drawn after the last frame
                    velocity[axis] = draw(1, speed + 1) if hit[axis] < 0 else draw(-speed, 0)
                    velocity[1 - axis] = draw(-speed, speed + 1)
        return pick, corners, velocities, walls
