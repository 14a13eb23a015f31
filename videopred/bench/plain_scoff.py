"""SCOFF as one writes it first, for benchmarks and as a reference: one step, one file, one schema at a time."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred import check
from videopred.models.scoff import SCOFF
from videopred.models.scoff_settings import SCOFFConfig

_SIZES = {"files", "schemata", "units", "input_heads", "input_key", "input_value", "schema_key"}
_SIZES |= {"comm_heads", "comm_key", "comm_value", "dropout", "reads", "start"}


class PlainSCOFF(nn.Module):
    """Algorithm 1 of the SCOFF paper, with weights copied from a core that uses none of its options.

    Raises:
        ValueError: the core's settings are not those of the algorithm.
    """

    def __init__(self, core: SCOFF):
        super().__init__()
        self.config = config = core.config
        options = set(SCOFFConfig.model_fields) - _SIZES
        used = sorted(name for name in options if getattr(config, name) != SCOFFConfig.model_fields[name].default)
        check.require(not used, "core", "use no option of SCOFF", ", ".join(used), "build it with its sizes alone")
        keys_and_values = core.input_map.weight.unflatten(0, (config.input_heads, -1))
        keys, values = keys_and_values.split([config.input_key, config.input_value], 1)
        self.input_query = _linear(core.input_query.weight)
        self.input_key, self.input_value = _linear(keys.flatten(0, 1)), _linear(values.flatten(0, 1))
        self.schemata = nn.ModuleList(_schema(core, j) for j in range(config.schemata))
        self.schema_query, self.schema_key = _linear(core.schema_query.weight), _linear(core.schema_key.weight)
        keys_and_values = core.communication.map.weight.unflatten(0, (config.comm_heads, -1))
        keys, values = keys_and_values.split([config.comm_key, config.comm_value], 1)
        self.comm_query, self.message = (
            _linear(core.communication.query.weight),
            _linear(core.communication.message.weight),
        )
        self.comm_key, self.comm_value = _linear(keys.flatten(0, 1)), _linear(values.flatten(0, 1))

        self.start_mean, self.start_scale = (
            nn.Parameter(core.start_mean.detach()),
            nn.Parameter(core.start_scale.detach()),
        )

    def initial_state(self, batch: int) -> Tensor:
        """The files' first states (B, K, D), drawn."""
        return self.start_mean + self.start_scale * torch.randn(batch, self.config.files, self.config.units)

    def project(self, slots: Tensor) -> Sequence[Tensor]:
        """Nothing is done once a sequence."""
        return slots.unbind(1)

    def advance(self, slots: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """One step, as a core's."""
        hidden = self.step(slots, hidden)
        return hidden, hidden, {}

    def forward(self, slots: Tensor, hidden: Tensor) -> Tensor:
        """All states (B, T, K, D) from slots (B, T, L, features) and the first states (B, K, D)."""
        outputs = []
        for t in range(slots.shape[1]):
            hidden = self.step(slots[:, t], hidden)
            outputs.append(hidden)
        return torch.stack(outputs, 1)

    def step(self, slots: Tensor, hidden: Tensor) -> Tensor:
        """The next states (B, K, D) from slots (B, L, features) and states (B, K, D)."""
        read = self._read(slots, hidden)
        new = torch.stack([self._update(read[:, k], hidden[:, k]) for k in range(hidden.shape[1])], 1)
        return new + self._hear(hidden, new)

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


def _schema(core: SCOFF, j: int) -> nn.GRUCell:
    """Schema j of a core as a cell of torch's."""
    layers = {"ih": core.input_gates, "hh": core.state_gates}
    cell = nn.GRUCell(core.input_gates.in_features, core.units)
    for name, layer in layers.items():
        for part, values in (("weight", layer.weight), ("bias", layer.bias)):
            own = values.detach().unflatten(0, (core.config.schemata, -1))[j]
            setattr(cell, f"{part}_{name}", nn.Parameter(own.clone()))
    return cell
