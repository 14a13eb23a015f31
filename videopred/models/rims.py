"""Recurrent independent mechanisms (Goyal et al. 2021, sections 2.1 to 2.4).

K modules with states h[k], cells c[k]; L input slots x[p] and a null slot whose key and value are 0. At each step

1. read         a[k] = softmax over {null, p} of  h[k] Wq[k] · (x[p] Wk) / √dk;  z[k] = dropout Σp a[k, p] x[p] Wv
2. select       the k modules with the lowest null attention are active; ties go to the lowest index
3. dynamics     h̃[k], c̃[k] = LSTM[k] or GRU[k] (z[k], h[k])                                   for every module
4. communicate  o[k] = attention of h̃[k] over all h̃[j], self included, every module with its own q, k, v maps;
                h̃[k] += σ(Wg o[k] + bg) tanh(dropout(Wf o[k] + bf)),  Wf, Wg, bf, bg shared by all modules
5. keep         an active module takes h̃, c̃; a resting one keeps h, c to the bit, whatever h̃, c̃ are

Step 1 is `reading`, the others are `modular`, which BRIMs share.

Source: the steps of the authors' code (event_based), which the published numbers came from. Where it differs from
the paper's text: resting modules offer their hypothetical h̃ in step 4, where section 2.4 defines it for active ones
alone (`comm_source="state"` is our reading of the text), and no gradient flows back into them there (`block_gradient`,
which only the pseudocode, appendix G, has); the exchange is gated (`comm_gate`). Key and value maps of the input are
shared by all modules, as in eq. 2; appendix C.1 says that every weight is a module's own. Where we differ from that
code: they are shared over slots too (the same function for one slot), the block-sparse dense matrices are K small
ones, and ties are settled by index. Table 3 of the paper has 4 input heads; appendices D.1 and D.3 and the code have 1.

Other ways to choose (`competition`):

modules   the authors' second version (atari): no null slot; the softmax runs over modules, is cut down to the k largest
          of them (see `sparsified`), and the k with the most attention are active. While states are equal, as at the
          start, nobody reads anything.
random    an ablation, see `competition`.

On a map (`reads="map"`) the paper has eq. 3, eq. 2 with positions for slots and no null slot, and lets the k modules
with the highest attention be active at each position; who then updates, it leaves open. Our reading: eq. 2 with the
positions as slots beside the null slot, which decides; and with `competition="modules"`, a softmax over modules at each
position, a module reading the sum over positions, and its mean attention deciding on it. Weights that begin as small as
the authors', who read one vector, keep attention even, and the model on the mean frame: on a map those of queries and
keys begin larger (`input_gain`; docs/results.md compares).

With `reads="strips"` (appendix D.4.1, figure 6) slot k is a strip of the frame, behind an encoder of its own, and
module k attends to it and to the null slot.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from videopred.models.core import Core, Trace
from videopred.models.modular import LayerState, ModularLayer
from videopred.models.modular_settings import RIMsConfig
from videopred.models.reading import reading_of


class RIMs(Core):
    """State: (hidden, cell), each (B, K, D); with GRU dynamics the cell is the empty tuple.

    Trace: `active` (B, K) bool, which modules updated; `null_attention` (B, K) in [0, 1], mean over heads;
    `input_attention` (B, heads, K, L) of each module on each slot, or (B, heads, K, 1) on its strip, and
    `comm_attention` (B, heads, K, K) of each module on each, both in [0, 1]. With settings that have no such attention,
    the name is missing.
    """

    def __init__(self, config: RIMsConfig, features: int):
        super().__init__()
        self.config, self.rows, self.units = config, config.modules, config.units
        self.reading = reading_of(config, features)
        self.layer = ModularLayer(config, config.modules, config.active, config.units)
        self.trace_axes = self.reading.trace_axes | self.layer.trace_axes
        self.state_rows = (config.modules,)

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> LayerState:
        """Zeros."""
        return self.layer.initial_state(batch)

    def given_out(self, state: LayerState) -> Tensor:
        return state[0]

    def project(self, slots: Tensor) -> Sequence[Any]:
        prepared = self.layer.project(slots.shape[1], slots.shape[0])
        return list(zip(self.reading.project(slots), prepared, strict=True))

    def advance(
        self, projected: Any, state: LayerState, silent: Tensor | None = None
    ) -> tuple[Tensor, LayerState, Trace]:
        slots, prepared = projected
        state, trace = self.layer(prepared, self.reading(slots, state[0], silent), state, silent=silent)
        return state[0], state, trace
