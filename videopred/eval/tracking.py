"""From a film to a scene: objects found by their pixels and followed from frame to frame.

A pixel is lit from half of white on. In every frame each object that was found in the one before is expected where
constant velocity takes it; every lit pixel within reach goes to the object into whose disc it lies deepest,

    d² - r²,  d the distance from the centre, r the known radius,

and the object moves to the mean place of its pixels; a few rounds of that settle. For discs that touch but do not
overlap the true places are where it comes to rest, for every pixel of a disc lies deeper in it than in any other: so it
is a fit of discs of known radii. Where two objects share pixels that are enough for one, one of them is given up.

Lit pixels that are left over go to objects that were lost, near to where constant velocity takes them; and what is
still left, if it is as large as half of the smallest object, to objects that nobody expected. Where something may cover
objects, those that are seen in part are placed by their edge.

We use the true places, velocities and radii of the last observed frame, which whoever saw the context may know, and
nothing of what came after.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor

from videopred.eval.scene import SEEN, Scene

LIT = 0.5
UNEXPECTED = 4
"""Objects that may turn up beside those expected, at a time."""
_REACH = 2.0  # px beyond its radius within which pixels may belong to an object
_ROUNDS = 4
_WHOLE = 0.93  # share of a disc's area from which on all of it is seen: pixels count 4 % more or fewer
_HOLDING_ROUNDS = 12
_HALF, _PART = 0.5, 0.15  # shares of a disc that are enough for one nobody expected, and for one that was covered
_FAR_OFF = 100.0  # px: many radii
_FAR = 3.0  # radii from where it is expected within which a lost object may turn up
_IN_PLANE = np.zeros((3, 3, 3), int)  # neighbours along rows and columns, within a frame
_IN_PLANE[1] = ndimage.generate_binary_structure(2, 1)


@dataclass
class _Objects:
    """What is known of the objects of B clips at a frame; every array has the axes B and M first."""

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


@dataclass
class _Pixels:
    """The lit pixels of a frame of B clips, as a list."""

    clip: np.ndarray
    """(P,) int."""
    place: np.ndarray
    """(P, 2) px: x and y of their centres."""
    owner: np.ndarray
    """(P,) int: the object that each belongs to; -1 for none."""


def track(film: Tensor, places: Tensor, velocities: Tensor, radius: Tensor, covered: Tensor) -> Scene:
    """The objects of a film.

    Args:
        film: (B, 1 + T, C, H, W) float in [0, 1]; its first frame is the last observed one.
        places: (B, N, 2) px, true centres in the first frame, also of hidden objects; NaN for absent ones.
        velocities: (B, N, 2) px per frame, there; NaN where nothing is known.
        radius: (B, N) px; of objects that are no discs, the radius of a disc of their area.
        covered: (B,) bool: whether something in the clip may cover objects, so that less of them is seen.

    Returns:
        A scene with the film, positions (B, 1 + T, N + UNEXPECTED, 2), NaN where an object was not found, and masks
        that give each lit pixel to its object. The first N objects are the true ones, as long as they are followed.
    """
    lit = (film.amax(2) >= LIT).cpu().numpy()
    clips, frames, height, width = lit.shape
    objects = _expected(places, velocities, radius, covered)
    positions = np.full((clips, frames, *objects.place.shape[1:]), np.nan)
    masks = np.zeros(lit.shape, np.uint8)
    for frame in range(frames):
        pixels = _lit_pixels(lit[:, frame])
        if frame:
            _move_on(objects, height, width)
        before, followed = objects.place.copy(), objects.found.copy()
        _follow(objects, pixels)
        _find_again(objects, pixels)
        _find_new(objects, pixels, lit.shape)
        if frame:  # what is followed corrects its speed by how far off it was
            objects.speed += np.where((objects.found & followed)[..., None], objects.place - before, 0)
        objects.known[:, -UNEXPECTED:] &= objects.found[:, -UNEXPECTED:]
        objects.seen = np.where(objects.found[..., None], objects.place, objects.seen)
        positions[:, frame] = np.where(objects.found[..., None], objects.place, np.nan)
        row, column = (pixels.place[:, 1] - 0.5).astype(int), (pixels.place[:, 0] - 0.5).astype(int)
        masks[pixels.clip, frame, row, column] = pixels.owner + 1
    return Scene(torch.from_numpy(positions), film=film, masks=torch.from_numpy(masks))


def _expected(places: Tensor, velocities: Tensor, radius: Tensor, covered: Tensor) -> _Objects:
    """The true objects at the first frame, with room for others."""
    room = ((0, 0), (0, UNEXPECTED))
    place = np.pad(places.cpu().numpy().astype(float), (*room, (0, 0)), constant_values=np.nan)
    speed = np.pad(velocities.cpu().numpy().astype(float), (*room, (0, 0)))
    known = ~np.isnan(place).any(-1)
    size = np.pad(radius.cpu().numpy().astype(float), room)
    place, speed, size = (np.nan_to_num(values) for values in (place, speed, size))
    return _Objects(place, speed, size, known, known.copy(), place.copy(), covered.cpu().numpy())


def _lit_pixels(lit: np.ndarray) -> _Pixels:
    clip, row, column = np.nonzero(lit)
    return _Pixels(clip, np.stack([column, row], -1) + 0.5, np.full(len(clip), -1))


def _move_on(objects: _Objects, height: int, width: int) -> None:
    """Expect every object one step farther, and turned round where it would leave the frame, in place."""
    place, near = objects.place + objects.speed, objects.radius[..., None]
    far = np.array([width, height]) - near
    low, high = place < near, place > far
    objects.place = np.where(low, 2 * near - place, np.where(high, 2 * far - place, place))
    objects.speed = np.where(low, np.abs(objects.speed), np.where(high, -np.abs(objects.speed), objects.speed))


def _follow(objects: _Objects, pixels: _Pixels) -> None:
    """Move the objects that were found in the frame before to their pixels, in place."""
    wanted, before = objects.known & objects.found, objects.place.copy()
    area = _settle(objects, pixels, wanted)
    given_up = _given_up(objects, area, wanted)
    if given_up.any():
        wanted &= ~given_up
        area = _settle(objects, pixels, wanted)
    objects.found = wanted & _large_enough(area, objects.radius)
    _let_go(objects, pixels)
    _uncover(objects, pixels, before, area, objects.found)


def _find_again(objects: _Objects, pixels: _Pixels) -> None:
    """Move lost objects to pixels that are left over where they are expected, in place."""
    lost = objects.known & ~objects.found
    if not lost.any():
        return
    before = objects.place.copy()
    left = pixels.owner < 0
    rest = _Pixels(pixels.clip[left], pixels.place[left], pixels.owner[left])
    area = _settle(objects, rest, lost)
    again = lost & _large_enough(area, objects.radius)
    objects.found |= again
    objects.place = np.where(again[..., None] | ~lost[..., None], objects.place, before)
    owned = rest.owner >= 0
    rest.owner[owned & ~objects.found[rest.clip, rest.owner]] = -1
    _uncover(objects, rest, before, area, again)
    pixels.owner[left] = rest.owner


def _find_new(objects: _Objects, pixels: _Pixels, shape: tuple[int, ...]) -> None:
    """Give larger patches that are left over to lost objects not too far off, and else to new ones, in place."""
    share = np.where(objects.covered, _PART, _HALF)
    least = share * np.pi * np.where(objects.known, objects.radius, np.inf).min(1) ** 2
    left = np.flatnonzero(pixels.owner < 0)
    if not (np.bincount(pixels.clip[left], minlength=shape[0]) >= least).any():
        return
    rest = np.zeros((shape[0], *shape[2:]), bool)
    row, column = (pixels.place[left, 1] - 0.5).astype(int), (pixels.place[left, 0] - 0.5).astype(int)
    rest[pixels.clip[left], row, column] = True
    patch = ndimage.label(rest, _IN_PLANE)[0][pixels.clip[left], row, column]
    sizes = np.bincount(patch)
    area, behind = np.zeros(objects.found.shape), objects.place.copy()
    for number in range(1, len(sizes)):
        mine = left[patch == number]
        clip, places = pixels.clip[mine[0]], pixels.place[mine]
        if sizes[number] < least[clip]:
            continue
        chosen = _newcomer(objects, clip, places)
        if chosen is not None:
            pixels.owner[mine] = chosen
            area[clip, chosen] = sizes[number]
            behind[clip, chosen] = _far_behind(places, objects.seen[clip, chosen])
    _uncover(objects, pixels, behind, area, area > 0)


def _newcomer(objects: _Objects, clip: int, places: np.ndarray) -> int | None:
    """The object of a clip that a patch, pixels (P, 2), now is: the lost one nearest to it, or a new one; None if there
    is no room."""
    middle, area = places.mean(0), len(places)
    apart = np.linalg.norm(objects.place[clip] - middle, axis=-1)
    # What is covered may turn in secret and come out anywhere; elsewhere nothing jumps.
    limit = np.inf if objects.covered[clip] else _FAR * objects.radius[clip]
    apart[~objects.known[clip] | objects.found[clip] | (apart > limit)] = np.inf
    chosen = int(apart.argmin())
    if not np.isfinite(apart[chosen]):
        if area < _HALF * np.pi * objects.radius[clip, objects.known[clip]].min() ** 2:
            return None
        free = np.flatnonzero(~objects.known[clip, -UNEXPECTED:])
        if not len(free):
            return None
        chosen = objects.known.shape[1] - UNEXPECTED + int(free[0])
        objects.radius[clip, chosen] = np.sqrt(area / np.pi)
        objects.known[clip, chosen] = True
    objects.place[clip, chosen] = middle
    objects.speed[clip, chosen] = 0
    objects.found[clip, chosen] = True
    return chosen


def _far_behind(places: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """A place (2,) far off where the rest of a disc must be of which a patch, pixels (P, 2), comes out.

    The edge of what covers it cuts the patch short, so that it is shortest across that edge; behind it is where the
    disc was seen last.
    """
    apart = places - places.mean(0)
    across = np.linalg.eigh(apart.T @ apart)[1][:, 0]
    return places.mean(0) + np.copysign(_FAR_OFF, across @ (seen - places.mean(0))) * across


def _settle(objects: _Objects, pixels: _Pixels, wanted: np.ndarray) -> np.ndarray:
    """Move the wanted objects to the mean place of their pixels, in place, and return these pixels' numbers (B, M)."""
    clips, count = wanted.shape
    columns = np.flatnonzero(wanted.any(0))
    area = np.zeros((clips, count))
    pixels.owner[:] = -1
    if not len(columns) or not len(pixels.clip):
        return area
    there, size = wanted[:, columns][pixels.clip], objects.radius[:, columns][pixels.clip]
    for _ in range(_ROUNDS):
        centre = objects.place[:, columns][pixels.clip]  # (P, columns, 2)
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
            objects.place[..., axis] = np.where(area > 0, mean, objects.place[..., axis])
    return area


