"""Skill by hand."""

import numpy as np
import pytest

from videopred.eval import METRICS, make_metric
from videopred.eval.skill import skill


def test_an_error_halved_is_half_the_way():
    assert skill(0.05, 0.1, make_metric("mse")) == pytest.approx(0.5)
    assert skill(0.2, 0.1, make_metric("mse")) == pytest.approx(-1)


def test_f1_counts_from_that_of_the_trivial_prediction():
    """(0.945 - 0.89) / (1 - 0.89)."""
    np.testing.assert_allclose(skill(np.array([0.945, 0.89, 1, 0]), 0.89, make_metric("f1")), [0.5, 0, 1, -89 / 11])


@pytest.mark.parametrize("name", METRICS)
def test_it_is_1_for_the_best_and_0_for_the_trivial(name):
    metric = make_metric(name)
    trivial = metric.best - 0.25 if metric.higher_is_better else metric.best + 0.25
    assert skill(metric.best, trivial, metric) == 1
    assert skill(trivial, trivial, metric) == 0


def test_of_a_value_that_is_not_known_neither_is_the_skill():
    for trivial in (0.0, 0.5):
        found = skill(np.array([np.nan, 0.0]), np.array([trivial, trivial]), make_metric("mse"))
        assert np.isnan(found).tolist() == [True, False]


def test_no_skill_has_no_sign():
    assert not np.signbit(skill(np.array([0.5]), np.array([0.5]), make_metric("mse"))).any()


def test_beside_a_perfect_trivial_prediction_there_is_nothing_to_win():
    np.testing.assert_array_equal(skill(np.array([1, 0.9]), np.array([1, 1]), make_metric("f1")), [0, -np.inf])
