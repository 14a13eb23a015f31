"""What each option of RIMs and BRIMs changes, and that with all of them the contract of cores still holds."""

import math
from typing import Any

import pytest
import torch
from core_checks import BATCH, CHECKS, FEATURES, SMALL, close, prepared, slots
from modular_checks import by_level, drawn_inputs, drawn_state, joined, levels, seen
from slow_proofs import slow
from torch import Tensor

from videopred.models import build_core
from videopred.models.conformance import step_compiles_whole
from videopred.models.core import unroll
from videopred.models.modular_settings import BRIMsConfig, HierarchicalRIMsConfig, ModularSettings, RIMsConfig

PARTS = {"input_key": 6, "comm_heads": 2, "comm_key": 4, "comm_value": 3}
RIMS = RIMsConfig(modules=5, active=3, units=8, **PARTS)
BRIMS = BRIMsConfig(modules=(5, 4), active=(3, 2), units=(8, 6), input_heads=2, **PARTS)

OPTIONS: dict[str, dict[str, Any]] = {
    "gru": {"cell": "gru"},
    "state as source": {"comm_source": "state"},
    "sparse communication": {"comm_topk": 2},
    "plain message": {"comm_gate": False},
    "open gradient": {"block_gradient": False},
    "no communication": {"comm": False},
    "random choice": {"competition": "random"},
    "all active": {"active": "all"},
    "no null slot": {"null_slot": False, "active": "all"},
    "no null slot, by chance": {"null_slot": False, "competition": "random"},
    "no input attention": {"input_attention": False, "active": "all"},
    "no input attention, by chance": {"input_attention": False, "competition": "random"},
}
OF_RIMS: dict[str, dict[str, Any]] = {
    "map": {"reads": "map"},
    "map, no null slot": {"reads": "map", "null_slot": False, "active": "all"},
    "map, no input attention": {"reads": "map", "input_attention": False, "active": "all"},
    "strips": {"reads": "strips", "input_heads": 2},
    "strips, no input attention": {"reads": "strips", "input_attention": False, "active": "all"},
    "competition of modules at strips": {"competition": "modules", "reads": "strips"},
    "two heads": {"input_heads": 2},
    "competition of modules": {"competition": "modules"},
    "competition of modules at positions": {"competition": "modules", "reads": "map", "input_heads": 2},
}
CASES = [(RIMS, options) for options in (OPTIONS | OF_RIMS).values()]
OF_BRIMS: dict[str, dict[str, Any]] = {
    "a slot a module": {"per_module_slots": True},
    "top given out": {"readout": "top"},
}
CASES += slow(*((BRIMS, options) for options in (OPTIONS | OF_BRIMS).values()))
NAMES = [f"rims, {name}" for name in OPTIONS | OF_RIMS] + [f"brims, {name}" for name in OPTIONS | OF_BRIMS]


def make(config: ModularSettings, options: dict[str, Any], seed: int = 0) -> Any:
    options = {**options, "active": config.modules} if options.get("active") == "all" else options
    torch.manual_seed(seed)
    return prepared(build_core(type(config)(**{**config.model_dump(), **options}), FEATURES))


EXCEPT = {
    # With equal states, as at the start, the sparse attention over modules is 0 everywhere: nobody reads.
    "future_does_not_reach_the_past": [{"competition": "modules"}],
}


@pytest.mark.parametrize(("config", "options"), CASES, ids=NAMES)
def test_the_contract_of_cores_holds(config, options):
    for check in CHECKS:
        excepted = any(options.items() >= some.items() for some in EXCEPT.get(check.__name__, []))
        if check is not step_compiles_whole and not excepted:
            check(make(config, options))


@pytest.mark.parametrize("name", ["random choice", "no input attention", "competition of modules at positions"])
def test_step_compiles_whole(name):
    step_compiles_whole(make(RIMS, (OPTIONS | OF_RIMS)[name]))


