"""Bouncing balls.

Data sheet
    World      elastic discs without spin or friction in a closed box; nobody leaves, no energy is lost
    Frames     binary, one channel, hard-edged discs; 51 of 64 x 64 px by default
    Balls      4; each small (radius 0.8, mass 1) or large (radius 1.0, mass 6) by the toss of a coin
    Start      balls are placed one after the other, uniformly where they overlap neither wall nor ball
    Speed      Gaussian velocities, scaled together so that their squares sum to 1/3², in units per frame
    Units      the box is 10 units high: 6.4 px per unit; files hold px and px per frame
    Truth      positions, velocities, masks, contacts with exact times and impulses; radius and mass per ball
    Protocol   15 frames given, 35 imagined (RIMs, figure 3)

Source: van Steenkiste et al. 2018 (R-NEM), whose generator was never published; sizes, masses and speeds were
measured on its films. We differ in the physics: contacts are exact in time, where the original moves one step per
frame and pushes overlapping balls apart.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from videopred import check
from videopred.datasets.clip import Clip, clip_seed
from videopred.datasets.contacts import hits_by_frame
from videopred.datasets.physics import simulate
from videopred.datasets.raster import draw_discs, pixels_of, visible_fraction
from videopred.datasets.settings import BallsConfig

_CLIPS_AT_ONCE = 256  # enough to make NumPy's calls cheap, few enough to stay in cache
_TRIES_PER_BALL = 20
_TRIES_PER_CLIP = 1000


class BouncingBalls:
    """Clips of bouncing balls: see `World`."""

    def __init__(self, recipe: BallsConfig) -> None:
        self.recipe = recipe

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, in this order; each depends on its own address alone."""
        recipe, queue = self.recipe, iter(indices)
        while block := list(islice(queue, _CLIPS_AT_ONCE)):
            sources = (np.random.Generator(np.random.PCG64(clip_seed(seed, part, i))) for i in block)
            starts = zip(*(draw_start(recipe, chance) for chance in sources), strict=True)
            position, velocity, radius, mass = map(np.stack, starts)
            box = (recipe.width, recipe.height)
            motion = simulate(position, velocity, radius, mass, box, recipe.frames)
            for clip in zip(*motion, radius, mass, strict=True):
                yield _film(recipe, *clip)


def draw_start(
    recipe: BallsConfig, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The state of one clip at frame 0, drawn in the order number, sizes, places, velocities.

    Returns:
        position: (N, 2) float64, px; NaN for absent balls, as in all four.
        velocity: (N, 2) float64, px per frame.
        radius: (N,) float64, px.
        mass: (N,) float64.
    """
    balls, most = recipe.balls[chance.integers(len(recipe.balls))], max(recipe.balls)
    position, velocity = np.full((2, most, 2), np.nan)
    radius, mass = np.full((2, most), np.nan)
    size = chance.integers(len(recipe.radii), size=balls)
    radius[:balls] = np.array(recipe.radii)[size] * recipe.px_per_unit
    mass[:balls] = np.array(recipe.masses)[size]
    position[:balls] = _place(radius[:balls], (recipe.width, recipe.height), chance)
    direction = chance.standard_normal((balls, 2))
    velocity[:balls] = direction * (recipe.speed * recipe.px_per_unit / math.sqrt((direction**2).sum()))
    return position, velocity, radius, mass


def _place(radius: np.ndarray, box: tuple[int, int], chance: np.random.Generator) -> np.ndarray:
    """Centres (N, 2) of balls thrown in one after the other, each again until it touches none before it.

    A ball that finds no room in many tries empties the box, and all begin anew.

    Raises:
        ValueError: there is hardly any room at all.
    """
    for _ in range(_TRIES_PER_CLIP):
        centres = np.zeros((0, 2))
        for r in radius:
            tries = r + chance.random((_TRIES_PER_BALL, 2)) * (np.array(box) - 2 * r)
            distance2 = ((tries[:, None] - centres) ** 2).sum(-1)  # (tries, balls so far)
            free = (distance2 > (radius[: len(centres)] + r) ** 2).all(1)
            if not free.any():
                break
            centres = np.vstack([centres, tries[free.argmax()]])
        else:
            return centres
    must, got = "fit into the arena", f"{len(radius)} that found no room in {_TRIES_PER_CLIP} tries"
    raise ValueError(check.complaint("--balls", must, got, "choose fewer or smaller balls"))


def _film(
    recipe: BallsConfig,
    positions: np.ndarray,
    velocities: np.ndarray,
    contacts: np.ndarray,
    radius: np.ndarray,
    mass: np.ndarray,
) -> Clip:
    """The clip of one motion: discs become pixels.

    Args:
        positions: (T, N, 2) float64, px; velocities alike, px per frame.
        contacts: (E,) CONTACT.
        radius: (N,) float64, px.
        mass: (N,) float64.
    """
    # Drawn from the rounded numbers that the file holds, so that the masks can be drawn again from it.
    positions, radius = positions.astype(np.float32), radius.astype(np.float32)
    masks, drawn = draw_discs(positions, radius, recipe.height, recipe.width)
    events, hit = hits_by_frame(contacts, recipe.frames, len(radius))
    return Clip(
        frames=np.where(masks > 0, np.uint8(255), np.uint8(0))[..., None],
        masks=masks,
        positions=positions,
        velocities=velocities.astype(np.float32),
        collisions=pixels_of(masks, hit),
        events=events,
        visibility=visible_fraction(masks, drawn),
        contacts=contacts,
        objects={"active": ~np.isnan(radius), "mass": mass.astype(np.float32), "radius": radius},
    )
