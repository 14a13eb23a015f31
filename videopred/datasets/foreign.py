"""Films of another origin, as they are brought into our files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ForeignFilms:
    """Films that others made, read clip by clip when they are asked for."""

    found: Mapping[str, Any]
    """What was found out about them, to be said to the user: layout, range, sizes, …"""
    parts: Mapping[str, int]
    """train, validation, test -> number of clips; those that are there."""
    record: Callable[[str, int], Mapping[str, np.ndarray]]
    """(part, index) -> the arrays of one clip by their names in our files, `features` (T, H, W, C) first of all."""
