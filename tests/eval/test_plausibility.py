"""Errors of plausibility: by hand, against SciPy, and exact where floating-point sums are not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest, mannwhitneyu

from videopred.check import FaultyFileError
from videopred.eval.plausibility import AGGREGATES, Errors, Plausible, Scenes, aggregate, errors, from_numbers
from videopred.eval.plausibility_settings import PlausibilityConfig

ORDERS = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 1, 0]], bool)


def scenes_of(possible: np.ndarray, **conditions: list[str]) -> Scenes:
    names = [[f"O1/{scene:04}/{film}" for film in range(1, 5)] for scene in range(len(possible))]
    return Scenes(names, possible, conditions)


def orders(count: int, seed: int = 0) -> np.ndarray:
    """(count, 4): which films are possible, in a random order."""
    return ORDERS[np.random.default_rng(seed).integers(6, size=count)]


def judged(films: np.ndarray, possible: np.ndarray, **more: int) -> Errors:
    return errors(from_numbers(films, possible), scenes_of(possible), **more)[0]


def test_errors_by_hand():
    """One scene told right, one wrong, one tied: (0 + 1 + 1/2) / 3, and strictly 1 / 3."""
    possible = ORDERS[[0, 1, 3]]
    films = np.array([[3.0, 4, 1, 2], [6, 1, 1, 0.5], [2, 1, 1, 2]])
    found = judged(films, possible)
    assert (found.relative.value, found.strict, found.ties, found.scenes) == (0.5, 1 / 3, 1, 3)
    # Possible films have 3 4 1 1 1 2, impossible ones 1 2 6 0.5 2 1: of 36 pairs, 16 are ahead and 8 equal.
    assert found.absolute.value == pytest.approx(1 - (16 + 8 / 2) / 36)


@pytest.mark.parametrize("digits", [0, 1, 15])
def test_absolute_error_is_that_of_mann_and_whitney(digits):
    chance, possible = np.random.default_rng(digits), orders(23)
    films = chance.normal(size=(23, 4)).round(digits) + possible * 0.3
    wins = mannwhitneyu(films[possible], films[~possible]).statistic
    assert judged(films, possible).absolute.value == pytest.approx(1 - wins / films[possible].size ** 2, abs=1e-12)


@pytest.mark.parametrize(("wrong", "count"), [(0, 18), (1, 18), (9, 18), (37, 37), (1, 1)])
def test_intervals_of_relative_errors_are_wilsons(wrong, count):
    """They hold errors that are possible though none was made: with 0.15, all of 18 scenes may be judged right."""
    possible = orders(count)
    films = np.where(np.arange(count)[:, None] < wrong, ~possible, possible) * 1.0
    found = judged(films, possible).relative
    assert found.value == wrong / count
    np.testing.assert_allclose(found[1:], binomtest(wrong, count).proportion_ci(method="wilson"), rtol=0, atol=1e-15)
    assert 0 <= found.low < found.high <= 1


def test_intervals_of_absolute_errors_are_those_of_scenes_drawn_anew():
    """The same draws, one by one, without pairs of a scene and its copy. Widened as Student's t asks."""
    chance, possible = np.random.default_rng(1), orders(11)
    films = chance.integers(0, 6, (11, 4)).astype(float)
    found = judged(films, possible, resamples=300, seed=5)
    ahead = films[possible].reshape(11, 1, 2, 1) - films[~possible].reshape(1, 11, 1, 2)
    wrong = ((1 - np.sign(ahead)) / 2).mean((2, 3))  # of possible films of a scene beside impossible ones of another
    absolute = []
    for times in np.random.default_rng(5).multinomial(11, [1 / 11] * 11, size=300):
        drawn = np.repeat(np.arange(11), times)
        across = [wrong[one, other] for one in drawn for other in drawn if one != other]
        absolute.append((np.mean([wrong[one, one] for one in drawn]) + 10 * np.mean(across)) / 11)
    low, high = np.quantile(absolute, [0.025, 0.975])
    more = (np.sqrt(11 / 10) * stats.t.ppf(0.975, 10) / stats.norm.ppf(0.975) - 1) * (high - low) / 2
    np.testing.assert_allclose(found.absolute[1:], (low - more, high + more))
    assert found.absolute.low < found.absolute.value < found.absolute.high
    assert judged(films, possible, resamples=300, seed=5) == found
    assert judged(films, possible, resamples=300, seed=6) != found


@pytest.mark.parametrize("scenes", [2, 5, 18])
def test_intervals_of_absolute_errors_hold_them_where_scenes_differ_more_than_their_films(scenes):
    """All scenes are judged right, and films of two scenes tell which scene they are of, which is chance.

    However scenes are drawn, the error is the same; but of one scene alone, as two draws of two scenes may be.
    """
    films = 10.0 * np.arange(scenes)[:, None] + orders(scenes)
    value, low, high = judged(films, orders(scenes)).absolute
    assert value == pytest.approx((scenes - 1) / scenes / 2)
    assert low <= value <= high
    assert scenes == 2 or low == high


