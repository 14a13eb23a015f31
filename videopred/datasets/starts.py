"""How clips of balls begin: the states at frame 0, the colors, the curtains."""

from typing import NamedTuple

import numpy as np

from videopred import check
from videopred.datasets.painting import PALETTE
from videopred.datasets.physics import State
from videopred.datasets.settings import BallsConfig

_TRIES_PER_BALL = 20
_TRIES_PER_CLIP = 1000


class Start(NamedTuple):
    """How B clips of N balls begin; fixed balls come first, absent ones last."""

    state: State
    color: np.ndarray
    """(B, N, 3) uint8, red, green and blue; 0 for absent balls."""
    curtain: np.ndarray
    """(B, 4) int16, px: top row, left column, rows, columns."""


def draw_starts(recipe: BallsConfig, sources: list[np.random.Generator]) -> Start:
    """The beginnings of B clips, each drawn from its own source alone.

    A source gives, in this order: number, sizes, places, velocities, colors, curtain. So clips with and without a
    curtain are otherwise the same, and so are those of other colors, but that a curtain hung at random hangs elsewhere.

    Raises:
        ValueError: there is hardly any room for the balls.
    """
    clips, fixed, most = len(sources), len(recipe.fixed), recipe.objects
    radius, mass = np.full((2, clips, most), np.nan)
    radius[:, :fixed], mass[:, :fixed] = recipe.radii[0], np.inf
    for s, chance in enumerate(sources):
        balls = fixed + recipe.balls[chance.integers(len(recipe.balls))]
        size = chance.integers(len(recipe.radii), size=balls - fixed)
        radius[s, fixed:balls] = np.array(recipe.radii)[size]
        mass[s, fixed:balls] = np.array(recipe.masses)[size]
    radius *= recipe.px_per_unit
    position = _draw_places(recipe, radius, sources)
    velocity = np.full(position.shape, np.nan)
    color = np.zeros((clips, most, 3), np.uint8)
    curtain = np.zeros((clips, 4), np.int16)
    for s, chance in enumerate(sources):
        balls = int(np.isfinite(radius[s]).sum())
        velocity[s, :fixed], velocity[s, fixed:balls] = 0, _draw_velocities(recipe, balls - fixed, chance)
        color[s, :balls] = _draw_colors(recipe, balls, chance)
        curtain[s] = _draw_curtain(recipe, chance)
    return Start(State(position, velocity, radius, mass), color, curtain)


def _draw_places(recipe: BallsConfig, radius: np.ndarray, sources: list[np.random.Generator]) -> np.ndarray:
    """Centres (B, N, 2), px: the fixed balls', then those of the others, drawn one after the other.

    A ball is drawn again until it touches none before it. If it finds no room in many tries, the clip begins anew.

    Raises:
        ValueError: there is hardly any room at all.
    """
    centres = np.full((2, *radius.T.shape), np.nan)
    centres[:, : len(recipe.fixed)] = np.reshape(recipe.fixed, (-1, 2)).T[..., None] * recipe.px_per_unit
    left = np.arange(len(sources))
    for _ in range(_TRIES_PER_CLIP):
        centres[..., left], found = _try_places(recipe, centres[..., left], radius[left], [sources[s] for s in left])
        left = left[~found]
        if not len(left):
            return centres.T  # (B, N, 2)
    must, got = "fit into the arena", f"{recipe.objects} that found no room in {_TRIES_PER_CLIP} tries"
    raise ValueError(check.complaint("--balls", must, got, "choose fewer or smaller balls"))


def _try_places(
    recipe: BallsConfig, centres: np.ndarray, radius: np.ndarray, sources: list[np.random.Generator]
) -> tuple[np.ndarray, np.ndarray]:
    """Centres (2, N, B) after one attempt, and whether all balls of a clip (B,) found room."""
    fixed, (clips, most) = len(recipe.fixed), radius.shape
    share = np.full((clips, most, _TRIES_PER_BALL, 2), np.nan)
    for s, chance in enumerate(sources):
        balls = int(np.isfinite(radius[s]).sum())
        share[s, fixed:balls] = chance.random((balls - fixed, _TRIES_PER_BALL, 2))
    r = radius.T[..., None]  # (N, B, 1)
    size = np.reshape([recipe.width, recipe.height], (2, 1, 1, 1))
    # Sutskever's balls never start in the first fifth of either axis.
    low = np.maximum(r, 0.2 * size) if recipe.engine == "sutskever" else r
    tries = low + share.transpose(3, 1, 0, 2) * (size - (r + low))  # (2, N, B, tries)
    found = np.ones(clips, bool)
    for ball in range(fixed, most):
        apart = tries[:, None, ball] - centres[:, :ball, :, None]  # (2, balls so far, B, tries)
        overlap = apart[0] ** 2 + apart[1] ** 2 <= (r[:ball] + r[ball]) ** 2  # never true of absent balls
        free = ~overlap.any(0)
        found &= free.any(1)
        centres[:, ball] = np.take_along_axis(tries[:, ball], free.argmax(1)[None, :, None], 2)[..., 0]
    return centres, found


def _draw_velocities(recipe: BallsConfig, balls: int, chance: np.random.Generator) -> np.ndarray:
    """Velocities (N, 2) of moving balls, px per frame."""
    direction = chance.standard_normal((balls, 2))
    norm = np.sqrt((direction**2).sum(axis=1 if recipe.speed_norm == "per-ball" else None, keepdims=True))
    return direction * (recipe.speed * recipe.px_per_unit / norm)


def _draw_colors(recipe: BallsConfig, balls: int, chance: np.random.Generator) -> np.ndarray:
    """Colors (N, 3) of a clip's balls."""
    if recipe.colors == "white":
        return np.full((balls, 3), 255, np.uint8)
    if recipe.colors == "palette":
        return PALETTE[chance.integers(len(PALETTE), size=balls)]
    return PALETTE[chance.permutation(len(PALETTE))[:balls]]


def _draw_curtain(recipe: BallsConfig, chance: np.random.Generator) -> np.ndarray:
    """Top row, left column, rows and columns (4,) of a clip's curtain; all 0 without one."""
    if not recipe.has_curtain:
        return np.zeros(4, int)
    rows, columns = recipe.curtain
    room = np.array([recipe.height - rows, recipe.width - columns])
    corner = room // 2 if recipe.curtain_place == "center" else chance.integers(room, endpoint=True)
    return np.array([*corner, rows, columns])
