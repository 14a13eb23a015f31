"""The words that make clips and scores again, those of clips read by the command line that they are for."""

from pathlib import Path

import pytest

from videopred import cli
from videopred.command_lines import evaluate_words, generate_words, plausibility_words, unlimited, words_with_data
from videopred.datasets import DATASETS
from videopred.datasets.digits import read_digits
from videopred.datasets.settings import BallsConfig
from videopred.eval.protocols import PROTOCOLS
from videopred.eval.settings import Protocol
from videopred.experiments import EXPERIMENTS, find_experiment
from videopred.experiments.scales import SCALES, at_scale
from videopred.typed_commands import typed_command


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("videopred train 'my clips.h5' --time-limit 4h", ("videopred", "train", "my clips.h5")),
        ("videopred train a.h5; touch b", ("videopred", "train", "a.h5;", "touch", "b")),
        ("videopred train 'a.h5", ()),
        ("", ()),
    ],
)
def test_the_command_in_a_record_is_words(command, words):
    assert unlimited(command) == words


@pytest.mark.parametrize(
    ("command", "now"),
    [
        ("videopred train far/two --core gru --out models/two", "videopred train new.h5 --core gru --out models/two"),
        (
            "videopred train two --out=models/two --init-from two",
            "videopred train new.h5 --out=models/two --init-from two",
        ),
        ("videopred train rims-balls4 --data=far/two", "videopred train rims-balls4 --data=new.h5"),
        ("videopred train rims-balls4 --data far/two", "videopred train rims-balls4 --data new.h5"),
        ("mine.py two.h5", "mine.py two.h5"),
    ],
)
def test_the_command_in_a_record_names_its_data_as_they_are_called_now(command, now):
    """A folder of shards and a run may have the same name."""
    assert words_with_data(command, "/there/far/two", "new.h5") == tuple(now.split())


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
    check_round(made, at_scale(find_experiment(name), scale).recipe, seed=1)


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


def test_the_whole_mnist_is_asked_for_where_its_digits_are_shown():
    recipe = DATASETS["sm-mnist"].recipe
    ours, whole = (recipe.model_copy(update={"mnist_sha256": sha256}) for sha256 in (read_digits().sha256, "ab" * 32))
    assert generate_words(ours, {"test": 5}, 0, "x.h5") == generate_words(recipe, {"test": 5}, 0, "x.h5")
    words = " ".join(generate_words(whole, {"test": 5}, 0, "x.h5"))
    assert words == f"generate sm-mnist --clips test=5 --mnist FOLDER --mnist-sha256 {'ab' * 32} --out x.h5"


def test_the_nearest_preset_is_chosen():
    recipe = BallsConfig(balls=(2,), radii=(1.5,), masses=(1.0,), speed=0.7, frames=20, height=24, width=32)
    words = generate_words(recipe, {"train": 3000, "test": 200}, 4, "two-balls.h5")
    assert " ".join(words) == (
        "generate balls2 --frames 20 --height 24 --width 32 --radii 1.5 --masses 1.0 --speed 0.7 "
        "--clips train=3000 test=200 --seed 4 --out two-balls.h5"
    )


@pytest.mark.parametrize(("called", "preset"), [("balls4", "balls4 --balls 3"), ("mine", "balls3")])
def test_a_folder_of_shards_is_called_as_it_was_where_that_is_a_preset(called, preset):
    words = generate_words(DATASETS["balls3"].recipe, {"train": 7, "test": 5}, 0, f"sets/{called}", shards=2)
    assert typed_command(words) == f"videopred generate {preset} --clips train=7 test=5 --shards 2 --out sets"


def test_empty_parts_are_left_out_and_names_of_several_words_are_one():
    words = generate_words(DATASETS["curtain"].recipe, {"train": 0, "validation": 2, "test": 3}, 4, "a b.h5")
    assert typed_command(words) == "videopred generate curtain --clips validation=2 test=3 --seed 4 --out 'a b.h5'"


