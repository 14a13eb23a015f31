"""A causal transformer over the embeddings of past steps (Vaswani et al. 2017), the rival without a recurrent state.

A step's input becomes x Wx + bx + p(t), where t counts the steps of the clip. Then, layer by layer, on its own row and
those of the `window` steps before it,

    u ← u + dropout (MHA(LN u));  u ← u + dropout (W2 dropout (ReLU (W1 LN u + b1)) + b2)

and the output is LN u. p(t) is Vaswani's sine and cosine of t at wavelengths from 2π to 20,000π, which needs no weights
and no longest clip. Norms stand before what they feed, as now usual, which trains without a warm-up.

Source: BRIMs compares with transformers without giving sizes or details; all of it is our choice. What a step attends
to is kept as keys and values of each layer, so a rollout costs one row a step, and many steps of an unroll are
computed at once.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.core import Core, State, Trace, Unrolled
from videopred.models.recurrent import one_vector
from videopred.models.rival_settings import TransformerConfig


class Transformer(Core):
    """State: (what each layer keeps of the last `window` steps, (B, window, 2 D); how many steps there were, (B,)).

    The trace is empty: attention stays inside torch's scaled_dot_product_attention, which is what makes it fast.
    """

    def __init__(self, config: TransformerConfig, features: int):
        super().__init__()
        self.config = config
        self.rows, self.units = 1, config.units
        self.input = nn.Linear(features, config.units)
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.units)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> State:
        """Nothing seen."""
        kept = [self.input.weight.new_zeros(batch, self.config.window, 2 * self.units) for _ in self.layers]
        return tuple(kept), torch.zeros(batch, dtype=torch.int64, device=kept[0].device)

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = self.run(inputs.unsqueeze(1), state)
        return output.squeeze(1), state, trace

    def run(self, slots: Tensor, state: State) -> Unrolled:
        """All T steps of (B, T, 1, features): outputs (B, T, 1, D), the state after them, no trace.

        Those of a few windows at once: beyond, most of what all would be compared with is out of reach.
        """
        done = []
        for piece in slots.split(4 * self.config.window, 1):
            outputs, state = self._run_at_once(piece, state)
            done.append(outputs)
        return Unrolled(torch.cat(done, 1), state, {})

    def _run_at_once(self, slots: Tensor, state: State) -> tuple[Tensor, State]:
        kept, seen = state
        rows = self.input(one_vector(slots)).transpose(0, 1)
        steps = torch.arange(rows.shape[1], device=rows.device)
        rows = rows + self.positions(seen.unsqueeze(1) + steps, rows.dtype)
        mask = visible(seen, steps, self.config.window)
        new = []
        for layer, past in zip(self.layers, kept, strict=True):
            rows, past = layer(rows, past, mask)
            new.append(past)
        output = self.norm(rows).to(self.norm.weight.dtype)  # autocast leaves some norms in fewer bits
        return output.unsqueeze(2), (tuple(new), seen + len(steps))

    def positions(self, steps: Tensor, dtype: torch.dtype) -> Tensor:
        """Step numbers (…) -> sines, then cosines, at units / 2 wavelengths each: (…, D)."""
        exact = torch.promote_types(dtype, torch.float32)  # step numbers and angles outgrow half precision
        powers = torch.arange(0, self.units, 2, device=steps.device, dtype=exact) / self.units
        angles = steps.unsqueeze(-1) * 10000**-powers
        return torch.cat([angles.sin(), angles.cos()], -1)[..., : self.units].to(dtype)


class TransformerLayer(nn.Module):
    """Attention to past rows, then two linear maps of each row."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        units = config.units
        self.attention_norm, self.maps = nn.LayerNorm(units), nn.Linear(units, 3 * units)  # queries, keys, values
        self.mix = nn.Linear(units, units)
        self.hidden_norm, self.hidden = nn.LayerNorm(units), nn.Linear(units, config.hidden)
        self.back = nn.Linear(config.hidden, units)

    def forward(self, rows: Tensor, past: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The rows (B, T, D) afterwards, and the keys and values that later steps may attend to.

        Args:
            rows: (B, T, D).
            past: keys and values of the steps before, (B, window, 2 D).
            mask: who sees whom, (B, 1, T, window + T) bool.
        """
        units, heads = self.config.units, self.config.heads
        query, own = self.maps(self.attention_norm(rows)).split([units, 2 * units], -1)
        past = torch.cat([past, own], 1)
        query, key, value = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (query, *past.chunk(2, -1)))
        rate = self.config.dropout if self.training else 0.0
        heard = functional.scaled_dot_product_attention(query, key, value, mask, rate)
        rows = rows + functional.dropout(self.mix(heard.transpose(1, 2).flatten(2)), rate)
        hidden = functional.dropout(torch.relu(self.hidden(self.hidden_norm(rows))), rate)
        return rows + functional.dropout(self.back(hidden), rate), past[:, -self.config.window :]


def visible(seen: Tensor, steps: Tensor, window: int) -> Tensor:
    """Which rows each step attends to: itself and up to `window` before, (B, 1, T, window + T) bool.

    Args:
        seen: steps of each clip before these, (B,).
        steps: 0 to T − 1.
        window: rows kept of the steps before, the last of them nearest.
    """
    rows = torch.arange(-window, len(steps), device=steps.device)
    age = steps.unsqueeze(1) - rows  # (T, window + T)
    in_reach = (age >= 0) & (age <= window)
    there = rows >= -seen.unsqueeze(1)  # (B, window + T)
    return (in_reach & there.unsqueeze(1)).unsqueeze(1)
