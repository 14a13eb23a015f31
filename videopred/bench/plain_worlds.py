"""Generators as one writes them first, for benchmarks: one clip, one object, one frame at a time.

`plain_balls` follows the law of Sutskever's bouncing balls (2008), the script that most later ones descend from: small
steps, velocities exchanged when balls overlap, soft discs drawn over the whole frame. `plain_digits` follows our own
law of Stochastic Moving MNIST.
"""

import math

import numpy as np

from videopred.datasets.digits import resize

_ARENA = 10.0
_STEP = 0.5


def plain_balls(
    frames: int, size: int, radii: list[float], masses: list[float], speed: float, chance: np.random.Generator
) -> np.ndarray:
    """A film (T, H, W) of bouncing balls, float64 in [0, 1].

    Args:
        frames: T.
        size: H and W, in px.
        radii: of each ball, in units of a tenth of the frame.
        masses: of each ball.
        speed: root of the sum of all balls' squared speeds, units per frame.
        chance: source of places and directions.
    """
    count = len(radii)
    velocity = chance.standard_normal((count, 2))
    velocity *= speed / math.sqrt((velocity**2).sum())
    place = _free_places(radii, chance)
    rows, columns = np.meshgrid(*[(np.arange(size) + 0.5) * _ARENA / size] * 2, indexing="ij")
    film = np.zeros((frames, size, size))
    for frame in range(frames):
        for i in range(count):
            distance2 = (rows - place[i, 1]) ** 2 + (columns - place[i, 0]) ** 2
            film[frame] += np.exp(-((distance2 / radii[i] ** 2) ** 4))
        np.minimum(film[frame], 1, out=film[frame])
        for _ in range(round(1 / _STEP)):
            _small_step(place, velocity, radii, masses)
    return film


def _free_places(radii: list[float], chance: np.random.Generator) -> np.ndarray:
    """Centres (N, 2), drawn all together until no ball overlaps a wall or another; each try looks at every pair."""
    count = len(radii)
    while True:
        place = 2 + 8 * chance.random((count, 2))
        faults = sum(not radii[i] <= place[i, axis] <= _ARENA - radii[i] for i in range(count) for axis in range(2))
        faults += sum(_length(place[i] - place[j]) < radii[i] + radii[j] for i in range(count) for j in range(i))
        if not faults:
            return place


def _length(vector: np.ndarray) -> float:
    return np.sqrt((vector**2).sum())


def _small_step(place: np.ndarray, velocity: np.ndarray, radii: list[float], masses: list[float]) -> None:
    """Move all balls by a part of a frame and let those that overlap bounce, in place."""
    for i in range(len(radii)):
        place[i] += _STEP * velocity[i]
    for i, r in enumerate(radii):
        for axis in range(2):
            if place[i, axis] - r < 0:
                velocity[i, axis] = abs(velocity[i, axis])
            if place[i, axis] + r > _ARENA:
                velocity[i, axis] = -abs(velocity[i, axis])
    for i in range(len(radii)):
        for j in range(i):
            apart = place[i] - place[j]
            distance = _length(apart)
            if distance < radii[i] + radii[j]:
                normal = apart / distance
                closing = (velocity[j] - velocity[i]) @ normal
                push = 2 * closing / (1 / masses[i] + 1 / masses[j])
                velocity[i] += push / masses[i] * normal
                velocity[j] -= push / masses[j] * normal


def plain_digits(
    frames: int, size: int, images: np.ndarray, digit_size: int, speed: int, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A film of digits that leave walls at random, and which digit is the brightest at each pixel.

    Args:
        frames: T.
        size: H and W, in px.
        images: (N, 28, 28) uint8, the digits.
        digit_size: side to which they are resized, px.
        speed: largest speed along an axis, px per frame.
        chance: source of places, speeds and bounces.

    Returns:
        film: (T, H, W) uint8.
        masks: (T, H, W) uint8, counted from 1; 0 where there is no light.
    """
    light = np.zeros((frames, size, size), np.uint16)
    brightest, masks = np.zeros((2, frames, size, size), np.uint8)
    most = size - digit_size
    for number, image in enumerate(images, start=1):
        sprite = resize(image, digit_size)
        place = [int(chance.integers(most + 1)) for _ in range(2)]
        step = [int(chance.integers(-speed, speed + 1)) for _ in range(2)]
        for frame in range(frames):
            window = frame, slice(place[1], place[1] + digit_size), slice(place[0], place[0] + digit_size)
            light[window] += sprite
            brighter = sprite > brightest[window]
            masks[window][brighter] = number
            brightest[window][brighter] = sprite[brighter]
            place = [x + dx for x, dx in zip(place, step, strict=True)]
            hits = [int(x > most) - int(x < 0) for x in place]
            if any(hits):
                place = [min(max(x, 0), most) for x in place]
                step = [
                    int(-hit * chance.integers(1, speed + 1) if hit else chance.integers(-speed, speed + 1))
                    for hit in hits
                ]
    return np.minimum(light, 255).astype(np.uint8), masks
