"""Checks what a user asks of a recipe: a seed, and a number of clips for each part."""

from collections.abc import Mapping
from typing import Any

from videopred import check
from videopred.datasets.clip import PARTS
from videopred.datasets.world_settings import DatasetSettings


def check_seed(argument: str, seed: int) -> None:
    """Refuse what is no seed of a data set."""
    check.whole_number(argument, seed, 0, "give a whole number such as 0")
    check.require(seed < 2**64, argument, "be below 2**64", seed, "choose a smaller one")


def parts_asked(argument: str, clips: Mapping[str, int], recipe: DatasetSettings, example: Any) -> dict[str, int]:
    """The parts that are not empty, always in one order, however `clips` is sorted: equal files are equal bytes.

    Args:
        argument: what the user gave the numbers as.
        clips: part -> number of clips.
        recipe: says how many belong together.
        example: what could be asked for, as it is written there.

    Raises:
        ValueError: no such part, no clips at all, a number that is negative or breaks scenes apart.
        TypeError: a number alone, or one that is not whole.
    """
    check.require_kind(isinstance(clips, Mapping), argument, "say how many of which part", clips, f"try {example}")
    for part, count in clips.items():
        check.one_of(argument, part, PARTS)
        check.whole_number(f"{argument} {part}", count, 0, "give a number of clips such as 100")
        scene = recipe.clips_per_scene(part)
        must, fix = f"be a multiple of {scene}, the clips of a scene", "ask for whole scenes"
        check.require(count % scene == 0, f"{argument} {part}", must, count, fix)
    check.require(sum(clips.values()) > 0, argument, "ask for at least one clip", 0, f"try {example}")
    return {part: clips[part] for part in PARTS if clips.get(part)}
