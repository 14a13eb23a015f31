"""Truth in data files of others: the same things in other types, and places in other units."""

from pathlib import Path

import numpy as np

from videopred import check
from videopred.datasets.world_settings import ARENA_HEIGHT


def as_ours(name: str, values: np.ndarray, path: Path) -> np.ndarray:
    """What stands under a name, in the type that our files have.

    Args:
        name: as `record` has it.
        values: (…) of any kind of number.
        path: the file.

    Raises:
        FaultyFileError: the type of our files does not hold the numbers.
    """
    kinds = {"groups": np.uint8, "events": np.uint8, "collisions": np.bool_}
    ours, most = kinds.get(name, values.dtype.type), 1 if name == "collisions" else 255
    if values.dtype == ours:
        return values
    wrong = values[~((values >= 0) & (values <= most) & (values == np.rint(values)))]
    must = f"hold {name} that are {'0 or 1' if most == 1 else 'whole numbers from 0 to 255'}"
    got = f"{wrong[0] if wrong.size else ''} in {path}"
    check.require_sound(not wrong.size, "DATA", must, got, "make a file with `videopred generate`")
    return values.astype(ours)


def px_per_unit(positions: np.ndarray, masks: np.ndarray) -> float | None:
    """How many px the unit of places is: 1, or those of an arena unit, ten of which are a frame's height.

    It is the one by which most places lie within their objects, as masks show them; None if neither is.

    Args:
        positions: (T, N, 2), x and y; NaN where an object is not there.
        masks: (T, H, W) uint8, objects counted from 1.
    """
    row, column = np.indices(masks.shape[1:]) + 0.5
    for px in (1.0, masks.shape[1] / ARENA_HEIGHT):
        inside = []
        for frame, number in zip(*np.nonzero(_shown(masks, positions.shape[1])), strict=True):
            mine = masks[frame] == number + 1
            apart = px * positions[frame, number] - (column[mine].mean(), row[mine].mean())
            inside.append(np.hypot(*apart) < np.sqrt(mine.sum() / np.pi))
        if np.sum(inside) > len(inside) / 2:
            return px
    return None


def _shown(masks: np.ndarray, objects: int) -> np.ndarray:
    """Whether masks (T, H, W) show each object, (T, N) bool."""
    return np.stack([(masks == number).any((1, 2)) for number in range(1, objects + 1)], 1)
