"""Recurrent independent mechanisms (Goyal et al. 2021, sections 2.1 to 2.5).

K modules with states h[k], cells c[k]; P input slots x[p] and a null slot whose key and value are 0. At each step

1. read         a[k] = softmax over {null, p} of  h[k] Wq[k] · (x[p] Wk) / √dk;  z[k] = dropout Σp a[k, p] x[p] Wv
2. select       the k modules with the lowest null attention are active; ties go to the lowest index
3. dynamics     h̃[k], c̃[k] = LSTM[k] or GRU[k] (z[k], h[k])                                   for every module
4. communicate  o[k] = attention of h̃[k] over all h̃[j], self included, every module with its own q, k, v maps;
                h̃[k] += σ(Wg o[k] + bg) tanh(dropout(Wf o[k] + bf)),  Wf, Wg, bf, bg shared by all modules
5. keep         an active module takes h̃, c̃; a resting one keeps h, c to the bit

Source: the steps of the authors' code (event_based), which the published numbers came from. Where it differs from
the paper's text: resting modules offer their hypothetical h̃, not h, in step 4, and no gradient flows back into them
there; the exchange is gated. Where we differ from that code: key and value maps are shared over slots (the same
function for one slot), the block-sparse dense matrices are K small ones, and ties are settled by index.

With one slot the softmax is a sigmoid and z[k] = a[k] x Wv, so the maps from the input to scores and gates are
applied to all T steps before the loop. This is exact, dropout included, since its mask needs no state.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.core import Core, Trace, batch_of
from videopred.models.grouped import GroupedLinear
from videopred.models.recurrent import gru_update, lstm_update
from videopred.models.settings import RIMsConfig


class RIMs(Core):
    """State: (hidden, cell), each (B, K, D); with GRU dynamics the cell is the empty tuple.

    Trace: `active` (B, K) bool, which modules updated; `null_attention` (B, K) in [0, 1], mean over heads.
    """

    trace_axes: Mapping[str, str] = {"active": "K", "null_attention": "K"}

    def __init__(self, config: RIMsConfig, features: int):
        super().__init__()
        self.config = config
        self.rows, self.units = config.modules, config.units
        heads, modules, units = config.input_heads, config.modules, config.units
        # The authors own one dense LSTM over all units, hence a bound by the total width.
        bound = 1 / math.sqrt(modules * units)
        gates = (4 if config.cell == "lstm" else 3) * units

        self.input_key = nn.Linear(features, heads * config.input_key, bias=False)
        self.input_value = nn.Linear(features, config.input_value, bias=False)
        nn.init.normal_(self.input_key.weight, std=0.01)
        nn.init.normal_(self.input_value.weight, std=0.01)
        self.query = GroupedLinear(modules, units, heads * config.input_key)

        self.input_gates = GroupedLinear(modules, config.input_value, gates, bound)
        self.state_gates = GroupedLinear(modules, units, gates, bound)
        self.input_bias = nn.Parameter(torch.empty(modules, gates).uniform_(-bound, bound))
        self.state_bias = nn.Parameter(torch.empty(modules, gates).uniform_(-bound, bound))

        width = config.comm_heads * (2 * config.comm_key + config.comm_value)
        self.comm = GroupedLinear(modules, units, width)  # queries, keys, values side by side
        self.message = nn.Linear(config.comm_heads * config.comm_value, 2 * units)  # Wf and Wg side by side

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> tuple[Tensor, Any]:
        """Zeros."""
        zeros = batch_of(self, (batch, self.rows, self.units))
        return zeros, (zeros if self.config.cell == "lstm" else ())

    def project(self, slots: Tensor) -> Sequence[tuple[Tensor, Tensor]]:
        """T pairs for `_read_vector` (one slot) or `_read_map` (several)."""
        slots = slots.transpose(0, 1)  # (T, B, L, features)
        keys, values = self.input_key(slots), self.input_value(slots)
        if slots.shape[2] > 1:
            return list(zip(keys.unbind(0), values.unbind(0), strict=True))
        return self._project_vector(keys.squeeze(2), values.squeeze(2))

    def _project_vector(self, keys: Tensor, values: Tensor) -> Sequence[tuple[Tensor, Tensor]]:
        """Fold queries into keys and gate maps into values, for all T at once.

        Args:
            keys: (T, B, heads * key). values: (T, B, value).

        Returns:
            T pairs: what the state is multiplied with to get scores, (B, K, heads, D), and what the attention scales
            to get the input's share of the gates, (K, heads, B, gates).
        """
        config, (steps, batch, _) = self.config, keys.shape
        heads, modules = config.input_heads, config.modules
        keys = keys.unflatten(-1, (heads, -1))
        query = self.query.weight.unflatten(-1, (heads, -1))  # (K, D, heads, key)
        scorers = torch.einsum("tbhe,kdhe->tbkhd", keys, query)

        values = values.unsqueeze(0).expand(modules, -1, -1, -1)  # (K, T, B, value)
        values = functional.dropout(values, config.dropout, self.training)
        values = values.unflatten(-1, (heads, -1)).movedim(3, 1).reshape(modules * heads, steps * batch, -1)
        weight = self.input_gates.weight.unflatten(1, (heads, -1)).flatten(0, 1)  # (K heads, value / heads, gates)
        gates = torch.bmm(values, weight).unflatten(1, (steps, batch)).unflatten(0, (modules, heads))
        return list(zip(scorers.unbind(0), gates.unbind(2), strict=True))

    def advance(
        self, projected: tuple[Tensor, Tensor], state: tuple[Tensor, Any]
    ) -> tuple[Tensor, tuple[Tensor, Any], Trace]:
        hidden, cell = state
        read = self._read_vector if projected[0].dim() == 4 else self._read_map
        null_attention, from_input = read(*projected, hidden)
        active = lowest(null_attention, self.config.active)
        keep = active.unsqueeze(-1)

        from_input = from_input + self.input_bias
        from_state = self.state_gates(hidden) + self.state_bias
        if self.config.cell == "lstm":
            candidate, new_cell = lstm_update(from_input + from_state, cell)
            cell = torch.where(keep, new_cell, cell)
        else:
            candidate = gru_update(from_input, from_state, hidden)
        candidate = candidate + self._communicate(torch.where(keep, candidate, candidate.detach()))
        hidden = torch.where(keep, candidate, hidden)
        return hidden, (hidden, cell), {"active": active, "null_attention": null_attention}

    def _read_vector(self, scorers: Tensor, gates: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Null attention (B, K) and the input's share of the gates (B, K, gates), from one slot."""
        scores = (hidden.unsqueeze(2) * scorers).sum(-1) / math.sqrt(self.config.input_key)  # (B, K, heads)
        attention = torch.sigmoid(scores).permute(1, 2, 0).unsqueeze(-1)
        return torch.sigmoid(-scores).mean(-1), (attention * gates).sum(1).transpose(0, 1)

    def _read_map(self, keys: Tensor, values: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """The same from keys (B, L, heads * key) and values (B, L, value) of several slots."""
        heads = self.config.input_heads
        query, keys, values = (x.unflatten(-1, (heads, -1)) for x in (self.query(hidden), keys, values))
        scores = torch.einsum("bkhe,blhe->bkhl", query, keys) / math.sqrt(self.config.input_key)
        scores = functional.pad(scores, (1, 0))  # the null slot's key is 0, so is its score
        attention = torch.softmax(scores, -1)
        read = torch.einsum("bkhl,blhv->bkhv", attention[..., 1:], values).flatten(2)
        read = functional.dropout(read, self.config.dropout, self.training)
        return attention[..., 0].mean(2), self.input_gates(read)

    def _communicate(self, source: Tensor) -> Tensor:
        """What each module hears from all of them: (B, K, D) -> (B, K, D)."""
        config = self.config
        sizes = [config.comm_key, config.comm_key, config.comm_value]
        parts = self.comm(source).split([config.comm_heads * size for size in sizes], -1)
        query, key, value = (part.unflatten(-1, (config.comm_heads, -1)).transpose(1, 2) for part in parts)
        heard = functional.scaled_dot_product_attention(query, key, value)  # (B, heads, K, value)
        message, gate = self.message(heard.transpose(1, 2).flatten(2)).chunk(2, -1)
        return torch.sigmoid(gate) * torch.tanh(functional.dropout(message, config.dropout, self.training))


def lowest(scores: Tensor, count: int) -> Tensor:
    """A mask (B, K) of the `count` lowest scores of each row; ties go to the lowest index."""
    order = torch.sort(scores.detach(), dim=-1, stable=True).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, order[..., :count], True)
