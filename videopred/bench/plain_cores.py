"""RIMs and BRIMs as plainly as possible, one module after the other; our cores are measured and tested against them.

As in the published code, the recurrent weights of all modules stand in one dense matrix, whose entries between
modules are set to zero before every sequence. Nothing is shared with videopred.models: the equations are written out
again, so that an error would have to be made twice. Default settings only, with either cell and any number of heads.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class PlainLayer(nn.Module):
    """One layer of modules that reads a null slot and some others, each through maps of its own.

    Args:
        config: settings of `rims` or of `brims`, for what is the same in all layers.
        modules: how many modules it has.
        active: how many of them update at a step.
        units: width of a module's state.
        widths: width of each slot.
    """

    def __init__(self, config: Any, modules: int, active: int, units: int, widths: Sequence[int]):
        super().__init__()
        self.config, self.rows, self.active, self.units = config, modules, active, units
        heads, comm_heads = config.input_heads, config.comm_heads

        def weights(count: int, *shape: int) -> nn.ParameterList:
            return nn.ParameterList(0.01 * torch.randn(*shape) for _ in range(count))

        self.query = weights(modules, units, heads * config.input_key)
        self.key = nn.ParameterList(0.01 * torch.randn(width, heads * config.input_key) for width in widths)
        self.value = nn.ParameterList(0.01 * torch.randn(width, 4 * units) for width in widths)
        cell = nn.LSTMCell if config.cell == "lstm" else nn.GRUCell
        self.cell = cell(modules * 4 * units, modules * units)
        self.comm_query = weights(modules, units, comm_heads * config.comm_key)
        self.comm_key = weights(modules, units, comm_heads * config.comm_key)
        self.comm_value = weights(modules, units, comm_heads * config.comm_value)
        self.message = nn.Linear(comm_heads * config.comm_value, units)
        self.gate = nn.Linear(comm_heads * config.comm_value, units)

    def zero_between_modules(self) -> None:
        """Cut the dense recurrent matrices down to their blocks."""
        gates = 4 if self.config.cell == "lstm" else 3
        for weight, width in ((self.cell.weight_ih, 4 * self.units), (self.cell.weight_hh, self.units)):
            block = torch.block_diag(*[weight.new_ones(self.units, width)] * self.rows)
            weight.data.mul_(block.repeat(gates, 1))

    def initial_state(self, batch: int) -> tuple[Tensor, Tensor]:
        """Zeros (batch, modules, units), twice."""
        zeros = self.gate.bias.new_zeros(batch, self.rows, self.units)
        return zeros, zeros

    def step(self, slots: Sequence[Tensor], state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The next state from the slots, each (batch, width)."""
        hidden, cell = state
        read, null = self._read(slots, hidden)
        resting = null.sort(dim=1, stable=True).indices[:, self.active :]
        mask = torch.ones_like(null).scatter(1, resting, 0).unsqueeze(-1)
        flat = [part.flatten(1) for part in (read, hidden, cell)]
        if self.config.cell == "lstm":
            new, new_cell = self.cell(flat[0], (flat[1], flat[2]))
            cell = mask * new_cell.view_as(cell) + (1 - mask) * cell
        else:
            new = self.cell(flat[0], flat[1])
        new = new.view_as(hidden)
        offered = mask * new + (1 - mask) * new.detach()
        new = new + self._hear(offered)
        return mask * new + (1 - mask) * hidden, cell

    def _read(self, slots: Sequence[Tensor], hidden: Tensor) -> tuple[Tensor, Tensor]:
        """What each module reads (batch, modules, 4 units), and its attention on the null slot."""
        heads = self.config.input_heads
        keys = [slot @ weight for slot, weight in zip(slots, self.key, strict=True)]
        values = [slot @ weight for slot, weight in zip(slots, self.value, strict=True)]
        keys = torch.stack([torch.zeros_like(keys[0]), *keys], 1).unflatten(-1, (heads, -1))
        values = torch.stack([torch.zeros_like(values[0]), *values], 1).unflatten(-1, (heads, -1))
        reads, nulls = [], []
        for k in range(self.rows):
            query = (hidden[:, k] @ self.query[k]).unflatten(-1, (heads, -1))
            scores = torch.einsum("bhe,bshe->bhs", query, keys) / math.sqrt(self.config.input_key)
            attention = scores.softmax(-1)
            reads.append(torch.einsum("bhs,bshv->bhv", attention, values).flatten(1))
            nulls.append(attention[:, :, 0].mean(1))
        read = functional.dropout(torch.stack(reads, 1), self.config.dropout, self.training)
        return read, torch.stack(nulls, 1)

    def _hear(self, offered: Tensor) -> Tensor:
        """The message to each module, (batch, modules, units)."""
        heads = self.config.comm_heads

        def mapped(weights: nn.ParameterList) -> Tensor:
            rows = [offered[:, k] @ weight for k, weight in enumerate(weights)]
            return torch.stack(rows, 1).unflatten(-1, (heads, -1))

        queries, keys, values = map(mapped, (self.comm_query, self.comm_key, self.comm_value))
        messages = []
        for k in range(self.rows):
            scores = torch.einsum("bhe,bjhe->bhj", queries[:, k], keys) / math.sqrt(self.config.comm_key)
            heard = torch.einsum("bhj,bjhv->bhv", scores.softmax(-1), values).flatten(1)
            message = functional.dropout(self.message(heard), self.config.dropout, self.training)
            messages.append(torch.sigmoid(self.gate(heard)) * torch.tanh(message))
        return torch.stack(messages, 1)


