"""The same training from several seeds: runs in one folder, so that results carry a spread."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from videopred import check
from videopred.checkpoint import write_json
from videopred.models.settings import PredictorConfig
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.training.resuming import BEST, LOOKS_KEY, check_same, read_settings
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
        ValueError: no seeds, the same twice or one out of range, or several devices.
        FileExistsError: a run is there already. And what `train` raises.
    """
    training, model = training or TrainingConfig(), model or PredictorConfig()
    out = out or usual_folder(Path(data).stem, model)
    check.require(len(seeds) > 0, "--seeds", "name at least one", "none", "write e.g. --seeds 0,1,2")
    given = ",".join(map(str, seeds))
    check.require(len(set(seeds)) == len(seeds), "--seeds", "name each once", given, "leave one out")
    must, fix = "be whole numbers from 0 to 2**64 - 1", "write e.g. --seeds 0,1,2"
    check.require(all(0 <= seed < 2**64 for seed in seeds), "--seeds", must, given, fix)
    devices = 1 if compute is None else compute.devices
    check.require(devices == 1, "--devices", "be 1 with --seeds", devices, "train one after the other with --seed")
    check.absent("--out", out / "settings.json", False)
    for seed in seeds:
        check.absent("--out", out / f"seed-{seed}", overwrite)
    for number, seed in enumerate(seeds):
        chosen = training.model_copy(update={"seed": seed})
        run = out / f"seed-{seed}"
        try:
            train(data, model, chosen, out=run, compute=compute, overwrite=overwrite, **how)
        except KeyboardInterrupt as stopped:
            raise KeyboardInterrupt(f"{stopped} with this seed, `videopred train --resume {out}` with all") from None
        finally:
            if number == 0 and run.exists():  # else nothing has begun
                write_json(out / SUMMARY, {"seeds": list(seeds)})
    return _summed_up(out, seeds)


def resume_seeds(out: Path, training: TrainingConfig | None = None, **how: Any) -> Path:
    """Go on with runs from several seeds: those that stopped, then those that have not begun.

    Args:
        out: the folder of the runs.
        training: must equal that of the runs, but for the seed; None takes theirs.
        how: what else `resume` takes.
    """
    seeds = json.loads((out / SUMMARY).read_text())["seeds"]
    first, _ = read_settings(out / f"seed-{seeds[0]}")
    asked = training or first.training
    for seed in seeds:
        run, chosen = out / f"seed-{seed}", asked.model_copy(update={"seed": seed})
        if (run / "settings.json").exists():
            resume(run, training=chosen, **how)
        else:
            check_same(first, how.get("model"), asked.model_copy(update={"seed": first.training.seed}))
            also = {name: how[name] for name in ("compute", "watch", "device", "progress") if how.get(name) is not None}
            data = how.get("data") or (first.data.path if first.data else "")
            train(
                data,
                first.model,
                chosen,
                out=run,
                init_from=_path(first.init_from),
                experiment=first.experiment,
                **also,
            )
    return _summed_up(out, seeds)


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _summed_up(out: Path, seeds: Sequence[int]) -> Path:
    """Write what the runs reached: lowest validation losses, their mean and standard deviation."""
    lowest = {}
    for seed in seeds:
        content = torch.load(out / f"seed-{seed}" / "checkpoints" / BEST, map_location="cpu", weights_only=True)
        lowest[str(seed)] = content[LOOKS_KEY]["lowest"]
    values = list(lowest.values())
    spread = statistics.stdev(values) if len(values) > 1 else None
    summary = {"seeds": list(seeds), "validation": lowest, "mean": statistics.fmean(values), "deviation": spread}
    write_json(out / SUMMARY, summary)
    return out