ASKED = Protocol(context=4, horizon=3, part="validation", metrics=("mse", "f1"), clips=7)
WORDS = "videopred evaluate models/mine data.h5 --context 4 --horizon 3 --part validation --metrics mse f1"


@pytest.mark.parametrize(
    ("other", "clips", "more"),
    [
        ({}, 7, ""),
        ({}, 8, " --first 7"),
        ({}, None, " --first 7"),
        ({"clips": None}, 7, ""),
        ({"clips": None}, None, ""),
        ({"metric_settings": ("f1.threshold=0.25",)}, 7, " --metric-settings f1.threshold=0.25"),
        ({"feedback": "threshold:0.5"}, 7, " --feedback threshold:0.5"),
        ({"feedback": "sample", "samples": 6}, 7, " --feedback sample --samples 6"),
        ({"means": (2,)}, 7, " --means 2"),
    ],
)
def test_all_that_was_asked_is_said(other, clips, more):
    asked = ASKED.model_copy(update=other)
    assert typed_command(evaluate_words("models/mine", "data.h5", asked, clips)) == WORDS + more


def test_what_is_usual_is_not_said():
    asked = Protocol(context=4, horizon=3, clips=7)
    assert evaluate_words("run", "x.h5", asked, 7) == ("evaluate", "run", "x.h5", "--context", "4", "--horizon", "3")


@pytest.mark.parametrize(("reference", "more"), [(None, ""), ("data.h5", ""), ("old.h5", " --reference old.h5")])
def test_another_reference_is_named(reference, more):
    assert typed_command(evaluate_words("models/mine", "data.h5", ASKED, 7, reference)) == WORDS + more


@pytest.mark.parametrize(
    ("name", "other", "more"),
    [
        ("rnem-balls", {}, ""),
        ("rnem-balls", {"metrics": ("mse", "f1"), "changed": ("metrics",)}, " --metrics mse f1"),
        ("crops", {}, ""),
        ("svg-smmnist", {"feedback": "sample", "samples": 100}, " --feedback sample --samples 100"),
        ("svg-smmnist", {"feedback": "sample", "samples": 1}, " --feedback sample --samples 1"),
    ],
)
def test_a_named_protocol_says_all_but_what_was_changed(name, other, more):
    asked = PROTOCOLS[name].protocol.model_copy(update={"clips": 7, **other})
    assert (
        typed_command(evaluate_words("run", "data.h5", asked, 7))
        == f"videopred evaluate run data.h5 --protocol {name}{more}"
    )


@pytest.mark.parametrize(
    ("part", "errors", "said"),
    [
        ("validation", {"max": [], "mean": []}, "--part validation --burn-in 5 --aggregates max mean"),
        ("test", {"mean": [], "max": [], "matched": []}, "--burn-in 5"),
        ("dev", {}, "--burn-in 5"),
    ],
)
def test_plausibility_is_asked_as_it_was(part, errors, said):
    """Of a folder of IntPhys, dev is judged without a word, and --part is refused."""
    settings = {"data": "a b", "run": "elsewhere", "part": part, "burn_in": 5, "seed": 0, "every": None}
    judged = {"settings": settings, "errors": errors}
    assert plausibility_words("run", judged) == ("plausibility", "run", "a b", *said.split())


def test_a_protocol_of_another_version_is_spelled_out():
    """Scores may carry a name that is in the table no more."""
    asked = Protocol(name="gone", context=4, horizon=3, clips=7)
    assert evaluate_words("run", "x.h5", asked, 7) == ("evaluate", "run", "x.h5", "--context", "4", "--horizon", "3")


def test_the_clips_that_a_protocol_asks_for_itself_are_not_said_again(monkeypatch):
    card = PROTOCOLS["rnem-balls"]
    few = card.model_copy(update={"protocol": card.protocol.model_copy(update={"clips": 3})})
    monkeypatch.setitem(PROTOCOLS, "rnem-balls", few)
    asked = few.protocol.model_copy(update={"name": "rnem-balls"})
    assert evaluate_words("run", "x.h5", asked, 7) == ("evaluate", "run", "x.h5", "--protocol", "rnem-balls")
