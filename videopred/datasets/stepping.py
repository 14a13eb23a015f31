"""Discs in a box, step by step: the laws of R-NEM's and Sutskever's generators, with their faults.

Both move all discs straight for a step, then turn those beyond a wall, then let each overlapping pair exchange its
speeds along the line of centres as elastic balls do: pairs by their later disc, then by the earlier.

    rnem        one step a frame; a disc beyond a wall is set back onto it and its velocity there reversed; a pair is
                pushed apart along the line of centres, each disc by half of the overlap, whatever the masses
    sutskever   two steps a frame; a disc beyond a wall is not set back, only made to fly inwards; pairs stay where they
                are, and exchange speeds also while they part, so that they may stick

Contacts come up to one step late, so discs go through walls and each other on the way, and no path can be reversed.
Energy is kept by both, and does not reveal this.

Clips lie along the last axis, and every operation is elementwise along it, as in physics.py.

Source: rnem is reconstructed from the published films of van Steenkiste et al. 2018 (steps of a frame, positions at the
wall in every bounce, displacements at contacts); the order of pairs, and that parting pairs exchange speeds too, are
assumed as in its ancestor; so is x as the line of centres of two fast discs that are set back into the same corner.
Assumed unlike in it: a disc that a push sends back inwards while it is beyond a wall is turned, too, which is rare.
sutskever is the generator of Sutskever, Hinton & Taylor 2008.
"""

import numpy as np

from videopred.datasets.contacts import Rows, contact_tables, wall_number
from videopred.datasets.physics import Box, Motion, State


def step_rnem(state: State, box: Box, frames: int) -> Motion:
    """The motion of B clips by R-NEM's rule; see `simulate`. A contact's time is the end of its step, a frame."""
    return _march(state, box, frames, steps=1, sets_back=True)


def step_sutskever(state: State, box: Box, frames: int) -> Motion:
    """The motion of B clips by Sutskever's rule; see `simulate`. A contact's time is the end of its half frame."""
    return _march(state, box, frames, steps=2, sets_back=False)


def _march(state: State, box: Box, frames: int, steps: int, sets_back: bool) -> Motion:
    x = state.position.T.copy()  # (2, N, B)
    v = state.velocity.T.copy()
    radius, mass = np.ascontiguousarray(state.radius.T), np.ascontiguousarray(state.mass.T)  # (N, B)
    positions, velocities = np.empty((2, frames, *x.shape))
    rows: list[Rows] = []
    for frame in range(frames):
        positions[frame], velocities[frame] = x, v
        for step in range(1, steps + 1):
            x += v / steps
            time = frame + step / steps
            rows += _turn_at_walls(x, v, radius, mass, box, time, sets_back)
            rows += _exchange_speeds(x, v, radius, mass, time, sets_back)
    return Motion(positions.transpose(3, 0, 2, 1), velocities.transpose(3, 0, 2, 1), contact_tables(rows, x.shape[-1]))


def _turn_at_walls(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray, mass: np.ndarray, box: Box, time: float, sets_back: bool
) -> list[Rows]:
    """Turn discs that are beyond a wall, in place, and return the contacts, by axis and disc."""
    far = np.reshape([box.width, box.height], (2, 1, 1)) - radius
    low, high = x < radius, x > far
    if sets_back:
        turns = low | high
        np.copyto(x, np.where(low, radius, far), where=turns)
    else:
        turns = (low & (v < 0)) | (high & (v > 0))
    axis, disc, clip = np.nonzero(turns)
    impulse = 2 * mass[disc, clip] * np.abs(v[turns])
    np.negative(v, out=v, where=turns)
    number = wall_number(axis, high[turns])
    return [(clip, np.full(len(clip), time), disc, number, impulse)] if len(clip) else []


def _exchange_speeds(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray, mass: np.ndarray, time: float, sets_back: bool
) -> list[Rows]:
    """Let overlapping pairs bounce, one after the other, in place, and return the contacts in this order."""
    rows: list[Rows] = []
    for j in range(len(radius)):
        for i in range(j):
            d, reach = x[:, i] - x[:, j], radius[i] + radius[j]
            s = np.flatnonzero(d[0] * d[0] + d[1] * d[1] < reach * reach)
            if not len(s):
                continue
            d = d[:, s]
            distance = np.sqrt(d[0] * d[0] + d[1] * d[1])
            normal, u = _directions(d, distance), v[:, i, s] - v[:, j, s]
            if sets_back:
                half = (reach[s] - distance) / 2 * normal
                x[:, i, s] += half
                x[:, j, s] -= half
            push = -2 * (u[0] * normal[0] + u[1] * normal[1]) / (1 / mass[i, s] + 1 / mass[j, s])
            v[:, i, s] += push / mass[i, s] * normal
            v[:, j, s] -= push / mass[j, s] * normal
            here = np.full(len(s), time), np.full(len(s), i), np.full(len(s), j)
            rows.append((s, *here, np.abs(push)))
    return rows


def _directions(d: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Unit vectors (2, S) along differences of place; along x of discs at the very same place, such as one corner."""
    along_x = np.broadcast_to([[1.0], [0.0]], d.shape)
    return np.divide(d, distance, out=along_x.copy(), where=distance > 0)
