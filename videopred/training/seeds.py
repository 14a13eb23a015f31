"""The same training from several seeds: runs in one folder, so that results carry a spread."""

import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from videopred import check
from videopred.amounts import counted
from videopred.checkpoint import BEST, LAST, LOOKS_KEY, DamagedCheckpointError, whole_checkpoint
from videopred.files import folders_of, told_of, write_bytes, write_json
from videopred.models.settings import PredictorConfig
from videopred.run_files import LOCK, SETTINGS, SUMMARY, run_of
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.systems import open_files_move
from videopred.training.locking import FolderLock, held
from videopred.training.places import check_room, first_of, noted_to_replace, seeds_of, to_replace, usual_folder
from videopred.training.resuming import read_settings
from videopred.training.run import resume, train
from videopred.training.stopping import TimeLimit
from videopred.typed_commands import resume_command


def train_seeds(
    data: Path | str,
    seeds: Sequence[int],
    model: PredictorConfig | None = None,
    training: TrainingConfig | None = None,
    *,
    out: Path | None = None,
    compute: ComputeConfig | None = None,
    overwrite: bool = False,
    **how: Any,
) -> Path:
    """Train once for each seed, in `<out>/seed-<n>`, and return `out` with a summary in seeds.json.

    All have one time limit together, from here on; when it is reached, no further seed is begun.

    Args:
        data, model, training, compute: as for `train`; of `training`, the seed is replaced.
        seeds: each once.
        out: the folder of the runs; None is models/<data>-<core>.
        overwrite: replace runs that are there already.
        how: what else `train` takes.

    Raises:
        ValueError: no seeds, the same twice or one out of range, several devices or machines, or another process
            trains in `out`.
        FileExistsError: a run is there already. And what `train` raises; where one seed fails, after the others.
    """
    training, model = training or TrainingConfig(), model or PredictorConfig()
    out = out or usual_folder(Path(data), model)
    check.require(len(seeds) > 0, "--seeds", "name at least one", "none", "write e.g. --seeds 0,1,2")
    check.each_once("--seeds", seeds)
    must, got, fix = "be whole numbers from 0 to 2**64 - 1", ",".join(map(str, seeds)), "write e.g. --seeds 0,1,2"
    check.require(all(0 <= seed < 2**64 for seed in seeds), "--seeds", must, got, fix)
    _check_alone(compute)
    how |= {"compute": compute, "limit": _limit_of(compute), "overwrite": overwrite}
    check_room(out, seeds, overwrite)
    with _folder_held(out) as lock:
        check_room(out, seeds, overwrite)  # another process may have been faster, and have ended

        def learn(seed: int) -> None:
            train(data, model, training.model_copy(update={"seed": seed}), out=run_of(out, seed), **how)

        again = "train again with --overwrite; runs that were replaced in vain are back" if overwrite else ""
        with _put_back_unless_begun(out, seeds[0], lock) as begun:
            # Before the first, which may be killed.
            write_json(out / SUMMARY, {"seeds": list(seeds), "to_replace": noted_to_replace(out, seeds)})
            return _one_by_one(out, seeds, how["limit"], learn, begun, again)


def _one_by_one(
    out: Path,
    seeds: Sequence[int],
    limit: TimeLimit,
    learn: Callable[[int], None],
    begun: Callable[[], bool],
    again: str = "",
) -> Path:
    """Let each seed learn, also behind one that has failed, and return their folder, summed up.

    Args:
        out: the folder of the runs.
        seeds: theirs.
        limit: the time that they have together.
        learn: trains one.
        begun: whether there is any run to go on with.
        again: how to try again what failed, if not by resuming.

    Raises:
        FailedError: some have failed; it names them, and stderr has said why. KeyboardInterrupt: somebody stopped it.
    """
    failed: list[int] = []
    for number, seed in enumerate(seeds):
        if number:
            _check_time(limit, out, number, failed, seeds)
        try:
            learn(seed)
        except KeyboardInterrupt as stopped:
            if not begun():
                raise
            raise _for_all(out, stopped) from None
        except check.FailedError as error:
            if not begun():
                raise
            with suppress(OSError):  # the log of that run has it, too
                print(f"videopred: seed {seed} has failed: {error}", file=sys.stderr)
            failed.append(seed)
    if failed:
        got = f"{out}, of which {', '.join(f'seed {seed}' for seed in failed)} failed as said above"
        fix = again or f"`{resume_command(out)}` tries again"
        fix += "; a loss that is not finite comes again: then train anew, with other settings and --overwrite"
        raise check.FailedError(check.complaint("runs from several seeds", "all be finished", got, fix))
    return _summed_up(out, seeds)


def _limit_of(compute: ComputeConfig | None) -> TimeLimit:
    return TimeLimit(None if compute is None else compute.time_limit)


def _check_time(limit: TimeLimit, out: Path, done: int, failed: Sequence[int], seeds: Sequence[int]) -> None:
    """Stop between two seeds if the time is up."""
    if said := limit.reached():
        told = f"{said}: {done - len(failed)} of {counted(len(seeds), 'seed')} are finished"
        told += f", and {', '.join(f'seed {seed}' for seed in failed)} failed" if failed else ""
        raise KeyboardInterrupt(f"{told}; continue with `{resume_command(out)}`")


