"""Every preset at a small size, for tests: few frames, none square; and a recipe whose clips come in scenes."""

from videopred.datasets import DATASETS
from videopred.datasets.settings import BallsConfig, DatasetSettings

SMALL = {"frames": 7, "height": 40, "width": 56}
SHORTEST = {"occlusion": 30}
"""Fewest frames of a clip, where that is not 2."""
WITHOUT_CONTACTS = {"occlusion"}
"""Worlds in which nothing ever collides."""
OFF_THE_STRAIGHT = {"motion3", "switching"}
"""Worlds in which velocities change between contacts, too."""


def small(name: str, **changes: object) -> DatasetSettings:
    """The preset's recipe with small clips."""
    recipe = DATASETS[name].recipe
    sizes = SMALL | {"frames": max(SMALL["frames"], SHORTEST.get(name, 2))}
    return type(recipe)(**(recipe.model_dump() | sizes | changes))


class InScenes(BallsConfig):
    """As a world whose test clips come in fours."""

    def clips_per_scene(self, part: str) -> int:
        return 4 if part == "test" else 1
