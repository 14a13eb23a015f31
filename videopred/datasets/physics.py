"""Discs in a box, exactly: free flight from one contact to the next, no time step.

Between contacts all discs fall alike, so a pair's relative motion is a line, and so is the path towards a side wall.
The next contact of a clip is the smallest of these waits:

    wall    (r - x) / v       or  (box - r - x) / v, whichever wall it flies to, for each axis
    fall    2 c / (sqrt(v² - 2 g c) - v) to the top, if v < 0;  2 c / (sqrt(v² + 2 g c) + v) to the bottom,
            c being the free space above or below; this is the wait along y where there is gravity g
    pair    c / (sqrt(b² - a c) - b),  where  a = u·u,  b = d·u,  c = d·d - (r₁ + r₂)²,
            d and u being the differences of position and velocity; only if b < 0, when they approach

These forms of the roots of x = r, of y = r and of |d + u t| = r₁ + r₂ lose no digits when things almost touch.

A contact reverses the speed along its normal and, with a restitution e below 1, leaves e of it. A ball that comes to
rest would touch the floor ever more often in a finite time. So a contact that comes less than a frame after the last
one of either partner loses nothing (the "TC model" of Luding & McNamara 1998): balls never quite rest, but hop by less
than g / 8.

Many clips go at once, each to its own next contact. Clips lie along the last axis of every array, which makes
NumPy's inner loops long, and every operation is elementwise along it, so a clip's path is the same to the last bit
whatever is simulated beside it.
"""

from functools import cache
from itertools import count
from typing import NamedTuple

import numpy as np

from videopred import check
from videopred.datasets.contacts import contact_tables, wall_number

_pairs = cache(np.triu_indices)  # asked at every contact, and slow
MAX_EVENTS_PER_FRAME = 1000
_BURST = 50
"""More contacts a frame, on average over a clip so far and so many frames more, are taken for an endless series; a
light disc between heavy ones has many at once."""


class State(NamedTuple):
    """B clips of N discs at frame 0; NaN for absent discs in all four."""

    position: np.ndarray
    """(B, N, 2) float64, px."""
    velocity: np.ndarray
    """(B, N, 2) float64, px per frame."""
    radius: np.ndarray
    """(B, N) float64, px."""
    mass: np.ndarray
    """(B, N) float64; infinite for discs that never move."""


class Box(NamedTuple):
    """Where discs move, and by what law."""

    width: float
    """px"""
    height: float
    """px"""
    gravity: float = 0.0
    """Downward acceleration, px per squared frame; not together with discs of infinite mass."""
    restitution: float = 1.0
    """Share of the speed along the normal that a contact leaves."""
    walls: bool = True
    """Whether the box's sides hold the discs."""


class Motion(NamedTuple):
    """Paths of B clips of N discs, at T frames."""

    positions: np.ndarray
    """(B, T, N, 2) float64, px; NaN for absent discs."""
    velocities: np.ndarray
    """(B, T, N, 2) float64, px per frame; after the contact, if one falls on the frame."""
    contacts: list[np.ndarray]
    """B tables of CONTACT in the order of time, over the time [0, T]."""


def simulate(state: State, box: Box, frames: int) -> Motion:
    """The exact motion of B clips, no two discs of which overlap.

    Contacts at the same instant are taken in the order walls (x, then y, by disc), then pairs (by first, then
    second disc); for three discs that meet at once, where physics has no answer, this decides.

    Args:
        state: the discs at frame 0.
        box: what holds them.
        frames: number of frames T; contacts are found up to time T, one frame beyond the last.

    Raises:
        ValueError: contacts without end, as when discs are wedged between walls, or light ones between heavy ones.
    """
    x = np.ascontiguousarray(state.position.T)  # (2, N, B)
    v = np.where(np.isnan(x), 0, state.velocity.T)  # an absent disc meets nobody: NaN apart, and at rest
    radius, mass = np.ascontiguousarray(state.radius.T), np.ascontiguousarray(state.mass.T)  # (N, B)
    first, second = _pairs(len(radius), 1)
    reach = radius[first] + radius[second]  # (N (N - 1) / 2, B)
    fall = np.zeros(x.shape)
    fall[1] = np.where(np.isnan(mass), 0, box.gravity)

    time, touched = np.zeros(x.shape[-1]), np.full(radius.shape, -np.inf)
    paths, rows = np.empty((2, len(time), frames, len(radius), 2)), []  # positions and velocities
    for number in count():
        wait, event = _next_contact(x, v, fall, radius, reach, box)
        goes_on = time + wait <= frames
        if not goes_on.any():
            break
        if number > MAX_EVENTS_PER_FRAME * (time[goes_on].min() + _BURST):  # each that goes on has had so many
            must = f"meet at most {MAX_EVENTS_PER_FRAME:,} times a frame"
            fix = "choose fewer balls, masses more alike, or a larger --restitution"
            raise ValueError(check.complaint("--balls", must, "more", fix))
        step = np.where(goes_on, wait, 0)  # a finished clip stays at its last contact
        _fly(paths, time, x, v, fall, time + step)
        time, x, v = time + step, x + (v + fall * (step / 2)) * step, v + fall * step
        kept = np.where(time - touched < 1, 1, box.restitution)
        clip = np.flatnonzero(goes_on)
        i, j, impulse = _collide(x, v, mass, kept, event[clip], clip)
        pair = j >= 0
        touched[i, clip], touched[j[pair], clip[pair]] = time[clip], time[clip[pair]]
        rows.append((clip, time[clip], i, j, impulse))
    _fly(paths, time, x, v, fall, np.full_like(time, frames))
    return Motion(paths[0], paths[1], contact_tables(rows, len(time)))


