"""How the modules of RIMs read their input: step 1, in forms that do as little as possible at each step.

Each reading has `project`, which sees all T steps at once, and `forward`, which from one entry of it and the hidden
states makes a `Read`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.check import require
from videopred.models.attention import sparsified, unheard
from videopred.models.core import Trace
from videopred.models.dropout import dropout_mask, dropout_masks
from videopred.models.grouped import GroupedLinear
from videopred.models.modular import Read, bound_of, gates_of
from videopred.models.modular_settings import RIMsConfig
from videopred.models.precision import widened
from videopred.models.recurrent import one_vector


def reading_of(config: RIMsConfig, features: int) -> "_Reading":
    """The reading that the settings ask for."""
    if not config.attends:
        return ReadEvenly(config, features)
    return ReadMap(config, features) if config.reads == "map" else ReadVector(config, features)


def _map_of_slots(config: RIMsConfig, features: int, outputs: int, gain: float = 1.0) -> nn.Linear:
    """Keys or values of slots, without bias, its weights as the settings ask: the authors', or `gain` times torch's."""
    linear = nn.Linear(features, outputs, bias=False)
    with torch.no_grad():
        if config.gain is None:
            linear.weight.normal_(std=0.01)
        else:
            linear.weight *= gain
    return linear


class _Reading(nn.Module, ABC):
    """What all readings have: values of the slots, and the maps from them to each module's gates."""

    def __init__(self, config: RIMsConfig, features: int):
        super().__init__()
        modules, units = config.modules, config.units
        self.config, self.heads = config, config.input_heads
        self.value = _map_of_slots(config, features, config.input_value)
        self.gates = GroupedLinear(modules, config.input_value, gates_of(config, units), bound_of(modules, units))
        self.trace_axes: dict[str, str] = {}

    @abstractmethod
    def project(self, slots: Tensor) -> Sequence[Any]:
        """(B, T, L, features) -> T entries for `forward`."""

    @abstractmethod
    def forward(self, projected: Any, hidden: Tensor, silent: Tensor | None = None) -> Read:
        """What modules with the hidden states (B, K, D) read, while those of a mask (K,) compete for nothing."""

    def _vectors(self, slots: Tensor) -> Tensor:
        """(B, T, L, features) -> what modules read, (T, B, 1, features) if all read the same, (T, B, K, features) if
        each has a strip of its own.

        Raises:
            ValueError: there are fewer or more slots.
        """
        modules = self.config.modules
        if self.config.reads != "strips":
            return one_vector(slots).unsqueeze(2)
        must, fix = f"be {modules} per step, one for each module", "give as many, or take another --core.reads"
        require(slots.shape[2] == modules, "slots", must, f"L = {slots.shape[2]}", fix)
        return slots.transpose(0, 1)

    def _gates_of_heads(self, vectors: Tensor) -> Tensor:
        """(T, B, 1 or K, features) -> what each head's value adds to the gates, (K, heads, T, B, gates), dropout
        included."""
        config, heads = self.config, self.heads
        values = self.value(vectors).movedim(2, 0).expand(config.modules, -1, -1, -1)  # (K, T, B, value)
        if self.training and config.dropout > 0:
            values = values * dropout_mask(config.dropout, values, *values.shape)
        values = values.unflatten(-1, (heads, -1)).movedim(3, 1).flatten(0, 1).flatten(1, 2)
        weight = self.gates.weight.unflatten(1, (heads, -1)).flatten(0, 1)  # (K heads, value / heads, gates)
        gates = torch.bmm(values, weight)
        return gates.unflatten(1, vectors.shape[:2]).unflatten(0, (config.modules, heads))


class ReadEvenly(_Reading):
    """No attention: every module reads its strip, or else the mean of the slots, x̄ Wv: all is done before the loop."""

    def project(self, slots: Tensor) -> Sequence[Any]:
        """(B, T, L, features) -> T entries, the gates (B, K, gates)."""
        vectors = self._vectors(slots.mean(2, keepdim=True) if self.config.reads == "map" else slots)
        return self._gates_of_heads(vectors).sum(1).permute(1, 2, 0, 3).unbind(0)

    def forward(self, projected: Any, hidden: Tensor, silent: Tensor | None = None) -> Read:
        return Read(None, projected, {})


