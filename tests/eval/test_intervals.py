"""Intervals: against closed forms, and pooled metrics drawn clip by clip."""

import numpy as np
import pytest
from scipy import stats

from videopred.eval import make_metric
from videopred.eval.intervals import ENOUGH, Interval, mean_over_steps, middle, over_runs, reduce, resample


def test_the_interval_of_a_mean_is_that_of_theory():
    """Of 400 clips, the bootstrap's interval of a mean is 1.96 standard errors to either side."""
    values = np.random.default_rng(1).normal(5, 2, (400, 3))
    drawn = resample({"model": {"mse": {"mse": values}}}, {"mse": make_metric("mse")}, resamples=4000)["model"]["mse"]
    interval = middle(drawn)
    errors = values.std(axis=0) / 20
    np.testing.assert_allclose(interval.low, values.mean(axis=0) - 1.96 * errors, atol=0.15 * errors.max())
    np.testing.assert_allclose(interval.high, values.mean(axis=0) + 1.96 * errors, atol=0.15 * errors.max())


@pytest.mark.parametrize(("clips", "held"), [(2, 0.51), (5, 0.82), (10, 0.90), (ENOUGH, 0.94)])
def test_how_often_the_interval_of_a_few_normal_values_holds_their_true_mean(clips, held):
    """As the words at ENOUGH say. Each column is a world of its own; the standard error is 0.8 % or less."""
    values = np.random.default_rng(clips).normal(size=(clips, 4000))
    interval = middle(resample({"model": {"mse": {"mse": values}}}, {"mse": make_metric("mse")})["model"]["mse"])
    assert np.mean((interval.low <= 0) & (interval.high >= 0)) == pytest.approx(held, abs=0.025)


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


def test_draws_that_say_nothing_are_left_out():
    """As where no frame of the drawn clips had an object in sight."""
    drawn = np.linspace(0, 1, 201)[:, None] + np.zeros((201, 2))
    drawn[::2, 1] = np.nan
    drawn = np.concatenate([drawn, np.full((201, 1), np.nan)], 1)
    low, high = middle(drawn)
    np.testing.assert_allclose(low, [0.025, 0.0295, np.nan], atol=1e-3)
    np.testing.assert_allclose(high, [0.975, 0.9705, np.nan], atol=1e-3)


def test_steps_that_say_nothing_are_left_out_of_means():
    np.testing.assert_array_equal(mean_over_steps(np.array([[1, np.nan, 3], [np.nan] * 3])), np.array([2, np.nan]))


def test_values_are_those_of_the_metric():
    values = np.random.default_rng(3).normal(size=(7, 2))
    np.testing.assert_allclose(reduce(make_metric("mse"), {"mse": values}), values.mean(axis=0))


def test_half_of_an_interval():
    assert Interval(np.array(2.0), np.array(5.0)).half == 1.5
