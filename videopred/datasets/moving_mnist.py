"""Moving MNIST.

Data sheet
    World      handwritten digits that fly straight and turn at the walls
    Frames     grey, one channel, digits added and cut at white; 30 of 64 x 64 px by default
    Digits     2 (of any classes of the part, with replacement), 28 px enlarged to 32
    Start      top left corner uniform over all places where the digit is inside the frame
    Speed      whole px per frame, uniform over -4 to 4 along each axis, 0 included
    Wall       a digit that would leave stops at the wall; the component towards it is drawn anew from 1 to 4, away
               from the wall, the other from -4 to 4. With `deterministic` the component towards it turns round
    Parts      classes 0 to 7 for train and validation, 8 and 9 for test; no handwritten digit is in two parts
    Truth      positions (centres of the digits' squares), velocities, masks, bounces; class and source per digit
    Protocol   5 frames given, 25 imagined (SVG); about 1.2 bounces per digit in 10 frames make the future uncertain

Law svg
    SVG's own law to the bit, with its faults: corners keep within 0 to 31, so that the last row and column are never
    lit, and in a corner of the frame the first component may be drawn anew without care for its wall. Clips come in
    order from one stream of random numbers per part (`digit_walks.LegacyWalks`). Theirs are float32 sums, cut at 1;
    ours are uint8 sums, cut at 255: divided by 255 in float32 they differ from theirs by at most 6e-8, one step of
    that sum's rounding; theirs, times 255 and rounded, are ours exactly. SVG trains on all ten classes.

Law srivastava
    20 frames; digits keep their 28 px; corners real, cut to whole pixels when drawn; start uniform, direction
    uniform, 3.6 px per frame (a tenth of the way from wall to wall); a digit that would leave stops at the wall and
    its component towards it turns round; the brighter digit is seen, not the sum. The first frame shows the digits
    after their first step. 10 frames given, 10 imagined.

Source: Denton & Fergus 2018 (SVG), data/moving_mnist.py; Srivastava et al. 2015, in the form of OpenSTL's loader. Our
law `fixed` differs from SVG's twice: corners reach 32, and at two walls at once both components point away from
theirs. The digit classes by part are from BRIMs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from videopred.check import require
from videopred.datasets.chance import open_sources
from videopred.datasets.clip import Clip
from videopred.datasets.digit_walks import LegacyWalks, Walks, walk
from videopred.datasets.digits import read_digits, resize
from videopred.datasets.raster import pixels_of, visible_fraction
from videopred.datasets.settings import MovingMNISTConfig

_CLIPS_AT_ONCE = 32  # enough to make the calls of a walk cheap; clips are painted one by one
_SPRITE_BYTES = 2**26  # digits kept in their new size, at most


class MovingMNIST:
    """Clips of moving digits: see `World`.

    Args:
        recipe: what to make; an empty `mnist_sha256` is filled in.
        mnist: folder with the full MNIST; the package's own digits when None.

    Raises:
        FileNotFoundError: the folder lacks one of MNIST's files.
        ValueError: a file of it is damaged, a part would have no digits, or the recipe names other digits.
    """

    def __init__(self, recipe: MovingMNISTConfig, mnist: Path | None = None) -> None:
        self._digits = read_digits(mnist)
        found = self._digits.sha256
        must = f"be the digits of the recipe, {recipe.mnist_sha256}"
        fix = "give the same --mnist as then; train on what `videopred generate --mnist` makes"
        require(recipe.mnist_sha256 in ("", found), "--mnist", must, found, fix)
        self.recipe = recipe.model_copy(update={"mnist_sha256": found})
        labels = self._digits.labels
        self._rows = {
            part: rows[np.isin(labels[rows], recipe.classes(part))] for part, rows in self._digits.parts.items()
        }
        for part, rows in self._rows.items():
            must = f"hold digits of the classes {recipe.classes(part)} for the part {part}"
            require(len(rows) > 0, "--mnist", must, f"{mnist} without any", "give the whole MNIST")
        self._sprites: dict[int, np.ndarray] = {}

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, in this order; each depends on its own address alone.

        By the law svg a clip is reached by drawing all before it, so that only clips in order come quickly.
        """
        queue, draw = iter(indices), self._walks(seed, part)
        while block := list(islice(queue, _CLIPS_AT_ONCE)):
            yield from self._films(draw(block), self._rows[part])

    def _walks(self, seed: int, part: str) -> Callable[[Sequence[int]], Walks]:
        """What makes the walks of a block of clips."""
        recipe, rows = self.recipe, len(self._rows[part])
        if recipe.in_order:
            return LegacyWalks(recipe, rows, seed, part).walk
        return lambda block: walk(recipe, rows, open_sources(seed, part, block))

    def _films(self, walks: Walks, part_rows: np.ndarray) -> Iterator[Clip]:
        """The clips of some walks: digits become pixels."""
        recipe, active, rows = self.recipe, walks.active, part_rows[walks.picks]
        half, there = recipe.digit_size / 2, active[:, None, :, None]
        positions = (walks.corners + half).astype(np.float32)
        places = np.floor(positions - half).astype(int)  # drawn from the rounded numbers that the file holds
        positions = np.where(there, positions, np.float32(np.nan))
        velocities = np.where(there, walks.velocities, np.nan).astype(np.float32)
        bounces, contacts = walks.walls != 0, walks.contacts
        events, hit = bounces.sum((2, 3)).astype(np.uint8), bounces.any(3)
        objects = {
            "active": active,
            "digit": np.where(active, self._digits.labels[rows].astype(np.int16), -1),
            "size": np.where(active, recipe.digit_size, np.nan).astype(np.float32),
            "source": np.where(active, rows, -1),
        }
        for clip in range(len(rows)):
            sprites = [self._sprite(row) for row in rows[clip, active[clip]]]
            frames, masks = paint(sprites, places[clip], recipe.height, recipe.width, recipe.overlap)
            drawn = np.zeros(hit.shape[1:], int)
            drawn[:, : len(sprites)] = [np.count_nonzero(sprite) for sprite in sprites]
            yield Clip(
                frames=frames[..., None],
                masks=masks,
                positions=positions[clip],
                velocities=velocities[clip],
                collisions=pixels_of(masks, hit[clip]),
                events=events[clip],
                visibility=visible_fraction(masks, drawn),
                contacts=contacts[clip],
                objects={name: table[clip] for name, table in objects.items()},
            )

    def _sprite(self, row: int) -> np.ndarray:
        """A handwritten digit in its new size, kept for the next time."""
        if row not in self._sprites:
            if len(self._sprites) * self.recipe.digit_size**2 >= _SPRITE_BYTES:
                self._sprites.clear()
            self._sprites[row] = resize(self._digits.images[row], self.recipe.digit_size)
        return self._sprites[row]


