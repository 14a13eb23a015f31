"""Bouncing balls: what is drawn at the start, and that frames show it."""

import numpy as np
import pytest
from small_worlds import small

from videopred.datasets import make_world
from videopred.datasets.balls import draw_start
from videopred.datasets.raster import draw_discs
from videopred.datasets.settings import BallsConfig

RECIPE = BallsConfig(height=40, width=56, balls=(2, 3, 5), radii=(0.8, 1.2), masses=(1.0, 6.0), speed=0.7)
DRAWS = 900


@pytest.fixture(scope="module")
def starts() -> list[tuple[np.ndarray, ...]]:
    return [draw_start(RECIPE, np.random.default_rng([1, draw])) for draw in range(DRAWS)]


def test_each_number_of_balls_is_equally_likely(starts):
    counts = np.bincount([np.isfinite(radius).sum() for _, _, radius, _ in starts])
    # Standard deviation of each count is sqrt(900 * 1/3 * 2/3) = 14.
    np.testing.assert_allclose(counts, [0, 0, 300, 300, 0, 300], atol=4 * 14)


def test_each_size_is_equally_likely_and_brings_its_mass(starts):
    radius, mass = (np.concatenate([start[which] for start in starts]) for which in (2, 3))
    radius, mass = radius[np.isfinite(radius)], mass[np.isfinite(mass)]
    large = radius > 4  # at 40 px for 10 units, radii are 3.2 and 4.8 px
    np.testing.assert_allclose(radius, np.where(large, 4.8, 3.2))
    assert (mass == np.where(large, 6, 1)).all()
    assert abs(large.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(large))


def test_the_norm_of_all_velocities_is_the_speed(starts):
    norms = [np.sqrt(np.nansum(velocity**2)) for _, velocity, _, _ in starts]
    np.testing.assert_allclose(norms, 0.7 * 4, rtol=1e-12)


def test_all_directions_are_equally_likely(starts):
    velocities = np.concatenate([velocity for _, velocity, _, _ in starts])
    angle = np.arctan2(*velocities[np.isfinite(velocities[:, 0])].T)
    counts, _ = np.histogram(angle, 8, (-np.pi, np.pi))
    expected = len(angle) / 8
    assert ((counts - expected) ** 2 / expected).sum() < 24.3  # chi squared, 7 degrees of freedom, p = 0.001


def test_a_lone_ball_starts_anywhere_inside():
    lone = BallsConfig(height=40, width=56, balls=(1,), radii=(1.5,), masses=(1.0,))
    places = np.array([draw_start(lone, np.random.default_rng([2, draw]))[0][0] for draw in range(DRAWS)])
    r = 6
    share = (places - r) / (np.array([56, 40]) - 2 * r)
    assert share.min() > 0
    assert share.max() < 1
    for axis in range(2):
        counts, _ = np.histogram(share[:, axis], 8, (0, 1))
        assert ((counts - DRAWS / 8) ** 2 / (DRAWS / 8)).sum() < 24.3


def test_no_ball_starts_on_another_also_when_it_is_tight():
    tight = BallsConfig(balls=(9,), radii=(1.18,), masses=(1.0,))
    for draw in range(30):
        position, _, radius, _ = draw_start(tight, np.random.default_rng([3, draw]))
        i, j = np.triu_indices(9, 1)
        assert (np.linalg.norm(position[i] - position[j], axis=1) > radius[i] + radius[j]).all()


def test_balls_without_room_are_an_error(monkeypatch):
    monkeypatch.setattr("videopred.datasets.balls._TRIES_PER_BALL", 1)
    monkeypatch.setattr("videopred.datasets.balls._TRIES_PER_CLIP", 1)
    tight = BallsConfig(balls=(9,), radii=(1.18,), masses=(1.0,))
    with pytest.raises(ValueError, match=r"^--balls must fit into the arena, got 9 that found no room"):
        draw_start(tight, np.random.default_rng(0))


def test_masks_can_be_drawn_again_from_the_numbers_in_a_clip():
    recipe = small("balls4", balls=(2, 4))
    for clip in make_world(recipe).clips(0, "train", range(20)):
        masks, drawn = draw_discs(clip.positions, clip.objects["radius"], recipe.height, recipe.width)
        assert (clip.masks == masks).all()
        assert (clip.frames[..., 0] == 255 * (masks > 0)).all()
        # Balls never overlap, so all is seen, and each is at least one pixel.
        assert (drawn[:, clip.objects["active"]] > 0).all()
        assert (clip.visibility[:, clip.objects["active"]] == 1).all()
