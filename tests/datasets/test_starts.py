"""How clips of balls begin: each drawn quantity has the law that the recipe states."""

import numpy as np
import pytest
from distributions import assert_drawn_from, count_bins

from videopred.datasets.painting import PALETTE
from videopred.datasets.settings import BallsConfig
from videopred.datasets.starts import Start, draw_starts

SIZES = {"height": 40, "width": 56}
RECIPE = BallsConfig(**SIZES, balls=(2, 3, 5), radii=(0.8, 1.2), masses=(1.0, 6.0), speed=0.7)
DRAWS = 900
PX = 4  # per unit, at 40 px for 10 units


def starts_of(recipe: BallsConfig, seed: int = 1, draws: int = DRAWS) -> Start:
    return draw_starts(recipe, [np.random.default_rng([seed, draw]) for draw in range(draws)])


@pytest.fixture(scope="module")
def starts() -> Start:
    return starts_of(RECIPE)


def test_each_number_of_balls_is_equally_likely(starts):
    counts = np.bincount(np.isfinite(starts.state.radius).sum(1), minlength=6)
    assert counts[[0, 1, 4]].tolist() == [0, 0, 0]
    assert_drawn_from(counts[[2, 3, 5]])


def test_balls_that_a_clip_lacks_are_the_last(starts):
    present = np.isfinite(starts.state.radius)
    assert (np.diff(present.astype(int)) <= 0).all()
    for values in starts.state:
        assert (np.isfinite(values.reshape(DRAWS, 5, -1)).all(-1) == present).all()
        assert (np.isnan(values.reshape(DRAWS, 5, -1)).all(-1) == ~present).all()


def test_each_size_is_equally_likely_and_brings_its_mass(starts):
    radius, mass = (values[np.isfinite(values)] for values in starts.state[2:])
    large = radius > 1 * PX
    np.testing.assert_allclose(radius, PX * np.where(large, 1.2, 0.8))
    assert (mass == np.where(large, 6, 1)).all()
    assert_drawn_from(np.bincount(large))


def test_the_norm_of_all_velocities_is_the_speed(starts):
    norms = np.sqrt(np.nansum(starts.state.velocity**2, axis=(1, 2)))
    np.testing.assert_allclose(norms, 0.7 * PX, rtol=1e-12)


def test_or_each_ball_has_the_speed():
    velocity = starts_of(RECIPE.model_copy(update={"speed_norm": "per-ball"})).state.velocity
    norms = np.linalg.norm(velocity, axis=-1)
    np.testing.assert_allclose(norms[np.isfinite(norms)], 0.7 * PX, rtol=1e-12)


@pytest.mark.parametrize("norm", ["total", "per-ball"])
def test_all_directions_are_equally_likely(norm):
    velocities = starts_of(RECIPE.model_copy(update={"speed_norm": norm})).state.velocity.reshape(-1, 2)
    angle = np.arctan2(*velocities[np.isfinite(velocities[:, 0])].T)
    assert_drawn_from(count_bins(angle, -np.pi, np.pi))


@pytest.mark.parametrize("engine", ["exact", "rnem", "sutskever"])
def test_a_lone_ball_starts_anywhere_inside(engine):
    lone = BallsConfig(**SIZES, engine=engine, balls=(1,), radii=(1.5,), masses=(1.0,))
    places = starts_of(lone).state.position[:, 0]
    low, high = np.array([1.5, 1.5]) * PX, np.array([56, 40]) - 1.5 * PX
    if engine == "sutskever":  # past the first fifth of either axis
        low = np.array([56, 40]) / 5
    share = (places - low) / (high - low)
    for axis in range(2):
        assert_drawn_from(count_bins(share[:, axis], 0, 1))


@pytest.mark.parametrize(("height", "width"), [(64, 20), (20, 64)])
def test_a_ball_starts_inside_of_a_narrow_frame(height, width):
    lone = BallsConfig(engine="sutskever", balls=(1,), radii=(1.2,), masses=(1.0,), height=height, width=width)
    state = starts_of(lone).state
    places, radius = state.position[:, 0], state.radius[:, :1]
    assert (places - radius >= 0).all()
    assert (places + radius <= [width, height]).all()


def test_no_ball_starts_on_another_also_when_it_is_tight():
    state = starts_of(
        BallsConfig(balls=(7,), fixed=((4.0, 5.0), (7.5, 5.0)), radii=(1.18,), masses=(1.0,)), draws=40
    ).state
    i, j = np.triu_indices(9, 1)
    apart = np.linalg.norm(state.position[:, i] - state.position[:, j], axis=-1)
    assert (apart > state.radius[:, i] + state.radius[:, j]).all()