def paint(
    sprites: Sequence[np.ndarray], places: np.ndarray, height: int, width: int, overlap: str
) -> tuple[np.ndarray, np.ndarray]:
    """Digits on black.

    Args:
        sprites: N digits, each (side, side) uint8.
        places: (T, N or more, 2) int, px, x and y of each digit's top left pixel, inside the frame.
        height: rows of a frame.
        width: columns of a frame.
        overlap: add or max, what is seen where digits overlap.

    Returns:
        frames: (T, H, W) uint8, the sum of all digits, cut at 255, or the brightest.
        masks: (T, H, W) uint8, the number of the digit that gives the pixel most of its light, counted from 1; the
            first of equals; 0 where there is none.
    """
    layers = list(_layers(sprites, places, height, width))
    brightest, masks = layers[0], (layers[0] > 0).view(np.uint8)
    for number, layer in enumerate(layers[1:], start=2):
        masks = np.maximum(masks, (layer > brightest).view(np.uint8) * np.uint8(number))
        brightest = np.maximum(brightest, layer)
    return brightest if overlap == "max" else reduce(_add, layers), masks


def _add(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The sum of two uint8 arrays, cut at 255."""
    return one + np.minimum(other, ~one)


def _layers(sprites: Sequence[np.ndarray], places: np.ndarray, height: int, width: int) -> Iterator[np.ndarray]:
    """(T, H, W) uint8 for each digit: frames cut out of a wide black one, with the digit in its middle."""
    side = len(sprites[0])
    top, left = height - side, width - side
    wide = np.zeros((top + height, left + width), np.uint8)
    windows = sliding_window_view(wide, (height, width))
    for sprite, place in zip(sprites, places.swapaxes(0, 1), strict=False):  # absent digits have places too
        x, y = place.T
        wide[top:height, left:width] = sprite
        yield windows[top - y, left - x]