def _next_contact(
    x: np.ndarray, v: np.ndarray, fall: np.ndarray, radius: np.ndarray, reach: np.ndarray, box: Box
) -> tuple[np.ndarray, np.ndarray]:
    """Wait (B,) until each clip's next contact, and which (B,): walls by axis and disc, then pairs."""
    to_wall = _until_wall(x, v, fall, radius, box)

    first, second = _pairs(len(radius), 1)
    d, u = x[:, first] - x[:, second], v[:, first] - v[:, second]
    a, b = u[0] * u[0] + u[1] * u[1], d[0] * u[0] + d[1] * u[1]
    c = d[0] * d[0] + d[1] * d[1] - reach * reach
    discriminant = b * b - a * c
    meet = (b < 0) & (discriminant > 0)
    root = np.sqrt(np.where(meet, discriminant, 0))
    to_pair = np.divide(c, root - b, out=np.full_like(c, np.inf), where=meet)

    waits = np.concatenate([to_wall.reshape(-1, x.shape[-1]), to_pair])
    event = waits.argmin(0)
    # Rounding may leave discs that touch a hair too close: then the wait is a hair below nothing.
    return np.maximum(np.take_along_axis(waits, event[None], 0)[0], 0), event


def _until_wall(x: np.ndarray, v: np.ndarray, fall: np.ndarray, radius: np.ndarray, box: Box) -> np.ndarray:
    """Wait (2, N, B) until each disc touches a wall across x and across y; infinite if it never does."""
    if not box.walls:
        return np.full_like(x, np.inf)
    far = np.reshape([box.width, box.height], (2, 1, 1)) - radius
    wait = np.divide(np.where(v > 0, far, radius) - x, v, out=np.full_like(x, np.inf), where=v != 0)
    if box.gravity:
        wait[1] = _until_fall(x[1] - radius, far[1] - x[1], v[1], fall[1])
    return wait


def _until_fall(above: np.ndarray, below: np.ndarray, speed: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """Wait (N, B) until the top is hit, or else the bottom, with so much free space above and below."""
    rise = speed * speed - 2 * gravity * above
    top, down = (speed < 0) & (rise > 0), speed > 0
    root = np.sqrt(np.where(top, rise, np.maximum(speed * speed + 2 * gravity * below, 0)))
    # A disc that rises and falls back waits (root - v) / g, the same root without a difference of equal numbers.
    way = np.where(top, 2 * above, np.where(down, 2 * below, root - speed))
    pace = np.where(top, root - speed, np.where(down, root + speed, gravity))
    return np.divide(way, pace, out=np.full_like(above, np.inf), where=gravity > 0)


def _collide(
    x: np.ndarray, v: np.ndarray, mass: np.ndarray, kept: np.ndarray, event: np.ndarray, clip: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Change the velocities of clips that are in contact, in place.

    Returns:
        first, second, impulse: (E,) columns of CONTACT, for the clips in `clip`.
    """
    discs = len(mass)
    first, second = _pairs(discs, 1)
    axis, i = np.divmod(event, discs)
    j = np.empty_like(i)
    impulse = np.empty(len(event))

    w = event < 2 * discs
    speed, share = v[axis[w], i[w], clip[w]], kept[i[w], clip[w]]
    v[axis[w], i[w], clip[w]] = -share * speed
    j[w] = wall_number(axis[w], speed > 0)
    impulse[w] = (1 + share) * mass[i[w], clip[w]] * np.abs(speed)

    p = ~w
    s, pair = clip[p], event[p] - 2 * discs
    i[p], j[p] = first[pair], second[pair]
    a, b = i[p], j[p]
    d, u = x[:, a, s] - x[:, b, s], v[:, a, s] - v[:, b, s]
    distance = np.sqrt(d[0] * d[0] + d[1] * d[1])
    normal = d / distance
    closing = -(u[0] * normal[0] + u[1] * normal[1])
    push = (1 + np.maximum(kept[a, s], kept[b, s])) * closing / (1 / mass[a, s] + 1 / mass[b, s])
    v[:, a, s] += push / mass[a, s] * normal
    v[:, b, s] -= push / mass[b, s] * normal
    impulse[p] = push
    return i, j, impulse


def _fly(
    paths: np.ndarray, time: np.ndarray, x: np.ndarray, v: np.ndarray, fall: np.ndarray, until: np.ndarray
) -> None:
    """Write the frames of free flight from `time` (B,) to just before `until` (B,) into positions and velocities."""
    first, stop = np.ceil(time).astype(int), np.ceil(until).astype(int)
    count = stop - first
    clip = np.repeat(np.arange(len(time)), count)  # (F,): one for each frame to be written
    frame = np.arange(len(clip)) + np.repeat(stop - count.cumsum(), count)
    position, velocity, pull, since = x[:, :, clip], v[:, :, clip], fall[:, :, clip], frame - time[clip]
    position = position + (velocity + pull * (since / 2)) * since
    paths[0, clip, frame] = position.T
    paths[1, clip, frame] = np.where(np.isnan(position), np.nan, velocity + pull * since).T
