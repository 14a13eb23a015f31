"""Cores in the place of nn.LSTM: the habits that everybody's model relies on."""

import copy
from typing import Any

import pytest
import torch
from core_checks import BATCH, FEATURES, SMALL, STEPS, close, slots
from slow_proofs import slow
from torch import Tensor, nn
from torch.utils import _pytree as tree

from videopred.models import CORES, Layer
from videopred.models.conformance_ground import shaken
from videopred.models.core import unroll
from videopred.models.core_settings import CoreSettings


def make(name: str, **changes: Any) -> Layer:
    torch.manual_seed(0)
    return shaken(Layer(SMALL[name].model_copy(update=changes), FEATURES).double().eval())


def inputs() -> Tensor:
    return slots().squeeze(2)  # L = 1, for cores that read maps too


@pytest.mark.parametrize("name", CORES)
def test_sequences_in_outputs_and_state_out(name):
    layer = make(name)
    outputs, state = layer(inputs())
    done = unroll(layer.core, slots())
    assert outputs.shape == (BATCH, STEPS, layer.output_size)
    close(outputs, done.output.flatten(2))
    close(state, done.state)
    close(layer(slots())[0], outputs)


@pytest.mark.parametrize("name", CORES)
def test_steps_and_halves_are_the_whole(name):
    layer, state, outputs = make(name), make(name).initial_state(BATCH), []
    for given in inputs().unbind(1):
        output, state = layer.step(given, state)
        outputs.append(output)
    whole, last = layer(inputs())
    close(torch.stack(outputs, 1), whole)
    close(state, last)
    first, state = layer(inputs()[:, :4])
    close(torch.cat([first, layer(inputs()[:, 4:], state)[0]], 1), whole)


def test_lstm_is_torchs_lstm():
    layer, rival = make("lstm"), nn.LSTM(FEATURES, 13, batch_first=True).double()
    rival.load_state_dict({f"{key.rpartition('.')[2]}_l0": value for key, value in layer.state_dict().items()})
    outputs, (hidden, cell) = layer(inputs())
    expected, (last_hidden, last_cell) = rival(inputs())
    close(outputs, expected)
    close((hidden, cell), (last_hidden[0], last_cell[0]))


@pytest.mark.parametrize("name", CORES)
def test_copies_weights_and_precisions_are_those_of_any_module(name):
    layer = make(name)
    expected, _ = layer(inputs())
    other = make(name)
    shaken(other).load_state_dict(layer.state_dict())
    close(other(inputs())[0], expected)
    close(copy.deepcopy(layer)(inputs())[0], expected)
    assert layer.bfloat16()(inputs().bfloat16())[0].dtype == torch.bfloat16
    assert all(leaf.shape[0] == BATCH for leaf in tree.tree_leaves(layer.initial_state(BATCH)))


@pytest.mark.parametrize(
    ("name", "settings"), [*((name, {}) for name in CORES), ("rims", {"competition": "random"})], ids=str
)
def test_what_is_built_on_the_meta_device_is_filled_by_a_state_dict_alone(name, settings):
    layer = make(name, **settings)
    with torch.device("meta"):
        other = make(name, **settings)
    other = other.to_empty(device="cpu")
    for buffer in other.buffers():
        buffer.fill_(7)  # memory that nothing was written into may happen to be right
    other.load_state_dict(layer.state_dict())
    close(other(inputs())[0], layer(inputs())[0])


@pytest.mark.parametrize("name", CORES)
def test_autocast_leaves_outputs_and_states_in_the_precision_of_the_weights(name):
    layer, given = make(name).float(), inputs().float()
    with torch.autocast("cpu", torch.bfloat16):
        output, state = layer(given)
    assert output.dtype == torch.float32
    initial = tree.tree_leaves(layer.initial_state(BATCH))
    assert [leaf.dtype for leaf in tree.tree_leaves(state)] == [leaf.dtype for leaf in initial]
    assert layer(given, state)[0].isfinite().all()


@pytest.mark.parametrize("name", CORES)
def test_a_replica_as_data_parallel_makes_it_does_the_same(name):
    """Its weights are tensors in the place of parameters."""
    layer = make(name)
    close(replica(layer)(inputs())[0], layer(inputs())[0])


def replica(module: nn.Module) -> nn.Module:
    """What torch.nn.parallel.replicate gives for each of several GPUs."""
    copied = module._replicate_for_data_parallel()
    copied._modules = {name: part and replica(part) for name, part in module._modules.items()}
    for name, parameter in module._parameters.items():
        setattr(copied, name, None if parameter is None else parameter.clone())
    return copied


