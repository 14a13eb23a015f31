"""The ladder of LSTMs against torch's cells, against RIMs, and its promises."""

import pytest
import rival_checks
import torch
from core_checks import close, shaken
from rival_checks import FEATURES, STEPS, layer_states, make_ladder, random_slots
from torch import Tensor, nn

from videopred.models import CORES
from videopred.models.core import unroll
from videopred.models.ladder import Ladder
from videopred.models.rims import RIMs
from videopred.models.settings import RIMsConfig

NAMES = ["lstm-h", "lstm-ha", "lstm-hab", "lstm-hb"]


@pytest.mark.parametrize("check", rival_checks.LADDER_CHECKS, ids=lambda check: check.__name__)
def test_ladder_keeps_its_promises(check):
    check(Ladder)


def attended(layer, slots: list[Tensor], hidden: Tensor) -> Tensor:
    """What one layer reads, slot by slot and head by head."""
    heads, key = layer.config.input_heads, layer.config.input_key
    parts = []
    for head in range(heads):
        query = layer.query(hidden).unflatten(-1, (heads, key))[:, head]
        scores, values = [torch.zeros(len(hidden)).double()], [torch.zeros(()).double()]
        for maps, slot in zip((layer.below, layer.above) if layer.reads_above else (layer.below,), slots, strict=True):
            own_key, own_value = maps(slot).split([heads * key, 4 * hidden.shape[1]], -1)
            scores.append((query * own_key.unflatten(-1, (heads, key))[:, head]).sum(-1) / key**0.5)
            values.append(own_value.unflatten(-1, (heads, -1))[:, head])
        weights = torch.stack(scores).exp()
        weights = weights / weights.sum(0)
        parts.append(sum(w.unsqueeze(-1) * value for w, value in zip(weights[1:], values[1:], strict=True)))
    return torch.cat(parts, -1)


def plain_ladder(core: Ladder, slots: Tensor, state) -> Tensor:
    """The outputs of all steps, with torch's LSTMCell as every layer."""
    cells, outputs = [], []
    for layer in core.layers:
        parts = [layer.read] if hasattr(layer, "read") else [layer.below, *([layer.above] if layer.reads_above else [])]
        weight = torch.cat([part.weight for part in parts], 1)
        cell = nn.LSTMCell(weight.shape[1], layer.own.in_features).double()
        values = {"weight_ih": weight, "bias_ih": parts[0].bias, "weight_hh": layer.own.weight}
        cell.load_state_dict(values | {"bias_hh": layer.own.bias})
        cells.append(cell)
    for t in range(slots.shape[1]):
        below, new = slots[:, t, 0], []
        for level, (layer, cell) in enumerate(zip(core.layers, cells, strict=True)):
            neighbours = [below, *([state[level + 1][0]] if layer.reads_above else [])]
            hidden = state[level][0]
            read = attended(layer, neighbours, hidden) if hasattr(layer, "read") else torch.cat(neighbours, -1)
            new.append(cell(read, state[level]))
            below = new[-1][0]
        state = tuple(new)
        outputs.append(below)
    return torch.stack(outputs, 1).unsqueeze(2)


@pytest.mark.parametrize("name", NAMES)
def test_equals_cells_of_torch_in_a_loop(name):
    core = make_ladder(Ladder, name)
    state = layer_states(core)
    close(unroll(core, random_slots(), state).output, plain_ladder(core, random_slots(), state))


