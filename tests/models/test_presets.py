"""Presets of cores: what they are, and that they build."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import defaults_of

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


RIMS_ATTENTION = {"input_key": 64, "comm_heads": 4, "dropout": 0.1}
RIMS_CODE = {"comm_source": "candidate", "block_gradient": True, "comm_gate": True, "cell": "lstm"}
SCOFF_ATTENTION = {"input_key": 64, "comm_value": 32, "comm_heads": 4, "dropout": 0.1, "query_from": "old"}
FOUR_HEADS = SCOFF_ATTENTION | {"input_heads": 4}
STATED = {
    # RIMs: D.1 and table 1, D.2 and table 5, D.3 and table 1, table 3, D.4; figures 7 and 9.
    "rims-copying": RIMS_ATTENTION | {"modules": 6, "active": 4, "units": 100, "input_heads": 1, "learning_rate": 1e-3},
    "rims-adding": RIMS_ATTENTION | {"modules": 6, "active": 3, "units": 300 // 6, "batch_size": 64},
    "rims-smnist": RIMS_ATTENTION | {"modules": 6, "active": 4, "units": 100, "input_heads": 1, "learning_rate": 1e-4},
    "rims-balls": RIMS_ATTENTION
    | RIMS_CODE
    | {"comm_key": 32, "comm_value": 32, "learning_rate": 7e-4, "batch_size": 64},
    "lstm-copying": {"units": 600, "learning_rate": 1e-3},
    "lstm-balls": {"units": 250, "learning_rate": 7e-4, "batch_size": 64},
    # BRIMs: table 6, with A.2 against it for sequential MNIST; A.2 to A.6; 5.2 and A.4 for what is given out.
    "brims-smnist": {"modules": (6, 3), "active": (4, 2), "units": (50, 100), "learning_rate": 7e-4},
    "brims-scifar": {"modules": (6, 6), "active": (4, 4), "units": (50, 50), "learning_rate": 7e-4},
    "brims-smmnist": {
        "modules": (6, 6),
        "active": (4, 4),
        "learning_rate": 2e-3,
        "batch_size": 100,
        "readout": "lower",
    },
    "brims-balls": RIMS_CODE | {"modules": (5, 5), "active": (3, 3), "learning_rate": 7e-4, "readout": "lower"},
    "brims-adding": {"modules": (5, 5), "active": (3, 3), "units": (60, 60), "learning_rate": 1e-3, "readout": "top"},
    # SCOFF: tables 2 and 4 to 7; section 5 for the files of balls; B for the step size and the LSTMs of adding.
    "gru-balls": {"learning_rate": 1e-4},
    "scoff-balls4": SCOFF_ATTENTION
    | {"files": 4, "units": 100, "input_heads": 1, "input_value": 100, "comm_key": 32, "cell": "gru"}
    | {"learning_rate": 1e-4, "batch_size": 64},
    "scoff-balls678": SCOFF_ATTENTION | {"files": 8, "schemata": 4, "input_value": 100, "comm_key": 32, "cell": "gru"},
    "scoff-intphys": FOUR_HEADS
    | {"files": 6, "input_value": 85, "comm_key": 32, "learning_rate": 3e-4, "batch_size": 64},
    "scoff-switching": FOUR_HEADS
    | {"files": 6, "schemata": 2, "input_value": 64, "comm_key": 32, "learning_rate": 1e-4, "batch_size": 50},
    "scoff-adding": FOUR_HEADS
    | {"files": 5, "schemata": 2, "units": 300 // 5, "input_value": 60, "comm_key": 32, "cell": "lstm"}
    | {"learning_rate": 1e-3, "batch_size": 64},
    "scoff-babyai": FOUR_HEADS
    | {"files": 1, "schemata": 4, "units": 510, "input_value": 256, "comm_key": 16, "learning_rate": 3e-4},
}


@pytest.mark.parametrize("name", STATED)
def test_numbers_are_those_of_the_paper(name):
    preset = PRESETS[name]
    found = preset.training.model_dump() | preset.core.model_dump()
    assert {setting: found[setting] for setting in STATED[name]} == STATED[name]


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


def flags_of(title):
    """What a section of the guide gives as flags that change a core."""
    guide = (Path(__file__).parents[2] / "docs" / "cores.md").read_text()
    section = guide.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return re.findall("`--core ([^`]+)`", section)


OTHER_WAYS = flags_of("Where papers, their code and ours differ")


@pytest.mark.parametrize("flags", [*flags_of("Ablations"), *OTHER_WAYS])
def test_an_ablation_or_other_way_of_the_guide_is_one(flags):
    core, *words = flags.split()
    settings: dict[str, Any] = {}
    for word in words:
        if word.startswith("--core."):
            name = word.removeprefix("--core.").removeprefix("no-").replace("-", "_")
            settings[name] = not word.startswith("--core.no-")
        else:
            settings[name] = int(word) if word.isdecimal() else word
    config = core_config(core, **settings)
    assert config != core_config(core) or not settings
    inputs = torch.zeros(2, 3, 6, 7) if settings.get("reads") == "strips" else torch.zeros(2, 3, 7)
    outputs, _ = Layer(config, 7)(inputs)
    assert outputs.isfinite().all()


def test_every_ablation_of_the_papers_is_in_the_guide():
    said = " ".join(flags_of("Ablations"))
    for flag in ("no-comm", "no-input-attention", "competition random", "active 6", "no-null-slot", "frozen-schema"):
        assert f"--core.{flag}" in said


def test_every_option_that_changes_a_published_behaviour_is_in_the_guide():
    """Its names are those that the settings of the cores have for it."""
    rims = {"comm-source", "no-block-gradient", "no-comm-gate", "input-heads", "input-gain", "competition", "reads"}
    scoff = {"eval-sample", "cell", "query-from", "schema-comm", "comm-gate", "start", "norm"}
    scoff |= {"input-gain", "schema-spread"}
    asked = {"rims": rims, "brims": {"per-module-slots"}, "scoff": scoff}
    said = {core: set() for core in asked}
    for flags in OTHER_WAYS:
        core, flag, *_ = flags.split()
        said[core].add(flag.removeprefix("--core."))
    assert said == asked


def test_a_presets_learning_is_a_default(monkeypatch):
    seen = defaults_of("train x.h5 --core rims-smnist", monkeypatch)
    assert seen["training"] == PRESETS["rims-smnist"].training
    assert seen["core"] == PRESETS["rims-smnist"].core
    assert seen["training"].learning_rate == 1e-4


CHOSEN = {
    "gru-balls": {"units": 250, "batch_size": 64},
    "lstm-copying": {"batch_size": 64},
    "rims-copying": {"comm_key": 16, "comm_value": 16, "batch_size": 64},
    "rims-adding": {"comm_key": 16, "comm_value": 16, "learning_rate": 1e-3},
    "rims-smnist": {"comm_key": 16, "comm_value": 16, "batch_size": 64},
    "rmc-balls": {"rows": 4, "heads": 4, "head_size": 64, "learning_rate": 7e-4, "batch_size": 64},
    "transformer-balls": {"layers": 2, "units": 256, "heads": 4, "learning_rate": 7e-4, "batch_size": 64}
    | {"hidden": 1024, "window": 64},
    "scoff-adding": {"reads": "vector"},
    "scoff-babyai": {"reads": "vector", "batch_size": 64},
}
"""What summaries and comments of the presets say besides, of the authors' scripts or of our choice."""


@pytest.mark.parametrize("name", CHOSEN)
def test_numbers_are_those_that_are_said(name):
    preset = PRESETS[name]
    found = preset.training.model_dump() | preset.core.model_dump()
    assert {setting: found[setting] for setting in CHOSEN[name]} == CHOSEN[name]
