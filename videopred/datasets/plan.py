"""What is to be made: files, the clips of each, and the blocks of clips that make its pieces."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from videopred import check
from videopred.datasets import check_recipe, find_recipe
from videopred.datasets.clip import PARTS
from videopred.datasets.piece import STEP
from videopred.datasets.settings import DatasetSettings
from videopred.datasets.shards import ShardName, check_shards, shard_ranges

_MOST = 10**8  # clips: addresses have eight digits in the names of pieces; of 64 x 64 px they are terabytes
_BLOCK = 256  # clips made at a time: enough to make NumPy's calls cheap, few enough to lose little when stopped
_BLOCK_VALUES = 2**29  # numbers in their frames: fewer clips if they are large, since their piece is held in memory


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
    recipe: DatasetSettings
    """What makes its clips."""

    @property
    def clips(self) -> int:
        """How many clips the file will hold."""
        return sum(map(len, self.ranges.values()))

    def blocks(self) -> list[Block]:
        """Its clips in blocks, in the order of the file; blocks cut neither scenes nor chunks."""
        blocks = []
        for part, addresses in self.ranges.items():
            unit = math.lcm(STEP, self.recipe.clips_per_scene(part))
            size = unit * max(1, min(_BLOCK, _BLOCK_VALUES // self.recipe.values_per_clip) // unit)
            for place in range(0, len(addresses), size):
                some = addresses[place : place + size]
                blocks.append(Block(part, some.start, some.stop, place, len(addresses)))
        return blocks


@dataclass(frozen=True)
class Job:
    """A whole data set to be made; see `plan`."""

    name: str
    recipe: DatasetSettings
    """The full recipe, as the world tells it."""
    seed: int
    clips: Mapping[str, int]
    """Parts that are not empty -> number of clips, in the order of parts."""
    out: Path
    """Folder of what is made, or the file itself if it ends in .h5."""
    shards: int = 1

    @property
    def path(self) -> Path:
        """The file, or the folder of shards."""
        if self.shards > 1:
            return self.out / self.name
        return self.out if self.out.suffix == ".h5" else self.out / f"{self.name}.h5"

    def targets(self) -> list[Target]:
        """The files to be made, in order."""
        attributes = {  # no date, so that equal clips are equal bytes
            "name": self.name,
            "units": "px, frames; x right, y down, centre of the top left pixel at (0.5, 0.5)",
            "recipe": self.recipe.model_dump_json(),
            "seed": np.uint64(self.seed),
            "context": self.recipe.context,
            "horizon": self.recipe.horizon,
        }
        if self.shards == 1:
            ranges = {part: range(count) for part, count in self.clips.items()}
            return [Target(self.path, ranges, attributes, self.recipe)]
        attributes |= {"clips": json.dumps(self.clips), "shards": self.shards}
        return [
            Target(
                self.path / str(ShardName(self.name, shard, self.shards)),
                shard_ranges(self.clips, self.recipe, self.shards, shard),
                attributes | {"shard": shard},
                self.recipe,
            )
            for shard in range(self.shards)
        ]


def plan(name: str, clips: Mapping[str, int], seed: int, out: Path, recipe: DatasetSettings | None, shards: int) -> Job:
    """What to make, if it makes sense.

    Arguments are those of `generate`.

    Raises:
        ValueError: no such preset or part, no clips at all, a number that is negative, too large or breaks
            scenes apart.
        TypeError: a name that is no text, a recipe that is no settings, or a number that is not whole.
    """
    check.require_kind(isinstance(name, str), "PRESET", "be a name", repr(name), "write e.g. balls4")
    recipe = find_recipe(name) if recipe is None else recipe
    plain = Path(name).name == name and name not in ("", "..") and "\0" not in name
    check.require(plain, "PRESET", "be a plain name, as of a file", repr(name), "give folders with --out")
    check_recipe(recipe)
    recipe.check_use()
    seed = check_seed("--seed", seed)
    parts = parts_asked("--clips", clips, recipe, "--clips train=100 test=10")
    must, got = f"be at most {_MOST:,} in all", " ".join(f"{part}={count}" for part, count in parts.items())
    check.require(sum(parts.values()) <= _MOST, "--clips", must, got, "ask for fewer")
    shards = check_shards(shards, parts, recipe)
    check.require(shards == 1 or out.suffix != ".h5", "--out", "be a folder for several shards", out, "leave .h5 out")
    must, fix = "be a folder, or a file that ends in .h5", "rename it"
    check.require(out.suffix in ("", ".h5") or out.is_dir(), "--out", must, out, fix)
    return Job(str(name), recipe, seed, parts, out, shards)


def check_seed(argument: str, seed: int) -> int:
    """The seed of a data set as an int; refuses what is none."""
    seed = check.whole_number(argument, seed, 0, "give a whole number such as 0")
    check.require(seed < 2**64, argument, "be below 2**64", seed, "choose a smaller one")
    return seed


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
    counts = {}
    for part, count in clips.items():
        check.one_of(argument, part, PARTS)
        counts[part] = check.whole_number(f"{argument} {part}", count, 0, "give a number of clips such as 100")
        scene = recipe.clips_per_scene(part)
        must, fix = f"be a multiple of {scene}, the clips of a scene", "ask for whole scenes"
        check.require(count % scene == 0, f"{argument} {part}", must, count, fix)
    check.require(sum(counts.values()) > 0, argument, "ask for at least one clip", 0, f"try {example}")
    return {part: counts[part] for part in PARTS if counts.get(part)}