def test_attention_to_the_layer_below_is_rims_of_one_module():
    # The step of BRIMs, which this ladder stands for, is that of RIMs; its one module has nobody to talk to.
    core = make_ladder(Ladder, "lstm-ha", units=(4, 6), input_heads=2)
    below = random_slots()
    for layer in core.layers:
        features, units = layer.below.in_features, layer.own.in_features
        config = RIMsConfig(modules=1, active=1, units=units, input_heads=2, comm=False)
        rims = RIMs(config, features).double().eval()
        with torch.no_grad():
            key, value = layer.below.weight.split(layer.sizes)
            rims.reading.key.weight.copy_(key)
            rims.reading.value.weight.copy_(value)
            rims.reading.query.weight.copy_(layer.query.weight.T.unsqueeze(0))
            rims.reading.gates.weight.copy_(layer.read.weight.T.unsqueeze(0))
            rims.layer.state_gates.weight.copy_(layer.own.weight.T.unsqueeze(0))
            rims.layer.input_bias.copy_(layer.read.bias.unsqueeze(0))
            rims.layer.state_bias.copy_(layer.own.bias.unsqueeze(0))
        below = unroll(rims, below).output
    close(unroll(core, random_slots()).output, below)


@pytest.mark.parametrize("name", NAMES)
def test_dropout_is_on_in_training_only(name):
    core = make_ladder(Ladder, name, dropout=0.5)
    assert torch.equal(unroll(core, random_slots()).output, unroll(core, random_slots()).output)
    core.train()
    assert not torch.equal(unroll(core, random_slots()).output, unroll(core, random_slots()).output)


def test_dropout_between_layers_spares_the_input():
    core = shaken(Ladder(CORES["lstm-h"][0](units=(4, 6), dropout=0.5), FEATURES).double())
    first, second = (unroll(core, random_slots()).state for _ in range(2))
    close(first[0], second[0])
    assert not torch.equal(first[1][0], second[1][0])


def test_dropout_reaches_what_comes_from_above():
    core = make_ladder(Ladder, "lstm-hb", dropout=0.5, units=(4, 6)).train()
    state = layer_states(core)
    first, second = (core.step(random_slots()[:, 0], state)[1][0] for _ in range(2))
    assert not torch.equal(first[0], second[0])


def count(name: str, **settings) -> int:
    return sum(parameter.numel() for parameter in Ladder(CORES[name][0](**settings), 512).parameters())


def test_number_of_parameters():
    assert count("lstm-h") == sum(parameter.numel() for parameter in nn.LSTM(512, 300, 2).parameters())
    assert count("lstm-hb") - count("lstm-h") == 4 * 300 * 300
    # n d ih dk + S Din (ih dk + a) + n (a g d + g d d + 2 g d) with n = 1, a = 4 d, g = 4, no communication
    gates, attention = 4 * 300 * 4 * 300 + 4 * 300 * 300 + 8 * 300, 300 * 4 * 64
    assert count("lstm-ha") == 2 * (gates + attention) + (512 + 300) * (4 * 64 + 4 * 300)
    assert count("lstm-hab") == count("lstm-ha") + 300 * (4 * 64 + 4 * 300)


def test_weights_start_as_torchs_and_attention_as_that_of_rims():
    torch.manual_seed(0)
    core = Ladder(CORES["lstm-hab"][0](units=(100, 25)), 64)
    for level, bound in ((0, 0.1), (1, 0.2)):
        layer = core.layers[level]
        for parameter in (*layer.read.parameters(), *layer.own.parameters()):
            assert 0.9 * bound < parameter.abs().max() <= bound
        assert layer.below.weight.std().item() == pytest.approx(0.01, rel=0.05)


def test_the_output_is_that_of_the_highest_layer():
    done = unroll(make_ladder(Ladder, "lstm-hb"), random_slots())
    assert torch.equal(done.output[:, -1, 0], done.state[-1][0])
    assert done.output.shape[1:] == (STEPS, 1, 7)


def test_one_layer_is_refused():
    with pytest.raises(ValueError, match=r"^--core.units must .*at least 2 items"):
        CORES["lstm-h"][0](units=(4,))


def test_values_must_divide_over_heads():
    with pytest.raises(
        ValueError, match=r"^--core.input-heads must divide 4 units = 100 of every layer, got 3; choose 1"
    ):
        CORES["lstm-ha"][0](units=(3, 25), input_heads=3)
