"""The plain recurrent networks, and the two update rules that modular cores apply per module.

LSTM    i, f, o = σ(Wx + Uh + b),  g = tanh(Wx + Uh + b),  c' = f c + i g,  h' = o tanh c'
GRU     r, z = σ(Wx + b + Uh + b'),  n = tanh(Wx + b + r (Uh + b')),  h' = (1 − z) n + z h

Gates stand in torch's order: i f g o, and r z n. Both have torch's two bias vectors, so weights can be exchanged
with torch.nn.LSTM and torch.nn.GRU, which are the reference in the tests.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.check import complaint
from videopred.models.core import Core, Trace
from videopred.models.rival_settings import GRUConfig, LSTMConfig


def lstm_update(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The new hidden and cell state (…, D) from the summed gates (…, 4 D) and the old cell state (…, D)."""
    units = cell.shape[-1]
    input_forget, g, o = gates.split([2 * units, units, units], -1)
    i, f = torch.sigmoid(input_forget).chunk(2, -1)
    cell = f * cell + i * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def gru_update(from_input: Tensor, from_state: Tensor, hidden: Tensor) -> Tensor:
    """The new state (…, D) from the gates' two halves (…, 3 D), kept apart because r gates only one of them."""
    input_rz, input_n = from_input.split([2 * hidden.shape[-1], hidden.shape[-1]], -1)
    state_rz, state_n = from_state.split([2 * hidden.shape[-1], hidden.shape[-1]], -1)
    r, z = torch.sigmoid(input_rz + state_rz).chunk(2, -1)
    candidate = torch.tanh(input_n + r * state_n)
    return candidate + z * (hidden - candidate)


def one_vector(slots: Tensor) -> Tensor:
    """(B, T, 1, D) slots as time-first vectors (T, B, D).

    Raises:
        ValueError: there is more than one slot.
    """
    if slots.shape[2] != 1:
        got = f"L = {slots.shape[2]}"
        raise ValueError(complaint("slots", "be one vector per step for this core", got, "flatten them"))
    return slots.squeeze(2).transpose(0, 1)


class LSTM(Core):
    """torch.nn.LSTM's function of one layer, as a core. State: (hidden, cell), each (B, D)."""

    def __init__(self, config: LSTMConfig, features: int):
        super().__init__()
        self.rows, self.units = 1, config.units
        self.weights = nn.LSTMCell(features, config.units)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Zeros."""
        weight = self.weights.weight_hh
        return weight.new_zeros(batch, self.units), weight.new_zeros(batch, self.units)

    def project(self, slots: Tensor) -> Sequence[Tensor]:
        """The input's share of the gates, both biases included: T entries of (B, 4 D)."""
        weights = self.weights
        bias = weights.bias_ih + weights.bias_hh
        return functional.linear(one_vector(slots), weights.weight_ih, bias).unbind(0)

    def advance(self, projected: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor], Trace]:
        hidden, cell = state
        gates = projected + functional.linear(hidden, self.weights.weight_hh)
        hidden, cell = lstm_update(gates, cell)
        return hidden.unsqueeze(1), (hidden, cell), {}


class GRU(Core):
    """torch.nn.GRU's function of one layer, as a core. State: hidden, (B, D)."""

    def __init__(self, config: GRUConfig, features: int):
        super().__init__()
        self.rows, self.units = 1, config.units
        self.weights = nn.GRUCell(features, config.units)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        """Zeros."""
        return self.weights.weight_hh.new_zeros(batch, self.units)

    def project(self, slots: Tensor) -> Sequence[Tensor]:
        """The input's half of the gates: T entries of (B, 3 D)."""
        return functional.linear(one_vector(slots), self.weights.weight_ih, self.weights.bias_ih).unbind(0)

    def advance(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Trace]:
        from_state = functional.linear(state, self.weights.weight_hh, self.weights.bias_hh)
        hidden = gru_update(projected, from_state, state)
        return hidden.unsqueeze(1), hidden, {}