def _uncover(objects: _Objects, pixels: _Pixels, before: np.ndarray, area: np.ndarray, found: np.ndarray) -> None:
    """Move the objects that are seen in part to the disc that holds their pixels nearest to where they were expected.

    The mean place of what is seen of a half covered disc is 0.4 radii off. In place, and only where something may cover
    objects: elsewhere less area means a smaller or fainter picture of the object, whose middle is its place.
    """
    part = found & objects.covered[:, None] & (area < _WHOLE * np.pi * objects.radius**2)
    mine = (pixels.owner >= 0) & part[pixels.clip, pixels.owner]
    if not mine.any():
        return
    cell, count = pixels.clip[mine] * part.shape[1] + pixels.owner[mine], part.size
    centre, size = np.where(part[..., None], before, objects.place).reshape(-1, 2), objects.radius.ravel()[cell]
    for _ in range(_HOLDING_ROUNDS):
        way = pixels.place[mine] - centre[cell]
        length = np.linalg.norm(way, axis=-1)
        outside = np.maximum(length - size, 0)
        pull = way * (outside / np.maximum(length, 1e-9))[:, None]
        pulls = np.maximum(np.bincount(cell, outside > 0, count), 1)
        centre += np.stack([np.bincount(cell, pull[:, axis], count) / pulls for axis in range(2)], -1)
    objects.place = centre.reshape(objects.place.shape)