class _Attention(_Reading):
    """What readings with attention have besides: keys of the slots, queries of the modules."""

    def __init__(self, config: RIMsConfig, features: int):
        super().__init__(config, features)
        self.among_modules = config.competition == "modules"
        keys, gain = self.heads * config.input_key, config.gain
        self.key = _map_of_slots(config, features, keys, gain or 1)
        bound = None if gain is None else gain / math.sqrt(config.units)
        self.query = GroupedLinear(config.modules, config.units, keys, bound)
        self.with_null = config.null_slot and not self.among_modules
        self.trace_axes = {"input_attention": "heads K L"} | ({"null_attention": "K"} if self.with_null else {})

    def _compete(self, scores: Tensor, silent: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attention (B, K, heads, …) whose softmax runs over modules, and the choice by it, (B, K)."""
        attention = torch.softmax(unheard(widened(scores), silent, 1), 1)
        return sparsified(attention, self.config.active, 1, silent), -attention.flatten(2).mean(-1)


class ReadVector(_Attention):
    """One slot and null: a softmax over two is a sigmoid, and scales what the slot adds to the gates. Of strips, too,
    each module has but its own to read."""

    def project(self, slots: Tensor) -> Sequence[Any]:
        """(B, T, 1 or K, features) -> T pairs: what the states are multiplied with to get scores, (B, K, heads, D), and
        what the attention scales to get the input's share of the gates, (K, heads, B, gates)."""
        vectors, heads, scale = self._vectors(slots), self.heads, self.config.input_key**-0.5
        # Beside a null slot the scores are wanted with the other sign: see `forward`.
        query = self.query.weight.unflatten(-1, (heads, -1)) * (-scale if self.with_null else scale)
        scorers = torch.einsum("tbkhe,kdhe->tbkhd", self.key(vectors).unflatten(-1, (heads, -1)), query)
        return list(zip(scorers.unbind(0), self._gates_of_heads(vectors).unbind(2), strict=True))

    def forward(self, projected: Any, hidden: Tensor, silent: Tensor | None = None) -> Read:
        scorers, gates = projected
        scores = (hidden.unsqueeze(2) * scorers).sum(-1)  # (B, K, heads)
        trace: Trace = {}
        if self.among_modules:
            attention, choice = self._compete(scores, silent)
        else:
            # They come as −s: this is σ(−s), where 1 − σ(s) would lose what tells small null attentions apart.
            null = torch.sigmoid(widened(scores))
            attention, choice = 1 - null, null.mean(-1)
            trace["null_attention"] = choice
        trace["input_attention"] = attention.transpose(1, 2).unsqueeze(-1)
        gates = attention.to(gates.dtype).permute(1, 2, 0).unsqueeze(-1) * gates
        gates = gates.squeeze(1) if self.heads == 1 else gates.sum(1)
        return Read(choice, gates.transpose(0, 1), trace)


class ReadMap(_Attention):
    """Many slots: with x Wk and x Wv being linear, the few queries go to the slots' features and back, not the many
    slots to keys and values."""

    def project(self, slots: Tensor) -> Sequence[Any]:
        """(B, T, L, features) -> T entries: the slots of a step, null first; the queries' maps, scaled,
        (K, D, heads · features); and dropout's mask of what is read."""
        config, (batch, steps) = self.config, slots.shape[:2]
        slots = functional.pad(slots, (0, 0, 1, 0)) if self.with_null else slots
        key = self.key.weight.unflatten(0, (self.heads, -1)) * self.config.input_key**-0.5  # (heads, key, features)
        query = self.query.weight.unflatten(-1, (self.heads, -1))
        maps = torch.einsum("kdhe,hef->kdhf", query, key).flatten(2)
        masks = dropout_masks(self, config.dropout, maps, steps, batch, config.modules, config.input_value)
        return [(step, maps, mask) for step, mask in zip(slots.unbind(1), masks, strict=True)]

    def forward(self, projected: Any, hidden: Tensor, silent: Tensor | None = None) -> Read:
        slots, maps, mask = projected
        heads, batch = self.heads, len(slots)
        query = torch.bmm(hidden.transpose(0, 1), maps).transpose(0, 1).unflatten(-1, (heads, -1))
        scores = torch.bmm(query.flatten(1, 2), slots.transpose(1, 2)).unflatten(1, (-1, heads))  # (B, K, heads, L)
        if self.among_modules:
            attention, choice = self._compete(scores, silent)
        else:
            attention, choice = torch.softmax(widened(scores), -1), None
        trace = {"input_attention": attention.transpose(1, 2)}
        if self.with_null:
            choice = trace["null_attention"] = attention[..., 0].mean(-1)
            trace["input_attention"] = trace["input_attention"][..., 1:]
        read = torch.bmm(attention.to(slots.dtype).flatten(1, 2), slots).view(batch, -1, heads, slots.shape[-1])
        value = self.value.weight.unflatten(0, (heads, -1))
        read = torch.einsum("bkhf,hvf->bkhv", read, value).flatten(2)
        return Read(choice, self.gates(read if mask is None else read * mask), trace)
