"""Commands that a page says make its scores again, read by the command itself."""

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from videopred.datasets import find_recipe
from videopred.eval.settings import Protocol
from videopred.report.again import evaluate_command, generate_command, plausibility_command

ASKED = Protocol(context=4, horizon=3, part="validation", metrics=("mse", "f1"), clips=7)
WORDS = "videopred evaluate models/mine data.h5 --metrics mse f1 --part validation --context 4 --horizon 3"


@pytest.mark.parametrize(
    ("other", "clips", "more"),
    [
        ({}, 7, ""),
        ({}, 8, " --first 7"),
        ({}, None, " --first 7"),
        ({"metric_settings": ("f1.threshold=0.25",)}, 7, " --metric-settings f1.threshold=0.25"),
        ({"feedback": "threshold:0.5"}, 7, " --feedback threshold:0.5"),
        ({"feedback": "sample", "samples": 6}, 7, " --feedback sample --samples 6"),
    ],
)
def test_all_that_was_asked_is_said(other, clips, more):
    assert evaluate_command(Path("models/mine"), "data.h5", ASKED.model_copy(update=other), clips) == WORDS + more


def test_names_of_several_words_are_one():
    said = evaluate_command(Path("my runs/mine"), "my data.h5", ASKED, 7)
    assert shlex.split(said)[2:4] == ["my runs/mine", "my data.h5"]


@pytest.mark.parametrize(("reference", "more"), [(None, ""), ("data.h5", ""), ("old.h5", " --reference old.h5")])
def test_another_reference_is_named(reference, more):
    assert evaluate_command(Path("models/mine"), "data.h5", ASKED, 7, reference) == WORDS + more


def test_a_named_protocol_says_its_part_and_frames_itself():
    named = ASKED.model_copy(update={"name": "rnem-balls", "part": "test"})
    said = evaluate_command(Path("run"), "data.h5", named, 7)
    assert said == "videopred evaluate run data.h5 --protocol rnem-balls --metrics mse f1"


@pytest.mark.parametrize(
    ("name", "recipe", "said"),
    [
        ("curtain", find_recipe("curtain"), "curtain"),
        (
            "mine",
            find_recipe("balls4").model_copy(update={"balls": (2, 3), "walls": False}),
            "balls4 --balls 2 3 --no-walls",
        ),
        ("mine", None, None),
    ],
)
def test_data_is_made_by_its_preset_and_what_differs_and_that_of_others_by_nothing(name, recipe, said):
    parts = {"train": 0, "validation": 2, "test": 3}
    file = SimpleNamespace(name=name, recipe=recipe, parts=parts, seed=4, path=Path("a b.h5"))
    rest = "--seed 4 --clips validation=2 test=3 --out 'a b.h5'"
    assert generate_command(file) == (None if said is None else f"videopred generate {said} {rest}")


@pytest.mark.parametrize(
    ("part", "errors", "said"),
    [
        ("test", {"max": [], "mean": []}, "--part test --burn-in 5 --aggregates max mean"),
        ("dev", {}, "--burn-in 5"),
    ],
)
def test_plausibility_is_asked_as_it_was(part, errors, said):
    """Of a folder of IntPhys, dev is judged without a word, and --part is refused."""
    judged = {"settings": {"data": "a b", "run": "elsewhere", "part": part, "burn_in": 5}, "errors": errors}
    words = shlex.split(plausibility_command(Path("run"), judged))
    assert words == ["videopred", "plausibility", "run", "a b", *said.split()]
