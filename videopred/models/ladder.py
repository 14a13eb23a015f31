"""The ladder of LSTMs that BRIMs is compared with (Mittal et al. 2020): hierarchy, top-down reading, attention.

Layers of LSTMs, l = 0 the lowest, h[−1] the input. At each step, from the lowest layer up, layer l is an LSTM on z[l]:

lstm-h      z[l] = dropout h[l − 1]                                      torch.nn.LSTM of several layers
lstm-hb     z[l] = dropout (h[l − 1], h[l + 1]) side by side             of the layer above, what it was a step ago
lstm-ha     z[l] = what attention reads of h[l − 1]                      hierarchical RIMs
lstm-hab    z[l] = what attention reads of h[l − 1] and h[l + 1]         BRIMs

The last two are stacks of RIMs with one module in each layer, which is therefore always active and has nobody to talk
to. The input is not dropped in the first two. The output is that of the highest layer.

Source: the paper names these four (5.1, A.1) and gives layers of 300 or 600 units, and a dropout of 0.5 without saying
of what (A.2); how they are built is not published, so this is our reading. `lstm-hb` feeds the upper state beside the
lower, as a branch in the authors' code would.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.brims import BRIMs, HierarchicalRIMs
from videopred.models.core import Core, Trace
from videopred.models.modular_settings import BRIMsConfig, HierarchicalRIMsConfig
from videopred.models.recurrent import lstm_update, one_vector
from videopred.models.rival_settings import (
    AttentiveLadderConfig,
    LSTMHABConfig,
    LSTMHAConfig,
    LSTMHBConfig,
    LSTMHConfig,
)

LayerState = tuple[Tensor, Tensor]
"""(hidden, cell), each (B, D) of the layer."""


class Ladder(Core):
    """What `lstm-h` and `lstm-hb` share.

    State: a (hidden, cell) for each layer, the lowest first, each (B, D) of its layer.
    """

    layers: Any  # a ModuleList of Rung

    def __init__(self, config: LSTMHConfig | LSTMHBConfig, features: int):
        super().__init__()
        self.config = config
        self.rows, self.units = 1, config.units[-1]
        below = (features, *config.units[:-1])
        above = (*config.units[1:], 0) if config.top_down else (0,) * len(config.units)
        sizes = zip(below, above, config.units, strict=True)
        self.layers = nn.ModuleList(Rung(*widths, config.dropout) for widths in sizes)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> tuple[LayerState, ...]:
        """Zeros."""
        weight = self.layers[0].own.weight
        return tuple((weight.new_zeros(batch, units), weight.new_zeros(batch, units)) for units in self.config.units)

    def project(self, slots: Tensor) -> Iterable[Tensor]:
        """The input's share of the lowest layer's gates: T entries of (B, 4 D)."""
        return self.layers[0].below(one_vector(slots)).unbind(0)

    def advance(self, projected: Tensor, state: tuple[LayerState, ...]) -> tuple[Tensor, tuple[LayerState, ...], Trace]:
        new: list[LayerState] = []
        for level, layer in enumerate(self.layers):
            if level > 0:
                projected = layer.below(layer.dropped(new[-1][0]))
            hidden, cell = state[level]
            gates = projected + layer.own(hidden)
            if layer.above is not None:
                gates = gates + layer.above(layer.dropped(state[level + 1][0]))
            new.append(lstm_update(gates, cell))
        return new[-1][0].unsqueeze(1), tuple(new), {}


class LSTMH(Ladder):
    """`lstm-h`."""


class LSTMHB(Ladder):
    """`lstm-hb`."""


class Rung(nn.Module):
    """The weights of one layer, which start as those of torch.nn.LSTM.

    Args:
        below: width of the layer below, or of the input.
        above: width of the layer above; 0 if it is not read.
        units: own width.
        rate: dropout of what comes from other layers.
    """

    def __init__(self, below: int, above: int, units: int, rate: float):
        super().__init__()
        self.rate = rate
        self.below, self.own = nn.Linear(below, 4 * units), nn.Linear(units, 4 * units)
        self.above = nn.Linear(above, 4 * units, bias=False) if above else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5)

    def dropped(self, hidden: Tensor) -> Tensor:
        """What gets through of another layer."""
        return functional.dropout(hidden, self.rate, self.training)


class LSTMHA(HierarchicalRIMs):
    """`lstm-ha`. State and trace as those of hierarchical RIMs."""

    def __init__(self, config: LSTMHAConfig, features: int):
        super().__init__(HierarchicalRIMsConfig(**single_modules(config)), features)
        self.config = config  # complaints name the core by it


class LSTMHAB(BRIMs):
    """`lstm-hab`. State and trace as those of BRIMs."""

    def __init__(self, config: LSTMHABConfig, features: int):
        super().__init__(BRIMsConfig(readout="top", **single_modules(config)), features)
        self.config = config


def single_modules(config: AttentiveLadderConfig) -> dict[str, Any]:
    """The settings of a stack of RIMs with one module in each layer."""
    ones = (1,) * len(config.units)
    same = {name: getattr(config, name) for name in ("units", "input_heads", "input_key", "dropout")}
    return {"modules": ones, "active": ones, "comm": False, **same}
