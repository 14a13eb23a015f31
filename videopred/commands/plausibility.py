"""The command that judges how plausible films look to a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.opening import check_not_of_others, each_run, results
from videopred.commands.options import Device, Json, Overwrite, out_flag
from videopred.eval.file_names import OVER_SEEDS_FILES, PLAUSIBILITY_FILES
from videopred.eval.plausibility_settings import PlausibilityConfig

if TYPE_CHECKING:
    from videopred.eval.plausibility_scores import PlausibilityScores

_OF_SCORES = {"part", "names", "resamples", "seed"}
"""Settings that mean something for scores that were made elsewhere."""


def plausibility(
    places: Annotated[
        Positional[tuple[Path, ...]],
        arg(
            metavar="[RUN] DATA",
            help="Run or folder of `train --seeds`; clips of `occlusion` or an IntPhys folder. With --scores: DATA.",
        ),
    ],
    *,
    scores: Annotated[
        Path | None, arg(help="Judge scores made elsewhere, a table (.csv) or answers, instead of a run.")
    ] = None,
    scoring: OmitArgPrefixes[PlausibilityConfig] = PlausibilityConfig(),
    answers: Annotated[
        Path | None, arg(help="Write answers for the benchmark to this file, from the first of --aggregates.")
    ] = None,
    draw: Annotated[
        tuple[int, ...], arg(metavar="SCENE", help="Scenes to draw, counted from 0: a PNG and a GIF of each.")
    ] = (),
    out: Annotated[Path | None, out_flag("Folder; default: eval/<run>/<data>.")] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Test whether impossible films surprise a model more than possible ones, as IntPhys does."""
    *runs, data = _places(places, scores)
    check.device_kind(device)
    _check_idle(scoring, scores, draw, device)
    check.require(len(set(draw)) == len(draw), "--draw", "name each scene once", draw, "leave one out")
    of_seeds = each_run(runs)
    several = of_seeds != runs
    if answers is not None:
        _check_answers(answers, several, overwrite)
    check.existing("DATA", data)
    if scores is not None:
        check.existing_file("--scores", scores, "give a table or answers, one line per film")
    if out is not None:
        check.folder_for("--out", out, PLAUSIBILITY_FILES)
    folders, together = _folders(runs, of_seeds, scores, data, out)
    for run, folder in zip(of_seeds, folders, strict=False):  # scores made elsewhere are of no run
        check_not_of_others(folder / PLAUSIBILITY_FILES[0], [run], overwrite)
    _check_out(folders, together, draw, overwrite)
    if scores is None:
        _check_fit(data, scoring, draw, answers)
    from videopred import surprise

    if scores is not None:
        found = [surprise.score_file(scores, data, scoring)]
        paths = found[0].save(folders[0], answers=answers, overwrite=overwrite)
    else:
        found, paths = [], []
        for run, folder in zip(of_seeds, folders, strict=True):
            of_run, films = surprise.judge_run(run, data, scoring, device=device, progress=terminal.watched())
            found.append(of_run)
            paths += of_run.save(folder, answers=answers, overwrite=overwrite)
            if draw:
                from videopred.plots import surprise_curves

                paths += surprise_curves.draw_scenes(of_run, films, draw, folder)
        if together:
            from videopred.eval.plausibility_seeds import save_over_seeds

            paths += save_over_seeds(found, together, overwrite=overwrite)
    _tell(found, of_seeds if several else (), paths, json_)


def _tell(found: Sequence["PlausibilityScores"], of_seeds: Sequence[Path], paths: Sequence[Path], json_: bool) -> None:
    """Print the scores of a run, or those of runs from several seeds together, and what was written."""
    from videopred.eval.plausibility_seeds import over_seeds, seeds_table

    if not json_:
        print(seeds_table(found) if of_seeds else found[0].table(), end="\n\n")
        terminal.print_files(paths, False)
        return
    content = found[0].to_dict()
    if of_seeds:
        runs = {run.name: of_run.to_dict() for run, of_run in zip(of_seeds, found, strict=True)}
        content = {"runs": runs, "over_seeds": over_seeds(found)}
    terminal.print_json(content | {"files": [str(path) for path in paths]})


def _places(places: tuple[Path, ...], scores: Path | None) -> tuple[Path, ...]:
    """RUN and DATA, or DATA alone when scores are given."""
    given = " ".join(map(str, places)) or "nothing"
    if scores is None:
        fix = "give a run folder and films, as in `videopred plausibility models/mine datasets/occlusion.h5`"
        check.require(len(places) == 2, "RUN and DATA", "be two paths", given, fix)
    else:
        fix = "leave out RUN: --scores stands for it"
        check.require(len(places) == 1, "DATA", "be one path with --scores", given, fix)
    return places


def _folders(
    runs: Sequence[Path], of_seeds: Sequence[Path], scores: Path | None, data: Path, out: Path | None
) -> tuple[list[Path], Path | None]:
    """Where results of each run go, or those of scores made elsewhere; and those of several seeds together, if any."""
    if scores is not None:
        return [out or Path("eval") / scores.stem / data.stem], None
    if of_seeds == runs:
        return [out or results(run, data) for run in runs], None
    return [out / run.name if out else results(run, data) for run in of_seeds], out or results(runs[0], data)


def _check_idle(scoring: PlausibilityConfig, scores: Path | None, draw: tuple[int, ...], device: str) -> None:
    """Refuse what would mean nothing with scores that were made elsewhere."""
    if scores is None:
        return
    idle = [name for name, value in PlausibilityConfig() if getattr(scoring, name) != value and name not in _OF_SCORES]
    idle += ["draw"] * bool(draw) + ["device"] * (device != "auto")
    flags, fix = ", ".join(f"--{name.replace('_', '-')}" for name in idle), "it is about a run's surprise at frames"
    check.require(not idle, flags, "be left out with --scores", "both", fix)


def _check_answers(answers: Path, several: bool, overwrite: bool) -> None:
    """Refuse answers that no benchmark takes, or in the place of a file."""
    fix = "name one of its runs: a benchmark takes the answers of one"
    check.require(not several, "--answers", "be left out with a folder of seeds", answers, fix)
    fix = "rename it; zip the text if a benchmark wants that"
    check.require(answers.suffix == ".txt", "--answers", "end in .txt", answers, fix)
    check.absent("--answers", answers, overwrite)


def _check_out(folders: Sequence[Path], together: Path | None, draw: Sequence[int], overwrite: bool) -> None:
    """Refuse to replace what is in the folders of runs, or where they are judged together, without --overwrite."""
    names = [*PLAUSIBILITY_FILES, *(f"scene-{scene}{suffix}" for scene in draw for suffix in (".png", ".gif"))]
    paths = [folder / name for folder in folders for name in names]
    for path in [*paths, *(together / name for name in OVER_SEEDS_FILES if together)]:
        check.absent("--out", path, overwrite)


def _check_fit(data: Path, scoring: PlausibilityConfig, draw: Sequence[int], answers: Path | None) -> None:
    """Refuse what the films cannot give before torch is loaded."""
    from videopred.datasets.quadruplets import open_quadruplets
    from videopred.eval.answers import check_names

    films = open_quadruplets(data, part=scoring.part, every=scoring.every, names=scoring.names)
    films.check_burn_in(scoring.burn_in)
    films.check_drawn(draw)
    if answers is not None:
        check_names(films.names)
