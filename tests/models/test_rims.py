"""RIMs against the authors' numbers, an independent statement, and limit cases; `test_modular` has the invariants."""

from typing import Any

import known_bad
import modular_checks
import numpy as np
import pytest
import torch
from core_checks import FEATURES, close, shaken
from golden_weights import GOLDEN, layer_weights
from torch import Tensor, nn

from videopred.bench.plain_cores import PlainRIMs, with_weights_of
from videopred.models.core import unroll
from videopred.models.modular_settings import RIMsConfig
from videopred.models.rims import RIMs


def make(features: int = 9, seed: int = 0, **settings: Any) -> RIMs:
    """A RIMs core in float64 and evaluation mode, with large weights."""
    torch.manual_seed(seed)
    return shaken(RIMs(config(**settings), features).double().eval())


def config(**settings: Any) -> RIMsConfig:
    sizes = {"modules": 5, "active": 3, "units": 8, "input_key": 6, "comm_heads": 2, "comm_key": 4, "comm_value": 3}
    return RIMsConfig(**{**sizes, **settings})


def random_state(core: RIMs, batch: int = 4, seed: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = (2, batch, core.rows, core.units)
    hidden, cell = torch.randn(shape, generator=generator, dtype=torch.float64).unbind(0)
    return hidden, cell


def random_slots(batch: int = 4, slots: int = 1, features: int = 9, seed: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, slots, features, generator=generator, dtype=torch.float64)


def golden_core(golden: dict[str, np.ndarray]) -> RIMs:
    size = {name: int(golden[name]) for name in ("modules", "active", "input_heads", "input_key")}
    size |= {name: int(golden[name]) for name in ("comm_heads", "comm_key", "comm_value")}
    core = RIMs(RIMsConfig(units=int(golden["size"]), **size), golden["x"].shape[-1]).double().eval()
    weights = {
        "reading.key.weight": golden["wk"][0].T,
        "reading.value.weight": golden["wv"][0].T,
        "reading.query.weight": golden["wq"],
        "reading.gates.weight": golden["wih"],
    }
    weights |= {f"layer.{name}": value for name, value in layer_weights(golden, size["comm_heads"]).items()}
    core.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    return core


def test_equals_the_authors_core_forward_and_gradient():
    golden = dict(np.load(GOLDEN / "rims_lstm.npz"))
    core = golden_core(golden)
    x = torch.from_numpy(golden["x"]).requires_grad_()
    slots = x.transpose(0, 1).unsqueeze(2)
    state = torch.from_numpy(golden["h0"]), torch.from_numpy(golden["c0"])
    done = unroll(core, slots, state, trace=True)
    output = done.output.transpose(0, 1)
    (output * torch.from_numpy(golden["loss_weight"])).sum().backward()
    assert torch.equal(done.trace["active"].transpose(0, 1), torch.from_numpy(golden["mask"]))
    torch.testing.assert_close(output, torch.from_numpy(golden["h"]), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(done.state[1], torch.from_numpy(golden["c"][-1]), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(x.grad, torch.from_numpy(golden["grad_x"]), rtol=1e-10, atol=1e-12)


def outcome(core: Any, slots: Tensor) -> tuple[Tensor, Tensor]:
    """Output of an unroll, and the gradient of a weighted sum of it."""
    slots = slots.clone().requires_grad_()
    output = unroll(core, slots).output
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    return output, torch.autograd.grad((output * weights).sum(), slots)[0]


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_equals_one_module_after_the_other(cell, heads):
    core = make(cell=cell, input_heads=heads)
    plain = with_weights_of(PlainRIMs(config(cell=cell, input_heads=heads), 9).double().eval(), core)
    slots = random_slots(slots=6).unsqueeze(2)
    close(outcome(core, slots), outcome(plain, slots))


@pytest.mark.parametrize("competition", ["null", "modules"])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_vector_and_a_map_of_one_position_give_the_same(heads, competition):
    # Two ways to the same numbers: for a vector the products are folded in another order.
    core = make(input_heads=heads, competition=competition)
    other = make(input_heads=heads, competition=competition, reads="map")
    other.load_state_dict(core.state_dict())
    slots = random_slots(slots=6).unsqueeze(2)
    close(outcome(core, slots), outcome(other, slots))


@pytest.mark.parametrize("changes", [{}, {"input_heads": 2, "cell": "gru"}, {"input_attention": False, "active": 5}])
def test_strips_that_are_all_the_same_give_what_one_vector_gives(changes):
    core, other = make(**changes), make(reads="strips", **changes)
    other.load_state_dict(core.state_dict())
    vectors = random_slots(slots=6)
    strips = vectors.unsqueeze(2).expand(-1, -1, core.rows, -1)
    close(unroll(other, strips, trace=True), unroll(core, vectors.unsqueeze(2), trace=True))


@pytest.mark.parametrize("changes", [{"input_heads": 2}, {"input_attention": False, "active": 5}])
def test_a_strip_is_read_by_its_own_module_alone(changes):
    core = make(reads="strips", comm=False, **changes)
    slots, state = random_slots(slots=5), random_state(core)
    before, after = core.step(slots, state), core.step(slots.index_fill(1, torch.tensor([3]), 0.5), state)
    read = [(one[2].get("null_attention"), one[0]) for one in (before, after)]
    others = [0, 1, 2, 4]
    if "input_attention" in changes:
        changed = (read[0][1] != read[1][1]).any(-1)  # (B, K)
        assert changed[:, 3].all()
        assert not changed[:, others].any()
    else:
        assert (read[0][0] != read[1][0])[:, 3].all()
        assert torch.equal(read[0][0][:, others], read[1][0][:, others])


def test_as_many_strips_as_modules_are_wanted():
    core = make(reads="strips")
    with pytest.raises(ValueError, match="slots must be 5 per step, one for each module, got L = 4; give as many"):
        unroll(core, random_slots(slots=4).unsqueeze(1))


@pytest.mark.parametrize("competition", ["null", "modules"])
def test_the_order_of_positions_does_not_matter(competition):
    modular_checks.the_order_of_positions_does_not_matter(make(FEATURES, reads="map", competition=competition))


def test_attention_is_shared_among_null_and_positions():
    core = make(reads="map", input_heads=2)
    _, _, trace = core.step(random_slots(slots=6), random_state(core))
    assert trace["input_attention"].shape == (4, 2, 5, 6)
    close(trace["input_attention"].sum(-1).mean(1), 1 - trace["null_attention"])


def without_exchange(core: RIMs) -> RIMs:
    """The core with messages of zero."""
    with torch.no_grad():
        core.layer.communication.message.weight.zero_()
        core.layer.communication.message.bias.zero_()
    return core


def test_one_module_without_exchange_is_an_lstm_on_its_attended_input():
    core = without_exchange(make(modules=1, active=1))
    reading, layer = core.reading, core.layer
    reference = nn.LSTMCell(4 * 8, 8).double()
    with torch.no_grad():
        reference.weight_ih.copy_(reading.gates.weight[0].T)
        reference.weight_hh.copy_(layer.state_gates.weight[0].T)
        reference.bias_ih.copy_(layer.input_bias[0])
        reference.bias_hh.copy_(layer.state_bias[0])
    slots, (hidden, cell) = random_slots(), random_state(core)
    score = (hidden[:, 0] @ reading.query.weight[0] * reading.key(slots[:, 0])).sum(-1, keepdim=True) / 6**0.5
    attended = torch.sigmoid(score) * reading.value(slots[:, 0])
    expected = reference(attended, (hidden[:, 0], cell[:, 0]))
    _, (new_hidden, new_cell), _ = core.step(slots, (hidden, cell))
    close(new_hidden[:, 0], expected[0])
    close(new_cell[:, 0], expected[1])


@pytest.mark.parametrize("reads", ["vector", "map"])
def test_without_an_input_the_null_attention_is_one_half(reads):
    modular_checks.without_an_input_the_null_attention_is_one_half(make(FEATURES, reads=reads))


@pytest.mark.parametrize(("broken", "check"), known_bad.READINGS, ids=lambda item: item.__name__)
def test_check_fails_on_a_broken_reading(broken, check):
    core = make(FEATURES, reads="map")
    check(core)
    core.reading.__class__ = broken
    with pytest.raises(AssertionError):
        check(core)


def test_every_check_of_readings_is_shown_to_fail():
    assert {check for _, check in known_bad.READINGS} == set(modular_checks.READING_CHECKS)


def test_null_attentions_too_small_for_one_minus_the_rest_still_tell_modules_apart():
    core = make(modules=3, active=1).float()
    with torch.no_grad():
        core.reading.query.weight.zero_()
        # Scores 30, 31, 32: in single precision every attention on the input is 1.
        key = core.reading.key(torch.ones(9))
        core.reading.query.weight[:, 0] = torch.tensor([30.0, 31, 32])[:, None] * key / key.square().sum() * 6**0.5
    hidden = torch.zeros(1, 3, 8)
    hidden[..., 0] = 1
    _, _, trace = core.step(torch.ones(1, 1, 9), (hidden, torch.zeros_like(hidden)))
    assert trace["input_attention"].flatten().tolist() == [1, 1, 1]
    assert trace["active"].tolist() == [[False, False, True]]


def varies(core: RIMs, slots: Tensor) -> bool:
    state = random_state(core, batch=len(slots))
    return not torch.equal(core.step(slots, state)[0], core.step(slots, state)[0])


@pytest.mark.parametrize(("reads", "slots"), [("vector", 1), ("map", 3)])
def test_dropout_on_what_is_read_is_on_in_training_only(reads, slots):
    core = without_exchange(make(dropout=0.5, reads=reads))
    assert not varies(core, random_slots(slots=slots))
    assert varies(core.train(), random_slots(slots=slots))


def test_dropout_on_the_message_is_on_in_training_only():
    core = make(dropout=0.5)
    with torch.no_grad():
        core.reading.value.weight.zero_()  # nothing is read, so what varies is the message
    assert not varies(core, random_slots())
    assert varies(core.train(), random_slots())


@pytest.mark.parametrize("part", ["read", "message"])
def test_clips_that_are_alike_draw_dropout_of_their_own(part):
    core = make(dropout=0.5).train()
    with torch.no_grad():  # leaves the other part alone to vary
        (core.layer.communication.message if part == "read" else core.reading.value).weight.zero_()
    state = tuple(values.expand(2, -1, -1) for values in random_state(core, batch=1))
    first, second = core.step(random_slots(batch=1).expand(2, -1, -1), state)[0]
    assert not torch.allclose(first, second)


def test_dropout_differs_from_step_to_step_and_keeps_the_mean():
    core = without_exchange(make(features=9, modules=1, active=1, units=50, dropout=0.4)).train()
    slots = random_slots(batch=1).expand(7, -1, -1).unsqueeze(0)
    with torch.no_grad():
        core.reading.query.weight.zero_()
    read = torch.stack([gates for _, gates in core.reading.project(slots)])
    assert (read[0] != read[1]).any()
    many = core.reading.project(slots[:, :1].expand(-1, 4000, -1, -1))
    mean = torch.stack([gates for _, gates in many]).mean(0)
    core.eval()
    ((_, expected),) = core.reading.project(slots[:, :1])
    torch.testing.assert_close(mean, expected, rtol=0, atol=0.2 * expected.std().item())


@pytest.mark.parametrize(
    ("settings", "features", "count"),
    [  # n d ih dk + D (ih dk + a) + n (a g d + g d d + 2 g d) + n d ch (2 cdk + cdv) + 2 (ch cdv d + d), a = 4 d
        ({"units": 100, "comm_key": 16, "comm_value": 16}, 512, 1_608_968),  # spec: the authors' live parameters
        ({"units": 100, "comm_key": 16, "comm_value": 16, "reads": "map"}, 512, 1_608_968),
        ({"units": 100, "comm_key": 16, "comm_value": 16, "cell": "gru"}, 512, 1_307_768),
        ({"units": 100, "comm_key": 16, "comm_value": 16}, 600, 1_649_800),
        ({"units": 60, "modules": 5, "active": 3, "comm_key": 16, "comm_value": 16}, 300, 538_200),
        # Without the gate there is one map ch cdv d and no bias: 64 · 100 + 2 · 100 less.
        ({"units": 100, "comm_key": 16, "comm_value": 16, "comm_gate": False}, 512, 1_608_968 - 6_600),
    ],
)
def test_number_of_parameters(settings, features, count):
    core = RIMs(RIMsConfig(**settings), features)
    assert sum(parameter.numel() for parameter in core.parameters()) == count


@pytest.mark.parametrize("reads", ["vector", "strips"])
def test_weights_start_as_the_authors_do(reads):
    # Attention N(0, 0.01²); dynamics uniform up to one over the root of all units, not of a module's.
    core = RIMs(RIMsConfig(modules=4, units=25, active=2, reads=reads), 64)
    reading, layer = core.reading, core.layer
    for part in (reading.query, reading.key, reading.value, layer.communication.attend):
        assert part.weight.std().item() == pytest.approx(0.01, rel=0.05)
    for weight in (reading.gates.weight, layer.state_gates.weight, layer.input_bias, layer.state_bias):
        assert 0.09 < weight.max().item() <= 0.1
        assert 0.09 < -weight.min().item() <= 0.1


@pytest.mark.parametrize(
    ("settings", "gain"),
    [({"reads": "map"}, 3), ({"reads": "map", "input_gain": 8}, 8), ({"input_gain": 1, "competition": "modules"}, 1)],
)
def test_queries_and_keys_start_as_many_times_as_large_as_torch_has_them(settings, gain):
    reading = RIMs(RIMsConfig(modules=4, units=25, active=2, **settings), 64).reading
    for weight, fan_in in ((reading.query.weight, 25), (reading.key.weight, 64)):
        assert 0.95 * gain < weight.max().item() * fan_in**0.5 <= gain
        assert weight.std().item() * (3 * fan_in) ** 0.5 == pytest.approx(gain, rel=0.05)
    assert reading.value.weight.std().item() * (3 * 64) ** 0.5 == pytest.approx(1, rel=0.05)
    assert reading.gates.weight.std().item() * (3 * 4 * 25) ** 0.5 == pytest.approx(1, rel=0.05)


def test_a_vector_reader_refuses_maps():
    with pytest.raises(ValueError, match=r"slots must be one vector per step .* got L = 3"):
        make().step(random_slots(slots=3), random_state(make()))


def test_on_a_map_the_module_with_the_least_mean_attention_rests():
    """With one fewer active than there are, attention is not cut down; at the first step all is equal."""
    sizes = {"modules": 4, "active": 3, "units": 5, "input_heads": 2, "input_key": 3}
    core = shaken(RIMs(RIMsConfig(reads="map", competition="modules", **sizes), 6).double().eval())
    trace = unroll(core, 3 * torch.randn(9, 6, 7, 6).double(), trace=True).trace
    attention, active = trace["input_attention"][:, 1:], trace["active"][:, 1:]
    resting = attention.mean((2, 4)).argmin(-1, keepdim=True)  # of (B, T, heads, K, L)
    assert torch.equal(active, torch.ones_like(active).scatter(-1, resting, 0))
