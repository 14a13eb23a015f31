"""Arrays of a data file, as they stand there, and what is said of damage. One of the three doors of h5py."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from videopred import check, check_path
from videopred.datasets.advice import how_to_make, how_to_mend
from videopred.datasets.clip import PARTS
from videopred.datasets.file_layout import NAMES, has_time
from videopred.datasets.linked_arrays import every_array, own_array

_AT_ONCE = 2**24  # bytes read at a time of what has no chunks


class StoredArrays:
    """The arrays of an HDF5 file in which each part of a data set is a group, ours or others'.

    Each process opens the file for itself on first use, and refuses another file that has come into its place.

    Args:
        path: the file.

    Raises:
        FileNotFoundError: there is no such file; the message says how to make it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._place = path, path.absolute()  # which lasts where a program changes its folder
        check_path.existing_file("DATA", path, how_to_make(path))
        self._handle: h5py.File | None = None
        self._arrays: dict[str, h5py.Dataset] = {}  # kept open, with what HDF5 remembers of the last chunks
        self._owner = 0
        self._identity = _identity(self._place)

    @contextmanager
    def reading(self) -> Iterator[h5py.File]:
        """The file, open in this process; what HDF5 says of damage within becomes one line.

        Raises:
            FaultyFileError: it is damaged, or has been replaced.
        """
        try:
            if self._handle is None or self._owner != os.getpid():
                self.require_same()
                self._handle, self._arrays, self._owner = h5py.File(self._place, "r"), {}, os.getpid()
            yield self._handle
            size = os.fstat(self._handle.id.get_vfd_handle()).st_size
            self._require_same(size == self._identity[0])  # HDF5 reads zeros in the place of what was cut off
        except check.FailedError:
            raise
        except (OSError, KeyError, RuntimeError, ValueError, TypeError, zlib.error) as error:  # as of types and names
            check.require_access(error, self.path)
            check_path.existing_file("DATA", self._place, how_to_make(self.path))
            raise check.FaultyFileError(self._damage(f"{self.path} ({error})")) from error

    def attributes(self) -> dict[str, Any]:
        """What the file says of itself."""
        with self.reading() as file:
            return dict(file.attrs)

    def groups(self) -> set[str]:
        """Names at the top of the file."""
        with self.reading() as file:
            return set(file)

    def features(self) -> dict[str, Any]:
        """Part -> the array of its frames, or None if there is none, of the parts that are there."""
        with self.reading() as file:
            names = {part: f"{group}/features" for part, group in PARTS.items() if group in set(file)}
            found = {part: name for part, name in names.items() if isinstance(file.get(name), h5py.Dataset)}
            return {part: own_array("DATA", file, found[part]) if part in found else None for part in names}

    def of_part(self, part: str) -> dict[str, h5py.Dataset]:
        """All arrays in the group of a part and the groups in it, by name; not what is said to be empty, nor what links
        to other files lead to under names that nobody knows.
        """
        with self.reading() as file:
            found = [(name, array) for name, array in every_array(file[PARTS[part]]) if array.shape is not None]
            own = file.filename
            names = [name for name, array in found if name.partition("/")[0] in NAMES or array.file.filename == own]
            return {name: own_array("DATA", file, f"{PARTS[part]}/{name}") for name in names}

    def read(self, part: str, name: str, start: int, stop: int, frames: slice = slice(None)) -> np.ndarray:
        """What stands under a name about some clips, as it stands there: (T, B, ...) or (B, ...).

        Args:
            frames: of what has time, only these.

        Raises:
            FaultyFileError: it is damaged, or of fewer clips.
        """
        place = f"{PARTS[part]}/{name}"
        with self.reading() as file:
            array = self._arrays.get(place)
            if array is None:
                array = own_array("DATA", file, place)
                if "format" in file.attrs:  # other files may leave out what is never written
                    self._require_chunks(part, name, array)
                self._arrays[place] = array
            there = array.shape[int(has_time(name))] if array.ndim > has_time(name) else 0
            self.require_whole(stop <= there, f"{there} instead of {stop} rows or more of {name} of {part}")
            clips = np.s_[frames, start:stop] if has_time(name) else np.s_[start:stop]
            times = (len(range(*frames.indices(array.shape[0]))),) if has_time(name) else ()
            values = np.empty((*times, stop - start, *array.shape[len(times) + 1 :]), array.dtype)
            if values.size:
                array.read_direct(values, clips)  # an index of single clips would take 30 times as long
        return values

    def unpack(self, part: str) -> Iterator[str]:
        """Read all that the file holds of a part, chunk by chunk, and yield the name of each chunk's array.

        Raises:
            FaultyFileError: a chunk is missing, or cannot be unpacked; says where.
        """
        for name, array in self.of_part(part).items():
            with self.reading() as file:
                if "format" in file.attrs:  # as in `read`
                    self._require_chunks(part, name, array)
            for place in _places(array):
                try:
                    array[place]
                except OSError as error:
                    check.require_access(error, self.path)
                    clip = f", from clip {place[1].start} on" if has_time(name) and array.chunks else ""
                    got = f"damaged {name} of {part}{clip} ({error}) in {self.path}"
                    raise check.FaultyFileError(self._damage(got)) from None
                yield name

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        if self._handle is not None and self._owner == os.getpid():
            self._handle.close()
        self._handle, self._arrays = None, {}

    def require_same(self) -> Path:
        """The place of the file; FaultyFileError if it is not the one that this was made from."""
        self._require_same(_identity(self._place) == self._identity)
        return self._place

    def require_whole(self, condition: bool, got: str) -> None:
        """Raise FaultyFileError, which says how to make the file again, unless the condition holds."""
        if not condition:
            raise check.FaultyFileError(self._damage(f"{got} in {self.path}"))

    def _require_chunks(self, part: str, name: str, array: h5py.Dataset) -> None:
        """Refuse an array that lacks a chunk, which HDF5 reads as zeros, or has one that is not unpacked but should."""
        if array.chunks and array.size:
            found: list[Any] = []
            array.id.chunk_iter(found.append)
            whole = prod(array.chunks) * array.dtype.itemsize  # bytes of a chunk that HDF5 could not make smaller
            there = [chunk.chunk_offset for chunk in found if chunk.filter_mask == 0 or chunk.size == whole]
            grid = {*product(*(range(0, *steps) for steps in zip(array.shape, array.chunks, strict=True)))}
            right = len(found) == len(there) == len(grid) and {*there} == grid
            self.require_whole(right, f"{len({*there} & grid)} of {len(grid)} chunks of {name} of {part}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_handle": None, "_arrays": {}}

    def _require_same(self, condition: bool) -> None:
        must, fix = "be the file that was opened", "put that one back, or begin again with this one"
        got = f"{self.path}, which has been replaced or changed since"
        check.require_sound(condition, "DATA", must, got, fix)

    def _damage(self, got: str) -> str:
        return check.complaint("DATA", "be a whole, undamaged HDF5 file", got, how_to_mend(self.path))


def _identity(path: Path) -> tuple[int, ...]:
    """What tells a file from another that comes into its place: not its number, which some network disks change."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _places(array: h5py.Dataset) -> Iterator[Any]:
    """Places that together are all of an array, none of them large."""
    if 0 in array.shape:
        return
    if array.chunks:
        yield from array.iter_chunks()
    elif not array.shape:
        yield ()
    else:
        rows = max(1, _AT_ONCE * len(array) // max(1, array.nbytes))
        yield from (slice(start, start + rows) for start in range(0, len(array), rows))
