"""What an unroll refuses, each by its text, and that looking costs the loop nothing."""

import pytest
import torch
from core_checks import BATCH, FEATURES, SMALL, make, slots
from torch import nn
from torch.utils import _pytree as tree

from videopred.models import CORES, build_core
from videopred.models.core import unroll


@pytest.mark.parametrize("shape", [(3, 5, 11), (3, 0, 1, 11), (0, 5, 1, 11), (3, 5, 0, 11)])
def test_other_axes(shape):
    with pytest.raises(ValueError, match=r"slots must be \(B, T, L, D\) with B, T and L at least 1, got .*as L = 1"):
        unroll(make("gru"), torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize("name", CORES)
def test_another_width(name):
    own = rf"(?i:{name.replace('-', '')})"
    message = rf"slots must have the D = {FEATURES} features that {own} was built for, got 8; build it for these"
    with pytest.raises(ValueError, match=message):
        unroll(make(name), slots()[..., :8])


@pytest.mark.parametrize("name", CORES)
def test_whole_numbers(name):
    with pytest.raises(TypeError, match=r"slots must be floating point numbers, got torch.int64; convert them"):
        unroll(make(name), slots().long())


@pytest.mark.parametrize("name", CORES)
def test_another_precision(name):
    message = r"slots must be torch.float64, as the parameters of \w+ are, got torch.float32; convert these or those"
    with pytest.raises(TypeError, match=message):
        unroll(make(name), slots().float())


@pytest.mark.parametrize("name", CORES)
def test_autocast_settles_the_precision(name):
    with torch.autocast("cpu", torch.bfloat16):
        assert unroll(make(name).float(), slots().bfloat16()).output.isfinite().all()


@pytest.mark.parametrize("name", CORES)
def test_a_state_of_another_batch(name):
    core = make(name)
    message = "state must be of 3 clips, as the slots are, got 2; carry on from a state that this core gave for these c"
    with pytest.raises(ValueError, match=message):
        unroll(core, slots(), unroll(core, slots(batch=2)).state)


def test_a_state_of_another_precision_unless_autocast_settles_it():
    core = make("gru").float()
    state = core.initial_state(BATCH).double()
    message = r"state must be torch.float32, as the first state of GRU is, got torch.float64; convert it with .to\(\)"
    with pytest.raises(TypeError, match=message):
        unroll(core, slots().float(), state)
    with torch.autocast("cpu", torch.bfloat16):
        for again in (unroll(core, slots().bfloat16()).state, core.initial_state(BATCH).bfloat16()):
            assert unroll(core, slots().bfloat16(), again).output.isfinite().all()


@pytest.mark.parametrize("name", CORES)
def test_a_state_on_another_device(name):
    core = make(name)
    elsewhere = tree.tree_map(lambda leaf: leaf.to("meta"), core.initial_state(BATCH))
    with pytest.raises(
        ValueError, match=r"^state must be on cpu, as the first state of \w+ is, got meta; move it with"
    ):
        unroll(core, slots(core), elsewhere)


@pytest.mark.parametrize("name", CORES)
def test_a_state_of_another_core(name):
    core, others = make(name), [make(other).initial_state(BATCH) for other in CORES]
    others = [state for state in others if outline(state) != outline(core.initial_state(BATCH))]
    # Of other clips too, where the parts show that it is of another core.
    few, parts = [make(other).initial_state(2) for other in CORES], tree.tree_structure(core.initial_state(BATCH))
    others += [state for state in few if tree.tree_structure(state) != parts]
    assert len(others) > 1
    for state in others:
        with pytest.raises(ValueError, match=rf"state must be one of {type(core).__name__}, with the shapes \(3, "):
            unroll(core, slots(), state)


def test_a_state_of_several_batches():
    core, message = make("lstm"), r"with the shapes \(3, 13\), \(3, 13\), got \(2, 13\), \(4, 13\); carry on"
    with pytest.raises(ValueError, match=f"^state must be one of LSTM, {message}"):
        unroll(core, slots(), (core.initial_state(2)[0], core.initial_state(4)[1]))


def outline(state):
    """The shapes of a state, each in its place."""
    return tree.tree_map(lambda leaf: leaf.shape, state)


def test_a_state_of_a_core_of_other_sizes():
    wider = build_core(SMALL["gru"].model_copy(update={"units": 14}), FEATURES).double()
    with pytest.raises(ValueError, match=r"state must be one of GRU, with the shapes \(3, 13\), got \(3, 14\); carry"):
        unroll(make("gru"), slots(), wider.initial_state(BATCH))


def test_a_state_that_is_one_wide_is_not_stretched():
    narrow, wider = (build_core(CORES["gru"][0](units=units), FEATURES).double() for units in (1, 4))
    with pytest.raises(ValueError, match=r"state must be one of GRU, with the shapes \(3, 1\), got \(3, 4\); carry"):
        unroll(narrow, slots(), wider.initial_state(BATCH))


@pytest.mark.parametrize("state", [None, (), [1.0], "hidden", (1.0, 2.0), (torch.ones(()),) * 2])
def test_a_state_that_is_none(state):
    core = make("lstm")
    if state is None:
        unroll(core, slots(), state)
        return
    with pytest.raises(ValueError, match=r"state must be one of LSTM, with the shapes \(3, 13\), \(3, 13\), got "):
        unroll(core, slots(), state)


@pytest.mark.parametrize(("wrap", "kind"), [(list, "list"), (lambda pair: (pair,), "tuple")])
def test_the_right_tensors_in_other_containers(wrap, kind):
    core = make("lstm")
    with pytest.raises(ValueError, match=rf"got these in other containers, the outermost a {kind}; carry on"):
        unroll(core, slots(), wrap(core.initial_state(BATCH)))


class Growing(nn.Module):
    """Keeps all it has seen, from nothing on."""

    rows, units = 1, 2

    def initial_state(self, batch, *, generator=None):
        return torch.randn(batch, 1, generator=generator), torch.zeros(batch, 0, 2)

    def step(self, inputs, state):
        seen = torch.cat([state[1], inputs], 1)
        return seen.sum(1, keepdim=True), (state[0], seen), {}


def test_a_state_may_grow_along_an_axis_that_was_empty():
    first = unroll(Growing(), torch.ones(3, 4, 1, 2))
    assert unroll(Growing(), torch.ones(3, 1, 1, 2), first.state).output.tolist() == [[[[5, 5]]]] * 3
    with pytest.raises(ValueError, match=r"with the shapes \(3, 1\), \(3, 0, 2\), got \(3, 1\), \(3, 4, 3\)"):
        unroll(Growing(), torch.ones(3, 1, 1, 2), (first.state[0], torch.zeros(3, 4, 3)))


def test_a_core_without_parameters_takes_a_state_of_any_precision():
    state = tree.tree_map(torch.Tensor.double, unroll(Growing(), torch.ones(3, 4, 1, 2)).state)
    assert unroll(Growing(), torch.ones(3, 1, 1, 2), state).output.tolist() == [[[[5, 5]]]] * 3


def test_looking_at_a_state_takes_nothing_from_the_chance_of_others():
    state = Growing().initial_state(3)
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    unroll(Growing(), torch.ones(3, 4, 1, 2), state)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_the_first_number_that_is_not_finite_is_found_when_debugging(monkeypatch, value):
    broken = slots()
    broken[1, 5, 0, 3] = broken[2, 4, 0, 7] = value
    core = make("gru")
    unroll(core, broken)
    monkeypatch.setenv("VIDEOPRED_DEBUG", "1")
    unroll(core, slots())
    with pytest.raises(ValueError, match=rf"slots must be finite, got {value} in clip 2 at step 4; look there first"):
        unroll(core, broken)


@pytest.mark.parametrize("name", CORES)
def test_a_state_that_is_not_finite_is_found_when_debugging(monkeypatch, name):
    core = make(name)
    state = unroll(core, slots()).state
    for leaf in tree.tree_leaves(state):
        if leaf.is_floating_point():
            leaf.data[1:] = float("inf")
    unroll(core, slots(), state)
    monkeypatch.setenv("VIDEOPRED_DEBUG", "1")
    unroll(core, slots(), core.initial_state(BATCH))
    with pytest.raises(
        ValueError, match="state must be finite, got NaN or infinity in clip 1; look at the steps befor"
    ):
        unroll(core, slots(), state)


def test_a_core_without_a_state_can_be_debugged(monkeypatch):
    class Echo(nn.Module):
        def initial_state(self, batch, *, generator=None):
            return ()

        def step(self, inputs, state):
            return inputs, state, {}

    monkeypatch.setenv("VIDEOPRED_DEBUG", "1")
    assert torch.equal(unroll(Echo(), torch.ones(2, 3, 1, 4), ()).output, torch.ones(2, 3, 1, 4))


@pytest.mark.parametrize("name", CORES)
def test_a_state_on_the_meta_device_is_taken(name):
    core = make(name).to("meta")
    done = unroll(core, slots(core).to("meta"))
    assert unroll(core, slots(core).to("meta"), done.state).output.is_meta


@pytest.mark.parametrize("name", CORES)
def test_a_step_that_makes_something_that_is_not_finite_is_found_when_debugging(monkeypatch, name):
    core = make(name)
    for parameter in core.parameters():
        parameter.data.fill_(torch.nan)
    assert not unroll(core, slots(core)).output.isfinite().all()
    monkeypatch.setenv("VIDEOPRED_DEBUG", "1")
    with pytest.raises(ValueError, match="output must be finite, got nan in clip 0 at step 0; look there first"):
        unroll(core, slots(core))


def test_the_step_of_a_nan_is_named_when_debugging_where_all_steps_are_done_at_once(monkeypatch):
    """Masked attention lets a NaN reach the steps before it."""
    core, given = make("transformer"), slots()
    given[1, 5] = torch.finfo(given.dtype).max
    assert not unroll(core, given).output.isfinite().all()
    monkeypatch.setenv("VIDEOPRED_DEBUG", "1")
    with pytest.raises(ValueError, match=r"output must be finite, got nan in clip 1 at step 5; look there first"):
        unroll(core, given)


@pytest.mark.parametrize("name", CORES)
def test_nothing_waits_for_the_device(name):
    """No number is read back from the tensors, neither by the checks nor in the loop."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert func not in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default), func
            return func(*args, **(kwargs or {}))

    core = make(name)
    state = core.initial_state(BATCH)
    with Watch():
        unroll(core, slots(), state, trace=True).output.sum().backward()
