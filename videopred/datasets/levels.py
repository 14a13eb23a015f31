"""Turns the features of a data file, whatever type they are stored in, into levels from 0, black, to 255, white."""

from pathlib import Path
from typing import Any

import numpy as np

from videopred import check


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
    must = f"hold features between 0 and {most}, as those do that were looked at first"
    inside = 0 <= stored.min() <= stored.max() <= most
    _require(inside, must, f"{stored.min()} to {stored.max()}", path, "make a file with `videopred generate`")
    return stored.astype(np.uint8) * np.uint8(255 // most)


def _from_floats(stored: np.ndarray, path: Path) -> np.ndarray:
    """Floats as levels, if that is what they are: other floats are not rounded, as other films would then be scored."""
    inside, fix = bool((stored >= 0).all() and (stored <= 1).all()), "make a file with `videopred generate`"
    _require(inside, "hold float features between 0 and 1", f"{stored.min():g} to {stored.max():g}", path, fix)
    scaled = stored * stored.dtype.type(255)
    levels = np.rint(scaled)
    odd = np.abs(scaled - levels) > 255 * np.finfo(stored.dtype).eps
    must, fix = "hold float features that are 256 levels, 0, 1/255, 2/255 and so on", "round them, or give uint8"
    _require(not odd.any(), must, f"{stored[odd][0]:.6g}" if odd.any() else "", path, fix)
    return levels.astype(np.uint8)


def _require(condition: Any, must: str, got: str, path: Path, fix: str) -> None:
    check.require_sound(bool(condition), "DATA", must, f"{got} in {path}", fix)
