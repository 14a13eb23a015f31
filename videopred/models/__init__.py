"""Models: the tables of cores, codecs and decoders, and the predictor that puts them together."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, cast

from videopred import check
from videopred.addresses import find
from videopred.models import codec_settings, modular_settings, rival_settings, scoff_settings
from videopred.models.codec_settings import CodecConfig, DecoderConfig, OwnCodecConfig, OwnDecoderConfig
from videopred.models.core_settings import CoreSettings
from videopred.models.own import settings_of
from videopred.models.own_settings import OwnPart
from videopred.models.presets import PRESETS
from videopred.models.settings import OWN_PARTS, CoreConfig, OwnConfig, PredictorConfig
from videopred.settings import Settings

if TYPE_CHECKING:
    from videopred.models.codec import Codec
    from videopred.models.core import Core
    from videopred.models.layer import Layer as Layer
    from videopred.models.predictor import Predictor

CORES: dict[str, tuple[type[CoreSettings], str]] = {
    "gru": (rival_settings.GRUConfig, "videopred.models.recurrent:GRU"),
    "lstm": (rival_settings.LSTMConfig, "videopred.models.recurrent:LSTM"),
    "lstm-h": (rival_settings.LSTMHConfig, "videopred.models.ladder:LSTMH"),
    "lstm-ha": (rival_settings.LSTMHAConfig, "videopred.models.ladder:LSTMHA"),
    "lstm-hab": (rival_settings.LSTMHABConfig, "videopred.models.ladder:LSTMHAB"),
    "lstm-hb": (rival_settings.LSTMHBConfig, "videopred.models.ladder:LSTMHB"),
    "rims": (modular_settings.RIMsConfig, "videopred.models.rims:RIMs"),
    "brims": (modular_settings.BRIMsConfig, "videopred.models.brims:BRIMs"),
    "hierarchical-rims": (modular_settings.HierarchicalRIMsConfig, "videopred.models.brims:HierarchicalRIMs"),
    "mld-rims": (modular_settings.MLDRIMsConfig, "videopred.models.brims:MLDRIMs"),
    "rmc": (rival_settings.RMCConfig, "videopred.models.rmc:RMC"),
    "scoff": (scoff_settings.SCOFFConfig, "videopred.models.scoff:SCOFF"),
    "transformer": (rival_settings.TransformerConfig, "videopred.models.transformer:Transformer"),
}
"""Name -> (settings, where the class is). A class is imported when it is built, so that help stays light."""

CODECS: dict[str, tuple[type[Settings], str]] = {
    "rnem": (codec_settings.RNEMConfig, "videopred.models.rnem:RNEM"),
    "mila": (codec_settings.MilaConfig, "videopred.models.mila:Mila"),
}
"""Name -> (settings, where the class is): see `videopred.models.codec`."""

DECODERS: dict[str, tuple[type[Settings], str]] = {
    "shared": (codec_settings.SharedConfig, "videopred.models.decoder:SharedDecoder"),
    "files": (codec_settings.FilesConfig, "videopred.models.decoder:FilesDecoder"),
    "masks": (codec_settings.MasksConfig, "videopred.models.decoder:MasksDecoder"),
}
"""Name -> (settings, where the class is): see `videopred.models.decoder`."""


def core_config(name: str, **changes: Any) -> CoreConfig:
    """The settings of a core.

    Args:
        name: one of CORES or PRESETS, or MODULE:CLASS for a core of one's own. Of a preset it is the core alone: how it
            learns is `videopred.models.presets.PRESETS[name].training`.
        changes: values that differ from its defaults.

    Raises:
        ValueError: no core has that name, or it does not have such a setting, or that one changes nothing beside
            others. TypeError: that is no name. Of a core of one's own, see `videopred.models.own.settings_of`.
    """
    if isinstance(name, str) and name in PRESETS:
        config: Settings = PRESETS[name].core.changed(**changes)
        config.check_used(changes)
    else:
        config = _part_config("core", CORES, name, changes, PRESETS)
    return cast(CoreConfig, config)


def codec_config(name: str, **changes: Any) -> CodecConfig:
    """The settings of an encoder and what belongs to it, for `PredictorConfig.codec`.

    Args:
        name: one of CODECS, or MODULE:CLASS for a codec of one's own.
        changes: values that differ from its defaults.

    Raises:
        ValueError, TypeError: as `core_config`.
    """
    return cast(CodecConfig, _part_config("codec", CODECS, name, changes))


def decoder_config(name: str, **changes: Any) -> DecoderConfig:
    """The settings of a decoder, for `PredictorConfig.decoder`.

    Args:
        name: one of DECODERS, or MODULE:CLASS for a decoder of one's own.
        changes: values that differ from its defaults.

    Raises:
        ValueError, TypeError: as `core_config`.
    """
    return cast(DecoderConfig, _part_config("decoder", DECODERS, name, changes))


def _part_config(
    part: str, table: Mapping[str, Any], name: str, changes: dict[str, Any], others: Iterable[str] = ()
) -> Settings:
    """The settings of a part of a model by its name in a table, or of one's own; `others` are more names to offer."""
    fix = f"give one of {', '.join(table)}, or MODULE:CLASS for your own"
    check.require_kind(isinstance(name, str), part, "be a name", repr(name), fix)
    if ":" in name:
        own = OWN_PARTS[part](source=name, settings=changes)
        settings_of(own)  # a class says itself what can be set
        return own
    kind, _ = table[check.one_of(f"--{part}", name, [*table, *others, "MODULE:CLASS"])]
    config: Settings = kind(**changes)
    config.check_used(changes)
    return config