@pytest.mark.filterwarnings("ignore")  # of what a trace keeps as it was
@pytest.mark.parametrize("name", ["rims", *slow(*(name for name in CORES if name != "rims"))])
def test_a_layer_can_be_traced(name):
    layer = make(name)
    state = layer.initial_state(BATCH)
    traced = torch.jit.trace(layer, (inputs(), state))
    others = inputs().flip(1)
    close(traced(others, state)[0], layer(others, state)[0])


@pytest.mark.filterwarnings("ignore")  # of what a trace keeps as it was
@pytest.mark.parametrize("name", ["scoff", *slow(*(name for name in CORES if name != "scoff"))])
def test_without_a_state_a_traced_an_exported_and_a_mapped_layer_say_the_same_in_evaluation(name):
    """Also again and again: noise on first states is no chance there."""
    layer, given = make(name), inputs()
    expected = layer(given)[0]
    programs = {
        "traced": torch.jit.trace(layer, (given,)),
        "exported": torch.export.export(layer, (given,)).module(),
        "mapped": torch.vmap(lambda one: layer(one.unsqueeze(0))[0].squeeze(0), randomness="different"),
    }
    for program in programs.values():
        for _ in range(3):
            said = program(given)
            close(said if isinstance(said, Tensor) else said[0], expected)


def _views_in_vmap() -> bool:
    try:
        torch.vmap(lambda numbers: numbers.view(torch.int16))(torch.zeros(2, 3, dtype=torch.int64))
    except RuntimeError:
        return False
    return True


@pytest.mark.filterwarnings("ignore")  # of speed
@pytest.mark.parametrize("name", ["scoff", *slow(*(name for name in CORES if name != "scoff"))])
def test_each_sample_has_gradients_of_its_own_in_training(name):
    if name == "scoff" and not _views_in_vmap():
        pytest.skip("this torch cannot view numbers as others within vmap, as drawing dropout's masks does")
    layer, given = make(name).train(), inputs()
    weights = dict(layer.named_parameters())

    def loss(weights: dict[str, Tensor], one: Tensor) -> Tensor:
        return torch.func.functional_call(layer, weights, (one.unsqueeze(0),))[0].square().sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0), randomness="different")(weights, given)
    assert all(gradient.shape == (BATCH, *weights[name].shape) for name, gradient in each.items())
    assert any((gradient != 0).any() for gradient in each.values())


def test_layers_of_one_kind_run_together_by_vmap():
    """An ensemble, as torch.func makes it."""
    layers, given = [make("rmc"), make("rmc")], inputs()
    shaken(layers[1])
    parameters, buffers = torch.func.stack_module_state(layers)
    together = torch.vmap(lambda weights, kept: torch.func.functional_call(layers[0], (weights, kept), given)[0])
    close(together(parameters, buffers), torch.stack([layer(given)[0] for layer in layers]))


def test_the_first_number_that_is_not_finite_is_found_in_a_step_when_debugging(monkeypatch):
    layer = make("rims")
    layer.core.layer.input_bias.data[:, 3] = torch.nan
    monkeypatch.setenv("VIDEOPRED_DEBUG", "1")
    with pytest.raises(ValueError, match="output must be finite, got nan in clip 0 at step 0"):
        layer.step(inputs()[:, 0], layer.initial_state(BATCH))


@pytest.mark.parametrize("debugging", ["", "1"])
def test_a_step_compiles_whole(monkeypatch, debugging):
    monkeypatch.setenv("VIDEOPRED_DEBUG", debugging)
    torch.compiler.reset()
    layer, given = make("rims"), inputs()[:, 0]
    state = layer.initial_state(BATCH)
    compiled = torch.compile(layer.step, backend="eager", fullgraph=True)
    close(compiled(given, state)[0], layer.step(given, state)[0])


@pytest.mark.parametrize(
    ("name", "settings"),
    [("rims", {}), *slow(*((name, {}) for name in CORES if name != "rims"), ("scoff", {"frozen_schema": True}))],
    ids=str,
)
def test_a_layer_that_learns_compiles_for_batches_of_any_size(name, settings):
    torch.compiler.reset()
    compiled = torch.compile(make(name, **settings).train(), backend="eager")
    for clips in (BATCH, BATCH, 4, 5):
        assert compiled(torch.randn(clips, 2, FEATURES, dtype=torch.float64))[0].shape[0] == clips


def test_several_slots_are_taken():
    layer = make("rims", reads="map")
    given = torch.randn(2, 4, 3, FEATURES, dtype=torch.float64)
    outputs, _ = layer(given)
    assert outputs.shape == (2, 4, layer.output_size)
    state = layer.initial_state(2)
    close(layer.step(given[:, 0], state)[0], outputs[:, 0])


