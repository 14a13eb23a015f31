"""The contract of cores, over the table CORES."""

import copy
from types import SimpleNamespace
from typing import Any

import known_bad
import known_bad_cores
import known_bad_schemata
import pytest
import torch
from core_checks import BATCH, CHECKS, FEATURES, SMALL, make, slots
from tiny_runs import CORE_SIZES
from torch import nn
from torch.utils import _pytree as tree

from videopred.models import CORES, build_core, core_config
from videopred.models.core import Core, unroll

WITH_TRUE_GRADIENT: dict[str, dict[str, Any]] = {
    "rims": {"block_gradient": False},
    "brims": {"block_gradient": False},
    "hierarchical-rims": {"block_gradient": False},
    "mld-rims": {"block_gradient": False},
    "scoff": {"schemata": 1},
}
"""What sets aside gradients that are deliberately not the true ones: blocked, or straight through a choice."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", CORES)
def test_core_keeps_the_contract(name, check):
    check(make(name))


SOUND = [known_bad.SoundCore, known_bad.SoundModules, known_bad.ModulesThatBegin, *known_bad_schemata.SOUND]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("core", SOUND)
def test_the_cores_that_the_broken_ones_derive_from_are_sound(check, core):
    check(core())


class LooksAtTheLargest(known_bad.SoundCore):
    """Of a map, each of its units hears the slot that excites it most, so that some slots are heard by none."""

    reads = "map"

    def project(self, slots):
        return self.inward(slots).amax(2).unbind(1)


class SharesOut(known_bad.SoundCore):
    """Its outputs are shares, which sum to 1; and it has a number that is not to be learned."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(4).double(), requires_grad=False)

    def advance(self, projected, state):
        output, state, trace = super().advance(projected * self.gain, state)
        return output.softmax(-1), state, trace


@pytest.mark.parametrize("core", [LooksAtTheLargest, SharesOut])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_core_that_chooses_among_slots_or_shares_out_is_sound(check, core):
    check(core())


@pytest.mark.parametrize(("broken", "check", "reason"), known_bad.CORES, ids=lambda item: getattr(item, "__name__", ""))
def test_check_fails_on_a_broken_core(broken, check, reason):
    with pytest.raises((AssertionError, RuntimeError), match=reason):
        check(broken())


