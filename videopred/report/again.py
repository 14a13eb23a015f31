"""Commands, as they would be typed, that make data and results again."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from videopred.datasets import DATASETS
from videopred.datasets.source import ClipSource
from videopred.eval.settings import Protocol


def generate_command(file: ClipSource) -> str | None:
    """What makes a data file again, clip for clip; None if it is not ours."""
    if file.recipe is None:
        return None
    name = next((name for name, preset in DATASETS.items() if type(preset.recipe) is type(file.recipe)), None)
    name = file.name if file.name in DATASETS else name
    if name is None:
        return None
    usual = DATASETS[name].recipe.model_dump(mode="json")
    words = ["videopred", "generate", name]
    for field, value in file.recipe.model_dump(mode="json").items():
        if value != usual[field]:
            words += _flag(field, value)
    clips = [f"{part}={count}" for part, count in file.parts.items() if count]
    return shlex.join([*words, "--seed", str(file.seed), "--clips", *clips, "--out", str(file.path)])


def evaluate_command(run: Path, data: str, protocol: Protocol, clips: int | None, reference: str | None = None) -> str:
    """What scores a run again.

    Args:
        clips: how many the part has; None if that is not known.
        reference: the file whose training part calibrated the trivial rows; None is the data itself.
    """
    words = ["videopred", "evaluate", str(run), data]
    said: dict[str, Any] = {"metrics": protocol.metrics}
    if protocol.name:
        said = {"protocol": protocol.name, **said}
    else:
        said |= {"part": protocol.part, "context": protocol.context, "horizon": protocol.horizon}
    said |= {"metric_settings": protocol.metric_settings} if protocol.metric_settings else {}
    said |= {"feedback": protocol.feedback} if protocol.feedback != "soft" else {}
    said |= {"samples": protocol.samples} if protocol.samples > 1 else {}
    said |= {"first": protocol.clips} if clips is None or protocol.clips != clips else {}
    said |= {"reference": reference} if reference not in (None, data) else {}
    for name, value in said.items():
        words += _flag(name, value)
    return shlex.join(words)


def plausibility_command(run: Path, judged: Mapping[str, Any]) -> str:
    """What judges plausibility again, given what plausibility.json says."""
    settings = judged["settings"]
    words = ["videopred", "plausibility", str(run), str(settings["data"])]
    for name, value in {**settings, "aggregates": list(judged["errors"])}.items():
        asked = (name, value) != ("part", "dev")  # what is judged of a folder of IntPhys without a word
        if asked and name not in ("data", "run") and (name != "aggregates" or value):
            words += _flag(name, value)
    return shlex.join(words)


def _flag(name: str, value: Any) -> list[str]:
    """A setting as words on the command line."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, list | tuple):
        return [f"--{flag}", *map(str, value)]
    return [f"--{flag}", str(value)]
