"""The table of contacts: who touched whom or which wall, and when."""

import numpy as np

CONTACT = np.dtype([("time", "f8"), ("first", "i2"), ("second", "i2"), ("impulse", "f8")])
"""One contact.

time: in frames; 0 is frame 0. Exact, or the end of the step in which it happens, as the world's law goes.
first: the object.
second: the other object, or a wall: -1 left, -2 right, -3 top, -4 bottom.
impulse: momentum exchanged along the normal, mass times px per frame, positive; NaN where nothing has a mass.
"""

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Contacts of many clips: columns (E,) clip, time, first, second, impulse."""


def wall_number(axis: np.ndarray | int, far: np.ndarray) -> np.ndarray:
    """Numbers of walls in the column `second`.

    Args:
        axis: 0 for x, 1 for y.
        far: bool, whether it is the wall at the axis' high end.
    """
    return -(1 + 2 * axis + far)


def contact_tables(rows: list[Rows], clips: int) -> list[np.ndarray]:
    """One table of CONTACT per clip; contacts of a clip stay in the order of `rows`, which is that of time."""
    if not rows:
        return [np.zeros(0, CONTACT) for _ in range(clips)]
    clip, *columns = (np.concatenate(column) for column in zip(*rows, strict=True))
    table = np.empty(len(clip), CONTACT)
    table["time"], table["first"], table["second"], table["impulse"] = columns
    order = np.argsort(clip, kind="stable")
    return np.split(table[order], np.searchsorted(clip[order], np.arange(1, clips)))


def hits_by_frame(contacts: np.ndarray, frames: int, objects: int) -> tuple[np.ndarray, np.ndarray]:
    """What happens after each frame t, in the time (t, t + 1].

    Args:
        contacts: (E,) CONTACT, with times in [0, frames].
        frames: number of frames T.
        objects: number of objects N.

    Returns:
        events: (T,) uint8, contacts after each frame; 255 stands for 255 or more.
        hit: (T, N) bool, whether the object takes part in one.
    """
    # A contact at the very start is in no (t, t + 1]; it counts to frame 0.
    frame = np.maximum(np.ceil(contacts["time"]).astype(int) - 1, 0)
    events = np.bincount(frame, minlength=frames)
    hit = np.zeros((frames, objects), bool)
    hit[frame, contacts["first"]] = True
    pair = contacts["second"] >= 0
    hit[frame[pair], contacts["second"][pair]] = True
    return np.minimum(events, 255).astype(np.uint8), hit