def test_intervals_of_absolute_errors_end_where_errors_do():
    """Of two scenes, one judged right and one wrong, the middle of the draws is all that there is."""
    films = np.where(orders(2), [[1.0], [0.0]], [[0.0], [1.0]])
    assert judged(films, orders(2)).absolute == (0.5, 0.0, 1.0)


def test_where_one_of_two_scenes_is_all_that_was_drawn_its_own_pairs_are_all_that_counts():
    films, possible = np.tile([0.0, 1, 0, 1], (2, 1)), np.tile(ORDERS[0], (2, 1))
    assert judged(films, possible).absolute == (0.5, 0.5, 0.5)


def test_the_absolute_error_of_one_scene_has_no_interval():
    assert judged(np.array([[3.0, 4, 1, 2]]), ORDERS[:1]).absolute == pytest.approx(
        (0, math.nan, math.nan), nan_ok=True
    )


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_films_and_scenes_changes_no_error(seed):
    chance = np.random.default_rng(seed)
    possible, films = orders(7, seed), chance.integers(0, 5, (7, 4)).astype(float)
    order, scenes = np.argsort(chance.random((7, 4)), axis=1), chance.permutation(7)
    mixed = judged(np.take_along_axis(films, order, 1)[scenes], np.take_along_axis(possible, order, 1)[scenes])
    found = judged(films, possible)
    assert (mixed.relative.value, mixed.strict, mixed.ties) == (found.relative.value, found.strict, found.ties)
    assert mixed.absolute.value == found.absolute.value


def test_an_oracle_a_constant_its_opposite_and_shuffled_labels():
    possible = orders(400)
    oracle = judged(possible * 1.0, possible)
    assert (oracle.relative.value, oracle.absolute, oracle.strict) == (0, (0, 0, 0), 0)
    assert judged(possible * -1.0, possible).relative.value == 1
    constant = judged(np.full((400, 4), 0.3), possible)
    assert (constant.relative.value, constant.absolute.value, constant.ties) == (0.5, 0.5, 400)
    assert constant.strict == 0, "which is why the benchmark's own count is not to be trusted"
    shuffled = judged(possible + np.random.default_rng(3).normal(size=(400, 4)), orders(400, seed=9))
    assert abs(shuffled.relative.value - 0.5) < 4 * 0.5 / math.sqrt(400)
    assert abs(shuffled.absolute.value - 0.5) < 0.1


# --- from frames to films ------------------------------------------------------------------------------------


