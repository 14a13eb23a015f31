"""Stacks of RIMs: bidirectional (Mittal et al. 2020), and the two rivals in that paper that only look down.

Layer l has modules with states h[l, k] and does at each step, from the lowest layer up, what `rims` says, but that it
reads other slots, each with key and value maps of its own:

    BRIMs              null;  all of layer l − 1 as it is now (for the lowest, the input);  all of layer l + 1 as it
                       was after the step before
    hierarchical RIMs  null;  the layer below
    MLD-RIMs           the same, and modules of all layers are active where those of the lowest are

"All of a layer" is the states of its active and resting modules in one vector: one slot.

Source: sections 3.2 and 5.1 of the paper, its pseudocode (appendix B), and the authors' code. In that code only the
lowest layer reads from above, and it reads the top layer, which is the next one up only where there are two; here we
follow the paper. The exchange within a layer is that of the RIMs code; in eqs. 6 to 9, resting modules offer what they
keep (`comm_source="state"`) and messages are added as they are (`comm_gate`). The pseudocode and the code have one slot
for a layer; the text of 3.2 has keys and values of all its modules (`per_module_slots`). The output is as in section
5.2, except that both layers side by side, which the paper uses for control, are not offered. There is no code of the
paper's rivals: that they give out the top layer, since nothing below hears from it, is our reading.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from videopred.models.core import Core, Trace
from videopred.models.core_settings import CoreSettings
from videopred.models.modular import LayerState, ModularLayer
from videopred.models.modular_settings import BRIMsConfig, StackSettings
from videopred.models.neighbours import ReadNeighbours
from videopred.models.recurrent import one_vector


class Stack(Core):
    """Layers of modules. State: for each layer, the lowest first, what the state of RIMs is.

    Output: the states of one layer's modules.
    Trace: for each layer what RIMs have, named `layer0.active`, `layer1.active` and so on. The slots in
    `input_attention` are those below, then those above; the attention on the latter is also there as `top_down`, (B, K)
    in [0, 1], mean over heads. The states of each layer are there as `states`, (B, K, D).
    """

    one_choice: ClassVar[bool] = False
    """Whether the lowest layer chooses for all."""

    def __init__(self, config: StackSettings, features: int, readout: int = -1):
        """A stack that gives out layer `readout`, the top one unless said otherwise."""
        super().__init__()
        self.config: CoreSettings = config
        self.readout, self.per_module_slots = readout, config.per_module_slots
        sizes = list(zip(config.modules, config.active, config.units, strict=True))
        slot = [d if config.per_module_slots else n * d for n, _, d in sizes]  # features of a slot of each layer
        self.layers = nn.ModuleList(ModularLayer(config, *size) for size in sizes)
        self.readings = nn.ModuleList()
        for level, (modules, _, units) in enumerate(sizes):
            below = slot[level - 1] if level else features
            above = slot[level + 1] if config.top_down and level + 1 < len(sizes) else None
            alone = above is None and (level == 0 or not config.per_module_slots)
            self.readings.append(ReadNeighbours(config, below, above, alone, modules, units))
        self.rows, _, self.units = sizes[readout]
        axes = [reading.trace_axes | layer.trace_axes | {"states": "K D"} for reading, layer in self._levels()]
        self.trace_axes = _by_layer(axes)
        self.state_rows = tuple(config.modules)

    def _levels(self) -> Iterator[tuple[Any, Any]]:
        """Reading and layer of each level, the lowest first."""
        return zip(self.readings, self.layers, strict=True)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> tuple[LayerState, ...]:
        """Zeros."""
        return tuple(layer.initial_state(batch) for _, layer in self._levels())

    def given_out(self, state: tuple[LayerState, ...]) -> Tensor:
        return state[self.readout][0]

    def project(self, slots: Tensor) -> Sequence[Any]:
        """(B, T, 1, features) -> T pairs: what the lowest layer reads from below, and what each level has ready."""
        batch, steps = slots.shape[:2]
        lowest, _ = next(self._levels())
        below = lowest.from_below(one_vector(slots).unsqueeze(1), lowest.null(batch))
        prepared = [
            list(zip(reading.project(steps, batch), layer.project(steps, batch), strict=True))
            for reading, layer in self._levels()
        ]
        return list(zip(below.unbind(0), zip(*prepared, strict=True), strict=True))

    def advance(
        self, projected: Any, state: tuple[LayerState, ...], silent: Tensor | None = None
    ) -> tuple[Tensor, tuple[LayerState, ...], Trace]:
        below, prepared = projected
        silent_by_layer = [None] * len(self.layers) if silent is None else list(silent.split(self.state_rows))
        new: list[LayerState] = []
        traces: list[Trace] = []
        active = None
        for level, (reading, layer) in enumerate(self._levels()):
            asking, ready = prepared[level]
            below = reading.from_below(self._slots(new[-1]), asking.null) if level else below
            above = None if reading.above is None else self._above(level, state)
            read = reading(asking, below, above, state[level][0], self._unread(level, silent_by_layer))
            new_state, trace = layer(ready, read, state[level], active, silent_by_layer[level])
            if self.one_choice and level == 0:
                active = trace["active"]
            new.append(new_state)
            traces.append({**trace, "states": new_state[0]})
        states = tuple(new)
        return self.given_out(states), states, _by_layer(traces)

    def _above(self, level: int, state: tuple[LayerState, ...]) -> Tensor:
        """The layer above as it was after the step before, as slots."""
        return self._slots(state[level + 1])

    def _unread(self, level: int, silent_by_layer: Sequence[Any]) -> Tensor | None:
        """Which slots that a layer reads are of silent modules, (L,) bool; a slot of a whole layer has these as 0."""
        if silent_by_layer[level] is None or not self.per_module_slots:
            return None
        reading: Any = self.readings[level]
        null = silent_by_layer[level].new_zeros(int(reading.with_null))
        below = silent_by_layer[level - 1] if level else silent_by_layer[level].new_zeros(1)  # the input
        above = [] if reading.above is None else [silent_by_layer[level + 1]]
        return torch.cat([null, below, *above])

    def _slots(self, state: LayerState) -> Tensor:
        """A layer as slots for another, (L, B, features)."""
        hidden = state[0]
        return hidden.transpose(0, 1) if self.per_module_slots else hidden.flatten(1).unsqueeze(0)


def _by_layer(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One dict from one for each layer, `active` of the lowest becoming `layer0.active`."""
    return {f"layer{level}.{name}": value for level, entry in enumerate(entries) for name, value in entry.items()}


class BRIMs(Stack):
    """Bidirectional recurrent independent mechanisms: every layer reads the one below and the one above."""

    def __init__(self, config: BRIMsConfig, features: int):
        super().__init__(config, features, 0 if config.readout == "lower" else -1)


class HierarchicalRIMs(Stack):
    """Layers of RIMs, each reading the one below; the top layer is given out."""


class MLDRIMs(HierarchicalRIMs):
    """Hierarchical RIMs in which the lowest layer's choice of active modules holds for all layers."""

    one_choice = True
