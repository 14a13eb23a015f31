"""videopred: object-centric video prediction, from the data to the prediction GIF.

The names below are the public ones, and a promise: docs/api.md has each, and tests hold both together. Each is imported
when it is first used, so that `import videopred` is instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from videopred.checkpoint import load_run as load_run
    from videopred.datasets import DATASETS as DATASETS
    from videopred.datasets import find_recipe as find_recipe
    from videopred.datasets import open_dataset as open_dataset
    from videopred.datasets.crops import CropDataset as CropDataset
    from videopred.datasets.generation import generate as generate
    from videopred.datasets.import_settings import ImportConfig as ImportConfig
    from videopred.datasets.importing import import_films as import_films
    from videopred.datasets.loader import FilmDataset as FilmDataset
    from videopred.datasets.recipe_clips import open_recipe as open_recipe
    from videopred.eval import METRICS as METRICS
    from videopred.eval.comparison import compare as compare
    from videopred.eval.plausibility_settings import PlausibilityConfig as PlausibilityConfig
    from videopred.eval.probe import from_left_to_right as from_left_to_right
    from videopred.eval.probe import probe_places as probe_places
    from videopred.eval.saved_scores import load_scores as load_scores
    from videopred.eval.settings import Protocol as Protocol
    from videopred.export.own_training import save_model as save_model
    from videopred.frames import to_film as to_film
    from videopred.judging import evaluate as evaluate
    from videopred.judging import imagine as imagine
    from videopred.judging import judge as judge
    from videopred.judging.drawing import render as render
    from videopred.models import CORES as CORES
    from videopred.models import build as build
    from videopred.models import codec_config as codec_config
    from videopred.models import core_config as core_config
    from videopred.models import decoder_config as decoder_config
    from videopred.models.intervention_settings import Intervention as Intervention
    from videopred.models.interventions import intervene as intervene
    from videopred.models.layer import Layer as Layer
    from videopred.models.settings import PredictorConfig as PredictorConfig
    from videopred.rendering.settings import ClipChoice as ClipChoice
    from videopred.rendering.settings import PictureConfig as PictureConfig
    from videopred.rollout import roll_out as roll_out
    from videopred.settings import ComputeConfig as ComputeConfig
    from videopred.settings import TrainingConfig as TrainingConfig
    from videopred.settings import WatchConfig as WatchConfig
    from videopred.surprise import plausibility as plausibility
    from videopred.training.run import resume as resume
    from videopred.training.run import train as train

    __version__: str

_HOMES = {
    "CORES": "videopred.models",
    "ClipChoice": "videopred.rendering.settings",
    "ComputeConfig": "videopred.settings",
    "CropDataset": "videopred.datasets.crops",
    "DATASETS": "videopred.datasets",
    "FilmDataset": "videopred.datasets.loader",
    "ImportConfig": "videopred.datasets.import_settings",
    "Intervention": "videopred.models.intervention_settings",
    "Layer": "videopred.models.layer",
    "METRICS": "videopred.eval",
    "PictureConfig": "videopred.rendering.settings",
    "PlausibilityConfig": "videopred.eval.plausibility_settings",
    "PredictorConfig": "videopred.models.settings",
    "Protocol": "videopred.eval.settings",
    "TrainingConfig": "videopred.settings",
    "WatchConfig": "videopred.settings",
    "build": "videopred.models",
    "compare": "videopred.eval.comparison",
    "codec_config": "videopred.models",
    "core_config": "videopred.models",
    "decoder_config": "videopred.models",
    "evaluate": "videopred.judging",
    "find_recipe": "videopred.datasets",
    "from_left_to_right": "videopred.eval.probe",
    "generate": "videopred.datasets.generation",
    "imagine": "videopred.judging",
    "import_films": "videopred.datasets.importing",
    "intervene": "videopred.models.interventions",
    "judge": "videopred.judging",
    "load_run": "videopred.checkpoint",
    "load_scores": "videopred.eval.saved_scores",
    "open_dataset": "videopred.datasets",
    "open_recipe": "videopred.datasets.recipe_clips",
    "plausibility": "videopred.surprise",
    "probe_places": "videopred.eval.probe",
    "render": "videopred.judging.drawing",
    "resume": "videopred.training.run",
    "roll_out": "videopred.rollout",
    "save_model": "videopred.export.own_training",
    "to_film": "videopred.frames",
    "train": "videopred.training.run",
}

__all__ = list(_HOMES)


if not TYPE_CHECKING:  # else type checkers believe that there is any name

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name == "__version__":
            return import_module("importlib.metadata").version("videopred")  # longer to load than all of this
        raise AttributeError(f"module 'videopred' has no attribute {name!r}; it has {', '.join(_HOMES)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "__version__"} - {"Any", "TYPE_CHECKING", "import_module"})
