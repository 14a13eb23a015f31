"""One ball in a box: from its path to a clip, and paths that reflect at the walls.

Many clips go at once, along the last axis of every array, and every operation is elementwise along it, so a clip is
the same whatever is made beside it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from videopred.datasets.clip import Clip
from videopred.datasets.contacts import contact_tables, hits_by_frame, wall_number
from videopred.datasets.one_ball_settings import OneBallSettings
from videopred.datasets.raster import draw_discs, pixels_of, visible_fraction


class Paths(NamedTuple):
    """Paths of one ball in B clips of T frames, from the corner where it would touch the left and the top wall."""

    places: np.ndarray
    """(T, 2, B) px."""
    velocities: np.ndarray
    """(T, 2, B) px per frame, on the way from the frame."""
    hits: np.ndarray
    """(T, 2, B) time of the contact with a wall along x and y on the way to the next frame; NaN where there is none."""


def reflect(
    place: np.ndarray,
    velocity: np.ndarray,
    room: np.ndarray,
    frames: int,
    turn: Callable[[int, np.ndarray], np.ndarray],
) -> Paths:
    """Straight flight from frame to frame, with exact reflection at the walls.

    Args:
        place: (2, B) px, the start, from 0 to `room`.
        velocity: (2, B) px per frame, at most `room` along each axis.
        room: (2, 1) px, between the places where the ball touches opposite walls.
        frames: number of frames T.
        turn: (frame, velocity that it comes with) -> velocity that it leaves with, both (2, B).
    """
    paths = Paths(*np.empty((3, frames, *place.shape)))
    for frame in range(frames):
        velocity = turn(frame, velocity)
        reached = place + velocity
        goal = np.where(velocity > 0, room, 0)
        hit = (reached < 0) | (reached > room)
        wait = np.divide(goal - place, velocity, out=np.full_like(place, np.nan), where=hit)
        paths.places[frame], paths.velocities[frame], paths.hits[frame] = place, velocity, frame + wait
        place = np.where(hit, 2 * goal - reached, reached)
        velocity = np.where(hit, -velocity, velocity)
    return paths


def _wall_contacts(paths: Paths) -> list[np.ndarray]:
    """B tables of CONTACT, in the order of time."""
    frame, axis, clip = np.nonzero(~np.isnan(paths.hits))
    time = paths.hits[frame, axis, clip]
    order = np.argsort(time, kind="stable")
    frame, axis, clip, time = frame[order], axis[order], clip[order], time[order]
    walls = wall_number(axis, paths.velocities[frame, axis, clip] > 0)
    return contact_tables([(clip, time, np.zeros_like(clip), walls, np.full_like(time, np.nan))], paths.hits.shape[-1])


def draw_clips(recipe: OneBallSettings, paths: Paths) -> Iterator[Clip]:
    """The clips of some paths: a white ball on black.

    Args:
        recipe: how large the ball is, and the frames.
        paths: B paths.
    """
    radius = np.array([recipe.radius * recipe.px_per_unit], np.float32)
    # Drawn from the rounded numbers that the file holds, so that the masks can be drawn again from it.
    positions = (paths.places + recipe.radius * recipe.px_per_unit).astype(np.float32).transpose(2, 0, 1)[:, :, None]
    velocities = paths.velocities.astype(np.float32).transpose(2, 0, 1)[:, :, None]  # (B, T, 1, 2)
    for position, velocity, contacts in zip(positions, velocities, _wall_contacts(paths), strict=True):
        masks, drawn = draw_discs(position, radius, recipe.height, recipe.width)
        events, hit = hits_by_frame(contacts, recipe.frames, 1)
        yield Clip(
            frames=(masks * np.uint8(255))[..., None],
            masks=masks,
            positions=position,
            velocities=velocity,
            collisions=pixels_of(masks, hit),
            events=events,
            visibility=visible_fraction(masks, drawn),
            contacts=contacts,
            objects={"active": np.array([True]), "radius": radius},
        )
