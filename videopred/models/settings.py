"""Settings of cores and predictor. Light: pydantic only, so that help and usage errors load no torch."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator
from tyro.conf import Suppress

from videopred.check import complaint
from videopred.models.codec_settings import CodecConfig, DecoderConfig, DecoderSettings, RNEMConfig, SharedConfig
from videopred.settings import Settings


class CoreSettings(Settings):
    """What the settings of every core share."""

    flag_prefix: ClassVar[str] = "--core."
    own_decoder: ClassVar[type[DecoderSettings]] = SharedConfig
    """The decoder that its paper uses."""


class GRUConfig(CoreSettings):
    """One gated recurrent unit, the rival of every modular core."""

    kind: Suppress[Literal["gru"]] = "gru"
    units: PositiveInt = 250
    """Width of the state."""


class LSTMConfig(CoreSettings):
    """One long short-term memory, the rival of every modular core."""

    kind: Suppress[Literal["lstm"]] = "lstm"
    units: PositiveInt = 250
    """Width of the hidden state, and of the cell state."""


class RIMsConfig(CoreSettings):
    """Recurrent independent mechanisms (RIMs paper, sections 2.1 to 2.5, table 3)."""

    kind: Suppress[Literal["rims"]] = "rims"
    modules: PositiveInt = 6
    """Number of modules K."""
    active: PositiveInt = 4
    """Modules that update at each step: those whose null attention is lowest."""
    units: PositiveInt = 100
    """Width of each module's state."""
    cell: Literal["lstm", "gru"] = "lstm"
    """Dynamics of a module."""
    input_heads: PositiveInt = 1
    """Heads of the attention that reads the input; 4 units values in all are split over them."""
    input_key: PositiveInt = 64
    """Width of an input key, per head."""
    comm_heads: PositiveInt = 4
    """Heads of the attention between modules."""
    comm_key: PositiveInt = 32
    """Width of a communication key, per head."""
    comm_value: PositiveInt = 32
    """Width of a communication value, per head."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout on what is read from the input and on the message, while training."""

    @property
    def input_value(self) -> int:
        """Width of what a module reads, over all heads."""
        return 4 * self.units

    @model_validator(mode="after")
    def _sizes_agree(self) -> "RIMsConfig":
        if self.active > self.modules:
            fix = "lower --core.active or raise --core.modules"
            raise ValueError(complaint("--core.active", f"be at most {self.modules}", self.active, fix))
        if self.input_value % self.input_heads:
            must, fix = f"divide 4 units = {self.input_value}", "choose 1, 2 or 4"
            raise ValueError(complaint("--core.input-heads", must, self.input_heads, fix))
        return self


CoreConfig = Annotated[GRUConfig | LSTMConfig | RIMsConfig, Field(discriminator="kind")]


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
