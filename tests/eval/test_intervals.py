"""Intervals: against closed forms, and pooled metrics drawn clip by clip."""

import numpy as np
import pytest
import torch
from scipy import stats

from videopred.eval import make_metric
from videopred.eval.intervals import (
    Estimate,
    Interval,
    having_value,
    mean_over_steps,
    of_shares,
    over_clips,
    over_runs,
    reduce,
    resample,
)


def test_the_interval_of_a_mean_is_that_of_theory():
    """Of 400 clips, the bootstrap's interval of a mean is 1.96 standard errors to either side."""
    values = np.random.default_rng(1).normal(5, 2, (400, 3))
    drawn = resample({"model": {"mse": {"mse": values}}}, {"mse": make_metric("mse")}, resamples=4000)["model"]["mse"]
    interval = over_clips(drawn, 400)
    errors = values.std(axis=0) / 20
    np.testing.assert_allclose(interval.low, values.mean(axis=0) - 1.96 * errors, atol=0.15 * errors.max())
    np.testing.assert_allclose(interval.high, values.mean(axis=0) + 1.96 * errors, atol=0.15 * errors.max())


COVERAGE = {
    "normal": (np.random.Generator.normal, 0, {2: 0.93, 3: 0.95, 5: 0.95, 10: 0.95, 20: 0.95}),
    "exponential": (np.random.Generator.exponential, 1, {2: 0.88, 5: 0.88, 10: 0.90, 20: 0.93, 50: 0.94}),
}
"""Values -> (how they are drawn, their true mean, how often the interval over so many clips holds it)."""


@pytest.mark.parametrize(
    ("drawn_from", "clips"), [(name, clips) for name, (*_, held) in COVERAGE.items() for clips in held]
)
def test_how_often_the_interval_over_a_few_clips_holds_their_true_mean(drawn_from, clips):
    """As docs/scoring.md says. Each column is a world of its own; the standard error is 0.5 % or less."""
    draw, mean, held = COVERAGE[drawn_from]
    values = draw(np.random.default_rng(clips), size=(clips, 4000))
    drawn = resample({"model": {"mse": {"mse": values}}}, {"mse": make_metric("mse")})["model"]["mse"]
    low, high = over_clips(drawn, clips)
    assert np.mean((low <= mean) & (high >= mean)) == pytest.approx(held[clips], abs=0.015)


@pytest.mark.parametrize("clips", [3, 5, 11, 30])
def test_how_often_the_interval_of_a_pooled_score_over_a_few_clips_holds_it(clips):
    """F1 of clips of 40 to 120 lit pixels, of which 60 % are found, more in some clips than in others."""
    chance = np.random.default_rng(clips)

    def pixels(clips: int, worlds: int) -> dict[str, np.ndarray]:
        lit, found = chance.integers(40, 120, (clips, worlds)), chance.beta(3, 2, (clips, worlds))
        tp, fp = chance.binomial(lit, found), chance.binomial(lit, (1 - found) / 2)
        return {"tp": 1.0 * tp, "fp": 1.0 * fp, "fn": 1.0 * (lit - tp), "tn": 0.0 * tp}

    metric = make_metric("f1")
    truth = reduce(metric, pixels(200_000, 1))
    drawn = resample({"model": {"f1": pixels(clips, 2000)}}, {"f1": metric})["model"]["f1"]
    low, high = over_clips(drawn, clips)
    assert 0.93 <= np.mean((low <= truth) & (high >= truth)) <= 0.96


@pytest.mark.parametrize("some", [2, 3, 5, 10])
def test_how_often_an_interval_that_rests_on_a_few_of_many_clips_holds_their_true_mean(some):
    """Of 40 clips, the others have no value."""
    values, metric = np.full((40, 2000), np.nan), make_metric("mse")
    values[-some:] = np.random.default_rng(some).normal(size=(some, 2000))
    drawn = resample({"model": {"mse": {"mse": values}}}, {"mse": metric})["model"]["mse"]
    low, high = over_clips(drawn, having_value(metric, {"mse": values}).sum(0))
    assert 0.92 <= np.mean((low <= 0) & (high >= 0)) <= 0.975


