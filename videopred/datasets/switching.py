"""One ball that oscillates along one axis, then along the other; two bulbs say which.

Data sheet
    World      one ball that flies along x or along y and reflects at the walls; once in a clip it switches
    Frames     grey, one channel, hard-edged discs; 51 of 64 x 64 px by default
    Ball       white, radius 0.8; 0.2 to 0.4 per frame, uniform
    Dynamics   horizontal or vertical first, equally likely, either direction equally likely; the switch is at the
               middle frame, 25 of 51, or uniform over a range. A ball that flew right then flies down, left up, and
               the other way round
    Bulbs      two discs of radius 0.3, bottom left, centres 0.5 and 1.3 from the left and 0.5 from the bottom. In
               frame t the first shines at 1.0 if the ball moves horizontally from t to t + 1, the second if it moves
               vertically; the other one glows at 0.35
    Start      uniform over the box, drawn again with all else until the path never covers a bulb
    Units      the frame is 10 units high: 6.4 px per unit; files hold px and px per frame
    Truth      positions, velocities, masks, contacts with exact times; series/indicator: 0 where the ball moves
               horizontally from t to t + 1, 1 vertically; labels/switch: the first frame of the second dynamics. The
               bulbs are lamps, no objects: masks leave them out
    Protocol   5 frames given, 46 imagined; SCOFF stacks 5 frames as the channels of one (the loader's `stack`)

Source: Goyal et al. 2020 (SCOFF), section 5, appendix F, figures 4 and 14: two oscillations, one switch in the
middle of 51 frames, two bulbs at the bottom left, 10,000 clips (say 8,000, 1,000 and 1,000). That the bulbs tell of
the coming step follows from "even on the first frame after a switch". Sizes, speeds and places are ours, and so is the
rule for the direction after the switch, which makes that first frame predictable.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from videopred import check
from videopred.datasets.chance import draw_tables, open_in_blocks, to_whole
from videopred.datasets.clip import Clip
from videopred.datasets.one_ball import Paths, draw_clips, reflect
from videopred.datasets.one_ball_settings import BULB_RADIUS, BULBS, SwitchingConfig
from videopred.datasets.raster import draw_discs

AXES = ("horizontal", "vertical")
"""What the numbers in series/indicator mean."""
_CLIPS_AT_ONCE = 64
_LIT, _UNLIT = 255, round(0.35 * 255)
_ROUNDS = 1000


class SwitchingMotion:
    """Clips of one ball that switches between two oscillations: see `World`."""

    def __init__(self, recipe: SwitchingConfig) -> None:
        self.recipe = recipe
        self._pictures = np.stack([_picture(recipe, lit) for lit in range(2)])

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, in this order; each depends on its own address alone.

        Raises:
            ValueError: hardly any path leaves the bulbs free.
        """
        frame = np.arange(self.recipe.frames)
        whole = np.promote_types(np.int16, np.min_scalar_type(-self.recipe.frames))
        for sources in open_in_blocks(seed, part, indices, _CLIPS_AT_ONCE):
            firsts, switches, paths = _draw_free(self.recipe, sources)
            for first, switch, clip in zip(firsts, switches, draw_clips(self.recipe, paths), strict=True):
                indicator = np.where(frame < switch, first, 1 - first).astype(np.uint8)
                yield replace(
                    clip,
                    frames=np.maximum(clip.frames, self._pictures[indicator][..., None]),
                    series={"indicator": indicator},
                    labels={"switch": np.asarray(switch, whole)},
                )


def _draw_free(recipe: SwitchingConfig, sources: Sequence[np.random.Generator]) -> tuple[np.ndarray, np.ndarray, Paths]:
    """First dynamics (B,), frames of the switch (B,) and paths of some clips, none of which covers a bulb."""
    count = len(sources)
    firsts, switches = np.empty((2, count), int)
    paths = Paths(*np.empty((3, recipe.frames, 2, count)))
    left = np.arange(count)
    for _ in range(_ROUNDS):
        first, switch, drawn = _draw(recipe, [sources[clip] for clip in left.tolist()])
        free = _leaves_bulbs_free(recipe, drawn.places)
        done, left = left[free], left[~free]
        firsts[done], switches[done] = first[free], switch[free]
        for whole, piece in zip(paths, drawn, strict=True):
            whole[..., done] = piece[..., free]
        if not len(left):
            return firsts, switches, paths
    must, got = "leave room for a path beside the bulbs", f"{recipe.radius:g}, with none in {_ROUNDS} tries"
    raise ValueError(check.complaint("--radius", must, got, "choose a smaller ball or larger frames"))


def _draw(recipe: SwitchingConfig, sources: Sequence[np.random.Generator]) -> tuple[np.ndarray, np.ndarray, Paths]:
    """First dynamics, frames of the switch and paths, wherever they lead."""
    first, switch, place, share, side = draw_tables(sources, (), (), (2,), (), ())
    first, switch = to_whole(first, 0, 1), to_whole(switch, *recipe.switch_frames)
    low, high = recipe.speed
    speed = (low + share * (high - low)) * recipe.px_per_unit * np.where(side < 0.5, -1, 1)
    room = np.reshape(recipe.room, (2, 1)) * recipe.px_per_unit

    def turn(frame: int, velocity: np.ndarray) -> np.ndarray:
        return np.where(frame == switch, velocity[::-1], velocity)

    return first, switch, reflect(place * room, speed * np.stack([first == 0, first == 1]), room, recipe.frames, turn)


def _leaves_bulbs_free(recipe: SwitchingConfig, places: np.ndarray) -> np.ndarray:
    """Whether the ball (T, 2, B) never comes to lie over a bulb, (B,) bool."""
    distance = (recipe.radius + BULB_RADIUS) * recipe.px_per_unit
    x, y = (places + recipe.radius * recipe.px_per_unit).swapaxes(0, 1)
    apart = [(x - bulb_x) ** 2 + (y - bulb_y) ** 2 >= distance**2 for bulb_x, bulb_y in _bulb_places(recipe)]
    return np.logical_and(*apart).all(0)


def _bulb_places(recipe: SwitchingConfig) -> np.ndarray:
    """Centres (2, 2) of the bulbs, px."""
    return np.array(BULBS) * recipe.px_per_unit


def _picture(recipe: SwitchingConfig, lit: int) -> np.ndarray:
    """The bulbs alone, (H, W) uint8, one of them lit."""
    radius = np.full(2, BULB_RADIUS * recipe.px_per_unit)
    [mask], _ = draw_discs(_bulb_places(recipe)[None], radius, recipe.height, recipe.width)
    light = [_LIT if bulb == lit else _UNLIT for bulb in range(2)]
    return np.array([0, *light], np.uint8)[mask]
