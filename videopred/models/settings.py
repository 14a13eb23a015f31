"""Settings of cores and predictor. Light: pydantic only, so that help and usage errors load no torch."""

from typing import Annotated, Any

from pydantic import Field, PositiveInt

from videopred.models.codec_settings import CodecConfig, DecoderConfig, RNEMConfig
from videopred.models.codec_settings import CodecSettings as CodecSettings  # these, for parts of one's own
from videopred.models.codec_settings import DecoderSettings as DecoderSettings
from videopred.models.codec_settings import OwnCodecConfig as OwnCodecConfig
from videopred.models.codec_settings import OwnDecoderConfig as OwnDecoderConfig
from videopred.models.core_settings import CoreSettings as CoreSettings
from videopred.models.modular_settings import ModularConfig, RIMsConfig
from videopred.models.own_settings import OwnPart
from videopred.models.rival_settings import RivalConfig
from videopred.models.scoff_settings import SCOFFConfig
from videopred.settings import Settings


class OwnConfig(OwnPart, CoreSettings):
    """A core of one's own, MODULE:CLASS."""

    @property
    def label(self) -> str:
        return self.source.rpartition(":")[2].lower()


OWN_PARTS: dict[str, type[OwnPart]] = {"core": OwnConfig, "codec": OwnCodecConfig, "decoder": OwnDecoderConfig}
"""Part -> the settings of one's own."""

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

    @property
    def own_parts(self) -> tuple[OwnPart, ...]:
        """Those of core, codec and decoder that are of one's own."""
        return tuple(part for part in (self.core, self.codec, self.decoder) if isinstance(part, OwnPart))
