"""Published experiments, whole: data, model, learning and protocol, each in a file that can be copied and edited.

`published/NAME.json` is written by hand. Derived from it by name are its rivals (NAME-lstm, NAME-gru, NAME-rmc, as
wide; NAME-lstm-matched and so on, with as many parameters) and, of balls that move by R-NEM's law, twins that move
exactly (any of these names with -exact). To add one: a file, its name in EXPERIMENTS, a line in `rivals.MATCHED`.

Light, as settings.
"""

import json
from functools import cache
from pathlib import Path

from videopred import check
from videopred.datasets.settings import BallsConfig
from videopred.experiments.rivals import RIVALS, rival_of
from videopred.experiments.settings import ExperimentConfig

EXPERIMENTS = (
    "rims-balls4",
    "rims-balls678",
    "rims-crops",
    "scoff-balls4",
    "scoff-balls678",
    "scoff-curtain",
    "scoff-colored4",
    "scoff-colored678",
    "scoff-switching",
    "scoff-motion3",
    "scoff-intphys",
    "brims-balls4",
    "brims-curtain",
    "brims-smmnist",
)
"""The experiments of the papers; each is a file in published/."""

_PUBLISHED = Path(__file__).parent / "published"


def experiment_names() -> list[str]:
    """All names: the published ones, their rivals, and the twins of all these."""
    rivals = ["", *(f"-{rival}{matched}" for rival in RIVALS for matched in ("", "-matched"))]
    plain = [f"{name}{rival}" for name in EXPERIMENTS for rival in rivals]
    return plain + [f"{name}-exact" for name in plain if _has_twin(_published(name))]


def experiment_summaries() -> dict[str, str]:
    """What the published ones are, and how the others are named."""
    published = {name: read_experiment(_PUBLISHED / f"{name}.json").summary for name in EXPERIMENTS}
    rivals = ", ".join(f"NAME-{rival}" for rival in RIVALS)
    return published | {
        rivals: "Baselines with as wide a state; NAME-lstm-matched and so on: with as many core parameters.",
        "NAME-exact": "Any of these on balls, also a baseline, with balls that move exactly instead of by R-NEM's law.",
    }


def find_experiment(name: str) -> ExperimentConfig:
    """The experiment of a name, at the scale of its paper.

    Raises:
        ValueError: no experiment has that name.
    """
    check.one_of("the experiment", name, experiment_names())
    published = _published(name)
    experiment = read_experiment(_PUBLISHED / f"{published}.json")
    _, *rest = name.removeprefix(published).split("-")
    if rest and rest[0] in RIVALS:
        experiment = rival_of(experiment, published, rest[0], "matched" in rest)
    return _exact_twin(experiment) if "exact" in rest else experiment


def read_experiment(path: Path) -> ExperimentConfig:
    """The experiment in a JSON file.

    Raises:
        ValueError: it does not hold one; one line that names the setting.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        fix = "copy one with `videopred train rims-balls4 --write my.json`"
        raise ValueError(check.complaint(str(path), "be JSON", str(error), fix)) from None
    return ExperimentConfig(**content)


def holds_experiment(path: Path) -> bool:
    """Whether a JSON file is meant for an experiment, and not for a recipe of data."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    is_recipe = not isinstance(content, dict) or "kind" in content
    return not is_recipe and not content.keys().isdisjoint(ExperimentConfig.model_fields)


def _published(name: str) -> str:
    """The published experiment that a name is derived from."""
    return next(published for published in EXPERIMENTS if f"{name}-".startswith(f"{published}-"))


@cache
def _has_twin(published: str) -> bool:
    recipe = read_experiment(_PUBLISHED / f"{published}.json").recipe
    return isinstance(recipe, BallsConfig) and recipe.engine == "rnem"


def _exact_twin(experiment: ExperimentConfig) -> ExperimentConfig:
    """The same experiment with balls that move exactly."""
    told = "Exact contacts, in place of the papers' steps of one frame: there are no delays and no overlaps."
    return experiment.model_copy(
        update={
            "summary": f"{experiment.summary.removesuffix('.')}; exact motion.",
            "chosen": experiment.chosen | {"recipe.engine": told},
            "data": experiment.data.removesuffix("-rnem"),
            "recipe": experiment.recipe.model_copy(update={"engine": "exact"}),
        }
    )
