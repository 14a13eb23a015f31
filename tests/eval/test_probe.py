"""Linear probes on states that hold what they should, or do not."""

import numpy as np
import pytest
import torch

from videopred.eval.probe import PENALTIES, from_left_to_right, halves, probe_labels, probe_places

B, T, D, N = 10, 7, 5, 2
FITTED, SCORED = halves(np.arange(B))


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def test_places_that_are_linear_in_the_states_are_read():
    states = draw(B, T, D)
    places = (states @ draw(D, N * 2, seed=1)).reshape(B, T, N, 2) * 4 + 30
    probe = probe_places(states, places)
    assert probe.r2 > 0.9999
    assert probe.error_px < 0.05
    assert probe.mean_error_px > 3


def test_a_state_that_is_constant_but_for_rounding_spoils_nothing():
    """Such as a unit at its limit, of which one clip that is scored differs."""
    states, constant = draw(40, T, D), 0.1 + 1e-8 * draw(40, T, 1, seed=2)
    constant[halves(np.arange(40))[1][0]] = 1
    places = (states @ draw(D, N * 2, seed=1)).reshape(40, T, N, 2) * 4 + 30
    assert probe_places(np.concatenate([states, constant], 2), places).r2 > 0.999


def test_states_that_know_nothing_read_nothing():
    probe = probe_places(draw(60, T, D), 10 * draw(60, T, N, 2, seed=1))
    assert abs(probe.r2) < 0.05
    assert probe.error_px == pytest.approx(probe.mean_error_px, rel=0.05)


def test_the_map_is_that_of_least_squares_with_a_penalty():
    """The same minimum by numpy's solver, with the penalty as further rows."""
    states, places = draw(B, T, D) * [1, 5, 0.1, 3, 1] + 2, draw(B, T, 1, 2, seed=1)
    fitted, scored = states[FITTED].reshape(-1, D), states[SCORED].reshape(-1, D)
    middle, spread = fitted.mean(0), fitted.std(0)
    inputs, wanted = (fitted - middle) / spread, places[FITTED].reshape(-1, 2)
    rows = np.vstack([inputs, np.sqrt(0.2 * len(inputs)) * np.eye(D)])
    target = np.vstack([wanted - wanted.mean(0), np.zeros((D, 2))])
    read = (scored - middle) / spread @ np.linalg.lstsq(rows, target, rcond=None)[0] + wanted.mean(0)
    error = np.linalg.norm(read - places[SCORED].reshape(-1, 2), axis=-1).mean()
    assert probe_places(states, places, penalty=0.2).error_px == pytest.approx(error)


@pytest.mark.parametrize("others", [0, 40, 80, 200])
def test_the_penalty_is_about_the_best_however_many_states_know_nothing(others):
    """Two states know the place roughly. With the penalty for none beside them, r2 is −1.7 with 80 others."""
    states = draw(24, T, 2 + others)
    places = (states[..., :2] + 0.5 * draw(24, T, 2, seed=1))[:, :, None]
    best = max(probe_places(states, places, penalty).r2 for penalty in PENALTIES)
    assert probe_places(states, places).r2 > best - 0.2


def test_clips_are_held_out_whole_to_choose_the_penalty():
    """Each clip has a state and a place of its own: only a step of the same clip could make it look readable."""
    states = np.repeat(draw(24, 1, 30), T, axis=1)
    places = np.repeat(draw(24, 1, N, 2, seed=1), T, axis=1)
    assert probe_places(states, places).r2 > -0.5


@pytest.mark.parametrize("clips", [2, 3])
def test_two_clips_of_a_step_can_be_probed(clips):
    assert np.isfinite(probe_places(draw(clips, 1, D), draw(clips, 1, N, 2, seed=1))).all()


def test_half_of_the_clips_is_never_seen_by_the_fit():
    """Each clip has a state of its own: what is learned by heart is of no use."""
    states = np.repeat(np.eye(20)[:, None], T, axis=1)
    labels = np.repeat(np.arange(20)[:, None] % 2, T, axis=1)
    probe = probe_labels(states, labels)
    assert probe.accuracy == probe.commonest < 0.6


