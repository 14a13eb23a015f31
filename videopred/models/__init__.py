"""Models: the table of recurrent cores, and the predictor that puts encoder, core and decoder together."""

from importlib import import_module
from typing import TYPE_CHECKING

from videopred import check
from videopred.models.settings import GRUConfig, LSTMConfig, PredictorConfig, RIMsConfig
from videopred.settings import Settings

if TYPE_CHECKING:
    from videopred.models.core import Core
    from videopred.models.predictor import Predictor

CORES: dict[str, tuple[type[Settings], str]] = {
    "gru": (GRUConfig, "videopred.models.recurrent:GRU"),
    "lstm": (LSTMConfig, "videopred.models.recurrent:LSTM"),
    "rims": (RIMsConfig, "videopred.models.rims:RIMs"),
}
"""Name -> (settings, where the class is). A class is imported when it is built, so that help stays light."""


def core_settings(name: str) -> type[Settings]:
    """The settings class of a core.

    Raises:
        ValueError: no core has that name.
    """
    return CORES[check.one_of("--core", name, CORES)][0]


def build_core(config: Settings, features: int) -> "Core":
    """A core with fresh weights.

    Args:
        config: settings of one of CORES.
        features: width D of each input slot.
    """
    module, _, name = CORES[config.kind][1].partition(":")  # type: ignore[attr-defined]
    core = getattr(import_module(module), name)(config, features)
    core.input_size = features
    return core


def build(config: PredictorConfig, film_shape: tuple[int, int, int]) -> "Predictor":
    """A predictor with fresh weights, drawn from torch's global generator.

    Args:
        config: settings of core and codec.
        film_shape: (channels, height, width) of the films it will see.

    Raises:
        ValueError: the codec cannot halve a frame of that size.
    """
    from videopred.models.predictor import Predictor

    return Predictor(config, film_shape)
