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


class Training(NamedTuple):
    """A run that a figure needs."""

    asked: Asked
    flags: Words
    """What changes the experiment."""
    run: Path
    """Its folder."""
    words: Words
    """What trains it from the beginning."""
    go_on: Words
    """What trains it to the end if it was begun, and else leaves it as it is."""


class Plan(NamedTuple):
    """What makes a figure, in this order."""

    clips: dict[Path, ExperimentConfig]
    """Data file -> an experiment at its scale, whose clips it holds."""
    trainings: list[Training]
    judging: list[Words]
    shown: list[Path]
    """Folders that hold the figure itself."""


def make_plan(figure: PaperFigure, scale: Scale, out: Path, device: str = "auto") -> Plan:
    """What makes a figure again.

    Args:
        figure: which one.
        scale: of all experiments in it.
        out: folder for scores and pictures.
        device: where all is computed.
    """
    panels = figure.panels
    models = dict.fromkeys(model for panel in panels for model in panel.models)
    clips = [
        *(ask_by_name(model.experiment, scale).scaled for model in models),
        *(_clips(panel, scale) for panel in panels),
    ]
    where = () if device == "auto" else ("--device", device)
    # Short clips leave panels that differ in their horizon alike: each command is there once.
    judging = list(dict.fromkeys(words for panel in panels for words in _judge(panel, scale, out, where)))
    shown = [out]
    if figure.together:
        together = _together(figure, scale, out)
        judging, shown = [*judging, *together.values()], [*together]
    return Plan({of.data_file: of for of in clips}, [_train(model, scale, where) for model in models], judging, shown)


def _clips(panel: PaperPanel, scale: Scale) -> ExperimentConfig:
    """The experiment of a panel's clips at a scale, or one that has those of a preset in their place."""
    experiment = find_experiment(panel.clips)
    if panel.preset:
        recipe, clips = DATASETS[panel.preset].recipe, {"test": experiment.clips["test"]}
        experiment = experiment.model_copy(update={"data": panel.preset, "recipe": recipe, "clips": clips})
    return at_scale(experiment, scale)


def _label(model: Model, scale: Scale) -> str:
    return f"{ask_by_name(model.experiment, scale).label}{model.suffix}"


def _run(model: Model, scale: Scale) -> Path:
    return Path("models") / _label(model, scale)


def _span(panel: PaperPanel, scale: Scale) -> tuple[int, int]:
    """Frames given and imagined, as far as clips of that scale are long enough."""
    return fitting(panel.context, panel.horizon, _clips(panel, scale).recipe.frames)


def _place(panel: PaperPanel, scale: Scale, out: Path) -> Path:
    """Where pictures of a panel go."""
    return out / f"{_label(panel.models[0], scale)}-on-{_clips(panel, scale).data}"


def _scores(panel: PaperPanel, scale: Scale, out: Path) -> str:
    """Where the scores of a panel go."""
    return f"{_place(panel, scale, out)}-{_span(panel, scale)[1]}"


def _train(model: Model, scale: Scale, where: Words) -> Training:
    run, asked = _run(model, scale), ask_by_name(model.experiment, scale)
    words = ("train", model.experiment, "--scale", scale, *model.flags, "--out", str(run), *where)
    # The clips are where they should be; where they were, the run says, and the whole folder may have been moved since.
    go_on = ("train", str(asked.scaled.data_file), "--resume", str(run), *where)
    return Training(asked, model.flags, run, words, go_on)


def _judge(panel: PaperPanel, scale: Scale, out: Path, where: Words) -> list[Words]:
    """The commands that make a panel of trained models."""
    clips = _clips(panel, scale)
    data, runs = str(clips.data_file), [str(_run(model, scale)) for model in panel.models]
    place = str(_place(panel, scale, out))
    if panel.plausibility:
        names = _names([panel], scale)
        return [("plausibility", *runs, data, *names, "--aggregates", "mean", "--out", str(out), "--overwrite", *where)]
    context, horizon = _span(panel, scale)
    asked: Words = ("--context", str(context), "--horizon", str(horizon))
    if panel.one_step:
        asked += ("--feedback", "true")
    if panel.preset:  # such clips have no training part to calibrate the trivial baselines
        asked += ("--reference", str(ask_by_name(panel.clips, scale).scaled.data_file))
    commands: list[Words] = []
    if panel.metrics:
        folder = _scores(panel, scale, out)
        commands = [
            ("evaluate", *runs, data, *asked, *where, "--metrics", *panel.metrics, "--out", folder, "--overwrite"),
            _compare([panel], scale, [folder], folder),
        ]
    if panel.figure:
        drawn: Words = (*where, "--figure", panel.figure, *panel.drawn)
        names = _names([panel], scale) if len(runs) > 1 else ()
        commands.append(("render", *runs, data, *asked, *drawn, *names, "--out", place, "--overwrite"))
    return commands


def _together(figure: PaperFigure, scale: Scale, out: Path) -> dict[Path, Words]:
    """Folder -> the command that lays panels that were asked the same side by side in it."""
    asked: dict[int, list[PaperPanel]] = {}
    for panel in figure.panels:
        asked.setdefault(_span(panel, scale)[1], []).append(panel)
    how = ("--curves",) if figure.together == "curves" else ()
    places = {out / f"all-{horizon}": panels for horizon, panels in asked.items()}
    return {
        place: _compare(panels, scale, [_scores(panel, scale, out) for panel in panels], str(place), how)
        for place, panels in places.items()
    }


def _compare(panels: Sequence[PaperPanel], scale: Scale, folders: Sequence[str], place: str, how: Words = ()) -> Words:
    """The command that holds the models of some panels against each other, under the names that the figure has."""
    first = panels[0]
    against = () if first.relative_to is None else ("--relative-to", first.models[first.relative_to].name)
    return ("compare", *dict.fromkeys(folders), *_names(panels, scale), *against, *how, "--out", place, "--overwrite")


def _names(panels: Sequence[PaperPanel], scale: Scale) -> Words:
    """The words that call runs as the figure does."""
    named = [f"{_run(model, scale).name}={model.name}" for panel in panels for model in panel.models]
    return ("--names", *dict.fromkeys(named))
