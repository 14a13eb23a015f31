"""How a data set is cut into shards: which clips are in which, and what the files are called."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from videopred import check
from videopred.datasets.settings import DatasetSettings


class ShardName(NamedTuple):
    """What the name of a shard says."""

    name: str
    shard: int
    shards: int

    def __str__(self) -> str:
        return f"{self.name}-{self.shard:05}-of-{self.shards:05}.h5"


def shard_name(file: str) -> ShardName | None:
    """What the name of a file says, if it is that of a shard."""
    match = re.fullmatch(r"(.+)-(\d{5,})-of-(\d{5,})\.h5", file)
    return ShardName(match[1], int(match[2]), int(match[3])) if match else None


def shard_names(folder: Path) -> list[ShardName]:
    """The shards in a folder, by their names, in order."""
    return sorted(filter(None, (shard_name(path.name) for path in folder.iterdir())))


def others_beside(folder: Path) -> list[str]:
    """Names of the data files in a folder that are no shards, but for hidden ones."""
    files = {path.name for path in folder.iterdir() if path.suffix.lower() in (".h5", ".hdf5")}
    return sorted(name for name in files - set(map(str, shard_names(folder))) if not name.startswith("."))


def shard_ranges(clips: Mapping[str, int], recipe: DatasetSettings, shards: int, shard: int) -> dict[str, range]:
    """Addresses of the clips in a shard: as many as in any other, give or take a scene, and no scene cut apart.

    Args:
        clips: train, validation, test -> number of clips of the whole set.
        recipe: what says which clips belong together.
        shards: how many there are.
        shard: which one, from 0.

    Returns:
        train, validation, test -> addresses; a part too small to reach this shard is left out.
    """
    ranges = {}
    for part, count in clips.items():
        size = recipe.clips_per_scene(part)
        start, stop = (count // size * at // shards * size for at in (shard, shard + 1))
        if stop > start:
            ranges[part] = range(start, stop)
    return ranges


def check_shards(shards: int, clips: Mapping[str, int], recipe: DatasetSettings) -> int:
    """The number of shards as an int; raises ValueError unless a set can be cut into so many, none of them empty."""
    shards = check.whole_number("--shards", shards, 1, "give a number of files, 1 for a single one")
    must, fix = "be 1 for clips that are drawn in order from one stream", "leave it out"
    check.require(shards == 1 or not recipe.in_order, "--shards", must, shards, fix)
    most = max(count // recipe.clips_per_scene(part) for part, count in clips.items())
    must = f"be at most {most}, so that each holds some of the largest part"
    check.require(shards <= most, "--shards", must, shards, "give fewer shards or more clips")
    return shards
