"""Which files of a data set are there already, and which are still to be made."""

from collections.abc import Sequence
from pathlib import Path

from videopred import check
from videopred.datasets.plan import Job, Target
from videopred.datasets.shards import shard_names
from videopred.datasets.store import ClipFile
from videopred.datasets.unfinished import Unfinished
from videopred.datasets.writer import SOFTWARE


def still_to_make(job: Job, mine: Sequence[Target], overwrite: bool, alone: bool) -> list[Target]:
    """The files that are still to be made: those that are missing and, with `overwrite`, those with other content.

    A shard that is just what was asked for is kept. Pieces of an unfinished file stay until the file is made, or until
    `overwrite` lets another be made in its place.

    Args:
        job: the whole set.
        mine: those of its files that this process is to make.
        overwrite: whether what is there may be replaced.
        alone: whether no other process was started together with this one.

    Raises:
        FileExistsError: something else is there or half made, or all is there already, and `overwrite` is false.
    """
    missing = _missing(job, mine, overwrite, alone)
    others = [folder for target in missing for folder in Unfinished(target).others()]
    if others and not overwrite:
        must, got = "hold no clips of another request that was stopped", f"{others[0]}, of other arguments or version"
        fix = "finish that with its own arguments, choose another name, or give --overwrite to lose them"
        raise FileExistsError(check.complaint("--out", must, got, fix))
    return missing


def _missing(job: Job, mine: Sequence[Target], overwrite: bool, alone: bool) -> list[Target]:
    """As `still_to_make`, but files that are half made are not looked at."""
    if job.shards == 1:
        check.absent("--out", job.path, overwrite)
        return list(mine)
    for stray in strays(job):
        _refuse(overwrite, f"{stray}, of another set")
    missing = []
    for target in mine:
        if not target.path.exists():
            missing.append(target)
        elif not _is_it(target):
            _refuse(overwrite, f"{target.path}, with other content")
            missing.append(target)
    if alone and not missing:
        check.absent("--out", job.path, overwrite)
    return missing


def strays(job: Job) -> list[Path]:
    """Shards in the job's folder that are not the job's; a folder with such shards cannot be read as a data set."""
    if job.shards == 1 or not job.path.is_dir():
        return []
    own = {target.path for target in job.targets()}
    return [path for path in (job.path / str(name) for name in shard_names(job.path)) if path not in own]


def _is_it(target: Target) -> bool:
    """Whether what stands at a target's path is the file asked for, made by this version."""
    try:
        file = ClipFile(target.path)
    except ValueError:  # damaged, or something else
        return False
    expected = {**target.attributes, "software": SOFTWARE}
    return all(file.attributes.get(name) == value for name, value in expected.items())


def _refuse(overwrite: bool, got: str) -> None:
    if not overwrite:
        fix = "choose another folder, or give --overwrite to replace it"
        raise FileExistsError(check.complaint("--out", "hold no shards but those asked for", got, fix))