def test_which_clips_have_a_value():
    """One of which a number is not known has none."""
    tp, fn = np.array([[3.0, 0], [np.nan, np.nan], [2, 1]]), np.array([[0.0, 2], [0, 0], [1, np.nan]])
    measured = {"tp": tp, "fn": fn, "fp": np.zeros((3, 2)), "tn": np.zeros((3, 2))}
    found = having_value(make_metric("recall"), measured)
    assert found.tolist() == [[True, True], [False, False], [True, False]]


def test_clips_that_have_a_value_together_alone_count():
    class Deviation(type(make_metric("mse"))):
        def reduce(self, measured, clip_weights=None):
            return measured["mse"].std(0)

    values = np.array([[1.0, 2], [3, np.nan], [5, 4]])
    assert having_value(Deviation(make_metric("mse").config), {"mse": values}).tolist() == [
        [True, False],
        [True, False],
        [True, False],
    ]
    measured = {"mse": values, "more": np.array([[0, 0], [np.nan, 0], [0, 0]])}
    found = having_value(Deviation(make_metric("mse").config), measured)
    assert found[:, 0].tolist() == [True, False, True], "all of a clip must be known"


@pytest.mark.parametrize("name", ["mse", "f1", "recall"])
def test_clips_that_have_a_value_are_found_alike_one_by_one(name):
    class Own(type(make_metric(name))):
        def reduce(self, measured, clip_weights=None):
            return super().reduce(measured, clip_weights)

    chance, metric = np.random.default_rng(3), make_metric(name)
    keys = ("mse",) if name == "mse" else ("tp", "fp", "fn", "tn")
    measured = {key: chance.integers(0, 3, (6, 5)).astype(float) for key in keys}
    measured[keys[0]][chance.random((6, 5)) < 0.3] = np.nan
    expected = ~np.isnan(measured[keys[0]])
    for one in (metric, Own(metric.config)):
        np.testing.assert_array_equal(having_value(one, measured), expected)
    tensors = {key: torch.from_numpy(values) for key, values in measured.items()}
    torch.testing.assert_close(metric.of_each_clip(tensors), Own(metric.config).of_each_clip(tensors), equal_nan=True)


def test_a_single_clip_that_has_a_value_has_no_interval():
    drawn = np.array([[1.0, 2.0], [1.0, 4.0], [np.nan, 3.0]])
    interval = over_clips(drawn, np.array([1, 2]))
    assert np.isnan([interval.low[0], interval.high[0]]).all()
    assert interval.low[1] < 3 < interval.high[1]


def test_every_draw_is_another():
    values = np.random.default_rng(4).normal(size=(30, 1))
    drawn = resample({"model": {"mse": {"mse": values}}}, {"mse": make_metric("mse")}, resamples=1000)["model"]["mse"]
    assert drawn.shape == (1000, 1)
    assert len(np.unique(drawn)) == 1000


def test_a_pooled_score_is_pooled_anew_in_every_draw():
    """A full clip with F1 1 and an empty one with two false pixels: pooled over the draws there are three values."""
    measured = {"tp": [[8.0], [0.0]], "fp": [[0.0], [2.0]], "fn": [[0.0], [0.0]], "tn": [[9.0], [9.0]]}
    arrays = {key: np.array(values) for key, values in measured.items()}
    drawn = resample({"model": {"f1": arrays}}, {"f1": make_metric("f1")}, resamples=200)["model"]["f1"]
    assert set(np.round(drawn.flatten(), 6)) == {0.0, 1.0, round(16 / 18, 6)}


def test_rows_and_metrics_are_drawn_alike():
    values = np.random.default_rng(2).normal(size=(9, 4))
    rows = {"a": {"mse": {"mse": values}}, "b": {"mse": {"mse": values + 3}}}
    drawn = resample(rows, {"mse": make_metric("mse")}, resamples=50)
    np.testing.assert_allclose(drawn["b"]["mse"] - drawn["a"]["mse"], 3)
    again = resample({"b": rows["b"]}, {"mse": make_metric("mse")}, resamples=50)
    np.testing.assert_array_equal(again["b"]["mse"], drawn["b"]["mse"])


@pytest.mark.parametrize("runs", [*range(2, 32), 40])
def test_the_interval_over_runs_is_students(runs):
    values = np.random.default_rng(runs).normal(size=runs).tolist()
    low, high = stats.t.interval(0.95, runs - 1, loc=np.mean(values), scale=stats.sem(values))
    assert over_runs(values) == pytest.approx((high - low) / 2, rel=0.04 if runs > 31 else 3e-4)


