"""Rivals of published experiments: as wide as their cores, or with as many parameters."""

import pytest
import torch

from videopred.experiments import EXPERIMENTS, experiment_at, find_experiment
from videopred.experiments.rivals import RIVALS, as_wide
from videopred.experiments.scales import SCALES, changes
from videopred.models import build_core
from videopred.models.core_settings import CoreSettings
from videopred.models.encoder import build_encoder


def core_parameters(experiment):
    config, recipe = experiment.model, experiment.recipe
    with torch.device("meta"):
        encoder = build_encoder(config.codec, (recipe.channels, recipe.height, recipe.width), config.core)
        return sum(weight.numel() for weight in build_core(config.core, encoder.features).parameters())


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_rival_is_as_wide(name, rival):
    ours, wide = find_experiment(name), find_experiment(f"{name}-{rival}")
    core = wide.model.core
    width = core.rows * core.heads * core.head_size if rival == "rmc" else core.units
    assert width == sum(ours.model.core.state_widths)
    assert (wide.model.stack, wide.model.codec) == (ours.model.stack, ours.model.codec)
    assert wide.model_copy(update={"model": ours.model, "summary": "", "stated": {}, "chosen": {}}) == ours.model_copy(
        update={"summary": "", "stated": {}, "chosen": {}}
    )


@pytest.mark.parametrize("scale", ["paper", "small"])
@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_matched_rival_has_as_nearly_as_possible_as_many_parameters(name, rival, scale):
    ours, size = experiment_at(name, scale), "head_size" if rival == "rmc" else "units"
    target, matched = core_parameters(ours), experiment_at(f"{name}-{rival}-matched", scale).model

    def distance(change):
        nearby = matched.core.changed(**{size: getattr(matched.core, size) + change})
        return abs(
            core_parameters(ours.model_copy(update={"model": matched.model_copy(update={"core": nearby})})) - target
        )

    assert distance(0) <= min(distance(-1), distance(1))
    assert distance(0) < 0.03 * target


def test_a_matched_rival_differs_from_the_wide_one_in_its_size_alone():
    for scale in SCALES:
        wide, matched = (experiment_at(f"scoff-balls4-lstm{matched}", scale) for matched in ("", "-matched"))
        assert set(changes(wide, matched)) == ({"core.units"} if scale != "tiny" else set())


def test_widths_by_hand():
    rims, scoff, brims = (
        find_experiment(name).model.core for name in ("rims-balls4", "scoff-intphys", "brims-smmnist")
    )
    assert (rims.state_widths, scoff.state_widths, brims.state_widths) == ((100,) * 6, (85,) * 6, (50,) * 12)
    rmc = as_wide(scoff, "rmc")
    assert (rmc.rows, rmc.heads, rmc.head_size) == (6, 5, 17)


def test_a_core_that_is_new_has_rivals_as_wide():
    class NewConfig(CoreSettings):
        units: int = 15

    assert [as_wide(NewConfig(), rival).state_widths for rival in RIVALS] == [(15,)] * 3
