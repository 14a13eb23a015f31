"""What a core is, and the one loop over time.

A core is a module with two methods:

    initial_state(batch, *, generator=None) -> state
    step(inputs, state) -> (output, state, trace)

inputs: (B, L, D), L slots of D features; a plain vector is L = 1.
output: (B, K, D), one row per module; K = 1 for a plain LSTM.
state:  any tree of tensors (B, …). A core keeps parameters and buffers, never what happened last step.
trace:  dict of tensors (B, …): what happened in this step; `trace_axes` names what is in it. A core computes next to
        nothing for it alone, so it is next to free when nobody keeps it. (Of ours: sums and means of attention where
        no choice needs them, in `brims` and beside a random choice; −1 as the `schema` of a file of SCOFF that rests.)

Work that needs no state may leave the loop: such a core derives from `Core` and gives `project`, which sees all T
steps at once, and `advance`, which takes one step from what `project` made. `step` then follows from the two; a core
that gives `step` instead of them may derive from `Core` as well. A core without a recurrence, such as a transformer,
may do all steps at once in `run`, which must equal its steps in a row.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from videopred.check import require_kind
from videopred.models.arguments import check_done, check_finite, check_slots, check_state, debugging

State = Any
"""A tree of tensors (B, …)."""

Trace = dict[str, Tensor]

READ_TRACES: Mapping[str, str] = {
    "active": "K",
    "input_attention": "heads K L",
    "null_attention": "K",
    "top_down": "K",
    "comm_attention": "heads K K",
    "schema": "K",
    "schema_weights": "K S",
    "masks": "K H W",
}
"""Each name in a trace that pictures and metrics read -> the axes after B and T by which they read it. The name of a
layer may stand before it, as in `layer0.active`."""


class Core(nn.Module):
    """A core whose state-free work is done for all T steps at once."""

    input_size: int | None = None
    """D, the width of the slots it was built for; `build_core` sets it."""
    input_kind: Literal["vector", "map", "strips"]
    """What these slots are: one vector of a frame, the positions of its map, or a strip for each module; `build_core`
    sets it."""
    rows: int
    """K, the rows of an output."""
    units: int
    """D, the width of an output row."""
    trace_axes: Mapping[str, str] = {}
    """Each name in the trace -> its axes after B (and T): e.g. `K` modules, `K L` modules by slots, `` for a number.
    Those in `READ_TRACES` have the axes given there."""

    state_rows: tuple[int, ...] = ()
    """Modules that a state holds, for interventions: (K,) if every tensor in it has K rows on axis 1; several, if it is
    a tuple of such parts, the lowest layer first; none if it has no modules. A core that has some gives `given_out`,
    and its `advance` (or `step`) takes `silent`, a mask (modules,) bool of those that take no part in the step: they
    are not active, and nobody reads or hears them."""

    schema_count: int = 0
    """How many there are to choose among, the numbers of `schema` in the trace; 0 of a core without. A core that has
    some gives `with_schema(projected, state, schema)`, for --schema: what makes every module take that one in the step
    from this entry and state."""

    def given_out(self, state: State) -> Tensor:
        """The output (B, K, D) that a step gives whose new state this is."""
        raise TypeError(f"{type(self).__name__} must define given_out, as it has state_rows")

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> State:
        """The state before the first step, with the parameters' device and dtype.

        Args:
            batch: B, number of clips.
            generator: source of chance, for cores that draw their first state.
        """
        raise TypeError(f"{type(self).__name__} must define initial_state")

    def project(self, slots: Tensor) -> Iterable[Any]:
        """State-free work on (B, T, L, D): one entry per step, each a tree for `advance`."""
        raise TypeError(f"{type(self).__name__} must define project, or step")

    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        """One step from one entry of `project`; returns what `step` returns."""
        raise TypeError(f"{type(self).__name__} must define advance, or step")

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State, Trace]:
        """One step on (B, L, D) slots; returns output (B, K, D), the new state, and the trace."""
        (projected,) = self.project(inputs.unsqueeze(1))
        return self.advance(projected, state)


class Unrolled(NamedTuple):
    """What a core did over T steps."""

    output: Tensor
    """(B, T, K, D)."""
    state: State
    """State after the last step."""
    trace: Trace
    """name -> (B, T, …), detached unless asked otherwise; empty unless asked for."""


def unroll(
    core: Any, slots: Tensor, state: State | None = None, *, trace: bool = False, detach: bool = True
) -> Unrolled:
    """Run a core over time. Two unrolls in a row, the state carried over, equal one.

    Args:
        core: anything that keeps the contract above.
        slots: (B, T, L, D) float, T at least 1.
        state: where to start; None is the core's initial state.
        trace: keep what happened at each step.
        detach: cut gradients off from the trace, so that it costs no memory beyond itself.

    Raises:
        ValueError: slots of other axes or of another width, a state of another core or batch, or an output of other
            axes than the core says; with VIDEOPRED_DEBUG set in the environment, slots or outputs that are not finite.
        TypeError: slots of whole numbers, or a step that gives other than output, state and trace.
    """
    check_slots(core, slots)
    if state is None:
        state = core.initial_state(slots.shape[0])
    else:
        check_state(core, slots.shape[0], state)
    if hasattr(core, "run") and not debugging():  # who debugs wants to know the step that went wrong
        done = core.run(slots, state)
        check_done(core, done, *slots.shape[:2])
        output, state, happened = done
        return Unrolled(output, state, _kept(happened, detach) if trace else {})
    projecting = projects(core)
    inputs = core.project(slots) if projecting else slots.unbind(1)
    outputs, traces = [], []
    if hasattr(core, "advance_all") and not trace:  # see compile_step
        outputs, state = core.advance_all(inputs, slots.shape[1], state)
    else:
        advance = core.advance if projecting else core.step
        for entry in inputs:
            done = advance(entry, state)
            if not outputs:
                check_done(core, done, slots.shape[0])
            output, state, happened = done
            outputs.append(output)
            if trace:
                traces.append(_kept(happened, detach))
    kept = {name: torch.stack([one[name] for one in traces], 1) for name in (traces[0] if traces else {})}
    output = torch.stack(outputs, 1)
    check_finite("output", output)
    return Unrolled(output, state, kept)


def _kept(trace: Trace, detach: bool) -> Trace:
    odd = [f"{name} of {type(value).__name__}" for name, value in trace.items() if not isinstance(value, Tensor)]
    fix = "trace torch.as_tensor(…) of one row per clip, see videopred/models/core.py"
    require_kind(not odd, "trace", "be of tensors alone", ", ".join(odd), fix)
    return {name: value.detach() for name, value in trace.items()} if detach else trace


def projects(core: Any) -> bool:
    """Whether a core gives `project` and `advance`; one that derives from `Core` may give `step` alone."""
    return hasattr(core, "project") and getattr(type(core), "project", None) is not Core.project
