"""From a figure of a paper to the commands that make it. Light."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from videopred.command_lines import Words
from videopred.datasets import DATASETS
from videopred.experiments import find_experiment
from videopred.experiments.asking import Asked, ask_by_name, fitting
from videopred.experiments.figures import Model, PaperFigure, PaperPanel
from videopred.experiments.scales import at_scale
from videopred.experiments.settings import ExperimentConfig, Scale
from videopred.run_files import run_name, run_of


class Training(NamedTuple):
    """A run that a figure needs, or runs from several seeds."""

    asked: Asked
    flags: Words
    """What changes the experiment."""
    run: Path
    """Its folder."""
    words: Words
    """What trains it from the beginning."""
    go_on: Words
    """What trains it to the end if it was begun, and else leaves it as it is."""
    seeds: tuple[int, ...] = ()
    """Of the runs in that folder; none if it is a run itself."""


class Plan(NamedTuple):
    """What makes a figure, in this order."""

    clips: dict[Path, ExperimentConfig]
    """Data file -> an experiment at its scale, whose clips it holds."""
    trainings: list[Training]
    judging: list[Words]
    shown: list[Path]
    """Folders that hold the figure itself."""


class _How(NamedTuple):
    """How a figure is made."""

    scale: Scale
    out: Path
    """Folder for scores and pictures."""
    where: Words
    """Words for the device."""
    seeds: tuple[int, ...]


def make_plan(figure: PaperFigure, scale: Scale, out: Path, device: str = "auto", seeds: tuple[int, ...] = ()) -> Plan:
    """What makes a figure again.

    Args:
        figure: which one.
        scale: of all experiments in it.
        out: folder for scores and pictures.
        device: where all is computed.
        seeds: from which each model is trained; none is once, from the usual one. Of several, scores are of all runs,
            and pictures of those from the first.
    """
    panels = figure.panels
    models = dict.fromkeys(model for panel in panels for model in panel.models)
    clips = [
        *(ask_by_name(model.experiment, scale).scaled for model in models),
        *(_clips(panel, scale) for panel in panels),
    ]
    how = _How(scale, out, () if device == "auto" else ("--device", device), seeds)
    # Short clips leave panels that differ in their horizon alike: each command is there once.
    judging = list(dict.fromkeys(words for panel in panels for words in _judge(panel, how)))
    shown = [out]
    if figure.together:
        together = _together(figure, how)
        judging, shown = [*judging, *together.values()], [*together]
    return Plan({of.data_file: of for of in clips}, [_train(model, how) for model in models], judging, shown)


def _clips(panel: PaperPanel, scale: Scale) -> ExperimentConfig:
    """The experiment of a panel's clips at a scale, or one that has those of a preset in their place."""
    experiment = find_experiment(panel.clips)
    if panel.preset:
        recipe, clips = DATASETS[panel.preset].recipe, {"test": experiment.clips["test"]}
        experiment = experiment.model_copy(update={"data": panel.preset, "recipe": recipe, "clips": clips})
    return at_scale(experiment, scale)


def _label(model: Model, scale: Scale) -> str:
    return f"{ask_by_name(model.experiment, scale).label}{model.suffix}"


def _run(model: Model, how: _How) -> Path:
    """The folder of a run, or of those from several seeds."""
    return Path("models") / f"{_label(model, how.scale)}{'-seeds' if how.seeds else ''}"


def _drawn_run(model: Model, how: _How) -> Path:
    """The run that pictures are of."""
    run = _run(model, how)
    return run_of(run, how.seeds[0]) if how.seeds else run


def _span(panel: PaperPanel, scale: Scale) -> tuple[int, int]:
    """Frames given and imagined, as far as clips of that scale are long enough."""
    return fitting(panel.context, panel.horizon, _clips(panel, scale).recipe.frames)


def _place(panel: PaperPanel, how: _How) -> Path:
    """Where pictures of a panel go."""
    return how.out / f"{_label(panel.models[0], how.scale)}-on-{_clips(panel, how.scale).data}"


def _scores(panel: PaperPanel, how: _How) -> str:
    """Where the scores of a panel go."""
    return f"{_place(panel, how)}-{_span(panel, how.scale)[1]}"


def _train(model: Model, how: _How) -> Training:
    run, asked = _run(model, how), ask_by_name(model.experiment, how.scale)
    seeds = ("--seeds", ",".join(map(str, how.seeds))) if how.seeds else ()
    words = ("train", model.experiment, "--scale", how.scale, *model.flags, *seeds, "--out", str(run), *how.where)
    # The clips are where they should be; where they were, the run says, and the whole folder may have been moved since.
    go_on = ("train", str(asked.scaled.data_file), "--resume", str(run), *how.where)
    return Training(asked, model.flags, run, words, go_on, how.seeds)


def _judge(panel: PaperPanel, how: _How) -> list[Words]:
    """The commands that make a panel of trained models."""
    scale, where = how.scale, how.where
    data, runs = str(_clips(panel, scale).data_file), [str(_run(model, how)) for model in panel.models]
    if panel.plausibility:
        place: Words = ("--out", str(how.out), "--overwrite")
        return [("plausibility", *runs, data, *_names([panel], how), "--aggregates", "mean", *place, *where)]
    context, horizon = _span(panel, scale)
    asked: Words = ("--context", str(context), "--horizon", str(horizon))
    if panel.one_step:
        asked += ("--feedback", "true")
    if panel.preset:  # such clips have no training part to calibrate the trivial baselines
        asked += ("--reference", str(ask_by_name(panel.clips, scale).scaled.data_file))
    commands: list[Words] = []
    if panel.metrics:
        folder = _scores(panel, how)
        commands = [
            ("evaluate", *runs, data, *asked, *where, "--metrics", *panel.metrics, "--out", folder, "--overwrite"),
            _compare([panel], how, [folder], folder),
        ]
    if panel.figure:
        drawn: Words = (*where, "--figure", panel.figure, *panel.drawn)
        shown = {run_name(run): str(run) for run in (_drawn_run(model, how) for model in panel.models)}
        called = [f"{run}={model.name}" for run, model in zip(shown, panel.models, strict=True)]
        names = ("--names", *called) if len(called) > 1 else ()
        place = ("--out", str(_place(panel, how)), "--overwrite")
        commands.append(("render", *shown.values(), data, *asked, *drawn, *names, *place))
    return commands


def _together(figure: PaperFigure, how: _How) -> dict[Path, Words]:
    """Folder -> the command that lays panels that were asked the same side by side in it."""
    asked: dict[int, list[PaperPanel]] = {}
    for panel in figure.panels:
        asked.setdefault(_span(panel, how.scale)[1], []).append(panel)
    drawn = ("--curves",) if figure.together == "curves" else ()
    places = {how.out / f"all-{horizon}": panels for horizon, panels in asked.items()}
    return {
        place: _compare(panels, how, [_scores(panel, how) for panel in panels], str(place), drawn)
        for place, panels in places.items()
    }


def _compare(panels: Sequence[PaperPanel], how: _How, folders: Sequence[str], place: str, drawn: Words = ()) -> Words:
    """The command that holds the models of some panels against each other, under the names that the figure has."""
    first = panels[0]
    against = () if first.relative_to is None else ("--relative-to", first.models[first.relative_to].name)
    return ("compare", *dict.fromkeys(folders), *_names(panels, how), *against, *drawn, "--out", place, "--overwrite")


def _names(panels: Sequence[PaperPanel], how: _How) -> Words:
    """The words that call runs as the figure does."""
    named = [f"{_run(model, how).name}={model.name}" for panel in panels for model in panel.models]
    return ("--names", *dict.fromkeys(named))
