"""What commands work on, checked before torch is loaded: runs and clips; and where their results go."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from videopred import check, check_path
from videopred.datasets import open_dataset
from videopred.eval.settings import FilmsConfig
from videopred.files import read_json
from videopred.run_files import SETTINGS, SUMMARY, data_name, is_seed_folder, run_name, together
from videopred.training.places import runs_of, to_replace
from videopred.typed_commands import resume_command

if TYPE_CHECKING:
    from videopred.datasets.clip_source import ClipSource


def results(run: Path, data: Path, others: int = 0) -> Path:
    """Where results of a run on a data file go unless --out says otherwise.

    Args:
        run: run folder, or export; of several, the first.
        data: the data file, or folder of shards.
        others: how many more runs are judged together with it.
    """
    return Path("eval") / run_name(run, others) / data_name(data)


def results_of_films(films: FilmsConfig, data: Path | None) -> Path:
    """The same of films made elsewhere, of which there are some; without data there are true ones."""
    truth = data or films.true
    assert truth is not None, "one of both was asked for"
    return Path("eval") / together(data_name(films.pred[0]), len(films.pred) - 1) / data_name(truth)


def check_not_of_others(file: Path, runs: Sequence[Path], overwrite: bool) -> None:
    """Refuse to write over scores of another run of that name, or of this one as it was before it was resumed.

    Args:
        file: scores or plausibility that may be there already.
        runs: which are to be told of there.
        overwrite: replace them.

    Raises:
        FileExistsError: there are such scores.
    """
    from videopred.eval.file_names import stamps_in
    from videopred.runs import run_stamp

    others = stamps_in(file).difference(map(run_stamp, runs))
    if others and not overwrite:
        fix = "name another folder, rename a run, or give --overwrite to replace them"
        raise FileExistsError(
            check.complaint("--out", "hold no scores of other runs, or of earlier states of these", file, fix)
        )


def _seed(run: Path) -> str:
    """The seed that a run was trained from."""
    return str(read_json(run / SETTINGS).get("training", {}).get("seed"))


def each_run(runs: Sequence[Path]) -> list[Path]:
    """The runs at these paths; a folder of `train --seeds` stands for the runs from all its seeds.

    Raises:
        FileNotFoundError: a path is no run. FaultyFileError: the run from a seed is missing, or still to be replaced.
    """
    found: list[Path] = []
    for run in runs:
        if not (run / SUMMARY).is_file():
            found.append(check_path.run_folder(run))
            continue
        of_seeds = runs_of(run)
        missing = [path.name for path in of_seeds if not (path / SETTINGS).is_file()]
        fix = f"`{resume_command(run)}` trains it, or give those that are there"
        must = "hold a run from each of its seeds"
        check.require_sound(not missing, "RUN", must, f"{run} without {', '.join(missing)}", fix)
        named = {path.name for path in of_seeds}
        there = {path.parent.name for path in run.glob(f"*/{SETTINGS}") if is_seed_folder(path.parent.name)}
        others = sorted(there - named)
        must, got = f"hold only runs that {SUMMARY} names", f"{run} with {', '.join(others)}"
        fix = "move them away"
        if all(_seed(run / name) == name.removeprefix("seed-") for name in others):
            fix = f"name their seeds in {run / SUMMARY} as well, or {fix}"
        check.require_sound(not others, "RUN", must, got, fix)
        old = [f"seed {seed}" for seed in to_replace(run)]
        must, got = "hold runs of one training", f"{run}, of which {', '.join(old)} must still be replaced"
        check.require_sound(not old, "RUN", must, got, f"`{resume_command(run)}` does that, or give single runs")
        found += of_seeds
    return found


def say_unfinished(runs: Sequence[Path]) -> None:
    """Say on stderr which of the runs are judged before they have learned all that was asked for; once per launch."""
    from videopred.processes import my_place
    from videopred.runs import how_far

    if my_place()[0] != 0:
        return
    for run in runs:
        if (far := how_far(run)) is not None:
            print(f"{run} is not finished: {far}", file=sys.stderr)


class Opened(NamedTuple):
    """What a command works on."""

    file: "ClipSource"
    context: int
    horizon: int


def opened(run: Path, data: Path, device: str, context: int | None, horizon: int | None) -> Opened:
    """The clips, and the context and horizon asked for, else the data's own; checked before torch is loaded."""
    check.device_kind(device)
    check_path.run_folder(run)
    file = open_dataset(data)
    asked = Opened(file, file.context if context is None else context, file.horizon if horizon is None else horizon)
    file.check_rollout(asked.context, asked.horizon)
    return asked
