"""The command that judges how plausible films look to a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check, check_path
from videopred.commands import terminal
from videopred.commands.naming import called, own_names, runs_and_data
from videopred.commands.opening import check_not_of_others, each_run, results, say_unfinished
from videopred.commands.options import RESULTS_HELP, Device, Json, Names, Overwrite, out_flag
from videopred.eval.file_names import COMPARED_FILES, OVER_SEEDS_FILES, PLAUSIBILITY_FILES
from videopred.eval.plausibility_settings import PlausibilityConfig
from videopred.run_files import data_name

if TYPE_CHECKING:
    from videopred.eval.plausibility_scores import PlausibilityScores

_OF_SCORES = {"part", "film_names", "resamples", "seed"}
"""Settings that mean something for scores that were made elsewhere."""


def plausibility(
    places: Annotated[
        Positional[tuple[Path, ...]],
        arg(
            metavar="RUN... DATA",
            help="Runs, exports or folders of `train --seeds`; then clips of `occlusion` or an IntPhys folder. "
            "With --scores: DATA.",
        ),
    ],
    *,
    scores: Annotated[
        Path | None, arg(help="Judge scores made elsewhere, a table (.csv) or answers, instead of a run.")
    ] = None,
    scoring: OmitArgPrefixes[PlausibilityConfig] = PlausibilityConfig(),
    names: Names = (),
    answers: Annotated[
        Path | None, arg(help="Write answers for the benchmark to this file, from the first of --aggregates.")
    ] = None,
    draw: Annotated[
        tuple[int, ...], arg(metavar="SCENE...", help="Scenes to draw, counted from 0: a PNG and a GIF of each.")
    ] = (),
    out: Annotated[Path | None, out_flag(RESULTS_HELP)] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Test whether impossible films surprise a model more than possible ones, as IntPhys does."""
    *runs, data = _places(places, scores)
    check.device_kind(device)
    _check_idle(scoring, scores, draw, device)
    check.each_once("--draw", draw)
    models = _models(runs, called(runs, names), data, out)
    several = len(models) > 1 or any(model.together for model in models)
    if answers is not None:
        _check_answers(answers, several, overwrite)
    check_path.existing("DATA", data)
    if scores is not None:
        check_path.existing_file("--scores", scores, "give a table or answers, one line per film")
    if out is not None:
        check_path.folder_for(out, PLAUSIBILITY_FILES)
    compared = (out or results(runs[0], data, len(models) - 1)) if len(models) > 1 else None
    of_scores = [out or Path("eval") / scores.stem / data_name(data)] if scores is not None else []
    summaries = [model.together / name for model in models if model.together for name in OVER_SEEDS_FILES]
    summaries += [compared / name for name in COMPARED_FILES] if compared else []
    _check_new(models, of_scores, summaries, draw, overwrite)
    if scores is not None:
        from videopred.surprise import score_file

        found = score_file(scores, data, scoring)
        paths = found.save(of_scores[0], answers=answers, overwrite=overwrite)
        terminal.print_found(found.to_dict(), paths, json_, found.table())
        return
    _check_fit(data, scoring, draw, answers)
    judging = [run for model in models for run in model.runs]
    say_unfinished(judging)
    from videopred.surprise import check_runs

    check_runs(judging, data, scoring)
    paths = []
    how = _How(device, draw, answers, overwrite, summaries)
    judged = {model.name: _judge(model, data, scoring, how, paths) for model in models}
    contents = {model.name: _content(model, judged[model.name]) for model in models}
    if compared is None:
        terminal.print_found(contents[models[0].name], paths, json_, _table(models[0], judged[models[0].name]))
        return
    from videopred.eval.plausibility_comparison import PlausibilityComparison

    comparison = PlausibilityComparison(judged)
    if comparison.labelled:
        paths += comparison.save(compared, overwrite=overwrite)
    content = {"models": contents, "comparison": comparison.to_dict()}
    terminal.print_found(content, paths, json_, comparison.table())


class _How(NamedTuple):
    """How runs are judged, and what is written besides their scores."""

    device: str
    draw: tuple[int, ...]
    answers: Path | None
    overwrite: bool
    summaries: Sequence[Path]
    """Files of what several runs give together."""


class _Model(NamedTuple):
    """A run, or the runs of a folder of seeds, and where results go."""

    name: str
    runs: dict[Path, Path]
    """Run -> folder for what it gives."""
    together: Path | None
    """Folder for what runs from several seeds give together; None for a single run."""


def _models(places: Sequence[Path], names: Sequence[str], data: Path, out: Path | None) -> list[_Model]:
    """What is judged; with --out and several models, each has a folder there."""
    models = []
    for place, name, own in zip(places, names, own_names(places), strict=True):
        runs, above = each_run([place]), out / own if out and len(places) > 1 else out
        if runs == [place]:
            models.append(_Model(name, {place: above or results(place, data)}, None))
            continue
        folders = {run: above / run.name if above else results(run, data) for run in runs}
        models.append(_Model(name, folders, above or results(place, data)))
    each = [run for model in models for run in model.runs]
    check.each_once(
        "RUN", [run.resolve() for run in each], "name each run once", "leave out what is in a folder of seeds"
    )
    folders_of_runs = [folder for model in models for folder in model.runs.values()]
    check.each_once("RUN", folders_of_runs, "have results in folders of their own", "give --out")
    return models