@pytest.mark.parametrize(
    ("broken", "check", "reason"),
    [*known_bad_cores.CORES, *known_bad_schemata.CORES],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_check_says_which_of_its_demands_a_core_breaks(broken, check, reason):
    with pytest.raises(AssertionError, match=reason):
        check(broken())


def test_every_check_has_a_core_that_fails_it():
    broken = [*known_bad.CORES, *known_bad_cores.CORES, *known_bad_schemata.CORES]
    assert {check for _, check, _ in broken} == set(CHECKS)


def test_cores_that_read_maps_are_checked_on_several_positions():
    assert slots(make("scoff")).shape[2] > slots(make("gru")).shape[2] == slots().shape[2] == 1
    assert slots(SimpleNamespace(reads="map")).shape[2] > 1


def test_every_core_has_a_small_version():
    assert SMALL.keys() == CORE_SIZES.keys() == CORES.keys()


@pytest.mark.parametrize("table", [SMALL, CORE_SIZES])
def test_a_core_without_a_small_version_is_told_where_to_add_it(table):
    message = r"^core mingru must have small sizes .*; add it to SMALL in tests/\S+ and to CORE_SIZES in tests/\S+$"
    with pytest.raises(LookupError, match=message):
        table["mingru"]


@pytest.mark.parametrize("name", CORES)
def test_settings_survive_json(name):
    settings = SMALL[name]
    assert type(settings).model_validate_json(settings.model_dump_json()) == settings
    assert settings.kind == name


@pytest.mark.parametrize("name", CORES)
def test_settings_say_how_wide_the_state_is(name):
    """Cells, layers and a window of the past make it so many times as wide."""
    leaves = tree.tree_leaves(make(name).initial_state(1))
    width = sum(leaf.numel() for leaf in leaves if leaf.is_floating_point())
    told = sum(SMALL[name].state_widths)
    assert width in (told, 2 * told) or (name == "transformer" and width % told == 0)
    if rows := getattr(make(name), "state_rows", None):
        assert len(SMALL[name].state_widths) == sum(rows)


@pytest.mark.parametrize(
    ("name", "settings"),
    [*((name, {}) for name in CORES), ("scoff", {"start": "learned"}), ("scoff", {"frozen_schema": True})],
)
def test_a_clip_of_a_first_state_changes_alone(name, settings):
    """Who writes into it changes no other clip's, and no weight."""
    core = build_core(SMALL[name].model_copy(update=settings), FEATURES).eval()
    weights, fresh = copy.deepcopy(core.state_dict()), core.initial_state(BATCH)
    state = core.initial_state(BATCH)
    with torch.no_grad():
        for written, kept in zip(tree.tree_leaves(state), tree.tree_leaves(fresh), strict=True):
            written[0].fill_(1)
            assert torch.equal(written[1:], kept[1:])
    assert all(torch.equal(values, weights[key]) for key, values in core.state_dict().items())


@pytest.mark.parametrize("name", CORES)
def test_gradients_are_true(name):
    core = build_core(SMALL[name].model_copy(update=WITH_TRUE_GRADIENT.get(name, {})), FEATURES).double().eval()
    inputs = slots(core, batch=2, steps=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: unroll(core, x).output, (inputs,), fast_mode=True)


def test_unknown_core_is_named():
    with pytest.raises(ValueError, match=rf"--core must be one of {', '.join(CORES)}, .*, got rms; did you mean rims"):
        core_config("rms")


def test_unroll_starts_from_a_state_of_its_batch(monkeypatch):
    core, asked = make("gru"), []
    monkeypatch.setattr(
        core, "initial_state", lambda batch: asked.append(batch) or torch.zeros(batch, core.units).double()
    )
    unroll(core, slots())
    assert asked == [BATCH]


def test_a_core_that_does_all_steps_at_once_is_asked_to():
    class AllAtOnce(known_bad.SoundCore):
        def run(self, slots, state):
            done = [self.step(slots[:, t], state) for t in range(slots.shape[1])]
            return torch.stack([output for output, _, _ in done], 1), state + 1, {"norm": slots.requires_grad_()}

    core = AllAtOnce()
    done, traced = unroll(core, slots()), unroll(core, slots(), trace=True)
    assert torch.equal(done.state, core.initial_state(BATCH) + 1)
    assert done.trace == {}
    assert torch.equal(traced.trace["norm"], slots())
    assert not traced.trace["norm"].requires_grad


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda output, state: (output, state), "return output, state, trace, got 2 values"),
        (lambda output, state: (output, [state, None], {}), "return a state of tensors alone, got NoneType"),
        (lambda output, state: (output[:, 1:], state, {}), r"return an output \(B, T, .*, got \(3, 6, 1, 4\)"),
    ],
)
def test_what_it_gives_for_them_is_looked_at(given, message):
    class AllAtOnce(known_bad.SoundCore):
        def run(self, slots, state):
            output = slots.new_zeros(*slots.shape[:2], self.rows, self.units)
            return given(output, state)

    with pytest.raises((TypeError, ValueError), match=f"^core AllAtOnce must {message}"):
        unroll(AllAtOnce(), slots())


@pytest.mark.parametrize("name", [name for name in CORES if make(name).trace_axes])
def test_a_trace_is_kept_only_when_asked_for_and_keeps_no_graph(name):
    core = make(name)
    assert unroll(core, slots()).trace == {}
    trace = unroll(core, slots().requires_grad_(), trace=True).trace
    assert not any(value.requires_grad for value in trace.values())


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda core: core.initial_state(2), "initial_state"),
        (lambda core: core.project(slots()), "project, or step"),
        (lambda core: core.advance(None, None), "advance, or step"),
        (lambda core: core.given_out(None), "given_out, as it has state_rows"),
    ],
)
def test_what_a_core_lacks_is_named(call, missing):
    class Empty(Core):
        pass

    with pytest.raises(TypeError, match=f"^Empty must define {missing}$"):
        call(Empty())


@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_plain_cores_refuse_maps(name):
    with pytest.raises(ValueError, match=r"slots must be one vector per step .* got L = 2"):
        unroll(make(name), torch.zeros(3, 4, 2, FEATURES, dtype=torch.float64))


@pytest.mark.parametrize("wrong", [None, 3, nn.LSTM])
def test_the_name_of_a_core_is_a_text(wrong):
    with pytest.raises(TypeError, match=r"^core must be a name, got .*; give one of gru, lstm, "):
        core_config(wrong)