@pytest.mark.parametrize("clips", [1, 4, 17])
def test_the_interval_of_a_difference_of_shares_is_that_of_two_clips_more(clips):
    """Halves of clips that differ by 1 and by -1, and one that does not, weighed by hand."""
    differences = np.random.default_rng(clips).choice([-1, -0.5, 0, 1], clips)
    values, weights = [*differences, 1, -1, 0], [*np.ones(clips), 0.5, 0.5, 1]
    middle = np.average(values, weights=weights)
    variance = np.average((values - middle) ** 2, weights=weights)
    ends = np.array(stats.t.interval(0.95, max(clips - 1, 1), middle, np.sqrt(variance / (clips + 2))))
    np.testing.assert_allclose(of_shares(differences), ends.clip(-1, 1), rtol=1e-9)


def test_the_interval_of_a_difference_of_shares_over_seeds_is_that_of_welch():
    """Where clips say next to nothing against seeds, it is that of two means of unequal variance."""
    ours, theirs = np.array([0.1, 0.4, 0.3]), np.array([0.6, 0.7])
    many = np.tile([-0.4, -0.375], 10**6)
    found = of_shares(many, ours, theirs)
    welch = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    assert found.high - found.low == pytest.approx(welch.high - welch.low, rel=1e-3)


@pytest.mark.parametrize(("clips", "least"), {4: 0.95, 10: 0.87, 17: 0.87, 32: 0.85, 43: 0.85, 150: 0.85}.items())
def test_how_often_the_interval_of_a_difference_of_shares_holds_it_where_one_side_only_differs(clips, least):
    """As docs/plausibility.md says of models one of which errs nowhere but where the other does, too; exact."""
    more = np.arange(clips + 1)
    low, high = of_shares(1.0 * (np.arange(clips)[:, None] < more))
    assert np.all(high > low)
    shares = np.arange(0, 1.0001, 0.005)
    held = [stats.binom.pmf(more, clips, share)[(low <= share) & (share <= high)].sum() for share in shares]
    assert least <= min(held) <= least + 0.05


@pytest.mark.parametrize("clips", [4, 10, 17])
def test_it_holds_more_often_where_both_sides_differ(clips):
    more, less = np.array([(more, less) for more in range(clips + 1) for less in range(clips + 1 - more)]).T
    number = np.arange(clips)[:, None]
    low, high = of_shares(1.0 * (number < more) - 1.0 * ((number >= more) & (number < more + less)))
    grid = np.arange(0.05, 1.001, 0.05)
    for one, other in ((one, other) for one in grid for other in grid if one + other <= 1):
        rest = max(0.0, 1 - one - other)
        likely = stats.multinomial.pmf(np.stack([more, less, clips - more - less], 1), clips, [one, other, rest])
        assert likely[(low <= one - other + 1e-12) & (one - other <= high + 1e-12)].sum() >= 0.9


def test_draws_that_say_nothing_are_left_out():
    """As where no frame of the drawn clips had an object in sight."""
    drawn = np.linspace(0, 1, 201)[:, None] + np.zeros((201, 2))
    drawn[::2, 1] = np.nan
    drawn = np.concatenate([drawn, np.full((201, 1), np.nan)], 1)
    low, high = over_clips(drawn, 10**9)
    np.testing.assert_allclose(low, [0.025, 0.0295, np.nan], atol=1e-3)
    np.testing.assert_allclose(high, [0.975, 0.9705, np.nan], atol=1e-3)


def test_steps_that_say_nothing_are_left_out_of_means():
    np.testing.assert_array_equal(mean_over_steps(np.array([[1, np.nan, 3], [np.nan] * 3])), np.array([2, np.nan]))


def test_values_are_those_of_the_metric():
    values = np.random.default_rng(3).normal(size=(7, 2))
    np.testing.assert_allclose(reduce(make_metric("mse"), {"mse": values}), values.mean(axis=0))


def test_half_of_an_interval():
    assert Interval(np.array(2.0), np.array(5.0)).half == 1.5
    assert Estimate(3, 2, 5).half == 1.5


def test_an_interval_excludes_what_lies_outside():
    assert [Estimate(3, 2, 5).excludes(number) for number in (1, 2, 3, 5, 6)] == [True, False, False, False, True]
    assert not Estimate(3).excludes(0)
