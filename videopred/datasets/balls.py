"""Bouncing balls.

Data sheet, of balls4 unless another preset is named; every line is a setting of `BallsConfig`.

    World      discs without spin or friction in a closed box; contacts are elastic and exact in time
    Frames     binary, one channel, hard-edged discs; 51 of 64 x 64 px
    Balls      4; each small (radius 0.8, mass 1) or large (radius 1.0, mass 6) by the toss of a coin
    Start      balls are placed one after the other, uniformly where they overlap neither wall nor ball
    Speed      Gaussian velocities, scaled together so that their squares sum to 1/3², in units per frame
    Units      the box is 10 units high: 6.4 px per unit; files hold px and px per frame
    Truth      positions, velocities, masks, contacts with times and impulses; radius and mass per ball, and its color
               if it has one; the curtain's place. Fixed balls come first, with infinite mass
    Protocol   15 frames given, 35 imagined (RIMs, figure 3)

    balls678   6, 7 or 8 balls, equally likely. The sum of squared speeds is that of balls4, so each ball is slower
    balls1-8   always that many, with the same sum of squared speeds: where balls are fewer, each is faster
    curtain    3 equal balls of radius 1.2 with a speed of 1/2 in all; 28 x 28 px of a clip, anywhere, are black, always
               in front of the balls, and cannot be told from the background
    colored4   as balls4 in RGB; every ball red, blue, green or purple (ColorBrewer's Set1) by chance, with repetition,
               the same for the whole clip; colored678 likewise
    balls-sutskever   3 equal balls of radius 1.2 with a speed of 1/2 in all, by Sutskever's law; soft blobs; 100 frames
               of 30 x 30 px. Balls start in the last four fifths of both axes, and overlap in 4 % of the frames
    crops      3 equal balls of radius 0.8 and a fixed one in the centre, each mover with a speed of 1/4; 100 frames of
               48 x 48 px; crops1 to crops6 have that many movers, each as fast

Sources. R-NEM (van Steenkiste et al. 2018) never published its generator: sizes, masses, speeds and curtain of balls4,
balls678 and curtain were measured on its films, and that the coin is fair, that 6, 7 and 8 are equally likely and that
starts are uniform is assumed. Their law of motion is `--engine rnem`; ours is exact, where theirs moves one step per
frame and pushes overlapping balls apart. SCOFF describes colored balls of four colors; the four are those of its
authors' later code, which draws them anew whenever a clip is read. SCOFF calls the curtain central and BRIMs invisible;
R-NEM's films show it anywhere (`--curtain-place center` hangs it in the middle). Sutskever, Hinton & Taylor 2008
place all balls anew when any two overlap; ours are placed one by one. RIMs, appendix D.5, gives of crops the arena, the
number of balls and of frames; radius, mass and speed are our choice. There the speed is that of each ball, not of all
together, so that the number of balls alone is out of distribution.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from videopred.datasets import raster
from videopred.datasets.chance import open_in_blocks
from videopred.datasets.clip import Clip
from videopred.datasets.contacts import hits_by_frame
from videopred.datasets.painting import paint_masks, paint_soft
from videopred.datasets.physics import Box, Motion, State, simulate
from videopred.datasets.settings import BallsConfig
from videopred.datasets.starts import Start, draw_starts
from videopred.datasets.stepping import step_rnem, step_sutskever

ENGINES: dict[str, Callable[[State, Box, int], Motion]] = {
    "exact": simulate,
    "rnem": step_rnem,
    "sutskever": step_sutskever,
}

_CLIPS_AT_ONCE = 256  # enough to make NumPy's calls cheap
_FRAMES_AT_ONCE = 2**16  # of all these clips: fewer long ones, so that memory does not grow with their length
_PIXELS_DRAWN_AT_ONCE = 3_400_000  # 16 clips of 51 frames of 64 x 64: few enough to stay in cache


class BouncingBalls:
    """Clips of bouncing balls: see `World`."""

    def __init__(self, recipe: BallsConfig) -> None:
        self.recipe = recipe
        px = recipe.px_per_unit
        self._box = Box(recipe.width, recipe.height, recipe.gravity * px, recipe.restitution, recipe.walls)

    def move(self, state: State) -> Motion:
        """The motion of clips from their state at frame 0, by the recipe's law."""
        return ENGINES[self.recipe.engine](state, self._box, self.recipe.frames)

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, in this order; each depends on its own address alone."""
        some = min(_CLIPS_AT_ONCE, max(1, _FRAMES_AT_ONCE // self.recipe.frames))
        for sources in open_in_blocks(seed, part, indices, some):
            yield from self.film(draw_starts(self.recipe, sources))

    def film(self, start: Start) -> Iterator[Clip]:
        """The clips that begin with these starts."""
        motion, recipe = self.move(start.state), self.recipe
        some = max(1, _PIXELS_DRAWN_AT_ONCE // (recipe.frames * recipe.height * recipe.width))
        for first in range(0, len(start.state.radius), some):
            yield from _film(recipe, start, motion, slice(first, first + some))


def _film(recipe: BallsConfig, start: Start, motion: Motion, some: slice) -> Iterator[Clip]:
    """Some of the clips: discs become pixels."""
    # Drawn from the rounded numbers that the file holds, so that the masks can be drawn again from it.
    positions, velocities = (values[some].astype(np.float32) for values in motion[:2])
    radius, mass = (values[some].astype(np.float32) for values in start.state[2:])
    color, curtain, tables = start.color[some], start.curtain[some], motion.contacts[some]
    places, sizes = positions.reshape(-1, recipe.objects, 2), np.repeat(radius, recipe.frames, axis=0)
    discs, drawn = raster.disc_rows(places, sizes, recipe.height, recipe.width)
    seen = raster.uncovered(discs)
    if recipe.has_curtain:
        seen &= ~np.repeat(raster.box_rows(curtain, recipe.height, recipe.width), recipe.frames, axis=0)
    visibility = raster.share_seen(raster.count_pixels(seen), drawn).reshape(positions.shape[:3])

    for clip, mine in enumerate(np.split(seen, len(radius), axis=1)):
        masks = raster.to_masks(mine, recipe.width)
        events, hit = hits_by_frame(tables[clip], recipe.frames, recipe.objects)
        colliding = raster.any_of(np.where(hit.T[..., None, None], mine, 0))
        colored = {"color": color[clip]} if recipe.colors != "white" else {}
        yield Clip(
            frames=_paint(recipe, masks, positions[clip], radius[clip], color[clip], curtain[clip]),
            masks=masks,
            positions=positions[clip],
            velocities=velocities[clip],
            collisions=raster.to_pixels(colliding, recipe.width).view(bool),
            events=events,
            visibility=visibility[clip],
            contacts=tables[clip],
            objects={"active": ~np.isnan(radius[clip]), **colored, "mass": mass[clip], "radius": radius[clip]},
            labels={"curtain": curtain[clip]} if recipe.has_curtain else {},
        )


def _paint(
    recipe: BallsConfig,
    masks: np.ndarray,
    positions: np.ndarray,
    radius: np.ndarray,
    color: np.ndarray,
    curtain: np.ndarray,
) -> np.ndarray:
    """Frames (T, H, W, C) of one clip."""
    if recipe.binary:
        return (masks > 0)[..., None] * np.uint8(255)
    if recipe.edges == "hard":
        return paint_masks(masks, color)
    color = color[:, : recipe.channels]  # white is as much of one channel as of three
    frames = paint_soft(positions, radius, color, recipe.edges, recipe.height, recipe.width)
    top, left, rows, columns = curtain
    frames[:, top : top + rows, left : left + columns] = 0
    return frames
