"""Dropout masks: how often they are zero, that they leave the mean, and where they come from."""

import pytest
import torch
from torch import nn

from videopred.models.dropout import dropout_mask, dropout_masks


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.93])
def test_entries_are_zero_by_chance_and_the_mean_is_one(rate):
    mask = dropout_mask(rate, torch.zeros(1, dtype=torch.float64), 101, 103, 7)
    assert mask.shape == (101, 103, 7)
    assert mask.dtype == torch.float64
    assert (mask == 0).double().mean().item() == pytest.approx(rate, abs=0.006)
    # The chance is a whole number of 65536ths, and what is kept is scaled by just that.
    kept = 1 - round(rate * 65536) / 65536
    assert mask.unique().tolist() == [0, pytest.approx(1 / kept, rel=1e-15)]


@pytest.mark.parametrize("rate", [0.1, 0.25, 1 - 2**-16])
def test_of_all_draws_just_the_share_that_the_rate_says_is_zero(monkeypatch, rate):
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch.int64)
    monkeypatch.setattr(torch, "randint", lambda *range_and_size, device: every)
    mask = dropout_mask(rate, torch.zeros(1, dtype=torch.float64), 2**16)
    assert (mask == 0).sum() == round(rate * 2**16)
    assert mask.mean().item() == pytest.approx(1, rel=1e-12)


def test_a_mask_is_drawn_where_it_is_used():
    assert dropout_mask(0.3, torch.zeros(1, device="meta"), 3, 5).is_meta


def test_entries_that_share_a_draw_are_independent():
    zero = dropout_mask(0.5, torch.zeros(1), 40_000, 4) == 0
    correlation = torch.corrcoef(zero.T.float())
    assert (correlation - torch.eye(4)).abs().max() < 0.03


@pytest.mark.parametrize("rate", [1e-9, 1 - 1e-9])
def test_the_rarest_chances_stay_finite(rate):
    assert dropout_mask(rate, torch.zeros(1), 3, 5).isfinite().all()


def test_masks_are_those_of_the_global_generator_and_differ_from_step_to_step():
    module = nn.Identity()
    torch.manual_seed(3)
    masks = dropout_masks(module, 0.4, torch.zeros(1), 3, 5, 7)
    assert len(masks) == 3
    assert (masks[0] != masks[1]).any()
    torch.manual_seed(3)
    assert torch.equal(torch.stack(dropout_masks(module, 0.4, torch.zeros(1), 3, 5, 7)), torch.stack(masks))


@pytest.mark.parametrize(("training", "rate"), [(False, 0.4), (True, 0.0)])
def test_nothing_is_drawn_where_nothing_is_dropped(training, rate):
    module, before = nn.Identity().train(training), torch.get_rng_state()
    assert dropout_masks(module, rate, torch.zeros(1), 3, 5, 7) == [None] * 3
    assert torch.equal(torch.get_rng_state(), before)
