"""Checks of what pictures, metrics and interventions read of a core: its trace, its modules and its schemata."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from videopred.models.conformance_ground import BATCH, need, same, slots
from videopred.models.core import READ_TRACES, Trace, projects, unroll


def trace_is_as_declared(core: Any) -> None:
    """The names of `trace_axes`, neither more nor fewer, each with as many axes behind B and T.

    Those that pictures and metrics read have the axes by which these read them.
    """
    trace = unroll(core, slots(core), trace=True).trace
    declared = getattr(core, "trace_axes", {})
    for name, got in declared.items():
        known = READ_TRACES.get(name.rpartition(".")[2], got)
        reason = f"trace_axes must give {name} the axes `{known}`, by which pictures and metrics read it, got `{got}`"
        need(got.split() == known.split(), reason)
    axes = {name: len(of_name.split()) for name, of_name in declared.items()}
    got = {name: value.dim() - 2 for name, value in trace.items()}
    need(got == axes, f"the trace must have the names and numbers of axes that trace_axes has, {axes}, got {got}")
    for name in (name for name in declared if "." not in name):  # a layer has as many modules as it likes
        for axis, size in zip(declared[name].split(), trace[name].shape[2:], strict=True):
            reason = f"the axis K of trace {name} must have the size of rows, {core.rows}, got {size}"
            need(axis != "K" or size == core.rows, reason)


def modules_can_be_intervened_on(core: Any) -> None:
    """If `state_rows` says that the state has modules, they are there, `given_out` gives a step's output from the state
    after it, and of modules that are `silent` in a step the others hear nothing.

    The last is looked at in cores of one layer: where a layer is read whole, a silent module is zeros in it.
    """
    rows = tuple(getattr(core, "state_rows", ()))
    if not rows:
        return
    inputs = slots(core)
    state = unroll(core, inputs[:, :2]).state
    parts = [state] if len(rows) == 1 else list(state)
    found = [sorted({leaf.shape[1:2] for leaf in tree.tree_leaves(part)}) for part in parts]
    must = f"each tensor of the state must have a row for each module on axis 1, {rows} by state_rows"
    need(found == [[(count,)] for count in rows], f"{must}, got {found}")
    output, after, _ = core.step(inputs[:, 2], state)
    need(hasattr(core, "given_out"), "a core with state_rows must have a method given_out")
    same(core.given_out(after), output, "given_out must give the output of the step that led to a state")
    take = core.advance if projects(core) else core.step
    takes = "silent" in inspect.signature(take).parameters
    need(takes, f"with state_rows, {take.__name__} must take `silent`, a mask of the modules that take no part")
    if len(rows) == 1:
        for module in range(rows[0]):
            _others_do_not_hear(core, take, module, inputs[:, 2:3], state)


def _others_do_not_hear(core: Any, take: Callable[..., Any], module: int, given: Tensor, state: Any) -> None:
    """Where a module is silent, the next states of the others do not depend on its own."""

    def louder(leaf: Tensor) -> Tensor:
        row = torch.arange(leaf.shape[1]).view(-1, *[1] * (leaf.dim() - 2)) == module
        return torch.where(row, leaf + 1, leaf) if leaf.is_floating_point() else leaf

    silent = torch.arange(core.state_rows[0]) == module
    (entry,) = core.project(given) if projects(core) else given.unbind(1)
    after = [take(entry, one, silent)[1] for one in (state, tree.tree_map(louder, state))]
    others, also = (tree.tree_map(lambda leaf: leaf[:, ~silent], one) for one in after)
    same(others, also, f"the others must not hear module {module} where it is silent")


def schemata_are_as_many_as_it_says(core: Any) -> None:
    """What it traces of schemata fits its `schema_count`, if it has one, and by `with_schema` all modules take one."""
    count = getattr(core, "schema_count", 0)
    trace = unroll(core, slots(core), trace=True).trace
    for name, value in _traced(trace, "schema"):
        whole = not value.is_floating_point() and (value >= -1).all()
        must = f"trace {name} must be of whole numbers, -1 for a module that takes none"
        need(whole, f"{must}, got {_range(value)}")
        must = f"trace {name} must lie below schema_count, {count}"
        need(count == 0 or (value < count).all(), f"{must}, got {_range(value)}")
    for name, value in _traced(trace, "schema_weights"):
        must = f"the axis S of trace {name} must have the size of schema_count, {count}"
        need(count in (0, value.shape[-1]), f"{must}, got {value.shape[-1]}")
    if count:
        _takes_the_schema_it_is_told(core)


def _takes_the_schema_it_is_told(core: Any) -> None:
    need(hasattr(core, "with_schema"), "a core with schema_count must have a method with_schema")
    first = slots(core)[:, :1]
    for wanted in range(core.schema_count):
        (entry,) = core.project(first) if projects(core) else first.unbind(1)
        take = core.advance if projects(core) else core.step
        _, _, trace = take(*core.with_schema(entry, core.initial_state(BATCH), wanted))
        for name, value in _traced(trace, "schema"):
            must = f"with_schema must have every module take schema {wanted}"
            need(((value == wanted) | (value == -1)).all(), f"{must}, got {_range(value)} in trace {name}")


def _traced(trace: Trace, kind: str) -> list[tuple[str, Tensor]]:
    """What is traced under this name, in any layer."""
    return [(name, value) for name, value in trace.items() if name.rpartition(".")[2] == kind]


def _range(values: Tensor) -> str:
    return f"{values.dtype} from {values.min().item():.6g} to {values.max().item():.6g}"
