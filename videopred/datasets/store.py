"""Data files: HDF5, laid out so that programs for R-NEM's original files read ours, and ours reads theirs.

    /training, /validation, /test        T frames, N clips, K objects; time first
        features                         bool or uint8 (T, N, H, W, C)
        groups                           uint8 (T, N, H, W, 1), the object seen, counted from 1; 0 is background
        collisions                       bool (T, N, H, W, 1), pixels of objects that collide in (t, t + 1]
        events                           uint8 (T, N, 1, 1, 1), number of contacts in (t, t + 1]
        positions, velocities            float32 (T, N, K, 2), px and px per frame
        visibility/fraction              float16 (T, N, K)
        objects/<name>                   (N, K, ...)
        series/<name>                    (T, N, ...)
        labels/<name>                    (N, ...)
        contacts, contact_offsets        CONTACT (E,) and int64 (N + 1,): clip i has rows offsets[i]:offsets[i + 1]
        seed, index                      uint64 (N,) first word of each clip's random source, int64 (N,) its address

R-NEM's files hold the first six; the rest is ours. One chunk holds one clip, gzipped and checksummed. Equal recipes
and seeds give equal bytes, on any day. The only door of h5py.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from videopred import check
from videopred.datasets import DATASETS
from videopred.datasets.clip import PARTS, Clip, clip_seed
from videopred.datasets.patient_file import PatientFile
from videopred.datasets.record import has_time, record_of, without_thin_axes
from videopred.datasets.settings import BallsConfig, DatasetSettings, dump_recipe, load_recipe
from videopred.datasets.source import ClipSource, hash_files
from videopred.files import whole_file
from videopred.interrupt import HeldInterrupt

FORMAT = "videopred/1"
_CLIPS_AT_ONCE = 16  # what fits in cache: drawing 500 at a time takes four times as long per clip
_FILTERS = {"compression": "gzip", "compression_opts": 1, "fletcher32": True}
_SAMPLE = 100  # clips of a part that statistics are over, at most
_INNER = ("features", "contacts", "contact_offsets", "seed", "index")  # not truth by clip
_FRAME_TYPES = (bool, np.uint8, np.float16, np.float32, np.float64)


class ClipWriter:
    """Writes the parts of a data file, one after the other. Made by `new_file`."""

    def __init__(self, file: h5py.File, disk: PatientFile, held: HeldInterrupt, binary: bool, seed: int) -> None:
        self._file, self._disk, self._held, self._binary, self._seed = file, disk, held, binary, seed

    def write_part(self, part: str, clips: Iterable[Clip], count: int) -> None:
        """Write clips 0 to `count` of a part, block by block as they come.

        Raises:
            OSError: the disk is full or fails.
            KeyboardInterrupt: somebody pressed Ctrl-C.
        """
        group, queue, start = self._file.create_group(PARTS[part]), iter(clips), 0
        contacts: list[np.ndarray] = []
        tables: dict[str, list[np.ndarray]] = defaultdict(list)
        while block := list(islice(queue, _CLIPS_AT_ONCE)):
            self._held.stop_if_asked()
            self._write_frames(group, block, start, count)
            contacts += [clip.contacts for clip in block]
            for clip in block:
                for name, values in record_of(clip).items():
                    if not has_time(name):
                        tables[name].append(values)
            start += len(block)
            if self._disk.failure:
                raise self._disk.failure
        _write_table(group, "contacts", np.concatenate(contacts))
        _write_table(group, "contact_offsets", np.cumsum([0, *map(len, contacts)]))
        for name, rows in tables.items():
            _write_table(group, name, np.stack(rows))
        words = [clip_seed(self._seed, part, index).generate_state(1, np.uint64) for index in range(count)]
        _write_table(group, "seed", np.concatenate(words))
        _write_table(group, "index", np.arange(count))

    def _write_frames(self, group: h5py.Group, block: list[Clip], start: int, count: int) -> None:
        """Write what a block of clips has by frame, at clip `start` of `count`."""
        by_clip = [record_of(clip) for clip in block]
        for name in filter(has_time, by_clip[0]):
            rows = np.stack([arrays[name] for arrays in by_clip], axis=1)  # (T, clips, ...)
            if self._binary and name == "features":
                rows = rows > 0
            if name not in group:
                frames, _, *rest = rows.shape
                shape, chunk = (frames, count, *rest), (frames, 1, *rest)
                group.create_dataset(name, shape, rows.dtype, chunks=chunk, track_times=False, **_FILTERS)
            group[name][:, start : start + len(block)] = rows


def _write_table(group: h5py.Group, name: str, rows: np.ndarray) -> None:
    """Write a small array as a whole; HDF5 allows no filters on an empty one."""
    filters = {"chunks": rows.shape, **_FILTERS} if len(rows) else {}
    group.create_dataset(name, data=rows, track_times=False, **filters)


@contextmanager
def new_file(path: Path, name: str, recipe: DatasetSettings, seed: int) -> Iterator[ClipWriter]:
    """A writer for a file that appears under its name only when it is complete.

    Args:
        path: the file to make, or to replace.
        name: what the data set is called in the file.
        recipe: what its clips were made by.
        seed: seed of the whole data set.

    Raises:
        OSError: the folder cannot be written to, or the disk is full.
        KeyboardInterrupt: somebody pressed Ctrl-C; raised between two blocks of clips.
    """
    # An interrupt inside HDF5's calls back to our file would make it write for ever, so it waits for the block's end.
    with HeldInterrupt() as held, whole_file(path) as partial, PatientFile(partial) as disk:
        with h5py.File(disk, "w") as file:
            file.attrs.update(_attributes(name, recipe, seed))
            yield ClipWriter(file, disk, held, recipe.binary, seed)
        held.stop_if_asked()
        if disk.failure:
            raise disk.failure
        os.fsync(disk.fileno())  # some disks tell only now that they are full


def _attributes(name: str, recipe: DatasetSettings, seed: int) -> dict[str, Any]:
    """What a file says of itself; no date, so that equal clips are equal bytes."""
    return {
        "format": FORMAT,
        "axes": "TNHWC",
        "units": "px, frames; x right, y down, centre of the top left pixel at (0.5, 0.5)",
        "name": name,
        "recipe": dump_recipe(recipe),
        "seed": np.uint64(seed),
        "context": recipe.context,
        "horizon": recipe.horizon,
        "software": f"videopred {version('videopred')}",
    }


class ClipFile(ClipSource):
    """A data file, open for reading: ours, or one with the frames of R-NEM's original files.

    Each process opens it for itself on first use. Of a file that is not ours, `name` is the file's name, `recipe` and
    `seed` are None, and `context` and `horizon` are R-NEM's.

    Raises:
        FileNotFoundError: there is no such file; the message says how to make it.
        ValueError: it is damaged, of another kind, or holds no frames.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        known = self.path.stem if self.path.stem in DATASETS else "NAME"
        check.existing_file("DATA", self.path, f"make one with `videopred generate {known}`")
        self._handle: h5py.File | None = None
        self._owner = 0
        with self, self._reading() as file:  # closed again: whoever reads first opens it
            self._read_shapes(file)
            self._read_attributes(dict(file.attrs))

    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Frames (B, T, H, W, C) uint8 of some clips; on is 255 if the file holds bool or float."""
        self.check_clips(part, start, stop)
        with self._reading() as file:
            features = file[PARTS[part]]["features"]
            stored = np.empty((self.frames, stop - start, *features.shape[2:]), features.dtype)
            features.read_direct(stored, np.s_[:, start:stop])
        if stored.dtype == bool:
            stored = stored.view(np.uint8) * np.uint8(255)
        elif stored.dtype != np.uint8:
            inside = bool((stored >= 0).all() and (stored <= 1).all())
            self._require(inside, "hold float features between 0 and 1", "others")
            stored = np.rint(stored * 255).astype(np.uint8)
        return np.ascontiguousarray(stored.swapaxes(0, 1))

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        """(B, T, ...) or, for objects/… and labels/…, (B, ...): one kind of truth about some clips."""
        self.check_clips(part, start, stop)
        check.one_of("the truth", name, self.truth)
        with self._reading() as file:
            stored = file[PARTS[part]][name]
            if not has_time(name):
                return stored[start:stop]
            values = stored[:, start:stop].swapaxes(0, 1)  # (B, T, ...)
        return np.ascontiguousarray(without_thin_axes(name, values))

    def clip(self, part: str, index: int) -> Clip:
        """A clip with its truth, which only our own files hold in full."""
        frames = self.read_frames(part, index, index + 1)[0]
        self._require(self.recipe is not None, "hold the whole truth, as our own files do", "frames of another origin")
        with self._reading() as file:
            group = file[PARTS[part]]
            first, last = group["contact_offsets"][index : index + 2]
            return Clip(
                frames=frames,
                masks=group["groups"][:, index, ..., 0],
                positions=group["positions"][:, index],
                velocities=group["velocities"][:, index],
                collisions=group["collisions"][:, index, ..., 0],
                events=group["events"][:, index, 0, 0, 0],
                visibility=group["visibility/fraction"][:, index],
                contacts=group["contacts"][first:last],
                objects={name: table[index] for name, table in group["objects"].items()},
                series={name: values[:, index] for name, values in group.get("series", {}).items()},
                labels={name: np.asarray(values[index]) for name, values in group.get("labels", {}).items()},
            )

    def fingerprint(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal."""
        return hash_files([self.path])

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        if self._handle is not None and self._owner == os.getpid():
            self._handle.close()
        self._handle = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_handle": None}

    def _read_shapes(self, file: h5py.File) -> None:
        features = {part: file.get(f"{group}/features") for part, group in PARTS.items() if group in file}
        self._require(len(features) > 0, f"hold some of the groups {', '.join(PARTS.values())}", "none of them")
        for part, frames in features.items():
            fits = isinstance(frames, h5py.Dataset) and frames.ndim == 5 and frames.dtype in _FRAME_TYPES
            self._require(fits, "hold bool, uint8 or float features (T, N, H, W, C)", f"{frames} in {PARTS[part]}")
            filled = min(frames.shape) > 0 and frames.shape[-1] in (1, 3)
            must = "hold at least one clip, frame and pixel, with 1 or 3 channels"
            self._require(filled, must, f"features {frames.shape} in {PARTS[part]}")
        shapes = {(frames.shape[0], *frames.shape[2:]) for frames in features.values()}
        self._require(len(shapes) == 1, "hold clips of one shape", sorted(shapes))
        self.frames, self.height, self.width, self.channels = map(int, shapes.pop())
        self.parts = {part: int(frames.shape[1]) for part, frames in features.items()}
        self.binary = all(frames.dtype == bool for frames in features.values())
        group = file[PARTS[next(iter(self.parts))]]
        self.truth = tuple(sorted(name for name in _datasets(group) if name not in _INNER))

    def _read_attributes(self, attributes: dict[str, Any]) -> None:
        form = attributes.get("format")
        self._require(form in (None, FORMAT), f"be of format {FORMAT}", form)
        self.name, self.seed, self.recipe = self.path.stem, None, None
        usual: DatasetSettings = BallsConfig(frames=max(self.frames, 2))
        if form == FORMAT:
            self.name, self.seed = str(attributes["name"]), int(attributes["seed"])
            try:
                self.recipe = usual = load_recipe(attributes["recipe"])
            except ValueError:
                self._require(False, "hold a recipe of this version", attributes["recipe"])
        self.context, self.horizon = usual.context, usual.horizon

    def _require(self, condition: bool, must: str, got: Any) -> None:
        check.require(condition, "DATA", must, f"{got} in {self.path}", "make a file with `videopred generate`")

    @contextmanager
    def _reading(self) -> Iterator[h5py.File]:
        """The file, open in this process; what HDF5 says of damage becomes one line."""
        try:
            if self._handle is None or self._owner != os.getpid():
                self._handle, self._owner = h5py.File(self.path, "r"), os.getpid()
            yield self._handle
        except (OSError, KeyError, RuntimeError) as error:
            must, fix = "be a whole, undamaged HDF5 file", "make it again with `videopred generate`"
            raise ValueError(check.complaint("DATA", must, f"{self.path} ({error})", fix)) from None


