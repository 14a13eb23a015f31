"""Interventions: a predictor whose modules are silenced, frozen, swapped or told their schema while it rolls out.

The weights are those of the untouched predictor. Freezing and swapping change states between steps, and nothing within
one: a frozen module goes on speaking, and may take a place among the active. A silenced one takes no part: its state
and what is given out of it are zero, it competes for no place and no input, and nobody reads or hears it, so that the
others do as in a core that never had it.

Source: RIMs, appendix E.3, which masks out a module to see what the others do, and says no more; this is our reading.
Where a layer of a stack is read as one vector, the silenced module is zeros in it; so it is to the decoder, of which
`masks` still gives it a share of every pixel, and `files` some attention.
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from videopred import check
from videopred.models.core import Core, State, Trace, projects
from videopred.models.intervention_settings import Intervention
from videopred.models.predictor import Predictor, check_model


class Counted(NamedTuple):
    """State of a core, and how many steps it has taken."""

    core: State
    steps: Tensor
    """(B,) int64."""


def intervene(predictor: Predictor, intervention: Intervention, context: int) -> Predictor:
    """A predictor like the given one, except for the intervention; the given one is not changed.

    The two share their weights.

    Args:
        predictor: its core must have modules, see `Core.state_rows`.
        intervention: what is done. At `from_step` 1 it begins with the step that reads the last frame of the context,
            from which the first frame of its own is predicted.
        context: true frames that will be given, at least 1.

    Raises:
        ValueError: the core has no modules, or not those, or no schemata, or is under an intervention.
        TypeError: no model, or `intervention` is no such.
    """
    check_model(predictor)
    predictor = getattr(predictor, "_orig_mod", predictor)  # a copy of what torch.compile gives would change the model
    check.require_instance("intervention", intervention, Intervention)
    context = check.whole_number("--context", context, 1, "give at least one frame to start from")
    fresh, fix = not isinstance(predictor.core, Intervened), "name all changes in one Intervention"
    check.require(fresh, "predictor", "be without an intervention", "one under an intervention already", fix)
    changed = copy.copy(predictor)
    changed._modules = dict(predictor._modules)  # a shallow copy of a module shares the table of its parts
    changed.core = Intervened(predictor.core, intervention, context + intervention.from_step - 2)
    return changed


def without_each(predictor: Predictor, context: int) -> Iterator[Predictor]:
    """The predictor without module 0, without module 1, and so on, each from its first own frame on.

    Raises:
        ValueError: see `intervene`; so also for a core without modules, of which module 0 is asked for.
    """
    for module in range(max(1, sum(predictor.core.state_rows))):
        yield intervene(predictor, Intervention(without=(module,)), context)


class Intervened(Core):
    """A core under an intervention. State: that of the core and a count of its steps.

    Args:
        core: any with `state_rows`.
        intervention: what is done to it.
        first: the step, counted from 0, at which it begins.
    """

    def __init__(self, core: Any, intervention: Intervention, first: int):
        super().__init__()
        self.core, self.intervention, self.first = core, intervention, first
        self.rows, self.units, self.input_size = core.rows, core.units, getattr(core, "input_size", None)
        self.trace_axes = core.trace_axes
        ends = accumulate(core.state_rows)
        self._layers = [range(end - rows, end) for rows, end in zip(core.state_rows, ends, strict=True)]
        """The numbers of the modules in each part of a state."""
        _check(core, intervention, self._layers)

    @property
    def context(self) -> int:
        """The frames of context after which the intervention begins at its step."""
        return self.first - self.intervention.from_step + 2

    def initial_state(self, batch: int, *, generator: torch.Generator | None = None) -> Counted:
        """The core's, before its first step."""
        device = next(self.core.parameters()).device
        steps = torch.zeros(batch, dtype=torch.int64, device=device)
        return Counted(self.core.initial_state(batch, generator=generator), steps)

    def project(self, slots: Tensor) -> Iterable[Any]:
        return self.core.project(slots) if projects(self.core) else slots.unbind(1)

    def advance(self, projected: Any, state: Counted) -> tuple[Tensor, Counted, Trace]:
        advance = self.core.advance if projects(self.core) else self.core.step
        before, steps = state
        step, todo = int(steps[0]), self.intervention
        if step < self.first or todo.idle:
            output, after, trace = advance(projected, before)
            return output, Counted(after, steps + 1), trace
        if step == self.first:
            for pair in todo.pairs:
                before = self._edited(_swapped(*pair), before)
            before = self._edited(_silenced(todo.without), before)
        if todo.force_schema is not None:
            projected, before = self.core.with_schema(projected, before, todo.force_schema)
        if todo.without:
            silent = self._silent(steps.device)
            _, after, trace = advance(projected, before, silent)
            trace = self._hushed(trace, silent)
        else:
            _, after, trace = advance(projected, before)
        after = self._edited(_frozen(todo.freeze), after, before)
        after = self._edited(_silenced(todo.without), after)
        return self.core.given_out(after), Counted(after, steps + 1), trace

    def _silent(self, device: torch.device) -> Tensor:
        """(modules,) bool, those that are silenced."""
        return torch.tensor([k in self.intervention.without for layer in self._layers for k in layer], device=device)

    def _hushed(self, trace: Trace, silent: Tensor) -> Trace:
        """The trace in which silenced modules read and hear nothing and use no schema, though their zeros would."""
        rows = {"": silent} | {f"layer{i}": silent[layer.start : layer.stop] for i, layer in enumerate(self._layers)}
        hushed = dict(trace)
        for name, values in trace.items():
            layer, _, kind = name.rpartition(".")
            if layer not in rows:
                continue
            if kind in ("input_attention", "comm_attention", "schema_weights"):
                hushed[name] = values.masked_fill(rows[layer][:, None], 0)  # (B, heads, K, …) or (B, K, S)
            elif kind in ("null_attention", "top_down", "schema"):
                hushed[name] = values.masked_fill(rows[layer], -1 if kind == "schema" else 0)  # (B, K)
        return hushed

    def _edited(self, edit: "Edit", *states: State) -> State:
        """The first state with every tensor edited; the edit also sees what is in its place in the others."""
        single = len(self._layers) == 1
        by_layer = zip(self._layers, *([state] if single else state for state in states), strict=True)
        parts = [tree.tree_map(partial(edit, modules), *same) for modules, *same in by_layer]
        return parts[0] if single else tuple(parts)


