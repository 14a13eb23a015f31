"""From a recipe back to the words of `videopred generate` that make its clips. Light."""

from collections.abc import Mapping
from typing import Any

from videopred.datasets import DATASETS
from videopred.datasets.settings import DatasetSettings

Words = tuple[str, ...]
"""Of a command, after `videopred`."""


def generate_words(recipe: DatasetSettings, clips: Mapping[str, int], seed: int, out: str) -> Words:
    """The command that makes clips of a recipe: the preset that is nearest to it, and a flag for all that differs.

    Args:
        recipe: of clips of ours.
        clips: part -> how many.
        seed: of the data set.
        out: the file, as the command shall name it.
    """
    kin = {name: preset.recipe for name, preset in DATASETS.items() if type(preset.recipe) is type(recipe)}
    name = min(kin, key=lambda preset: len(_flags(kin[preset], recipe)))  # of several as near, the first
    counts = tuple(f"{part}={count}" for part, count in clips.items())
    chance = ("--seed", str(seed)) if seed else ()
    return ("generate", name, *_flags(kin[name], recipe), "--clips", *counts, *chance, "--out", out)


def _flags(usual: DatasetSettings, recipe: DatasetSettings) -> Words:
    """The flags that make one recipe of another."""
    before = dict(usual)
    changed = {name: value for name, value in recipe if value != before[name]}
    return tuple(word for name, value in changed.items() for word in _flag(name, value))


def _flag(name: str, value: Any) -> Words:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return (f"--{flag}",) if value else (f"--no-{flag}",)
    values = value if isinstance(value, tuple) else (value,)
    return (f"--{flag}", *(str(number) for one in values for number in (one if isinstance(one, tuple) else (one,))))
