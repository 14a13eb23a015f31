"""Objects found in films: discs by hand, whole worlds beside their truth, and films in which things go wrong."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from made_up_objects import BALLS, CLIPS, RADIUS, STEPS, drawn, hide, paint, true_objects
from torch import Tensor

from videopred.eval.discs import Tracks, given_up, lit_pixels, settle
from videopred.eval.objects import Objects
from videopred.eval.tracking import UNEXPECTED, track

TRUE = true_objects()
NOTHING_COVERS = torch.zeros(CLIPS, dtype=torch.bool)


def tracked(film: Tensor, true: Objects = TRUE, speeds: Tensor | None = None, covered: bool = False) -> Objects:
    places = true.positions[:, 0]
    speeds = true.positions[:, 1] - places if speeds is None else speeds
    return track(film, places, speeds, true.radius, torch.full((len(film),), covered))


def film_of(positions: Tensor, radius: Tensor = RADIUS) -> Tensor:
    return (paint(positions, radius.expand(len(positions), -1)) > 0).float().unsqueeze(2)


def assert_near(found: Tensor, true: Tensor, px: float) -> None:
    """The same places are known, and they are that near."""
    assert torch.equal(found.isnan(), true.isnan())
    assert (found - true).norm(dim=-1).nan_to_num().max() < px


def test_discs_are_found_to_a_fraction_of_a_pixel_and_their_pixels_are_theirs():
    objects = tracked(TRUE.film)
    assert objects.positions.shape == (CLIPS, 1 + STEPS, BALLS + UNEXPECTED, 2)
    assert objects.positions.dtype == torch.float64
    assert_near(objects.positions[:, :, :BALLS], TRUE.positions, 0.3)
    assert objects.positions[:, :, BALLS:].isnan().all()
    assert torch.equal(objects.masks, TRUE.masks)
    assert objects.film is TRUE.film


def test_discs_that_nobody_expected_have_numbers_of_their_own_beside_255_true_ones():
    """As worlds of 2 or 255 balls have them in a clip of 2: places for all."""
    places = torch.full((CLIPS, 1 + STEPS, 255, 2), torch.nan).double()
    places[:, :, :2] = TRUE.positions[:, :, :2]
    radius = torch.full((CLIPS, 255), torch.nan).double()
    radius[:, :2] = RADIUS.expand(CLIPS, -1)[:, :2]
    found = track(TRUE.film, places[:, 0], torch.zeros_like(places[:, 0]), radius, NOTHING_COVERS).masks
    assert found.max() > 255
    assert torch.equal(found > 0, TRUE.masks > 0)


@pytest.mark.parametrize("distance", [7.2, 7.5, 8.0])
def test_discs_that_touch_are_told_apart(distance):
    """Two of radius 3.5 that meet head on, side by side and turn round."""
    time = torch.arange(1 + STEPS)
    gap = distance + 1.5 * (time - 3).abs()
    middle = torch.tensor([23.3, 16.6]).double()
    way = torch.tensor([0.8, 0.6]).double()
    positions = torch.stack([middle - gap[:, None] / 2 * way, middle + gap[:, None] / 2 * way], 1).unsqueeze(0)
    true = drawn(positions, torch.tensor([[3.5, 3.5]]).double())
    assert_near(tracked(true.film, true).positions[:, :, :2], positions, 0.35)


def test_grey_counts_from_half_and_any_color_counts():
    grey = TRUE.film * 0.5
    assert_near(tracked(grey).positions[:, :, :BALLS], TRUE.positions, 0.3)
    assert tracked(grey - 0.001 * (grey > 0)).positions.isnan().all()
    green = torch.cat([torch.zeros_like(TRUE.film), TRUE.film, torch.zeros_like(TRUE.film)], 2)
    assert_near(tracked(green).positions[:, :, :BALLS], TRUE.positions, 0.3)


def test_a_ball_that_is_shown_smaller_is_where_its_middle_is():
    positions = TRUE.positions[:, :, 3:]
    small = (paint(positions, torch.full((CLIPS, 1), 2.4).double()) > 0).float().unsqueeze(2)
    true = drawn(positions, torch.full((CLIPS, 1), 4.0).double())
    assert_near(tracked(small, true).positions[:, :, :1], positions, 0.4)


def test_a_ball_that_vanishes_is_lost_and_found_where_it_comes_back():
    positions = TRUE.positions.clone()
    positions[:, 3:5, 1] = torch.nan
    assert_near(tracked(film_of(positions)).positions[:, :, :BALLS], positions, 0.3)


def test_a_ball_that_vanishes_for_good_does_not_take_anothers_pixels():
    """Ball 1 flies at ball 2, and vanishes before it is there."""
    positions = TRUE.positions.clone()
    way = torch.tensor([2.0, 0.0]).double()
    positions[:, :, 0] = positions[:, :, 1] - 7 * way + torch.arange(1 + STEPS)[:, None] * way
    true = drawn(positions, TRUE.radius)
    positions = positions.clone()
    positions[:, 3:, 0] = torch.nan
    assert_near(tracked(film_of(positions), true).positions[:, :, :BALLS], positions, 0.3)


def test_of_balls_that_merge_one_is_given_up():
    """From frame 3 on both are where the second is."""
    positions = TRUE.positions[:, :, :2].clone()
    steps = (positions[:, :1, 1] - positions[:, :1, 0]) / 4
    time = torch.arange(1 + STEPS).double().view(1, -1, 1)
    positions[:, :, 0] = positions[:, :1, 0] + time.clamp(max=4) * steps
    positions[:, :, 1] = positions[:, :1, 1]
    true = drawn(positions, TRUE.radius[:, :2])
    found = tracked(true.film, true).positions
    assert (~found[:, 4:].isnan().any(-1)).sum(-1).eq(1).all()
    assert (~found[:, :3].isnan().any(-1)).sum(-1).eq(2).all()


def test_of_balls_that_one_could_be_as_well_as_the_other_the_first_stays():
    """They come together from both sides, and from frame 2 on one stands between the places where they should be."""
    time, middle = torch.arange(1 + STEPS).double(), torch.tensor([22.0, 16.0]).double()
    gap = (time - 2.5).unsqueeze(-1) * torch.tensor([2.0, 0.0])
    true = drawn(torch.stack([middle + gap, middle - gap], 1).unsqueeze(0), RADIUS.new_tensor([[3.5, 3.5]]))
    alone = drawn(middle.expand(1, 1 + STEPS, 1, 2), RADIUS.new_tensor([[3.5]])).film
    found = tracked(torch.cat([true.film[:, :2], alone[:, 2:]], 1), true).positions
    assert found[0, 2:, 0].tolist() == [[22, 16]] * (STEPS - 1)
    assert found[0, 2:, 1:].isnan().all()


def test_a_ball_that_nobody_expected_is_found_and_followed():
    more = TRUE.positions[:, :, :1] + torch.tensor([13.0, 8])
    more[:, :2] = torch.nan
    positions = torch.cat([TRUE.positions, more], 2)
    film = film_of(positions, torch.cat([RADIUS, torch.tensor([3.0])]))
    assert_near(tracked(film).positions[:, :, : BALLS + 1], positions, 0.4)


def test_a_ball_that_appears_where_there_was_none_is_found():
    """Also in a room that no ball ever enters, whose balls' sizes nobody knows."""
    positions = TRUE.positions[:, :, 3:].clone()
    positions[:, :2] = torch.nan
    film = film_of(positions, RADIUS[3:])
    for radius in (4.0, torch.nan):
        true = replace(TRUE, positions=positions, radius=torch.full((CLIPS, 1), radius).double())
        assert_near(tracked(film, true, torch.zeros(CLIPS, 1, 2)).positions[:, :, 1:2], positions, 0.3)


