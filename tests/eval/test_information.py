"""Mutual information and purity beside torchmetrics, and by hand."""

import numpy as np
import pytest
import torch
from torchmetrics.functional.clustering import normalized_mutual_info_score

from videopred.eval.information import mutual_information, patterns, purity


@pytest.mark.parametrize("seed", range(4))
def test_mutual_information_is_that_of_torchmetrics(seed):
    chance = np.random.default_rng(seed)
    truth = chance.integers(0, 4, 90)
    choices = np.where(chance.random(90) < 0.3 * seed, truth + 7, chance.integers(0, 6, 90))
    expected = normalized_mutual_info_score(torch.from_numpy(choices), torch.from_numpy(truth), "arithmetic").item()
    assert mutual_information(choices, truth) == pytest.approx(expected, abs=1e-5)


def test_names_do_not_matter_and_equal_sortings_say_everything():
    truth = np.array([0, 0, 1, 1, 2, 5])
    assert mutual_information(9 - truth, truth) == pytest.approx(1)
    assert purity(9 - truth, truth) == 1


def test_what_is_always_the_same_says_nothing():
    truth, same = np.array([0, 0, 0, 1]), np.zeros(4, int)
    assert mutual_information(same, truth) == 0
    assert purity(same, truth) == 0.75
    assert mutual_information(same, same) == 1


def test_independent_choices_say_nothing():
    choices, truth = np.indices((3, 4)).reshape(2, -1)
    assert mutual_information(choices, truth) == pytest.approx(0, abs=1e-12)


def test_by_hand():
    """Heaps {a a b} and {b}: of ln 2 nats about the kind, H = 0.5623 and 0.6931 nats, I = 0.2158."""
    choices, truth = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    assert mutual_information(choices, truth) == pytest.approx(0.2158 / ((0.5623 + 0.6931) / 2), abs=1e-3)
    assert purity(choices, truth) == 0.75


def test_patterns_are_equal_where_all_modules_agree():
    chosen = patterns(np.array([[0, 1], [1, 0], [0, 1], [0, 0]]))
    assert chosen[0] == chosen[2]
    assert len(set(chosen.tolist())) == 3


@pytest.mark.parametrize("score", [mutual_information, purity])
def test_other_numbers_of_things_are_refused(score):
    message = "choices must be as many as there are truths, and at least one, got shapes"
    for ours, theirs in ((3, 4), ((2, 2), (2, 2)), (0, 0)):
        with pytest.raises(ValueError, match=message):
            score(np.zeros(ours), np.zeros(theirs))


def test_it_stays_within_0_and_1_whatever_rounding_adds():
    chance = np.random.default_rng(0)
    for things in range(2, 60):
        truth = chance.integers(0, 7, things)
        assert 0 <= mutual_information(truth, truth) <= 1
        assert 0 <= mutual_information(6 - truth, truth) <= 1
        assert 0 <= mutual_information(*np.indices((things, 7)).reshape(2, -1)) <= 1
