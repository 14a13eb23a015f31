"""The ladder of LSTMs against torch's cells, against hierarchical RIMs and BRIMs, and its promises."""

import pytest
import rival_checks
import torch
from core_checks import close, shaken
from rival_checks import BATCH, FEATURES, STEPS, layer_states, make_ladder, random_slots
from torch import Tensor, nn

from videopred.models import CORES, build_core
from videopred.models.core import unroll
from videopred.models.ladder import Ladder


@pytest.mark.parametrize("check", rival_checks.LADDER_CHECKS, ids=lambda check: check.__name__)
def test_ladder_keeps_its_promises(check):
    check(Ladder)


def attentive(name: str, **settings):
    """A ladder with attention in float64 and evaluation mode, with large weights."""
    torch.manual_seed(0)
    sizes = {"units": (4, 6, 7), "input_heads": 2, "input_key": 3}
    return shaken(build_core(CORES[name][0](**{**sizes, **settings}), FEATURES).double().eval())


def cell_of(weight: Tensor, bias: Tensor, own_weight: Tensor, own_bias: Tensor) -> nn.LSTMCell:
    """torch's cell with these weights."""
    cell = nn.LSTMCell(weight.shape[1], own_weight.shape[1]).double()
    values = {"weight_ih": weight, "bias_ih": bias, "weight_hh": own_weight, "bias_hh": own_bias}
    cell.load_state_dict(values)
    return cell


@pytest.mark.parametrize("name", ["lstm-h", "lstm-hb"])
def test_equals_cells_of_torch_in_a_loop(name):
    core = make_ladder(name)
    cells = []
    for layer in core.layers:
        weights = [layer.below.weight, *([] if layer.above is None else [layer.above.weight])]
        cells.append(cell_of(torch.cat(weights, 1), layer.below.bias, layer.own.weight, layer.own.bias))
    state = start = layer_states(core)
    outputs = []
    for t in range(STEPS):
        below, new = random_slots()[:, t, 0], []
        for level, (layer, cell) in enumerate(zip(core.layers, cells, strict=True)):
            read = below if layer.above is None else torch.cat([below, state[level + 1][0]], 1)
            new.append(cell(read, state[level]))
            below = new[-1][0]
        state = tuple(new)
        outputs.append(below)
    close(unroll(core, random_slots(), start).output, torch.stack(outputs, 1).unsqueeze(2))


