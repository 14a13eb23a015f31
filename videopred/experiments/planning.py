"""From a figure of a paper to the commands that make it. Light."""

from pathlib import Path
from typing import NamedTuple

from videopred import check
from videopred.experiments.asking import Asked, ask, fitting
from videopred.experiments.figures import PAPER_FIGURES, Model, Panel
from videopred.experiments.settings import ExperimentConfig, Scale

Words = tuple[str, ...]
"""Of a command, after `videopred`."""


class Training(NamedTuple):
    """A run that a figure needs."""

    asked: Asked
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
    experiments = [*(model.experiment for model in models), *(panel.clips for panel in panels)]
    scaled = [_asked(experiment, scale).scaled for experiment in experiments]
    where = ("--device", device)
    judging = [words for panel in panels for words in _judge(panel, scale, out, where)]
    return Plan({of.data_file: of for of in scaled}, [_train(model, scale, where) for model in models], judging)


def _asked(experiment: str, scale: Scale) -> Asked:
    asked = ask(experiment, scale)
    assert asked is not None, experiment
    return asked


def _label(model: Model, scale: Scale) -> str:
    return f"{_asked(model.experiment, scale).label}{model.suffix}"


def _run(model: Model, scale: Scale) -> Path:
    return Path("models") / _label(model, scale)


def _train(model: Model, scale: Scale, where: Words) -> Training:
    run = _run(model, scale)
    words = ("train", model.experiment, "--scale", scale, *model.flags, "--out", str(run), *where)
    return Training(_asked(model.experiment, scale), run, words, ("train", "--resume", str(run), *where))


def _judge(panel: Panel, scale: Scale, out: Path, where: Words) -> list[Words]:
    """The commands that make a panel of trained models."""
    clips = _asked(panel.clips, scale).scaled
    data, runs = str(clips.data_file), [str(_run(model, scale)) for model in panel.models]
    places = [str(out / f"{_label(model, scale)}-on-{clips.data}") for model in panel.models]
    if panel.plausibility:
        pairs = zip(runs, places, strict=True)
        return [("plausibility", run, data, "--out", place, "--overwrite", *where) for run, place in pairs]
    context, horizon = fitting(panel.context, panel.horizon, clips.recipe.frames)
    asked = ("--context", str(context), "--horizon", str(horizon))
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
