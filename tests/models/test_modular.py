"""What RIMs, BRIMs and the rivals made of the same layers have in common, each against the checks of modules."""

import known_bad
import pytest
import torch
from core_checks import FEATURES, prepared
from modular_checks import MODULAR_CHECKS, all_modules_are_awake, drawn_inputs, drawn_state, levels, seen

from videopred.models import build_core
from videopred.models.modular_settings import BRIMsConfig, HierarchicalRIMsConfig, MLDRIMsConfig, RIMsConfig

PARTS = {"input_key": 6, "comm_heads": 2, "comm_key": 4, "comm_value": 3}
LAYERS = {"modules": (5, 4, 3), "active": (3, 2, 2), "units": (8, 6, 7), "input_heads": 2}
SETTINGS = {
    "rims": RIMsConfig(modules=5, active=3, units=8, **PARTS),
    "rims of two heads": RIMsConfig(modules=5, active=3, units=8, input_heads=2, **PARTS),
    "rims on a map": RIMsConfig(modules=5, active=3, units=8, reads="map", **PARTS),
    "brims": BRIMsConfig(**LAYERS, **PARTS),
    "brims of one layer": BRIMsConfig(modules=(5,), active=(3,), units=(8,), **PARTS),
    "hierarchical rims": HierarchicalRIMsConfig(**LAYERS, **PARTS),
    "mld rims": MLDRIMsConfig(modules=(5, 5), active=(3, 3), units=(8, 6), input_heads=2, **PARTS),
}


def make(name, **changes):
    torch.manual_seed(0)
    return prepared(build_core(SETTINGS[name].model_copy(update=changes), FEATURES))


NOT_OF_MLD = {
    "modules_that_attend_least_to_null_are_active": "only its lowest layer chooses",
    "permuting_modules_with_their_weights_permutes_them": "modules of one index are active together in all its layers",
}


@pytest.mark.parametrize("check", MODULAR_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SETTINGS)
def test_modules_keep_their_promises(name, check):
    if name == "mld rims" and check.__name__ in NOT_OF_MLD:
        pytest.skip(NOT_OF_MLD[check.__name__])
    check(make(name))


@pytest.mark.parametrize("name", ["rims", "brims"])
@pytest.mark.parametrize(("broken", "check"), known_bad.LAYERS, ids=lambda item: getattr(item, "__name__", ""))
def test_check_fails_on_a_broken_layer(broken, check, name):
    core = make(name)
    for _, layer in levels(core):
        layer.__class__ = broken
    with pytest.raises(AssertionError):
        check(core)


def test_every_check_is_shown_to_fail():
    assert {check for _, check in known_bad.LAYERS} == set(MODULAR_CHECKS)


@pytest.mark.parametrize("name", SETTINGS)
def test_with_a_gru_resting_modules_keep_their_state_and_active_ones_move(name):
    core = make(name, cell="gru")
    before = drawn_state(core)
    output, _, trace = core.step(drawn_inputs(), before)
    level = len(levels(core)) - 1 if name.startswith(("hierarchical", "mld")) else 0
    active = seen(core, trace, level, "active")
    hidden = (before if name.startswith("rims") else before[level])[0]
    assert torch.equal(output[~active], hidden[~active])
    assert (output[active] != hidden[active]).all()


@pytest.mark.parametrize("name", SETTINGS)
def test_all_active_is_all_awake(name):
    all_modules_are_awake(make(name, active=SETTINGS[name].modules))


@pytest.mark.parametrize("name", ["rims", "brims"])
def test_the_check_of_all_awake_fails_on_a_broken_layer(name):
    core = make(name, active=SETTINGS[name].modules)
    for _, layer in levels(core):
        layer.__class__ = known_bad.LetsTheIdleRest
    with pytest.raises(AssertionError):
        all_modules_are_awake(core)