def attended(reading, slots: list[Tensor], hidden: Tensor) -> Tensor:
    """What a layer reads of some slots and a null slot, head by head."""
    heads, key, units = 2, 3, hidden.shape[1]
    query = (hidden @ reading.query.weight[0]).unflatten(-1, (heads, key))
    maps = [reading.below, reading.above][: len(slots)]
    parts = []
    for head in range(heads):
        scores, values = [torch.zeros(len(hidden)).double()], []
        for layer, slot in zip(maps, slots, strict=True):
            own_key, own_value = layer(slot).unflatten(-1, (heads, -1))[:, head].split([key, 4 * units // heads], -1)
            scores.append((query[:, head] * own_key).sum(-1) / key**0.5)
            values.append(own_value)
        weights = torch.stack(scores).softmax(0)[1:]
        parts.append(sum(weight.unsqueeze(-1) * value for weight, value in zip(weights, values, strict=True)))
    return torch.cat(parts, -1)


@pytest.mark.parametrize("name", ["lstm-ha", "lstm-hab"])
def test_with_attention_equals_cells_of_torch_in_a_loop(name):
    core = attentive(name)
    cells = [
        cell_of(reading.gates.weight[0].T, layer.input_bias[0], layer.state_gates.weight[0].T, layer.state_bias[0])
        for reading, layer in zip(core.readings, core.layers, strict=True)
    ]
    generator = torch.Generator().manual_seed(3)
    pairs = [torch.randn(2, BATCH, units, generator=generator).double() for units in (4, 6, 7)]
    start = tuple((hidden.unsqueeze(1), cell.unsqueeze(1)) for hidden, cell in pairs)
    state, outputs = [tuple(pair) for pair in pairs], []
    for t in range(STEPS):
        below, new = random_slots()[:, t, 0], []
        for level, (reading, cell) in enumerate(zip(core.readings, cells, strict=True)):
            slots = [below] if reading.above is None else [below, state[level + 1][0]]
            new.append(cell(attended(reading, slots, state[level][0]), state[level]))
            below = new[-1][0]
        state = new
        outputs.append(below)
    close(unroll(core, random_slots(), start).output, torch.stack(outputs, 1).unsqueeze(2))


@pytest.mark.parametrize("name", ["lstm-h", "lstm-ha", "lstm-hab", "lstm-hb"])
def test_dropout_is_on_in_training_only(name):
    core = make_ladder(name, dropout=0.5) if name in ("lstm-h", "lstm-hb") else attentive(name, dropout=0.5)
    assert torch.equal(unroll(core, random_slots()).output, unroll(core, random_slots()).output)
    core.train()
    assert not torch.equal(unroll(core, random_slots()).output, unroll(core, random_slots()).output)


@pytest.mark.parametrize("name", ["lstm-h", "lstm-hb"])
def test_dropout_is_of_the_rate_that_is_set(name):
    layer = make_ladder(name, dropout=0.75).train().layers[1]
    got = layer.dropped(torch.ones(40, 50))
    assert set(got.unique().tolist()) == {0.0, 4.0}  # what is left of a quarter, so that the mean stays
    assert (got == 0).float().mean() == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize("name", ["lstm-ha", "lstm-hab"])
def test_stacks_of_single_modules_have_the_settings_that_they_share(name):
    core = attentive(name, dropout=0.6, input_heads=4, input_key=5)
    for config in (core.config, core.layers[0].config, core.readings[2].config):
        assert (config.dropout, config.input_heads, config.input_key, config.units) == (0.6, 4, 5, (4, 6, 7))
    assert core.config.kind == name
    assert config.modules == config.active == (1, 1, 1)
    assert (core.rows, core.units) == (1, 7)


def test_dropout_between_layers_spares_the_input():
    core = make_ladder("lstm-h", dropout=0.5, units=(4, 6)).train()
    first, second = (unroll(core, random_slots()).state for _ in range(2))
    close(first[0], second[0])
    assert not torch.equal(first[1][0], second[1][0])


def test_dropout_reaches_what_comes_from_above():
    core = make_ladder("lstm-hb", dropout=0.5, units=(4, 6)).train()
    state = layer_states(core)
    first, second = (core.step(random_slots()[:, 0], state)[1][0] for _ in range(2))
    assert not torch.equal(first[0], second[0])


def count(name: str, **settings) -> int:
    return sum(parameter.numel() for parameter in build_core(CORES[name][0](**settings), 512).parameters())


def test_number_of_parameters():
    assert count("lstm-h") == sum(parameter.numel() for parameter in nn.LSTM(512, 300, 2).parameters())
    assert count("lstm-hb") - count("lstm-h") == 4 * 300 * 300
    # n d ih dk + S Din (ih dk + a) + n (a g d + g d d + 2 g d) with n = 1, a = 4 d, g = 4, no communication
    gates, attention = 4 * 300 * 4 * 300 + 4 * 300 * 300 + 8 * 300, 300 * 4 * 64
    assert count("lstm-ha") == 2 * (gates + attention) + (512 + 300) * (4 * 64 + 4 * 300)
    assert count("lstm-hab") == count("lstm-ha") + 300 * (4 * 64 + 4 * 300)


def test_weights_start_as_torchs():
    core = Ladder(CORES["lstm-hb"][0](units=(100, 25)), 64)
    for layer, bound in zip(core.layers, (0.1, 0.2), strict=True):
        for parameter in layer.parameters():
            assert 0.9 * bound < parameter.abs().max() <= bound


@pytest.mark.parametrize("name", ["lstm-h", "lstm-ha", "lstm-hab", "lstm-hb"])
def test_the_output_is_that_of_the_highest_layer(name):
    core = build_core(CORES[name][0](units=(4, 6, 7), dropout=0.0), FEATURES).double()
    done = unroll(core, random_slots())
    assert torch.equal(done.output[:, -1].flatten(), done.state[-1][0].flatten())
    assert done.output.shape[1:] == (STEPS, core.rows, core.units) == (STEPS, 1, 7)


def test_one_layer_is_refused():
    with pytest.raises(ValueError, match=r"^--core.units must have at least 2 numbers, one for each layer, got "):
        CORES["lstm-h"][0](units=(4,))


def test_values_must_divide_over_heads():
    fault = r"^--core.input-heads must divide 4 units = 100 of every layer, got 3; choose 1, 2 or 4"
    with pytest.raises(ValueError, match=fault):
        CORES["lstm-ha"][0](units=(3, 25), input_heads=3)
