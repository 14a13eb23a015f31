"""The command that makes a figure of a paper again."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from videopred import check, check_path, flags
from videopred.command_lines import Words, generate_words
from videopred.commands import terminal
from videopred.commands.options import Device, out_flag
from videopred.commands.training import train
from videopred.experiments.figures import find_figure
from videopred.experiments.planning import Plan, Training, make_plan
from videopred.experiments.scales import changes
from videopred.experiments.settings import ExperimentConfig, Scale
from videopred.flags import model_flags
from videopred.interrupt import stop_if_lost
from videopred.printable import printable
from videopred.run_files import SUMMARY
from videopred.training.places import is_unbegun, runs_of, seeds_of
from videopred.typed_commands import typed_command

if TYPE_CHECKING:
    from videopred.checkpoint import ExperimentRecord, RunConfig


def reproduce(
    figure: Annotated[Positional[str], arg(metavar="FIGURE", help="One of `videopred list figures`.")],
    *,
    scale: Annotated[Scale, arg(help="Size of its experiments: as published, for a laptop, for a test.")] = "paper",
    out: Annotated[
        Path | None, out_flag("Folder for scores and pictures; default: eval/<figure>, and -<scale>, -seeds behind it.")
    ] = None,
    seeds: Annotated[
        str | None,
        arg(metavar="0,1,2", help="Train each model from each seed: scores over all, pictures of the first."),
    ] = None,
    device: Device = "auto",
    dry_run: Annotated[bool, arg(help="Only print the commands, as a script for a shell.")] = False,
) -> None:
    """Reproduce a figure or table of a paper: clips, runs, scores and pictures.

    It prints each command and runs it. Clips and runs that are there are used, and runs that stopped go on; scores and
    pictures are made anew. Under the same names, runs of other experiments, scales, clips or flags are refused.
    """
    name, of = find_figure(figure)
    chosen = () if seeds is None else _several(seeds)
    if dry_run:  # elsewhere, perhaps
        check.device_kind(device)
    else:
        from videopred.device import pick_device

        pick_device(device)
    endings = ("" if scale == "paper" else scale, "seeds" if chosen else "")
    place = out or Path("eval") / "-".join(filter(None, (name, *endings)))
    check.require(
        place.is_dir() or not place.exists(), "--out", "be a folder", f"{place}, a file", "choose another name"
    )
    if not dry_run:  # it takes new files, which come after all training
        check_path.absent("--out", place / "scores", overwrite=True, folder=True)
    plan = make_plan(of, scale, place, device, chosen)
    comment = "# " if dry_run else ""
    if dry_run:
        print("set -e")  # of the script: it ends where a command fails
    print(f"{comment}{of.place}: {of.summary}")
    if of.differs:
        print(f"{comment}differs: {of.differs}")
    for one in plan.trainings:
        _check_runs(one)
    if dry_run:
        for words in (*_generating(plan), *map(_training, plan.trainings), *plan.judging):
            print(typed_command(words))
        return
    _find_or_make_clips(plan)
    for one in plan.trainings:
        words, begun = _training(one), _is_there(one.run)
        try:
            _do(words)
        except FileExistsError:
            if begun or not _is_there(one.run):
                raise
            must, got = "be trained by one command at a time", "a run that another began meanwhile"
            fix = "wait for it, and give this command again to continue the figure"
            raise check.FailedError(check.complaint(str(one.run), must, got, fix)) from None
    for words in plan.judging:
        _do(words)
    print(f"\nin {printable(' and '.join(map(str, plan.shown)))}: {of.place}")


def _several(words: str) -> tuple[int, ...]:
    """The seeds asked for."""
    seeds = flags.seeds(words)
    check.each_once("--seeds", seeds, "give each seed once")
    check.require(len(seeds) > 1, "--seeds", "be two at least", words, "leave it out to train each model once")
    return seeds


def _find_or_make_clips(plan: Plan) -> None:
    """See that all clips of a plan are there; absent ones are made only when runs fit those that are there."""
    from videopred.experiments.clips import find_or_make_clips

    for are_there in (True, False):
        clips = {path: experiment for path, experiment in plan.clips.items() if path.exists() is are_there}
        for path, experiment in clips.items():
            find_or_make_clips(experiment, progress=terminal.watched(), others=False)
            if are_there:
                print(f"{path} exists and is used as it is", file=sys.stderr)
        runs = [one for one in plan.trainings if one.asked.scaled.data_file in clips]
        _check_learned_from(runs)


def _generating(plan: Plan) -> list[Words]:
    """The commands that make the clips of a plan which are not there."""
    absent = {path: of for path, of in plan.clips.items() if not path.exists()}
    return [generate_words(of.recipe, of.clips, seed=0, out=str(path)) for path, of in absent.items()]


def _training(one: Training) -> Words:
    """The command that trains a run of a plan, or goes on with it."""
    return one.go_on if _runs(one) else one.words


def _do(words: Words) -> None:
    """Print a command and run it."""
    from videopred.cli import run  # which imports this module

    print(f"\n$ {typed_command(words)}", flush=True)
    try:
        with terminal.going_on():
            run(list(words))
        stop_if_lost()  # of a training that was over
    except KeyboardInterrupt as interrupt:
        said = str(interrupt) or "what is saved is whole"
        raise KeyboardInterrupt(f"{said}; give this command again to continue the figure") from None


def _is_there(run: Path) -> bool:
    return run.exists() and not is_unbegun(run)


def _runs(training: Training) -> list[Path]:
    """The runs of a training that are there."""
    return [run for run in runs_of(training.run) if _is_there(run)]


def _check_runs(training: Training) -> None:
    """Refuse runs that are there and are of something else, from other seeds, or damaged."""
    if not _is_there(training.run):
        return
    several = (training.run / SUMMARY).is_file()
    there = seeds_of(training.run) if several else []
    got = f"runs from {_seeds_told(there)}" if several else "no runs from several seeds"
    fits, fix = sorted(there) == sorted(training.seeds), "move it away"
    if len(there) > 1 and training.seeds:
        fix = f"give --seeds {','.join(map(str, there))}, or {fix}: all seeds of a figure are trained together"
    check.require_sound(fits, str(training.run), f"be of {_what(training)}", got, fix)
    for run in _runs(training):
        _check_run(run, training)


def _seeds_told(seeds: Sequence[int]) -> str:
    return f"the seeds {', '.join(map(str, seeds))}"


def _what(training: Training) -> str:
    """What the runs of a training are of."""
    words = f"{' '.join((training.asked.name, *training.flags))} at scale {training.asked.scale}"
    return f"{words} from {_seeds_told(training.seeds)}" if training.seeds else words


def _check_run(path: Path, training: Training) -> None:
    """Refuse a run that is of something else, or damaged."""
    from videopred.training.resuming import read_settings

    asked, must = training.asked, f"be of {_what(training)}"
    try:
        run = read_settings(path)[0]
    except (FileNotFoundError, ValueError):  # not of what may be sound and cannot be read
        got = "what holds no settings of a run"
        raise check.FaultyFileError(check.complaint(str(path), must, got, "move it away")) from None
    found = run.experiment
    if found is None:
        fits, got = False, "a run of no experiment"
    elif found.own_file:
        fits, got = False, f"a run of {found.name} from a file of its own"
    elif run.init_from is not None:
        fits, got = False, f"a run that began with the weights of {run.init_from}"
    else:
        fits = (found.name, found.scale) == (asked.name, asked.scale) and _is_flagged(run, found, training)
        got = f"a run of {found.name} at scale {found.scale}{found.own}"
    check.require(fits, str(path), must, got, "move it away")


def _is_flagged(run: "RunConfig", experiment: "ExperimentRecord", training: Training) -> bool:
    """Whether a run of an experiment is as the flags of a figure change it, and as no others do."""
    wanted = _with_flags(training)
    flagged = {*changes(training.asked.scaled, wanted), *experiment.changed}
    differing = changes(wanted, wanted.model_copy(update={"model": run.model, "training": run.training}))
    return flagged.isdisjoint(differing)


def _with_flags(training: Training) -> ExperimentConfig:
    """The experiment with the flags of a figure, read as `train` reads them: they may change more than they name."""
    words = list(training.words[1:])
    given = flags.read(model_flags.with_model_flags(train, words), "train", words)
    parts = {part: (given[f"{part}_name"], given[part]) for part in ("core", "codec", "decoder")}
    return training.asked.with_flags(model_flags.chosen_model(parts, given["stack"]), given["training"])


def _check_learned_from(trainings: Sequence[Training]) -> None:
    """Refuse runs that have learned from other clips than those that are in the place of theirs now."""
    from videopred.datasets import open_dataset
    from videopred.training.resuming import read_settings

    there: dict[Path, str] = {}
    for one in trainings:
        path, runs = one.asked.scaled.data_file, _runs(one)
        if runs and path not in there:
            with open_dataset(path) as file:
                there[path] = file.fingerprint()
        must, got = f"have learned from the clips in {path}", "a run that learned from others of that name"
        for run in runs:
            learned = read_settings(run)[0].data
            fits = learned is None or learned.sha256 == there[path]
            check.require(fits, str(run), must, got, "move it away, or put back its clips")
