"""Clips straight from a recipe: the same as those of a file, whichever are asked for, here and in workers."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from small_worlds import SMALL, InScenes, small
from test_worlds import assert_same

from videopred.datasets import DATASETS, make_world, recipe_clips
from videopred.datasets.balls import BouncingBalls
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.generation import generate
from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.datasets.settings import BallsConfig

H, W = SMALL["height"], SMALL["width"]
PARTS = {"test": 4, "train": 5}
ADDRESSED = [name for name, preset in DATASETS.items() if not preset.recipe.in_order]


@pytest.mark.parametrize(
    ("changes", "values"), [({}, "binary"), ({"edges": "smooth"}, "grey levels"), ({"colors": "palette"}, "colors")]
)
def test_it_says_what_pixels_may_be(changes, values):
    assert open_recipe(BallsConfig(**SMALL, **changes), PARTS, seed=3).pixel_values() == values


@pytest.mark.parametrize("name", ADDRESSED)
def test_it_gives_what_a_file_would(name, tmp_path):
    file = ClipFile(generate(name, PARTS, seed=3, out=tmp_path, recipe=small(name)))
    made = open_recipe(small(name), PARTS, seed=3)
    for fact in ("recipe", "seed", "context", "horizon", "parts", "truth", "binary"):
        assert getattr(made, fact) == getattr(file, fact), fact
    assert (made.frames, made.height, made.width, made.channels) == (file.frames, H, W, file.channels)
    for part, (start, stop) in {"train": (1, 4), "test": (0, 2)}.items():
        np.testing.assert_array_equal(made.read_frames(part, start, stop), file.read_frames(part, start, stop))
        for kind in file.truth:
            mine, theirs = made.read(part, kind, start, stop), file.read(part, kind, start, stop)
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), kind
            assert mine.tobytes() == theirs.tobytes(), kind
        assert_same(made.clip(part, start), file.clip(part, start))


@pytest.mark.parametrize("name", ADDRESSED)
def test_a_copy_is_small_and_gives_the_same(name):
    made = open_recipe(small(name), PARTS, seed=3)
    frames = made.read_frames("train", 0, 5)
    sent = pickle.dumps(made)
    assert len(sent) < 5000
    assert (pickle.loads(sent).read_frames("train", 3, 4) == frames[3:4]).all()


def test_a_folder_of_digits_is_found_again_by_a_program_that_changed_its_folder(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(recipe_clips, "make_world", lambda recipe, mnist: asked.append(mnist) or make_world(recipe))
    monkeypatch.chdir(tmp_path)
    file = RecipeClips("motion3", {"test": 2}, 5, Path("digits"))
    pickle.loads(pickle.dumps(file)).read_frames("test", 0, 2)
    assert asked == [Path("digits"), tmp_path / "digits"]


def test_frames_and_truth_of_some_clips_cost_one_making(monkeypatch):
    monkeypatch.setattr("videopred.datasets.recipe_clips._KEPT_CLIPS", 3)
    made = open_recipe(small("balls4"), {"train": 9})
    asked = []
    clips = BouncingBalls.clips
    monkeypatch.setattr(BouncingBalls, "clips", lambda *args: asked.append(list(args[3])) or clips(*args))
    made.read_frames("train", 2, 5)
    for name in made.truth:
        made.read("train", name, 2, 5)
    assert asked == [[2, 3, 4]]
    made.read_frames("train", 2, 6)  # too many to be kept
    made.read("train", "groups", 2, 6)
    assert len(asked) == 3
    made.clip("train", 2)
    assert asked[3:] == [[2]]


def test_clips_that_are_kept_are_not_those_of_another_part():
    made, other = (open_recipe(small("balls4"), PARTS, seed=3) for _ in range(2))
    train = made.read_frames("train", 1, 3)
    test = made.read_frames("test", 1, 3)
    assert (test == other.read_frames("test", 1, 3)).all()
    assert (test != train).any()


def test_a_clip_is_the_callers_own():
    made = open_recipe(small("balls4"), {"train": 1})
    frames = made.read_frames("train", 0, 1)
    made.clip("train", 0).frames[:] = 7
    assert (made.read_frames("train", 0, 1) == frames).all()


def test_other_clips_have_another_fingerprint():
    def fingerprint(parts=PARTS, seed=3, **changes):
        return open_recipe(small("balls4", **changes), parts, seed=seed).fingerprint()

    assert fingerprint() == fingerprint(dict(reversed(PARTS.items())))
    others = [fingerprint(seed=4), fingerprint({"test": 2, "train": 6}), fingerprint({"train": 5})]
    assert len({fingerprint(), fingerprint(speed=1), *others}) == 5


def test_clips_of_another_version_may_be_other_clips(monkeypatch):
    now = open_recipe(small("balls4"), PARTS).fingerprint()
    monkeypatch.setattr(recipe_clips, "version", lambda package: f"of another {package}")
    assert open_recipe(small("balls4"), PARTS).fingerprint() != now


def test_a_preset_gives_its_name():
    made = open_recipe("balls4", {"validation": 2, "train": 0})
    assert (made.name, str(made.path), made.parts) == ("balls4", "balls4.h5", {"validation": 2})


def test_settings_give_the_name_of_their_kind():
    made = open_recipe(small("curtain", balls=(1, 3)), {"test": 2})
    assert (made.name, str(made.path)) == ("balls", "balls.h5")


class InOrder(BallsConfig):
    """As a law whose clips come from one stream."""

    @property
    def in_order(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("recipe", "clips", "seed", "complaint"),
    [
        ("ball4", {"train": 1}, 0, "the data set must be one of balls4, "),
        ("balls4", {"training": 1}, 0, "clips must be one of train, validation, test, got training; did you mean"),
        ("balls4", {"train": -1}, 0, "clips train must be at least 0, got -1; give a number of clips such as 100"),
        ("balls4", {"train": 0}, 0, "clips must ask for at least one clip, got 0; try"),
        ("balls4", {"train": 1}, -1, "seed must be at least 0, got -1; give a whole number such as 0"),
        ("balls4", {"train": 1}, 2**64, "seed must be below 2**64, got 18446744073709551616; choose a smaller one"),
        (InOrder(), {"train": 1}, 0, "recipe must be one whose clips have addresses, got clips from one stream; write"),
        (InScenes(), {"train": 3, "test": 6}, 0, "clips test must be a multiple of 4, the clips of a scene, got 6"),
    ],
)
def test_what_cannot_be_made(recipe, clips, seed, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        open_recipe(recipe, clips, seed=seed)


@pytest.mark.parametrize(
    ("read", "complaint"),
    [
        (lambda made: made.read_frames("train", 3, 6), "clips must be at least one, between 0 and 5 (the clips of tr"),
        (lambda made: made.read("test", "groups", 0, 5), "clips must be at least one, between 0 and 4 (the clips of"),
        (lambda made: made.clip("train", 5), "clips must be at least one, between 0 and 5 (the clips of train in"),
        (lambda made: made.clip("validation", 0), "--part must be one of train, test, got validation"),
        (lambda made: made.read("train", "group", 0, 1), "the truth must be one of collisions, events, groups, "),
    ],
)
def test_what_is_not_there(read, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        read(open_recipe(small("balls4"), PARTS))
