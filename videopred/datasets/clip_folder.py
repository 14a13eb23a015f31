"""A folder of shards, read as the one data set that it is."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check
from videopred.datasets.advice import how_to_mend
from videopred.datasets.clip import Clip
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.settings import BallsConfig
from videopred.datasets.shards import ShardName, others_beside, shard_names, shard_ranges
from videopred.run_files import named_path

_ALIKE = ("format", "name", "recipe", "seed", "clips")  # what all shards of a set say in the same words
_FIX = "make it with `videopred generate`"
_OPEN = 128  # shards kept open at once: a process may open 256 files on macOS, and each takes about a megabyte


class ClipFolder(ClipSource):
    """All shards of a data set, open for reading. Each process opens them for itself on first use.

    Of many, only the 128 used last stay open, so only one thread at a time may read more than these.

    Attributes:
        shards: the files.
        ranges: of each, train, validation, test -> addresses of the clips it holds.

    Raises:
        ValueError: there are no shards; one is missing, damaged, there twice, or of another set.
    """

    def __init__(self, path: Path | str) -> None:
        path = Path(path)
        names, got = shard_names(path), f"{path} (a folder without any)"
        check.require_sound(len(names) > 0, "DATA", "be a data file or a folder of shards", got, how_to_mend(path))
        self.path = named_path(path)
        self._check_names(names)
        self.shards = [ClipFile(self.path / str(name)) for name in names]
        self._used: dict[ClipFile, None] = {}  # those that may be open, the one used last at the end
        first = self.shards[0]
        for shard, name in zip(self.shards, names, strict=True):
            self._check_shard(shard, name)
        told = first.attributes.get("clips")
        try:
            self.parts: dict[str, int] = dict(json.loads(str(told)))
        except (ValueError, TypeError):
            self._require(False, "say as JSON how many clips there are", told)
        self.name, self.recipe, self.seed = first.name, first.recipe, first.seed
        self.context, self.horizon = first.context, first.horizon
        self.frames, self.height, self.width = first.frames, first.height, first.width
        self.channels, self.binary, self.truth = first.channels, first.binary, first.truth
        if others := others_beside(self.path):
            verdict = "are not shards" if len(others) > 1 else "is not a shard"
            self.remarks = {"left_out": f"{', '.join(others)}, which {verdict}"}
        recipe = self.recipe or BallsConfig()  # without a recipe, no clips belong together
        self.ranges = [shard_ranges(self.parts, recipe, len(names), name.shard) for name in names]
        for shard, ranges in zip(self.shards, self.ranges, strict=True):
            clips = {part: len(addresses) for part, addresses in ranges.items()}
            self._require(shard.parts == clips, f"hold {clips} clips in {shard.path.name}", shard.parts)

    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Frames (B, T, H, W, C) uint8 of some clips."""
        self.check_clips(part, start, stop)
        return _joined([file.read_frames(part, *places) for file, *places in self._files_of(part, start, stop)])

    def read_window(self, part: str, clip: int, start: int, stop: int) -> np.ndarray:
        """Frames (T, H, W, C) uint8 of one clip from `start` up to `stop`; no other chunks are unpacked."""
        clip = self.check_clip(part, clip)
        self.check_window(start, stop)
        [(file, place, _)] = self._files_of(part, clip, clip + 1)
        return file.read_window(part, place, start, stop)

    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        """(B, T, ...) or, for objects/… and labels/…, (B, ...): one kind of truth about some clips."""
        self.check_clips(part, start, stop)
        return _joined([file.read(part, name, *places) for file, *places in self._files_of(part, start, stop)])

    def clip(self, part: str, index: int) -> Clip:
        """A clip with its truth."""
        index = self.check_clip(part, index)
        [(file, place, _)] = self._files_of(part, index, index + 1)
        return file.clip(part, place)

    def files(self) -> list[Path]:
        """The shards' paths."""
        return [shard.path for shard in self.shards]

    def fingerprint(self) -> str:
        """SHA-256 of the fingerprints of all shards, in order, in hexadecimal."""
        return hashlib.sha256("".join(self._use(shard).fingerprint() for shard in self.shards).encode()).hexdigest()

    def close(self) -> None:
        """Let go of the files; the next use opens them again."""
        for shard in self.shards:
            shard.close()
        self._used.clear()

    def _use(self, shard: ClipFile) -> ClipFile:
        """The shard, to be read before the next is used: the one not used for longest is closed if they are many."""
        self._used.pop(shard, None)
        self._used[shard] = None
        if len(self._used) > _OPEN:
            oldest = next(iter(self._used))
            oldest.close()
            del self._used[oldest]
        return shard

    def _files_of(self, part: str, start: int, stop: int) -> Iterator[tuple[ClipFile, int, int]]:
        """The shards that hold the clips from `start` up to `stop`, and from where up to where in each."""
        for shard, ranges in zip(self.shards, self.ranges, strict=True):
            if part in ranges:
                mine = ranges[part]
                first, last = max(start, mine.start), min(stop, mine.stop)
                if first < last:
                    yield self._use(shard), first - mine.start, last - mine.start

    def _check_names(self, names: list[ShardName]) -> None:
        sets = sorted({f"{name.name} in {name.shards}" for name in names})
        self._require(len(sets) == 1, "hold the shards of one set", " and ".join(sets))
        there, shards = [name.shard for name in names], names[0].shards
        missing = [str(names[0]._replace(shard=shard)) for shard in range(shards) if shard not in there]
        self._require(not missing, f"hold all {shards} shards", f"none called {' '.join(missing)}")
        self._require(len(there) == shards, f"hold {shards} shards, counted from 0", str(names[-1]))

    def _check_shard(self, shard: ClipFile, name: ShardName) -> None:
        """Complain of a shard that is not the one that its name says, or of another set than the first."""
        number = shard.attributes.get("shard"), shard.attributes.get("shards")
        must = f"hold shard {name.shard} of {name.shards} in {name}"
        self._require(number == (name.shard, name.shards), must, f"shard {number[0]} of {number[1]}")
        for kind in _ALIKE:
            mine, theirs = (file.attributes.get(kind) for file in (shard, self.shards[0]))
            self._require(
                mine == theirs,
                f"hold shards of one {kind}, as in {self.shards[0].path.name}, {theirs}",
                f"{mine} in {name}",
            )

    def _require(self, condition: bool, must: str, got: Any) -> None:
        check.require_sound(condition, "DATA", must, f"{got} in {self.path}", _FIX)


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