@pytest.mark.parametrize("config", [RIMS, BRIMS], ids=["rims", "brims"])
def test_a_training_step_compiles_whole_and_draws_the_same(config):
    torch.compiler.reset()
    core = make(config, {}).train()
    given = drawn_inputs(), core.initial_state(BATCH)
    outputs = []
    for step in (core.step, torch.compile(core.step, backend="eager", fullgraph=True)):
        torch.manual_seed(0)
        outputs.append(step(*given)[0])
    assert torch.equal(*outputs)


@pytest.mark.parametrize(("config", "options"), CASES, ids=NAMES)
def test_it_trains_in_half_precision_and_under_autocast(config, options):
    core = make(config, options).float().train()
    inputs = slots(core).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        unroll(core, inputs).output.sum().backward()
    core = core.half()
    output = unroll(core, inputs.half()).output
    assert output.dtype == torch.float16
    output.float().sum().backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in core.parameters())


CHOOSE: list[tuple[ModularSettings, dict[str, Any]]] = [
    (RIMS, {}),
    (RIMS, {"reads": "map", "input_gain": 0.3}),  # that of maps, 3, would tell them apart anyway
    (RIMS, {"competition": "modules"}),
    (RIMS, {"competition": "modules", "reads": "map"}),
    (BRIMS, {}),
]


@pytest.mark.parametrize("how", ["bfloat16", "float16", "autocast"])
@pytest.mark.parametrize(("config", "options"), CHOOSE, ids=["rims", "map", "modules", "modules on a map", "brims"])
def test_half_precision_tells_apart_which_fresh_modules_read_most(config, options, how):
    """Their attentions differ by less than it has digits for; if they tied, the last modules would never be active."""
    torch.manual_seed(1)
    core = build_core(config.changed(**options), FEATURES)
    inputs = torch.randn(9, 20, 4 if "reads" in options else 1, FEATURES)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=how == "autocast"):
        half = torch.float32 if how == "autocast" else getattr(torch, how)
        trace = unroll(core.to(half), inputs.to(half), trace=True).trace
    (lowest, *_) = (active for name, active in trace.items() if name.endswith("active"))
    assert (lowest.double().mean((0, 1)) > 0.2).all()


@pytest.mark.parametrize(("config", "options"), CASES, ids=NAMES)
def test_gradients_are_true(config, options):
    core = make(config, options | {"block_gradient": False})
    inputs = slots(core, batch=2, steps=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: unroll(core, x).output, (inputs,), fast_mode=True)


# --- reading ---------------------------------------------------------------------------------------------


