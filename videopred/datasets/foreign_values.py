"""What data files of others hold, in the types and units of ours."""

from pathlib import Path
from typing import Any

import numpy as np

from videopred import check
from videopred.amounts import number_told
from videopred.datasets.world_settings import ARENA_HEIGHT

_ARRAYS = "--array train=training/features and so on for each part"
CONVERT = (
    f"convert its frames with `videopred import`, giving {_ARRAYS}, --axes TBHWC and --range; it keeps frames alone"
)
"""What to do about a file whose features have another range."""


def to_levels(stored: np.ndarray, binary: bool, path: Path) -> np.ndarray:
    """Features as levels from 0, black, to 255, white.

    Args:
        stored: (...) as they stand in the file: bool, floats that are 256 levels between 0 and 1, or whole numbers.
            Bool is changed in place.
        binary: whether whole numbers are 0 and 1, not 0 to 255.
        path: the file.

    Returns:
        (...) uint8. Numbers that already are such levels in uint8 come back themselves, not as a copy.

    Raises:
        FaultyFileError: the numbers are no such levels.
    """
    if stored.dtype == bool:
        levels = stored.view(np.uint8)
        return np.multiply(levels, 255, out=levels)
    if stored.dtype.kind == "f":
        return _from_floats(stored, path)
    most = 1 if binary else 255
    if stored.dtype == np.uint8 and most == 255:
        return stored
    must = f"hold features between 0 and {most} in every clip, as in the first, middle and last"
    inside = 0 <= stored.min() <= stored.max() <= most
    _require(inside, must, f"{stored.min()} to {stored.max()}", path, CONVERT)
    return stored.astype(np.uint8) * np.uint8(255 // most)


def _from_floats(stored: np.ndarray, path: Path) -> np.ndarray:
    """Floats as levels, if that is what they are: other floats are not rounded, as other films would then be scored."""
    low, high = stored.min(), stored.max()
    fix = CONVERT if np.isfinite(low) and np.isfinite(high) else "replace what is not finite"
    got = f"{number_told(low)} to {number_told(high)}"
    _require(low >= 0 and high <= 1, "hold float features between 0 and 1", got, path, fix)
    scaled = stored * stored.dtype.type(255)
    levels = np.rint(scaled)
    odd = np.abs(scaled - levels) > 255 * np.finfo(stored.dtype).eps
    must = "hold float features that are 256 levels, 0, 1/255, 2/255 and so on"
    fix = f"have `videopred import` round them, giving {_ARRAYS}, and --axes TBHWC"
    _require(not odd.any(), must, f"{stored[odd][0]:.6g}" if odd.any() else "", path, fix)
    return levels.astype(np.uint8)


def _require(condition: Any, must: str, got: str, path: Path, fix: str) -> None:
    check.require_sound(bool(condition), "DATA", must, f"{got} in {path}", fix)


_WHOLE = {"groups": 255, "events": 255, "collisions": 1, "labels/possible": 1}
"""Truth that is whole numbers from 0 on -> the largest of them; of 1, our files have bool."""
_MEASURED = {"positions", "velocities", "visibility/fraction", "objects/radius", "objects/mass"}
"""Truth that others may tell in whole numbers, with which one would have to reckon otherwise."""


def to_our_type(name: str, values: np.ndarray, path: Path) -> np.ndarray:
    """What stands under a name, in the type that our files have; in its own, if that differs between our files.

    What is measured, and numbers of more than 64 bits, which torch has not, are given as float64.

    Args:
        name: as in file_layout.py.
        values: (…) of any kind of number, in any order of bytes.
        path: the file.

    Raises:
        FaultyFileError: the type of our files does not hold the numbers.
    """
    if name not in _WHOLE:
        as_float = values.dtype.itemsize > 8 or (name in _MEASURED and values.dtype.kind != "f")
        return values.astype(np.float64 if as_float else values.dtype.newbyteorder("="), copy=False)
    most = _WHOLE[name]
    ours = np.bool_ if most == 1 else np.uint8
    if values.dtype == ours:
        return values
    wrong = values[~((values >= 0) & (values <= most) & (values == np.rint(values)))]
    must = f"hold {name} that are {'0 or 1' if most == 1 else 'whole numbers from 0 to 255'}"
    got = f"{wrong[0] if wrong.size else ''} in {path}"
    check.require_sound(not wrong.size, "DATA", must, got, f"correct {name}, or remove it from the file")
    return values.astype(ours)


def unit_and_offset(positions: np.ndarray, masks: np.ndarray) -> tuple[float | None, float]:
    """How places of others are told, as masks show it.

    Args:
        positions: (T, N, 2), x and y; NaN where an object is not there.
        masks: (T, H, W) uint8, objects counted from 1.

    Returns:
        unit: px of the unit of places: 1, or those of an arena unit, ten of which are a frame's height; by it most
            places lie within their objects. None if neither does.
        offset: px by which most places lie beside the centres of their objects, along x and along y: -0.5 if the top
            left pixel has its centre at (0, 0), 0.5 if at (1, 1), else 0. Of unhidden discs the two differ by 0.15 at
            most, so that half a pixel shows.
    """
    row, column = np.indices(masks.shape[1:]) + 0.5
    places, centres, radii = [], [], []
    for frame, number in np.ndindex(positions.shape[:2]):
        mine = masks[frame] == number + 1
        if mine.any():
            places.append(positions[frame, number])
            centres.append((column[mine].mean(), row[mine].mean()))
            radii.append(np.sqrt(mine.sum() / np.pi))
    if not places:
        return None, 0.0

    def most(condition: np.ndarray) -> bool:
        return int(condition.sum()) > len(places) / 2

    for px in (1.0, masks.shape[1] / ARENA_HEIGHT):
        apart = px * np.array(places) - centres
        if most(np.hypot(*apart.T) < radii):
            offsets = (offset for offset in (-0.5, 0.5) if most((np.abs(apart - offset) < 0.25).all(1)))
            return px, next(offsets, 0.0)
    return None, 0.0


def unit_of_radii(radii: np.ndarray, masks: np.ndarray) -> float | None:
    """How many px the unit of radii has, as masks show it: 1, or those of an arena unit; None if it is neither.

    Of radii without a mask nothing is known, and 1 is given.

    Args:
        radii: (T, N), NaN where an object is not there.
        masks: (T, H, W) uint8, objects counted from 1.
    """
    count = radii.shape[1]
    areas = [np.bincount(mask.ravel(), minlength=count + 1)[1 : count + 1] for mask in masks]
    seen = np.sqrt(np.array(areas) / np.pi)
    there = (seen > 0) & (radii > 0)
    if not there.any():
        return 1.0
    ratio = float(np.median(seen[there] / radii[there]))
    unit = min((1.0, masks.shape[1] / ARENA_HEIGHT), key=lambda px: abs(np.log(ratio / px)))
    return unit if 2 / 3 < ratio / unit < 3 / 2 else None
