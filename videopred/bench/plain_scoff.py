"""SCOFF as plainly as possible, one file and one schema at a time, for benchmarks and as a reference."""

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred import check
from videopred.models.scoff import SCOFF
from videopred.models.scoff_settings import SCOFFConfig

_SIZES = {
    *("files", "schemata", "units", "input_heads", "input_key", "input_value", "schema_key"),
    *("comm_heads", "comm_key", "comm_value", "dropout", "reads", "start", "input_gain", "schema_spread"),
}
"""Settings that algorithm 1 has, and those of initial weights; all others are options."""


class PlainSCOFF(nn.Module):
    """Algorithm 1 of the SCOFF paper as a core, with weights copied from one of ours that uses none of its options.

    Raises:
        ValueError: the core's settings are not those of the algorithm.
    """

    def __init__(self, core: SCOFF):
        super().__init__()
        self.config = config = core.config
        options = set(SCOFFConfig.model_fields) - _SIZES
        used = sorted(name for name in options if getattr(config, name) != SCOFFConfig.model_fields[name].default)
        check.require(not used, "core", "use no option of SCOFF", ", ".join(used), "build it with its sizes alone")
        self.input_query = _linear(core.input_query.weight)
        heads, sizes = config.input_heads, (config.input_key, config.input_value)
        self.input_key, self.input_value = _keys_and_values(core.input_map.weight, heads, sizes)
        self.schemata = nn.ModuleList(_schema(core, j) for j in range(config.schemata))
        self.schema_query, self.schema_key = _linear(core.schema_query.weight), _linear(core.schema_key.weight)
        self.comm_query = _linear(core.communication.query.weight)
        heads, sizes = config.comm_heads, (config.comm_key, config.comm_value)
        self.comm_key, self.comm_value = _keys_and_values(core.communication.map.weight, heads, sizes)
        self.message = _linear(core.communication.message.weight)
        self.start_mean, self.start_scale = copy.deepcopy(core.start_mean), copy.deepcopy(core.start_scale)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        """The files' first states (B, K, D), drawn."""
        drawn = self.start_mean.new_empty(batch, self.config.files, self.config.units).normal_(generator=generator)
        return self.start_mean + self.start_scale * drawn

    def project(self, slots: Tensor) -> Sequence[Tensor]:
        """Nothing is done once a sequence."""
        return slots.unbind(1)

    def advance(self, slots: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """The next states (B, K, D), which are also the output, from slots (B, L, features) and states (B, K, D)."""
        read = self._read(slots, hidden)
        new = torch.stack([self._update(read[:, k], hidden[:, k]) for k in range(hidden.shape[1])], 1)
        new = new + self._hear(hidden, new)
        return new, new, {}

    def _read(self, slots: Tensor, hidden: Tensor) -> Tensor:
        """What each file reads: (B, K, heads value)."""
        maps = (self.input_query(hidden), self.input_key(slots), self.input_value(slots))
        query, key, value = (_by_head(part, self.config.input_heads) for part in maps)
        attention = torch.softmax(query @ key.transpose(2, 3) / math.sqrt(self.config.input_key), 2)
        read = (attention @ value).transpose(1, 2).flatten(2)
        return functional.dropout(read, self.config.dropout, self.training)

    def _update(self, read: Tensor, hidden: Tensor) -> Tensor:
        """One file's next state (B, D), by the schema it chooses."""
        candidates = torch.stack([schema(read, hidden) for schema in self.schemata], 1)
        logits = (self.schema_key(candidates) @ self.schema_query(hidden).unsqueeze(-1)).squeeze(-1)
        if self.training:
            choice = functional.gumbel_softmax(logits, hard=True)
        else:
            soft = torch.softmax(logits, -1)
            choice = functional.one_hot(logits.argmax(-1), logits.shape[-1]) + soft - soft.detach()
        return (choice.unsqueeze(-1) * candidates).sum(1)

    def _hear(self, old: Tensor, new: Tensor) -> Tensor:
        """What each file hears from all: (B, K, D)."""
        maps = (self.comm_query(old), self.comm_key(new), self.comm_value(new))
        query, key, value = (_by_head(part, self.config.comm_heads) for part in maps)
        attention = torch.softmax(query @ key.transpose(2, 3) / math.sqrt(self.config.comm_key), -1)
        message = self.message((attention @ value).transpose(1, 2).flatten(2))
        return functional.dropout(message, self.config.dropout, self.training)


def _by_head(rows: Tensor, heads: int) -> Tensor:
    """(B, N, heads size) -> (B, heads, N, size)."""
    return rows.unflatten(-1, (heads, -1)).transpose(1, 2)


def _linear(weight: Tensor) -> nn.Linear:
    """A layer without bias that owns a copy of these weights."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    layer.weight = nn.Parameter(weight.detach().clone())
    return layer


def _keys_and_values(weight: Tensor, heads: int, sizes: tuple[int, int]) -> tuple[nn.Linear, nn.Linear]:
    """Two layers from one whose rows are, for each head, its key, then its value."""
    keys, values = weight.unflatten(0, (heads, -1)).split(sizes, 1)
    return _linear(keys.flatten(0, 1)), _linear(values.flatten(0, 1))


def _schema(core: SCOFF, j: int) -> nn.GRUCell:
    """Schema j of a core as a cell of torch's."""
    layers = {"ih": core.input_gates, "hh": core.state_gates}
    cell = nn.GRUCell(core.input_gates.in_features, core.units)
    for name, layer in layers.items():
        for part, values in (("weight", layer.weight), ("bias", layer.bias)):
            own = values.detach().unflatten(0, (core.config.schemata, -1))[j]
            setattr(cell, f"{part}_{name}", nn.Parameter(own.clone()))
    return cell
