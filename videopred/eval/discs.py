"""Discs of known radii, fitted to the lit pixels of a frame, for many clips at once.

Every lit pixel within reach of an object goes to the one into whose disc it lies deepest,

    d² - r²,  d the distance from the centre, r the known radius,

and the object moves to the mean place of its pixels; a few rounds of that settle. For discs that touch but do not
overlap the true places are where it comes to rest, for every pixel of a disc lies deeper in it than in any other: so it
is a fit of discs of known radii.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from videopred.eval.objects import SEEN

_REACH = 2.0  # px beyond its radius within which pixels may belong to an object
_ROUNDS = 4
_WHOLE = 0.93  # share of a disc's area from which on all of it is seen: pixels count 4 % more or fewer
_HOLDING_ROUNDS = 12


@dataclass
class Tracks:
    """What is known at a frame of the objects that are followed: of B clips, M in each."""

    place: np.ndarray
    """(B, M, 2) px: where they are, or, if they are lost, are expected to be."""
    speed: np.ndarray
    """(B, M, 2) px per frame."""
    radius: np.ndarray
    """(B, M) px."""
    known: np.ndarray
    """(B, M) bool: whether there is such an object at all."""
    found: np.ndarray
    """(B, M) bool: whether it was found in this frame."""
    seen: np.ndarray
    """(B, M, 2) px: where it was found last."""
    covered: np.ndarray
    """(B,) bool: whether something may cover objects."""
    smallest: np.ndarray
    """(B,) px: the radius of the smallest true object of the clip."""


@dataclass
class Pixels:
    """The lit pixels of a frame of B clips, as a list."""

    clip: np.ndarray
    """(P,) int."""
    row: np.ndarray
    """(P,) int."""
    column: np.ndarray
    """(P,) int."""
    owner: np.ndarray
    """(P,) int: the object that each belongs to; -1 for none."""

    @cached_property
    def place(self) -> np.ndarray:
        """(P, 2) px: x and y of their centres."""
        return np.stack([self.column, self.row], -1) + 0.5

    def some(self, which: np.ndarray) -> "Pixels":
        """A copy of some of them, (P,) bool."""
        return Pixels(self.clip[which], self.row[which], self.column[which], self.owner[which])


def lit_pixels(lit: np.ndarray) -> Pixels:
    """The pixels of a frame (B, H, W) bool that are lit; they belong to none yet."""
    clip, row, column = np.nonzero(lit)
    return Pixels(clip, row, column, np.full(len(clip), -1))


def settle(tracks: Tracks, pixels: Pixels, wanted: np.ndarray) -> np.ndarray:
    """Move the wanted objects, (B, M) bool, to the mean place of their pixels, in place.

    Returns:
        (B, M) float, how many pixels each now has; 0 of the others. All pixels have their owner among the wanted.
    """
    clips, count = wanted.shape
    columns = np.flatnonzero(wanted.any(0))
    area = np.zeros((clips, count))
    pixels.owner[:] = -1
    if not len(columns) or not len(pixels.clip):
        return area
    there, size = wanted[:, columns][pixels.clip], tracks.radius[:, columns][pixels.clip]
    for _ in range(_ROUNDS):
        centre = tracks.place[:, columns][pixels.clip]  # (P, columns, 2)
        squared = (pixels.place[:, 0, None] - centre[..., 0]) ** 2 + (pixels.place[:, 1, None] - centre[..., 1]) ** 2
        depth = np.where(there & (squared <= (size + _REACH) ** 2), squared - size**2, np.inf)
        best = depth.argmin(1)
        owned = np.isfinite(depth[np.arange(len(best)), best])
        pixels.owner = np.where(owned, columns[best], -1)
        cell = (pixels.clip * count + pixels.owner)[owned]
        area = np.bincount(cell, minlength=clips * count).reshape(clips, count).astype(float)
        for axis in range(2):
            total = np.bincount(cell, pixels.place[owned, axis], clips * count).reshape(clips, count)
            mean = total / np.maximum(area, 1)
            tracks.place[..., axis] = np.where(area > 0, mean, tracks.place[..., axis])
    return area


def uncover(tracks: Tracks, pixels: Pixels, before: np.ndarray, area: np.ndarray, found: np.ndarray) -> None:
    """Move the objects that are seen in part to the disc that holds their pixels nearest to where they were expected.

    The mean place of what is seen of a half covered disc is 0.4 radii off. In place, and only where something may cover
    objects: elsewhere less area means a smaller or fainter picture of the object, whose middle is its place.

    Args:
        tracks: where the mean places of their pixels are.
        pixels: with their owners.
        before: (B, M, 2) px, where objects were expected.
        area: (B, M), how many pixels each has.
        found: (B, M) bool, which of them are looked at.
    """
    part = found & tracks.covered[:, None] & (area < _WHOLE * np.pi * tracks.radius**2)
    mine = (pixels.owner >= 0) & part[pixels.clip, pixels.owner]
    if not mine.any():
        return
    cell, count = pixels.clip[mine] * part.shape[1] + pixels.owner[mine], part.size
    centre, size = np.where(part[..., None], before, tracks.place).reshape(-1, 2), tracks.radius.ravel()[cell]
    for _ in range(_HOLDING_ROUNDS):
        way = pixels.place[mine] - centre[cell]
        length = np.linalg.norm(way, axis=-1)
        outside = np.maximum(length - size, 0)
        pull = way * (outside / np.maximum(length, 1e-9))[:, None]
        pulls = np.maximum(np.bincount(cell, outside > 0, count), 1)
        centre += np.stack([np.bincount(cell, pull[:, axis], count) / pulls for axis in range(2)], -1)
    tracks.place = centre.reshape(tracks.place.shape)


def given_up(tracks: Tracks, before: np.ndarray, area: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Objects (B, M) bool to give up: of two whose pixels are enough for one disc only, the one that has fewer; of two
    that have as many for their size, the one that is farther from where it was expected, (B, M, 2) px."""
    size, place = tracks.radius, tracks.place
    apart = np.linalg.norm(place[:, :, None] - place[:, None], axis=-1)
    near = apart < (size[:, :, None] + size[:, None]) / 2
    enough = 1.5 * np.pi * np.maximum(size[:, :, None], size[:, None]) ** 2
    for_one = area[:, :, None] + area[:, None] < enough
    share, strayed = area / np.maximum(size, 1e-9) ** 2, np.linalg.norm(place - before, axis=-1)
    rank = np.lexsort((strayed, -share)).argsort(-1)
    less = rank[:, :, None] > rank[:, None]
    both = wanted[:, :, None] & wanted[:, None] & (area[:, :, None] > 0) & (area[:, None] > 0)
    return (near & for_one & less & both).any(2)


def large_enough(area: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Whether as many pixels as these are more than what may be seen of a hidden object."""
    return area >= np.maximum(SEEN * np.pi * radius**2, 1)


def let_go(tracks: Tracks, pixels: Pixels) -> None:
    """Take their pixels from the objects that were not found."""
    owned = pixels.owner >= 0
    pixels.owner[owned & ~tracks.found[pixels.clip, pixels.owner]] = -1
