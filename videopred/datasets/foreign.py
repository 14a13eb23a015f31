"""Films of another origin: how others keep them, and how they come into our files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from videopred import check
from videopred.datasets.import_settings import ImportConfig


@dataclass(frozen=True)
class ForeignFilms:
    """Films that others made, read clip by clip when they are asked for."""

    found: Mapping[str, Any]
    """What was found out about them, to be said to the user: layout, range, sizes, …"""
    parts: Mapping[str, int]
    """train, validation, test -> number of clips; those that are there."""
    record: Callable[[str, int], Mapping[str, np.ndarray]]
    """(part, index) -> the arrays of one clip by their names in our files, `features` (T, H, W, C) first of all."""


@dataclass(frozen=True)
class StoredFilms:
    """Films as others keep them, whatever their numbers mean."""

    path: Path
    """Where they are, as the user gave it."""
    found: Mapping[str, Any]
    """What is said of how they are kept."""
    names: Sequence[str]
    """What each clip is called when something is wrong with it."""
    frames: Callable[[int], Iterator[np.ndarray]]
    """Clip -> its frames (H, W, C), one after the other."""
    frame_name: Callable[[int, int], str] | None = None
    """(clip, frame) -> what a frame is called, if it has a name of its own."""
    parts: Mapping[str, int] | None = None
    """Part -> number of its clips, which come part after part; None: all are of the part that is asked for."""
    grey_in_color: bool = False
    """Whether the format has three channels for grey films, too, so that grey is known by looking only."""

    def called(self, clip: int, frame: int) -> str:
        """How to call a frame of a clip, both counted from 0."""
        return self.frame_name(clip, frame) if self.frame_name else f"frame {frame} of {self.names[clip]}"


@dataclass(frozen=True)
class _Seen:
    """What one pass over all frames has found."""

    clips: int
    frames: int
    shape: tuple[int, int, int]
    dtype: np.dtype
    low: float
    high: float
    grey: bool
    """Whether one of three channels says all."""


def as_ours(stored: StoredFilms, config: ImportConfig) -> ForeignFilms:
    """The films as our files have them: levels from 0 to 255, at the size asked for. Looks at every frame once.

    Args:
        stored: the films as they are kept.
        config: what is said of them, and asked for.

    Raises:
        ValueError: clips or frames differ in size or kind, there is nothing to predict, or the numbers may mean
            several things and `config.values` does not say which.
    """
    seen = _look(stored)
    low, high = _range(seen, config, stored.path)
    height, width, channels = seen.shape
    size = None if config.height is None or config.width is None else (config.height, config.width)

    part = config.part or "test"
    parts = stored.parts or {part: seen.clips}
    before = dict(zip(parts, accumulate(parts.values(), initial=0), strict=False))  # clips of the parts before

    def record(part: str, index: int) -> dict[str, np.ndarray]:
        kept = stored.frames(before[part] + index)
        frames = [_level(frame[..., :1] if seen.grey else frame, low, high, size) for frame in kept]
        return {"features": np.stack(frames)}

    kept = (seen.dtype == bool and size is None) or (seen.dtype == np.uint8 and (low, high) == (0, 255))
    found = {
        **stored.found,
        **({"part": part, "clips": seen.clips} if stored.parts is None else {"clips": shown_parts(parts)}),
        "frames": seen.frames,
        "height": height if size is None else size[0],
        "width": width if size is None else size[1],
        "channels": 1 if seen.grey else channels,
        "stored": f"{seen.dtype}, {seen.low:g} to {seen.high:g}",
        "levels": "as they are" if kept else f"{low:g} to {high:g} become 0 to 255",
        "resized": "no" if size is None else f"from {height} x {width} (height x width), by Pillow's bilinear filter",
    }
    return ForeignFilms(found, parts, record)


def shown_parts(parts: Mapping[str, int]) -> str:
    """The clips of each part, as they are said."""
    return ", ".join(f"{part} {count}" for part, count in parts.items())


def _look(stored: StoredFilms) -> _Seen:
    """One pass over all frames, clip by clip."""
    lengths: dict[int, str] = {}
    shape, dtype = (0, 0, 0), np.dtype(bool)
    low, high, grey = np.inf, -np.inf, stored.grey_in_color
    for clip, name in enumerate(stored.names):
        length = 0  # of what was seen of this clip, and so the number of the frame
        for frame in stored.frames(clip):
            if not lengths and length == 0:
                shape, dtype = frame.shape, frame.dtype
            same = (frame.shape, frame.dtype) == (shape, dtype)
            first, this = (f"{_written(form[0])} {form[1]}" for form in ((shape, dtype), (frame.shape, frame.dtype)))
            got = f"{this} in {stored.called(clip, length)}, after {first} in {stored.called(0, 0)}"
            _require(same, "hold frames of one size and kind", got, "make them alike, or leave some out", stored.path)
            low, high = np.minimum(low, frame.min()), np.maximum(high, frame.max())  # unlike min, they keep NaN
            grey = grey and bool((frame == frame[..., :1]).all())
            length += 1
        lengths.setdefault(length, name)
    got = " and ".join(f"{length} frames in {name}" for length, name in lengths.items())
    _require(len(lengths) == 1, "hold clips of one length", got, "bring them in one by one", stored.path)
    [length] = lengths
    _require(length > 1, "hold clips of two frames or more", length, "there is nothing to predict", stored.path)
    finite = bool(np.isfinite(low) and np.isfinite(high))
    _require(finite, "hold numbers that are finite", "others", "replace them", stored.path)
    return _Seen(len(stored.names), length, shape, dtype, float(low), float(high), grey)


def _range(seen: _Seen, config: ImportConfig, path: Path) -> tuple[float, float]:
    """The numbers that mean black and white: as given, or as their type says where it leaves no doubt."""
    shown = f"{seen.dtype} from {seen.low:g} to {seen.high:g} in {path}"
    if seen.dtype == bool:
        low, high = config.values or (0, 1)
        fix = "False is black and True white"
        check.require((low, high) == (0, 1), "--values", "be 0 1 for bool, or left out", f"{low:g} {high:g}", fix)
        return 0, 1
    if config.values is not None:
        low, high = config.values
        must, fix = f"span what is there, {shown}", "choose a wider range"
        check.require(low <= seen.low and seen.high <= high, "--values", must, f"{low:g} {high:g}", fix)
        return low, high
    if seen.dtype == np.uint8:
        must, fix = "be given where 1 may be white or almost black", "give --values 0 1 or --values 0 255"
        check.require(seen.high > 1, "--values", must, shown, fix)
        return 0, 255
    inside = seen.dtype.kind == "f" and seen.low >= 0 and seen.high <= 1
    must = "say which numbers are black and white, except for bool, uint8, and floats in [0, 1]"
    check.require(inside, "--values", must, f"none for {shown}", "give e.g. --values 0 255, or --values -1 1")
    return 0, 1


def _level(frame: np.ndarray, low: float, high: float, size: tuple[int, int] | None) -> np.ndarray:
    """A frame (H, W, C) as our files have it: bool as it is, other numbers as uint8; of another size if asked for."""
    if frame.dtype == bool and size is None:
        return frame
    if frame.dtype != np.uint8 or (low, high) != (0, 255):
        frame = np.rint((frame.astype(np.float64) - low) * (255 / (high - low))).astype(np.uint8)
    if size is None:
        return frame
    image = Image.fromarray(frame[..., 0] if frame.shape[-1] == 1 else frame)
    return np.asarray(image.resize(size[::-1], Image.Resampling.BILINEAR)).reshape(*size, frame.shape[-1])


def _written(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _require(condition: bool, must: str, got: Any, fix: str, path: Path) -> None:
    check.require_sound(condition, "SOURCE", must, f"{got} in {path}", fix)