def test_a_start_is_the_same_whatever_is_beside_it():
    tight = BallsConfig(balls=(8, 9), radii=(1.18,), masses=(1.0,), colors="palette", curtain=(9, 12))
    together = starts_of(tight, draws=20)
    for draw in range(20):
        alone = draw_starts(tight, [np.random.default_rng([1, draw])])
        for mine, all_ in zip((*alone.state, *alone[1:]), (*together.state, *together[1:]), strict=True):
            assert mine[0].tobytes() == all_[draw].tobytes()


def test_fixed_balls_come_first_at_rest_and_cannot_be_moved():
    recipe = BallsConfig(**SIZES, fixed=((5.0, 5.0), (1.0, 7.5)), balls=(1, 3))
    state = starts_of(recipe, draws=30).state
    assert (state.position[:, :2] == [[20, 20], [4, 30]]).all()
    assert (state.velocity[:, :2] == 0).all()
    assert np.isinf(state.mass[:, :2]).all()
    np.testing.assert_allclose(state.radius[:, :2], 0.8 * PX)
    assert (np.nansum(state.velocity[:, 2:] ** 2, axis=(1, 2)) > 0).all()


def test_balls_without_room_are_an_error(monkeypatch):
    monkeypatch.setattr("videopred.datasets.starts._TRIES_PER_BALL", 1)
    monkeypatch.setattr("videopred.datasets.starts._TRIES_PER_CLIP", 1)
    tight = BallsConfig(balls=(9,), radii=(1.18,), masses=(1.0,))
    with pytest.raises(ValueError, match=r"^--balls must fit into the arena, got 9 that found no room"):
        starts_of(tight, draws=1)


def color_numbers(start: Start) -> np.ndarray:
    """Which of the palette's colors (B, N) each ball has; 4 for none."""
    choices = np.vstack([PALETTE, [[0, 0, 0]]])
    same = (start.color[:, :, None] == choices).all(-1)
    assert same.any(-1).all()
    return same.argmax(-1)


def test_each_ball_has_a_color_of_its_own_chance():
    start = starts_of(BallsConfig(**SIZES, balls=(2, 3), colors="palette"))
    number, present = color_numbers(start), np.isfinite(start.state.radius)
    assert (number[~present] == 4).all()
    assert_drawn_from(np.bincount(number[present], minlength=4))
    pairs = 4 * number[:, 0] + number[:, 1]
    assert_drawn_from(np.bincount(pairs, minlength=16))


def test_distinct_colors_differ_and_all_orders_are_equally_likely():
    number = color_numbers(starts_of(BallsConfig(**SIZES, balls=(3,), colors="distinct")))
    orders, counts = np.unique(number, axis=0, return_counts=True)
    assert len(orders) == 4 * 3 * 2
    assert all(len(set(order)) == 3 for order in orders.tolist())
    assert_drawn_from(counts)


def test_the_corner_of_the_curtain_is_uniform_over_all_places():
    boxes = starts_of(BallsConfig(**SIZES, curtain=(36, 51))).curtain
    assert boxes.dtype == np.int16
    assert (boxes[:, 2:] == [36, 51]).all()
    places = np.bincount(6 * boxes[:, 0] + boxes[:, 1], minlength=30)
    assert len(places) == 5 * 6
    assert_drawn_from(places)


def test_or_the_curtain_hangs_in_the_middle():
    boxes = starts_of(BallsConfig(**SIZES, curtain=(28, 20), curtain_place="center"), draws=3).curtain
    assert boxes.tolist() == [[6, 18, 28, 20]] * 3


@pytest.mark.parametrize("changes", [{"colors": "palette"}, {"curtain": (20, 30)}, {"curtain": (0, 30)}])
def test_colors_and_curtains_change_nothing_else(changes):
    plain = BallsConfig(**SIZES, balls=(2, 4))
    changed = BallsConfig(**SIZES, balls=(2, 4), **changes)
    for one, other in zip(starts_of(plain, draws=9).state, starts_of(changed, draws=9).state, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_curtain_changes_no_color():
    colored = BallsConfig(**SIZES, balls=(2, 4), colors="palette")
    behind = colored.model_copy(update={"curtain": (20, 30)})
    assert starts_of(behind, draws=9).color.tobytes() == starts_of(colored, draws=9).color.tobytes()
