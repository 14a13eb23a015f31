"""Presets of cores: what they are, and that they build."""

import re

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


def test_every_core_has_a_preset_for_video():
    assert {PRESETS[name].core.kind for name in PRESETS if re.search("balls|mmnist", name)} == set(CORES)


@pytest.mark.parametrize("name", ["hierarchical-rims", "mld-rims", "lstm-h", "lstm-hb", "lstm-ha", "lstm-hab"])
def test_rivals_of_brims_on_balls_have_layers_as_wide(name):
    def widths(preset):
        config = PRESETS[preset].core
        return tuple(k * d for k, d in zip(getattr(config, "modules", (1, 1)), config.units, strict=True))

    assert widths(f"{name}-balls") == widths("brims-balls") == (300, 300)
    assert PRESETS[f"{name}-balls"].training == PRESETS["brims-balls"].training


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_builds(name):
    layer = Layer(name, 7)
    outputs, _ = layer(torch.zeros(2, 3, 7))
    assert outputs.shape == (2, 3, layer.output_size)


@pytest.mark.parametrize(
    ("name", "features", "expected"),
    [
        # The authors' parameters that ever get a gradient, by the formula; SCOFF's without its two first states of 100.
        ("rims-copying", 600, 1_649_800),
        ("brims-balls", 300, 1_586_160),
        ("brims-smnist", 300, 1_797_900),
        ("scoff-balls4", 80, 316_320 + 2 * 100),
        ("scoff-balls678", 80, 316_320 + 2 * 100),
    ],
)
def test_a_preset_has_as_many_parameters_as_the_authors(name, features, expected):
    assert sum(weight.numel() for weight in Layer(name, features).parameters()) == expected


def test_a_presets_learning_is_a_default(monkeypatch):
    seen = {}
    monkeypatch.setattr("videopred.flags.call", lambda command, name, words: seen.update(command.__kwdefaults__))
    cli.run(["train", "x.h5", "--core", "rims-smnist"])
    assert seen["training"] == PRESETS["rims-smnist"].training
    assert seen["core"] == PRESETS["rims-smnist"].core
    assert seen["training"].learning_rate == 1e-4
