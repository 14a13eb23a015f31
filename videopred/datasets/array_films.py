"""Films in arrays, whatever file holds them: which arrays are meant, what their axes are, and the films in them."""

import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from videopred import amounts, check
from videopred.datasets.foreign_films import RawFilms, by_number
from videopred.datasets.import_settings import ImportConfig
from videopred.files import told_of

_READINGS = {
    3: ["THW", "HWC"],
    4: ["TBHW", "BTHW", "THWC", "TCHW", "CTHW"],
    5: ["BTHWC", "TBHWC", "BTCHW", "TBCHW", "BCTHW"],
}
"""Number of axes -> how such arrays are usually kept; of these, only those with a sensible number of channels."""
_OPEN = 4
"""Arrays that stay open at once: an unpacked one takes its place on the disk."""


class Header(NamedTuple):
    """What a file says of an array before it is read."""

    shape: tuple[int, ...]
    dtype: np.dtype
    place: tuple[int, int] | None = None
    """Which file, and where in it, of those that may give it several names."""

    def __str__(self) -> str:
        return f"{self.shape} {self.dtype}"

    @property
    def nbytes(self) -> int:
        """Bytes of its values."""
        return math.prod(self.shape) * self.dtype.itemsize


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
    check.require(len(_once(there, there)) == 1, "--array", must, f"none for {source} with {shown}", fix)
    return next(iter(there))


def _once(names: Iterable[str], there: Mapping[str, Header]) -> list[str]:
    """These arrays, each under the first of its names."""
    firsts: dict[tuple[int, int] | str, str] = {}
    for name in names:
        place = there[name].place
        firsts.setdefault(name if place is None else place, name)
    return [*firsts.values()]


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
    check.each_once("--array", names, fix="leave one of its names out")
    for name in names:  # one without clips would never be opened
        require_numbers(there[name].dtype, there[name].shape, f"{name} in {source}", "choose another array")

    @lru_cache(_OPEN)
    def films(name: str) -> RawFilms:
        return films_of_array(source, name, opened(name), config)

    axes = {name: _axes_of(there[name].shape, config.axes, f"{name} in {source}") for name in names}
    counts = [there[name].shape[axes[name].index("B")] if "B" in axes[name] else 1 for name in names]
    places = [(name, clip) for name, count in zip(names, counts, strict=True) for clip in range(count)]

    def frames(number: int) -> Iterator[np.ndarray]:
        name, clip = places[number]
        yield from films(name).frames(clip)

    called = [f"clip {clip} of {name}" for name, clip in places]
    found = {"format": f"{amounts.counted(len(names), f'{kind} array')} of {len(there)}", "axes": axes[names[0]]}
    parts = {of: sum(count for (part, _), count in zip(chosen, counts, strict=True) if part == of) for of in of_part}
    return RawFilms(source, found, called, frames, parts=parts or None)


def _matching(pattern: str | None, there: Mapping[str, Header], source: Path) -> list[str]:
    """The arrays that a name stands for: the one called so or, if * is in it, all that fit, in the order of numbers."""
    if pattern is None or pattern in there or "*" not in pattern:
        return [pick_array(pattern, there, source)]
    escaped = escape(pattern).replace("[*]", "*")  # other signs of patterns mean themselves
    fitting = sorted((name for name in there if fnmatchcase(name, escaped)), key=by_number)
    got = f"{pattern} for {source} with {', '.join(there)}"
    check.require(bool(fitting), "--array", "fit the name of an array", got, "write * for what differs in their names")
    return _once(fitting, there)


def films_of_array(source: Path, what: str, array: np.ndarray, config: ImportConfig) -> RawFilms:
    """The films in an array.

    Args:
        source: the file that the array is in.
        what: what the array is called.
        array: numbers of any kind, with the axes that `config.axes` names.
        config: what its user says of it.

    Raises:
        ValueError: no axes are given and there are several readings, or those given do not fit; or there are neither 1
            nor 3 channels.
    """
    axes = _axes_of(array.shape, config.axes, source)
    there = np.expand_dims(array, tuple(range(array.ndim, 5)))  # the axes that it lacks, of length 1, at the end
    letters = axes + "".join(letter for letter in "BTHWC" if letter not in axes)
    films = there.transpose([letters.index(letter) for letter in "BTHWC"])
    channels = films.shape[-1]
    fix = "say with --axes which axis is which" if {1, 3} & {*array.shape} else "keep one or three of its channels"
    fix = "leave alpha out" if channels == 4 else fix
    must = "have 1 or 3 channels"
    check.require(channels in (1, 3), "SOURCE", must, f"{channels} ({axes}, {array.shape}) in {source}", fix)

    said = axes if config.axes else f"{axes}, the only ones possible for three"
    found = {"format": what, "axes": said}
    return RawFilms(source, found, [f"clip {n}" for n in range(len(films))], lambda clip: map(np.array, films[clip]))


def _axes_of(shape: tuple[int, ...], given: str | None, source: Path | str) -> str:
    """The letters of the axes, in their order in the array: those given, or THW where nothing else is possible.

    Raises:
        ValueError: none are given and there are several readings, or those given do not fit.
    """
    check.require_sound(
        3 <= len(shape) <= 5, "SOURCE", "have 3 to 5 axes", f"{shape} in {source}", "choose another array"
    )
    if given is not None:
        must, got = f"name each axis of the array, {shape} in {source}", f"{len(given)} ({given})"
        check.require(len(given) == len(shape), "--axes", must, got, "give one letter for each")
        return given
    usual = _READINGS[len(shape)]
    readings = [axes for axes in usual if "C" not in axes or shape[axes.index("C")] in (1, 3, 4)] or usual
    must = f"be given for {len(shape)} axes, which may be {' or '.join(readings)}"
    fix = "name them in their order: B clips, T frames, C channels, H rows, W columns"
    check.require(readings == ["THW"], "--axes", must, f"none for {shape} in {source}", fix)
    return "THW"


def require_numbers(dtype: np.dtype, shape: tuple[int, ...], source: Path | str, fix: str) -> None:
    """Refuse an array that is empty, or of other things than numbers."""
    as_numbers = (
        "make it one, of clips of one length, e.g. with numpy.stack" if dtype.kind == "O" else "convert it to one"
    )
    check.require_sound(dtype.kind in "biuf", "SOURCE", "hold an array of numbers", f"{dtype} in {source}", as_numbers)
    check.require_sound(0 not in shape, "SOURCE", "hold an array that is not empty", f"{shape} in {source}", fix)


@contextmanager
def unpacked(pieces: Iterable[bytes], size: int, source: Path) -> Iterator[IO[bytes]]:
    """A temporary file of these bytes, at its beginning; an array that is mapped from it outlives it.

    Args:
        pieces: the bytes, some at a time.
        size: how many they are, all together.
        source: the file that they come from.

    Raises:
        OSError: there is no room for it; one line that names its folder.
    """
    folder = Path(tempfile.gettempdir())
    with told_of(folder, "folder", "TMPDIR"):
        free = shutil.disk_usage(folder).free
        if size > free:
            must = f"be a folder with room for {amounts.size(size)}, which an array in {source} unpacks to"
            fix = "free some space there, or set TMPDIR to a folder with room"
            raise OSError(check.complaint("TMPDIR", must, f"{amounts.size(free)} in {folder}", fix))
        with tempfile.TemporaryFile() as file:
            file.writelines(pieces)
            file.seek(0)
            yield file
