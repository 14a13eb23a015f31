"""Films in NumPy's files, read in place: what is not asked for stays on the disk."""

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from videopred import check
from videopred.datasets.foreign import StoredFilms
from videopred.datasets.import_settings import ImportConfig

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_FIX = "save it again with numpy.save"


def read_npy(source: Path, config: ImportConfig) -> StoredFilms:
    """The films of an array in a .npy file.

    Raises:
        ValueError: it is damaged, holds no numbers, or has axes that `config.axes` does not name.
    """
    return films_of_array(source, *open_array(source, config.array), config)


def read_npz(source: Path, config: ImportConfig) -> StoredFilms:
    """The films of an array in a .npz file, unpacked into a temporary file that goes away with them.

    Raises:
        ValueError: as `read_npy`, or there are several arrays and `config.array` does not name one.
    """
    return films_of_array(source, *open_array(source, config.array), config)


def open_array(source: Path, name: str | None) -> tuple[str, np.ndarray]:
    """What an array in a .npy or .npz file is called, and the array, read only where it is looked at.

    Args:
        source: the file.
        name: of the array in a .npz file; None if it holds one.
    """
    if source.suffix == ".npz":
        return _unpacked(source, name)
    with source.open("rb") as file:
        return "NumPy array", _mapped(file, source)


def _unpacked(source: Path, wanted: str | None) -> tuple[str, np.ndarray]:
    try:
        with zipfile.ZipFile(source) as pack, tempfile.TemporaryFile() as unpacked:
            arrays = [name.removesuffix(".npy") for name in pack.namelist() if name.endswith(".npy")]
            name = pick_array(wanted, arrays, source)
            with pack.open(f"{name}.npy") as packed:
                shutil.copyfileobj(packed, unpacked)
            unpacked.seek(0)
            return f"NumPy array {name} of {len(arrays)}", _mapped(unpacked, source)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        must, fix = "be a whole .npz file", "save it again with numpy.savez"
        raise check.FaultyFileError(check.complaint("SOURCE", must, f"{source} ({error})", fix)) from None


def pick_array(wanted: str | None, arrays: list[str], source: Path) -> str:
    """The name of the array that is meant: the one that is wanted, or else the only one.

    Raises:
        ValueError: there is no such array, none at all, or several without a wish.
    """
    check.require_sound(len(arrays) > 0, "SOURCE", "hold an array", f"none in {source}", "choose another file")
    if wanted is not None:
        return check.one_of("--array", wanted, arrays)
    must, fix = "be given where a file holds several arrays", "name one of them"
    check.require(len(arrays) == 1, "--array", must, f"none of {', '.join(arrays)} in {source}", fix)
    return arrays[0]


def require_numbers(dtype: np.dtype, shape: tuple[int, ...], source: Path, fix: str) -> None:
    """Refuse an array that is empty, or of other things than numbers."""
    check.require_sound(dtype.kind in "biuf", "SOURCE", "hold an array of numbers", f"{dtype} in {source}", fix)
    check.require_sound(0 not in shape, "SOURCE", "hold an array that is not empty", f"{shape} in {source}", fix)


def _mapped(file: IO[bytes], source: Path) -> np.ndarray:
    """The array in a file of NumPy's format, read only where it is looked at."""
    try:
        shape, fortran, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
        require_numbers(dtype, shape, source, _FIX)
        return np.memmap(file, dtype, "r", file.tell(), shape, "F" if fortran else "C")
    except (ValueError, KeyError, EOFError) as error:
        if str(error).startswith("SOURCE"):
            raise
        must = "be a whole array in NumPy's format"
        raise check.FaultyFileError(check.complaint("SOURCE", must, f"{source} ({error})", _FIX)) from None


def films_of_array(source: Path, what: str, array: np.ndarray, config: ImportConfig) -> StoredFilms:
    """The films in an array whose axes `config.axes` names; `what` the array is called."""
    axes = _axes(array.shape, config.axes, source)
    there = np.expand_dims(array, tuple(range(array.ndim, 5)))  # the axes that it lacks, of length 1, at the end
    letters = axes + "".join(letter for letter in "BTHWC" if letter not in axes)
    films = there.transpose([letters.index(letter) for letter in "BTHWC"])
    channels = films.shape[-1]
    fix = "leave alpha out" if channels == 4 else "say with --axes which axis is which"
    must = "have 1 or 3 channels"
    check.require(channels in (1, 3), "SOURCE", must, f"{channels} ({axes}, {array.shape}) in {source}", fix)

    def frames(clip: int) -> Iterator[np.ndarray]:
        for frame in films[clip]:
            yield np.array(frame)

    said = axes if config.axes else f"{axes}, the only ones that three can be"
    found = {"format": what, "axes": said}
    return StoredFilms(source, found, [f"clip {clip}" for clip in range(len(films))], frames)


def _axes(shape: tuple[int, ...], given: str | None, source: Path) -> str:
    """The letters of the axes, in their order in the array.

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
    readings = {3: "THW or HWC", 4: "TBHW, BTHW, THWC or TCHW", 5: "BTHWC, BTCHW, TBHWC or TBCHW"}
    certain = len(shape) == 3 and shape[-1] not in (1, 3, 4)
    must = f"be given for {len(shape)} axes, which may be {readings[len(shape)]}"
    fix = "name them in their order: B clips, T frames, C channels, H rows, W columns"
    check.require(certain, "--axes", must, f"none for {shape} in {source}", fix)
    return "THW"
