"""Films made elsewhere, to be judged, or to be judged by: read clip by clip, with their numbers as they are."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from videopred import check
from videopred.datasets.array_films import films_of_array, open_array
from videopred.datasets.films import read_numbers
from videopred.datasets.fingerprint import hash_files
from videopred.datasets.foreign import StoredFilms
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.opening import open_dataset
from videopred.datasets.source import ClipSource
from videopred.datasets.store import ClipFile
from videopred.eval.settings import GivenConfig

_LEVELS = {np.dtype(bool): (0.0, 1.0)}
"""Kinds of numbers that leave no doubt -> black and white."""


class GivenFilms:
    """Films at a path, as exact numbers in [0, 1].

    Nothing is guessed: which numbers are black and white must be said of arrays unless they are bool, and which axis
    is which unless there is one reading. Pictures and our own data files say both themselves.

    Args:
        flag: what the user called them, such as `--pred`.
        path: an array, a data file, GIFs, MP4s or PNG frames; see FORMATS of datasets.films.
        levels: the numbers that mean black and white.
        axes: the array's axes, such as BTCHW.
        array: name of the array in a .npz file.
        part: part of a data file to take.

    Attributes:
        clips, frames: how many clips, of how many frames each.
        samples: how many films of each clip.
        film_shape: channels, height, width.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: they cannot be read, or what must be said is not.
    """

    def __init__(
        self,
        flag: str,
        path: Path,
        *,
        levels: tuple[float, float] | None = None,
        axes: str | None = None,
        array: str | None = None,
        part: str = "test",
    ) -> None:
        check.existing(flag, path)
        self.flag, self.path, self._levels = flag, path, levels
        try:
            self._films = _read(path, axes, array, part)
        except ValueError as error:
            raise type(error)(_named(error, flag)) from None
        self._stored = self._films[0]
        self.clips, self.samples = len(self._stored.names), len(self._films)
        first = self._raw(0)
        self._kind = first.dtype
        self._grey = self._stored.grey_in_color and bool((first == first[..., :1]).all())
        if path.suffix not in (".npy", ".npz"):
            self._require(levels is None, "--range", "be left out where no array is given", levels, "leave it away")
            self._levels = (0.0, 255.0) if self._kind == np.uint8 else (0.0, 1.0)
        elif self._kind in _LEVELS:
            got, fix = f"{levels} for {self._kind}", "False is black and True white"
            self._require(levels in (None, _LEVELS[self._kind]), "--range", "be 0,1 or left out", got, fix)
            self._levels = _LEVELS[self._kind]
        must = "say which numbers are black and white"
        got = f"nothing for {self._kind} from {first.min():g} to {first.max():g} in {path}"
        self._require(self._levels is not None, "--range", must, got, "give e.g. --range 0,1 or --range 0,255")
        self.frames, height, width, channels = first.shape
        self.film_shape = (1 if self._grey else channels, height, width)

    def read(self, start: int, stop: int, sample: int = 0) -> Tensor:
        """Clips as a film: (B, T, C, H, W) float in [0, 1]; float64 if they are kept so, else float32.

        Raises:
            ValueError: a clip is of another shape or kind, or holds numbers that are outside the range, or none.
        """
        return torch.stack([self._clip(index, sample) for index in range(start, stop)])

    def fingerprint(self) -> str:
        """SHA-256 of the files' bytes, in hexadecimal."""
        return hash_files(sorted(file for file in self.path.rglob("*") if file.is_file()) or [self.path])

    def _clip(self, index: int, sample: int) -> Tensor:
        raw, name = self._raw(index, sample), f"{self._stored.names[index]} of {self.path}"
        channels, height, width = self.film_shape
        kept = (self.frames, height, width, 3 if self._grey else channels)
        got = f"{raw.shape} {raw.dtype} in {name}"
        self._require(
            (raw.shape, raw.dtype) == (kept, self._kind),
            self.flag,
            f"hold clips of one shape and kind, (T, H, W, C) {kept} {self._kind} as the first",
            got,
            "judge them one by one",
        )
        if self._grey:
            grey = bool((raw == raw[..., :1]).all())
            self._require(grey, self.flag, "be grey throughout, as its first clip is", f"color in {name}", "split it")
            raw = raw[..., :1]
        assert self._levels is not None
        low, high = self._levels
        least, most = raw.min(), raw.max()
        must = f"hold numbers from {low:g} to {high:g}, as its range says"
        fix = "mend the films, or say what is black and white with --range"
        self._require(not np.isnan(least), self.flag, must, f"NaN in {name}", "mend the films")
        self._require(least >= low and most <= high, self.flag, must, f"{least:g} to {most:g} in {name}", fix)
        exact = np.float64 if raw.dtype == np.float64 else np.float32
        values = ((raw.astype(np.float64) - low) / (high - low)).astype(exact)
        return torch.from_numpy(np.ascontiguousarray(values.transpose(0, 3, 1, 2)))

    def _raw(self, index: int, sample: int = 0) -> np.ndarray:
        """A clip as it is kept: (T, H, W, C)."""
        try:
            return np.stack(list(self._films[sample].frames(index)))
        except ValueError as error:
            if "must" in str(error):
                raise type(error)(str(error).replace("SOURCE", self.flag)) from None
            must, name = "hold frames of one size", self._stored.names[index]
            raise ValueError(check.complaint(self.flag, must, f"others in {name}", "judge them one by one")) from None

    @staticmethod
    def _require(condition: bool, argument: str, must: str, got: Any, fix: str) -> None:
        check.require(condition, argument, must, got, fix)


