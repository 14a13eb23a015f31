"""Settings of cores and predictor. Light: pydantic only, so that help and usage errors load no torch."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, PositiveInt, field_validator
from tyro.conf import Suppress

from videopred.check import require
from videopred.models.codec_settings import CodecConfig, DecoderConfig, RNEMConfig
from videopred.models.core_settings import CoreSettings as CoreSettings  # for cores of somebody's own, too
from videopred.models.modular_settings import ModularConfig, RIMsConfig
from videopred.models.rival_settings import RivalConfig
from videopred.models.scoff_settings import SCOFFConfig
from videopred.settings import Settings


class OwnConfig(CoreSettings):
    """A core of one's own, MODULE:CLASS (see `videopred.models.own`)."""

    kind: Suppress[Literal["own"]] = "own"
    source: str
    """MODULE:CLASS, importable wherever the model is built."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Values of the class's own settings; those left out have its defaults."""

    @field_validator("source")
    @classmethod
    def _is_module_and_class(cls, source: str) -> str:
        fits = re.fullmatch(r"\w+(\.\w+)*:\w+", source)
        require(bool(fits), "--core", "be MODULE:CLASS", source, "write e.g. mycores:MyCore for a class in mycores.py")
        return source

    @field_validator("settings", mode="before")
    @classmethod
    def _listed(cls, settings: Any) -> Any:
        """Tuples and arrays become the lists that JSON has in their place."""
        return _as_json(settings)

    @property
    def label(self) -> str:
        return self.source.rpartition(":")[2].lower()

    def changed(self, **changes: Any) -> Self:
        return type(self)(source=self.source, settings={**self.settings, **changes})


def _as_json(value: Any) -> Any:
    """The value with every tuple or array in it as a list, and every number of NumPy or torch as one of Python."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _as_json(part) for name, part in value.items()}
    return list(map(_as_json, value)) if isinstance(value, list | tuple) else value


CoreConfig = Annotated[RivalConfig | ModularConfig | SCOFFConfig | OwnConfig, Field(discriminator="kind")]


def _own_decoder(data: dict[str, Any]) -> Any:
    """The decoder of a core's paper, with its usual settings."""
    return data["core"].own_decoder()


class PredictorConfig(Settings):
    """A whole rollout model: encoder, core over time, decoder."""

    core: CoreConfig = RIMsConfig()
    """What moves the state from frame to frame."""
    codec: CodecConfig = RNEMConfig()
    """What turns frames into vectors or maps, and back."""
    decoder: DecoderConfig = Field(default_factory=_own_decoder)
    """How the modules' outputs become one frame; the default is the core's own."""
    stack: PositiveInt = 1
    """Frames that the encoder sees at once, the latest and those before it (SCOFF: 5 on switching dynamics)."""
