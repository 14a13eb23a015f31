"""Stochastic Moving MNIST.

Data sheet
    World      handwritten digits that fly straight, and leave a wall in a random direction with a random speed
    Frames     grey, one channel, digits added and cut at white; 30 of 64 x 64 px by default
    Digits     2 (of any classes of the part, with replacement), 28 px enlarged to 32
    Start      top left corner uniform over all places where the digit is inside the frame
    Speed      whole px per frame, uniform over -4 to 4 along each axis, 0 included
    Wall       a digit that would leave stops at the wall; the component towards it is drawn anew from 1 to 4, away
               from the wall, the other from -4 to 4
    Parts      classes 0 to 7 for train and validation, 8 and 9 for test; no handwritten digit is in two parts
    Truth      positions (centres of the digits' squares), velocities, masks, bounces; class and source per digit
    Protocol   5 frames given, 25 imagined (SVG); about 1.3 bounces per 10 frames make the future truly uncertain

Source: Denton & Fergus 2018 (SVG), data/moving_mnist.py. We differ twice. Theirs keeps corners within 0 to 31, so
that the last row and column are never lit; ours reach 32. In a corner, theirs may draw the first component anew
without care for its wall; ours leave both. The digit classes by part are from BRIMs.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from videopred.check import require
from videopred.datasets.clip import Clip, clip_seed
from videopred.datasets.contacts import CONTACT, hits_by_frame, wall
from videopred.datasets.digits import read_digits, resize
from videopred.datasets.raster import pixels_of, visible_fraction
from videopred.datasets.settings import MovingMNISTConfig


class MovingMNIST:
    """Clips of moving digits: see `World`.

    Args:
        recipe: what to make; an empty `mnist_sha256` is filled in.
        mnist: folder with the full MNIST; the package's own digits when None.

    Raises:
        FileNotFoundError: the folder lacks one of MNIST's files.
        ValueError: a file of it is damaged, or the recipe names other digits.
    """

    def __init__(self, recipe: MovingMNISTConfig, mnist: Path | None = None) -> None:
        self._digits = read_digits(mnist)
        found = self._digits.sha256
        must, fix = f"be the digits of the recipe, {recipe.mnist_sha256}", "give the same --mnist as then"
        require(recipe.mnist_sha256 in ("", found), "--mnist", must, found, fix)
        self.recipe = recipe.model_copy(update={"mnist_sha256": found})
        classes = {"train": recipe.train_digits, "validation": recipe.train_digits, "test": recipe.test_digits}
        labels = self._digits.labels
        self._rows = {part: rows[np.isin(labels[rows], classes[part])] for part, rows in self._digits.parts.items()}

    def clips(self, seed: int, part: str, indices: Iterable[int]) -> Iterator[Clip]:
        """The clips at these addresses, in this order; each depends on its own address alone."""
        for index in indices:
            yield self._clip(np.random.Generator(np.random.PCG64(clip_seed(seed, part, index))), part)

    def _clip(self, chance: np.random.Generator, part: str) -> Clip:
        recipe = self.recipe
        digits, most = recipe.digits[chance.integers(len(recipe.digits))], max(recipe.digits)
        rows = chance.choice(self._rows[part], digits)
        corners, steps, contacts = _wander(recipe, digits, chance)
        sprites = [resize(self._digits.images[row], recipe.digit_size) for row in rows]
        frames, masks, drawn = _draw(sprites, corners, recipe.height, recipe.width)
        events, hit = hits_by_frame(contacts, recipe.frames, most)

        def padded(array: np.ndarray, axis: int, absent: float) -> np.ndarray:
            ends = [(0, most - digits if at == axis else 0) for at in range(array.ndim)]
            return np.pad(array, ends, constant_values=absent)

        return Clip(
            frames=frames[..., None],
            masks=masks,
            positions=padded((corners + recipe.digit_size / 2).astype(np.float32), 1, np.nan),
            velocities=padded(steps.astype(np.float32), 1, np.nan),
            collisions=pixels_of(masks, hit),
            events=events,
            visibility=visible_fraction(masks, padded(drawn, 1, 0)),
            contacts=contacts,
            objects={
                "active": np.arange(most) < digits,
                "digit": padded(self._digits.labels[rows].astype(np.int16), 0, -1),
                "size": padded(np.full(digits, recipe.digit_size, np.float32), 0, np.nan),
                "source": padded(rows, 0, -1),
            },
        )


def _wander(
    recipe: MovingMNISTConfig, digits: int, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The walk of all digits of a clip, in order of time; drawn one frame further than is seen, for its bounces.

    Returns:
        corners: (T, N, 2) int, px, x and y of each digit's top left pixel.
        velocities: (T, N, 2) int, px per frame.
        contacts: (E,) CONTACT; a bounce counts to the frame at which the digit has turned.
    """
    speed = recipe.speed
    most = np.array([recipe.width, recipe.height]) - recipe.digit_size
    corner = chance.integers(0, most, size=(digits, 2), endpoint=True)
    velocity = chance.integers(-speed, speed, size=(digits, 2), endpoint=True)
    corners, velocities, contacts = [corner], [velocity], []
    for frame in range(1, recipe.frames + 1):
        corner = corner + velocity
        low, high = corner < 0, corner > most
        if low.any() or high.any():
            corner, velocity = np.clip(corner, 0, most), velocity.copy()
            for digit in np.flatnonzero((low | high).any(1)):
                inward = chance.integers(1, speed, size=2, endpoint=True)
                free = chance.integers(-speed, speed, size=2, endpoint=True)
                velocity[digit] = np.where(low[digit], inward, np.where(high[digit], -inward, free))
            for digit, axis in zip(*np.nonzero(low | high), strict=True):
                contacts.append((frame, digit, wall(axis, high[digit, axis]), np.nan))
        corners.append(corner)
        velocities.append(velocity)
    return np.array(corners[:-1]), np.array(velocities[:-1]), np.array(contacts, CONTACT)


def _draw(
    sprites: list[np.ndarray], corners: np.ndarray, height: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Digits on black.

    Args:
        sprites: N digits, each (side, side) uint8.
        corners: (T, N, 2) int, px, x and y of each digit's top left pixel.
        height: rows of a frame.
        width: columns of a frame.

    Returns:
        frames: (T, H, W) uint8, the sum of all digits, cut at 255.
        masks: (T, H, W) uint8, the number of the digit that gives the pixel most of its light, counted from 1; the
            first of equals; 0 where there is none.
        drawn: (T, N) int, pixels that each digit lights.
    """
    times, side = len(corners), len(sprites[0])
    light = np.zeros((times, height, width), np.uint16)
    brightest = np.zeros((times, height, width), np.uint8)
    masks = np.zeros((times, height, width), np.uint8)
    for number, sprite in enumerate(sprites, start=1):
        for time, (x, y) in enumerate(corners[:, number - 1]):
            place = time, slice(y, y + side), slice(x, x + side)
            light[place] += sprite
            masks[place][sprite > brightest[place]] = number
            np.maximum(brightest[place], sprite, out=brightest[place])
    drawn = np.broadcast_to([np.count_nonzero(sprite) for sprite in sprites], corners.shape[:2])
    return np.minimum(light, 255).astype(np.uint8), masks, drawn
