"""From a film to its objects: found by their pixels and followed from frame to frame.

A pixel is lit from half of white on. In every frame each object that was found in the one before is expected where
constant velocity takes it, and its disc is fitted to the lit pixels, see `discs`. Where two objects share pixels that
are enough for one, one of them is given up.

Lit pixels that are left over go to objects that were lost, near to where constant velocity takes them; and what is
still left, if it is as large as half of the clip's smallest object, to objects that nobody expected. Where something
may cover objects, those that are seen in part are placed by their edge.

Of the truth we use places and velocities in the last observed frame, sizes, and whether anything is ever covered: where
objects go, nobody is told.
"""

import numpy as np
import torch
from torch import Tensor

from videopred.eval.discs import Pixels, Tracks, given_up, large_enough, let_go, lit_pixels, settle, uncover
from videopred.eval.objects import Objects

LIT = 0.5
UNEXPECTED = 4
"""Objects that may turn up beside those expected, at a time."""
_SMALLEST = 1 / 16  # radius, as a share of the frame's shorter side, where no size of a clip's objects is known
_HALF, _PART = 0.5, 0.15  # shares of a disc that are enough for one nobody expected, and for one that was covered
_FAR_OFF = 100.0  # px: many radii
_FAR = 3.0  # radii from where it is expected within which a lost object may turn up
_IN_PLANE = np.zeros((3, 3, 3), int)  # neighbours along rows and columns, within a frame
_IN_PLANE[1] = ((0, 1, 0), (1, 1, 1), (0, 1, 0))


def track(film: Tensor, places: Tensor, velocities: Tensor, radius: Tensor, covered: Tensor) -> Objects:
    """The objects of a film.

    Args:
        film: (B, 1 + T, C, H, W) float in [0, 1]; its first frame is the last observed one.
        places: (B, N, 2) px, true centres in the first frame, also of hidden objects; NaN for absent ones.
        velocities: (B, N, 2) px per frame, there; NaN where nothing is known.
        radius: (B, N) px; of objects that are no discs, the radius of a disc of their area; NaN where it is not known.
        covered: (B,) bool: whether something in the clip may cover objects, so that less of them is seen.

    Returns:
        They hold the film, positions (B, 1 + T, N + UNEXPECTED, 2), NaN where an object was not found, and masks
        that give each lit pixel to its object. The first N objects are the true ones, as long as they are followed.
    """
    lit = (film.amax(2) >= LIT).cpu().numpy()
    clips, frames, height, width = lit.shape
    tracks = _expected(places, velocities, radius, covered, min(height, width))
    positions = np.full((clips, frames, *tracks.place.shape[1:]), np.nan)
    masks = np.zeros(lit.shape, np.int16)  # of up to 255 true objects, and others
    for frame in range(frames):
        pixels = lit_pixels(lit[:, frame])
        if frame:
            _move_on(tracks, height, width)
        before, followed = tracks.place.copy(), tracks.found.copy()
        _follow(tracks, pixels)
        _find_again(tracks, pixels)
        _find_new(tracks, pixels, lit.shape)
        if frame:  # what is followed corrects its speed by how far off it was
            tracks.speed += np.where((tracks.found & followed)[..., None], tracks.place - before, 0)
        tracks.known[:, -UNEXPECTED:] &= tracks.found[:, -UNEXPECTED:]
        tracks.seen = np.where(tracks.found[..., None], tracks.place, tracks.seen)
        positions[:, frame] = np.where(tracks.found[..., None], tracks.place, np.nan)
        masks[pixels.clip, frame, pixels.row, pixels.column] = pixels.owner + 1
    return Objects(torch.from_numpy(positions), film=film, masks=torch.from_numpy(masks))


def _expected(places: Tensor, velocities: Tensor, radius: Tensor, covered: Tensor, side: int) -> Tracks:
    """The true objects at the first frame, with room for others; those of unknown size are taken for small ones."""
    room = ((0, 0), (0, UNEXPECTED))
    place = np.pad(places.cpu().numpy().astype(float), (*room, (0, 0)), constant_values=np.nan)
    speed = np.pad(velocities.cpu().numpy().astype(float), (*room, (0, 0)))
    known = ~np.isnan(place).any(-1)
    size = np.pad(radius.cpu().numpy().astype(float), room, constant_values=np.nan)
    smallest = np.where(np.isnan(size), np.inf, size).min(1)
    smallest[np.isinf(smallest)] = _SMALLEST * side
    size = np.where(np.isnan(size), smallest[:, None], size)
    place, speed = np.nan_to_num(place), np.nan_to_num(speed)
    return Tracks(place, speed, size, known, known.copy(), place.copy(), covered.cpu().numpy(), smallest)


def _move_on(tracks: Tracks, height: int, width: int) -> None:
    """Expect every object one step farther, and turned round where it would leave the frame, in place."""
    place, near = tracks.place + tracks.speed, tracks.radius[..., None]
    far = np.array([width, height]) - near
    low, high = place < near, place > far
    tracks.place = np.where(low, 2 * near - place, np.where(high, 2 * far - place, place))
    tracks.speed = np.where(low, np.abs(tracks.speed), np.where(high, -np.abs(tracks.speed), tracks.speed))


