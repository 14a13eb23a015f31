"""Makes a data set: recipe -> states -> frames -> pieces -> HDF5 files."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from videopred import check, check_path
from videopred.datasets import make_world
from videopred.datasets.forecasting import Forecast, forecast
from videopred.datasets.making import LocalMaker, make_file
from videopred.datasets.plan import Job, Target, plan
from videopred.datasets.resuming import PieceFolder, still_to_make, strays
from videopred.datasets.settings import DatasetSettings
from videopred.datasets.workers import WorkerPool
from videopred.files import told_of
from videopred.processes import my_place

_SMALL = 4e8  # numbers in frames, those of 2000 clips of balls4, up to which a forecast costs more than it tells
_LONG = 20.0  # seconds from which on it is told


def generate(
    name: str,
    clips: Mapping[str, int],
    *,
    seed: int = 0,
    out: Path | str = "datasets",
    recipe: DatasetSettings | None = None,
    mnist: Path | str | None = None,
    shards: int = 1,
    workers: int = 1,
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Make a data set, and return the path of its file, or of its folder of shards.

    Stopped on the way and called again with the same arguments, it goes on with what is there, and says so on stderr.
    The bytes are the same for any number of workers, stopped or not. Of several processes that torchrun or srun
    started together, each makes its share of the shards.

    Args:
        name: a preset; with `recipe`, any plain name.
        clips: train, validation, test -> number of clips; parts that are left out or 0 are not in the file.
        seed: seed of the whole data set, at least 0.
        out: folder of the file `<name>.h5` or of the folder `<name>`; or the file itself if it ends in .h5.
        recipe: settings other than the preset's.
        mnist: folder with the full MNIST; the package's own digits when None.
        shards: number of files; several are `<name>/<name>-00000-of-00004.h5` and so on. Those that are there are kept
            while others are missing.
        workers: processes that make clips; 1 is this one.
        overwrite: replace what is there.
        progress: show a bar on stderr.

    Raises:
        ValueError: unknown preset or part, no clips at all, scenes broken apart, a negative number, fewer shards than
            processes, or more than clips.
        FileExistsError: something is there and `overwrite` is false.
        FileNotFoundError: `mnist` lacks a file.
        TypeError: an argument of another kind.
        OSError: a file cannot be written, or a worker died; nothing is left under its name.
        KeyboardInterrupt: somebody pressed Ctrl-C.
    """
    mnist = None if mnist is None else check_path.as_path("--mnist", mnist)
    planned = plan(name, clips, seed, check_path.as_path("--out", out), recipe, shards)
    work = _prepare(planned, mnist, workers, overwrite)
    _say_what_is_ahead(work, workers)
    total, local = sum(target.clips for target in work.missing), work.local
    try:
        with (
            tqdm(total=total, unit="clip", desc=name, disable=not progress) as bar,
            WorkerPool(workers, local.recipe, mnist, seed) if workers > 1 else nullcontext(local) as maker,
        ):
            for target in work.missing:
                make_file(target, maker, bar.update, overwrite=overwrite)
    except KeyboardInterrupt as interrupt:
        if str(interrupt) and target is work.missing[-1]:  # which is made
            raise
        raise KeyboardInterrupt("the same command continues where this one stopped") from None
    if overwrite:
        for path in strays(work.job):
            with told_of(path):
                path.unlink(missing_ok=True)
    return work.job.path


def foresee(
    name: str,
    clips: Mapping[str, int],
    *,
    seed: int = 0,
    out: Path = Path("datasets"),
    recipe: DatasetSettings | None = None,
    mnist: Path | None = None,
    shards: int = 1,
    workers: int = 1,
    overwrite: bool = False,
) -> Forecast:
    """What `generate` would take with the same arguments; makes nothing.

    Raises what `generate` would raise before it makes anything, but for a disk without room: `Forecast.lacking` says
    that.
    """
    work = _prepare(plan(name, clips, seed, out, recipe, shards), mnist, workers, overwrite)
    return forecast(work.missing, work.local, workers)


@dataclass(frozen=True)
class _Work:
    """A request that makes sense, and this process's share of it."""

    job: Job
    local: LocalMaker
    """Makes clips in this process."""
    mine: Sequence[Target]
    """Files that are this process's to make."""
    missing: Sequence[Target]
    """The ones among them that are still to be made."""


def _prepare(job: Job, mnist: Path | None, workers: int, overwrite: bool) -> _Work:
    """What is to be made; see `generate`."""
    check.whole_number("--workers", workers, 1, "give a number of processes, 1 for this one alone")
    must, fix = "be 1 for clips that are drawn in order from one stream", "leave it out"
    check.require(workers == 1 or not job.recipe.in_order, "--workers", must, workers, fix)
    place, processes = my_place()
    must, fix = f"be at least {processes}, the processes started together", "give more shards or start fewer processes"
    check.require(job.shards >= processes, "--shards", must, job.shards, fix)
    local = LocalMaker(make_world(job.recipe, mnist), job.seed)
    job = replace(job, recipe=local.recipe)  # which now names the digits
    mine = job.targets()[place::processes]
    if processes > 1:
        shares = " ".join(map(str, range(place, job.shards, processes)))
        print(f"process {place} of {processes} makes shard{'s' * (len(mine) > 1)} {shares}", file=sys.stderr)
    return _Work(job, local, mine, still_to_make(job, mine, overwrite, alone=processes == 1))


def _say_what_is_ahead(work: _Work, workers: int) -> None:
    """Tell on stderr what was made before, and what is left if that is much.

    Raises:
        OSError: there is no room for it.
    """
    asked = sum(target.clips for target in work.mine)
    absent = sum(block.stop - block.start for target in work.missing for block in PieceFolder(target).missing())
    if absent < asked:
        print(f"resuming: {asked - absent:,} of {asked:,} clips are there", file=sys.stderr)
    if absent * work.job.recipe.values_per_clip > _SMALL:
        told = forecast(work.missing, work.local, workers)
        if told.lacking:
            raise OSError(told.lacking)
        if told.seconds > _LONG:
            print(told, file=sys.stderr)
