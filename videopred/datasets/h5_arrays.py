"""Arrays in HDF5 files of others, which are no data files. One of the three doors of h5py."""

from collections.abc import Container, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import h5py
import numpy as np

from videopred import check
from videopred.datasets.array_films import Header, pick_array, read_named, require_numbers, unpacked
from videopred.datasets.clip import PARTS
from videopred.datasets.foreign_films import RawFilms, whole_source
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.linked_arrays import every_array, own_array

SUFFIXES = (".h5", ".hdf5")
_FIX = "save it again with h5py"


def read_h5(source: Path, config: ImportConfig) -> RawFilms:
    """The films of arrays in an HDF5 file, read in place where they are kept as they are, else unpacked.

    Raises:
        ValueError: it is damaged, or a data file of which no array is named; or as `read_named`.
    """
    there = arrays_in(source)
    fix = "give it to `videopred inspect` or `train` as it is, or name one of its arrays with --array"
    wanted = bool(config.array) or not holds_data(there)
    check.require_sound(wanted, "SOURCE", "be films of others", f"{source}, a data file", fix)
    return read_named(source, "HDF5", there, lambda name: _read(source, name), config)


def holds_data(there: Container[str]) -> bool:
    """Whether arrays of these names make a data file, ours or R-NEM's."""
    return any(f"{group}/features" in there for group in PARTS.values())


def arrays_in(source: Path) -> dict[str, Header]:
    """All arrays in an HDF5 file; single numbers are none.

    Raises:
        ValueError: the file is damaged or of another kind.
    """
    with _whole(source), h5py.File(source) as file:
        found, own = {}, {}
        for name, array in every_array(file):
            if array.shape:
                there = h5py.h5o.get_info(array.id)
                found[name] = Header(array.shape, array.dtype, (there.fileno, there.addr))
                if array.file.filename == file.filename:
                    own[name] = found[name]
        return own or found  # of an array in another file it is said that it is there, if there is no other


def open_h5_array(source: Path, wanted: str | None) -> tuple[str, np.ndarray]:
    """What an array in an HDF5 file is called, and the array, read only where it is looked at.

    Args:
        source: the file.
        wanted: name of the array; None if the file holds one.

    Raises:
        ValueError: the file is damaged; the array is not there, is empty or holds no numbers; or there are several and
            none is named.
    """
    there = arrays_in(source)
    name = pick_array(wanted, there, source)
    return f"HDF5 array {name} of {len(there)}", _read(source, name)


def _read(source: Path, name: str) -> np.ndarray:
    """An array, in place if it is kept as it is in memory, else in a temporary file that goes away with it."""
    with _whole(source):
        file = h5py.File(source)
    with file:
        with _whole(source):
            array = own_array("SOURCE", file, name)
            kept_so = array.id.get_type() == h5py.h5t.py_create(array.dtype)  # not in fewer bits, or as bfloat16
            place = array.id.get_offset() if kept_so else None
        require_numbers(array.dtype, array.shape, source, _FIX)
        if place is not None:
            return np.memmap(source, array.dtype, "r", place, array.shape)
        with unpacked(_pieces(array, source), array.nbytes, source) as there:
            return np.memmap(there, array.dtype, "r", shape=array.shape)


def _pieces(array: h5py.Dataset, source: Path) -> Iterator[bytes]:
    """The bytes of an array, some rows at a time."""
    at_once = array.chunks[0] if array.chunks else 1
    for start in range(0, len(array), at_once):
        with _whole(source):
            rows = array[start : start + at_once]
        yield rows.tobytes()


def _whole(source: Path) -> AbstractContextManager[None]:
    """Within it, what HDF5 says of damage becomes one line."""
    return whole_source(source, (OSError, KeyError, RuntimeError), "be a whole HDF5 file", _FIX)
