"""The ladder of LSTMs that BRIMs is compared with (Mittal et al. 2020): hierarchy, then top-down reading, attention.

Layers of LSTMs, l = 0 the lowest, h[−1] the input. At each step, from the lowest layer up, layer l is an LSTM on z[l]:

lstm-h      z[l] = dropout h[l − 1]                                      torch.nn.LSTM of several layers
lstm-hb     z[l] = dropout (h[l − 1], h[l + 1]) side by side             of the layer above, what it was a step ago
lstm-ha     z[l] = dropout Σp a[p] v[p] over slots p = h[l − 1] alone    softmax against a null slot of key and value 0
lstm-hab    z[l] = dropout Σp a[p] v[p] over slots p = h[l − 1], h[l + 1]

with a = softmax over {null, p} of h[l] Wq · (p Wk[p]) / √dk, each slot its own Wk and Wv, as in BRIMs. The input itself
is dropped only as part of what attention has read. The output is that of the highest layer.

Source: the paper names these four (section 6, A.2) and gives layers of 300 or 600 units; how they are built is not
published. Our reading: `lstm-ha` and `lstm-hab` are BRIMs with one module in each layer, which is therefore always
active and has nobody to talk to; `lstm-hb` feeds the upper state beside the lower, as a branch in the authors' code
would.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.core import Core, Trace, batch_of
from videopred.models.recurrent import lstm_update, one_vector
from videopred.models.rival_settings import AttentiveLadderConfig, LadderConfig

LayerState = tuple[Tensor, Tensor]
"""(hidden, cell), each (B, D) of the layer."""


class Ladder(Core):
    """State: a (hidden, cell) for each layer, the lowest first, each (B, D) of its layer.

    Trace, with attention: `layer0.input_attention` and so on, (B, heads, 1, slots), the shares of the layer below and
    of that above; what they lack to 1 is the null slot's.
    """

    layers: Any  # a ModuleList of Joining or of Attending

    def __init__(self, config: LadderConfig, features: int):
        super().__init__()
        self.config = config
        self.rows, self.units = 1, config.units[-1]
        below = (features, *config.units[:-1])
        above = (*config.units[1:], 0) if config.top_down else (0,) * len(config.units)
        sizes = list(zip(below, above, config.units, strict=True))
        if isinstance(config, AttentiveLadderConfig):
            self.layers = nn.ModuleList(Attending(config, *widths) for widths in sizes)
            self.trace_axes = {f"layer{level}.input_attention": "heads K L" for level in range(len(sizes))}
        else:
            self.layers = nn.ModuleList(Joining(config, *widths) for widths in sizes)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> tuple[LayerState, ...]:
        """Zeros."""
        zeros = (batch_of(self, (batch, units)) for units in self.config.units)
        return tuple((hidden, hidden) for hidden in zeros)

    def project(self, slots: Tensor) -> Iterable[Tensor]:
        """What the lowest layer makes of the input."""
        return self.layers[0].project(one_vector(slots)).unbind(0)

    def advance(self, projected: Tensor, state: tuple[LayerState, ...]) -> tuple[Tensor, tuple[LayerState, ...], Trace]:
        new: list[LayerState] = []
        trace: Trace = {}
        for level, layer in enumerate(self.layers):
            if level > 0:
                projected = layer.project(layer.from_below(new[-1][0]))
            hidden, cell = state[level]
            above = state[level + 1][0] if layer.reads_above else None
            gates, happened = layer(projected, above, hidden)
            new.append(lstm_update(gates, cell))
            trace |= {f"layer{level}.{name}": value for name, value in happened.items()}
        return new[-1][0].unsqueeze(1), tuple(new), trace


class Joining(nn.Module):
    """The gates of an LSTM that reads its neighbours side by side.

    Args:
        below: width of the layer below, or of the input.
        above: width of the layer above; 0 without one.
        units: own width.
    """

    def __init__(self, config: LadderConfig, below: int, above: int, units: int):
        super().__init__()
        self.dropout, self.reads_above = config.dropout, above > 0
        self.below, self.own = nn.Linear(below, 4 * units), nn.Linear(units, 4 * units)
        if above:
            self.above = nn.Linear(above, 4 * units, bias=False)
        draw_as_torch(self, units)

    def from_below(self, hidden: Tensor) -> Tensor:
        """What of the layer below gets through the dropout."""
        return functional.dropout(hidden, self.dropout, self.training)

    def project(self, below: Tensor) -> Tensor:
        """(…, below) -> its share of the gates, (…, 4 D)."""
        return self.below(below)

    def forward(self, projected: Tensor, above: Tensor | None, hidden: Tensor) -> tuple[Tensor, Trace]:
        """All gates (B, 4 D)."""
        gates = projected + self.own(hidden)
        if above is not None:
            gates = gates + self.above(functional.dropout(above, self.dropout, self.training))
        return gates, {}


class Attending(nn.Module):
    """The gates of an LSTM that reads its neighbours through attention; arguments as those of `Joining`."""

    def __init__(self, config: AttentiveLadderConfig, below: int, above: int, units: int):
        super().__init__()
        self.config, self.reads_above = config, above > 0
        self.sizes = [config.input_heads * config.input_key, 4 * units]
        self.read, self.own = nn.Linear(4 * units, 4 * units), nn.Linear(units, 4 * units)
        draw_as_torch(self, units)
        self.query = nn.Linear(units, self.sizes[0], bias=False)
        self.below = nn.Linear(below, sum(self.sizes), bias=False)  # keys, then values
        if above:
            self.above = nn.Linear(above, sum(self.sizes), bias=False)
        for layer in (self.query, self.below, *([self.above] if above else [])):
            nn.init.normal_(layer.weight, std=0.01)  # as the attention of RIMs and BRIMs

    def from_below(self, hidden: Tensor) -> Tensor:
        """All of the layer below: dropout comes behind the attention."""
        return hidden

    def project(self, below: Tensor) -> Tensor:
        """(…, below) -> its keys and values, (…, heads key + 4 D)."""
        return self.below(below)

    def forward(self, projected: Tensor, above: Tensor | None, hidden: Tensor) -> tuple[Tensor, Trace]:
        """All gates (B, 4 D)."""
        heads = self.config.input_heads
        slots = torch.stack([projected] if above is None else [projected, self.above(above)], 1)
        keys, values = (part.unflatten(-1, (heads, -1)) for part in slots.split(self.sizes, -1))
        query = self.query(hidden).unflatten(-1, (heads, -1))
        scores = torch.einsum("bhe,blhe->bhl", query, keys) / math.sqrt(self.config.input_key)
        attention = torch.softmax(functional.pad(scores, (1, 0)), -1)[..., 1:]  # the null slot's score is 0
        read = torch.einsum("bhl,blhv->bhv", attention, values).flatten(1)
        gates = self.read(functional.dropout(read, self.config.dropout, self.training)) + self.own(hidden)
        return gates, {"input_attention": attention.unsqueeze(2)}


def draw_as_torch(layers: nn.Module, units: int) -> None:
    """Draw all weights as torch.nn.LSTM does."""
    for parameter in layers.parameters():
        nn.init.uniform_(parameter, -1 / math.sqrt(units), 1 / math.sqrt(units))
