"""Settings of SCOFF. Light: pydantic only."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from tyro.conf import Suppress

from videopred.check import require
from videopred.models.codec_settings import DecoderSettings, FilesConfig
from videopred.models.core_settings import CoreSettings


class SCOFFConfig(CoreSettings):
    """Schemata and object files (SCOFF paper, algorithm 1, table 4)."""

    own_decoder: ClassVar[type[DecoderSettings]] = FilesConfig

    kind: Suppress[Literal["scoff"]] = "scoff"
    reads: Literal["vector", "map"] = "map"
    """What it reads of a frame: the positions of a map, for which files compete, or one vector."""
    files: PositiveInt = 4
    """Number of object files K: 4, as for four balls (SCOFF paper, section 5); its general default is 6."""
    active: PositiveInt | None = None
    """Number of files that update at each step; None: all."""
    competition: Literal["attention", "random"] = "attention"
    """Which files are active: those with the most attention to the input, averaged over it, or random ones."""
    schemata: PositiveInt = 4
    """Number of schemata S, the dynamics among which each file chooses at each step."""
    units: PositiveInt = 100
    """Width of each file's state."""
    cell: Literal["gru", "lstm"] = "gru"
    """Dynamics of a schema."""
    input_heads: PositiveInt = 1
    """Heads of the attention to the input."""
    input_key: PositiveInt = 64
    """Width of an input key, per head."""
    input_value: PositiveInt = 100
    """Width of an input value, per head."""
    input_attention: bool = True
    """Whether files compete for the input; if not, all read the same, a share 1 / K of it."""
    input_gain: PositiveFloat = 1.7
    """Initial weights of input queries and keys, over what torch draws: 1.7 gives them the variance of their input."""
    norm: Literal["sum", "mean"] = "sum"
    """Whether a file reads the sum over slots, as published, or their mean, as is better for more than 64 slots."""
    schema_spread: Annotated[float, Field(ge=0, le=1)] = 0.6
    """How far the initial weights of schemata differ, from 0, equal, to 1, drawn independently."""
    schema_key: PositiveInt = 16
    """Width of the keys by which a schema is chosen."""
    temperature: PositiveFloat = 1.0
    """Temperature of the softmax that gradients see in place of the choice; lower is closer to the hard choice."""
    eval_sample: bool = False
    """Whether the choice is noisy in evaluation too, as in algorithm 1."""
    frozen_schema: bool = False
    """Whether each file keeps one schema instead of choosing at each step: one that is drawn at the start of a clip, or
    in evaluation schema k mod S for file k."""
    comm: bool = True
    """Whether files communicate."""
    comm_heads: PositiveInt = 4
    """Heads of the attention between files."""
    comm_key: PositiveInt = 32
    """Width of a communication key, per head."""
    comm_value: PositiveInt = 32
    """Width of a communication value, per head."""
    query_from: Literal["old", "new"] = "old"
    """State that makes the queries between files: before the update (algorithm 1), or after it (pseudocode)."""
    schema_comm: bool = False
    """Whether each schema has communication maps of its own, as in the pseudocode."""
    comm_gate: bool = False
    """Whether a message is gated and squashed, as in RIMs."""
    start: Literal["drawn", "learned"] = "drawn"
    """Initial states: drawn from one learned distribution, or one learned for each file, which fixes their number."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout in [0, 1), in training, of what is read from the input and of messages."""

    @property
    def state_widths(self) -> tuple[int, ...]:
        return (self.units,) * self.files

    @property
    def unused(self) -> dict[str, str]:
        unused: dict[str, str] = {}
        if not self.comm:
            exchange = ("comm_heads", "comm_key", "comm_value", "query_from", "schema_comm", "comm_gate")
            unused |= dict.fromkeys(exchange, "--core.no-comm")
        if not self.input_attention:
            unused |= dict.fromkeys(("input_key", "input_gain"), "--core.no-input-attention")
        if self.frozen_schema:
            unused |= dict.fromkeys(("schema_key", "temperature", "eval_sample"), "--core.frozen-schema")
        if self.reads == "vector":
            unused["norm"] = "--core.reads vector, where there is one slot"
        return unused

    @model_validator(mode="after")
    def _settings_agree(self) -> "SCOFFConfig":
        if self.active is None:
            must, fix = "be attention where all files are active", "say how many with --core.active"
            require(self.competition == "attention", "--core.competition", must, self.competition, fix)
            return self
        fix = "lower --core.active or raise --core.files"
        require(self.active <= self.files, "--core.active", f"be at most {self.files}", self.active, fix)
        if self.competition == "attention" and self.active < self.files:
            must = f"be {self.files}, all files, with --core.no-input-attention"
            fix = "there is nothing to choose by: give that, or --core.competition random"
            require(self.input_attention, "--core.active", must, self.active, fix)
        return self