@pytest.mark.parametrize("covered", [False, True])
def test_specks_are_no_balls(covered):
    film = TRUE.film.clone()
    film[:, 2:, 0, 15:17, 20:23] = 1
    found = tracked(film, covered=covered)
    assert found.positions[:, :, BALLS:].isnan().all()
    assert torch.equal(found.masks > 0, TRUE.masks > 0)


def test_specks_are_no_balls_beside_a_ball_of_unknown_size():
    """It is hidden to the end, so that no mask shows how large it is."""
    true, radius = hide(TRUE, 1, 2, slice(None)), TRUE.radius.clone()
    radius[1, 2] = torch.nan
    film = true.film.clone()
    film[:, 2:, 0, 15:17, 20:23] = 1
    found = tracked(film, replace(true, radius=radius))
    assert found.positions[:, :, BALLS:].isnan().all()
    assert torch.equal(found.masks > 0, true.masks > 0)


def test_specks_are_no_balls_where_no_size_is_known():
    """They are less than half of a disc whose radius is a sixteenth of the frame's shorter side: here 6.7 px."""
    nobody, still = torch.full_like(TRUE.positions[:, :, :1], torch.nan), torch.zeros(CLIPS, 1, 2)
    true = replace(TRUE, positions=nobody, radius=torch.full((CLIPS, 1), torch.nan).double())
    film = torch.zeros_like(TRUE.film)
    film[:, 2:, 0, 15:17, 20:23] = 1
    assert tracked(film, true, still).positions.isnan().all()
    film[:, 2:, 0, 17, 20] = 1
    assert (~tracked(film, true, still).positions.isnan().any(-1)).sum(-1).tolist() == [[0, 0] + [1] * (STEPS - 1)] * 3


