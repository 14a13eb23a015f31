"""Positions, misses, counts and divergence of cases made by hand."""

import math
from dataclasses import replace

import pytest
import torch
from made_up_objects import (
    BALLS,
    CLIPS,
    RADIUS,
    STEPS,
    as_predicted,
    blank,
    in_another_order,
    lost,
    moved,
    score,
    swapped,
    true_objects,
)

from videopred.eval import make_metric
from videopred.eval.matching import NOBODY, followed, gates, identities, nearest
from videopred.eval.object_settings import Kept2Config, KeptConfig
from videopred.eval.objects import Objects
from videopred.eval.positions import divergence

TRUE = true_objects()


def test_a_shift_is_its_length():
    shifted = moved(TRUE, TRUE.positions + torch.tensor([0.3, -0.4]))
    assert score("position", shifted) == pytest.approx([0.5] * STEPS)
    assert score("missed", shifted) == [0.0] * STEPS


def test_trading_places_is_an_error_for_both():
    apart = (TRUE.positions[:, 1:, 0] - TRUE.positions[:, 1:, 1]).norm(dim=-1).mean(0)
    expected = torch.where(torch.arange(1, STEPS + 1) >= 4, 2 * apart / BALLS, 0.0)
    assert score("position", swapped(TRUE, 4)) == pytest.approx(expected.tolist())
    assert score("missed", swapped(TRUE, 4)) == [0.0] * 3 + [0.5] * 4
    assert score("count", swapped(TRUE, 4)) == [0.0] * STEPS


def test_a_lost_ball_is_missed_and_counted_and_no_error():
    assert score("position", lost(TRUE, 3)) == [0.0] * STEPS
    assert score("missed", lost(TRUE, 3)) == [0.0] * 2 + [0.25] * 5
    assert score("count", lost(TRUE, 3)) == [0.0] * 2 + [1.0] * 5


def test_of_a_blank_film_there_is_no_error_to_tell():
    assert torch.tensor(score("position", blank(TRUE))).isnan().all()
    assert score("missed", blank(TRUE)) == [1.0] * STEPS
    assert score("count", blank(TRUE)) == [4.0] * STEPS
    assert score("kept", blank(TRUE)) == [0.0] * STEPS


def test_one_ball_too_many_counts():
    more = torch.cat([TRUE.positions, TRUE.positions[:, :, :1] + 9], 2)
    assert score("count", Objects(more)) == [1.0] * STEPS


def test_hidden_balls_do_not_count():
    """Ball 1 is hidden from frame 3 on: not to find it is right, and to show it is one too many."""
    visibility = TRUE.visibility.clone()
    visibility[:, 3:, 0] = 0.04
    hidden = replace(TRUE, visibility=visibility)
    assert score("missed", lost(TRUE, 3), hidden) == [0.0] * STEPS
    assert score("count", lost(TRUE, 3), hidden) == [0.0] * STEPS
    assert score("count", as_predicted(TRUE), hidden) == [0.0] * 2 + [1.0] * 5


def test_who_is_who_is_settled_in_the_observed_frame():
    assert torch.equal(identities(in_another_order(TRUE), TRUE), torch.tensor([[2, 4, 1, 3]]).expand(CLIPS, -1))


def test_a_ball_hidden_in_the_observed_frame_is_settled_when_it_comes_out():
    visibility = TRUE.visibility.clone()
    visibility[:, :3, 2] = 0.0
    positions = TRUE.positions.clone()
    positions[:, :4, 2] = torch.nan  # found one frame later still
    predicted = replace(
        in_another_order(TRUE), positions=in_another_order(replace(TRUE, positions=positions)).positions
    )
    chosen = identities(predicted, replace(TRUE, visibility=visibility))
    assert torch.equal(chosen, torch.tensor([[2, 4, 1, 3]]).expand(CLIPS, -1))


