"""What is to be made: files, the clips of each, and the blocks of clips that make its pieces."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from videopred import check
from videopred.datasets.clip import PARTS
from videopred.datasets.piece import STEP
from videopred.datasets.settings import DatasetSettings, dump_recipe

_BLOCK = 256  # clips made at a time: enough to make NumPy's calls cheap, few enough to lose little when stopped


class Block(NamedTuple):
    """Consecutive clips of a part, made as one piece."""

    part: str
    start: int
    """Address of the first clip."""
    stop: int
    """One beyond the address of the last."""
    place: int
    """Where in the file's part the first clip stands."""
    total: int
    """Clips of the file's part in all."""


@dataclass(frozen=True)
class Target:
    """A file to be made."""

    path: Path
    ranges: Mapping[str, range]
    """train, validation, test -> addresses of its clips; parts without any are left out."""
    attributes: Mapping[str, Any]
    """What the file says of itself."""
    scenes: Mapping[str, int]
    """train, validation, test -> clips that belong together."""

    @property
    def clips(self) -> int:
        """How many clips the file will hold."""
        return sum(map(len, self.ranges.values()))

    def blocks(self) -> list[Block]:
        """Its clips in blocks, in the order of the file; blocks cut neither scenes nor chunks."""
        blocks = []
        for part, addresses in self.ranges.items():
            unit = math.lcm(STEP, self.scenes[part])
            size = unit * max(1, _BLOCK // unit)
            for place in range(0, len(addresses), size):
                some = addresses[place : place + size]
                blocks.append(Block(part, some.start, some.stop, place, len(addresses)))
        return blocks


def check_request(clips: Mapping[str, int], seed: int, recipe: DatasetSettings) -> dict[str, int]:
    """The parts that are not empty, in their order, however `clips` is sorted.

    Raises:
        ValueError: no such part, no clips at all, a number that is negative or breaks scenes apart, a bad seed.
    """
    check.whole_number("--seed", seed, 0, "give a whole number such as 0")
    check.require(seed < 2**64, "--seed", "be below 2**64", seed, "choose a smaller one")
    for part, count in clips.items():
        check.one_of("--clips", part, PARTS)
        check.whole_number(f"--clips {part}", count, 0, "give a number of clips such as 100")
        scene = recipe.clips_per_scene(part)
        must, fix = f"be a multiple of {scene}, the clips of a scene", "ask for whole scenes"
        check.require(count % scene == 0, f"--clips {part}", must, count, fix)
    total = sum(clips.values())
    check.require(total > 0, "--clips", "ask for at least one clip", total, "try --clips train=100 test=10")
    return {part: clips[part] for part in PARTS if clips.get(part)}


def attributes_of(name: str, recipe: DatasetSettings, seed: int) -> dict[str, Any]:
    """What a file of our own clips says of itself; no date, so that equal clips are equal bytes.

    Args:
        name: what the data set is called.
        recipe: what its clips are made by.
        seed: seed of the whole data set.
    """
    return {
        "name": name,
        "units": "px, frames; x right, y down, centre of the top left pixel at (0.5, 0.5)",
        "recipe": dump_recipe(recipe),
        "seed": np.uint64(seed),
        "context": recipe.context,
        "horizon": recipe.horizon,
    }