def test_more_balls_than_there_is_room_for_are_left_alone():
    film = TRUE.film.clone()
    for number in range(6):
        film[:, 3:, 0, 13:20, 7 * number + 3 : 7 * number + 8] = 1
    there = ~tracked(film).positions[:, -1].isnan().any(-1)
    assert there[:, BALLS:].all()


def test_a_blank_film_has_no_objects_and_a_white_one_has_some():
    blank = torch.zeros_like(TRUE.film)
    assert tracked(blank).positions.isnan().all()
    assert not tracked(blank).masks.any()
    white = tracked(torch.ones_like(TRUE.film))
    assert white.masks.any()


def test_absent_balls_are_never_found():
    places = TRUE.positions.clone()
    places[1, :, 2] = torch.nan
    true = drawn(places, torch.where(places[:, 0].isnan().any(-1), torch.nan, TRUE.radius))
    assert_near(tracked(true.film, true).positions[:, :, :BALLS], places, 0.3)


def test_a_ball_bounces_off_a_wall_while_it_is_hidden():
    """It goes behind a curtain at the left wall and comes out where it must."""
    x = 14 - 2.5 * torch.arange(1 + STEPS).double()
    x = torch.where(x < 4, 8 - x, x)
    positions = torch.stack([x, torch.full_like(x, 16.0)], -1).view(1, -1, 1, 2)
    true = drawn(positions, torch.tensor([[4.0]]).double())
    film = true.film.clone()
    film[..., :11] = 0
    found = tracked(film, true, covered=True).positions[0, :, 0]
    assert found[0, 0].isfinite()
    assert found[4:6].isnan().all()
    assert (found[7] - positions[0, 7, 0]).norm() < 2


def test_what_is_half_covered_is_placed_where_its_edge_says():
    """A ball flies behind a curtain; the mean of its pixels would be up to 1.7 px off."""
    time = torch.arange(1 + STEPS).double()
    positions = torch.stack([10 + 1.5 * time, torch.full_like(time, 16.3)], -1).view(1, -1, 1, 2)
    true = drawn(positions, torch.tensor([[4.0]]).double())
    film = true.film.clone()
    film[..., 16:] = 0
    assert_near(tracked(film, true, covered=True).positions[:, :5, :1], positions[:, :5], 0.6)
    without = tracked(film, true).positions[:, :5, :1]
    assert (without - positions[:, :5]).norm(dim=-1).max() > 1


