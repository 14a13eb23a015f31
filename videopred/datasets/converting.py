"""Films of others become films as our files have them: of one length and one size, in levels from 0 to 255."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tqdm import tqdm

from videopred import check
from videopred.amounts import counted, number_told, parts_told
from videopred.datasets.foreign_films import ConvertedFilms, RawFilms
from videopred.datasets.import_settings import ImportConfig


@dataclass(frozen=True)
class _Seen:
    """What one pass over all frames has found."""

    lengths: Sequence[int]
    """Frames of each film."""
    shape: tuple[int, int, int]
    dtype: np.dtype
    ends: np.ndarray
    """(films, 2): the lowest and the highest number of each film."""
    grey: bool
    """Whether one of three channels says all."""

    @property
    def low(self) -> float:
        return float(self.ends[:, 0].min())

    @property
    def high(self) -> float:
        return float(self.ends[:, 1].max())


def convert(raw: RawFilms, config: ImportConfig, *, progress: bool = False) -> ConvertedFilms:
    """The films as our files have them: levels from 0 to 255, at the size asked for. Looks at every frame once.

    Args:
        raw: the films as they are kept.
        config: what is said of them, and asked for.
        progress: show a bar on stderr while frames are looked at.

    Raises:
        ValueError: clips or frames differ in size or kind, there is nothing to predict, or the numbers may mean
            several things and `config.range` does not say which.
    """
    with tqdm(desc="look", unit="frame", disable=not progress) as bar:
        seen = _look(raw, bar)
    frames = config.frames or _length(seen, raw)
    films = cut(raw, seen.lengths, frames) if config.frames else raw
    low, high = _range(seen, config, raw.path)
    height, width, channels = seen.shape
    kept = 3 if config.color else 1 if seen.grey else channels
    size = None if config.size == (height, width) else config.size
    part = config.part or "test"
    parts = films.parts or {part: len(films.names)}
    before = dict(zip(parts, accumulate(parts.values(), initial=0), strict=False))  # clips of the parts before

    def record(part: str, index: int) -> dict[str, np.ndarray]:
        there = films.frames(before[part] + index)
        levels = np.stack([_level(frame[..., : min(kept, channels)], low, high, size) for frame in there])
        return {"features": levels.repeat(kept // levels.shape[-1], axis=-1)}

    unchanged = (seen.dtype == bool and size is None) or (seen.dtype == np.uint8 and (low, high) == (0, 255))
    found = {
        **films.found,
        **({"part": part, "clips": parts[part]} if films.parts is None else {"clips": parts_told(parts)}),
        "frames": frames,
        "height": height if size is None else size[0],
        "width": width if size is None else size[1],
        "channels": kept,
        "stored": f"{seen.dtype}, {seen.low:g} to {seen.high:g}",
        "levels": "as they are" if unchanged else _mapping(seen.dtype, low, high),
        **({"note": "; ".join(told)} if (told := _little(seen, raw.parts, low, high)) else {}),
        "resized": "no" if size is None else f"from {height} x {width} (height x width), by Pillow's bilinear filter",
    }
    return ConvertedFilms(found, parts, record)


def _mapping(dtype: np.dtype, low: float, high: float) -> str:
    """What the user is told of numbers that become levels."""
    whole = dtype.kind in "biu" and float(low).is_integer() and (255 / (high - low)).is_integer()
    return f"{low:g} to {high:g} become 0 to 255{'' if whole else ', rounded'}"


def _little(seen: _Seen, parts: Mapping[str, int] | None, low: float, high: float) -> list[str]:
    """Which parts take so little of the range that theirs may be another: a hundredth, as in films to be judged."""
    told, begin = [], 0
    for part, films in (parts or {"every film": len(seen.ends)}).items():
        ends = seen.ends[begin : begin + films]
        begin += films
        least, most = ends[:, 0].min(initial=high), ends[:, 1].max(initial=low)
        if 0 < most - least < (high - low) / 100:
            told.append(f"{part} goes from {least:g} to {most:g}, of a range from {low:g} to {high:g}")
    return told


def _look(raw: RawFilms, bar: tqdm) -> _Seen:
    """One pass over all frames, film by film, each moving the bar."""
    lengths: list[int] = []
    shape, dtype = (0, 0, 0), np.dtype(bool)
    ends = np.tile([np.inf, -np.inf], (len(raw.names), 1))
    grey = raw.grey_in_color
    for clip in range(len(raw.names)):
        length = 0  # of what was seen of this clip, and so the number of the frame
        for frame in raw.frames(clip):
            if not lengths and length == 0:
                shape, dtype = frame.shape, frame.dtype
            if (frame.shape, frame.dtype) != (shape, dtype):
                first, this = (f"{_written(one[0])} {one[1]}" for one in ((shape, dtype), (frame.shape, frame.dtype)))
                got = f"{this} in {raw.called(clip, length)}, after {first} in {raw.called(0, 0)} in {raw.path}"
                must, fix = "hold frames of one size and kind", "make them alike, or leave some out"
                raise check.FaultyFileError(check.complaint("SOURCE", must, got, fix))
            low, high = ends[clip]
            ends[clip] = np.minimum(low, frame.min()), np.maximum(high, frame.max())  # unlike min, they keep NaN
            grey = grey and bool((frame == frame[..., :1]).all())
            length += 1
            bar.update()
        lengths.append(length)
        bar.total = bar.n * len(raw.names) // len(lengths)  # if the others are as long, on average
    got = "NaN" if np.isnan(ends).any() else "infinity"
    _require(bool(np.isfinite(ends).all()), "hold numbers that are finite", got, "replace it", raw.path)
    return _Seen(lengths, shape, dtype, ends, grey)


def _length(seen: _Seen, raw: RawFilms) -> int:
    """How many frames every film has."""
    first = {length: raw.names[seen.lengths.index(length)] for length in dict.fromkeys(seen.lengths)}
    got = " and ".join(f"{length} frames in {name}" for length, name in first.items())
    fix = "cut them into clips with --frames, or bring them in one by one"
    _require(len(first) == 1, "hold clips of one length", got, fix, raw.path)
    [length] = first
    _require(length > 1, "hold clips of two frames or more", length, "there is nothing to predict", raw.path)
    return length


def cut(films: RawFilms, lengths: Sequence[int], frames: int) -> RawFilms:
    """The clips that films are cut into; the rest at the end of a film is left out, and `found` says so.

    Clips that are read in their order share one pass over the film, which may have to be unpacked from its beginning.

    Args:
        films: the whole films.
        lengths: how many frames each has.
        frames: how many a clip has.

    Raises:
        ValueError: a film is shorter than a clip.
    """
    shortest = min(lengths)
    got, fix = f"{frames} with {shortest} in {films.names[lengths.index(shortest)]}", "lower it, or leave that film out"
    check.require(frames <= shortest, "--frames", "be at most the frames of the shortest film", got, fix)
    counts = [length // frames for length in lengths]
    places = [(film, frames * clip) for film, count in enumerate(counts) for clip in range(count)]
    before, parts = 0, {}
    for part, count in (films.parts or {}).items():
        parts[part] = sum(counts[before : before + count])
        before += count
    names = [f"{films.names[film]} from frame {start}" for film, start in places]
    left_out = counted(sum(lengths) - frames * len(places), "frame")
    found = {"cut": f"from {counted(len(lengths), 'film')}; {left_out} at ends left out"}
    reader = _InOneGo(films)
    return replace(
        films,
        found={**films.found, **found},
        names=names,
        frames=lambda clip: reader.read(*places[clip], frames),
        frame_name=None,
        parts=parts or None,
    )


class _InOneGo:
    """Reads a film on from where it was left, as long as the frames asked for are the next ones."""

    def __init__(self, films: RawFilms) -> None:
        self._films = films
        self._next: tuple[int, int] | None = None
        self._frames: Iterator[np.ndarray] = iter(())

    def read(self, film: int, start: int, frames: int) -> Iterator[np.ndarray]:
        """So many frames of a film, from frame `start` on."""
        ahead = self._frames if self._next == (film, start) else islice(self._films.frames(film), start, None)
        self._next = None  # nobody can go on from a clip of which only some frames were read
        yield from islice(ahead, frames)
        self._next, self._frames = (film, start + frames), ahead


_USUAL = ((0, 1), (-1, 1), (0, 255))
"""What numbers usually mean black and white."""


def _range(seen: _Seen, config: ImportConfig, path: Path) -> tuple[float, float]:
    """The numbers that mean black and white: as given, or as their type says where it leaves no doubt."""
    shown = f"{seen.dtype} from {number_told(seen.low)} to {number_told(seen.high)} in {path}"
    if seen.dtype == bool:
        low, high = config.range or (0, 1)
        fix = "False is black and True white"
        check.require((low, high) == (0, 1), "--range", "be 0 1 for bool, or left out", f"{low:g} {high:g}", fix)
        return 0, 1
    if config.range is not None:
        low, high = config.range
        must, fix = f"span what is there, {shown}", "choose a wider range"
        check.require(low <= seen.low and seen.high <= high, "--range", must, f"{low:g} {high:g}", fix)
        return low, high
    if seen.dtype == np.uint8:
        must, fix = "be given where 1 may be white or almost black", "give --range 0 1 or --range 0 255"
        check.require(seen.high > 1, "--range", must, shown, fix)
        return 0, 255
    inside = seen.dtype.kind == "f" and seen.low >= 0 and seen.high <= 1
    must = "say which numbers are black and white, except for bool, uint8, and floats in [0, 1]"
    likely = [f"{low} {high}" for low, high in _USUAL if low <= seen.low and seen.high <= high]
    fix = f"give e.g. --range {likely[0]}" if likely else "give the two numbers"
    if seen.dtype.kind in "ui" and seen.low >= 0 and 255 < seen.high < 65536:  # cameras have 10, 12 or 14 of 16 bits
        fix = f"give e.g. --range 0 {2 ** int(seen.high).bit_length() - 1}"
    elif seen.dtype.kind == "f" and seen.low >= -1.5 and 1 < seen.high <= 1.5:
        fix = "clip them to 0 and 1, or to -1 and 1, if they only overshoot; else give the two numbers"
    check.require(inside, "--range", must, f"none for {shown}", fix)
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
