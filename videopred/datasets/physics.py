"""Elastic discs in a box, exactly: straight flight from one contact to the next, no time step.

Between contacts the path of a disc is a line, so the next contact of a clip is the smallest of these waits:

    wall   (r - x) / v        or  (box - r - x) / v, whichever wall it flies to, for each axis
    pair   c / (sqrt(b² - a c) - b),  where  a = u·u,  b = d·u,  c = d·d - (r₁ + r₂)²,
           d and u being the differences of position and velocity; only if b < 0, when they approach

The pair's form is that root of |d + u t| = r₁ + r₂ which loses no digits when they almost touch.

Many clips go at once, each to its own next contact. Clips lie along the last axis of every array, which makes
NumPy's inner loops long, and every operation is elementwise along it, so a clip's path is the same to the last bit
whatever is simulated beside it.
"""

from typing import NamedTuple

import numpy as np

from videopred.datasets.contacts import CONTACT, wall

MAX_EVENTS_PER_FRAME = 1000
"""More contacts than this, on average over a clip, are taken for an endless series."""


class Motion(NamedTuple):
    """Paths of S clips of N discs, at T frames."""

    positions: np.ndarray
    """(S, T, N, 2) float64, px; NaN for absent discs."""
    velocities: np.ndarray
    """(S, T, N, 2) float64, px per frame; after the contact, if one falls on the frame."""
    contacts: list[np.ndarray]
    """S tables of CONTACT in the order of time, over the time [0, T]."""


def simulate(
    position: np.ndarray,
    velocity: np.ndarray,
    radius: np.ndarray,
    mass: np.ndarray,
    box: tuple[float, float],
    frames: int,
) -> Motion:
    """The exact motion of S clips from their state at frame 0.

    Contacts at the same instant are taken in the order walls (x, then y, by disc), then pairs (by first, then
    second disc); for three discs that meet at once, where physics has no answer, this decides.

    Args:
        position: (S, N, 2) float64, px, no two discs overlapping; NaN for absent discs.
        velocity: (S, N, 2) float64, px per frame.
        radius: (S, N) float64, px.
        mass: (S, N) float64.
        box: width and height of the box, px.
        frames: number of frames T; contacts are found up to time T, one frame beyond the last.

    Raises:
        RuntimeError: contacts without end, as when discs are wedged between walls.
    """
    x = np.ascontiguousarray(position.T)  # (2, N, S)
    v = np.where(np.isnan(x), 0, velocity.T)  # an absent disc meets nobody: NaN apart, and at rest
    radius, mass = np.ascontiguousarray(radius.T), np.ascontiguousarray(mass.T)  # (N, S)
    first, second = np.triu_indices(len(radius), k=1)
    reach = radius[first] + radius[second]  # (N (N - 1) / 2, S)
    far = np.reshape(box, (2, 1, 1))

    time = np.zeros(x.shape[-1])
    legs, rows = [(time, x, v)], []
    for _ in range(MAX_EVENTS_PER_FRAME * frames):
        wait, event = _next_contact(x, v, radius, reach, far)
        goes_on = time + wait <= frames
        if not goes_on.any():
            break
        step = np.where(goes_on, wait, 0)  # a finished clip stays at its last contact
        time, x, v = time + step, x + v * step, v.copy()
        clip = np.flatnonzero(goes_on)
        rows.append((clip, time[clip], *_collide(x, v, mass, event[clip], clip)))
        legs.append((time, x, v))
    else:
        raise RuntimeError(f"more than {MAX_EVENTS_PER_FRAME} contacts per frame; give the balls more room")
    return Motion(*_at_frames(legs, frames), _tables(rows, len(time)))


def _next_contact(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray, reach: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Wait (S,) until each clip's next contact, and which (S,): walls by axis and disc, then pairs."""
    goal = np.where(v > 0, far - radius, radius)
    to_wall = np.divide(goal - x, v, out=np.full_like(x, np.inf), where=v != 0)

    first, second = np.triu_indices(len(radius), k=1)
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


def _collide(
    x: np.ndarray, v: np.ndarray, mass: np.ndarray, event: np.ndarray, clip: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Change the velocities of clips that are in contact, in place.

    Returns:
        first, second, impulse: (E,) columns of CONTACT, for the clips in `clip`.
    """
    discs = len(mass)
    first, second = np.triu_indices(discs, k=1)
    axis, i = np.divmod(event, discs)
    j = np.empty_like(i)
    impulse = np.empty(len(event))

    w = event < 2 * discs
    speed = v[axis[w], i[w], clip[w]]
    v[axis[w], i[w], clip[w]] = -speed
    j[w] = wall(axis[w], speed > 0)
    impulse[w] = 2 * mass[i[w], clip[w]] * np.abs(speed)

    p = ~w
    s, pair = clip[p], event[p] - 2 * discs
    i[p], j[p] = first[pair], second[pair]
    a, b = i[p], j[p]
    d, u = x[:, a, s] - x[:, b, s], v[:, a, s] - v[:, b, s]
    distance = np.sqrt(d[0] * d[0] + d[1] * d[1])
    normal = d / distance
    closing = -(u[0] * normal[0] + u[1] * normal[1])
    push = 2 * closing / (1 / mass[a, s] + 1 / mass[b, s])
    v[:, a, s] += push / mass[a, s] * normal
    v[:, b, s] -= push / mass[b, s] * normal
    impulse[p] = push
    return i, j, impulse


def _at_frames(legs: list[tuple], frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities (S, T, N, 2) at the frames, from the legs of straight flight."""
    start, x, v = (np.stack(column) for column in zip(*legs, strict=True))  # (E, S), (E, 2, N, S) twice
    frame = np.arange(frames)[:, None]
    leg = (start[:, None] <= frame).sum(0) - 1  # (T, S): the last one that began by then
    clip = np.arange(start.shape[1])
    position, velocity = x[leg, :, :, clip], v[leg, :, :, clip]  # (T, S, 2, N)
    position = position + velocity * (frame - start[leg, clip])[..., None, None]
    velocity = np.where(np.isnan(position), np.nan, velocity)
    return position.transpose(1, 0, 3, 2), velocity.transpose(1, 0, 3, 2)


def _tables(rows: list[tuple], clips: int) -> list[np.ndarray]:
    """One table of contacts per clip, from columns (clip, time, first, second, impulse) in the order of time."""
    if not rows:
        return [np.zeros(0, CONTACT) for _ in range(clips)]
    clip, *columns = (np.concatenate(column) for column in zip(*rows, strict=True))
    table = np.empty(len(clip), CONTACT)
    table["time"], table["first"], table["second"], table["impulse"] = columns
    order = np.argsort(clip, kind="stable")
    return np.split(table[order], np.searchsorted(clip[order], np.arange(1, clips)))
