"""Arrays in NumPy's files, read in place: what is not asked for stays on the disk."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import numpy as np

from videopred import check
from videopred.amounts import counted
from videopred.datasets.array_films import (
    Header,
    films_of_array,
    pick_array,
    read_named,
    require_numbers,
    unpacked,
)
from videopred.datasets.foreign_films import RawFilms
from videopred.datasets.import_settings import ImportConfig
from videopred.files import DAMAGED_ARRAY, whole_npz

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # differs in how fields are named, which films have none of
}
_AT_ONCE = 2**20  # bytes


def read_npy(source: Path, config: ImportConfig) -> RawFilms:
    """The films of the array in a .npy file.

    Raises:
        ValueError: it is damaged, holds no numbers, or has axes that `config.axes` does not name.
    """
    return films_of_array(source, *open_array(source, None), config)


def read_npz(source: Path, config: ImportConfig) -> RawFilms:
    """The films of arrays in a .npz file, unpacked into temporary files that go away with them.

    Raises:
        ValueError: as `read_npy`, or as `read_named`.
    """
    return read_named(source, "NumPy", _headers(source), lambda name: _unpacked(source, name), config)


def open_array(source: Path, name: str | None) -> tuple[str, np.ndarray]:
    """What an array in a .npy or .npz file is called, and the array, read only where it is looked at.

    Args:
        source: the file.
        name: of the array in a .npz file; None if it holds one.
    """
    if source.suffix.lower() == ".npz":
        there = _headers(source)
        name = pick_array(name, there, source)
        return f"NumPy array {name} of {len(there)}", _unpacked(source, name)
    with source.open("rb") as file:
        return "NumPy array", _mapped(file, source)


def _headers(source: Path) -> dict[str, Header]:
    """All arrays in a .npz file; single numbers are none."""
    with _opened(source) as pack:
        found = {}
        for name in pack.namelist():
            if name.endswith(".npy"):
                with pack.open(name) as file:
                    header, _ = _header(file, source)
                if header.shape:
                    found[name.removesuffix(".npy")] = header
        return found


def _unpacked(source: Path, name: str) -> np.ndarray:
    """An array of a .npz file, in a temporary file."""
    with _opened(source) as pack, pack.open(f"{name}.npy") as packed:
        size = pack.getinfo(f"{name}.npy").file_size  # no more is ever read
        _whole_header(packed, size, source)
    with unpacked(_pieces(source, name), size, source) as there:
        return _mapped(there, source)


def _pieces(source: Path, name: str) -> Iterator[bytes]:
    """The bytes of an array of a .npz file, some at a time."""
    with _opened(source) as pack, pack.open(f"{name}.npy") as packed:
        yield from iter(lambda: packed.read(_AT_ONCE), b"")


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    """A .npz file; what is damaged in it is said when it is met."""
    with whole_npz("SOURCE", source, _fix(source)), zipfile.ZipFile(source) as pack:
        yield pack


def _mapped(file: IO[bytes], source: Path) -> np.ndarray:
    """The array in a file of NumPy's format, read only where it is looked at."""
    (shape, dtype, _), order = _whole_header(file, os.fstat(file.fileno()).st_size, source)
    return np.memmap(file, dtype, "r", file.tell(), shape, order)


def _whole_header(file: IO[bytes], size: int, source: Path) -> tuple[Header, Literal["C", "F"]]:
    """What `_header` gives, if it is of numbers and the file, of so many bytes, is just as long as it says."""
    header, order = _header(file, source)
    require_numbers(header.dtype, header.shape, source, _fix(source))
    said = file.tell() + header.nbytes
    if size < said:  # which each system would complain of in its own way
        raise _damaged(source, f"{size:,} of {said:,} bytes")
    if size > said:
        raise _damaged(source, f"{counted(size - said, 'byte')} behind its array")
    return header, order


def _header(file: IO[bytes], source: Path) -> tuple[Header, Literal["C", "F"]]:
    """What stands at the head of a file of NumPy's format, and the order of its axes; the file is then behind it."""
    try:
        shape, fortran, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
    except DAMAGED_ARRAY as error:
        raise _damaged(source, error) from None
    if any(isinstance(size, bool) or size < 0 for size in shape):  # NumPy lets them pass
        raise _damaged(source, f"axes {shape}")
    return Header(shape, dtype), "F" if fortran else "C"


def _damaged(source: Path, why: object) -> check.FaultyFileError:
    must = "be a whole array in NumPy's format"
    return check.FaultyFileError(check.complaint("SOURCE", must, f"{source} ({why})", _fix(source)))


def _fix(source: Path) -> str:
    return f"save it again with numpy.{'savez' if source.suffix.lower() == '.npz' else 'save'}"
