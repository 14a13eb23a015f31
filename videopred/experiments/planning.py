"""From a figure of a paper to the commands that make it. Light."""

from pathlib import Path
from typing import NamedTuple

from videopred import check
from videopred.again import Words
from videopred.datasets import DATASETS
from videopred.experiments import find_experiment
from videopred.experiments.asking import Asked, ask, fitting
from videopred.experiments.figures import PAPER_FIGURES, Model, Panel
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


def make_plan(name: str, scale: Scale, out: Path, device: str = "auto") -> Plan:
    """What makes a figure again.

    Args:
        name: one of PAPER_FIGURES.
        scale: of all experiments in it.
        out: folder for scores and pictures.
        device: where all is computed.

    Raises:
        ValueError: no such figure.
    """
    panels = PAPER_FIGURES[check.one_of("FIGURE", name, PAPER_FIGURES)].panels
    models = dict.fromkeys(model for panel in panels for model in panel.models)
    clips = [*(_asked(model.experiment, scale).scaled for model in models), *(_clips(panel, scale) for panel in panels)]
    where = () if device == "auto" else ("--device", device)
    judging = [words for panel in panels for words in _judge(panel, scale, out, where)]
    return Plan({of.data_file: of for of in clips}, [_train(model, scale, where) for model in models], judging)


def _asked(experiment: str, scale: Scale) -> Asked:
    asked = ask(experiment, scale)
    assert asked is not None, experiment
    return asked


def _clips(panel: Panel, scale: Scale) -> ExperimentConfig:
    """The experiment of a panel's clips at a scale, or one that has those of a preset in their place."""
    experiment = find_experiment(panel.clips)
    if panel.preset:
        recipe, clips = DATASETS[panel.preset].recipe, {"test": experiment.clips["test"]}
        experiment = experiment.model_copy(update={"data": panel.preset, "recipe": recipe, "clips": clips})
    return at_scale(experiment, scale)


def _label(model: Model, scale: Scale) -> str:
    return f"{_asked(model.experiment, scale).label}{model.suffix}"


def _run(model: Model, scale: Scale) -> Path:
    return Path("models") / _label(model, scale)


def _train(model: Model, scale: Scale, where: Words) -> Training:
    run = _run(model, scale)
    words = ("train", model.experiment, "--scale", scale, *model.flags, "--out", str(run), *where)
    return Training(_asked(model.experiment, scale), model.flags, run, words, ("train", "--resume", str(run), *where))


def _judge(panel: Panel, scale: Scale, out: Path, where: Words) -> list[Words]:
    """The commands that make a panel of trained models."""
    clips = _clips(panel, scale)
    data, runs = str(clips.data_file), [str(_run(model, scale)) for model in panel.models]
    places = [str(out / f"{_label(model, scale)}-on-{clips.data}") for model in panel.models]
    if panel.plausibility:
        pairs = zip(runs, places, strict=True)
        return [("plausibility", run, data, "--out", place, "--overwrite", *where) for run, place in pairs]
    context, horizon = fitting(panel.context, panel.horizon, clips.recipe.frames)
    asked: Words = ("--context", str(context), "--horizon", str(horizon))
    if panel.one_step:
        asked += ("--feedback", "true")
    if panel.preset:  # such clips have no training part to calibrate the trivial rows
        asked += ("--reference", str(_asked(panel.clips, scale).scaled.data_file))
    commands: list[Words] = []
    if panel.metrics:
        folder = f"{places[0]}-{horizon}"
        against = () if panel.relative_to is None else ("--relative-to", Path(runs[panel.relative_to]).name)
        commands = [
            ("evaluate", *runs, data, *asked, *where, "--metrics", *panel.metrics, "--out", folder, "--overwrite"),
            ("compare", folder, *against, "--out", folder, "--overwrite"),
        ]
    if panel.figure:
        drawn = (*where, "--figure", panel.figure, *panel.drawn)
        pairs = zip(runs, places, strict=True)
        commands += [("render", run, data, *asked, *drawn, "--out", place, "--overwrite") for run, place in pairs]
    return commands
