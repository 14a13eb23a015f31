"""The words that make a recipe's clips, read again by the command line that they are for."""

from pathlib import Path

import pytest

from videopred import cli
from videopred.datasets import DATASETS
from videopred.datasets.settings import BallsConfig
from videopred.experiments import EXPERIMENTS, find_experiment
from videopred.experiments.scales import SCALES, at_scale
from videopred.recipe_words import generate_words


@pytest.fixture
def made(monkeypatch):
    """What `videopred generate` was asked for, by those who call this with its words."""
    seen = {}

    def generate(preset, counts, **asked):
        seen.update(asked, preset=preset, clips=counts)
        return Path(asked["out"])

    monkeypatch.setattr("videopred.datasets.generation.generate", generate)

    def run(words):
        cli.run(list(words))
        return seen

    return run


def check_round(made, recipe, clips=None, seed=0):
    clips = clips or {"train": 7, "test": 5}
    seen = made(generate_words(recipe, clips, seed, "folder/x.h5"))
    assert seen["recipe"] == recipe
    assert (seen["clips"], seen["seed"], seen["out"]) == (clips, seed, Path("folder/x.h5"))


@pytest.mark.parametrize("name", DATASETS)
def test_words_of_a_preset_are_its_name(made, name):
    recipe = DATASETS[name].recipe
    words = generate_words(recipe, {"test": 5}, 0, "x.h5")
    assert words[0] == "generate"
    assert DATASETS[words[1]].recipe == recipe
    assert words[2:] == ("--clips", "test=5", "--out", "x.h5")
    check_round(made, recipe)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_words_of_an_experiment_make_its_recipe(made, name, scale):
    check_round(made, at_scale(find_experiment(name), scale).recipe, seed=3)


@pytest.mark.parametrize(
    ("preset", "change"),
    [
        ("balls4", {"walls": False, "speed": 1 / 7}),
        ("balls3", {"fixed": ((1.5, 2.5), (4.0, 5.0))}),
        ("balls3", {"curtain": (5, 7), "curtain_place": "center", "height": 24, "width": 32}),
        ("crops", {"fixed": ()}),
        ("sm-mnist", {"deterministic": True, "validation_digits": (1, 2)}),
        ("switching", {"switch": (4, 9)}),
        ("switching", {"switch": None}),
        ("motion3", {"modes": ("walk",), "turn": 12.5}),
        ("occlusion", {"blocks": ("O2",), "objects": (2,)}),
    ],
)
def test_words_hold_whatever_a_recipe_may_say(made, preset, change):
    recipe = DATASETS[preset].recipe
    check_round(made, type(recipe)(**(recipe.model_dump() | change)))


def test_the_nearest_preset_is_chosen():
    recipe = BallsConfig(balls=(2,), radii=(1.5,), masses=(1.0,), speed=0.7, frames=20, height=24, width=32)
    words = generate_words(recipe, {"train": 3000, "test": 200}, 4, "two-balls.h5")
    assert " ".join(words) == (
        "generate balls2 --frames 20 --height 24 --width 32 --radii 1.5 --masses 1.0 --speed 0.7 "
        "--clips train=3000 test=200 --seed 4 --out two-balls.h5"
    )
