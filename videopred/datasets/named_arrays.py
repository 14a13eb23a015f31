"""Picks arrays by name from a file that holds several, and says which part of the data set each is for."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import escape
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from videopred import check
from videopred.datasets.array_films import axes_of, films_of_array
from videopred.datasets.foreign_films import RawFilms
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.picture_films import by_number

_OPEN = 4
"""Arrays that stay open at once: an unpacked one takes its place on the disk."""


class Header(NamedTuple):
    """What a file says of an array before it is read."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.shape} {self.dtype}"


def pick_array(wanted: str | None, there: Mapping[str, Header], source: Path) -> str:
    """The name of the array that is meant: the one that is wanted, or else the only one.

    Raises:
        ValueError: there is no such array, or none at all, or none is wanted and there are several.
    """
    check.require_sound(len(there) > 0, "SOURCE", "hold an array", f"none in {source}", "choose another file")
    if wanted is not None:
        return check.one_of("--array", wanted, there)
    must, fix = "be given where a file holds several arrays", "name one of them"
    shown = ", ".join(f"{name} {header}" for name, header in there.items())
    check.require(len(there) == 1, "--array", must, f"none for {source} with {shown}", fix)
    return next(iter(there))


def read_named(
    source: Path, kind: str, there: Mapping[str, Header], opened: Callable[[str], np.ndarray], config: ImportConfig
) -> RawFilms:
    """The films of the arrays that `config.array` names, one array after the other, and part after part.

    Args:
        source: the file.
        kind: what its arrays are called, such as HDF5.
        there: all of its arrays.
        opened: name -> the array, read only where it is looked at.
        config: which of them are meant, and what their axes are, the same for all.

    Raises:
        ValueError: a name fits no array, one would come twice, or their axes are not those named.
    """
    of_part = config.array_of_part
    wanted: list[tuple[str, str | None]] = [*of_part.items()] or [("", next(iter(config.array), None))]
    chosen = [(part, name) for part, pattern in wanted for name in _matching(pattern, there, source)]
    if len(chosen) == 1 and not of_part:
        [(_, name)] = chosen
        return films_of_array(source, f"{kind} array {name} of {len(there)}", opened(name), config)
    names = [name for _, name in chosen]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    check.require(not twice, "--array", "name each array once", ", ".join(twice), "leave one of its names out")

    @lru_cache(_OPEN)
    def films(name: str) -> RawFilms:
        return films_of_array(source, name, opened(name), config)

    axes = {name: axes_of(there[name].shape, config.axes, f"{name} in {source}") for name in names}
    counts = [there[name].shape[axes[name].index("B")] if "B" in axes[name] else 1 for name in names]
    ends = list(accumulate(counts))

    def frames(clip: int) -> Iterator[np.ndarray]:
        piece = bisect_right(ends, clip)
        yield from films(names[piece]).frames(clip - ends[piece] + counts[piece])

    called = [f"clip {clip} of {name}" for name, count in zip(names, counts, strict=True) for clip in range(count)]
    found = {"format": f"{len(names)} {kind} arrays of {len(there)}", "axes": axes[names[0]]}
    parts = dict.fromkeys(of_part, 0)
    for (part, _), count in zip(chosen, counts, strict=True) if of_part else ():
        parts[part] += count
    return RawFilms(source, found, called, frames, parts=parts or None)


def _matching(pattern: str | None, there: Mapping[str, Header], source: Path) -> list[str]:
    """The arrays that a name stands for: the one called so or, if * is in it, all that fit, in the order of numbers."""
    if pattern is None or pattern in there or "*" not in pattern:
        return [pick_array(pattern, there, source)]
    escaped = escape(pattern).replace("[*]", "*")  # other signs of patterns mean themselves
    fitting = sorted((name for name in there if fnmatchcase(name, escaped)), key=by_number)
    got = f"{pattern} for {source} with {', '.join(there)}"
    check.require(bool(fitting), "--array", "fit the name of an array", got, "write * for what differs in their names")
    return fitting