def _judge(
    model: _Model, data: Path, scoring: PlausibilityConfig, how: _How, paths: list[Path]
) -> list["PlausibilityScores"]:
    """Scores of each run of a model, written as soon as it is judged; adds what it writes to `paths`."""
    from videopred.checkpoint import run_settings
    from videopred.surprise import open_scenes, plausibility

    judged = []
    for run, folder in model.runs.items():
        of_run = plausibility(run, data, scoring, device=how.device, progress=terminal.watched())
        judged.append(of_run)
        before = () if paths else how.summaries  # they go with the first
        paths += of_run.save(folder, answers=how.answers, overwrite=how.overwrite, summaries=before)
        if how.draw:
            from videopred.plots.surprise_curves import draw_scenes

            films = open_scenes(data, scoring, run_settings(run).film_shape[1:])
            paths += draw_scenes(of_run, films, how.draw, folder)
    if model.together:
        from videopred.eval.plausibility_seeds import save_over_seeds

        paths += save_over_seeds(judged, model.together, overwrite=how.overwrite)
    return judged


def _table(model: _Model, judged: Sequence["PlausibilityScores"]) -> str:
    """What is printed of a model."""
    from videopred.eval.plausibility_seeds import seeds_table

    return seeds_table(judged) if model.together else judged[0].table()


def _content(model: _Model, judged: Sequence["PlausibilityScores"]) -> dict[str, Any]:
    """The same, ready for JSON."""
    from videopred.eval.plausibility_seeds import over_seeds

    if not model.together:
        return judged[0].to_dict()
    runs = {run.name: of_run.to_dict() for run, of_run in zip(model.runs, judged, strict=True)}
    return {"runs": runs, "over_seeds": over_seeds(judged)}


def _places(places: tuple[Path, ...], scores: Path | None) -> tuple[Path, ...]:
    """Runs and DATA, or DATA alone when scores are given."""
    if scores is None:
        runs, data = runs_and_data(places, ", as in `videopred plausibility models/mine datasets/occlusion.h5`")
        return (*runs, data)
    fix = "leave out RUN: --scores stands for it"
    got = " ".join(map(str, places)) or "nothing"
    check.require(len(places) == 1, "DATA", "be one path with --scores", got, fix)
    return places


def _check_idle(scoring: PlausibilityConfig, scores: Path | None, draw: tuple[int, ...], device: str) -> None:
    """Refuse what would mean nothing with scores that were made elsewhere."""
    if scores is None:
        return
    idle = [name for name, value in PlausibilityConfig() if getattr(scoring, name) != value and name not in _OF_SCORES]
    idle += ["draw"] * bool(draw) + ["device"] * (device != "auto")
    flags, fix = ", ".join(map(check.flag, idle)), "it is about a run's surprise at frames"
    check.require(not idle, flags, "be left out with --scores", "both", fix)


def _check_answers(answers: Path, several: bool, overwrite: bool) -> None:
    """Refuse answers that no benchmark takes, or in the place of a file."""
    fix = "name one of them: a benchmark takes the answers of one"
    check.require(not several, "--answers", "be left out with several runs", answers, fix)
    fix = "rename it; zip the text if a benchmark wants that"
    check.require(answers.suffix == ".txt", "--answers", "end in .txt", answers, fix)
    check_path.absent("--answers", answers, overwrite)


def _check_new(
    models: Sequence[_Model], of_scores: Sequence[Path], summaries: Sequence[Path], draw: Sequence[int], overwrite: bool
) -> None:
    """Refuse to replace results without --overwrite: of runs, of scores made elsewhere, and of several together."""
    folders = [*of_scores]
    for model in models:
        for run, folder in model.runs.items():
            check_not_of_others(folder / PLAUSIBILITY_FILES[0], [run], overwrite)
            folders.append(folder)
    names = [*PLAUSIBILITY_FILES, *(f"scene-{scene}{suffix}" for scene in draw for suffix in (".png", ".gif"))]
    for path in [*(folder / name for folder in folders for name in names), *summaries]:
        check_path.absent("--out", path, overwrite)


def _check_fit(data: Path, scoring: PlausibilityConfig, draw: Sequence[int], answers: Path | None) -> None:
    """Refuse what the films cannot give before torch is loaded."""
    from videopred.datasets.quadruplets import open_quadruplets
    from videopred.eval.answers import check_names

    films = open_quadruplets(data, part=scoring.part, every=scoring.every, film_names=scoring.film_names)
    films.check_burn_in(scoring.burn_in)
    films.check_drawn(draw)
    if answers is not None:
        check_names(films.names)