def spliced(seed: int, scenes: int = 9, frames: int = 31) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Surprise of a scorer of single frames at AA, BB, AB and BA; where mates differ; which are possible."""
    chance = np.random.default_rng(seed)
    runs = chance.normal(size=(scenes, 2, frames)) * 10.0 ** chance.integers(-6, 6, (scenes, 1, frames))
    surprise, differs = np.empty((scenes, 4, frames)), np.zeros((scenes, 4, frames), bool)
    for scene, (a, b) in enumerate(runs):
        at = int(chance.integers(1, frames))
        surprise[scene] = a, b, np.r_[a[:at], b[at:]], np.r_[b[:at], a[at:]]
        differs[scene, :, at:] = True
    return surprise, differs, np.tile(ORDERS[0], (scenes, 1))


@given(st.integers(0, 2**32 - 1))
def test_whoever_sees_single_frames_ties_exactly(seed):
    surprise, differs, possible = spliced(seed)
    for name in ("mean", "matched"):
        found = aggregate(name, surprise, differs, possible)
        assert (found.margins == 0).all()


def test_plain_sums_would_break_these_ties():
    broken = 0
    for seed in range(20):
        surprise, _, possible = spliced(seed)
        films = -surprise.mean(2)
        broken += int((np.where(possible, films, 0).sum(1) != np.where(possible, 0, films).sum(1)).sum())
    assert broken > 90


def test_max_does_not_tie_for_them():
    """An object that is not there in B: the possible films show it once, the impossible ones twice."""
    seen, not_seen = np.ones(7), np.zeros(7)
    films = [seen, not_seen, np.r_[seen[:3], not_seen[3:]], np.r_[not_seen[:3], seen[3:]]]
    found = aggregate("max", np.array([films]), np.ones((1, 4, 7), bool), ORDERS[:1])
    assert found.margins == [1.0]


def test_aggregates_by_hand():
    surprise = np.array([[[1.0, 2, 6], [0, 0, 3], [5, 1, 0], [4, 4, 4]]])
    differs = np.array([[[0, 1, 1], [0, 0, 1], [0, 1, 1], [0, 0, 1]]], bool)
    possible = ORDERS[[2]]  # the first and the last
    expected = {
        "mean": ([-3, -1, -2, -4], -(9 + 12) + (3 + 6)),
        "max": ([-6, -3, -5, -4], -(6 + 4) + (3 + 5)),
        "matched": ([-4, -3, -0.5, -4], 2 * (-(4 + 4) + (3 + 0.5))),  # of two frames at most
    }
    assert set(expected) == set(AGGREGATES)
    for name, (films, margin) in expected.items():
        found = aggregate(name, surprise, differs, possible)
        np.testing.assert_allclose(found.films, [films])
        assert found.margins == [margin]
        assert aggregate(name, surprise, differs, None).margins is None


def test_what_rounding_can_do_counts_as_a_tie():
    """In decimals 0.1 + 0.2 is 0.3 + 0.0; a step of 2^-50, as answers have, is a difference."""
    assert from_numbers(np.array([[0.1, 0.2, 0.3, 0.0]]), ORDERS[:1]).margins == [0]
    assert from_numbers(np.array([[0.75, 0.25, 0.75 - 2.0**-50, 0.25]]), ORDERS[:1]).margins == [2.0**-50]


def test_small_margins_beside_scenes_of_large_numbers_are_no_ties():
    films = np.array([[3e9, 0, 0, 0], [4e-7, 2e-7, 1e-7, 3e-7]])
    assert from_numbers(films, ORDERS[:2]).margins[1] == pytest.approx(2e-7 + 1e-7 - 4e-7 - 3e-7)


def test_rows_are_those_of_each_condition_and_of_blocks_with_others():
    possible = orders(6)
    blocks, occlusion = ["O1", "O1", "O2", "O2", "O2", "O1"], ["visible", "occluded"] * 3
    rows = errors(
        from_numbers(possible * 1.0, possible),
        scenes_of(possible, block=blocks, occlusion=occlusion, objects=["2"] * 6),
    )
    assert [(row.where, row.scenes) for row in rows] == [
        ({}, 6),
        ({"block": "O1"}, 3),
        ({"block": "O2"}, 3),
        ({"occlusion": "occluded"}, 3),
        ({"occlusion": "visible"}, 3),
        ({"objects": "2"}, 6),
        ({"block": "O1", "occlusion": "occluded"}, 2),
        ({"block": "O1", "occlusion": "visible"}, 1),
        ({"block": "O2", "occlusion": "occluded"}, 1),
        ({"block": "O2", "occlusion": "visible"}, 2),
    ]


def test_numbers_of_objects_are_in_the_order_of_their_size():
    possible = orders(4)
    rows = errors(from_numbers(possible * 1.0, possible), scenes_of(possible, objects=["10", "9", "2", "10"]))
    assert [(row.where, row.scenes) for row in rows[1:]] == [
        ({"objects": "2"}, 1), ({"objects": "9"}, 1), ({"objects": "10"}, 2)
    ]  # fmt: skip


def test_a_row_is_what_its_scenes_alone_give():
    possible, films = orders(12), np.random.default_rng(2).normal(size=(12, 4))
    blocks = np.array(["O1", "O2", "O3"] * 4)
    for row in errors(from_numbers(films, possible), scenes_of(possible, block=blocks.tolist()))[1:]:
        alone = blocks == row.where["block"]
        assert judged(films[alone], possible[alone]) == replace(row, where={})


def test_without_labels_there_are_no_errors():
    assert errors(Plausible(np.zeros((3, 4)), None), Scenes([["a"] * 4] * 3, None, {})) == []


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_a_scene_without_two_possible_films_is_named(count):
    possible = np.array([[True, False, True, False], [True] * count + [False] * (4 - count)])
    message = rf"DATA must hold two possible and two impossible films of each scene, got {count} possible of O1/0001/1"
    with pytest.raises(FaultyFileError, match=message):
        scenes_of(possible)


def test_what_cannot_be_aggregated():
    nothing = np.zeros((2, 4, 5), bool)
    with pytest.raises(ValueError, match="--aggregates must be one of mean, max, matched, got man; did you mean"):
        aggregate("man", np.zeros((2, 4, 5)), nothing, None)
    message = r"DATA must hold films that differ from those with the same beginning, got none in scene 0 \(counted"
    with pytest.raises(ValueError, match=message):
        aggregate("matched", np.zeros((2, 4, 5)), nothing, None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"aggregates": ("max", "max")}, "--aggregates must name each once, got max twice"),
        ({"aggregates": ()}, "--aggregates must have at least 1 item"),
        ({"burn_in": 0}, "--burn-in must be greater than 0, got 0"),
        ({"resamples": 39}, "--resamples must be greater than or equal to 40, got 39"),
        ({"surprise": "mae"}, "--surprise must be 'bce', 'kl' or 'mse', got 'mae'"),
    ],
)
def test_what_cannot_be_asked(settings, message):
    with pytest.raises(ValueError, match=message):
        PlausibilityConfig(**settings)


def test_matched_refuses_a_scene_of_which_one_film_nowhere_differs():
    differs = np.ones((2, 4, 5), bool)
    differs[1, 2] = False
    with pytest.raises(ValueError, match=r"got none in scene 1 \(counted"):
        aggregate("matched", np.zeros((2, 4, 5)), differs, None)