class GivenTruth(ClipSource):
    """Films made elsewhere as the truth: a set of clips of which only the frames are known.

    Args:
        films: the true films.
        part: what they are called; films that are no part of a data file are a test part.
    """

    def __init__(self, films: GivenFilms, part: str = "test") -> None:
        self.given = films
        self.path, self.name = films.path, films.path.stem
        self.recipe, self.seed, self.truth, self.binary = None, None, (), False
        self.parts = {part: films.clips}
        self.frames = films.frames
        self.context, self.horizon = 0, films.frames
        self.channels, self.height, self.width = films.film_shape

    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Rounded to 256 levels; `given.read` has the exact numbers."""
        self.check_clips(part, start, stop)
        return self.given.read(start, stop).mul(255).round().to(torch.uint8).movedim(2, -1).numpy()

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        raise ValueError(check.complaint("the truth", "be known of the films", name, "give a data file as truth"))

    def clip(self, part: str, index: int) -> Any:
        raise ValueError(check.complaint("the truth", "be known of the films", "frames alone", "give a data file"))

    def fingerprint(self) -> str:
        return self.given.fingerprint()


def _read(path: Path, axes: str | None, array: str | None, part: str) -> list[StoredFilms]:
    """The films of each sample; one of all but arrays with an axis N."""
    known = _data_films(path, part)
    if known is not None:
        return [known]
    if axes is None or "N" not in axes:
        return [read_numbers(path, ImportConfig(axes=axes, array=array))]
    is_array = path.suffix in (".npy", ".npz")
    check.require(is_array, "--axes", "name an axis N of arrays only", f"{axes} for {path}", "leave N out")
    check.require(axes.count("N") == 1, "--axes", "name each axis once", axes, "leave one N out")
    config = ImportConfig(axes=axes.replace("N", ""), array=array)
    what, films = open_array(path, array)
    must, got = f"name each axis of the array, {films.shape} in {path}", f"{len(axes)} ({axes})"
    check.require(len(axes) == films.ndim, "--axes", must, got, "give one letter for each")
    samples = np.moveaxis(films, axes.index("N"), 0)
    return [films_of_array(path, what, sample, config) for sample in samples]


def _named(error: ValueError, flag: str) -> str:
    """A reader's complaint in the words of this command."""
    return str(error).replace("SOURCE", flag).replace("DATA", flag).replace("--array", f"{flag}-array")


def _is_data(path: Path) -> bool:
    """Whether a path is a data file or a folder of shards."""
    return path.suffix.lower() in (".h5", ".hdf5") or (path.is_dir() and any(path.glob("*.h5")))


def _data_films(path: Path, part: str) -> StoredFilms | None:
    """The films of a data file or a folder of shards; None for other films."""
    if not _is_data(path):
        return None
    file = open_dataset(path)
    names = [f"clip {clip}" for clip in range(file.count(part))]

    def frames(clip: int) -> Any:
        if isinstance(file, ClipFile) and file.kind.kind == "f":  # exact: read_frames rounds to 256 levels
            return iter(np.ascontiguousarray(file.stored(part, "features", clip, clip + 1)[:, 0]))
        return iter(file.read_frames(part, clip, clip + 1)[0])

    return StoredFilms(path, {"format": "data file"}, names, frames)


def read_range(flag: str, text: str) -> tuple[float, float]:
    """The two numbers in e.g. `0,1`.

    Raises:
        ValueError: it is something else.
    """
    fix = f"write e.g. {flag} 0,1, or {flag}=-1,1"
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low, high = 0.0, 0.0
    check.require(low < high, flag, "be two numbers, black first, with a comma between", repr(text), fix)
    return low, high


def open_given(given: GivenConfig, part: str) -> tuple[GivenFilms, GivenTruth | None]:
    """The films that a user named: predicted ones, and true ones if these are not a data file.

    Args:
        given: what the user said of them.
        part: part of data files to take.

    Raises:
        FileNotFoundError, ValueError: see `GivenFilms`.
    """
    assert given.pred is not None
    levels = None if given.range is None else read_range("--range", given.range)
    predicted = GivenFilms("--pred", given.pred, levels=levels, axes=given.axes, array=given.pred_array, part=part)
    if given.true is None:
        return predicted, None
    array = given.true.suffix in (".npy", ".npz")  # of other films, a range and axes say nothing
    axes = given.true_axes or (given.axes.replace("N", "") if array and given.axes else None)
    if given.true_range is not None:
        levels = read_range("--true-range", given.true_range)
    elif not array:
        levels = None
    true = GivenFilms("--true", given.true, levels=levels, axes=axes, array=given.true_array, part=part)
    check.require(true.samples == 1, "--true-axes", "name no axis N", given.true_axes, "there is one truth of a clip")
    return predicted, GivenTruth(true, part if _is_data(given.true) else "test")
