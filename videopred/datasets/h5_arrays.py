"""Arrays in HDF5 files of others, which are no data files. One of the three doors of h5py."""

import tempfile
from pathlib import Path

import h5py
import numpy as np

from videopred import check
from videopred.datasets.array_films import pick_array, require_numbers

_FIX = "save it again with h5py"


def arrays_in(source: Path) -> list[str]:
    """The names of all arrays in an HDF5 file; single numbers are none.

    Raises:
        ValueError: the file is damaged or of another kind.
    """
    found: list[str] = []
    with _opened(source) as file:
        file.visititems(lambda name, item: found.append(name) if getattr(item, "shape", None) else None)
    return found


def open_h5_array(source: Path, wanted: str | None) -> tuple[str, np.ndarray]:
    """What an array in an HDF5 file is called, and the array, unpacked into a temporary file that goes away with it.

    Args:
        source: the file.
        wanted: name of the array; None if the file holds one.

    Raises:
        ValueError: the file is damaged; the array is not there, not to be told from others, empty, or of no numbers.
    """
    arrays = arrays_in(source)
    name = pick_array(wanted, arrays, source)
    with _opened(source) as file, tempfile.TemporaryFile() as unpacked:
        array = file[name]
        require_numbers(array.dtype, array.shape, source, _FIX)
        at_once = array.chunks[0] if array.chunks else 1
        for start in range(0, len(array), at_once):
            try:
                rows = array[start : start + at_once]
            except OSError as error:
                raise _damaged(source, error) from None
            unpacked.write(rows.tobytes())
        return f"HDF5 array {name} of {len(arrays)}", np.memmap(unpacked, array.dtype, "r", shape=array.shape)


def _opened(source: Path) -> h5py.File:
    try:
        return h5py.File(source)
    except OSError as error:
        raise _damaged(source, error) from None


def _damaged(source: Path, error: OSError) -> check.FaultyFileError:
    return check.FaultyFileError(check.complaint("SOURCE", "be a whole HDF5 file", f"{source} ({error})", _FIX))