def test_what_clips_are_ordered_by_is_read_too():
    """Of clips or of scenes, the first third has one label, and the last third another that is scored and fitted."""
    for clips, scenes in ((18, None), (36, np.repeat(np.arange(12), 3))):
        labels = np.repeat(np.arange(clips)[:, None] * 3 // clips, T, axis=1)
        states = np.eye(3)[labels]
        assert probe_labels(states, labels, scenes=scenes).accuracy == 1
        assert probe_places(states, states[:, :, None, :2] * 9, scenes=scenes).r2 > 0.99


def test_each_half_has_half_of_the_scenes_with_all_of_their_clips():
    """Whether or not the clips of a scene are behind one another, and however many they are."""
    scenes = np.array([8, 2, 5, 2, 7, 5, 8, 7, 7, 1, 1, 2, 0])
    fitted, scored = halves(scenes)
    assert set(scenes[fitted]).isdisjoint(scenes[scored])
    assert (len(set(scenes[fitted])), len(set(scenes[scored]))) == (3, 3)
    np.testing.assert_array_equal(np.sort(np.r_[fitted, scored]), np.arange(13))
    np.testing.assert_array_equal(halves(scenes)[0], fitted)


def test_labels_that_split_the_states_are_read():
    states = draw(B, T, D)
    labels = np.where(states[..., 2] > 0.5, 7, 3)
    probe = probe_labels(states * 9 - 4, labels)
    assert probe.accuracy > 0.85
    common = (labels[SCORED] == 3).mean()
    assert probe.commonest == pytest.approx(common)


@pytest.mark.parametrize("odd", [lambda labels: labels[..., None], lambda labels: labels + 0.5])
def test_labels_of_other_axes_or_kinds_are_refused(odd):
    labels = odd(np.zeros((B, T), int))
    with pytest.raises(
        ValueError, match=r"^labels must be whole numbers \(clips, steps\), got shape \(.*; give one whole"
    ):
        probe_labels(draw(B, T, D), labels)


def test_the_commonest_label_is_that_of_the_fitted_clips():
    labels = np.empty((B, T), int)
    labels[FITTED], labels[SCORED] = np.array([[4, 4, 4, 9, 9], [9, 9, 9, 9, 4]])[..., None]
    assert probe_labels(draw(B, T, D), labels).commonest == pytest.approx(1 / 5)


def test_absent_objects_and_constant_states_do_not_count():
    states = np.concatenate([draw(B, T, D), np.ones((B, T, 1))], -1)
    places = (states[..., :D] @ draw(D, N * 2, seed=1)).reshape(B, T, N, 2)
    places[FITTED[1], 3:, 1] = np.nan
    places[SCORED[1], :, 0] = np.nan
    probe = probe_places(states, places)
    assert probe.r2 > 0.999
    assert probe.error_px < 0.1 < probe.mean_error_px
    places[:, :, 1] = np.nan
    assert probe_places(states, places).r2 > 0.999
    assert np.isnan(probe_places(states, np.full_like(places, np.nan)).error_px)


def test_places_have_two_coordinates():
    with pytest.raises(
        ValueError, match=r"^places must have the axes \(clips, steps, objects, 2\), got shape \(10, 7, 2"
    ):
        probe_places(draw(B, T, D), draw(B, T, N))


def test_places_are_finite_or_absent():
    places = draw(B, T, N, 2)
    places[1, 2] = np.inf
    with pytest.raises(ValueError, match=r"^places must be finite or NaN, got infinite ones among them; give NaN"):
        probe_places(draw(B, T, D), places)


def test_objects_are_put_from_left_to_right():
    places = np.array([[[[5.0, 1], [2, 9], [np.nan, np.nan]], [[1.0, 1], [3, 9], [2, 4]]]])
    expected = [[[2.0, 9], [5, 1], [np.nan, np.nan]], [[1.0, 1], [2, 4], [3, 9]]]
    np.testing.assert_array_equal(from_left_to_right(places)[0], expected)


@pytest.mark.parametrize(
    ("places", "values", "error", "message"),
    [
        (
            torch.zeros(B, T, N, 2),
            None,
            TypeError,
            "places must be an array, got Tensor; use NumPy's asarray, of a",
        ),
        (
            draw(B, T, N),
            None,
            ValueError,
            r"places must have the axes \(clips, steps, objects, 2\), got shape \(10, 7, 2",
        ),
        (
            draw(B, T, N, 3),
            None,
            ValueError,
            r"places must have the axes .* got shape \(10, 7, 2, 3\); give what a data",
        ),
        (1j * draw(B, T, N, 2), None, TypeError, "places must be of real numbers, got complex128; convert it"),
        (draw(B, T, N, 2).astype(object), None, TypeError, "places must be of real numbers, got object; convert it"),
        (np.ma.array(draw(B, T, N, 2)), None, TypeError, "places must be an array, got MaskedArray; use NumPy's"),
        (draw(B, T, N, 2), torch.zeros(B, T, N, 2), TypeError, "values must be an array, got Tensor; use NumPy's"),
        (
            draw(B, T, N, 2),
            draw(B, T, 4, 2),
            ValueError,
            r"values must have the clips, steps and objects of the places, \(10, 7, 2\), got \(10, 7, 4, 2\); cut both",
        ),
    ],
)
def test_what_cannot_be_put_from_left_to_right(places, values, error, message):
    with pytest.raises(error, match=f"^{message}"):
        from_left_to_right(places, values)


@pytest.mark.parametrize(
    ("states", "places", "message"),
    [
        ((B, T, D), (B, T - 1, N, 2), r"places must have the clips and steps of the states, \(10, 7\), got \(10, 6\)"),
        ((B, T, 0), (B, T, N, 2), r"states must have at least one feature, got shape \(10, 7, 0\); give some"),
        ((B, T, D), (B + 1, T, N, 2), "places must have the clips and steps of the states"),
        ((1, T, D), (1, T, N, 2), "states must be of two clips at least, got 1; one half is fitted, the other scored"),
        (
            (B, T, D, 2),
            (B, T, N, 2),
            r"states must have the axes \(clips, steps, features\), got shape \(10, 7, 5",
        ),
    ],
)
def test_what_cannot_be_probed(states, places, message):
    with pytest.raises(ValueError, match=message):
        probe_places(draw(*states), draw(*places))
    with pytest.raises(ValueError, match=message.replace("places", "labels")):
        probe_labels(draw(*states), np.zeros(places[:2], int))


@pytest.mark.parametrize(
    ("scenes", "kind", "message"),
    [
        ([0] * B, TypeError, "scenes must be an array, got list; use NumPy's asarray"),
        (
            np.arange(B - 1),
            ValueError,
            r"scenes must have the clips of the states, \(10,\), got \(9,\); cut both alike",
        ),
        (np.full(B, 3), ValueError, "scenes must be two at least, got 1; one half is fitted, the other scored"),
    ],
)
def test_what_are_no_scenes(scenes, kind, message):
    states = draw(B, T, D)
    for probe, truth in ((probe_places, draw(B, T, N, 2)), (probe_labels, np.ones((B, T), int))):
        with pytest.raises(kind, match=f"^{message}"):
            probe(states, truth, scenes=scenes)


@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
@pytest.mark.parametrize("clip", [FITTED[1], SCORED[1]])
def test_states_that_are_not_finite_are_refused(spoilt, clip):
    """In the fitted half nothing can be solved; in the other, what is read of them would drop out of the score."""
    states = draw(B, T, D)
    states[clip, 3, 2] = spoilt
    for probe, truth in ((probe_places, draw(B, T, N, 2)), (probe_labels, np.ones((B, T), int))):
        with pytest.raises(ValueError, match=r"^states must be finite, got others among them; leave such clips out"):
            probe(states, truth)


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.nan])
def test_a_penalty_is_above_0(penalty):
    states = draw(B, T, D)
    for probe, truth in ((probe_places, draw(B, T, N, 2)), (probe_labels, np.ones((B, T), int))):
        with pytest.raises(ValueError, match=f"^penalty must be above 0, got {penalty}; leave it out to have one"):
            probe(states, truth, penalty=penalty)


def test_a_penalty_is_a_number():
    with pytest.raises(TypeError, match=r"^penalty must be a number, got '1'; give one, or leave it out"):
        probe_places(draw(B, T, D), draw(B, T, N, 2), penalty="1")


@pytest.mark.parametrize("quarter", range(4))
def test_each_quarter_of_the_fitted_clips_has_a_say_in_the_penalty(quarter):
    """In one of them states mean the opposite: by it alone the largest penalty is best, with which r2 is about 0."""
    states = draw(48, T, D)
    places = 9 * states[:, :, None, :2]
    places[halves(np.arange(48))[0][6 * quarter :][:6]] *= -0.1
    assert probe_places(states, places).r2 > 0.4