def _datasets(group: h5py.Group) -> list[str]:
    """Names of all data sets in a group and the groups in it."""
    names: list[str] = []
    group.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def describe(file: ClipSource) -> dict[str, Any]:
    """Facts of a data file, ready for JSON.

    Returns:
        path, name, seed, recipe (None if the file is not ours), frames, height, width, channels, values ("binary" or
        "grey levels"), context, horizon, bytes; and under `parts`, for each part there is: clips, and over its first
        100 clips mean_intensity in [0, 1], and, if the file is ours, objects_per_clip and contacts_per_clip (means).
    """
    return {
        "path": str(file.path),
        "name": file.name,
        "seed": file.seed,
        "recipe": file.recipe.model_dump(mode="json") if file.recipe else None,
        "frames": file.frames,
        "height": file.height,
        "width": file.width,
        "channels": file.channels,
        "values": "binary" if file.binary else "grey levels",
        "context": file.context,
        "horizon": file.horizon,
        "bytes": file.path.stat().st_size,
        "parts": {
            part: {"clips": count, **_statistics(file, part, min(count, _SAMPLE))} for part, count in file.parts.items()
        },
    }


def _statistics(file: ClipSource, part: str, clips: int) -> dict[str, float]:
    means = [file.read_frames(part, clip, clip + 1).mean() / 255 for clip in range(clips)]
    facts = {"mean_intensity": float(np.mean(means))}
    if file.recipe:
        truth = [file.clip(part, clip) for clip in range(clips)]
        facts["objects_per_clip"] = float(np.mean([clip.objects["active"].sum() for clip in truth]))
        facts["contacts_per_clip"] = float(np.mean([len(clip.contacts) for clip in truth]))
    return facts
