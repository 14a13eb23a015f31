"""An experiment as the words of a command ask for it: its name or file, its scale, and what flags change. Light."""

import shlex
from pathlib import Path
from typing import NamedTuple, cast

from videopred import check
from videopred.eval.protocols import PROTOCOLS
from videopred.experiments import experiment_names, find_experiment, holds_experiment, read_experiment
from videopred.experiments.scales import SCALES, at_scale, changes
from videopred.experiments.settings import ExperimentConfig, Scale
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig


class Asked(NamedTuple):
    """An experiment that somebody asked for."""

    name: str
    """Its name, or that of its file."""
    scale: Scale
    """Its scale."""
    whole: ExperimentConfig
    """As it stands."""
    scaled: ExperimentConfig
    """At that scale."""

    @property
    def label(self) -> str:
        """What a run of it is called unless somebody says otherwise."""
        return self.name if self.scale == "paper" else f"{self.name}-{self.scale}"

    def told(self) -> str:
        """What the scale changed, one line for each setting; nothing for `paper`."""
        lines = [
            f"  {setting}  {_written(before)} -> {_written(after)}"
            for setting, (before, after) in changes(self.whole, self.scaled).items()
        ]
        return "\n".join([f"{self.name} at scale {self.scale}, which is not as published:", *lines]) if lines else ""

    def with_flags(self, model: PredictorConfig, training: TrainingConfig) -> ExperimentConfig:
        """The experiment with the model and the learning that the flags of a command gave.

        What scale and flags changed is no more said to be as the paper has it, or to be chosen for the reason there.
        """
        run = self.scaled.model_copy(update={"model": model, "training": training})
        stated, chosen = dict(self.whole.stated), dict(self.whole.chosen)
        for setting, (before, after) in changes(self.whole, run).items():
            noted = f"model.{setting}" if setting.startswith(("core.", "codec.", "decoder.")) else setting
            stated.pop(noted, None)
            chosen.pop(noted, None)
            if after is not None:
                chosen[noted] = f"Ours; in {self.name} it is {'not set' if before is None else _written(before)}."
        return run.model_copy(update={"stated": stated, "chosen": chosen})

    def next_commands(self, run: Path, data: Path) -> list[str]:
        """Commands that judge a run of it, or its runs from several seeds.

        Protocols are for data as published; at another scale the same is asked as far as the clips are long enough.
        """
        said = shlex.quote(str(run)) + ("/seed-*" if (run / "seeds.json").is_file() else "")
        words = f"{said} {shlex.quote(str(data))}"
        cards = [PROTOCOLS[name] for name in self.scaled.protocols[:1]]
        if cards and cards[0].protocol is None:
            return [f"videopred {cards[0].command} {words}"]
        if not cards:
            return [f"videopred evaluate {words}"]
        if self.scale == "paper":
            return [f"videopred evaluate {words} --protocol {self.scaled.protocols[0]}"]
        protocol = cards[0].protocol
        assert protocol is not None
        context, horizon = fitting(protocol.context, protocol.horizon, self.scaled.recipe.frames)
        return [f"videopred evaluate {words} --context {context} --horizon {horizon}"]


def ask(data: str, scale: str | None) -> Asked | None:
    """The experiment that DATA means, at a scale; None if it means a file, a preset or a recipe of data.

    Raises:
        ValueError: a file that does not hold what it should; no such scale.
    """
    path = Path(data)
    if data in experiment_names() and not path.exists():
        name, experiment = data, find_experiment(data)
    elif path.suffix == ".json" and holds_experiment(path):
        name, experiment = path.stem, read_experiment(path)
    else:
        return None
    chosen = cast(Scale, check.one_of("--scale", "paper" if scale is None else scale, SCALES))
    return Asked(name, chosen, experiment, at_scale(experiment, chosen))


def fitting(context: int, horizon: int, frames: int) -> tuple[int, int]:
    """As many given and imagined frames as asked for, as far as clips are long enough: at most half are given."""
    context = min(context, frames // 2)
    return context, min(horizon, frames - context)


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
