"""Who is active: ties, sparse attention, and the choice by chance."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from videopred.models import Layer
from videopred.models.attention import sparsified
from videopred.models.competition import RandomChoice, lowest
from videopred.models.core import unroll


def test_lowest_breaks_ties_by_index():
    scores = torch.tensor([[0.4, 0.2, 0.2, 0.2, 0.1], [0.3, 0.3, 0.3, 0.3, 0.3]])
    assert lowest(scores, 2).tolist() == [[False, True, False, False, True], [True, True, False, False, False]]
    assert lowest(torch.zeros(2, 20), 3).sum(0).tolist() == [2] * 3 + [0] * 17  # any sort keeps up to 16 in order


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.data())
def test_lowest_is_what_a_stable_sort_says(scores, data):
    count = data.draw(st.integers(1, len(scores)))
    expected = sorted(range(len(scores)), key=lambda k: scores[k])[:count]
    found = lowest(torch.tensor([scores]), count)[0].nonzero().flatten().tolist()
    assert found == sorted(expected)


def test_sparsified_by_hand():
    attention = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05], dtype=torch.float64)
    # 0.15 taken off: 0.25 and 0.15 are left, scaled by 1 / 0.4.
    expected = torch.tensor([0.625, 0.375, 0, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(sparsified(attention, 2, 0), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [4, 5])
def test_too_few_to_be_sparse_stay_as_they_are(count):
    attention = torch.rand(2, 5)
    assert sparsified(attention, count, 1) is attention


def test_silent_modules_do_not_count_among_those_that_are_too_few():
    attention, silent = torch.tensor([[0.4, 0.0, 0.3, 0.2, 0.1]]), torch.tensor([False, True, False, False, False])
    assert torch.equal(sparsified(attention, 3, 1, silent), attention)
    # 0.2 taken off: 0.2 and 0.1 are left, scaled by 1 / 0.3.
    expected = torch.tensor([[2 / 3, 0, 1 / 3, 0, 0]])
    torch.testing.assert_close(sparsified(attention, 2, 1, silent), expected, rtol=1e-5, atol=1e-6)


def test_equal_entries_leave_nothing():
    assert (sparsified(torch.full((2, 5), 0.2), 2, 1) == 0).all()


@given(st.permutations([1, 2, 3, 4, 5, 6]), st.integers(1, 4))
def test_sparsified_keeps_the_largest_in_order(order, count):
    attention = torch.tensor([order], dtype=torch.float64) / 21
    sparse = sparsified(attention, count, 1)
    kept = [value for value, share in zip(order, sparse[0].tolist(), strict=True) if share > 0]
    assert sorted(kept) == list(range(7 - count, 7))
    assert sparse.sum().item() == pytest.approx(1, abs=1e-5)
    assert (sparse.argsort(stable=True)[0, -count:] == attention.argsort()[0, -count:]).all()


def chosen(choice: RandomChoice, batch: int, modules: int, steps: int, count: int) -> Tensor:
    """Which modules are active, (steps, B, K)."""
    so_far, found = choice.initial_state(torch.empty(batch, modules, 3)), []
    for _ in range(steps):
        scores, so_far = choice(so_far)
        found.append(lowest(scores, count))
    return torch.stack(found)


@pytest.mark.parametrize("training", [True, False])
def test_by_chance_every_set_is_active_equally_often(training):
    active = chosen(RandomChoice().train(training), batch=1, modules=4, steps=3000, count=2)[:, 0]
    sets = Counter(map(tuple, active.tolist()))
    assert len(sets) == 6
    assert all(430 < count < 570 for count in sets.values())


def test_clips_differ_in_training_and_nothing_is_drawn_in_evaluation():
    choice = RandomChoice()
    assert not (chosen(choice, 7, 5, 1, 2) == chosen(choice, 7, 5, 1, 2)).all()
    choice.eval()
    state = torch.get_rng_state()
    active = chosen(choice, 7, 5, 9, 2)
    assert torch.equal(torch.get_rng_state(), state)
    assert (active == active[:, :1]).all()
    assert (active[0] != active[1]).any()


def test_phases_in_evaluation_by_hand():
    """The fraction of t exp(k / K) at step t, from 1, of module k, from 1."""
    choice = RandomChoice().eval()
    steps = choice.initial_state(torch.empty(2, 3, 5))
    for t in range(1, 5):
        scores, steps = choice(steps)
        expected = torch.tensor([[t * math.exp(k / 3) % 1 for k in (1, 2, 3)]] * 2)
        torch.testing.assert_close(scores, expected, rtol=0, atol=1e-5)


@pytest.fixture
def bf16_by_default():
    """As Lightning has it while it trains in bf16-true."""
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("training", [True, False])
def test_scores_by_chance_have_32_bits_where_others_have_fewer_by_default(bf16_by_default, training):
    choice = RandomChoice().train(training)
    scores, _ = choice(choice.initial_state(torch.empty(2, 3, 4)))
    assert scores.dtype == torch.float32


@pytest.mark.parametrize("training", [True, False])
def test_the_choice_of_a_model_in_bf16_is_as_fine_as_that_of_others(training):
    """Else scores are often equal, and the first of such modules is taken."""
    found = []
    for kind in (torch.float32, torch.bfloat16):
        torch.manual_seed(0)
        layer = Layer("rims", 3, modules=6, active=2, units=4, competition="random", dropout=0.0)
        core = layer.core.to(kind).train(training)
        with torch.no_grad():
            found.append(unroll(core, torch.zeros(2, 400, 1, 3, dtype=kind), trace=True).trace["active"])
    assert torch.equal(*found)


def test_a_random_choice_adds_nothing_to_the_weights():
    assert not RandomChoice().state_dict()