def _for_all(out: Path, stopped: KeyboardInterrupt) -> KeyboardInterrupt:
    """What says how to go on with all seeds, too, where one was stopped."""
    said, resuming = str(stopped), resume_command(out)
    return KeyboardInterrupt(
        f"{said} for this seed, or `{resuming}` for all" if said else f"continue with `{resuming}`"
    )


def _written(path: Path) -> int | None:
    """When a file was written, which tells it from another of the same content; None if there is none."""
    return path.stat().st_mtime_ns if path.exists() else None


@contextmanager
def _folder_held(out: Path) -> Iterator[FolderLock]:
    """Within it the folder is there and held; new folders in which nothing is go away again if that fails."""
    with ExitStack() as made:
        with told_of(out, "folder", "--out"):
            made.enter_context(folders_of(out / SUMMARY))
        with held("--out", out) as lock:
            yield lock


@contextmanager
def _put_back_unless_begun(out: Path, first: int, lock: FolderLock) -> Iterator[Callable[[], bool]]:
    """Within it what fails leaves the folder as it was, unless the run from the first seed has begun.

    It yields what tells whether that one has.
    """
    summary = (out / SUMMARY).read_bytes() if (out / SUMMARY).exists() else None
    settings = run_of(out, first) / SETTINGS
    written_before = _written(settings)

    def begun() -> bool:
        return _written(settings) != written_before

    try:
        yield begun
    except BaseException:
        if not begun():
            _put_back(out, summary, lock)
        raise


def _put_back(out: Path, summary: bytes | None, lock: FolderLock) -> None:
    """Leave the folder as it was, with the summary of the runs that are there, or none."""
    if summary is not None:
        write_bytes(out / SUMMARY, summary)
        return
    if not open_files_move():
        lock.let_go()
    for name in (SUMMARY, LOCK):
        (out / name).unlink(missing_ok=True)


def _check_alone(compute: ComputeConfig | None) -> None:
    """Refuse several processes, which are started once and would not be there for the next seed."""
    if compute is None:
        return
    for flag, number in (("--devices", compute.devices), ("--nodes", compute.nodes)):
        check.require(number == 1, flag, "be 1 with --seeds", number, "train one after the other with --seed")


def resume_seeds(out: Path, training: TrainingConfig | None = None, **how: Any) -> Path:
    """Go on with runs from several seeds: those that stopped, and those that have not begun or not replaced an old run.

    The time limit is as for `train_seeds`.

    Args:
        out: the folder of the runs.
        training: must equal that of the runs, but for the seed; None takes theirs.
        how: what else `resume` takes.

    Raises:
        ValueError: several devices or machines, or another process trains in `out`. And what `resume` raises; where one
            seed fails, after the others.
    """
    _check_alone(how.get("compute"))
    seeds = seeds_of(out)
    with held("--resume", out):
        return _resume_held(out, seeds, training, how)


def _resume_held(out: Path, seeds: Sequence[int], training: TrainingConfig | None, how: dict[str, Any]) -> Path:
    """Do what `resume_seeds` says, while no other process can."""
    first, _ = read_settings(first_of(out))
    asked, compute = training or first.training, how.get("compute") or first.compute
    how |= {"compute": compute, "watch": how.get("watch") or first.watch, "limit": _limit_of(compute)}
    also = {name: value for name, value in how.items() if name not in ("data", "model")}

    old = to_replace(out)

    def learn(seed: int) -> None:
        run, chosen = run_of(out, seed), asked.model_copy(update={"seed": seed})
        if (run / SETTINGS).exists() and seed not in old:  # and `resume` refuses others than its own
            resume(run, training=chosen, **how)
            return
        data = how.get("data") or (first.data.path if first.data else "")
        begin: dict[str, Any] = {"init_from": first.init_from, "experiment": first.experiment, "overwrite": seed in old}
        train(data, first.model, chosen, out=run, **begin, **also)

    return _one_by_one(out, seeds, how["limit"], learn, lambda: True)


def _lowest(run: Path) -> float:
    """The lowest validation loss of a run, as its last checkpoint has it, or its best where that one is gone."""
    last, best = (run / "checkpoints" / name for name in (LAST, BEST))
    must = "be there, as the lowest validation loss of that seed is read from it"
    check.require_sound(last.is_file() or best.is_file(), str(last), must, "nothing", "put it back")
    try:
        content = whole_checkpoint(last)
    except (FileNotFoundError, DamagedCheckpointError):
        if not best.is_file():
            raise
        content = whole_checkpoint(best)
    return float(content[LOOKS_KEY]["lowest"])


def _summed_up(out: Path, seeds: Sequence[int]) -> Path:
    """Write what the runs reached: lowest validation losses, their mean and standard deviation.

    A run of which no look saw a finite loss has none, and then there is no mean.
    """
    lowest: dict[str, float | None] = {}
    for seed in seeds:
        seen = _lowest(run_of(out, seed))
        lowest[str(seed)] = seen if math.isfinite(seen) else None
    values = [value for value in lowest.values() if value is not None]
    complete = len(values) == len(seeds)
    summary = {
        "seeds": list(seeds),
        "validation": lowest,
        "mean": statistics.fmean(values) if complete else None,
        "deviation": statistics.stdev(values) if complete and len(values) > 1 else None,
    }
    write_json(out / SUMMARY, summary)
    return out
