"""Published experiments, whole: data, model, learning and protocol, each in a file that can be copied and edited.

`published/NAME.json` is written by hand. Derived from it by name are its rivals (NAME-lstm, NAME-gru, NAME-rmc, as
wide; NAME-lstm-matched and so on, with as many parameters) and, of balls that move by R-NEM's law, twins that move
exactly (any of these names with -exact). To add one: a file, its name in EXPERIMENTS, a line in `rivals.MATCHED`,
and one in PAPERS for a new paper.

Light, as settings.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from videopred import check
from videopred.datasets.settings import BallsConfig
from videopred.experiments.rivals import RIVALS, matched_at_small, rival_of
from videopred.experiments.scales import at_scale
from videopred.experiments.settings import ExperimentConfig, Scale
from videopred.files import keys_once
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig
from videopred.systems import shell_quoted

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

PAPERS = {"rims": "RIMs", "scoff": "SCOFF", "brims": "BRIMs"}
"""How the names of a paper's experiments and figures begin -> what its model is called."""

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
    names = experiment_names()  # too many to be told
    fix = check.suggest(name, names, "see that list")
    check.require(name in names, "the experiment", "be one that `videopred list` shows", name, fix)
    published = _published(name)
    experiment = read_experiment(_PUBLISHED / f"{published}.json")
    rest = _rest(name)
    if rest and rest[0] in RIVALS:
        experiment = rival_of(experiment, published, rest[0], "matched" in rest)
    return _exact_twin(experiment) if "exact" in rest else experiment


def experiment_at(name: str, scale: Scale) -> ExperimentConfig:
    """The experiment of a name at a scale; a matched rival has as many parameters as the core has at that scale.

    Raises:
        ValueError: no experiment has that name; no such scale.
    """
    scaled, rest = at_scale(find_experiment(name), scale), _rest(name)
    matched = scale == "small" and "matched" in rest
    return matched_at_small(scaled, _published(name), rest[0]) if matched else scaled


def _rest(name: str) -> list[str]:
    """What a name has after that of a published experiment: a rival, matched, exact."""
    return name.removeprefix(_published(name)).split("-")[1:]


def read_experiment(path: Path) -> ExperimentConfig:
    """The experiment in a JSON file.

    Raises:
        FaultyFileError: it does not hold one; one line that names the key, as it stands in the file.
    """
    content = _content(path)
    if "film_shape" in content:
        must, got = "be clips, a recipe or an experiment", f"{path}, the settings of a run"
        fix = f"start from its weights with --init-from {shell_quoted([str(path.parent)])}"
        fix += ", or write an experiment with `videopred train NAME --write FILE`"
        raise check.FaultyFileError(check.complaint("DATA", must, got, fix))
    try:
        experiment = ExperimentConfig(**content)
        got, fix = ", ".join(experiment.clips) or "nothing", "say how many clips there are to learn from"
        check.require("train" in experiment.clips, "clips", "have train in it", got, fix)
        return experiment
    except ValueError as error:
        complaint = re.sub(r"(;|, or) see --help.*$", "", str(error))  # which is about flags
        key, _, rest = re.sub(r"--([a-z][\w.-]*)", lambda flag: _key(flag[1], content), complaint).partition(" must ")
        raise check.FaultyFileError(f"{key} in {path} must {rest}") from None


def holds_experiment(path: Path) -> bool:
    """Whether a JSON file is meant for an experiment, and not for a recipe of data; False if no file is there.

    Raises:
        FaultyFileError: it is no JSON.
    """
    if not path.is_file():
        return False
    content = _content(path)
    is_recipe = not isinstance(content, dict) or "kind" in content
    own = ExperimentConfig.model_fields.keys() - {"summary", "recipe"}  # which cards of data have, too
    return not is_recipe and not content.keys().isdisjoint(own)


def _content(path: Path) -> Any:
    """What a JSON file holds.

    Raises:
        FaultyFileError: it is no JSON, or gives a key twice, of which the first would count for nothing.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        fix = "mend it there, or write another with `videopred train rims-balls4 --write my.json`"
        raise check.FaultyFileError(check.complaint(str(path), "be JSON", error, fix)) from None


def _key(flag: str, content: dict[str, Any]) -> str:
    """Where an experiment has what is a flag on the command line: core.comm-heads is at model.core.comm_heads."""
    name = flag.replace("-", "_")
    first = name.partition(".")[0]
    usual = {"model": PredictorConfig.model_fields, "training": TrainingConfig.model_fields, "recipe": ()}
    for section, known in usual.items():
        if first in known or (isinstance(content.get(section), dict) and first in content[section]):
            return f"{section}.{name}"
    return name


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
