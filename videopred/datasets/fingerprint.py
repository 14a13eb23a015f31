"""Tells clips from other clips: a hash of what a data file holds, however it was packed."""

import hashlib
import zlib
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


def hash_values(path: Path, arrays: Mapping[str, "h5py.Dataset"], *, from_recipe: bool) -> str | None:
    """SHA-256, in hexadecimal, of the values of arrays; None if one of them is not packed by gzip alone.

    It is over each array's name, type, shape and size of chunks, and over each chunk's values, in the order of chunks.
    Another zlib packs the same values into other bytes; these stay the same.

    Of clips that a recipe made, the Adler-32 checksum that zlib writes at a chunk's end stands for the values, so
    50,000 clips take about a second. It is hardly more than two sums: two dots that change their ways leave it as it
    is. Made clips differ in many numbers, if in any; of others the values themselves are hashed.

    Args:
        path: the HDF5 file that holds them.
        arrays: name -> array, in the order that counts.
        from_recipe: whether a recipe made them.
    """
    digest, content = hashlib.sha256(), np.memmap(path, np.uint8, "r")
    for name, array in arrays.items():
        chunks = _chunks(array)
        if chunks is None:
            return None
        digest.update(repr((name, str(array.dtype), array.shape, array.chunks)).encode())
        for start, stop in chunks:
            packed = content[stop - 4 if from_recipe else start : stop].tobytes()
            digest.update(packed if from_recipe else zlib.decompress(packed))
    return digest.hexdigest()


def _chunks(array: "h5py.Dataset") -> list[tuple[int, int]] | None:
    """Where the bytes of each chunk start and stop, in the order of chunks; None if some are not zlib's."""
    if array.compression != "gzip" or array.id.get_create_plist().get_nfilters() != 1:
        return None
    chunks: list[tuple[int, ...]] = []
    array.id.chunk_iter(
        lambda it: chunks.append((*it.chunk_offset, it.filter_mask, it.byte_offset, it.byte_offset + it.size))
    )
    if any(passed_by for *_, passed_by, _, _ in chunks):  # HDF5 may leave a chunk as it is
        return None
    return [(start, stop) for *_, start, stop in sorted(chunks)]  # HDF5 promises no order
