"""How many operations a step of RIMs and BRIMs asks for, counted and so the same on every machine; none waits."""

import pytest
import torch
from core_checks import FEATURES, operations_of_a_step

from videopred.models import CORES, build_core

LIMITS = {"rims": (35, 64), "brims": (76, 148)}
"""Core -> operations forward and backward, at most, with the default settings in training mode."""


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("name", LIMITS)
def test_a_step_takes_few_operations(name, cell):
    core = build_core(CORES[name][0](cell=cell), FEATURES)
    forward, backward = operations_of_a_step(core, torch.rand(2, 6, 1, FEATURES))
    assert forward <= LIMITS[name][0]
    assert backward <= LIMITS[name][1]