def _follow(tracks: Tracks, pixels: Pixels) -> None:
    """Move the objects that were found in the frame before to their pixels, in place."""
    wanted, before = tracks.known & tracks.found, tracks.place.copy()
    area = settle(tracks, pixels, wanted)
    idle = given_up(tracks, before, area, wanted)
    if idle.any():  # in their clips alone, as more rounds would move objects of others, too
        wanted &= ~idle
        again = np.any(idle, axis=1)
        mine = again[pixels.clip]
        theirs = pixels.some(mine)
        area = np.where(again[:, None], settle(tracks, theirs, wanted), area)
        pixels.owner[mine] = theirs.owner
    tracks.found = wanted & large_enough(area, tracks.radius)
    let_go(tracks, pixels)
    uncover(tracks, pixels, before, area, tracks.found)


def _find_again(tracks: Tracks, pixels: Pixels) -> None:
    """Move lost objects to pixels that are left over where they are expected, in place."""
    lost = tracks.known & ~tracks.found
    if not lost.any():
        return
    before = tracks.place.copy()
    left = pixels.owner < 0
    rest = pixels.some(left)
    area = settle(tracks, rest, lost)
    again = lost & large_enough(area, tracks.radius)
    tracks.found |= again
    tracks.place = np.where(again[..., None] | ~lost[..., None], tracks.place, before)
    let_go(tracks, rest)
    uncover(tracks, rest, before, area, again)
    pixels.owner[left] = rest.owner


def _find_new(tracks: Tracks, pixels: Pixels, shape: tuple[int, ...]) -> None:
    """Give larger patches that are left over to lost objects not too far off, and else to new ones, in place."""
    share = np.where(tracks.covered, _PART, _HALF)
    least = share * np.pi * tracks.smallest**2
    left = np.flatnonzero(pixels.owner < 0)
    if not (np.bincount(pixels.clip[left], minlength=shape[0]) >= least).any():
        return
    from scipy import ndimage  # loaded for metrics of objects alone, as it takes long

    rest = np.zeros((shape[0], *shape[2:]), bool)
    cells = pixels.clip[left], pixels.row[left], pixels.column[left]
    rest[cells] = True
    patch = ndimage.label(rest, _IN_PLANE)[0][cells]
    sizes = np.bincount(patch)
    area, behind = np.zeros(tracks.found.shape), tracks.place.copy()
    for number in _nearest_first(tracks, pixels, left, patch):
        mine = left[patch == number]
        clip, places = pixels.clip[mine[0]], pixels.place[mine]
        if sizes[number] < least[clip]:
            continue
        chosen = _newcomer(tracks, clip, places)
        if chosen is not None:
            pixels.owner[mine] = chosen
            area[clip, chosen] = sizes[number]
            behind[clip, chosen] = _far_behind(places, tracks.seen[clip, chosen])
    uncover(tracks, pixels, behind, area, area > 0)


def _nearest_first(tracks: Tracks, pixels: Pixels, left: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Numbers of patches, those nearest to a lost object of their clip first, wherever in the frame they are."""
    numbers, first, sizes = np.unique(patch, return_index=True, return_counts=True)
    total = np.stack([np.bincount(patch, pixels.place[left, axis])[numbers] for axis in range(2)], -1)
    clip = pixels.clip[left[first]]
    apart = np.linalg.norm(tracks.place[clip] - (total / sizes[:, None])[:, None], axis=-1)  # (patches, M)
    lost = tracks.known[clip] & ~tracks.found[clip]
    return numbers[np.argsort(np.where(lost, apart, np.inf).min(1), kind="stable")]


def _newcomer(tracks: Tracks, clip: int, places: np.ndarray) -> int | None:
    """The object of a clip that a patch, pixels (P, 2), now is: the lost one nearest to it, or a new one; None if there
    is no room."""
    middle, area = places.mean(0), len(places)
    apart = np.linalg.norm(tracks.place[clip] - middle, axis=-1)
    # What is covered may turn in secret and come out anywhere; elsewhere nothing jumps.
    limit = np.inf if tracks.covered[clip] else _FAR * tracks.radius[clip]
    apart[~tracks.known[clip] | tracks.found[clip] | (apart > limit)] = np.inf
    chosen = int(apart.argmin())
    if not np.isfinite(apart[chosen]):
        if area < _HALF * np.pi * tracks.smallest[clip] ** 2:
            return None
        free = np.flatnonzero(~tracks.known[clip, -UNEXPECTED:])
        if not len(free):
            return None
        chosen = tracks.known.shape[1] - UNEXPECTED + int(free[0])
        tracks.radius[clip, chosen] = np.sqrt(area / np.pi)
        tracks.known[clip, chosen] = True
    tracks.place[clip, chosen] = middle
    tracks.speed[clip, chosen] = 0
    tracks.found[clip, chosen] = True
    return chosen


def _far_behind(places: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """A place (2,) far off where the rest of a disc must be of which a patch, pixels (P, 2), comes out.

    The edge of what covers it cuts the patch short, so that it is shortest across that edge; behind it is where the
    disc was seen last.
    """
    apart = places - places.mean(0)
    across = np.linalg.eigh(apart.T @ apart)[1][:, 0]
    return places.mean(0) + np.copysign(_FAR_OFF, across @ (seen - places.mean(0))) * across
