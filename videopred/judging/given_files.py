"""Films at a path that are to be judged: from our data files, or from arrays and pictures of others."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from videopred import check
from videopred.datasets import open_dataset
from videopred.datasets.array_films import films_of_array
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.film_formats import read_raw_films
from videopred.datasets.foreign_films import RawFilms
from videopred.datasets.h5_arrays import SUFFIXES, arrays_in, holds_data, open_h5_array
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.numpy_arrays import open_array
from videopred.datasets.shards import shard_names
from videopred.rollout import made_in


def is_data(path: Path) -> bool:
    """Whether a path is a data file or a folder of shards; an HDF5 file of other arrays is none.

    Raises:
        ValueError: an HDF5 file is damaged.
    """
    if path.suffix.lower() not in SUFFIXES:
        return path.is_dir() and bool(shard_names(path))
    return holds_data(arrays_in(path))


def holds_array(path: Path, array: str | None) -> bool:
    """Whether a path is an array, of which it must be said what its numbers and axes mean.

    Args:
        path: where it is.
        array: the name that is given; one in a data file may be meant as an array.
    """
    suffix = path.suffix.lower()
    return suffix in (".npy", ".npz") or (suffix in SUFFIXES and (array is not None or not is_data(path)))


def read_samples(path: Path, axes: str | None, array: str | None, part: str) -> list[RawFilms]:
    """The films of each sample; one of all but arrays with an axis N.

    Args:
        path: where they are.
        axes: of an array; of others they say nothing.
        array: its name in a file that may hold several.
        part: of a data file.

    Raises:
        ValueError: they cannot be read; or the axes are not those that an array has.
    """
    if not holds_array(path, array):
        named = (array,) if array else ()
        return [_data_films(path, part) if is_data(path) else read_raw_films(path, ImportConfig(array=named))]
    what, films = open_any_array(path, array)
    if axes is None or "N" not in axes:
        return [films_of_array(path, what, films, ImportConfig(axes=axes))]
    check.require(axes.count("N") == 1, "--axes", "name each axis once", axes, "leave one N out")
    config = ImportConfig(axes=axes.replace("N", ""))
    must, got = f"name each axis of the array, {films.shape} in {path}", f"{len(axes)} ({axes})"
    check.require(len(axes) == films.ndim, "--axes", must, got, "give one letter for each")
    samples = np.moveaxis(films, axes.index("N"), 0)
    return [films_of_array(path, what, sample, config) for sample in samples]


def rollout_reading(path: Path, usual: str) -> tuple[str, str, tuple[float, float]] | None:
    """Array, axes and range of films that `videopred rollout` wrote, which need not be said; None of other files.

    Args:
        path: where they are.
        usual: the array that is meant unless another is named.
    """
    if path.suffix.lower() != ".npz":
        return None
    try:
        with np.load(path) as arrays:
            made = made_in(arrays) if usual in arrays else {}
    except (OSError, ValueError, EOFError, BadZipFile):  # what is wrong is said when the films are read
        return None
    several = usual == "prediction" and made.get("samples", 1) != 1
    return (usual, "NBTCHW" if several else "BTCHW", (0.0, 1.0)) if made else None


def rollout_made(path: Path, array: str | None) -> Mapping[str, Any]:
    """What `videopred rollout` says in its file of how films in it were predicted; nothing of other films."""
    if path.suffix.lower() != ".npz" or array not in ("prediction", "one_step", "truth"):
        return {}
    with np.load(path) as arrays:
        made = made_in(arrays)
    return made | {"context": 1} if made and array == "one_step" else made


def open_any_array(path: Path, array: str | None) -> tuple[str, np.ndarray]:
    """What an array is called, and the array, read only where it is looked at."""
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        return open_h5_array(path, array)
    named = array is None or suffix == ".npz"
    check.require(named, "--array", "be left out", f"{array} for {path}", "the file holds one array, without a name")
    return open_array(path, array)


def _data_films(path: Path, part: str) -> RawFilms:
    """The films of a data file or a folder of shards."""
    file = open_dataset(path)
    names = [f"clip {clip}" for clip in range(file.count(part))]

    def frames(clip: int) -> Iterator[np.ndarray]:
        if isinstance(file, ClipFile) and file.dtype.kind == "f":  # which need not be one of 256 levels
            return iter(np.ascontiguousarray(file.arrays.read(part, "features", clip, clip + 1)[:, 0]))
        return iter(file.read_frames(part, clip, clip + 1)[0])

    return RawFilms(path, {"format": "data file"}, names, frames)