def test_hidden_in_the_observed_frame_is_found_when_it_comes_out():
    true = hide(TRUE, 0, 2, slice(0, 3))
    found = tracked(true.film, true).positions[:, :, :BALLS]
    assert_near(found, torch.where(true.seen.unsqueeze(-1), TRUE.positions, torch.nan), 0.3)


def test_clips_do_not_mix():
    alone = [track(*(values[b : b + 1] for values in arguments())).positions for b in range(CLIPS)]
    assert torch.equal(torch.cat(alone).nan_to_num(-1), track(*arguments()).positions.nan_to_num(-1))


def arguments() -> tuple[Tensor, ...]:
    places = TRUE.positions[:, 0]
    film = film_of(torch.cat([TRUE.positions[:1], TRUE.positions[[0, 2]] + 1.5]))
    return film, places, TRUE.positions[:, 1] - places, TRUE.radius, NOTHING_COVERS


def test_a_clip_is_followed_as_it_is_alone():
    """Balls that jump anywhere: in some clips two share the pixels of one, in others places take long to settle."""
    random = torch.Generator().manual_seed(0)
    places = torch.rand((6, 5, BALLS, 2), generator=random).double() * torch.tensor([29, 19]) + 7
    radius, still, bare = RADIUS.expand(6, -1), torch.zeros(6, BALLS, 2), torch.zeros(6, dtype=torch.bool)
    given = drawn(places, radius).film, places[:, 0], still, radius, bare
    whole = track(*given)
    for clip in range(6):
        alone = track(*(one[clip : clip + 1] for one in given))
        torch.testing.assert_close(whole.positions[clip], alone.positions[0], rtol=0, atol=0, equal_nan=True)
        assert torch.equal(whole.masks[clip], alone.masks[0])


ALL = np.ones((1, 2), bool)


def two_discs(radius: tuple[float, float]) -> Tracks:
    place = np.array([[[10.0, 10.0], [12.0, 10.0]]])
    return Tracks(place, 0 * place, np.array([radius]), ALL, ALL, place, ALL[:, 0], np.array([min(radius)]))


@pytest.mark.parametrize(("radius", "area"), [((6.0, 3.0), (60, 25)), ((3.0, 6.0), (25, 60))])
def test_of_discs_of_different_sizes_the_one_that_shows_less_of_itself_is_given_up(radius, area):
    """Half of the large one, which is more pixels than nearly all of the small one."""
    tracks = two_discs(radius)
    up = given_up(tracks, tracks.place, np.array([area], float), ALL)
    np.testing.assert_array_equal(up, np.array([radius]) == 6)


@pytest.mark.parametrize("strayed", [0, 1])
def test_of_equal_discs_the_one_that_is_farther_from_where_it_was_expected_is_given_up(strayed):
    tracks = two_discs((4.0, 4.0))
    before = tracks.place.copy()
    before[0, strayed, 1] += 1
    up = given_up(tracks, before, np.full((1, 2), 20.0), ALL)
    np.testing.assert_array_equal(up, [np.arange(2) == strayed])


@pytest.mark.parametrize(("away", "area"), [(5.9, 1), (6.1, 0)])
def test_pixels_up_to_two_beyond_a_disc_may_be_its_own(away, area):
    lit = np.zeros((1, 5, 17), bool)
    lit[0, 2, 14] = True
    tracks, first = two_discs((4.0, 3.0)), np.array([[True, False]])
    tracks.place[0, 0] = 14.5 - away, 2.5
    assert settle(tracks, lit_pixels(lit), first).tolist() == [[area, 0]]
    assert tracks.place[0, 0, 0] == pytest.approx(14.5 if area else 14.5 - away)


@pytest.mark.parametrize(("apart", "pixels"), [(2, 41.0), (5, 20.0)])
def test_discs_that_show_half_more_than_one_or_lie_a_radius_apart_are_both_kept(apart, pixels):
    tracks = two_discs((4.0, 4.0))
    tracks.place[0, 1, 0] = 10 + apart
    assert not given_up(tracks, tracks.place, np.array([[pixels, pixels - 3]]), ALL).any()