def _given_up(objects: _Objects, area: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Objects (B, M) bool that share with another what is enough for one: of such two the one that has less of it."""
    size, place = objects.radius, objects.place
    apart = np.linalg.norm(place[:, :, None] - place[:, None], axis=-1)
    near = apart < (size[:, :, None] + size[:, None]) / 2
    enough = 1.5 * np.pi * np.maximum(size[:, :, None], size[:, None]) ** 2
    for_one = area[:, :, None] + area[:, None] < enough
    order = np.arange(size.shape[1])
    share = area / np.maximum(size, 1e-9) ** 2
    less = (share[:, :, None] < share[:, None]) | ((share[:, :, None] == share[:, None]) & (order[:, None] > order))
    both = wanted[:, :, None] & wanted[:, None] & (area[:, :, None] > 0) & (area[:, None] > 0)
    return (near & for_one & less & both & (order[:, None] != order)).any(2)


def _large_enough(area: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Whether as many pixels as these are more than what may be seen of a hidden object."""
    return area >= np.maximum(SEEN * np.pi * radius**2, 1)


def _let_go(objects: _Objects, pixels: _Pixels) -> None:
    """Take from objects that were not found their pixels."""
    owned = pixels.owner >= 0
    pixels.owner[owned & ~objects.found[pixels.clip, pixels.owner]] = -1
