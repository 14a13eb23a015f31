"""Presets of cores: what they are, and that they build."""

import pytest
import torch

from videopred import cli
from videopred.models import CORES, Layer, core_config
from videopred.models.presets import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_core_and_its_task(name):
    core, task = name.rsplit("-", 1)
    preset = PRESETS[name]
    assert preset.core.kind == core
    assert type(preset.core) is CORES[core][0]
    assert task
    assert preset.summary.endswith(".")
    assert core_config(name) == preset.core


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_builds(name):
    layer = Layer(name, 7)
    outputs, _ = layer(torch.zeros(2, 3, 7))
    assert outputs.shape == (2, 3, layer.output_size)


def test_a_presets_learning_is_a_default(monkeypatch):
    seen = {}
    monkeypatch.setattr("videopred.flags.call", lambda command, name, words: seen.update(command.__kwdefaults__))
    cli.run(["train", "x.h5", "--core", "rims-smnist"])
    assert seen["training"] == PRESETS["rims-smnist"].training
    assert seen["core"] == PRESETS["rims-smnist"].core
    assert seen["training"].learning_rate == 1e-4
