"""A layer of modules from the moment each has read its input: choice, dynamics, exchange, memory."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from videopred.models.communication import Communication
from videopred.models.competition import RandomChoice, awake, lowest
from videopred.models.core import Trace
from videopred.models.dropout import dropout_masks
from videopred.models.grouped import GroupedLinear
from videopred.models.modular_settings import ModularSettings
from videopred.models.recurrent import gru_update, lstm_update

LayerState = tuple[Any, ...]
"""Hidden (B, K, D); cell (B, K, D), or () with GRU dynamics; and with a random choice the steps so far, (B, K)."""


class Read(NamedTuple):
    """What modules read at one step."""

    scores: Tensor | None
    """(B, K), those with the lowest are active; None if nothing was compared."""
    gates: Tensor
    """(B, K, gates), the input's share of the gates, without bias."""
    trace: Trace


class Prepared(NamedTuple):
    """What a layer needs at a step and can have before the loop."""

    bias: tuple[Tensor, ...]
    """One (K, gates) for LSTM dynamics; for a GRU, that of the input's share and that of the state's."""
    mask: Tensor | None
    """(B, K, D), dropout of the message."""


def gates_of(config: ModularSettings, units: int) -> int:
    """Width of all gates of a module."""
    return (4 if config.cell == "lstm" else 3) * units


def bound_of(modules: int, units: int) -> float:
    """Weights of the dynamics start within this of 0: the authors own one dense LSTM over the units of all modules."""
    return 1 / math.sqrt(modules * units)


class ModularLayer(nn.Module):
    """Steps 2 to 5 of RIMs, see `rims`, which every layer of BRIMs goes through as well.

    Args:
        config: dynamics, exchange and ablations.
        modules: K.
        active: how many of them update at a step.
        units: D, width of a module's state.
    """

    def __init__(self, config: ModularSettings, modules: int, active: int, units: int):
        super().__init__()
        self.config, self.rows, self.active, self.units = config, modules, active, units
        gates, bound = gates_of(config, units), bound_of(modules, units)
        self.state_gates = GroupedLinear(modules, units, gates, bound)
        self.input_bias = nn.Parameter(torch.empty(modules, gates).uniform_(-bound, bound))
        self.state_bias = nn.Parameter(torch.empty(modules, gates).uniform_(-bound, bound))
        self.random = RandomChoice() if config.competition == "random" else None
        self.communication = Communication(config, modules, units) if config.comm else None
        self.trace_axes = {"active": "K"} | ({"comm_attention": "heads K K"} if config.comm else {})

    def initial_state(self, batch: int) -> LayerState:
        """Zeros."""
        hidden = self.state_bias.new_zeros(batch, self.rows, self.units)
        cell = torch.zeros_like(hidden) if self.config.cell == "lstm" else ()
        return (hidden, cell) if self.random is None else (hidden, cell, self.random.initial_state(hidden))

    def project(self, steps: int, batch: int) -> Sequence[Prepared]:
        """What needs no state, for T steps."""
        lstm, rate = self.config.cell == "lstm", self.config.dropout if self.communication is not None else 0.0
        bias = (self.input_bias + self.state_bias,) if lstm else (self.input_bias, self.state_bias)
        masks = dropout_masks(self, rate, self.state_bias, steps, batch, self.rows, self.units)
        return [Prepared(bias, mask) for mask in masks]

    def forward(
        self,
        prepared: Prepared,
        read: Read,
        state: LayerState,
        active: Tensor | None = None,
        silent: Tensor | None = None,
    ) -> tuple[LayerState, Trace]:
        """The state after one step, and what happened.

        Args:
            prepared: an entry of `project`.
            read: what each module read; without scores in it, all are active.
            state: before the step.
            active: (B, K) bool, the choice if it was made elsewhere.
            silent: (K,) bool, modules that take no part.
        """
        hidden, cell, *steps = state
        scores = read.scores
        if self.random is not None:
            scores, *steps = self.random(*steps)
        if active is None and scores is not None:
            active = lowest(scores, self.active, silent)
        else:
            active = awake(torch.ones_like(hidden[..., 0], dtype=torch.bool) if active is None else active, silent)
        moves = active.unsqueeze(-1)
        candidate, new_cell = self._dynamics(prepared.bias, read.gates, hidden, cell)
        trace = read.trace | {"active": active}
        if self.communication is not None:
            source = self._source(moves, candidate, hidden)
            message, trace["comm_attention"] = self.communication(source, prepared.mask, silent)
            candidate = candidate + message
        # Chosen, not mixed with weights of 1 and 0: those would bring a candidate's NaN into a resting module.
        cell = torch.where(moves, new_cell, cell) if self.config.cell == "lstm" else cell
        return (torch.where(moves, candidate, hidden), cell, *steps), trace

    def _dynamics(self, bias: tuple[Tensor, ...], from_input: Tensor, hidden: Tensor, cell: Any) -> tuple[Tensor, Any]:
        """The hidden state and the cell that each module would have if it were active."""
        if self.config.cell == "lstm":
            return lstm_update(from_input + self.state_gates(hidden, bias[0]), cell)
        return gru_update(from_input + bias[0], self.state_gates(hidden, bias[1]), hidden), ()

    def _source(self, moves: Tensor, candidate: Tensor, hidden: Tensor) -> Tensor:
        """What modules offer to one another: a resting one its hypothetical update, or what it keeps."""
        offered = candidate if self.config.comm_source == "candidate" else hidden
        if self.config.block_gradient:
            offered = offered.detach()
        return candidate if offered is candidate else torch.where(moves, candidate, offered)
