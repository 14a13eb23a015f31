"""Schemata and object files: SCOFF (Goyal et al. 2020, algorithm 1).

K object files with states h[k], and S schemata, each the weights of one GRU (or LSTM); L input slots x[p]. No weight
belongs to a file, so files can be exchanged, and weights learned with K files run with any other number. At each step

1. read         a[k, p] = softmax over the FILES k, at every slot p, of  h[k] Wq · x[p] Wk / √dk
                z[k] = dropout Σp a[k, p] x[p] Wv                                (norm="mean": the mean over slots)
2. imagine      h̃[k, j] = GRU[j] (z[k], h[k])                                    for every file and every schema
3. choose       l[k, j] = h[k] Wq' · h̃[k, j] Wk' + Gumbel noise;  i[k] = argmax over j of l[k, j];  h'[k] = h̃[k, i[k]]
4. communicate  o[k] = attention over all files, self included: query from h[k], keys and values from h'
                h'[k] += dropout (o[k] Wo)

Step 3 is `schemata`, step 4 `file_communication`. The choice is hard forward; backward it is softmax(l / temperature),
straight through. Noise is drawn in training; in evaluation the likeliest schema is taken, unless `eval_sample`. With
`schema_comm` the choice learns through the maps of step 4, too; the pseudocode takes these by number, so it does not.

Source: the paper; the authors' code for video is not public. In later code of theirs (neural production systems)
every file gets what all files read, which breaks their exchange, and LSTM schemata are mixed softly; here the
algorithm is kept. What it leaves open, and what is taken: one key map Wk' for all schemata; temperature 1; Wo, which
the sizes in the tables imply; an LSTM's h and c come from the same schema. Files hear themselves, too, as in step 4 of
the algorithm; the text beside it speaks of others. With `active`, the files with the highest mean attention over slots
(or, as an ablation, random ones) update, in evaluation as in training, and the others keep their state to the bit; the
paper speaks of it in training alone (2.1). It speaks of typically 64×64 positions, too, while the encoder that it
names for balls (5) leaves 8×8, which we take: the sum over thousands would saturate the gates.

How weights start is not published. With those that torch draws, a model that reads 8×8 positions stays on the mean
frame: attention is even, so that all files read the same sum over positions, which hardly tells one clip from another;
and the choice, which is random until it has learned, takes another GRU at each step. So here queries and keys start
larger (`input_gain`), and schemata start alike (`schema_spread`). docs/results.md compares. With large steps and no
gates, learning is unstable from a gain of 3; the experiments, whose steps are small, have it.

Files with equal states stay equal for ever when the choice is an argmax. So the first state is drawn, mean + scale ×
normal noise, with a mean and a scale that are learned and shared by all files. In evaluation and without a generator
the noise is always the same, and the same in every clip.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.check import complaint
from videopred.models.attention import heads_together, per_head, unheard
from videopred.models.competition import RandomChoice, lowest
from videopred.models.constants import keep_constants
from videopred.models.core import Core, State, Trace
from videopred.models.dropout import dropout_masks
from videopred.models.file_communication import FileCommunication
from videopred.models.precision import widened
from videopred.models.recurrent import gru_update, lstm_update
from videopred.models.schemata import choose, pick
from videopred.models.scoff_settings import SCOFFConfig

Memory = tuple[Tensor, ...]
"""What the files keep: (h,) or (h, c), each (B, K, D)."""

_MOST_SUMMED = 64
"""Slots beyond which a sum over them saturates the gates of fresh weights (36 % of them with 256 slots)."""


class Projected(NamedTuple):
    """What a step needs that no state decides. What is drawn is None where nothing is."""

    queries: Tensor
    """Weights of all queries side by side, (widths, D); the same in every step."""
    keys: Tensor
    """(B heads, L, key); of width 0 without input attention."""
    values: Tensor
    """(B heads, L, value)."""
    read_mask: Tensor | None
    """Dropout of what is read: (B, K, heads value)."""
    noise: Tensor | None
    """Gumbel noise on the choice of a schema, over the temperature: (B, K, S)."""
    message_mask: Tensor | None
    """Dropout of the messages: (B, K, D)."""


class SCOFF(Core):
    """State: (memory, schema). Memory is (h,), with LSTM schemata (h, c), each (B, K, D); schema is (), frozen ones are
    (B, K) int64. With a random choice of active files the number of steps so far, (B, K), stands behind.

    Trace: `schema` (B, K) int64, the chosen ones, −1 where a file rests; `input_attention` (B, heads, K, L), which sums
    to 1 over the files; `comm_attention` (B, heads, K, K), who listens by who is heard; `active` (B, K) bool, where
    files may rest.
    """

    noise: Tensor
    _choose = staticmethod(choose)

    def __init__(self, config: SCOFFConfig, features: int):
        super().__init__()
        self.config = config
        self.rows, self.units = config.files, config.units
        self.state_rows, self.schema_count = (config.files,), config.schemata
        units, heads = config.units, config.input_heads
        self.trace_axes = {"schema": "K", "schema_weights": "K S", "input_attention": "heads K L"}
        self._key = config.input_key if config.input_attention else 0
        if config.input_attention:
            self.input_query = nn.Linear(units, heads * config.input_key, bias=False)
        self.input_map = nn.Linear(features, heads * (self._key + config.input_value), bias=False)  # keys, then values
        self._sharpen()

        gates = config.schemata * (4 if config.cell == "lstm" else 3) * units
        self.input_gates = nn.Linear(heads * config.input_value, gates)
        self.state_gates = nn.Linear(units, gates)
        for parameter in (*self.input_gates.parameters(), *self.state_gates.parameters()):
            self._draw_schemata(parameter)
        if not config.frozen_schema:
            self.schema_query = nn.Linear(units, config.schema_key, bias=False)
            self.schema_key = nn.Linear(units, config.schema_key, bias=False)
        if config.comm:
            self.communication = FileCommunication(config)
            self.trace_axes["comm_attention"] = "heads K K"
        self._query_widths = [
            heads * self._key,
            0 if config.frozen_schema else units,
            len(self.communication.query.weight) if config.comm else 0,
        ]
        if config.active is not None:
            self.trace_axes["active"] = "K"
        self.random = RandomChoice() if config.competition == "random" else None
        if config.start == "drawn":
            self.start_mean, self.start_scale = nn.Parameter(torch.zeros(units)), nn.Parameter(torch.ones(units))
            keep_constants(self)
        else:
            self.start = nn.Parameter(torch.randn(config.files, units))

    def constants(self) -> dict[str, Tensor]:
        """The noise of first states in evaluation, the same in every clip; tools that trace know no fixed generator."""
        chance = torch.Generator().manual_seed(0)
        return {"noise": torch.randn(1, self.rows, self.units, generator=chance, dtype=torch.float32, device="cpu")}

    @torch.no_grad()
    def _sharpen(self) -> None:
        """Makes the weights of queries and keys larger, so that files read different things from the beginning."""
        if self.config.input_attention:
            keys = self.input_map.weight.unflatten(0, (self.config.input_heads, -1))[:, : self._key]
            for weight in (self.input_query.weight, keys):
                weight *= self.config.input_gain

    @torch.no_grad()
    def _draw_schemata(self, parameter: nn.Parameter) -> None:
        """Weights whose variance is that of torch's cells, and whose correlation between schemata is 1 − spread²."""
        bound, spread = 1 / math.sqrt(self.units), self.config.schema_spread
        each = nn.init.uniform_(parameter, -bound, bound).unflatten(0, (self.config.schemata, -1))
        common = torch.empty_like(each[:1]).uniform_(-bound, bound)
        each.mul_(spread).add_(math.sqrt(1 - spread**2) * common)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> State:
        """The files' first h, drawn or learned; c of 0; frozen schemata, each as likely as the others.

        In evaluation and without a generator, every clip has the same noise, and file k schema k mod S.
        """
        config = self.config
        evenly = generator is None and not self.training
        device = self.input_map.weight.device
        # Not with a generator of None, with which torch.compile refuses batches of another size.
        source: dict[str, Any] = (
            {"generator": generator, "device": generator.device} if generator else {"device": device}
        )
        if config.start == "drawn":
            noise = self.noise.to(self.start_mean)  # it may have been made under other defaults
            if not evenly:
                noise = torch.randn(batch, self.rows, self.units, dtype=torch.float32, **source).to(self.start_mean)
            hidden = self.start_mean + self.start_scale * noise
        else:
            hidden = self.start
        hidden = hidden.expand(batch, -1, -1).clone()  # so that no clip's state changes with another's
        memory = (hidden, torch.zeros_like(hidden)) if config.cell == "lstm" else (hidden,)
        schema: Any = ()
        if config.frozen_schema:
            if evenly:
                schema = torch.arange(self.rows, device=device) % config.schemata
            else:
                schema = torch.randint(config.schemata, (batch, self.rows), **source).to(device)
            schema = schema.expand(batch, -1).clone()
        return (memory, schema) if self.random is None else (memory, schema, self.random.initial_state(hidden))

    def given_out(self, state: State) -> Tensor:
        return state[0][0]

    def with_schema(self, projected: Projected, state: State, schema: int) -> tuple[Projected, State]:
        """What makes every file take this schema at the step from that entry and state."""
        memory, frozen, *steps = state
        if self.config.frozen_schema:
            return projected, (memory, torch.full_like(frozen, schema), *steps)
        only = memory[0].new_full((*memory[0].shape[:2], self.config.schemata), -math.inf)
        only[..., schema] = 0  # as the noise on a choice: no other can be drawn
        return projected._replace(noise=only), state

    def project(self, slots: Tensor) -> Iterator[Projected]:
        """Keys, values and what is drawn, step by step.

        On a CPU the slots of a step are mapped when it comes, because those of all steps would not fit in the cache,
        which costs a fifth of the speed (64 clips, 64 slots). Elsewhere those of all steps are mapped at once.
        """
        config, (_, steps, positions, _) = self.config, slots.shape
        # A compiled step cannot warn.
        if config.norm == "sum" and positions > _MOST_SUMMED and not torch.compiler.is_compiling():
            must, fix = f"be mean for more than {_MOST_SUMMED} slots", "the sum of so many saturates the gates"
            warnings.warn(complaint("--core.norm", must, f"sum over {positions}", fix), stacklevel=2)
        queries, drawn = self._queries(), zip(*self._draw(slots), strict=True)
        for part in slots.split(1 if slots.device.type == "cpu" else steps, 1):
            mapped = per_head(self.input_map(part.transpose(0, 1)), config.input_heads)  # (T, B heads, L, key + value)
            keys, values = mapped.split([self._key, config.input_value], -1)
            for pair in zip(keys.unbind(0), values.unbind(0), strict=True):
                yield Projected(queries, *pair, *next(drawn))

    def _queries(self) -> Tensor:
        """All maps from a file to its queries, side by side: to the input, to its candidates, to the other files.

        What a score is divided by is divided out here. And since h Wq' · h̃ Wk' is h (Wq' Wk'ᵀ) · h̃, the query to the
        candidates is as wide as they are, and they need no keys.
        """
        config, nothing = self.config, self.state_gates.weight[:0]
        to_input, to_schemata, to_files = nothing, nothing, nothing
        if config.input_attention:
            to_input = self.input_query.weight / math.sqrt(config.input_key)
        if not config.frozen_schema:
            to_schemata = self.schema_key.weight.T @ self.schema_query.weight / config.temperature
        if config.comm:
            to_files = self.communication.query.weight / math.sqrt(config.comm_key)
        return torch.cat([to_input, to_schemata, to_files])

    def _draw(self, slots: Tensor) -> tuple[Sequence[Tensor | None], ...]:
        """Masks of what is read, noise over the temperature, and masks of messages: one tensor or None a step."""
        config, shape = self.config, (slots.shape[1], slots.shape[0], self.rows)
        read_mask = dropout_masks(self, config.dropout, slots, *shape, config.input_heads * config.input_value)
        message_mask = dropout_masks(self, config.dropout if config.comm else 0.0, slots, *shape, self.units)
        noise: Sequence[Tensor | None] = [None] * slots.shape[1]
        if self.training or config.eval_sample:
            # In float32, also where all else has fewer bits: the logarithm of a wait rounded to 0 is infinite.
            waits = slots.new_empty((*shape, config.schemata), dtype=torch.float32).exponential_()
            noise = (-waits.log() / config.temperature).to(slots.dtype).unbind(0)
        return read_mask, noise, message_mask

    def advance(self, projected: Projected, state: State, silent: Tensor | None = None) -> tuple[Tensor, State, Trace]:
        (old, *_), frozen, *steps = state
        asked = functional.linear(old, projected.queries)
        input_query, schema_query, comm_query = asked.split(self._query_widths, -1)
        attention, read = self._read(projected, input_query, silent)
        candidates = self._imagine(read, state[0])
        if self.config.frozen_schema:
            schema, choice = frozen, functional.one_hot(frozen, self.config.schemata).to(old.dtype)
            weights = choice
        else:
            schema, choice, weights = self._choose(candidates[0], schema_query, projected.noise)
        memory = tuple(pick(choice, candidate) for candidate in candidates)
        trace = {"schema": schema, "schema_weights": weights, "input_attention": attention}
        if self.config.active is not None:
            scores = -attention.mean((1, 3))
            if self.random is not None:
                scores, *steps = self.random(*steps)
            trace["active"] = lowest(scores, self.config.active, silent)
            trace["schema"] = schema.where(trace["active"], -1)
            moves = trace["active"].unsqueeze(-1)
            memory = tuple(torch.where(moves, new, kept) for new, kept in zip(memory, state[0], strict=True))
        hidden = memory[0]
        if self.config.comm:
            if self.config.query_from == "new":
                comm_query = functional.linear(hidden, projected.queries).split(self._query_widths, -1)[2]
            message, trace["comm_attention"] = self.communication(
                comm_query, hidden, choice, projected.message_mask, silent
            )
            told = hidden + message
            hidden = told if self.config.active is None else torch.where(moves, told, hidden)
        return hidden, ((hidden, *memory[1:]), frozen, *steps), trace

    def _read(self, projected: Projected, query: Tensor, silent: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attention (B, heads, K, L) and what each file reads, (B, K, heads value)."""
        config, keys, values = self.config, projected.keys, projected.values
        if config.input_attention:
            scores = torch.bmm(per_head(query, config.input_heads), keys.transpose(1, 2))  # (B heads, K, L)
        else:
            scores = values.new_zeros(len(values), self.rows, values.shape[1])
        scores = scores if config.active is None else widened(scores)
        attention = torch.softmax(unheard(scores, silent, 1), 1)
        read = heads_together(torch.bmm(attention.to(values.dtype), values), config.input_heads, projected.read_mask)
        if config.norm == "mean":
            read = read / values.shape[1]
        return attention.unflatten(0, (-1, config.input_heads)), read

    def _imagine(self, read: Tensor, memory: Memory) -> Memory:
        """What each schema would make of each file: h̃, or h̃ and c̃, each (B, K, S, D)."""
        schemata = self.config.schemata
        from_input = self.input_gates(read).unflatten(-1, (schemata, -1))
        from_state = self.state_gates(memory[0]).unflatten(-1, (schemata, -1))
        if self.config.cell == "lstm":
            return lstm_update(from_input + from_state, memory[1].unsqueeze(2))
        return (gru_update(from_input, from_state, memory[0].unsqueeze(2)),)
