"""Clips in data files: HDF5 as file_layout.py lays it out, and R-NEM's original files."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from videopred import check
from videopred.datasets.advice import how_to_import
from videopred.datasets.clip import PART_OF, PARTS, Clip
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.file_layout import CONTACTS, FORMAT, NAMES, NOT_TRUTH, has_time, without_thin_axes
from videopred.datasets.fingerprint import hash_files, hash_values
from videopred.datasets.foreign_values import CONVERT, to_levels, to_our_type, unit_and_offset, unit_of_radii
from videopred.datasets.settings import BallsConfig, DatasetSettings, load_recipe
from videopred.datasets.stored_arrays import StoredArrays
from videopred.explaining import explain
from videopred.software import fix_of_version

_LOOKED_AT = 8  # frames that tell how places are told
_WHOLE_TRUTH = {"groups", "positions", "velocities", "collisions", "events", "visibility/fraction", "objects/active"}
"""What `Clip` has of every world."""
_OF_OBJECTS = {"positions": 4, "velocities": 4, "visibility/fraction": 3, "objects/mass": 2, "objects/radius": 2}
"""What is told of each object -> how many axes it has; the third one is of objects, or without time the second."""
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
    Places, velocities and radii may be in arena units, ten of which are a frame's height, if groups show that they are:
    they are given in px. What has other axes, such as one mask for each object, or is no number is left out. `remarks`
    says all of this, and whether places seem to be half a pixel off.

    Of clips that we did not make, `recipe` and `seed` are None, and `context` and `horizon` are R-NEM's; of a file that
    is not ours, `name` is the file's name.

    Attributes:
        arrays: what it holds, as it stands there.
        attributes: what the file says of itself, as it stands there.
        dtype: type of the numbers that frames are stored as.

    Raises:
        FileNotFoundError: there is no such file; the message says how to make it.
        ValueError: it is damaged, of another kind, or holds no frames; later, it has been replaced.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.arrays = StoredArrays(self.path)
        self._px_per_unit: dict[str, float] = {}
        self.remarks: dict[str, str] = {}
        with self, self.arrays.reading():  # closed again: whoever reads first opens it
            self._read_shapes()
            self._read_attributes(self.arrays.attributes())
            self._read_truth()
            self._look_at_places()
            self.binary = self._is_binary()

    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Frames (B, T, H, W, C) uint8 of some clips; white is 255, however it is stored."""
        self.check_clips(part, start, stop)
        levels = to_levels(self.arrays.read(part, "features", start, stop), self.binary, self.path)
        return np.ascontiguousarray(levels.swapaxes(0, 1))

    def read_window(self, part: str, clip: int, start: int, stop: int) -> np.ndarray:
        """Frames (T, H, W, C) uint8 of one clip from `start` up to `stop`; no other chunks are unpacked."""
        clip = self.check_clip(part, clip)
        self.check_window(start, stop)
        stored = self.arrays.read(part, "features", clip, clip + 1, slice(start, stop))
        return to_levels(stored, self.binary, self.path)[:, 0]

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        """(B, T, ...) or, for objects/… and labels/…, (B, ...): one kind of truth about some clips."""
        self.check_clips(part, start, stop)
        check.one_of("the truth", name, self.truth)
        values = self.arrays.read(part, name, start, stop)
        if has_time(name):
            values = without_thin_axes(name, values.swapaxes(0, 1))  # (B, T, ...)
            if values.shape[1] == 1:  # once for all times
                values = np.repeat(values, self.frames, axis=1)
        if self.recipe is None:  # nor did `import` write it, but whoever added it to films
            values = to_our_type(name, values, self.path)
        if name in self._px_per_unit:
            values = values * self._px_per_unit[name]
        return np.ascontiguousarray(values)

    def clip(self, part: str, index: int) -> Clip:
        """A clip with its truth, which only our own files hold in full."""
        index = self.check_clip(part, index)
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
        clip = self.check_clip(part, clip)
        first, last = map(int, self.arrays.read(part, "contact_offsets", clip, clip + 2))
        self.arrays.require_whole(0 <= first <= last, f"contact_offsets {first} and {last} of clip {clip} of {part}")
        return self.arrays.read(part, CONTACTS, first, last)

    def pixel_values(self) -> str:
        """What pixels may be, and of a file that is not ours, how they stand there."""
        if self._is_ours:
            return super().pixel_values()
        return f"{super().pixel_values()}, from {self.dtype}"

    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal: see `hash_values`; of the bytes of a file that is not ours, or was packed again."""
        with self.arrays.reading():
            place = self.arrays.require_same()  # its bytes are read anew, whatever is open
            if not self._is_ours:
                return hash_files([place])
            groups = {PARTS[part]: self.arrays.of_part(part) for part in self.parts}
            arrays = {f"{group}/{name}": found[name] for group, found in groups.items() for name in sorted(found)}
            return hash_values(place, arrays, from_recipe=self.recipe is not None) or hash_files([place])

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        self.arrays.close()

    @property
    def _is_ours(self) -> bool:
        """Whether it is of our format, written by `generate` or `import`."""
        return "format" in self.attributes

    def _read_shapes(self) -> None:
        features, flags = self.arrays.features(), []
        if features and None not in features.values():
            flags = ["--array", *(f"{part}={PARTS[part]}/features" for part in features)]
            flags += ["--axes", "TBHW"] if {frames.ndim for frames in features.values()} == {4} else []
        how = how_to_import(self.path, flags)
        fix = f"make a file with `videopred generate`, or bring in arrays of others with {how}"
        must = f"hold some of the groups {', '.join(PARTS.values())}"
        self._require(len(features) > 0, must, "none of them", fix)
        for part, frames in features.items():
            fits = frames is not None and frames.ndim == 5 and frames.dtype.kind in "buif"
            got = f"{'none' if frames is None else frames} in {PARTS[part]}"
            self._require(fits, "hold features (T, N, H, W, C) that are numbers", got, fix)
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
        there = self.arrays.groups()
        meant = {name: PARTS[PART_OF[name.lower()]] for name in sorted(there) if name.lower() in PART_OF}
        unread = [f"the group {name}; call it {group}" for name, group in meant.items() if group not in there]
        if unread:
            self.remarks["unread"] = ", ".join(unread)
        kinds = {str(frames.dtype) for frames in features.values()}
        alike = "uint8" if kinds == {"bool", "uint8"} else "one of these"
        fix = f"store all parts as {alike}, or make a file with `videopred generate`"
        self._require(len(kinds) == 1, "hold features of one kind", sorted(kinds), fix)
        self.dtype = np.dtype(kinds.pop())

    def _read_attributes(self, attributes: dict[str, Any]) -> None:
        self.attributes, form = attributes, attributes.get("format")
        fix = fix_of_version(attributes.get("software"), "make a file with `videopred generate`")
        self._require(form is None or str(form) == FORMAT, f"be of format {FORMAT}", form, fix)
        self.name, self.seed, self.recipe = self.path.stem, None, None
        usual: DatasetSettings = BallsConfig(frames=self.frames)
        if self._is_ours:
            lacking = ({"name", "seed"} if "recipe" in attributes else {"name"}) - attributes.keys()
            got = f"no {' and no '.join(sorted(lacking))}"
            self._require(not lacking, "say its name, and of a recipe the seed", got)
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
            except ValueError as error:
                told = explain(error) if isinstance(error, ValidationError) else error
                self._require(False, "hold a recipe of this version", f"another one ({told})", fix)
        self.context, self.horizon = usual.context, usual.horizon
        for name in ("context", "horizon") if self.recipe else ():
            said, ours = attributes.get(name), getattr(self, name)
            must = f"say the {name} {ours} of its recipe"
            self._require(said is None or str(said) == str(ours), must, said, fix)

    def _read_truth(self) -> None:
        """Find what every part holds of each clip, in a shape that says which clip is where."""
        known, fitting, still, words, strange = set(), [], set(), set(), set()
        for part, count in self.parts.items():
            arrays = {name: data for name, data in self.arrays.of_part(part).items() if name not in NOT_TRUTH}
            if self.recipe is None:
                words |= {name for name, data in arrays.items() if data.dtype.kind not in "biuf"}
                strange |= {name.partition("/")[0] for name in arrays}.difference(NAMES)
                arrays = {name: data for name, data in arrays.items() if name not in words}
            known |= arrays.keys() & (_WHOLE_TRUTH | _OF_OBJECTS.keys())
            fit = {name for name, data in arrays.items() if self._fits(name, data.shape, count)}
            still |= {name for name in fit if has_time(name) and arrays[name].shape[0] == 1}
            objects = {name: arrays[name].shape[2 if has_time(name) else 1] for name in _OF_OBJECTS.keys() & fit}
            fitting.append(fit - {name for name, some in objects.items() if some != objects.get("positions", some)})
        self.truth = tuple(sorted(set.intersection(*fitting)))
        if odd := known.difference(self.truth):
            names = ", ".join(sorted(odd))
            self.remarks["left_out"] = f"{names}, of other axes or lengths than such files have, or not in all parts"
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
        return shape[: len(axes)] == axes and of_pixels and len(shape) == _OF_OBJECTS.get(name, len(shape))

    def _look_at_places(self) -> None:
        """Find how truth that is not ours tells places, by masks of some clips."""
        if self.recipe is not None or not {"positions", "groups"} <= set(self.truth):
            return
        unit, offset = None, 0.0
        with suppress(check.FaultyFileError):  # of groups, to whoever reads them
            places, masks = (self._some_frames(name) for name in ("positions", "groups"))
            if places.shape[-1] == 2:
                unit, offset = unit_and_offset(places, masks)
            if (most := int(masks.max())) > places.shape[1]:
                self.remarks["numbers"] = (
                    f"groups hold {most}, and positions are of {places.shape[1]} objects: those without a mask count "
                    "as absent, and masks without a position are never found"
                )
        self.places_known = unit is not None
        self._take_unit(unit, "places", {"positions": "positions", "velocities": "velocities"})
        if offset:
            self.remarks["offset"] = _OFFSETS[offset]
        with suppress(check.FaultyFileError):  # to whoever reads them
            self._look_at_velocities()
        with suppress(check.FaultyFileError):
            self._look_at_radii()

    def _take_unit(self, unit: float | None, about: str, names: dict[str, str]) -> None:
        """Have what stands under these names converted to px, and remark that; or that the unit is unknown."""
        if unit is None:
            first, *_ = names.values()
            self.remarks[about] = f"{first} do not match the objects in groups, neither in px nor in arena units"
        elif unit != 1:
            self._px_per_unit |= dict.fromkeys(names, unit)
            told = f"{' and '.join(names.values())} are in arena units, ten to a frame's height"
            self.remarks[about] = f"{told}, and are converted to px"

    def _look_at_radii(self) -> None:
        """Find the unit of radii."""
        if "objects/radius" not in self.truth:
            return
        radii, masks = (self._some_frames(name) for name in ("objects/radius", "groups"))
        self._take_unit(unit_of_radii(radii, masks), "radii", {"objects/radius": "radii"})

    def _look_at_velocities(self) -> None:
        """Find whether velocities tell how far objects go from frame to frame."""
        if "velocities" not in self.truth:
            return
        ratios, cosines = [], []
        for part, clip in self._some_clips():
            places, told = (self.read(part, name, clip, clip + 1)[0] for name in ("positions", "velocities"))
            if places.shape != told.shape or places.ndim != 3:
                return
            steps = np.diff(places, axis=0)
            gone, said = (np.linalg.norm(one, axis=-1) for one in (steps, told[:-1]))
            moving = (gone > 0.1) & (said > 0)
            ratios.append(said[moving] / gone[moving])
            cosines.append((steps * told[:-1]).sum(-1)[moving] / (gone * said)[moving])
        if not len(found := np.concatenate(ratios)):
            return
        if not 0.5 < (ratio := float(np.median(found))) < 2:
            self.remarks["velocities"] = f"velocities are {ratio:.3g} times as large as objects go in a frame"
        elif float(np.median(np.concatenate(cosines))) < 0.5:
            self.remarks["velocities"] = "velocities do not point to where objects go; x is to the right, y is down"

    def _some_frames(self, name: str) -> np.ndarray:
        """What stands under a name, for frames (N, …) spread over some clips of each part."""
        frames = np.linspace(0, self.frames - 1, _LOOKED_AT).round().astype(int)
        clips = [self.read(part, name, clip, clip + 1) for part, clip in self._some_clips()]
        found = [one[0, frames] if has_time(name) else np.repeat(one, _LOOKED_AT, axis=0) for one in clips]
        if name in _OF_OBJECTS:  # of which another part may have more
            most = max(one.shape[1] for one in found)
            lacking = [[(0, 0), (0, most - one.shape[1]), *[(0, 0)] * (one.ndim - 2)] for one in found]
            found = [np.pad(one, gap, constant_values=np.nan) for one, gap in zip(found, lacking, strict=True)]
        return np.concatenate(found)

    def _some_clips(self) -> list[tuple[str, int]]:
        """The first, the middle and the last clip of each part."""
        return [(part, clip) for part, count in self.parts.items() for clip in sorted({0, count // 2, count - 1})]

    def _is_binary(self) -> bool:
        """Whether pixels are only on or off; of whole numbers of others, by those of some clips."""
        if self.dtype.kind in "bf" or self._is_ours:
            return self.dtype.kind == "b"
        low, high = 0, 0
        for part, clip in self._some_clips():
            stored = self.arrays.read(part, "features", clip, clip + 1)
            low, high = min(low, stored.min()), max(high, stored.max())
        self._require(0 <= low <= high <= 255, "hold features between 0 and 255", f"{low} to {high}", CONVERT)
        return bool(high <= 1)

    def _require(
        self, condition: bool, must: str, got: Any, fix: str = "make a file with `videopred generate`"
    ) -> None:
        check.require_sound(condition, "DATA", must, f"{got} in {self.path}", fix)


def _below(shelf: str, truth: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What stands under `<shelf>/<name>`, by name."""
    return {name.removeprefix(f"{shelf}/"): np.asarray(truth[name]) for name in truth if name.startswith(f"{shelf}/")}
