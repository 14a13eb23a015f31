"""An experiment as the words of a command ask for it: its name or file, its scale, and what flags change. Light."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from videopred import check
from videopred.command_lines import Words
from videopred.datasets import DATASETS
from videopred.eval.protocols import FREE, PROTOCOLS
from videopred.experiments import experiment_at, experiment_names, find_experiment, holds_experiment, read_experiment
from videopred.experiments.rivals import POSITIONS, notes_without
from videopred.experiments.scales import SCALES, at_scale, changes
from videopred.experiments.settings import ExperimentConfig, Scale
from videopred.models import name_of_part, reads, with_core
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig

if TYPE_CHECKING:
    from videopred.datasets.clip_source import ClipSource


class Asked(NamedTuple):
    """An experiment that somebody asked for."""

    name: str
    """Its name, or that of its file."""
    scale: Scale
    """Its scale."""
    unscaled: ExperimentConfig
    """The experiment as it stands in its file, before it is scaled."""
    scaled: ExperimentConfig
    """At that scale."""
    own_file: bool = False
    """Whether it was read from a file of somebody's own, which may be named like a published one."""
    core: str = ""
    """Name of the core that was asked for; empty is its own."""

    @property
    def label(self) -> str:
        """What a run of it is called unless somebody says otherwise."""
        return self.name if self.scale == "paper" else f"{self.name}-{self.scale}"

    @property
    def with_asked_core(self) -> tuple[ExperimentConfig, ExperimentConfig]:
        """The experiment with the core that was asked for, before it is scaled and at its scale.

        A scale sets other values for other cores, also in what is not of the core.
        """
        own = self.unscaled.model
        model = with_core(own, self.core) if self.core else own
        if model is own:
            return self.unscaled, self.scaled
        published = self.unscaled.model_copy(update={"model": model})
        return published, at_scale(published, self.scale)

    def told(self, run: ExperimentConfig, *, own_clips: bool = True) -> str:
        """What the scale changes, unless the run changes it again, one line for each setting; and another decoder.

        Empty for `paper` with the experiment's own decoder. A core that was asked for brings its own.

        Args:
            run: the experiment with the flags of a command, which may have changed it again.
            own_clips: whether it learns from the clips of the experiment.
        """
        published, usual = self.with_asked_core
        again, of_clips = changes(usual, run), ("recipe.", "clips.")
        lines = [
            f"  {setting}  {_written(before)} -> {_written(after)}"
            for setting, (before, after) in changes(published, usual).items()
            if setting not in again and (own_clips or not setting.startswith(of_clips))
        ]
        told = [f"{self.name} at scale {self.scale}, which is not as published:", *lines] if lines else []
        own, brought = (name_of_part(of.model.decoder) for of in (self.scaled, usual))
        if own != brought == name_of_part(run.model.decoder):
            told.append(f"with core {self.core} it decodes with {brought}, not {own}; --decoder {own} keeps that")
        return "\n".join(told)

    def with_flags(self, model: PredictorConfig, training: TrainingConfig) -> ExperimentConfig:
        """The experiment with the model and the learning that the flags of a command gave.

        What scale and flags changed is no more said to be as the paper has it, or to be chosen for the reason there. Of
        a core, codec or decoder of another kind, only the kind is told; the summary names another core.
        """
        run = self.scaled.model_copy(update={"model": model, "training": training})
        changed = changes(self.unscaled, run)
        replaced = tuple(setting.removesuffix(".kind") for setting in changed if setting.endswith(".kind"))
        gone = [f"model.{part}" for part in replaced] + ([] if reads(model.core) == "map" else [POSITIONS])
        stated, chosen = notes_without(self.unscaled.stated, *gone), notes_without(self.unscaled.chosen, *gone)
        for setting, (before, after) in changed.items():
            if setting.startswith(replaced) and not setting.endswith(".kind"):
                continue
            noted = f"model.{setting}" if setting.startswith(("core.", "codec.", "decoder.")) else setting
            stated.pop(noted, None)
            chosen.pop(noted, None)
            if after is not None:
                chosen[noted] = f"Ours; in {self.name} it is {'not set' if before is None else _written(before)}."
        summary, core = self.unscaled.summary, name_of_part(model.core)
        if core != name_of_part(self.unscaled.model.core):
            summary = f"{summary.partition(', with core ')[0].removesuffix('.')}, with core {core}."
        return run.model_copy(update={"summary": summary, "stated": stated, "chosen": chosen})

    def next_command(self, run: Path, data: Path, clips: "ClipSource | None" = None) -> Words:
        """The command that judges a run of it, or its runs from several seeds.

        Protocols are for data as published; of other clips the same is asked, as far as they are long enough.

        Args:
            run: the run, or the folder of runs.
            data: the file of clips, as it is to be typed.
            clips: what is in it; None: those of the experiment.
        """
        judged = (str(run), str(data))
        if not self.scaled.protocols:
            return ("evaluate", *judged)
        card, recipe = PROTOCOLS[self.scaled.protocols[0]], clips.recipe if clips else self.scaled.recipe
        protocol = card.protocol
        if protocol is None:
            of_that_world = isinstance(recipe, type(self.scaled.recipe))
            return (card.command if of_that_world else "evaluate", *judged)
        frames = clips.frames if clips else self.scaled.recipe.frames
        context, horizon = fitting(protocol.context, protocol.horizon, frames)
        as_published = recipe is not None and any(
            not recipe.differing(DATASETS[name].recipe, FREE) for name in card.datasets
        )
        if as_published and (context, horizon) == (protocol.context, protocol.horizon):
            return ("evaluate", *judged, "--protocol", self.scaled.protocols[0])
        return ("evaluate", *judged, "--context", str(context), "--horizon", str(horizon))


def ask(data: str, scale: str | None, core: str = "") -> Asked | None:
    """The experiment that DATA means, at a scale; None if it means a file, a preset or a recipe of data.

    A name means the experiment, unless data of that name lies there; a run may.

    Args:
        data: the word that a command got.
        scale: one of SCALES; None is paper.
        core: name of the core that was asked for; empty is the experiment's.

    Raises:
        ValueError: a file that does not hold what it should; no such scale.
    """
    path = Path(data)
    if data in experiment_names() and not (path.is_file() or any(path.glob("*.h5"))):
        return ask_by_name(data, scale)._replace(core=core)
    if path.suffix == ".json" and holds_experiment(path):
        experiment, chosen = read_experiment(path), _scale(scale)
        return Asked(path.stem, chosen, experiment, at_scale(experiment, chosen), own_file=True, core=core)
    return None


def ask_by_name(name: str, scale: str | None) -> Asked:
    """The experiment of a name, at a scale.

    Raises:
        ValueError: no experiment has that name; no such scale.
    """
    chosen = _scale(scale)
    return Asked(name, chosen, find_experiment(name), experiment_at(name, chosen))


def _scale(scale: str | None) -> Scale:
    return cast(Scale, check.one_of("--scale", "paper" if scale is None else scale, SCALES))


def fitting(context: int, horizon: int, frames: int) -> tuple[int, int]:
    """As many given and imagined frames as asked for; where clips are too short for both, all their frames are used.

    At most half of them are given then, or all but the horizon.
    """
    if context + horizon > frames:
        horizon = min(horizon, frames - min(context, frames // 2))
        context = frames - horizon
    return context, horizon


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
