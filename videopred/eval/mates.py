"""Films of a scene that begin alike: which belong together, and where they differ."""

import numpy as np


def differing(films: np.ndarray, possible: np.ndarray | None) -> np.ndarray:
    """Where each film of a scene differs from its mate, which begins alike.

    Args:
        films: (4, T, H, W, C) uint8.
        possible: (4,) bool, two of them; None if it is not known.

    Returns:
        (4, T) bool.
    """
    different = differences(films)
    return np.array([different[film, mate] for film, mate in enumerate(mates(different, possible))])


def differences(films: np.ndarray) -> np.ndarray:
    """(4, 4, T) bool: the frames at which two of four films (4, T, H, W, C) differ."""
    flat = films.reshape(*films.shape[:2], -1)
    return np.array([[(one != other).any(1) for other in flat] for one in flat])


def mates(different: np.ndarray, possible: np.ndarray | None) -> list[int]:
    """The mate of each of four films: of all ways to pair them, that with the longest equal beginnings.

    Args:
        different: see `differences`.
        possible: (4,) bool: then one of each pair is possible. None if it is not known.
    """
    ways = [(1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)]
    if possible is not None:
        ways = [way for way in ways if all(possible[film] != possible[mate] for film, mate in enumerate(way))]
    equal = np.where(different.any(2), different.argmax(2), different.shape[2])
    return list(max(ways, key=lambda way: sum(int(equal[film, mate]) for film, mate in enumerate(way))))
