"""The physics oracle: it knows the future of every world of balls, and nothing of others."""

import pytest
import torch

from videopred.datasets import find_recipe, open_dataset
from videopred.datasets.generation import generate
from videopred.eval.settings import Protocol
from videopred.judging import judge, scoring
from videopred.judging.batches import Batch, read_film
from videopred.judging.oracle import NEEDED, knows_physics, physics_oracle


def batch_of(folder, preset: str, given: int, one_step: bool = False, **changes) -> Batch:
    """Clips for validation, of a file that has as many for tests."""
    recipe = find_recipe(preset).model_copy(update={"frames": 12, "height": 48, "width": 64, **changes})
    clips = {"train": 2, "validation": 4, "test": 4}
    file = open_dataset(generate("world", clips, recipe=recipe, out=folder / "world.h5"))
    return Batch(file, "validation", 1, read_film(file, "validation", 1, 4), given, one_step)


def stand_still(context: torch.Tensor, horizon: int) -> torch.Tensor:
    return context[:, :1].expand(-1, horizon, -1, -1, -1)


@pytest.mark.parametrize("one_step", [False, True])
@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("balls4", {}),
        ("balls4", {"engine": "rnem"}),
        ("balls678", {}),
        ("curtain", {}),
        ("colored4", {}),
        ("crops2", {}),
        ("balls-sutskever", {}),
        ("balls4", {"restitution": 0.7}),
    ],
    ids=["exact", "rnem", "absent balls", "curtain", "colors", "fixed ball", "soft", "losing speed"],
)
def test_the_future_is_known(tmp_path, preset, changes, one_step):
    """All but a pixel or two at the edges of discs, where rounding of the stored states shows."""
    batch = batch_of(tmp_path, preset, 4, one_step, **changes)
    assert knows_physics(batch.file)
    film = physics_oracle(batch)
    assert film.shape == batch.truth.shape
    wrong = (film - batch.truth).abs().sum(dim=(2, 3, 4)) / batch.truth.sum(dim=(2, 3, 4)).clamp(min=1)
    assert wrong.max() < 0.02
    assert not torch.equal(film[:, 0], film[:, -1])


def test_it_is_a_row_where_physics_is_known(tmp_path):
    batch = batch_of(tmp_path, "balls4", 4)
    asked = Protocol(context=4, horizon=6, metrics=("f1",))
    scores = judge(stand_still, batch.file, asked)
    assert list(scores.values)[-1] == "physics oracle"
    assert scores.mean("physics oracle", "f1") > 0.99
    assert scores.models == ("model",)


@pytest.mark.parametrize("name", NEEDED)
def test_nothing_is_known_of_balls_without_their_states(tmp_path, name):
    file = batch_of(tmp_path, "balls4", 4).file
    file.truth = tuple(truth for truth in file.truth if truth != name)
    assert not knows_physics(file)


def test_nothing_is_known_of_digits(tmp_path):
    batch = batch_of(tmp_path, "sm-mnist", 4)
    assert not knows_physics(batch.file)


def test_the_first_clips_say_for_how_long_a_known_world_can_be_predicted(tmp_path, monkeypatch):
    file, asked = batch_of(tmp_path, "balls4", 4).file, []
    monkeypatch.setattr(scoring, "error_growth", lambda *words: asked.append(words) or "growth")
    monkeypatch.setattr(scoring, "frames_predictable", {"growth": 7}.get)
    assert [scoring._predictable(file, "test", clips) for clips in (3, 10_000)] == [7, 7]
    protocol = Protocol(part="validation", context=4, horizon=6, metrics=("kept",), clips=2)
    assert judge(stand_still, file, protocol).predictable == 7
    assert asked == [(file, "test", 3), (file, "test", 200), (file, "validation", 2)]
    monkeypatch.setattr(scoring, "knows_physics", lambda file: False)
    assert scoring._predictable(file, "test", 3) is None
    assert len(asked) == 3
