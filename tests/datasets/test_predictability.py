"""How long balls can be predicted."""

import numpy as np
import pytest

from videopred.datasets.predictability import error_growth, frames_predictable
from videopred.datasets.recipe_clips import open_recipe
from videopred.datasets.settings import BallsConfig


@pytest.mark.slow
def test_a_free_ball_is_lost_as_its_noise_says():
    """Each coordinate of the error is normal with variance 0.1² + (0.03 t)², so its length has Rayleigh's mean."""
    source = open_recipe(BallsConfig(frames=40, height=40, width=56, balls=(1,), walls=False), {"test": 2500})
    frame = np.arange(40)
    expected = np.sqrt(np.pi / 2) * np.hypot(0.1, 0.03 * frame)
    np.testing.assert_allclose(error_growth(source, "test", 2500), expected, rtol=0.05)


def test_more_contacts_lose_balls_earlier():
    def growth(balls: int) -> np.ndarray:
        recipe = BallsConfig(frames=45, height=64, width=80, balls=(balls,), speed_norm="per-ball", speed=0.17)
        return error_growth(open_recipe(recipe, {"train": 60}), "train", 60)

    few, many = growth(2), growth(8)
    assert many[-1] > 1.5 * few[-1]
    assert frames_predictable(many) < frames_predictable(few)


def test_fixed_and_absent_balls_do_not_count():
    recipe = BallsConfig(frames=5, height=40, width=56, balls=(1, 3), fixed=((5.0, 5.0),))
    growth = error_growth(open_recipe(recipe, {"train": 400}), "train", 400)
    assert growth[0] == pytest.approx(np.sqrt(np.pi / 2) * 0.1, rel=0.08)


def test_looking_twice_gives_the_same():
    source = open_recipe("balls4", {"train": 5})
    assert (error_growth(source, "train", 5) == error_growth(source, "train", 5)).all()


@pytest.mark.parametrize(("growth", "frames"), [([0.1, 2.0, 2.1, 1.0, 3.0], 2), ([0.1, 2.0], 2), ([2.5], 0)])
def test_balls_are_lost_at_the_first_frame_beyond(growth, frames):
    assert frames_predictable(np.array(growth)) == frames
