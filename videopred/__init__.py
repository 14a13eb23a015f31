"""videopred: object-centric video prediction, from the data to the prediction GIF.

The names below are the public ones; each is imported when it is first used, so that `import videopred` is instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from videopred.checkpoint import load_run as load_run
    from videopred.datasets import DATASETS as DATASETS
    from videopred.datasets.crops import CropDataset as CropDataset
    from videopred.datasets.generation import generate as generate
    from videopred.datasets.importing import import_films as import_films
    from videopred.datasets.loader import FilmDataset as FilmDataset
    from videopred.datasets.made import open_recipe as open_recipe
    from videopred.datasets.opening import open_dataset as open_dataset
    from videopred.eval import METRICS as METRICS
    from videopred.judging import evaluate as evaluate
    from videopred.models import CORES as CORES
    from videopred.models import build as build
    from videopred.models.layer import Layer as Layer
    from videopred.rollout import roll_out as roll_out
    from videopred.surprise import plausibility as plausibility
    from videopred.training import resume as resume
    from videopred.training import train as train

_HOMES = {
    "CORES": "videopred.models",
    "CropDataset": "videopred.datasets.crops",
    "DATASETS": "videopred.datasets",
    "FilmDataset": "videopred.datasets.loader",
    "Layer": "videopred.models.layer",
    "METRICS": "videopred.eval",
    "build": "videopred.models",
    "evaluate": "videopred.judging",
    "generate": "videopred.datasets.generation",
    "import_films": "videopred.datasets.importing",
    "load_run": "videopred.checkpoint",
    "open_dataset": "videopred.datasets.opening",
    "open_recipe": "videopred.datasets.made",
    "plausibility": "videopred.surprise",
    "resume": "videopred.training",
    "roll_out": "videopred.rollout",
    "train": "videopred.training",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'videopred' has no attribute {name!r}; it has {', '.join(_HOMES)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
