"""Tells clips from other clips without unpacking them: a hash of what a data file holds, however it was packed."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import h5py


def hash_files(paths: list[Path]) -> str:
    """SHA-256 of the bytes of a file, or of several as one, in hexadecimal."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(2**20):
                digest.update(piece)
    return digest.hexdigest()


def hash_values(path: Path, arrays: Mapping[str, "h5py.Dataset"]) -> str | None:
    """SHA-256, in hexadecimal, of the values of arrays; None if one of them is not packed by gzip alone.

    It is over each array's name, type, shape and size of chunks, and over the Adler-32 checksum of each chunk's values,
    in the order of chunks. zlib writes that checksum at a chunk's end, so 50,000 clips take about a second. Another
    zlib packs the same values into other bytes; these stay the same.

    Args:
        path: the HDF5 file that holds them.
        arrays: name -> array, in the order that counts.
    """
    digest, content = hashlib.sha256(), np.memmap(path, np.uint8, "r")
    for name, array in arrays.items():
        checksums = _checksums(array, content)
        if checksums is None:
            return None
        digest.update(repr((name, str(array.dtype), array.shape, array.chunks)).encode())
        digest.update(checksums.tobytes())
    return digest.hexdigest()


def _checksums(array: "h5py.Dataset", content: np.ndarray) -> np.ndarray | None:
    """The last four bytes (chunks, 4) uint8 of each chunk, in the order of chunks; None if some are not zlib's."""
    if array.compression != "gzip" or array.id.get_create_plist().get_nfilters() != 1:
        return None
    chunks: list[tuple[int, ...]] = []
    array.id.chunk_iter(lambda it: chunks.append((*it.chunk_offset, it.filter_mask, it.byte_offset + it.size)))
    if not chunks:
        return np.empty((0, 4), np.uint8)
    *places, passed_by, ends = np.array(chunks).T
    if passed_by.any():  # HDF5 may leave a chunk as it is
        return None
    in_order = np.lexsort(places[::-1])  # HDF5 promises none
    return content[ends[in_order, None] - np.arange(4, 0, -1)]