def test_a_ball_that_comes_out_is_not_taken_for_one_that_somebody_else_is():
    """Ball 1, hidden at first, comes out 1 px from ball 0, whom the only object there was settled to be."""
    places = torch.tensor([[10.0, 9.0], [11.0, 9.0]]).double().expand(1, 3, 2, 2)
    visibility = torch.tensor([[[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]])
    true = Objects(places, radius=torch.full((1, 2), 3.0).double(), visibility=visibility)
    found = torch.tensor([[10.5, 9.0], [30.0, 9.0]]).double().expand(1, 3, 2, 2)
    assert identities(Objects(found), true).tolist() == [[0, NOBODY]]


def test_what_is_farther_than_a_radius_is_nobody():
    away = TRUE.positions.clone()
    away[:, :, 3] += torch.tensor([0.0, RADIUS[3] + 0.01])
    assert torch.equal(identities(Objects(away), TRUE)[:, 3], torch.full((CLIPS,), NOBODY))
    assert followed(Objects(away), TRUE)[:, :, 3].isnan().all()
    assert identities(Objects(TRUE.positions[:, :, :0]), TRUE).eq(NOBODY).all()
    assert followed(Objects(TRUE.positions[:, :, :0]), TRUE).isnan().all()


def test_assignment_takes_as_many_pairs_as_are_allowed():
    """Row 0 would take column 0 at no cost, but it is the only one that row 1 may have."""
    cost = torch.tensor([[[0.0, 5.0, 1.0], [2.0, 0.0, 0.0]]])
    allowed = torch.tensor([[[True, True, False], [True, False, False]]])
    assert nearest(cost, allowed).tolist() == [[1, 0]]
    assert nearest(cost, allowed & torch.tensor([False, True])[:, None]).tolist() == [[NOBODY, 0]]


def test_distances_in_single_precision_that_differ_little_are_told_apart():
    apart = torch.tensor([[[1.03, 1.0], [1.0, 1.03]]])
    assert nearest(apart, torch.ones(1, 2, 2, dtype=torch.bool)).tolist() == [[1, 0]]


def test_objects_of_which_only_the_places_are_known_cannot_be_matched():
    bare = Objects(TRUE.positions)
    with pytest.raises(ValueError, match=r"^true objects must have a radius, or masks, got neither; give one of them"):
        identities(bare, bare)


def test_without_radii_the_gate_is_that_of_a_disc_of_the_same_area():
    torch.testing.assert_close(gates(replace(TRUE, radius=None)), gates(TRUE), rtol=0.07, atol=0)


def test_what_is_not_there_has_no_gate_and_is_not_the_smallest_of_its_clip():
    """A clip with fewer objects than others would be lost at any error above 0."""
    positions, masks = TRUE.positions.clone(), TRUE.masks.masked_fill(TRUE.masks == 2, 0)
    positions[:, :, 1] = torch.nan
    fewer = replace(TRUE, positions=positions, masks=masks, radius=None)
    assert gates(fewer).isnan().any(0).tolist() == [False, True, False, False]
    assert divergence(Objects(positions + 0.5), fewer, KeptConfig()).tolist() == [STEPS + 1] * CLIPS
    assert divergence(Objects(positions + 99), fewer, KeptConfig()).tolist() == [1] * CLIPS


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_divergence_is_the_first_of_frames_in_a_row(frames):
    """Clip 0 is far at steps 2, 4, 5 and 7; clip 1 never, clip 2 at the last three."""
    positions = TRUE.positions.clone()
    positions[0, [2, 4, 5, 7]] += 20
    positions[2, 5:] += 20
    never = STEPS + 1
    expected = {1: [2, never, 5], 2: [4, never, 5], 3: [never, never, 5]}[frames]
    config = KeptConfig(frames=frames)
    assert divergence(Objects(positions), TRUE, config).tolist() == expected
    measured = make_metric("kept", config).measure(Objects(positions), TRUE)
    assert measured["total"].sum(1).tolist() == [step - 1 for step in expected]


def test_divergence_needs_the_mean_error_of_seen_objects():
    """One ball of four 9 px off is a mean of 2.25: more than 2 px, less than the smallest radius."""
    positions = TRUE.positions.clone()
    positions[:, 1:, 1] += torch.tensor([9.0, 0.0])
    assert score("kept-2px", Objects(positions)) == [0.0] * STEPS
    assert score("kept", Objects(positions)) == [1.0] * STEPS
    visibility = TRUE.visibility.clone()
    visibility[:, :, 1] = torch.where(torch.arange(1 + STEPS) > 0, 0.0, 1.0)
    assert score("kept-2px", Objects(positions), replace(TRUE, visibility=visibility)) == [1.0] * STEPS


def test_a_horizon_at_which_no_clip_can_be_lost_is_refused():
    """Every row would be kept to the end, however wrong."""
    far, true = (Objects(positions[:, :3], radius=TRUE.radius) for positions in (TRUE.positions + 50, TRUE.positions))
    message = r"--horizon must be at least 3 for kept-2px, which .* got 2; .* --metric-settings kept-2px.frames=2$"
    with pytest.raises(ValueError, match=message):
        make_metric("kept-2px").measure(far, true)
    measured = make_metric("kept-2px", Kept2Config(frames=2)).measure(far, true)
    assert measured["total"].tolist() == [[0, 0]] * CLIPS


def test_as_many_pairs_as_can_be_are_worth_more_than_near_ones():
    apart = torch.tensor([[[1.0, 1200.0], [2.0, 1.0], [1.0, 1.0]]])
    allowed = torch.tensor([[[True, True], [True, False], [False, False]]])
    assert nearest(apart, allowed).tolist() == [[1, 0, NOBODY]]


def test_the_gate_of_an_object_without_a_radius_is_of_the_most_that_is_seen_of_it():
    masks = torch.zeros(1, 3, 5, 7, dtype=torch.uint8)
    masks[0, 0, 0, :2], masks[0, 1, :3, :4], masks[0, 2, :2, :3] = 1, 1, 1
    of_one, of_none = gates(Objects(torch.zeros(1, 3, 2, 2).double(), masks=masks))[0]
    assert of_one.item() == pytest.approx((12 / math.pi) ** 0.5)
    assert of_none.isnan()


@pytest.mark.parametrize(("away", "missed"), [(2.0, 0), (2.5, 1)])
def test_just_a_radius_away_is_not_missed(away, missed):
    places = torch.tensor([10.0, 7.0]).double().expand(1, 3, 1, 2)
    moved = places.clone()
    moved[:, 1:, :, 0] += away
    assert score("missed", Objects(moved), Objects(places, radius=torch.tensor([[2.0]]).double())) == [missed] * 2


def test_what_is_found_where_a_hidden_ball_is_is_not_that_ball():
    """Ball 1, hidden at first, is where object 1 is then, and comes out as object 2."""
    places = torch.tensor([[10.0, 9.0], [30.0, 8.0]]).double().expand(1, 3, 2, 2)
    visibility = torch.tensor([[[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]])
    true = Objects(places, radius=torch.tensor([[3.0, 2.0]]).double(), visibility=visibility)
    found = torch.full((1, 3, 4, 2), torch.nan).double()
    found[:, :, 0], found[:, :1, 1], found[:, 1:, 2] = places[:, :, 0], places[:, :1, 1], places[:, 1:, 1]
    assert identities(Objects(found), true).tolist() == [[0, 2]]


@pytest.mark.parametrize(("away", "step"), [(2.4, 4), (2.6, 1)])
def test_a_clip_is_lost_once_the_only_one_seen_is_farther_than_the_smallest_radius(away, step):
    places = torch.tensor([[10.0, 9.0], [30.0, 8.0]]).double().expand(1, 4, 2, 2)
    visibility = torch.ones(1, 4, 2)
    visibility[:, 1:, 1] = 0.0
    true = Objects(places, radius=torch.tensor([[2.5, 4.0]]).double(), visibility=visibility)
    moved = places.clone()
    moved[:, 1:, 0, 0] += away
    assert divergence(Objects(moved), true, KeptConfig()).tolist() == [step]


@pytest.mark.parametrize(("away", "kept"), [(2.0, 1.0), (2.5, 0.0)])
def test_a_clip_that_is_just_the_threshold_away_is_not_lost(away, kept):
    places = torch.tensor([10.0, 7.0]).double().expand(1, 5, 1, 2)
    moved, true = places.clone(), Objects(places, radius=torch.tensor([[2.0]]).double())
    moved[:, 1:, :, 0] += away
    assert score("kept", Objects(moved), true) == [kept] * 4
    assert score("kept-2px", Objects(moved), true) == [kept] * 4


@pytest.mark.parametrize(("name", "limit"), [("kept", "the smallest radius"), ("kept-2px", "2 px")])
def test_it_says_from_which_error_on_a_clip_counts_as_lost(name, limit):
    assert f"no 3 frames in a row with a mean position error above {limit};" in make_metric(name).convention
