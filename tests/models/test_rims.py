"""RIMs against the authors' numbers, against limit cases, and against what the paper says must hold."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from core_checks import close, shaken
from torch import Tensor, nn

from videopred.models.core import unroll
from videopred.models.rims import RIMs, lowest
from videopred.models.settings import RIMsConfig

GOLDEN = Path(__file__).parents[1] / "golden" / "rims_lstm.npz"


def make(features: int = 9, seed: int = 0, **settings: Any) -> RIMs:
    """A RIMs core in float64 and evaluation mode, with large weights."""
    torch.manual_seed(seed)
    sizes = {"modules": 5, "active": 3, "units": 8, "input_key": 6, "comm_heads": 2, "comm_key": 4, "comm_value": 3}
    return shaken(RIMs(RIMsConfig(**{**sizes, **settings}), features).double().eval())


def random_state(core: RIMs, batch: int = 4, seed: int = 1) -> tuple[Tensor, Any]:
    generator = torch.Generator().manual_seed(seed)
    shape = (2, batch, core.rows, core.units)
    hidden, cell = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_().unbind(0)
    return hidden, (cell if core.config.cell == "lstm" else ())


def random_slots(batch: int = 4, slots: int = 1, features: int = 9, seed: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, slots, features, generator=generator, dtype=torch.float64)


def golden_core(golden: dict[str, np.ndarray]) -> RIMs:
    size = {name: int(golden[name]) for name in ("modules", "active", "input_heads", "input_key")}
    size |= {name: int(golden[name]) for name in ("comm_heads", "comm_key", "comm_value")}
    core = RIMs(RIMsConfig(units=int(golden["size"]), **size), golden["x"].shape[-1]).double().eval()
    weights = {
        "input_key.weight": golden["wk"][0].T,
        "input_value.weight": golden["wv"][0].T,
        "query.weight": golden["wq"],
        "input_gates.weight": golden["wih"],
        "state_gates.weight": golden["whh"],
        "input_bias": golden["bih"],
        "state_bias": golden["bhh"],
        "comm.weight": np.concatenate([golden["cq"], golden["ck"], golden["cv"]], -1),
        "message.weight": np.concatenate([golden["message_weight"], golden["gate_weight"]]),
        "message.bias": np.concatenate([golden["message_bias"], golden["gate_bias"]]),
    }
    core.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    return core


def test_equals_the_authors_core_forward_and_gradient():
    # The file's README says how the numbers were made: the authors' published core on random weights, float64.
    golden = dict(np.load(GOLDEN))
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


@pytest.mark.parametrize("heads", [1, 2])
def test_one_slot_and_a_map_of_one_give_the_same(heads):
    # The folded path for vectors against the plain statement of the attention, which maps take.
    core, state = make(input_heads=heads), random_state(make())
    slots = random_slots()
    keys, values = core.input_key(slots), core.input_value(slots)
    as_map = core.advance((keys, values), state)
    as_vector = core.step(slots, state)
    for left, right in zip(as_vector, as_map, strict=True):
        close(left, right)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_exactly_k_update_and_the_others_keep_their_state_to_the_bit(cell):
    core = make(cell=cell)
    before = random_state(core)
    _, after, trace = core.step(random_slots(), before)
    active = trace["active"]
    assert (active.sum(1) == 3).all()
    assert torch.equal(after[0][~active], before[0][~active])
    assert (after[0][active] != before[0][active]).all()
    if cell == "lstm":
        assert torch.equal(after[1][~active], before[1][~active])
        assert (after[1][active] != before[1][active]).all()


def test_the_module_that_cares_most_for_the_input_is_active():
    # The sign of the choice, which training does not reliably reveal: module 2's query is made to match the input.
    core = make(active=1)
    hidden, cell = random_state(core)
    slots = random_slots()
    with torch.no_grad():
        core.query.weight.zero_()
        key = core.input_key(slots[0, 0])
        core.query.weight[2] = torch.outer(hidden[0, 2], key)
    _, _, trace = core.step(slots[:1], (hidden[:1], cell[:1]))
    assert trace["active"][0].tolist() == [False, False, True, False, False]
    assert trace["null_attention"][0, 2] < 0.5
    assert (trace["null_attention"][0, [0, 1, 3, 4]] == 0.5).all()


def test_without_a_state_or_an_input_the_null_attention_is_one_half_and_ties_go_to_the_lowest_index():
    core = make(active=2)
    _, _, trace = core.step(random_slots(), core.initial_state(4))
    assert (trace["null_attention"] == 0.5).all()
    assert trace["active"].tolist() == [[True, True, False, False, False]] * 4
    _, _, trace = core.step(torch.zeros(4, 1, 9, dtype=torch.float64), random_state(core))
    assert (trace["null_attention"] == 0.5).all()


def test_lowest_breaks_ties_by_index():
    scores = torch.tensor([[0.4, 0.2, 0.2, 0.2, 0.1], [0.3, 0.3, 0.3, 0.3, 0.3]])
    assert lowest(scores, 2).tolist() == [[False, True, False, False, True], [True, True, False, False, False]]


def test_all_active_is_all_awake():
    core = make(active=5)
    assert core.step(random_slots(), random_state(core))[2]["active"].all()


def without_exchange(core: RIMs) -> RIMs:
    """The core with messages of zero."""
    with torch.no_grad():
        core.message.weight.zero_()
        core.message.bias.zero_()
    return core


def test_without_exchange_modules_are_independent():
    core = without_exchange(make(active=5))
    hidden = torch.randn(1, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    cell = torch.zeros_like(hidden)
    jacobian = torch.autograd.functional.jacobian(lambda h: core.step(random_slots(1), (h, cell))[0], hidden)
    coupling = jacobian[0, :, :, 0].abs().amax((1, 3))  # (K, K): module i's output by module j's state
    assert (coupling.diagonal() > 0).all()
    assert (coupling - coupling.diagonal().diag() == 0).all()


def test_gradient_reaches_resting_modules_only_through_their_own_memory():
    core = make()
    hidden, cell = random_state(core)
    output, _, trace = core.step(random_slots(), (hidden, cell))
    active = trace["active"]
    (of_active,) = torch.autograd.grad(output[active].sum(), hidden, retain_graph=True)
    (of_resting,) = torch.autograd.grad(output[~active].sum(), hidden)
    assert (of_active[~active] == 0).all()
    assert (of_active[active] != 0).any(-1).all()
    assert (of_resting[~active] == 1).all()
    assert (of_resting[active] == 0).all()


def test_active_modules_hear_what_resting_ones_would_have_become():
    # The candidate source of the authors' code: a resting module's hypothetical update is heard, not its old state.
    core = make(active=1)
    hidden, cell = random_state(core, batch=1)
    output, _, trace = core.step(random_slots(1), (hidden, cell))
    resting = int((~trace["active"][0]).nonzero()[0])
    changed = cell.detach().clone()
    changed[0, resting] += 1  # leaves its old hidden state alone, and moves its candidate
    other, _, _ = core.step(random_slots(1), (hidden, changed))
    active = trace["active"][0]
    assert (other[0, active] != output[0, active]).any()


def test_permuting_modules_with_their_weights_permutes_the_outputs():
    core, order = make(), torch.tensor([3, 0, 4, 1, 2])
    hidden, cell = random_state(core)
    output, _, trace = core.step(random_slots(), (hidden, cell))
    with torch.no_grad():
        for layer in (core.query, core.input_gates, core.state_gates, core.comm):
            layer.weight.copy_(layer.weight[order])
        core.input_bias.copy_(core.input_bias[order])
        core.state_bias.copy_(core.state_bias[order])
    permuted, _, other = core.step(random_slots(), (hidden[:, order], cell[:, order]))
    close(permuted, output[:, order])
    assert torch.equal(other["active"], trace["active"][:, order])


def test_the_order_of_slots_does_not_matter():
    core, order = make(), torch.tensor([2, 0, 3, 1, 4, 5])
    slots, state = random_slots(slots=6), random_state(make())
    output, _, trace = core.step(slots, state)
    other, _, same = core.step(slots[:, order], state)
    close(other, output)
    assert torch.equal(same["active"], trace["active"])


def test_one_module_without_exchange_is_an_lstm_on_its_attended_input():
    core = without_exchange(make(modules=1, active=1))
    reference = nn.LSTMCell(core.config.input_value, 8).double()
    with torch.no_grad():
        reference.weight_ih.copy_(core.input_gates.weight[0].T)
        reference.weight_hh.copy_(core.state_gates.weight[0].T)
        reference.bias_ih.copy_(core.input_bias[0])
        reference.bias_hh.copy_(core.state_bias[0])
    slots, (hidden, cell) = random_slots(), random_state(core)
    score = (hidden[:, 0] @ core.query.weight[0] * core.input_key(slots[:, 0])).sum(-1, keepdim=True) / 6**0.5
    attended = torch.sigmoid(score) * core.input_value(slots[:, 0])
    expected = reference(attended, (hidden[:, 0], cell[:, 0]))
    _, (new_hidden, new_cell), _ = core.step(slots, (hidden, cell))
    close(new_hidden[:, 0], expected[0])
    close(new_cell[:, 0], expected[1])


def varies(core: RIMs, slots: Tensor) -> bool:
    state = random_state(core, batch=len(slots))
    return not torch.equal(core.step(slots, state)[0], core.step(slots, state)[0])


@pytest.mark.parametrize("slots", [1, 3])
def test_dropout_on_what_is_read_is_on_in_training_only(slots):
    core = without_exchange(make(dropout=0.5))
    assert not varies(core, random_slots(slots=slots))
    assert varies(core.train(), random_slots(slots=slots))


def test_dropout_on_the_message_is_on_in_training_only():
    core = make(dropout=0.5)
    with torch.no_grad():
        core.input_value.weight.zero_()  # nothing is read, so what varies is the message
    assert not varies(core, random_slots())
    assert varies(core.train(), random_slots())


@pytest.mark.parametrize(
    ("settings", "features", "count"),
    [  # n d ih dk + D (ih dk + a) + n (a g d + g d d + 2 g d) + n d ch (2 cdk + cdv) + 2 (ch cdv d + d), a = 4 d
        ({"units": 100, "comm_key": 16, "comm_value": 16}, 512, 1_608_968),  # spec: the authors' live parameters
        ({"units": 100, "comm_key": 16, "comm_value": 16, "cell": "gru"}, 512, 1_307_768),
        ({"units": 60, "modules": 5, "active": 3, "comm_key": 16, "comm_value": 16}, 300, 538_200),
    ],
)
def test_number_of_parameters(settings, features, count):
    core = RIMs(RIMsConfig(**settings), features)
    assert sum(parameter.numel() for parameter in core.parameters()) == count


def test_weights_start_as_the_authors_do():
    # Attention N(0, 0.01²); dynamics uniform up to one over the root of all units, not of a module's.
    torch.manual_seed(0)
    core = RIMs(RIMsConfig(modules=4, units=25, active=2), 64)
    for weight in (core.query.weight, core.comm.weight, core.input_key.weight, core.input_value.weight):
        assert weight.std().item() == pytest.approx(0.01, rel=0.05)
    for weight in (core.input_gates.weight, core.state_gates.weight, core.input_bias, core.state_bias):
        assert 0.09 < weight.abs().max().item() <= 0.1


def test_more_active_than_modules_is_refused():
    with pytest.raises(ValueError, match=r"^--core.active must be at most 6, got 7; lower --core.active or raise"):
        RIMsConfig(active=7)


def test_values_must_divide_over_heads():
    with pytest.raises(ValueError, match=r"^--core.input-heads must divide 4 units = 400, got 3; choose 1, 2 or 4"):
        RIMsConfig(input_heads=3)
