"""A silenced module takes no part: the others do as in a smaller core that never had it."""

from typing import Any

import pytest
import torch
from tiny_runs import CORE_SIZES
from torch import nn
from torch.utils import _pytree as tree

from videopred.models import CORES, build_core
from videopred.models.core import Core, unroll
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import Intervened

CLIPS, STEPS, FEATURES = 2, 6, 7

CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], dict[str, Any]]] = {
    "rims": ("rims", {}, (2,), {"modules": 3}),
    "rims, gru, no gate": ("rims", {"cell": "gru", "comm_gate": False, "comm_topk": 1}, (0,), {"modules": 3}),
    "rims, all active": ("rims", {"active": 4}, (1,), {"modules": 3, "active": 3}),
    "rims, all active, evenly": (
        "rims",
        {"active": 4, "input_attention": False, "null_slot": False},
        (3,),
        {"modules": 3, "active": 3},
    ),
    "rims, among modules": ("rims", {"competition": "modules", "active": 3}, (1,), {"modules": 3}),
    "rims, among modules, few": ("rims", {"competition": "modules"}, (1,), {"modules": 3}),
    "rims, few are heard": ("rims", {"comm_topk": 2}, (2,), {"modules": 3, "comm_topk": None}),
    "rims, fewer are heard": ("rims", {"comm_topk": 1}, (3,), {"modules": 3}),
    "rims on a map": ("rims", {"reads": "map"}, (0,), {"modules": 3}),
    "rims on a map, among modules": (
        "rims",
        {"reads": "map", "competition": "modules", "active": 3},
        (3,),
        {"modules": 3},
    ),
    "rims on strips": ("rims", {"reads": "strips", "active": 3}, (1,), {"modules": 3}),
    "brims, below": ("brims", {}, (1,), {"modules": (3, 3)}),
    "brims, above": ("brims", {"active": (2, 2)}, (6,), {"modules": (4, 2)}),
    "brims, slots, below": ("brims", {"per_module_slots": True}, (3,), {"modules": (3, 3)}),
    "brims, slots, above": ("brims", {"per_module_slots": True, "active": (2, 2)}, (4,), {"modules": (4, 2)}),
    "brims, slots, between": (
        "brims",
        {"per_module_slots": True, "modules": (4, 4, 4), "active": (2, 3, 4), "units": (6, 9, 5)},
        (6,),
        {"modules": (4, 3, 4)},
    ),
    "brims, evenly": (
        "brims",
        {"per_module_slots": True, "input_attention": False, "active": (4, 3)},
        (6,),
        {"modules": (4, 2), "active": (4, 2)},
    ),
    "hierarchical": ("hierarchical-rims", {"per_module_slots": True}, (0,), {"modules": (3, 3)}),
    "hierarchical, evenly": (
        "hierarchical-rims",
        {"per_module_slots": True, "input_attention": False, "active": (4, 3)},
        (2,),
        {"modules": (3, 3), "active": (3, 3)},
    ),
    "one choice": ("mld-rims", {}, (1, 5), {"modules": (3, 3)}),
    "scoff": ("scoff", {}, (1,), {"files": 2}),
    "scoff, evenly": ("scoff", {"input_attention": False}, (1,), {"files": 2}),
    "scoff, some rest": ("scoff", {"active": 2, "cell": "lstm", "query_from": "new"}, (0,), {"files": 2}),
    "scoff, learned start": ("scoff", {"start": "learned", "comm_gate": False}, (2,), {"files": 2}),
    "rmc": ("rmc", {}, (1,), {"rows": 2}),
    "rmc, two blocks": ("rmc", {"blocks": 2, "gate": "memory"}, (0,), {"rows": 2}),
}
"""What is looked at -> core, its settings, the modules silenced, and what differs in the core that never had them."""


def build(name: str, changes: dict[str, Any]) -> Core:
    torch.manual_seed(3)
    core = build_core(CORES[name][0](**CORE_SIZES[name] | changes), FEATURES).eval()
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # fresh weights hardly tell modules apart
    return core


def dropped(large: torch.Tensor, small: torch.Size, module: int) -> torch.Tensor:
    """The tensor without what is the module's on the one axis that is longer than in the smaller shape."""
    for axis, (long, short) in enumerate(zip(large.shape, small, strict=True)):
        if long != short:
            blocks = list(large.split(long - short, axis))
            del blocks[module]
            return torch.cat(blocks, axis)
    return large


