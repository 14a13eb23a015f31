"""Models: the tables of cores, codecs and decoders, and the predictor that puts them together."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from videopred import check
from videopred.models.codec_settings import FilesConfig, MasksConfig, MilaConfig, RNEMConfig, SharedConfig
from videopred.models.settings import GRUConfig, LSTMConfig, PredictorConfig, RIMsConfig, SCOFFConfig
from videopred.settings import Settings

if TYPE_CHECKING:
    from videopred.models.core import Core
    from videopred.models.predictor import Predictor

CORES: dict[str, tuple[type[Settings], str]] = {
    "gru": (GRUConfig, "videopred.models.recurrent:GRU"),
    "lstm": (LSTMConfig, "videopred.models.recurrent:LSTM"),
    "rims": (RIMsConfig, "videopred.models.rims:RIMs"),
    "scoff": (SCOFFConfig, "videopred.models.scoff:SCOFF"),
}
"""Name -> (settings, where the class is). A class is imported when it is built, so that help stays light."""

CODECS: dict[str, tuple[type[Settings], str]] = {
    "rnem": (RNEMConfig, "videopred.models.rnem:RNEM"),
    "mila": (MilaConfig, "videopred.models.mila:Mila"),
}
"""Name -> (settings, where the class is). A codec lists layers that lead from frames to maps (`shrink`) to vectors
(`embed`), and back from vectors to maps (`expand`) to frames (`grow`)."""

DECODERS: dict[str, tuple[type[Settings], str]] = {
    "shared": (SharedConfig, "videopred.models.decoder:SharedDecoder"),
    "files": (FilesConfig, "videopred.models.decoder:FilesDecoder"),
    "masks": (MasksConfig, "videopred.models.decoder:MasksDecoder"),
}
"""Name -> (settings, where the class is)."""


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
    core = _entry(CORES, config)(config, features)
    core.input_size = features
    return core


def build_codec(config: Settings, film_shape: tuple[int, int, int]) -> Any:
    """The codec for films of that shape, which lists layers with fresh weights.

    Args:
        config: settings of one of CODECS.
        film_shape: (channels, height, width) of the films.

    Raises:
        ValueError: it cannot take frames of that size.
    """
    return _entry(CODECS, config)(config, film_shape)


def build_decoder(config: Settings, codec: Settings, core: "Core", film_shape: tuple[int, int, int]) -> Any:
    """A decoder with fresh weights.

    Args:
        config: settings of one of DECODERS.
        codec: settings of the codec whose layers it ends with.
        core: what it gets its input from.
        film_shape: (channels, height, width) of the films.
    """
    return _entry(DECODERS, config)(config, codec, core, film_shape)


def _entry(table: dict[str, tuple[type[Settings], str]], config: Settings) -> Any:
    """The class that belongs to settings, imported now."""
    module, _, name = table[config.kind][1].partition(":")  # type: ignore[attr-defined]
    return getattr(import_module(module), name)


def build(config: PredictorConfig, film_shape: tuple[int, int, int]) -> "Predictor":
    """A predictor with fresh weights, drawn from torch's global generator.

    Args:
        config: settings of core, codec and decoder.
        film_shape: (channels, height, width) of the films it will see.

    Raises:
        ValueError: the codec cannot take frames of that size.
    """
    from videopred.models.predictor import Predictor

    return Predictor(config, film_shape)
