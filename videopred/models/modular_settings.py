"""Settings of the cores whose modules compete: RIMs, BRIMs and rivals of the same layers. Light: pydantic only."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from tyro.conf import Suppress

from videopred.check import as_typed, require
from videopred.models.core_settings import CoreSettings


class ModularSettings(CoreSettings):
    """What RIMs and the stacks of them share: dynamics, exchange, and what an ablation leaves out."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Dynamics of a module."""
    competition: Literal["null", "modules", "random"] = "null"
    """Which modules are active: see the settings of each core."""
    input_heads: PositiveInt = 1
    """Heads of the attention to the input; together their values are 4 x units wide."""
    input_key: PositiveInt = 64
    """Width of an input key, per head."""
    input_attention: bool = True
    """Whether modules attend to their input; if not, they read the mean of its slots, and all or random ones update."""
    null_slot: bool = True
    """Whether there is a null slot to attend to; if not, all modules are active, or random ones."""
    comm: bool = True
    """Whether modules communicate."""
    comm_source: Literal["candidate", "state"] = "candidate"
    """What an inactive module offers the others: the state it would have had (authors' code), or the one it keeps."""
    comm_heads: PositiveInt = 4
    """Heads of the attention between modules."""
    comm_key: PositiveInt = 32
    """Width of a communication key, per head."""
    comm_value: PositiveInt = 32
    """Width of a communication value, per head."""
    comm_topk: PositiveInt | None = None
    """Most modules that a module hears at a step; None: all."""
    comm_gate: bool = True
    """Whether a message is gated and squashed, as in the authors' code, or added as it is, as in the paper."""
    block_gradient: bool = True
    """Whether the gradient is cut where modules hear what inactive ones offer."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout in [0, 1), in training, of what is read from the input and of messages."""

    @property
    def attends(self) -> bool:
        """Whether there is anything to divide an attention between."""
        return self.input_attention

    @property
    def unused(self) -> dict[str, str]:
        exchange = ("comm_source", "comm_heads", "comm_key", "comm_value", "comm_topk", "comm_gate", "block_gradient")
        unused = {} if self.comm else dict.fromkeys(exchange, "--core.no-comm")
        if not self.input_attention:
            unused |= dict.fromkeys(("input_heads", "input_key", "null_slot"), "--core.no-input-attention")
        elif not self.attends:
            alone = "--core.no-null-slot, which leaves one slot"
            unused |= dict.fromkeys(("input_heads", "input_key", "input_attention"), alone)
        return unused


def _check_modules(config: ModularSettings, modules: int, active: int, units: int) -> None:
    """What must hold for each layer of modules.

    Raises:
        ValueError: sizes or options do not go together.
    """
    fix = "lower --core.active or raise --core.modules"
    require(active <= modules, "--core.active", f"be at most {modules}", active, fix)
    values, heads = 4 * units, config.input_heads
    fix = "choose 1, 2 or 4"
    require(values % heads == 0, "--core.input-heads", f"divide 4 units = {values}", heads, fix)
    if config.comm_topk is not None:
        most = f"be at most {modules - 2}" if modules > 2 else "be left out"
        must, fix = f"{most} for {modules} modules", "leave it out: a larger one changes nothing"
        require(config.comm_topk <= modules - 2, "--core.comm-topk", must, config.comm_topk, fix)
    if config.competition == "null" and active < modules:
        for flag, on in (("input-attention", config.input_attention), ("null-slot", config.null_slot)):
            must = f"be {modules}, all modules, with --core.no-{flag}"
            fix = "there is nothing to choose by: give that, or --core.competition random"
            require(on, "--core.active", must, active, fix)


class _Sizes(CoreSettings):
    """Sizes of one layer of modules, in a class of their own so that help shows them first."""

    modules: PositiveInt = 6
    """Number of modules K."""
    active: PositiveInt = 4
    """Modules that update at each step."""
    units: PositiveInt = 100
    """Width of each module's state."""


