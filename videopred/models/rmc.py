"""The relational memory core: RMC (Santoro et al. 2018), in the form of its authors' library, Sonnet 1.

K rows of memory M[k], as wide as all heads together. At each step, with the input as one more row, ξ = x Wx + bx:

1. attend   m = rows of M, and ξ; then, once a block,
            q, k, v of every head = LN(m W + b);  o = softmax over rows of (q · k / √dk), times v, heads side by side
            m ← LN(m + o);  m ← LN(m + MLP(m)),  ReLU between the MLP's layers and not behind the last
2. gate     i, f = tanh(M) Wm + bm + ξ Wi + bi;   M' = σ(i) tanh(m) + σ(f + 1) M,  m without the input's row

LN normalises each row by itself. Gates are as wide as a row (`unit`), one for each row (`memory`), or absent (`none`):
M' = m. Every block has its own W and norms; all share one MLP. The first memory is the identity, filled with zeros to
the rows' width, so that rows differ; so there are no more of them than that (Sonnet takes more, which stay alike).

Source: the equations of Sonnet's relational_memory.py, to which the paper refers for details (section 3.3). Where it
differs from the paper's text: the memory does not start at random (3.2); the input's row asks, too (eq. 2), which shows
with several blocks alone; gates see tanh M for h, there is no output gate (eqs. 3 to 9, which call it unnecessary), and
what is let in passes a tanh (eq. 7). A well-known PyTorch port normalises over all rows together and so tells them
apart by their place. Until November 2018, the time of the paper's runs, Sonnet divided by √(2 dk + dv).
"""

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.attention import heads_together, per_head, unheard
from videopred.models.core import Core, Trace
from videopred.models.recurrent import one_vector
from videopred.models.rival_settings import RMCConfig


class RMC(Core):
    """State: the memory, (B, K, D).

    Trace, from the first block: `input_attention` (B, heads, K, 1) and `comm_attention` (B, heads, K, K), the shares
    of the input and of the rows in what each row attends to; together they sum to 1.
    """

    trace_axes: Mapping[str, str] = {"input_attention": "heads K L", "comm_attention": "heads K K"}

    def __init__(self, config: RMCConfig, features: int):
        super().__init__()
        self.config, self.state_rows = config, (config.rows,)
        self.rows, self.units = config.rows, config.heads * config.head_size
        self.input = nn.Linear(features, self.units)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.blocks))
        layers: list[nn.Module] = [nn.Linear(self.units, self.units)]
        for _ in range(config.mlp_layers - 1):
            layers += [nn.ReLU(), nn.Linear(self.units, self.units)]
        self.mlp = nn.Sequential(*layers)
        if config.gate != "none":
            gates = 2 * (self.units if config.gate == "unit" else 1)
            self.memory_gates, self.input_gates = nn.Linear(self.units, gates), nn.Linear(self.units, gates)
        self.apply(initialise)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Tensor:
        """The identity."""
        like = self.input.weight
        return torch.eye(self.rows, self.units, dtype=like.dtype, device=like.device).repeat(batch, 1, 1)

    def given_out(self, state: Tensor) -> Tensor:
        return state

    def project(self, slots: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
        """The input's row (B, 1, D) and its share of the gates, step by step."""
        row = self.input(one_vector(slots)).unsqueeze(2)  # (T, B, 1, D)
        gates = row if self.config.gate == "none" else self.input_gates(row)
        return zip(row.unbind(0), gates.unbind(0), strict=True)

    def advance(
        self, projected: tuple[Tensor, Tensor], state: Tensor, silent: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Trace]:
        row, from_input = projected
        silent = None if silent is None else functional.pad(silent, (0, 1))  # the input's row is always heard
        lowest, *others = self.blocks
        attended, first = lowest(torch.cat([state, row], 1), self.mlp, silent)
        for block in others:
            attended, _ = block(attended, self.mlp, silent)
        attended = attended[:, :-1]
        if self.config.gate == "none":
            memory = attended
        else:
            i, f = (self.memory_gates(torch.tanh(state)) + from_input).chunk(2, -1)
            memory = torch.sigmoid(i) * torch.tanh(attended) + torch.sigmoid(f + 1) * state
        heard = first[:, :, :-1]
        return memory, memory, {"input_attention": heard[..., -1:], "comm_attention": heard[..., :-1]}


class Block(nn.Module):
    """One round of attention among rows, and the norms around the MLP that all blocks share."""

    def __init__(self, config: RMCConfig):
        super().__init__()
        self.heads, self.sizes = config.heads, [config.key, config.key, config.head_size]
        units, width = config.heads * config.head_size, config.heads * sum(self.sizes)
        self.maps, self.maps_norm = nn.Linear(units, width), nn.LayerNorm(width)  # queries, keys and values, by head
        self.attention_norm, self.mlp_norm = nn.LayerNorm(units), nn.LayerNorm(units)

    def forward(self, rows: Tensor, mlp: nn.Module, silent: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The rows (B, N, D) afterwards, and attention (B, heads, N, N); nobody attends to those of a mask (N,)."""
        maps = per_head(self.maps_norm(self.maps(rows)), self.heads)
        query, key, value = maps.split(self.sizes, -1)
        scores = torch.bmm(query / math.sqrt(self.sizes[0]), key.transpose(1, 2))
        attention = torch.softmax(unheard(scores, silent, -1), -1)
        rows = self.attention_norm(rows + heads_together(torch.bmm(attention, value), self.heads))
        return self.mlp_norm(rows + mlp(rows)), attention.unflatten(0, (-1, self.heads))


def initialise(layer: nn.Module) -> None:
    """Sonnet's weights: normal with variance 1 / inputs, cut at two standard deviations; no bias."""
    if isinstance(layer, nn.Linear):
        deviation = 1 / math.sqrt(layer.in_features)
        nn.init.trunc_normal_(layer.weight, std=deviation, a=-2 * deviation, b=2 * deviation)
        nn.init.zeros_(layer.bias)
