"""Films made elsewhere, predicted or true ones: read clip by clip, with their exact numbers."""

import hashlib
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from videopred import check, check_path
from videopred.amounts import number_told
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.fingerprint import hash_files
from videopred.frames import to_frames
from videopred.judging.given_files import holds_array, read_samples, rollout_made, rollout_reading
from videopred.run_files import data_name, named_path


class GivenFilms:
    """Films at a path, as exact numbers in [0, 1].

    Nothing is guessed: which numbers are black and white must be said of arrays unless they are bool, and which axis
    is which unless there is one reading. Pictures, our own data files and what `videopred rollout` wrote say both
    themselves.

    Args:
        flag: what the user called them, such as `--pred`.
        path: an array, a data file, GIFs, MP4s or PNG frames; see FORMATS of datasets.film_formats.
        value_range: the numbers that mean black and white; looked at of an array only.
        axes: its axes, such as BTCHW; so are they.
        array: name of the array in a .npz or .h5 file.
        part: part of a data file to take.

    Attributes:
        clips, frames: how many clips, of how many frames each.
        samples: how many films of each clip.
        film_shape: channels, height, width.
        made: what `videopred rollout` says of how it made them; empty of others.
        is_array: whether they are an array, whose `value_range` and `axes` must be said.
        is_told: whether what is said of arrays holds for them; not where `videopred rollout` wrote otherwise.
        remark: that the first clip takes a small share of the range, or the bright half of an array's, so that it may
            be the wrong one; or that frames have no times, so that equal ones may be missing; else empty.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: they cannot be read, or what must be said is not.
    """

    def __init__(
        self,
        flag: str,
        path: Path,
        *,
        value_range: tuple[float, float] | None = None,
        axes: str | None = None,
        array: str | None = None,
        part: str = "test",
    ) -> None:
        check_path.existing(flag, path)
        self.flag, self.path = flag, path
        own = rollout_reading(path, array or ("truth" if flag == "--true" else "prediction"))
        agreed = own is None or (axes in (None, own[1]) and value_range in (None, own[2]))
        array, axes, value_range = own or (array, axes, value_range)
        self._names = {"SOURCE": flag, "DATA": flag, "--array": f"{flag}-array"}
        with check.named(self._names):
            self.is_array = holds_array(path, array)
            self.is_told = self.is_array and agreed
            self._read_as = (array, axes if self.is_array else None)
            self._films = read_samples(path, axes, array, part)
        self.made = rollout_made(path, array)
        self._stored = self._films[0]
        self.clips, self.samples = len(self._stored.names), len(self._films)
        first = self._raw(0)
        self._kind = first.dtype
        self._range = self._find_range(value_range, first)
        self.frames, height, width, channels = first.shape
        self.film_shape = (channels, height, width)
        self._equal_channels = False
        self.remark = ""
        if self._stored.found.get("frame_ms") == 0 and self.frames > 1:
            self.remark = f"the frames of {path} have no times: equal ones in a row, which writers merge, came once"
        least, most, (low, high) = float(first.min()), float(first.max()), self._range
        bright = self.is_array and least >= (low + high) / 2
        if most - least > 0 and (most - least < (high - low) / 100 or bright):
            told = f"goes from {least:g} to {most:g}, of a range from {low:g} to {high:g}"
            self.remark = "; ".join(filter(None, (self.remark, f"the first clip of {path} {told}")))

    @property
    def names(self) -> list[str]:
        """What the films are called, without the endings of files; numbers of an array's."""
        return [path.stem if path.is_file() else path.name for path in map(Path, self._stored.names)]

    @property
    def may_be_grey(self) -> bool:
        """Whether they have one channel, or are kept in color by a format that has greys so as well."""
        return self.film_shape[0] == 1 or self._stored.grey_in_color

    def is_grey(self) -> bool:
        """Whether nothing in them has color; reads them up to the first color."""
        every = ((clip, sample) for sample in range(self.samples) for clip in range(self.clips))
        return self.film_shape[0] == 1 or (self.may_be_grey and all(_all_grey(self._raw(*one)) for one in every))

    def take_as_grey(self) -> None:
        """Have one channel from here on, of films that may be grey; a clip in color is refused when it is read."""
        self._equal_channels = self.film_shape[0] > 1
        self.film_shape = (1, *self.film_shape[1:])

    def read(self, start: int, stop: int, sample: int = 0) -> Tensor:
        """Clips as a film: (B, T, C, H, W) float in [0, 1]; float64 if they are kept so, else float32.

        Raises:
            ValueError: a clip is of another shape or kind, or holds numbers that are outside the range, or none.
        """
        return torch.stack([self._clip(index, sample) for index in range(start, stop)])

    def fingerprint(self) -> str:
        """SHA-256 of the files' bytes and of how they are read, in hexadecimal."""
        files = sorted(file for file in self.path.rglob("*") if file.is_file()) or [self.path]
        read = (hash_files(files), self._read_as, self._range, self.film_shape)
        return hashlib.sha256(repr(read).encode()).hexdigest()

    def _find_range(self, said: tuple[float, float] | None, first: np.ndarray) -> tuple[float, float]:
        """The numbers that mean black and white: those said of an array, or those that leave no doubt."""
        if not self.is_array:
            white = np.iinfo(first.dtype).max if first.dtype.kind == "u" else 1  # as PNG has it, of 8 or 16 bits
            return 0.0, float(white)
        if first.dtype == bool:
            alone = "--true-range 0 1" if self.flag == "--true" else "--true-range for the others"
            typed = said and check.as_typed(said)
            got, fix = f"{typed} in {self.path}", f"False is black and True white; give {alone}"
            check.require(said in (None, (0, 1)), "--range", "be 0 1 for bool, or left out", got, fix)
            return 0.0, 1.0
        must = "say which numbers are black and white"
        got = f"nothing for {first.dtype} from {number_told(first.min())} to {number_told(first.max())} in {self.path}"
        check.require(said is not None, "--range", must, got, "give e.g. --range 0 1 or --range 0 255")
        assert said is not None
        if first.dtype.kind != "f":
            return said
        with np.errstate(over="ignore"):
            low, high = map(float, np.array(said).astype(first.dtype))  # as these films can hold them
        must, got = f"be two numbers that {first.dtype} holds and tells apart", check.as_typed(said)
        check.require(-inf < low < high < inf, "--range", must, got, "give those that are black and white")
        return low, high

    def _clip(self, index: int, sample: int) -> Tensor:
        raw, name = self._raw(index, sample), f"{self._stored.names[index]} of {self.path}"
        channels, height, width = self.film_shape
        kept = (self.frames, height, width, 3 if self._equal_channels else channels)
        got = f"{raw.shape} {raw.dtype} in {name}"
        check.require(
            (raw.shape, raw.dtype) == (kept, self._kind),
            self.flag,
            f"hold clips of one shape and kind, (T, H, W, C) {kept} {self._kind} as the first",
            got,
            "judge them one by one",
        )
        if self._equal_channels:
            fix = "leave out its color, or give true films in color"
            check.require(_all_grey(raw), self.flag, "be grey as the truth is", f"color in {name}", fix)
            raw = raw[..., :1]
        low, high = self._range
        least, most = raw.min(), raw.max()
        must = f"hold numbers from {low:g} to {high:g}, as its range says"
        clip = "clip the films to it if they only overshoot; if black and white are other numbers, say so with --range"
        fix = clip if self.is_array else "mend the films"
        check.require(not np.isnan(least), self.flag, must, f"NaN in {name}", "mend the films")
        got = f"{number_told(least)} to {number_told(most)} in {name}"
        check.require(least >= low and most <= high, self.flag, must, got, fix)
        exact = np.float64 if raw.dtype == np.float64 else np.float32
        values = ((raw.astype(np.float64) - low) / (high - low)).astype(exact)
        return torch.from_numpy(values.transpose(0, 3, 1, 2))

    def _raw(self, index: int, sample: int = 0) -> np.ndarray:
        """A clip as it is kept: (T, H, W, C)."""
        with check.named(self._names):
            frames = list(self._films[sample].frames(index))
        got = f"others in {self._stored.names[index]}"
        alike = len({(frame.shape, frame.dtype) for frame in frames}) == 1  # white of 1 bit would be 1 of 255
        check.require(alike, self.flag, "hold frames of one size and kind", got, "make them alike, or leave some out")
        return np.stack(frames)


def _all_grey(frames: np.ndarray) -> bool:
    """Whether one channel says all."""
    return bool((frames == frames[..., :1]).all())


class GivenTruth(ClipSource):
    """Films made elsewhere as the truth: a set of clips of which only the frames are known.

    Args:
        films: the true films.
        part: what they are called; films that are no part of a data file are a test part.
    """

    def __init__(self, films: GivenFilms, part: str = "test") -> None:
        self.given = films
        self.path, self.name = named_path(films.path), data_name(films.path)
        self.recipe, self.seed, self.truth, self.binary = None, None, (), False
        self.parts = {part: films.clips}
        self.frames = films.frames
        self.context, self.horizon = 0, films.frames
        self.channels, self.height, self.width = films.film_shape

    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Rounded to 256 levels; `given.read` has the exact numbers."""
        self.check_clips(part, start, stop)
        return to_frames(self.given.read(start, stop))

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        raise ValueError(check.complaint("the truth", "be known of the films", name, "give a data file as truth"))

    def clip(self, part: str, index: int) -> Any:
        raise ValueError(check.complaint("the truth", "be known of the films", "frames alone", "give a data file"))

    def fingerprint(self) -> str:
        return self.given.fingerprint()