class RIMsConfig(ModularSettings, _Sizes):
    """Recurrent independent mechanisms (RIMs paper, sections 2.1 to 2.4, table 3)."""

    kind: Suppress[Literal["rims"]] = "rims"
    reads: Literal["vector", "map", "strips"] = "vector"
    """What it reads of a frame: one vector; the positions of the encoder's map, to which modules attend; or one
    horizontal strip per module, each through an encoder of its own (RIMs, appendix D.4.1)."""
    competition: Literal["null", "modules", "random"] = "null"
    """Which modules are active. null: those that attend least to the null slot. modules: those that win a softmax over
    modules, in which the others get nothing to read (the authors' second version). random: a random choice."""
    input_gain: PositiveFloat | None = None
    """Initial weights of input queries and keys, over what torch draws. None: 3 for the positions of a map (8 is better
    for 8 x 8), and for one vector or strips N(0, 0.01²), values included, as in the authors' code."""

    @property
    def input_value(self) -> int:
        """Width of what a module reads, over all heads."""
        return 4 * self.units

    @property
    def state_widths(self) -> tuple[int, ...]:
        return (self.units,) * self.modules

    @property
    def gain(self) -> float | None:
        """`input_gain`, or what None stands for: None is left where it is the authors' N(0, 0.01²)."""
        return self.input_gain or (3.0 if self.reads == "map" else None)

    @property
    def attends(self) -> bool:
        return self.input_attention and (self.null_slot or self.reads == "map")

    @property
    def unused(self) -> dict[str, str]:
        gain = {} if self.input_attention or self.reads != "map" else {"input_gain": "--core.no-input-attention"}
        return super().unused | gain

    @model_validator(mode="after")
    def _settings_agree(self) -> "RIMsConfig":
        _check_modules(self, self.modules, self.active, self.units)
        if self.competition == "modules":
            for flag, on in (("input-attention", self.input_attention), ("null-slot", self.null_slot)):
                must, fix = "be another than modules", "it is one ablation or the other"
                require(on, "--core.competition", f"{must} with --core.no-{flag}", self.competition, fix)
        return self


class _SizesOfLayers(CoreSettings):
    """Sizes of several layers of modules, likewise."""

    modules: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (5, 5)
    """Number of modules K of each layer, the lowest first."""
    active: tuple[PositiveInt, ...] = (3, 3)
    """Modules of each layer that update at each step."""
    units: tuple[PositiveInt, ...] = (60, 60)
    """Width of a module's state in each layer."""


class StackSettings(ModularSettings, _SizesOfLayers):
    """What stacks of RIMs share: sizes of each layer, the lowest first."""

    top_down: ClassVar[bool] = False
    """Whether a layer reads the one above it, too."""

    competition: Literal["null", "random"] = "null"
    """Which modules are active: those that attend least to the null slot, or random ones."""
    input_heads: PositiveInt = 4
    """Heads of the attention to neighbouring layers; together their values are 4 x units wide."""
    per_module_slots: bool = False
    """Whether each module of a neighbouring layer is a slot of its own (paper, 3.2), or the layer is one (its code)."""

    @property
    def attends(self) -> bool:
        return self.input_attention and (self.null_slot or self.top_down or self.per_module_slots)

    @property
    def state_widths(self) -> tuple[int, ...]:
        return tuple(units for units, modules in zip(self.units, self.modules, strict=True) for _ in range(modules))

    @model_validator(mode="after")
    def _settings_agree(self) -> "StackSettings":
        layers = len(self.modules)
        for name, sizes in (("active", self.active), ("units", self.units)):
            numbers, fix = "1 number" if layers == 1 else f"{layers} numbers", "give as many"
            must = f"have {numbers}, one for each layer of --core.modules"
            require(len(sizes) == layers, f"--core.{name}", must, len(sizes), fix)
        for size in zip(self.modules, self.active, self.units, strict=True):
            _check_modules(self, *size)
        return self


class BRIMsConfig(StackSettings):
    """Bidirectional RIMs: layers that read the one below and the one above (BRIMs paper, section 3, table 6)."""

    top_down: ClassVar[bool] = True

    kind: Suppress[Literal["brims"]] = "brims"
    readout: Literal["lower", "top"] = "lower"
    """The layer whose state is the output: the lowest, as for video, or the top one, as for classification."""


class HierarchicalRIMsConfig(StackSettings):
    """Layers of RIMs, each reading the one below: the baseline of BRIMs, without feedback."""

    kind: Suppress[Literal["hierarchical-rims"]] = "hierarchical-rims"


class MLDRIMsConfig(StackSettings):
    """Hierarchical RIMs whose lowest layer chooses the active modules of all layers (BRIMs paper, section 5.1)."""

    kind: Suppress[Literal["mld-rims"]] = "mld-rims"

    @model_validator(mode="after")
    def _layers_are_alike(self) -> "MLDRIMsConfig":
        for name, sizes in (("modules", self.modules), ("active", self.active)):
            must, fix = "be the same in all layers, as the lowest chooses for all", "or take hierarchical-rims"
            require(len(set(sizes)) == 1, f"--core.{name}", must, as_typed(sizes), fix)
        return self


ModularConfig = RIMsConfig | BRIMsConfig | HierarchicalRIMsConfig | MLDRIMsConfig
"""Settings of any of them."""
