"""The same training from several seeds: runs in one folder, so that results carry a spread."""

import json
import math
import statistics
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from videopred import check
from videopred.checkpoint import whole_checkpoint, write_json
from videopred.models.settings import PredictorConfig
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.training.resuming import LAST, LOOKS_KEY, read_settings
from videopred.training.run import resume, train, usual_folder

SUMMARY = "seeds.json"


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

    Args:
        data, model, training, compute: as for `train`; of `training`, the seed is replaced.
        seeds: each once.
        out: the folder of the runs; None is models/<data>-<core>.
        overwrite: replace runs that are there already.
        how: what else `train` takes.

    Raises:
        ValueError: no seeds, the same twice or one out of range, or several devices or machines.
        FileExistsError: a run is there already. And what `train` raises.
    """
    training, model = training or TrainingConfig(), model or PredictorConfig()
    out = out or usual_folder(Path(data).stem, model)
    check.require(len(seeds) > 0, "--seeds", "name at least one", "none", "write e.g. --seeds 0,1,2")
    given = ",".join(map(str, seeds))
    check.require(len(set(seeds)) == len(seeds), "--seeds", "name each once", given, "leave one out")
    must, fix = "be whole numbers from 0 to 2**64 - 1", "write e.g. --seeds 0,1,2"
    check.require(all(0 <= seed < 2**64 for seed in seeds), "--seeds", must, given, fix)
    _check_alone(compute)
    check.absent("--out", out / "settings.json", False)
    _check_room(out, seeds, overwrite)
    new = not (out / SUMMARY).exists()
    write_json(out / SUMMARY, {"seeds": list(seeds)})  # before the first, which may be killed
    for seed in seeds:
        chosen = training.model_copy(update={"seed": seed})
        try:
            train(data, model, chosen, out=out / f"seed-{seed}", compute=compute, overwrite=overwrite, **how)
        except KeyboardInterrupt as stopped:
            raise KeyboardInterrupt(f"{stopped} with this seed, `videopred train --resume {out}` with all") from None
        finally:
            if new and not (out / f"seed-{seeds[0]}").exists():  # nothing has begun
                (out / SUMMARY).unlink()
                with suppress(OSError):  # others have put something there
                    out.rmdir()
    return _summed_up(out, seeds)


def _check_alone(compute: ComputeConfig | None) -> None:
    """Refuse several processes, which are started once and would not be there for the next seed."""
    for flag, number in () if compute is None else (("--devices", compute.devices), ("--nodes", compute.nodes)):
        check.require(number == 1, flag, "be 1 with --seeds", number, "train one after the other with --seed")


def _check_room(out: Path, seeds: Sequence[int], overwrite: bool) -> None:
    """Refuse a folder that holds runs which would be lost, or be left behind without a summary."""
    for seed in seeds:
        check.absent("--out", out / f"seed-{seed}", overwrite)
    if not (out / SUMMARY).exists():
        return
    check.absent("--out", out / SUMMARY, overwrite)
    there = _seeds_of(out)
    must = f"name those of the runs that are there, {','.join(map(str, there))}"
    fix = "name them as well, or choose another --out"
    check.require(set(there) <= set(seeds), "--seeds", must, ",".join(map(str, seeds)), fix)


def _seeds_of(out: Path) -> list[int]:
    """The seeds of the runs in a folder, as its summary has them.

    Raises:
        ValueError: the summary is damaged.
    """
    try:
        seeds = json.loads((out / SUMMARY).read_text())["seeds"]
        return [int(seed) for seed in seeds]
    except (ValueError, KeyError, TypeError):
        fix = 'write {"seeds": [0, 1]} into it, with the numbers of the folders beside it'
        said = check.complaint(str(out / SUMMARY), "name the seeds of the runs", "something else", fix)
        raise check.FaultyFileError(said) from None


def resume_seeds(out: Path, training: TrainingConfig | None = None, **how: Any) -> Path:
    """Go on with runs from several seeds: those that stopped, then those that have not begun.

    Args:
        out: the folder of the runs.
        training: must equal that of the runs, but for the seed; None takes theirs.
        how: what else `resume` takes.

    Raises:
        ValueError: several devices or machines. And what `resume` raises.
    """
    _check_alone(how.get("compute"))
    seeds = _seeds_of(out)
    first, _ = read_settings(out / f"seed-{seeds[0]}")
    asked = training or first.training
    for seed in seeds:
        run, chosen = out / f"seed-{seed}", asked.model_copy(update={"seed": seed})
        if (run / "settings.json").exists():  # as the first surely does; it refuses settings that are not the runs'
            resume(run, training=chosen, **how)
        else:
            also = {name: how[name] for name in ("compute", "watch", "device", "progress") if how.get(name) is not None}
            data = how.get("data") or (first.data.path if first.data else "")
            train(
                data,
                first.model,
                chosen,
                out=run,
                init_from=first.init_from,
                experiment=first.experiment,
                **also,
            )
    return _summed_up(out, seeds)


def spread(out: Path) -> str:
    """What runs from several seeds reached, as one line for a terminal."""
    summary = json.loads((out / SUMMARY).read_text())
    if summary["mean"] is None:
        return "not every seed has seen a finite validation loss"
    if summary["deviation"] is None:
        return f"lowest validation loss: {summary['mean']:.6g}"
    spread = f"{summary['mean']:.6g} ± {summary['deviation']:.3g} (standard deviation)"
    return f"lowest validation loss, mean of {len(summary['seeds'])} seeds: {spread}"


def _summed_up(out: Path, seeds: Sequence[int]) -> Path:
    """Write what the runs reached: lowest validation losses, their mean and standard deviation.

    A run of which no look saw a finite loss has none, and then there is no mean.
    """
    lowest: dict[str, float | None] = {}
    for seed in seeds:
        seen = whole_checkpoint(out / f"seed-{seed}" / "checkpoints" / LAST)[LOOKS_KEY]["lowest"]
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