@pytest.mark.parametrize(("batch", "kind"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)])
def test_a_state_is_of_a_number_of_clips(batch, kind):
    with pytest.raises(kind, match=r"^batch must be (at least 1|a whole number), got .*; it is the number of clips$"):
        make("rims").initial_state(batch)


def test_names_and_settings():
    assert Layer("rims", 5, modules=3, active=2, units=7).output_size == 21
    assert Layer("rims-smnist", 5).core.config.comm_key == 16
    assert Layer("rims-smnist", 5, units=7).core.config.comm_key == 16
    assert Layer("rims-smnist", 5, units=7).output_size == 42
    assert Layer(SMALL["gru"], 5, units=6).output_size == 6
    assert Layer(SMALL["gru"], 5).input_size == 5


def test_a_first_state_is_drawn_from_the_generator_that_is_given():
    layer = make("scoff")
    first, again, other = (layer.initial_state(2, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    close(again, first)
    assert not torch.equal(other[0][0], first[0][0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Layer("rnn", 5), rf"--core must be one of {', '.join(CORES)}, .*, got rnn"),
        (lambda: Layer("rims-ball", 5), r"got rims-ball; did you mean rims-balls\?"),
        (lambda: Layer("gru", 5, modules=3), r"^modules must be a setting of gru: units, got 3; leave it out"),
        (
            lambda: Layer("rims", 5, hidden_size=60),
            r"^hidden_size must be a setting of rims: .*, got 60; did you mean units\?",
        ),
        (
            lambda: Layer("rims", 5, module=3),
            r"^module must be a setting of rims: modules, active, .*, got 3; did you mean modules\?",
        ),
        (lambda: Layer("gru", 0), "input_size must be at least 1, got 0; it is the width of the inputs"),
        (lambda: make("gru")(torch.zeros(5, 11)), r"inputs must be \(B, T, D\) or \(B, T, L, D\), got \(5, 11\); a s"),
        (
            lambda: make("gru").step(torch.zeros(11), torch.zeros(1, 13)),
            r"inputs must be \(B, D\) or \(B, L, D\), got \(11,\); a single clip is B = 1",
        ),
        (lambda: Layer("rims", 5, active=7), "--core.active must be at most 6, got 7"),
        (
            lambda: make("gru")(torch.zeros(0, 5, 11)),
            r"inputs must be \(B, T, D\) or \(B, T, L, D\), none of which but D is 0, got \(0, 5, 11\); leave empty b",
        ),
        (lambda: make("gru")(inputs()[:, :, :4]), "inputs must have the D = 11 features that GRU was built for, got 4"),
        (lambda: make("gru").step(inputs()[:, 0, :4], torch.zeros(3, 13)), "inputs must have the D = 11 features"),
        (
            lambda: make("gru").step(inputs()[:, 0], torch.zeros(4, 13)),
            "state must be of 3 clips, as the slots are, got 4",
        ),
        (
            lambda: make("lstm").step(inputs()[:, 0], torch.zeros(3, 13)),
            r"state must be one of LSTM, with the shapes \(3",
        ),
        (lambda: make("gru")(inputs(), torch.zeros(4, 13)), "state must be of 3 clips, as the slots are, got 4"),
    ],
)
def test_what_does_not_fit_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Layer(nn.LSTM, 5),
            "core must be a name or settings, got <class 'torch.nn.*LSTM'>; give a name",
        ),
        (
            lambda: Layer(CoreSettings(), 5),
            r"core must be a name or settings, got CoreSettings\(\); .* MODULE:CLASS",
        ),
        (lambda: Layer("gru", 5.0), "input_size must be a whole number, got 5.0"),
        (lambda: make("gru")([[[1.0]]]), "inputs must be a tensor, got list; make one"),
        (
            lambda: make("gru")(nn.utils.rnn.pack_sequence(list(inputs()))),
            r"inputs must be a tensor, got PackedSequence; give pad_packed_sequence\(…, batch_first=True\)\[0\]",
        ),
        (lambda: make("gru")(inputs().long()), "inputs must be floating point numbers, got torch.int64"),
        (
            lambda: make("rims").initial_state(2, generator=3),
            "generator must be a torch.Generator or None, got 3; make one",
        ),
        (lambda: unroll(make("gru").core, [[[1.0]]]), "slots must be a tensor, got list; make one"),
    ],
)
def test_what_is_of_another_kind_is_named(build, message):
    with pytest.raises(TypeError, match=message):
        build()
