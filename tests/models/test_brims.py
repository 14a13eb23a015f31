"""BRIMs and their rivals against the authors' numbers, an independent statement, and limit cases.

`test_modular` has the invariants of their layers; here is what goes on between layers.
"""

from typing import Any

import known_bad
import numpy as np
import pytest
import torch
from core_checks import BATCH, FEATURES, close, prepared
from golden_weights import GOLDEN, by_head, layer_weights
from modular_checks import drawn_inputs, drawn_state
from torch import Tensor

from videopred.bench.plain_cores import PlainBRIMs, with_weights_of
from videopred.models import build_core
from videopred.models.brims import BRIMs
from videopred.models.core import unroll
from videopred.models.modular_settings import (
    BRIMsConfig,
    HierarchicalRIMsConfig,
    MLDRIMsConfig,
    RIMsConfig,
    StackSettings,
)

PARTS = {"input_heads": 2, "input_key": 6, "comm_heads": 3, "comm_key": 4, "comm_value": 7}
THREE = {"modules": (5, 3, 4), "active": (3, 2, 2), "units": (8, 6, 10), **PARTS}
ALIKE = {"modules": (4, 4, 4), "active": (2, 2, 2), "units": (6, 6, 6), **PARTS}


def make(config: StackSettings, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return prepared(build_core(config, FEATURES))


def drawn_slots(steps: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(BATCH, steps, 1, FEATURES, generator=generator, dtype=torch.float64)


def golden_core(golden: dict[str, np.ndarray]) -> BRIMs:
    heads = {name: int(golden[name]) for name in ("input_heads", "input_key", "comm_heads", "comm_key", "comm_value")}
    sizes = {ours: golden[name].tolist() for ours, name in (("modules",) * 2, ("active",) * 2, ("units", "size"))}
    core = BRIMs(BRIMsConfig(**heads, **sizes), golden["x"].shape[-1]).double().eval()
    weights = {}
    for level in range(2):
        prefix = f"layer{level}_"
        part = {name.removeprefix(prefix): value for name, value in golden.items() if name.startswith(prefix)}
        for slot, source in enumerate(("below", "above")[: len(part["wk"])]):
            key_value = by_head([part["wk"][slot], part["wv"][slot]], heads["input_heads"])
            weights[f"readings.{level}.{source}.weight"] = key_value.T
        weights[f"readings.{level}.query.weight"] = part["wq"]
        weights[f"readings.{level}.gates.weight"] = part["wih"]
        own = layer_weights(part, heads["comm_heads"])
        weights |= {f"layers.{level}.{name}": value for name, value in own.items()}
    core.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    return core


def test_equals_the_authors_core_forward_and_gradient():
    golden = dict(np.load(GOLDEN / "brims_lstm.npz"))
    core = golden_core(golden)
    x = torch.from_numpy(golden["x"]).requires_grad_()
    state = tuple(tuple(torch.from_numpy(golden[f"layer{level}_{part}0"]) for part in "hc") for level in range(2))
    flat = []
    for slots in x.unsqueeze(2).unbind(0):
        _, state, _ = core.step(slots, state)
        flat.append(torch.cat([hidden.flatten(1) for hidden, _ in state], 1))
    (torch.stack(flat) * torch.from_numpy(golden["loss_weight"])).sum().backward()
    torch.testing.assert_close(torch.stack(flat), torch.from_numpy(golden["h"]), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(x.grad, torch.from_numpy(golden["grad_x"]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("settings", [BRIMsConfig, HierarchicalRIMsConfig])
def test_equals_one_module_after_the_other(settings, cell):
    config = settings(**THREE, cell=cell)
    core = make(config)
    plain = PlainBRIMs(config, FEATURES, top_down=settings is BRIMsConfig).double().eval()
    plain = with_weights_of(plain, core)
    ours, theirs = drawn_slots().requires_grad_(), drawn_slots().requires_grad_()
    left, right = unroll(core, ours).state, unroll(plain, theirs).state
    for (hidden, own), (other, others) in zip(left, right, strict=True):
        close(hidden, other)
        assert cell == "gru" or torch.allclose(own, others, rtol=1e-10)
    sum(hidden.sin().sum() for hidden, _ in left).backward()
    sum(hidden.sin().sum() for hidden, _ in right).backward()
    close(ours.grad, theirs.grad)


def as_stack(core: Any, heads: int) -> dict[str, Tensor]:
    """The weights of RIMs as those of the first level of a stack."""
    weights = {f"layers.0.{name}": value for name, value in core.layer.state_dict().items()}
    reading = core.reading
    key_value = by_head([reading.key.weight.detach().T.numpy(), reading.value.weight.detach().T.numpy()], heads)
    weights["readings.0.below.weight"] = torch.from_numpy(key_value.T.copy())
    weights["readings.0.query.weight"] = reading.query.weight
    weights["readings.0.gates.weight"] = reading.gates.weight
    return weights


def rims(features: int, modules: int, active: int, units: int) -> Any:
    torch.manual_seed(modules)
    parts = {**PARTS, "input_heads": 4}
    return prepared(build_core(RIMsConfig(modules=modules, active=active, units=units, **parts), features))


ONE: dict[str, Any] = {"modules": (5,), "active": (3,), "units": (8,), **PARTS, "input_heads": 4}


def one_layer_is_rims_of_four_heads(stack: Any) -> None:
    one = rims(FEATURES, 5, 3, 8)
    stack.load_state_dict(as_stack(one, 4))
    left, right = unroll(one, drawn_slots(), trace=True), unroll(stack, drawn_slots(), trace=True)
    close(left.output, right.output)
    close(left.state, right.state[0])
    close({f"layer0.{name}": value for name, value in (left.trace | {"states": left.output}).items()}, right.trace)


@pytest.mark.parametrize("settings", [BRIMsConfig, HierarchicalRIMsConfig, MLDRIMsConfig])
def test_one_layer_is_rims_of_four_heads(settings):
    one_layer_is_rims_of_four_heads(make(settings(**ONE)))


def test_hierarchical_rims_are_rims_upon_the_outputs_of_rims():
    lower, upper = rims(FEATURES, 5, 3, 8), rims(5 * 8, 3, 2, 6)
    sizes = {"modules": (5, 3), "active": (3, 2), "units": (8, 6)}
    stack = make(HierarchicalRIMsConfig(**sizes, **{**PARTS, "input_heads": 4}))
    second = {name.replace("s.0.", "s.1."): value for name, value in as_stack(upper, 4).items()}
    stack.load_state_dict(as_stack(lower, 4) | second)
    between = unroll(lower, drawn_slots()).output
    close(unroll(stack, drawn_slots()).output, unroll(upper, between.flatten(2).unsqueeze(2)).output)


def the_lowest_layer_chooses_for_all(core: Any) -> None:
    trace = unroll(core, drawn_slots(), trace=True).trace
    assert torch.equal(trace["layer0.active"], trace["layer1.active"])
    assert torch.equal(trace["layer0.active"], trace["layer2.active"])


def test_the_lowest_layer_of_mld_rims_chooses_for_all():
    the_lowest_layer_chooses_for_all(make(MLDRIMsConfig(**ALIKE)))


def test_with_all_modules_active_mld_rims_are_hierarchical_rims():
    awake = {**ALIKE, "active": (4, 4, 4)}
    core, free = make(MLDRIMsConfig(**awake)), make(HierarchicalRIMsConfig(**awake))
    free.load_state_dict(core.state_dict())
    close(unroll(free, drawn_slots()).output, unroll(core, drawn_slots()).output)


def hiddens(core: Any, state: Any) -> list[Tensor]:
    return [one[0] for one in core.step(drawn_inputs(), state)[1]]


def changed(core: Any, state: Any, level: int) -> list[bool]:
    """Which layers' new states depend on the old state of a layer, in one step."""
    other = [(hidden + 0.1 * (level == at), *rest) for at, (hidden, *rest) in enumerate(state)]
    return [not torch.equal(*pair) for pair in zip(hiddens(core, state), hiddens(core, tuple(other)), strict=True)]


def a_layer_hears_the_next_one_up_as_it_was(core: Any) -> None:
    """And all layers above it, which read it in turn; none further up."""
    state = drawn_state(core)
    assert changed(core, state, 0) == [True, True, True]
    assert changed(core, state, 1) == [True, True, True]
    assert changed(core, state, 2) == [False, True, True]


def a_layer_is_computed_before_those_above_it(core: Any) -> None:
    """Weights of a layer change it and those above within a step, to the bit not those below."""
    state = drawn_state(core)
    for level, expected in enumerate([[True, True, True], [False, True, True], [False, False, True]]):
        before = hiddens(core, state)
        with torch.no_grad():
            core.layers[level].state_bias.add_(0.3)
        after = hiddens(core, state)
        assert [not torch.equal(*pair) for pair in zip(before, after, strict=True)] == expected


BETWEEN_LAYERS = [a_layer_hears_the_next_one_up_as_it_was, a_layer_is_computed_before_those_above_it]


@pytest.mark.parametrize("check", BETWEEN_LAYERS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("slots", [False, True])
def test_layers_hear_one_another(check, slots):
    check(make(BRIMsConfig(**THREE, per_module_slots=slots)))


@pytest.mark.parametrize(
    ("broken", "check", "config"),
    [
        (known_bad.ReadsTheTop, a_layer_hears_the_next_one_up_as_it_was, BRIMsConfig(**ALIKE)),
        (known_bad.ReadsNothingAbove, a_layer_hears_the_next_one_up_as_it_was, BRIMsConfig(**ALIKE)),
        (known_bad.ReadsWhatIsNotYet, a_layer_is_computed_before_those_above_it, BRIMsConfig(**ALIKE)),
        (known_bad.ReadsLate, one_layer_is_rims_of_four_heads, BRIMsConfig(**ONE)),
        (known_bad.ChoosesInEachLayer, the_lowest_layer_chooses_for_all, MLDRIMsConfig(**ALIKE)),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_check_fails_on_a_broken_stack(broken, check, config):
    core = make(config)
    check(core)
    core.__class__ = broken
    with pytest.raises(AssertionError):
        check(core)


@pytest.mark.parametrize("slots", [False, True])
def test_top_down_is_the_attention_on_the_layer_above(slots):
    core = make(BRIMsConfig(**THREE, per_module_slots=slots))
    _, _, trace = core.step(drawn_inputs(), drawn_state(core))
    below = [1, 5 if slots else 1]
    for level in range(2):
        attention = trace[f"layer{level}.input_attention"].mean(1)
        close(trace[f"layer{level}.top_down"], attention[..., below[level] :].sum(-1))
        close(attention.sum(-1), 1 - trace[f"layer{level}.null_attention"])
    assert "layer2.top_down" not in trace


def test_the_order_of_modules_above_does_not_matter_when_each_is_a_slot():
    core = make(BRIMsConfig(**THREE, per_module_slots=True))
    state = drawn_state(core)
    order = torch.tensor([2, 0, 1])
    permuted = (state[0], tuple(part[:, order] for part in state[1]), state[2])
    close(hiddens(core, permuted)[0], hiddens(core, state)[0])


@pytest.mark.parametrize(("readout", "shape"), [("lower", (BATCH, 5, 8)), ("top", (BATCH, 4, 10))])
def test_readout(readout, shape):
    core = make(BRIMsConfig(**THREE, readout=readout))
    output, state, _ = core.step(drawn_inputs(), drawn_state(core))
    assert output.shape == shape == (BATCH, core.rows, core.units)
    assert torch.equal(output, state[0 if readout == "lower" else -1][0])


@pytest.mark.parametrize(
    ("modules", "count"),
    [((6, 3), 1_797_900), ((5, 5), 1_586_160), ((6, 6), 1_425_000)],  # spec: the authors' live parameters
)
def test_number_of_parameters(modules, count):
    core = BRIMs(BRIMsConfig(modules=modules, active=(2, 2), units=tuple(300 // n for n in modules)), 300)
    assert sum(parameter.numel() for parameter in core.parameters()) == count


@pytest.mark.parametrize("part", ["read", "message"])
def test_dropout_is_on_in_training_only(part):
    core = make(BRIMsConfig(**THREE, dropout=0.5))
    with torch.no_grad():
        for reading, layer in zip(core.readings, core.layers, strict=True):
            (layer.communication.message if part == "read" else reading.gates).weight.zero_()
    state = drawn_state(core)
    assert torch.equal(hiddens(core, state)[0], hiddens(core, state)[0])
    core.train()
    assert not torch.equal(hiddens(core, state)[0], hiddens(core, state)[0])


@pytest.mark.parametrize(
    ("settings", "changes", "message"),
    [
        (
            BRIMsConfig,
            {"active": (3,)},
            "--core.active must have 2 numbers, one for each layer of --core.modu",
        ),
        (
            BRIMsConfig,
            {"units": (3, 4, 5)},
            "--core.units must have 2 numbers, one for each layer of --core.mod",
        ),
        (
            BRIMsConfig,
            {"modules": (5,), "units": (60,)},
            "--core.active must have 1 number, one for each layer of --core.modu",
        ),
        (
            BRIMsConfig,
            {"active": (3, 6)},
            "--core.active must be at most 5, got 6; lower --core.active or",
        ),
        (BRIMsConfig, {"input_heads": 7}, "--core.input-heads must divide 4 units = 240, got 7; choose 1, 2 or 4"),
        (BRIMsConfig, {"modules": (5, 0)}, "--core.modules must be greater than 0, got 0"),
        (BRIMsConfig, {"comm_topk": 4}, "--core.comm-topk must be at most 3 for 5 modules, got 4; leave it out"),
        (BRIMsConfig, {"null_slot": False}, "--core.active must be 5, all modules, with --core.no-null-slot, got 3"),
        (
            MLDRIMsConfig,
            {"modules": (5, 4)},
            r"--core.modules must be the same in all layers, as the lowest chooses for",
        ),
        (
            MLDRIMsConfig,
            {"active": (3, 2)},
            "--core.active must be the same in all layers, .* for all, got 3 2; or take",
        ),
    ],
)
def test_settings_that_do_not_go_together(settings, changes, message):
    with pytest.raises(ValueError, match="^" + message):
        settings(**changes)


def test_maps_from_neighbours_start_as_the_authors_do():
    core = BRIMs(BRIMsConfig(), 64)
    for part in (core.readings[0].below, core.readings[0].above, core.readings[1].below, core.readings[1].query):
        assert part.weight.std().item() == pytest.approx(0.01, rel=0.05)


def test_dynamics_of_each_layer_start_within_one_over_the_root_of_its_units():
    core = BRIMs(BRIMsConfig(modules=(4, 8), active=(2, 2), units=(25, 50)), 64)
    for reading, layer, bound in zip(core.readings, core.layers, (0.1, 0.05), strict=True):
        for weight in (reading.gates.weight, layer.state_gates.weight, layer.input_bias, layer.state_bias):
            assert 0.9 * bound < weight.max().item() <= bound
            assert 0.9 * bound < -weight.min().item() <= bound
