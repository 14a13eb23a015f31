"""Reads data files: HDF5 as file_layout.py lays it out, and R-NEM's original files. One of the three doors of h5py."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from videopred import check, check_path
from videopred.datasets.advice import how_to_import, how_to_make, how_to_mend
from videopred.datasets.clip import PARTS, Clip
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.file_layout import CONTACTS, FORMAT, NAMES, NOT_TRUTH, has_time, without_thin_axes
from videopred.datasets.fingerprint import hash_files, hash_values
from videopred.datasets.foreign_values import CONVERT, to_levels, to_our_type, unit_and_offset
from videopred.datasets.linked_arrays import own_array
from videopred.datasets.settings import BallsConfig, DatasetSettings, load_recipe

_AT_ONCE = 2**24  # bytes read at a time of what has no chunks
_LOOKED_AT = 8  # frames that tell how places are told
_WHOLE_TRUTH = {"groups", "positions", "velocities", "collisions", "events", "visibility/fraction", "objects/active"}
"""What `Clip` has of every world."""
_OF_PIXELS = ("groups", "collisions")
_OFFSETS = {
    -0.5: "positions lie half a pixel left of and above most objects in groups, as if the center of the top left pixel "
    "were (0, 0); here it is (0.5, 0.5): add 0.5 px to both coordinates in the file",
    0.5: "positions lie half a pixel right of and below most objects in groups, as if the center of the top left pixel "
    "were (1, 1); here it is (0.5, 0.5): subtract 0.5 px from both coordinates in the file",
}
"""What is said of positions that are half a pixel off."""


class ClipFile(ClipSource):
    """A data file, open for reading: ours, or one with the frames of R-NEM's original files.

    Features of other files may be bool, floats that are 256 levels between 0 and 1, or any whole numbers: 0 and 1, or 0
    to 255, by what the first, the middle and the last clip of each part hold. A clip that then does not fit is refused
    when it is read.

    Of other files what is true at all times may stand there once, as an array with T = 1: it is given for each frame.
    Places and velocities may be in arena units, ten of which are a frame's height, if groups show that they are: they
    are given in px. What has other axes, such as one mask for each object, or is no number is left out. `remarks` says
    all of this, and whether places seem to be half a pixel off.

    Each process opens it for itself on first use, and refuses another file that has come into its place. Of clips that
    we did not make, `recipe` and `seed` are None, and `context` and `horizon` are R-NEM's; of a file that is not ours,
    `name` is the file's name.

    Attributes:
        attributes: what the file says of itself, as it stands there.
        dtype: type of the numbers that frames are stored as.

    Raises:
        FileNotFoundError: there is no such file; the message says how to make it.
        ValueError: it is damaged, of another kind, or holds no frames; later, it has been replaced.
    """

    def __init__(self, path: Path | str) -> None:
        self.path, self._place = Path(path), Path(path).absolute()  # which lasts where a program changes its folder
        check_path.existing_file("DATA", self.path, how_to_make(self.path))
        self._handle: h5py.File | None = None
        self._arrays: dict[str, h5py.Dataset] = {}  # kept open, with what HDF5 remembers of the last chunks
        self._owner = 0
        self._px_per_unit = 1.0
        self.remarks: dict[str, str] = {}
        self._identity = _identity(self._place)
        with self, self._reading() as file:  # closed again: whoever reads first opens it
            self._read_shapes(file)
            self._read_attributes(dict(file.attrs))
            self._read_truth(file)
            self._look_at_places()
            self.binary = self._is_binary()

    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Frames (B, T, H, W, C) uint8 of some clips; on is 255 if the file holds bool or float."""
        self.check_clips(part, start, stop)
        levels = to_levels(self.stored(part, "features", start, stop), self.binary, self.path)
        return np.ascontiguousarray(levels.swapaxes(0, 1))

    def read_window(self, part: str, clip: int, start: int, stop: int) -> np.ndarray:
        """Frames (T, H, W, C) uint8 of one clip from `start` up to `stop`; no other chunks are unpacked."""
        self.check_clips(part, clip, clip + 1)
        self.check_window(start, stop)
        stored = self.stored(part, "features", clip, clip + 1, slice(start, stop))
        return to_levels(stored, self.binary, self.path)[:, 0]

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        """(B, T, ...) or, for objects/… and labels/…, (B, ...): one kind of truth about some clips."""
        self.check_clips(part, start, stop)
        check.one_of("the truth", name, self.truth)
        values = self.stored(part, name, start, stop)
        if has_time(name):
            values = without_thin_axes(name, values.swapaxes(0, 1))  # (B, T, ...)
            if values.shape[1] == 1:  # once for all times
                values = np.repeat(values, self.frames, axis=1)
        if self.recipe is None:  # nor did `import` write it, but whoever added it to films
            values = to_our_type(name, values, self.path)
        if name in ("positions", "velocities") and self._px_per_unit != 1:
            values = values * self._px_per_unit
        return np.ascontiguousarray(values)

    def clip(self, part: str, index: int) -> Clip:
        """A clip with its truth, which only our own files hold in full."""
        frames = self.read_frames(part, index, index + 1)[0]
        must = "hold the whole truth, as our own files do"
        self._require(self.recipe is not None, must, "frames of another origin")
        missing = sorted(_WHOLE_TRUTH.difference(self.truth))
        self._require(not missing, must, f"no {', '.join(missing)}")
        truth = {name: self.read(part, name, index, index + 1)[0] for name in self.truth}
        return Clip(
            frames=frames,
            masks=truth["groups"],
            positions=truth["positions"],
            velocities=truth["velocities"],
            collisions=truth["collisions"],
            events=truth["events"],
            visibility=truth["visibility/fraction"],
            contacts=self.contacts(part, index),
            objects=_below("objects", truth),
            series=_below("series", truth),
            labels=_below("labels", truth),
        )

    def contacts(self, part: str, clip: int) -> np.ndarray:
        """The contacts of a clip, as they stand there."""
        first, last = map(int, self.stored(part, "contact_offsets", clip, clip + 2))
        self._require_whole(0 <= first <= last, f"contact_offsets {first} and {last} of clip {clip} of {part}")
        return self.stored(part, CONTACTS, first, last)

    def stored(self, part: str, name: str, start: int, stop: int, frames: slice = slice(None)) -> np.ndarray:
        """What stands under a name about some clips, as it stands there: (T, B, ...) or (B, ...).

        Args:
            frames: of what has time, only these.
        """
        place = f"{PARTS[part]}/{name}"
        with self._reading() as file:
            if place not in self._arrays:
                self._arrays[place] = own_array("DATA", file, place)
            array = self._arrays[place]
            there = array.shape[int(has_time(name))] if array.ndim > has_time(name) else 0
            self._require_whole(stop <= there, f"{there} instead of {stop} rows or more of {name} of {part}")
            clips = np.s_[frames, start:stop] if has_time(name) else np.s_[start:stop]
            times = (len(range(*frames.indices(array.shape[0]))),) if has_time(name) else ()
            stored = np.empty((*times, stop - start, *array.shape[len(times) + 1 :]), array.dtype)
            if stored.size:
                array.read_direct(stored, clips)  # an index of single clips would take 30 times as long
        return stored

    def names(self, part: str) -> list[str]:
        """Names of all that the file holds of a part."""
        with self._reading() as file:
            return sorted(_datasets(file, part))

    def unpack(self, part: str) -> Iterator[str]:
        """Read all that the file holds of a part, chunk by chunk, and yield the name of each chunk's data set.

        Raises:
            ValueError: a chunk is missing, or cannot be unpacked; says where.
        """
        with self._reading() as file:
            arrays = _datasets(file, part)
        for name, array in arrays.items():
            if array.chunks:  # HDF5 reads a missing chunk as zeros, and says nothing
                grid = zip(array.shape, array.chunks, strict=True)
                there, expected = array.id.get_num_chunks(), math.prod(-(-size // chunk) for size, chunk in grid)
                self._require_whole(there == expected, f"{there} of {expected} chunks of {name} of {part}")
            for place in _places(array):
                try:
                    array[place]
                except OSError as error:
                    clip = f", from clip {place[1].start} on" if has_time(name) and array.chunks else ""
                    got = f"damaged {name} of {part}{clip} ({error}) in {self.path}"
                    raise check.FaultyFileError(self._damage(got)) from None
                yield name

    def pixel_values(self) -> str:
        """What pixels may be, and of a file that is not ours, how they stand there."""
        if self._is_ours:
            return super().pixel_values()
        return f"{super().pixel_values()}, from {self.dtype}"

    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal: see `hash_values`; of the bytes of a file that is not ours, or was packed again."""
        with self._reading() as file:
            self._require_same(_identity(self._place) == self._identity)  # its bytes are read anew, whatever is open
            if not self._is_ours:
                return hash_files([self._place])
            groups = {PARTS[part]: _datasets(file, part) for part in self.parts}
            arrays = {f"{group}/{name}": found[name] for group, found in groups.items() for name in sorted(found)}
            made = self.recipe is not None
            return hash_values(self._place, arrays, from_recipe=made) or hash_files([self._place])

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        if self._handle is not None and self._owner == os.getpid():
            self._handle.close()
        self._handle, self._arrays = None, {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_handle": None, "_arrays": {}}

    @property
    def _is_ours(self) -> bool:
        """Whether it is of our format, written by `generate` or `import`."""
        return "format" in self.attributes

    def _read_shapes(self, file: h5py.File) -> None:
        features = {part: file.get(f"{group}/features") for part, group in PARTS.items() if group in file}
        flags = []
        if features and all(isinstance(frames, h5py.Dataset) for frames in features.values()):
            flags = ["--array", *(f"{part}={PARTS[part]}/features" for part in features)]
            flags += ["--axes", "TBHW"] if {frames.ndim for frames in features.values()} == {4} else []
        how = how_to_import(self.path, flags)
        fix = f"make a file with `videopred generate`, or bring in arrays of others with {how}"
        must = f"hold some of the groups {', '.join(PARTS.values())}"
        self._require(len(features) > 0, must, "none of them", fix)
        for part, frames in features.items():
            fits = isinstance(frames, h5py.Dataset) and frames.ndim == 5 and frames.dtype.kind in "buif"
            got = f"{'none' if frames is None else frames} in {PARTS[part]}"
            self._require(fits, "hold features (T, N, H, W, C) that are numbers", got, fix)
            own_array("DATA", file, f"{PARTS[part]}/features")
            filled = min(frames.shape) > 0 and frames.shape[-1] in (1, 3)
            must = "hold at least one clip, frame and pixel, with 1 or 3 channels, which come last"
            self._require(filled, must, f"features {frames.shape} in {PARTS[part]}", fix)
            must = "hold clips of two frames or more, for there is nothing to predict in one"
            self._require(len(frames) > 1, must, f"features {frames.shape} in {PARTS[part]}")
        shapes = {(frames.shape[0], *frames.shape[2:]) for frames in features.values()}
        must = "hold clips of one shape as features (T, N, H, W, C), time first"
        self._require(len(shapes) == 1, must, [frames.shape for frames in features.values()], fix)
        self.frames, self.height, self.width, self.channels = map(int, shapes.pop())
        self.parts = {part: int(frames.shape[1]) for part, frames in features.items()}
        if "train" in file and "train" not in self.parts:
            self.remarks["unread"] = "the group train; call it training"
        kinds = {str(frames.dtype) for frames in features.values()}
        alike = "uint8" if kinds == {"bool", "uint8"} else "one of these"
        fix = f"store all parts as {alike}, or make a file with `videopred generate`"
        self._require(len(kinds) == 1, "hold features of one kind", sorted(kinds), fix)
        self.dtype = np.dtype(kinds.pop())

    def _read_attributes(self, attributes: dict[str, Any]) -> None:
        self.attributes, form = attributes, attributes.get("format")
        self._require(form is None or str(form) == FORMAT, f"be of format {FORMAT}", form)
        self.name, self.seed, self.recipe = self.path.stem, None, None
        usual: DatasetSettings = BallsConfig(frames=self.frames)
        if self._is_ours:
            self.name = str(attributes["name"])
            source = attributes.get("source", "{}")
            try:
                self.imported = dict(json.loads(str(source)))
            except (ValueError, TypeError, RecursionError):  # of attributes of any kind
                self._require(False, "say as JSON what its films were imported from", source)
        if self._is_ours and "recipe" in attributes:
            self._require(str(attributes["seed"]).isdecimal(), "hold the seed of its recipe", attributes["seed"])
            self.seed = int(attributes["seed"])
            try:
                self.recipe = usual = load_recipe(str(attributes["recipe"]))
            except ValueError:
                self._require(False, "hold a recipe of this version", attributes["recipe"])
        self.context, self.horizon = usual.context, usual.horizon

    def _read_truth(self, file: h5py.File) -> None:
        """Find what every part holds of each clip, in a shape that says which clip is where."""
        known, fitting, still, words, strange = set(), [], set(), set(), set()
        for part, count in self.parts.items():
            arrays = {name: data for name, data in _datasets(file, part).items() if name not in NOT_TRUTH}
            if self.recipe is None:
                words |= {name for name, data in arrays.items() if data.dtype.kind not in "biuf"}
                strange |= {name.partition("/")[0] for name in arrays}.difference(NAMES)
                arrays = {name: data for name, data in arrays.items() if name not in words}
            known |= arrays.keys() & _WHOLE_TRUTH
            fitting.append({name for name, data in arrays.items() if self._fits(name, data.shape, count)})
            still |= {name for name in fitting[-1] if has_time(name) and arrays[name].shape[0] == 1}
        self.truth = tuple(sorted(set.intersection(*fitting)))
        if odd := known.difference(self.truth):
            names = ", ".join(sorted(odd))
            self.remarks["left_out"] = f"{names}, of other axes than such files have, or not in all parts"
        if strange:
            told = [f"{name} ({check.suggest(name, [*NAMES], 'nothing like it is known')})" for name in sorted(strange)]
            self.remarks["unknown"] = f"{', '.join(told)}: no command uses what is called so"
        if words:
            self.remarks["no_numbers"] = f"{', '.join(sorted(words))}, left out"
        if still := still.intersection(self.truth):
            names = ", ".join(sorted(still))
            self.remarks["repeated"] = f"{names}, stored once (T = 1), repeated for each of {self.frames} frames"

    def _fits(self, name: str, shape: tuple[int, ...], count: int) -> bool:
        """Whether an array of this shape says something of each of `count` clips, or of each of their pixels."""
        frames = 1 if shape[:1] == (1,) and self.recipe is None else self.frames
        axes = (frames, count) if has_time(name) else (count,)
        pixels = (self.height, self.width)
        of_pixels = name not in _OF_PIXELS or shape[2:] in (pixels, (*pixels, 1))
        return shape[: len(axes)] == axes and of_pixels

    def _look_at_places(self) -> None:
        """Find how truth that is not ours tells places, by masks of some clips."""
        if self.recipe is not None or not {"positions", "groups"} <= set(self.truth):
            return
        unit, offset = None, 0.0
        with suppress(check.FaultyFileError):  # of groups, to whoever reads them
            places, masks = (self._some_frames(name) for name in ("positions", "groups"))
            if places.ndim == 3 and places.shape[-1] == 2:
                unit, offset = unit_and_offset(places, masks)
        self.places_known, self._px_per_unit = unit is not None, unit or 1.0
        if unit != 1:
            unknown = "positions do not match the objects in groups, neither in px nor in arena units"
            told = "positions and velocities are in arena units, ten to a frame's height, and are converted to px"
            self.remarks["places"] = told if self.places_known else unknown
        if offset:
            self.remarks["offset"] = _OFFSETS[offset]

    def _some_frames(self, name: str) -> np.ndarray:
        """What stands under a name in frames (N, …) spread over some clips of each part."""
        frames = np.linspace(0, self.frames - 1, _LOOKED_AT).round().astype(int)
        clips = [self.read(part, name, clip, clip + 1)[0][frames] for part, clip in self._some_clips()]
        return np.concatenate(clips)

    def _some_clips(self) -> list[tuple[str, int]]:
        """The first, the middle and the last clip of each part."""
        return [(part, clip) for part, count in self.parts.items() for clip in sorted({0, count // 2, count - 1})]

    def _is_binary(self) -> bool:
        """Whether pixels are only on or off; of whole numbers of others, by those of some clips."""
        if self.dtype.kind in "bf" or self._is_ours:
            return self.dtype.kind == "b"
        low, high = 0, 0
        for part, clip in self._some_clips():
            stored = self.stored(part, "features", clip, clip + 1)
            low, high = min(low, stored.min()), max(high, stored.max())
        self._require(0 <= low <= high <= 255, "hold features between 0 and 255", f"{low} to {high}", CONVERT)
        return bool(high <= 1)

    def _require(
        self, condition: bool, must: str, got: Any, fix: str = "make a file with `videopred generate`"
    ) -> None:
        check.require_sound(condition, "DATA", must, f"{got} in {self.path}", fix)

    @contextmanager
    def _reading(self) -> Iterator[h5py.File]:
        """The file, open in this process; what HDF5 says of damage becomes one line."""
        try:
            if self._handle is None or self._owner != os.getpid():
                self._require_same(_identity(self._place) == self._identity)
                self._handle, self._arrays, self._owner = h5py.File(self._place, "r"), {}, os.getpid()
            yield self._handle
            size = os.fstat(self._handle.id.get_vfd_handle()).st_size
            self._require_same(size == self._identity[0])  # HDF5 reads zeros in the place of what was cut off
        except (OSError, KeyError, RuntimeError) as error:
            check.require_access(error, self.path)
            check_path.existing_file("DATA", self._place, how_to_make(self.path))
            raise check.FaultyFileError(self._damage(f"{self.path} ({error})")) from None

    def _require_same(self, condition: bool) -> None:
        """Refuse another file in the place of the one that this was made from."""
        must, fix = "be the file that was opened", "put that one back, or begin again with this one"
        got = f"{self.path}, which has been replaced or changed since"
        check.require_sound(condition, "DATA", must, got, fix)

    def _require_whole(self, condition: bool, got: str) -> None:
        if not condition:
            raise check.FaultyFileError(self._damage(f"{got} in {self.path}"))

    def _damage(self, got: str) -> str:
        return check.complaint("DATA", "be a whole, undamaged HDF5 file", got, how_to_mend(self.path))


def _identity(path: Path) -> tuple[int, ...]:
    """What tells a file from another that comes into its place: not its number, which some network disks change."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _below(shelf: str, truth: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What stands under `<shelf>/<name>`, by name."""
    return {name.removeprefix(f"{shelf}/"): np.asarray(truth[name]) for name in truth if name.startswith(f"{shelf}/")}


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


def _datasets(file: h5py.File, part: str) -> dict[str, h5py.Dataset]:
    """All data sets in the group of a part and the groups in it, by name."""
    names: list[str] = []
    group = file[PARTS[part]]
    group.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return {name: own_array("DATA", file, f"{PARTS[part]}/{name}") for name in names}