def name_of_part(config: Settings) -> str:
    """The name by which a core, codec or decoder is chosen: its kind, or MODULE:CLASS."""
    return config.source if isinstance(config, OwnPart) else config.kind  # type: ignore[attr-defined]


def with_core(model: PredictorConfig, name: str) -> PredictorConfig:
    """A model with the core of a name and that core's own decoder; as it is if its core is of that name."""
    if name == name_of_part(model.core):
        return model
    core = core_config(name)
    return model.model_copy(update={"core": core, "decoder": settings_of(core).own_decoder()})


def build_core(config: CoreSettings, features: int) -> "Core":
    """A core with fresh weights.

    Args:
        config: settings of one of CORES, or of a core of one's own.
        features: width D of each input slot.

    Raises:
        ValueError: a core of one's own cannot be imported, or is none.
    """
    if isinstance(config, OwnConfig):
        from videopred.models.own_cores import build_own_core

        core = build_own_core(config, features)
    else:
        core = _entry(CORES, config)(config, features)
    core.input_size, core.input_kind = features, reads(config)
    return core


def reads(config: CoreSettings) -> Literal["vector", "map", "strips"]:
    """What a core wants of a frame: one vector, the positions of a map, or a strip for each module."""
    if isinstance(config, OwnConfig):
        from videopred.models.own_cores import own_reads

        return own_reads(config)
    return getattr(config, "reads", "vector")


def build_codec(config: Settings, film_shape: tuple[int, int, int]) -> "Codec":
    """The codec for films of that shape, which lists layers with fresh weights.

    Args:
        config: settings of one of CODECS, or of a codec of one's own.
        film_shape: (channels, height, width) of the films.

    Raises:
        ValueError: it cannot take frames of that size; or one of one's own cannot be imported, or is none.
    """
    if isinstance(config, OwnCodecConfig):
        from videopred.models.own_codecs import build_own_codec

        return build_own_codec(config, film_shape)
    return _entry(CODECS, config)(config, film_shape)


def build_decoder(config: Settings, codec: Settings, core: "Core", film_shape: tuple[int, int, int]) -> Any:
    """A decoder with fresh weights.

    Args:
        config: settings of one of DECODERS, or of a decoder of one's own.
        codec: settings of the codec whose layers it ends with.
        core: what it gets its input from.
        film_shape: (channels, height, width) of the films.

    Raises:
        ValueError: see `build_codec`; or a decoder of one's own cannot be imported, or is none.
    """
    layers = build_codec(codec, film_shape)
    if isinstance(config, OwnDecoderConfig):
        from videopred.models.own_codecs import build_own_decoder

        return build_own_decoder(config, layers, core, film_shape)
    return _entry(DECODERS, config)(config, layers, core, film_shape)


def _entry(table: Mapping[str, tuple[type[Settings], str]], config: Settings) -> Any:
    """The class that belongs to settings, imported now."""
    return find(table[config.kind][1])  # type: ignore[attr-defined]


def build(config: PredictorConfig, film_shape: tuple[int, int, int]) -> "Predictor":
    """A predictor with fresh weights, drawn from torch's global generator.

    Args:
        config: settings of core, codec and decoder.
        film_shape: (channels, height, width) of the films it will see.

    Raises:
        ValueError: that is no shape, or the codec cannot take frames of that size. TypeError: other settings.
    """
    from videopred.models.predictor import Predictor

    check.require_instance("config", config, PredictorConfig)
    sizes = film_shape if isinstance(film_shape, Sequence) else ()
    fits = len(sizes) == 3 and all(isinstance(size, Integral) and size > 0 for size in sizes)
    must, fix = "be (channels, height, width), whole numbers of at least 1", "give e.g. (1, 64, 64)"
    check.require(fits, "film_shape", must, film_shape, fix)
    channels, height, width = map(int, film_shape)
    return Predictor(config, (channels, height, width))


if not TYPE_CHECKING:  # else type checkers believe that there is any name

    def __getattr__(name: str) -> Any:
        """`Layer`, loaded with torch when it is first asked for."""
        if name == "Layer":
            return find("videopred.models.layer:Layer")
        raise AttributeError(f"module 'videopred.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "Layer"])
