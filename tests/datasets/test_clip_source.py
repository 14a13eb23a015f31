"""What every set of clips can do: here, whether a rollout fits into them."""

import pytest

from videopred.datasets import find_recipe
from videopred.datasets.recipe_clips import open_recipe

FRAMES = 7


@pytest.fixture
def clips():
    return open_recipe(find_recipe("balls4", frames=FRAMES), {"test": 1}, seed=2)


@pytest.mark.parametrize(("context", "horizon"), [(1, 1), (3, 4), (6, 1), (1, 6)])
def test_a_rollout_that_fits(clips, context, horizon):
    clips.check_rollout(context, horizon)


@pytest.mark.parametrize(
    ("context", "horizon", "message"),
    [
        (0, 3, "^--context must be at least 1, got 0"),
        (3, 0, "^--horizon must be at least 1, got 0"),
        (
            3,
            5,
            r"^--context plus --horizon must be at most 7, the frames of a clip, got 3 \+ 5 = 8; lower --horizon to 4, "
            "or generate longer clips with --frames$",
        ),
        (9, 1, r"got 9 \+ 1 = 10; lower --context to 6, or"),
        (7, 7, r"got 7 \+ 7 = 14; lower both, or"),
    ],
)
def test_a_rollout_that_does_not_fit(clips, context, horizon, message):
    with pytest.raises(ValueError, match=message):
        clips.check_rollout(context, horizon)


def test_films_of_others_are_not_generated(clips):
    clips.recipe = None
    with pytest.raises(ValueError, match=r"lower --horizon to 5, or give longer films$"):
        clips.check_rollout(2, 6)


def test_frames_are_counted_in_whole_numbers(clips):
    with pytest.raises(TypeError, match=r"^frames must be whole numbers, got 0\.5; count them from 0$"):
        clips.read_window("test", 0, 0.5, 2)


@pytest.mark.parametrize("clip", ["0", None, 0.0, True])
def test_a_clip_is_a_whole_number(clips, clip):
    for read in (lambda: clips.check_clip("test", clip), lambda: clips.read_window("test", clip, 0, 2)):
        with pytest.raises(TypeError, match=rf"^clips must be whole numbers, got {clip!r}; count them from 0$"):
            read()