Edit = Callable[..., Tensor]
"""(modules, tensor, …) -> what becomes of a tensor of a state whose rows are these modules; behind it may stand the
tensors in the same place of other states."""


def _mask(leaf: Tensor, modules: range, chosen: tuple[int, ...]) -> Tensor:
    """Which rows of a tensor are of chosen modules: bool, to be spread over it."""
    mask = torch.tensor([module in chosen for module in modules], device=leaf.device)
    return mask.view(-1, *[1] * (leaf.dim() - 2))


def _silenced(chosen: tuple[int, ...]) -> Edit:
    """Zeros in the rows of these modules; a schema or a count of steps, which says nothing, stays."""

    def silence(modules: range, leaf: Tensor) -> Tensor:
        return leaf.masked_fill(_mask(leaf, modules, chosen), 0) if leaf.is_floating_point() else leaf

    return silence


def _frozen(chosen: tuple[int, ...]) -> Edit:
    """The rows of these modules as they were before; a count of steps, by which chance chooses modules, goes on."""

    def freeze(modules: range, leaf: Tensor, before: Tensor) -> Tensor:
        return torch.where(_mask(leaf, modules, chosen), before, leaf) if leaf.is_floating_point() else leaf

    return freeze


def _swapped(first: int, second: int) -> Edit:
    """The rows of two modules exchanged."""

    def swap(modules: range, leaf: Tensor) -> Tensor:
        if first not in modules:
            return leaf
        order = [second if module == first else first if module == second else module for module in modules]
        return leaf[:, [module - modules.start for module in order]]

    return swap


def _check(core: Any, intervention: Intervention, layers: Sequence[range]) -> None:
    """Refuse what cannot be done to this core, in whose layers these are the modules."""
    total = sum(map(len, layers))
    name = getattr(getattr(core, "config", None), "kind", type(core).__name__)
    fix = "take a model with modules, such as rims, brims, scoff or rmc; a core of your own tells of its by state_rows"
    rows = intervention.without or intervention.freeze or intervention.swap
    check.require(total > 0 or not rows, "RUN", "have modules to silence, freeze or swap", name, fix)
    must = "have a method `given_out` beside state_rows, see videopred/models/core.py"
    check.require(hasattr(core, "given_out") or not rows, "RUN", must, name, "add it")
    takes = inspect.signature(core.advance if projects(core) else core.step).parameters
    must = "take `silent` in its step for --without, see videopred/models/core.py"
    check.require("silent" in takes or not intervention.without, "RUN", must, name, "add it, or freeze the module")
    named = {"--without": intervention.without, "--freeze": intervention.freeze}
    for flag, modules in (named | {"--swap": tuple(k for pair in intervention.pairs for k in pair)}).items():
        for module in modules:
            must = f"lie in 0 to {total - 1}, the modules of this {name}"
            check.require(0 <= module < total, flag, must, module, "choose one of these")
    for a, b in intervention.pairs:
        alike = any(a in layer and b in layer for layer in layers)
        check.require(alike, "--swap", "name two modules of one layer", f"{a},{b}", "layers may differ in width")
    wanted = intervention.force_schema
    if wanted is not None:
        schemata = getattr(core, "schema_count", 0)
        fix = "take a model with schemata, such as scoff; a core of your own tells how many by schema_count"
        check.require(schemata > 0, "--schema", "be left out without schemata", f"{wanted} for {name}", fix)
        must = "have a method `with_schema` beside schema_count, see videopred/models/core.py"
        check.require(hasattr(core, "with_schema"), "RUN", must, name, "add it")
        must = f"lie in 0 to {schemata - 1}, the schemata of this {name}"
        check.require(0 <= wanted < schemata, "--schema", must, wanted, "choose one of these")