class PlainRIMs(nn.Module):
    """RIMs as a core: it can be unrolled like ours.

    Args:
        config: settings of `rims`.
        features: width of the one slot.
    """

    def __init__(self, config: Any, features: int):
        super().__init__()
        self.layer = PlainLayer(config, config.modules, config.active, config.units, [features])

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Any:
        return self.layer.initial_state(batch)

    def project(self, slots: Tensor) -> Sequence[Tensor]:
        """What is done once a sequence; no work of the steps."""
        self.layer.zero_between_modules()
        return slots.unbind(1)

    def advance(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any, dict[str, Tensor]]:
        state = self.layer.step([inputs[:, 0]], state)
        return state[0], state, {}


class PlainBRIMs(nn.Module):
    """BRIMs as a core whose output is the lowest layer's.

    Args:
        config: settings of `brims`.
        features: width of the one slot.
        top_down: whether a layer reads the one above; without, this is hierarchical RIMs.
    """

    def __init__(self, config: Any, features: int, top_down: bool = True):
        super().__init__()
        self.top_down = top_down
        sizes = list(zip(config.modules, config.active, config.units, strict=True))
        flat = [features, *(modules * units for modules, _, units in sizes)]
        above = [flat[level + 2 : level + 3] if top_down else [] for level in range(len(sizes))]
        self.layers: Any = nn.ModuleList(
            PlainLayer(config, *size, [flat[level], *above[level]]) for level, size in enumerate(sizes)
        )

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Any:
        return tuple(layer.initial_state(batch) for layer in self.layers)

    def project(self, slots: Tensor) -> Sequence[Tensor]:
        """What is done once a sequence; no work of the steps."""
        for layer in self.layers:
            layer.zero_between_modules()
        return slots.unbind(1)

    def advance(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any, dict[str, Tensor]]:
        lower, new = inputs[:, 0], []
        for level, layer in enumerate(self.layers):
            above = [hidden.flatten(1) for hidden, _ in state[level + 1 : level + 2]] if self.top_down else []
            new.append(layer.step([lower, *above], state[level]))
            lower = new[-1][0].flatten(1)
        return new[0][0], tuple(new), {}


def plain_rims(core: Any) -> PlainRIMs:
    """A plain `rims`, with the weights of one of ours."""
    return with_weights_of(PlainRIMs(core.config, core.input_size), core)


def plain_brims(core: Any) -> PlainBRIMs:
    """A plain `brims`, with the weights of one of ours."""
    return with_weights_of(PlainBRIMs(core.config, core.input_size), core)


def with_weights_of(plain: Any, core: Any) -> Any:
    """The plain core with the weights of one of ours that has the same settings."""
    if isinstance(plain, PlainRIMs):
        _fill(plain.layer, core.reading, core.layer, [core.reading.key.weight.T], [core.reading.value.weight.T])
        return plain
    for ours, reading, layer in zip(plain.layers, core.readings, core.layers, strict=True):
        sources = [reading.below] if reading.above is None else [reading.below, reading.above]
        # Rows of ours: for each head its key, then its value.
        parts = [source.weight.unflatten(0, (reading.heads, -1)).split(reading.sizes, 1) for source in sources]
        _fill(ours, reading, layer, *([part[i].flatten(0, 1).T for part in parts] for i in (0, 1)))
    return plain


@torch.no_grad()
def _fill(plain: PlainLayer, reading: Any, layer: Any, keys: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Write the weights of one of our layers into a plain one."""
    communication = layer.communication
    comm = communication.attend.weight.unflatten(-1, (communication.heads, -1)).split(communication.sizes, -1)
    message, gate = communication.message.weight.chunk(2)
    message_bias, gate_bias = communication.message.bias.chunk(2)
    lists: list[tuple[Any, Any]] = [(plain.key, keys), (plain.value, values), (plain.query, reading.query.weight)]
    lists += zip((plain.comm_query, plain.comm_key, plain.comm_value), (part.flatten(2) for part in comm), strict=True)
    for targets, sources in lists:
        for target, source in zip(targets, sources, strict=True):
            target.copy_(source)
    cell = plain.cell
    for dense, blocks in ((cell.weight_ih, reading.gates.weight), (cell.weight_hh, layer.state_gates.weight)):
        gates = blocks.shape[-1] // plain.units
        # Dense rows: for each gate, all modules' units.
        by_gate = blocks.unflatten(-1, (gates, -1)).permute(2, 0, 3, 1)
        dense.copy_(torch.cat([torch.block_diag(*gate) for gate in by_gate]))
    for flat, bias in ((cell.bias_ih, layer.input_bias), (cell.bias_hh, layer.state_bias)):
        flat.copy_(bias.unflatten(-1, (-1, plain.units)).transpose(0, 1).flatten())
    for linear, weight, bias in ((plain.message, message, message_bias), (plain.gate, gate, gate_bias)):
        linear.weight.copy_(weight)
        linear.bias.copy_(bias)
