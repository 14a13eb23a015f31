"""How the modules of one layer of a stack read the layers next to it (BRIMs paper, section 3.2)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from videopred.models.attention import heads_together, per_head, softmax_over_few, unheard
from videopred.models.core import Trace
from videopred.models.dropout import dropout_masks
from videopred.models.grouped import GroupedLinear
from videopred.models.modular import Read, bound_of, gates_of
from videopred.models.modular_settings import StackSettings
from videopred.models.precision import widened


class Asking(NamedTuple):
    """What a reading needs at a step and can have before the loop."""

    maps: Tensor | None
    """The queries' maps (K, D, heads · key), scaled; None if nothing is compared."""
    null: Tensor
    """Keys and values of the null slot, (1, B, heads · (key + value)); of no slot without one."""
    mask: Tensor | None
    """(B, K, heads · value), dropout of what is read."""


class ReadNeighbours(nn.Module):
    """Step 1 of RIMs, with slots from several sources that have maps to keys and values of their own.

    Slots are kept as keys and values at once, (L, B, heads · (key + value)): first the null slot, then those of the
    layer below, then those of the layer above.

    Args:
        config: heads, keys, ablations.
        below, above: features of a slot of the layer below, and of the one above if it is read.
        alone: whether there is but one slot, so that without a null slot no attention is left.
        modules: K. units: D, width of a module's state.
    """

    def __init__(self, config: StackSettings, below: int, above: int | None, alone: bool, modules: int, units: int):
        super().__init__()
        self.config, self.heads, self.rows, self.width = config, config.input_heads, modules, 4 * units
        attends = config.input_attention and (config.null_slot or not alone)
        self.with_null = attends and config.null_slot
        self.sizes = [config.input_key if attends else 0, self.width // self.heads]  # of a head's key and value
        slot = self.heads * sum(self.sizes)
        self.below = nn.Linear(below, slot, bias=False)
        self.above = None if above is None else nn.Linear(above, slot, bias=False)
        for source in (self.below, *([] if self.above is None else [self.above])):
            nn.init.normal_(source.weight, std=0.01)
        self.query = GroupedLinear(modules, units, self.heads * config.input_key) if attends else None
        self.gates = GroupedLinear(modules, self.width, gates_of(config, units), bound_of(modules, units))
        self.trace_axes = {"input_attention": "heads K L"} if attends else {}
        self.trace_axes |= {"null_attention": "K"} if self.with_null else {}
        self.trace_axes |= {"top_down": "K"} if attends and above is not None else {}

    def project(self, steps: int, batch: int) -> Sequence[Asking]:
        """What needs no state, for T steps."""
        masks = dropout_masks(self, self.config.dropout, self.below.weight, steps, batch, self.rows, self.width)
        maps = None if self.query is None else self.query.weight * self.config.input_key**-0.5
        null = self.null(batch)
        return [Asking(maps, null, mask) for mask in masks]

    def null(self, batch: int) -> Tensor:
        """Keys and values of the null slot, all 0: see `Asking`."""
        return self.below.weight.new_zeros(int(self.with_null), batch, self.heads * sum(self.sizes))

    def from_below(self, slots: Tensor, null: Tensor) -> Tensor:
        """Keys and values of the null slot, if there is one, and of slots (…, L, B, features) of the layer below."""
        found = self.below(slots)
        return torch.cat([null.expand(*found.shape[:-3], -1, -1, -1), found], -3)

    def forward(
        self,
        asking: Asking,
        below: Tensor,
        above: Tensor | None,
        hidden: Tensor,
        silent: Tensor | None = None,
    ) -> Read:
        """What modules read.

        Args:
            asking: an entry of `project`.
            below: what `from_below` gave. above: slots (L, B, features) of the layer above. hidden: (B, K, D).
            silent: (L,) bool, slots that nobody reads: in `below` as it is given, then in `above`.
        """
        (maps, _, mask), heads = asking, self.heads
        slots = below if self.above is None or above is None else torch.cat([below, self.above(above)])
        key, value = per_head(slots.transpose(0, 1), heads).split(self.sizes, -1)
        scores: Tensor | None = None
        trace: Trace = {}
        if maps is None:
            even = torch.softmax(unheard(value.new_zeros(1, len(slots)), silent, 1), 1)
            read = (even @ value).expand(-1, self.rows, -1)
        else:
            query = per_head(torch.bmm(hidden.transpose(0, 1), maps).transpose(0, 1), heads)
            scores_of_slots = torch.bmm(key, query.transpose(1, 2))
            attention = softmax_over_few(unheard(widened(scores_of_slots), silent, 1))
            read = torch.bmm(attention.to(value.dtype), value)
            scores, trace = self._look_at(attention.unflatten(0, (-1, heads)), len(below))
        read = heads_together(read, heads, mask)
        return Read(scores, self.gates(read), trace)

    def _look_at(self, attention: Tensor, below: int) -> tuple[Tensor | None, Trace]:
        """Scores to choose by, and the trace, from the attention (B, heads, K, L), `below` slots before those above."""
        mean = attention.mean(1)
        trace = {"input_attention": attention[..., int(self.with_null) :]}
        if self.with_null:
            trace["null_attention"] = mean[..., 0]
        if self.above is not None:
            above = mean[..., below:]
            trace["top_down"] = above.sum(-1) if self.config.per_module_slots else above.squeeze(-1)
        return trace.get("null_attention"), trace