def state_without(core: Core, smaller: Core, module: int) -> Any:
    """Where the smaller core starts."""
    large, form = tree.tree_flatten(core.initial_state(CLIPS))
    small = tree.tree_leaves(smaller.initial_state(CLIPS))
    return tree.tree_unflatten(
        [dropped(*pair, module) for pair in zip(large, (s.shape for s in small), strict=True)], form
    )


@pytest.mark.parametrize("case", CASES)
def test_the_others_do_as_in_a_core_that_never_had_it(case):
    name, changes, silent, fewer = CASES[case]
    core, smaller = build(name, changes), build(name, changes | fewer)
    module = silent[0] - (core.state_rows[0] if silent[0] >= core.state_rows[0] else 0)
    with torch.no_grad():
        for name, small in smaller.state_dict().items():
            small.copy_(dropped(core.state_dict()[name], small.shape, module))
    several = {"map": 5, "strips": core.rows}.get(changes.get("reads"), 5 if "files" in fewer else 1)
    slots = torch.randn(CLIPS, STEPS, several, FEATURES)
    fewer_slots = dropped(slots, (*slots.shape[:2], smaller.rows, FEATURES), module) if "strips" in case else slots
    masked = unroll(Intervened(core, Intervention(without=silent), first=0), slots, trace=True)
    removed = unroll(smaller, fewer_slots, state_without(core, smaller, module), trace=True)
    output = masked.output
    if output.shape != removed.output.shape:
        assert not output[:, :, module].any()
        output = dropped(output, removed.output.shape, module)
    torch.testing.assert_close(output, removed.output, rtol=1e-4, atol=1e-5)
    for name, happened in removed.trace.items():
        seen = masked.trace[name]
        if name.endswith("active") and seen.shape != happened.shape:
            assert not seen[:, :, module].any()
        if "_attention" in name and seen.shape[-1] != happened.shape[-1]:  # of those that are read or heard
            seen = seen[..., seen.flatten(0, -2).any(0)]
        torch.testing.assert_close(dropped(seen, happened.shape, module), happened, rtol=1e-4, atol=1e-5)


def test_the_choice_of_the_lowest_layer_holds_above_a_silenced_module():
    """In MLD-RIMs: what rests in a middle layer is active in those above it."""
    core = build("mld-rims", {"modules": (4, 4, 4), "active": (4, 4, 4), "units": (5, 9, 5)})
    slots = torch.randn(CLIPS, STEPS, 1, FEATURES)
    trace = unroll(Intervened(core, Intervention(without=(6,)), first=0), slots, trace=True).trace
    assert trace["layer1.active"].all((0, 1)).tolist() == [True, True, False, True]
    assert trace["layer0.active"].all()
    assert trace["layer2.active"].all()


def test_a_core_of_ones_own_that_cannot_leave_a_module_out_says_so():
    class Old(Core):
        state_rows, rows, units, input_size = (2,), 2, 3, FEATURES

        def step(self, inputs, state):
            return state, state, {}

    with pytest.raises(ValueError, match=r"RUN must take `silent` in its step for --without, see .*, got Old; add it"):
        Intervened(Old(), Intervention(without=(1,)), first=0)
    Intervened(Old(), Intervention(freeze=(1,)), first=0)


def test_a_core_of_ones_own_that_does_not_give_out_a_state_says_so():
    class Mute(nn.Module):
        state_rows, rows, units, trace_axes = (2,), 2, 3, {}

        def step(self, inputs, state):
            return state, state, {}

    with pytest.raises(ValueError, match=r"RUN must have a method `given_out` beside state_rows, .*, got Mute; add it"):
        Intervened(Mute(), Intervention(freeze=(1,)), first=0)


@pytest.mark.parametrize("base", [nn.Module, Core])
def test_a_core_of_ones_own_with_a_step_alone_leaves_a_module_out(base):
    class Counting(base):
        state_rows, rows, units, trace_axes = (2,), 2, 3, {"active": "K"}

        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def initial_state(self, batch, *, generator=None):
            return self.weight.new_zeros(batch, 2, 3)

        def given_out(self, state):
            return state

        def step(self, inputs, state, silent=None):
            active = torch.ones(len(inputs), 2, dtype=torch.bool) & (True if silent is None else ~silent)
            return state + self.weight, state + self.weight, {"active": active}

    done = unroll(Intervened(Counting(), Intervention(without=(1,)), first=1), torch.rand(CLIPS, 3, 1, 4), trace=True)
    assert done.output[0, :, :, 0].tolist() == [[1, 1], [2, 0], [3, 0]]
    assert done.trace["active"][0].tolist() == [[True, True], [True, False], [True, False]]
