"""Where runs go, and the folder of those from several seeds: whether there is room in it, and what they reached.

Nothing here loads torch, so that what is wrong is said before anything is made.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from videopred import check, check_path
from videopred.models.settings import PredictorConfig
from videopred.run_files import LOCK, LOG, PROFILE, RECORD, SETTINGS, SUMMARY, data_name, run_of
from videopred.run_record import read_record
from videopred.typed_commands import resume_command

_OF_A_RUN = (
    *(SETTINGS, RECORD, f"{RECORD}.damaged", LOCK, LOG, PROFILE, "logs/metrics.csv"),
    *(f"checkpoints/{name}.ckpt*" for name in ("best", "last", "previous", "next", "update-*")),  # and damaged ones
    *("tensorboard/*", "wandb/*"),
    *(".*.partial", "*/.*.partial", "*.DS_Store"),  # what a killed process and macOS leave
)
"""Patterns of what training puts into the folder of a run, of which a star also takes the names of folders."""


def usual_folder(data: Path, model: PredictorConfig) -> Path:
    """Where a run goes, or runs from several seeds go, unless --out says otherwise."""
    return Path("models") / f"{data_name(data)}-{model.core.label}"


def is_unbegun(out: Path) -> bool:
    """Whether a folder holds no file but a lock: it is empty, or of a training that was killed as it began."""
    return out.is_dir() and all(found.name == LOCK for found in _files_in(out))


def foreign_files(out: Path) -> list[str]:
    """What lies in the folder of a run that no training put there, such as notes or another run, by its place in it."""
    names = sorted(found.relative_to(out).as_posix() for found in _files_in(out))
    return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in _OF_A_RUN)]


def _files_in(out: Path) -> list[Path]:
    """Files and links at any depth."""
    return [found for found in out.rglob("*") if found.is_symlink() or not found.is_dir()]


def check_free(out: Path, overwrite: bool) -> None:
    """Refuse a place in which there is something, unless it is a run and overwriting was asked for.

    Raises:
        FileExistsError: a run is there, and `overwrite` is false.
        ValueError: it is no run that is there, or one in which the process stands.
    """
    if is_unbegun(out):
        return
    is_run = not out.is_dir() or any((out / name).exists() for name in (SETTINGS, RECORD))
    require_run(is_run, out)
    inside, fix = Path.cwd().is_relative_to(out.resolve()), "go to another folder first, as that one moves away"
    check.require(not (overwrite and inside), "--out", "be no folder that one is in, to be replaced", out, fix)
    if not overwrite and state_of(out) in ("running", "interrupted"):
        raise _unfinished(out, "a run that is not finished")
    check_path.absent("--out", out, overwrite, folder=True)


def state_of(run: Path) -> str | None:
    """How a run has gone, as its record says: running, interrupted, failed or finished; None if it does not say it."""
    with suppress(check.FaultyFileError):
        return read_record(run).get("state")
    return None


def _unfinished(out: Path, what: str) -> FileExistsError:
    """The complaint about a place in which a stopped training waits."""
    fix = f"`{resume_command(out)}` continues it; or choose another name, or give --overwrite to replace it"
    return FileExistsError(check.complaint("--out", "be a new path", f"{out} ({what})", fix))


def require_run(is_run: bool, out: Path) -> None:
    """Refuse to let a run take the place of what is none."""
    check.require(is_run, "--out", "be a run folder or new", out, "choose another --out; only run folders are replaced")


def check_room(out: Path, seeds: Sequence[int], overwrite: bool) -> None:
    """Refuse a folder that is a run, or holds runs which would be lost, or be left behind without a summary.

    Raises:
        FileExistsError: a run is there.
        ValueError: the folder is itself a run, or `seeds` lack some of those that are there.
    """
    must, fix = "be no run itself, as --seeds makes runs in it", "choose another --out, or move the run away"
    check.require(not (out / SETTINGS).exists(), "--out", must, out, fix)
    several = (out / SUMMARY).exists() and not all(map(is_unbegun, filter(Path.exists, runs_of(out))))
    if several and not overwrite and any(state_of(run) != "finished" for run in runs_of(out)):
        raise _unfinished(out, "runs that are not all finished")
    for seed in seeds:
        check_free(run_of(out, seed), overwrite)
    if not several:
        return
    check_path.absent("--out", out / SUMMARY, overwrite)
    there = seeds_of(out)
    must = f"name those of the runs that are there, {','.join(map(str, there))}"
    fix = "name them as well, or choose another --out"
    check.require(set(there) <= set(seeds), "--seeds", must, ",".join(map(str, seeds)), fix)


def seeds_of(out: Path) -> list[int]:
    """The seeds of the runs in a folder, as its summary has them; at least one.

    Raises:
        FaultyFileError: the summary is damaged.
    """
    return _noted(out)[0]


def runs_of(out: Path) -> list[Path]:
    """The runs at a path: those from several seeds, of which some may not be there, or the one that it is itself."""
    return [run_of(out, seed) for seed in seeds_of(out)] if (out / SUMMARY).is_file() else [out]


def _noted(out: Path) -> tuple[list[int], dict[str, str]]:
    """What a summary notes: the seeds, and which runs that were there were to be replaced, see `noted_to_replace`."""
    try:
        summary = json.loads((out / SUMMARY).read_text(encoding="utf-8"))
        seeds, old = [int(seed) for seed in summary["seeds"]], dict(summary.get("to_replace", {}))
        if not seeds:
            raise ValueError("no seeds")
        return seeds, old
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        fix = 'write {"seeds": [0, 1]} into it, with the numbers of the folders beside it'
        said = check.complaint(str(out / SUMMARY), "name the seeds of the runs", "something else", fix)
        raise check.FaultyFileError(said) from None


def noted_to_replace(out: Path, seeds: Sequence[int]) -> dict[str, str]:
    """What a summary notes of the runs that are there and are to be replaced: seed -> when each was started."""
    started = {str(seed): _started(run_of(out, seed)) for seed in seeds}
    return {seed: when for seed, when in started.items() if when is not None}


def _started(run: Path) -> str | None:
    """When a run was started, `unknown` if its record does not say; None where no run is."""
    if not (run / SETTINGS).is_file():
        return None
    try:
        return str(read_record(run).get("started", "unknown"))
    except check.FaultyFileError:
        return "unknown"


def to_replace(out: Path) -> list[int]:
    """The seeds whose runs are older than those of the other seeds, as their training was stopped before it came to
    replace them; none if it was stopped before the first had begun: then the old runs stand together.

    Raises:
        FaultyFileError: the summary is damaged.
    """
    seeds, noted = _noted(out)
    there = noted_to_replace(out, seeds)
    old = [seed for seed, started in noted.items() if there.get(seed) == started]
    begun = str(seeds[0]) in there and str(seeds[0]) not in old
    return [seed for seed in seeds if begun and str(seed) in old]


def first_of(out: Path) -> Path:
    """The first of the runs at a path that is there, whose settings hold for all; the first if none is."""
    runs = runs_of(out)
    return next((run for run in runs if (run / SETTINGS).is_file()), runs[0])


def spread(out: Path) -> str:
    """What the runs reached, as one line for a terminal."""
    summary = json.loads((out / SUMMARY).read_text(encoding="utf-8"))
    if summary["mean"] is None:
        return "not every seed has seen a finite validation loss"
    if summary["deviation"] is None:
        return f"lowest validation loss: {summary['mean']:.6g}"
    reached = f"{summary['mean']:.6g} ± {summary['deviation']:.3g} (standard deviation)"
    return f"lowest validation loss, mean of {len(summary['seeds'])} seeds: {reached}"
