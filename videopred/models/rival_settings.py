"""Settings of the cores that modular ones are compared with. Light: pydantic only."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveInt, field_validator, model_validator
from tyro.conf import Suppress

from videopred.check import as_typed, require
from videopred.models.core_settings import CoreSettings


class GRUConfig(CoreSettings):
    """One gated recurrent unit, the baseline of every modular core."""

    kind: Suppress[Literal["gru"]] = "gru"
    units: PositiveInt = 250
    """Width of the state."""


class LSTMConfig(CoreSettings):
    """One long short-term memory, the baseline of every modular core."""

    kind: Suppress[Literal["lstm"]] = "lstm"
    units: PositiveInt = 250
    """Width of the hidden state, and of the cell state."""


class LadderConfig(CoreSettings):
    """What LSTMs in layers share."""

    units: tuple[PositiveInt, ...] = (300, 300)
    """Width of each layer, the lowest first."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout in [0, 1), in training, of what a layer reads; without attention, the input itself is not dropped."""

    @property
    def state_widths(self) -> tuple[int, ...]:
        return self.units

    @field_validator("units")
    @classmethod
    def _are_layers(cls, units: tuple[int, ...]) -> tuple[int, ...]:
        must, got = "have at least 2 numbers, one for each layer", as_typed(units)
        require(len(units) >= 2, "--core.units", must, got, "give more, or take the core lstm")
        return units


class AttentiveLadderConfig(LadderConfig):
    """What LSTMs share whose layers attend to one another."""

    input_heads: PositiveInt = 4
    """Heads of a layer's attention to its neighbours; together their values are 4 x units wide."""
    input_key: PositiveInt = 64
    """Width of a key, per head."""

    @model_validator(mode="after")
    def _sizes_agree(self) -> "AttentiveLadderConfig":
        for units in self.units:
            must, fix = f"divide 4 units = {4 * units} of every layer", "choose 1, 2 or 4"
            require(4 * units % self.input_heads == 0, "--core.input-heads", must, self.input_heads, fix)
        return self


class LSTMHConfig(LadderConfig):
    """Layers of LSTMs (BRIMs paper, LSTM with H)."""

    top_down: ClassVar[bool] = False
    """Whether a layer reads the one above it, too."""

    kind: Suppress[Literal["lstm-h"]] = "lstm-h"


class LSTMHBConfig(LadderConfig):
    """Layers of LSTMs that also read the layer above, as it was a step ago (BRIMs paper, H+B; our reading)."""

    top_down: ClassVar[bool] = True

    kind: Suppress[Literal["lstm-hb"]] = "lstm-hb"


class LSTMHAConfig(AttentiveLadderConfig):
    """Layers of LSTMs that attend to the layer below (BRIMs paper, H+A; our reading)."""

    kind: Suppress[Literal["lstm-ha"]] = "lstm-ha"


class LSTMHABConfig(AttentiveLadderConfig):
    """Layers of LSTMs that attend to the layer below and, a step ago, above (BRIMs paper, H+A+B; our reading)."""

    kind: Suppress[Literal["lstm-hab"]] = "lstm-hab"


class RMCConfig(CoreSettings):
    """The relational memory core (Santoro et al. 2018, in Sonnet's form)."""

    kind: Suppress[Literal["rmc"]] = "rmc"
    rows: PositiveInt = 4
    """Rows of the memory, K."""
    heads: PositiveInt = 4
    """Heads of the attention between rows."""
    head_size: PositiveInt = 64
    """Width of a value, per head; a row is as wide as all heads together."""
    key_size: PositiveInt | None = None
    """Width of a key, per head; None: as a value."""
    blocks: PositiveInt = 1
    """Rounds of attention in a step."""
    mlp_layers: PositiveInt = 2
    """Layers of the MLP behind the attention."""
    gate: Literal["unit", "memory", "none"] = "unit"
    """Whether the memory is gated unit by unit, row by row, or overwritten."""

    @property
    def key(self) -> int:
        """Width of a key, per head."""
        return self.head_size if self.key_size is None else self.key_size

    @property
    def state_widths(self) -> tuple[int, ...]:
        return (self.heads * self.head_size,) * self.rows

    @model_validator(mode="after")
    def _rows_differ(self) -> "RMCConfig":
        width = self.heads * self.head_size
        must, fix = f"be at most heads x head-size = {width}", "rows beyond would begin alike and stay so; widen them"
        require(self.rows <= width, "--core.rows", must, self.rows, fix)
        return self


class TransformerConfig(CoreSettings):
    """A causal transformer over the steps so far (Vaswani et al. 2017), with norms first."""

    kind: Suppress[Literal["transformer"]] = "transformer"
    layers: PositiveInt = 2
    """Layers, each of attention and two linear maps."""
    units: PositiveInt = 256
    """Width of a step's row."""
    heads: PositiveInt = 4
    """Heads of the attention; they share the width."""
    hidden: PositiveInt = 1024
    """Hidden units between the two linear maps."""
    window: PositiveInt = 64
    """How many steps back each layer looks."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout in [0, 1), in training, of attention, of the hidden units and of what each part adds."""

    @model_validator(mode="after")
    def _sizes_agree(self) -> "TransformerConfig":
        must, fix = f"divide --core.units = {self.units}", "choose a divisor of it"
        require(self.units % self.heads == 0, "--core.heads", must, self.heads, fix)
        return self


RivalConfig = (
    GRUConfig | LSTMConfig | LSTMHConfig | LSTMHAConfig | LSTMHABConfig | LSTMHBConfig | RMCConfig | TransformerConfig
)
"""Settings of any of them."""