def slow_reading(core: Any, slots: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """The attention (B, heads, K, L) and what modules read of it as gates (B, K, gates), number by number."""
    config, reading = core.reading.config, core.reading
    there = slots.unsqueeze(2) if config.reads == "strips" else slots.unsqueeze(1).expand(-1, config.modules, -1, -1)
    heads, (batch, _, positions, _) = config.input_heads, there.shape  # there are those that a module can read
    attention = torch.zeros(batch, heads, config.modules, positions, dtype=torch.float64)
    if reading.trace_axes:
        scores = torch.zeros_like(attention)
        for b in range(batch):
            for k in range(config.modules):
                query = (hidden[b, k] @ reading.query.weight[k]).view(heads, -1)
                for p in range(positions):
                    key = (reading.key.weight @ there[b, k, p]).view(heads, -1)
                    for h in range(heads):
                        scores[b, h, k, p] = query[h] @ key[h] / math.sqrt(config.input_key)
        if config.competition == "modules":
            for b in range(batch):
                for h in range(heads):
                    for p in range(positions):
                        attention[b, h, :, p] = cut_down(scores[b, h, :, p].softmax(0), config.active)
        else:
            null = int(config.null_slot)
            exponentials = scores.exp()
            attention = exponentials / (exponentials.sum(-1, keepdim=True) + null)
    else:
        attention += 1 / positions
    gates = torch.zeros(batch, config.modules, reading.gates.weight.shape[-1], dtype=torch.float64)
    for b in range(batch):
        for k in range(config.modules):
            values = [(reading.value.weight @ there[b, k, p]).view(heads, -1) for p in range(positions)]
            read = [sum(attention[b, h, k, p] * values[p][h] for p in range(positions)) for h in range(heads)]
            gates[b, k] = torch.cat(read) @ reading.gates.weight[k]
    return attention, gates


def cut_down(attention: Tensor, count: int) -> Tensor:
    threshold = attention.sort(descending=True).values[count] + 1e-7
    rest = (attention - threshold).clamp(min=0)
    return rest / (rest.sum() + 1e-7)


READINGS = {name: options for name, options in OPTIONS.items() if "null" in name or "input" in name} | OF_RIMS


@pytest.mark.parametrize("name", READINGS)
def test_reading_is_what_it_says(name):
    options = READINGS[name]
    core = make(RIMS, options)
    positions = {"map": 4, "strips": RIMS.modules}.get(options.get("reads", "vector"), 1)
    generator = torch.Generator().manual_seed(1)
    slots = torch.randn(BATCH, positions, FEATURES, generator=generator, dtype=torch.float64)
    hidden = drawn_state(core)[0].detach()
    (projected,) = core.reading.project(slots.unsqueeze(1))
    read = core.reading(projected, hidden)
    attention, gates = slow_reading(core, slots, hidden)
    close(read.gates, gates)
    several = options.get("reads") == "map" or options.get("null_slot", True)
    assert ("input_attention" in read.trace) == (options.get("input_attention", True) and several)
    if "input_attention" in read.trace:
        close(read.trace["input_attention"], attention)


def test_winners_of_the_competition_of_modules_are_active_and_the_others_read_nothing():
    core = make(RIMS, {"competition": "modules"})
    _, _, trace = core.step(drawn_inputs(), drawn_state(core))
    attention = trace["input_attention"][:, 0, :, 0]
    assert torch.equal(attention > 0, trace["active"])
    torch.testing.assert_close(attention.sum(1), torch.ones(BATCH).double(), rtol=0, atol=1e-5)
    assert "null_attention" not in trace


def test_by_positions_the_highest_mean_attention_wins():
    core = make(RIMS, {"competition": "modules", "reads": "map", "active": 4})  # too many to be cut down
    generator = torch.Generator().manual_seed(1)
    slots = torch.randn(BATCH, 6, FEATURES, generator=generator, dtype=torch.float64)
    _, _, trace = core.step(slots, drawn_state(core))
    mean = trace["input_attention"].mean((1, 3))
    assert (mean.argmin(1) == (~trace["active"]).int().argmax(1)).all()
    close(trace["input_attention"].sum(2), torch.ones(BATCH, 1, 6).double())


@pytest.mark.parametrize(
    ("config", "slots", "expected"),
    [
        (BRIMsConfig, False, [True, False]),
        (BRIMsConfig, True, [True, True]),
        (HierarchicalRIMsConfig, False, [False, False]),
        (HierarchicalRIMsConfig, True, [False, True]),
    ],
)
def test_without_a_null_slot_a_layer_attends_where_it_has_several_slots(config, slots, expected):
    settings = config(modules=(5, 4), active=(5, 4), units=(3, 2), null_slot=False, per_module_slots=slots)
    axes = build_core(settings, FEATURES).trace_axes
    assert [f"layer{level}.input_attention" in axes for level in (0, 1)] == expected


@pytest.mark.parametrize("options", [OPTIONS["no input attention"], OPTIONS["no input attention, by chance"]])
def test_without_input_attention_brims_read_the_mean_of_their_neighbours(options):
    core = make(BRIMS, options)
    reading, _ = levels(core)[0]
    slots = torch.randn(2, BATCH, reading.below.out_features, dtype=torch.float64)
    above = torch.randn(1, BATCH, 4 * 6, dtype=torch.float64)
    ((projected, _), *_) = (core.project(drawn_inputs().unsqueeze(1))[0][1][0],)
    read = reading(projected, slots, above, drawn_state(core)[0][0])
    mean = torch.cat([slots, reading.above(above)]).mean(0)
    for k in range(5):
        close(read.gates[:, k], mean @ reading.gates.weight[k])
    assert read.trace == {}


# --- exchange --------------------------------------------------------------------------------------------


def moved_by(core: Any, part: int, change: float = 1e-6) -> Tensor:
    """Which active modules of the lowest layer notice a change of the resting ones' hidden state or cell."""
    state, inputs = drawn_state(core), drawn_inputs()
    _, after, trace = core.step(inputs, state)
    active, states = seen(core, trace, 0, "active"), by_level(core, state)
    own = list(states[0])
    own[part] = torch.where(active.unsqueeze(-1), own[part], own[part] + change)
    _, other, again = core.step(inputs, joined(core, [tuple(own), *states[1:]]))
    assert torch.equal(seen(core, again, 0, "active"), active)
    return (by_level(core, other)[0][0] != by_level(core, after)[0][0]).any(-1)[active]


@pytest.mark.parametrize("config", [RIMS, BRIMS], ids=["rims", "brims"])
def test_what_a_resting_module_offers(config):
    assert moved_by(make(config, {}), 1).all()
    assert not moved_by(make(config, {"comm_source": "state"}), 1).any()
    assert not moved_by(make(config, {"comm_source": "state"}), 1, torch.nan).any()
    assert moved_by(make(config, {"comm_source": "state"}), 0).all()
    assert not moved_by(make(config, {"comm": False}), 0).any()


@pytest.mark.parametrize("source", ["candidate", "state"])
@pytest.mark.parametrize("config", [RIMS, BRIMS], ids=["rims", "brims"])
def test_an_open_gradient_changes_the_gradient_alone(config, source):
    outputs, gradients = [], []
    for block in (True, False):
        core = make(config, {"block_gradient": block, "comm_source": source})
        state = drawn_state(core)
        output, _, trace = core.step(drawn_inputs(), state)
        active, hidden = seen(core, trace, 0, "active"), by_level(core, state)[0][0]
        gradients.append(torch.autograd.grad(output[active].sum(), hidden)[0][~active])
        outputs.append(output)
    assert torch.equal(*outputs)
    assert (gradients[0] == 0).all()
    assert (gradients[1] != 0).any(-1).all()


@pytest.mark.parametrize("config", [RIMS, BRIMS], ids=["rims", "brims"])
def test_no_communication_is_messages_of_zero(config):
    core, mute = make(config, {}), make(config, {"comm": False})
    mute.load_state_dict({name: core.state_dict()[name] for name in mute.state_dict()})
    for _, layer in levels(core):
        with torch.no_grad():
            layer.communication.message.weight.zero_()
            layer.communication.message.bias.zero_()
    close(core.step(drawn_inputs(), drawn_state(core))[1], mute.step(drawn_inputs(), drawn_state(core))[1])


@pytest.mark.parametrize("topk", [None, 2])
@pytest.mark.parametrize("gate", [True, False])
def test_messages_number_by_number(gate, topk):
    core = make(RIMS, {"comm_gate": gate, "comm_topk": topk, "active": "all"})
    mute = make(RIMS, {"comm": False, "active": "all"})
    mute.load_state_dict({name: core.state_dict()[name] for name in mute.state_dict()})
    state, inputs = drawn_state(core), drawn_inputs()
    candidate = mute.step(inputs, state)[0]
    output, _, trace = core.step(inputs, state)
    comm = core.layer.communication
    for b in range(BATCH):
        rows = [(candidate[b, k] @ comm.attend.weight[k]).view(comm.heads, -1) for k in range(5)]
        for k in range(5):
            heard = []
            for h in range(comm.heads):
                scores = torch.stack([rows[k][h, :4] @ rows[j][h, 4:8] / math.sqrt(4) for j in range(5)])
                attention = scores.softmax(0) if topk is None else cut_down(scores.softmax(0), topk)
                close(trace["comm_attention"][b, h, k], attention)
                heard.append(sum(attention[j] * rows[j][h, 8:] for j in range(5)))
            said = comm.message(torch.cat(heard))
            said = said if not gate else torch.sigmoid(said[8:]) * torch.tanh(said[:8])
            close(output[b, k], candidate[b, k] + said)


def test_sparse_communication_hears_few():
    _, _, trace = (core := make(RIMS, {"comm_topk": 2})).step(drawn_inputs(), drawn_state(core))
    assert ((trace["comm_attention"] > 0).sum(-1) == 2).all()


# --- choice ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [RIMS, BRIMS], ids=["rims", "brims"])
def test_a_random_choice_does_not_look_at_the_input(config):
    core = make(config, {"competition": "random"})
    state = drawn_state(core)
    one, two = (core.step(drawn_inputs(seed), state)[2] for seed in (3, 4))
    for level in range(len(levels(core))):
        assert torch.equal(seen(core, one, level, "active"), seen(core, two, level, "active"))
        assert (seen(core, one, level, "active").sum(1) == levels(core)[level][1].active).all()


def test_a_random_choice_is_drawn_for_every_step_and_clip_in_training_from_the_global_generator():
    core = make(RIMS, {"competition": "random", "dropout": 0.0}).train()
    slots = drawn_inputs().unsqueeze(1).expand(-1, 9, -1, -1)
    torch.manual_seed(1)
    active = unroll(core, slots, trace=True).trace["active"]
    torch.manual_seed(1)
    assert torch.equal(unroll(core, slots, trace=True).trace["active"], active)
    assert not torch.equal(unroll(core, slots, trace=True).trace["active"], active)
    assert (active[0] != active[1]).any()
    assert (active[:, 0] != active[:, 1]).any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"active": 7}, "--core.active must be at most 6, got 7; lower --core.active or raise --core.modules"),
        ({"input_heads": 3}, "--core.input-heads must divide 4 units = 400, got 3; choose 1, 2 or 4"),
        ({"modules": 0}, "--core.modules must be greater than 0, got 0"),
        (
            {"modules": 2, "active": 1, "comm_topk": 1},
            "--core.comm-topk must be left out for 2 modules, got 1; leave it out",
        ),
        (
            {"comm_topk": 5},
            "--core.comm-topk must be at most 4 for 6 modules, got 5; leave it out: a larger one change",
        ),
        (
            {"null_slot": False},
            "--core.active must be 6, all modules, with --core.no-null-slot, got 4; there is n",
        ),
        ({"input_attention": False}, "--core.active must be 6, all modules, with --core.no-input-attention, got 4"),
        (
            {"competition": "modules", "null_slot": False},
            "--core.competition must be another than modules with --core.no-null-slot, got modules; it is one",
        ),
        (
            {"competition": "modules", "input_attention": False},
            "--core.competition must be another than modules with --core.no-input-attention, got modules; it is",
        ),
    ],
)
def test_settings_that_do_not_go_together(changes, message):
    with pytest.raises(ValueError, match="^" + message):
        RIMsConfig(**changes)


@pytest.mark.parametrize(("name", "trace"), [("rims", "active"), ("brims", "layer1.active"), ("scoff", "active")])
def test_chance_picks_others_at_each_step_in_evaluation_too(name, trace):
    small = {"scoff": {"active": 2}}.get(name, {})
    core = build_core(SMALL[name].changed(competition="random", **small), FEATURES).double().eval()
    active = unroll(core, slots(core, steps=200), trace=True).trace[trace].double()[0]  # (T, K)
    share = active.sum(1)[0] / active.shape[1]
    torch.testing.assert_close(active.mean(0), share.expand(active.shape[1]), rtol=0, atol=0.1)
    assert (active[1:] != active[:-1]).any(1).double().mean() > 0.5
