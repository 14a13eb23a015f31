"""Every preset at a small size, for tests: few frames, none square."""

from videopred.datasets import DATASETS
from videopred.datasets.settings import DatasetSettings

SMALL = {"frames": 7, "height": 40, "width": 56}


def small(name: str, **changes: object) -> DatasetSettings:
    """The preset's recipe with small clips."""
    recipe = DATASETS[name].recipe
    return type(recipe)(**(recipe.model_dump() | SMALL | changes))
