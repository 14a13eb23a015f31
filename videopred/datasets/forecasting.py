"""Forecasts the time and the disk that making a data set takes, from a few of its clips, before it begins."""

import errno
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from videopred import check, check_path
from videopred.amounts import counted, duration, size
from videopred.datasets.making import LocalMaker, make_file
from videopred.datasets.plan import Target
from videopred.datasets.resuming import PieceFolder
from videopred.datasets.settings import DatasetSettings
from videopred.systems import processors

_FEW, _MORE = 16, 128  # clips that are made to see how long they take
_NUMBERS = 2**26  # pixel values that are made for that at most, unless a single scene has more
_QUICK = 0.5  # seconds: if the few take less, their time says too little, and more are made
_MANY = 1280  # clips: for a smaller set only the few are made, because more would take too large a share of its time


class _Cost(NamedTuple):
    """What something takes."""

    seconds: float
    bytes: float


class Forecast(NamedTuple):
    """What a generation will take."""

    clips: int
    """Clips still to be made."""
    files: list[str]
    """Files still to be made."""
    bytes: int
    """What these files will take on disk; while one is being made, its pieces take as much as it does."""
    seconds: float
    """About how long it will take, by the clock."""
    workers: int
    lacking: str = ""
    """Why the disk has too little room; empty if it has enough."""

    def __str__(self) -> str:
        files, workers = counted(len(self.files), "file"), counted(self.workers, "worker")
        clips, time_taken = counted(self.clips, "clip"), duration(self.seconds)
        room = f"of {size(self.bytes)}" if len(self.files) == 1 else f"that take {size(self.bytes)} together"
        return f"making {clips} in {files} {room} takes about {time_taken} with {workers}"


def forecast(targets: Sequence[Target], local: LocalMaker, workers: int) -> Forecast:
    """What making some files will take, measured by making a few clips in a temporary folder.

    Args:
        targets: the files.
        local: makes these few clips, in this process.
        workers: processes that will make the files.
    """
    blocks = [block for target in targets for block in PieceFolder(target).missing()]
    clips = sum(block.stop - block.start for block in blocks)
    of_file, of_clip = _measure(targets, local) if targets else (_Cost(0, 0), _Cost(0, 0))
    seconds = len(targets) * of_file.seconds + clips * of_clip.seconds / min(workers, processors())
    total = round(len(targets) * of_file.bytes + sum(target.clips for target in targets) * of_clip.bytes)
    files = [str(target.path) for target in targets]
    return Forecast(clips, files, total, seconds, workers, _lacking(total, targets))


def _lacking(total: int, targets: Sequence[Target]) -> str:
    """A complaint if the disk has no room for what is still to be written of files with `total` bytes; else empty.

    Pieces wait beside the file that they go into, so the largest file needs its room twice.
    """
    if not targets:
        return ""
    clips = [target.clips for target in targets]
    there = sum(path.stat().st_size for target in targets for path in PieceFolder(target).path.glob("*.piece"))
    needed = total * (1 + max(clips) / sum(clips)) - there
    return check_path.lacking_room("--out", targets[0].path, needed, "files and the pieces that they are made of")


def _measure(targets: Sequence[Target], local: LocalMaker) -> tuple[_Cost, _Cost]:
    """What a file takes by itself, and what each clip takes from the recipe to the file, over a few of them.

    In a file of small clips most of what the first takes is the file's own: its index, and its beginning and end.
    """
    target, part = max(
        ((target, part) for target in targets for part in target.ranges), key=lambda pair: len(pair[0].ranges[pair[1]])
    )
    least, few, more = (min(_sample(local.recipe, some, part), len(target.ranges[part])) for some in (1, _FEW, _MORE))
    one, clips = _make(target, local, part, least), sum(map(len, _first_scenes(target, local).values()))
    if few == least:
        return _Cost(0, 0), _Cost(one.seconds / clips, one.bytes / clips)
    one = min(one, _make(target, local, part, least))  # the first file takes longer, for all that is loaded with it
    some = _make(target, local, part, few)
    if some.seconds < _QUICK and sum(target.clips for target in targets) >= _MANY:
        few, some = more, _make(target, local, part, more)
    of_clip = _Cost(*(max(0.0, (all_ - first) / (few - least)) for all_, first in zip(some, one, strict=True)))
    of_file = _Cost(*(max(0.0, first - clips * each) for first, each in zip(one, of_clip, strict=True)))
    return of_file, of_clip


def _first_scenes(target: Target, local: LocalMaker) -> dict[str, range]:
    """Part -> the clips of its first scene, or the first clip where clips do not belong together."""
    return {name: addresses[: _sample(local.recipe, 1, name)] for name, addresses in target.ranges.items()}


def _make(target: Target, local: LocalMaker, part: str, number: int) -> _Cost:
    """What a file in a temporary folder takes that has so many clips of a part of the target, and the first scene of
    each other."""
    ranges = _first_scenes(target, local) | {part: target.ranges[part][:number]}
    with _room_for_a_sample(), tempfile.TemporaryDirectory() as folder:
        sample = replace(target, path=Path(folder) / "sample.h5", ranges=ranges)
        start = time.perf_counter()
        make_file(sample, local, lambda clips: None)
        return _Cost(time.perf_counter() - start, sample.path.stat().st_size)


@contextmanager
def _room_for_a_sample() -> Iterator[None]:
    """A complaint about the folder for temporary files, and not about --out, if the sample cannot be written."""
    try:
        yield
    except OSError as error:
        known = error.__cause__ if isinstance(error.__cause__, OSError) else error
        if known.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES):
            raise
        why = known.strerror
        got, fix = f"{tempfile.gettempdir()} ({why})", "free some space there, or set TMPDIR to another folder"
        must = "be a folder with room for a few clips, which tell how long all will take"
        raise OSError(check.complaint("TMPDIR", must, got, fix)) from error


def _sample(recipe: DatasetSettings, few: int, part: str) -> int:
    """How many clips to make: a few, fewer of large ones, and whole scenes."""
    scene = recipe.clips_per_scene(part)
    return max(1, min(few, _NUMBERS // recipe.values_per_clip) // scene) * scene
