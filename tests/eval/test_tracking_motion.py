"""Objects followed in films in which they move otherwise than they were expected to."""

from collections.abc import Sequence

import pytest
import torch
from made_up_objects import HEIGHT, WIDTH, drawn
from test_tracking import assert_near, film_of, tracked
from torch import Tensor

from videopred.eval.tracking import UNEXPECTED, track


def along(*xs: float, y: float = 16.5) -> Tensor:
    """One ball at these x, frame after frame: (1, T, 1, 2)."""
    return torch.tensor([[[[x, y]] for x in xs]]).double()


def found_of(positions: Tensor, radius: float, speed: float = 0.0, covered: bool = False) -> Tensor:
    """Where the first ball of a film is found, if it was thought to move with this speed along x."""
    sizes = torch.tensor([[radius]]).double()
    true = drawn(positions, sizes)
    speeds = torch.tensor([[[speed, 0.0]]]).double()
    return tracked(film_of(positions, sizes[0]), true, speeds, covered).positions[:, :, :1]


def test_a_ball_that_moves_on_unexpectedly_is_followed_to_its_middle():
    """Thought to rest, and 2.6 px on: at first only a part of it is in reach."""
    positions = along(10.5, 13.1, 15.7, 18.3, 20.9)
    assert_near(found_of(positions, 3.0), positions, 0.3)


def test_a_ball_that_speeds_up_is_followed():
    """To 6 px a frame, twice what is in reach of where it was."""
    positions = along(4.5, 6.0, 9.0, 13.5, 19.5, 25.5, 31.5)
    assert_near(found_of(positions, 1.5), positions, 0.5)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_fast_ball_is_expected_where_the_wall_sends_it(far, axis):
    """Of radius 1.5, at 8 px a frame: from 3.5 to 6 px beyond the place where it touches, and so that far back."""
    length = (WIDTH, HEIGHT)[axis]
    away = torch.tensor([19.5, 11.5, 3.5, 7.5, 15.5, 23.5]).double()
    positions = torch.full((1, 6, 1, 2), 14.5).double()
    positions[0, :, 0, axis] = length - away if far else away
    speeds = torch.zeros(1, 1, 2).double()
    speeds[..., axis] = 8.0 if far else -8.0
    true = drawn(positions, torch.tensor([[1.5]]).double())
    assert_near(tracked(true.film, true, speeds).positions[:, :, :1], positions, 0.5)


@pytest.mark.parametrize(("jump", "same"), [(8.8, True), (9.2, False)])
def test_a_lost_ball_is_found_again_up_to_three_radii_from_where_it_is_expected(jump, same):
    """Of radius 3; what turns up farther away is another one."""
    positions = along(10.5, torch.nan, torch.nan, 10.5 + jump, 10.5 + jump)
    assert bool(found_of(positions, 3.0)[0, -1, 0].isfinite().all()) is same


def test_a_lost_ball_is_not_found_in_a_small_patch_far_off():
    """A quarter of its area, two of its radii and more away."""
    positions = along(10.5, torch.nan, torch.nan, 18.5, 18.5)
    film = film_of(positions, torch.tensor([3.0]))
    film[:, 3:] = film_of(positions[:, 3:], torch.tensor([1.5]))
    true = drawn(positions, torch.tensor([[3.0]]).double())
    assert tracked(film, true, torch.zeros(1, 1, 2)).positions[:, 3:].isnan().all()


def test_a_lost_ball_flies_on_past_specks():
    """At 3 px a frame; a pixel where it was seen last does not hold it back, and is nobody's."""
    positions = along(*(4.5 + 3 * t for t in range(10)))
    shown = positions.clone()
    shown[:, 2:8] = torch.nan
    film = film_of(shown, torch.tensor([3.0]))
    film[:, 2:8, 0, 16, 7] = 1
    objects = tracked(film, drawn(positions, torch.tensor([[3.0]]).double()))
    assert_near(objects.positions[:, :, :1], shown, 0.3)
    assert objects.positions[:, :, 1:].isnan().all()
    assert not objects.masks[:, 2:8].any()


def test_a_ball_that_comes_out_as_expected_is_placed_by_its_edge():
    """Behind a strip of ten columns; the mean of what is seen first would be 2 px off."""
    positions = along(*(9.5 + 2 * t for t in range(13)))
    true = drawn(positions, torch.tensor([[4.0]]).double())
    film = true.film.clone()
    film[..., 16:26] = 0
    found = tracked(film, true, covered=True).positions[:, :, :1]
    assert found[0, 4:12].isnan().any()
    assert (found - positions).norm(dim=-1).nan_to_num().max() < 0.6


def test_a_ball_that_vanishes_in_front_of_another_is_given_up():
    """Ball 1 flies at ball 2, which rests, and is gone when it would be 3 px from its middle: half of ball 2's pixels
    would be nearer to it, and both would be taken for found, in the wrong places."""
    time = torch.arange(6).double()
    rests = torch.tensor([25.5, 16.5]).double().expand(6, 2)
    flies = torch.stack([25.5 - 14 + 5.5 * time, torch.full_like(time, 16.5)], -1)
    positions = torch.stack([flies, rests], 1).unsqueeze(0)
    shown = positions.clone()
    shown[:, 2:, 0] = torch.nan
    sizes = torch.full((1, 2), 4.0).double()
    found = tracked(film_of(shown, sizes[0]), drawn(positions, sizes)).positions
    assert (~found.isnan().any(-1)).sum(-1).tolist() == [[2, 2, 1, 1, 1, 1]]
    assert (found[0, 2:].nan_to_num().sum(1) - rests[2:]).norm(dim=-1).max() < 0.3


def behind_a_curtain(
    xs: Sequence[float], ys: Sequence[float], covered: bool, mirrored: bool = False
) -> tuple[Tensor, Tensor]:
    """Where the only ball is and where it is found, (T, 2) each: of radius 4, with a curtain from column 16 on, or, if
    all is mirrored, up to there from the right."""
    positions = torch.tensor([xs, ys]).double().T.reshape(1, -1, 1, 2)
    if mirrored:
        positions[..., 0] = WIDTH - positions[..., 0]
    true = drawn(positions, torch.tensor([[4.0]]).double())
    film = true.film.clone()
    film[..., slice(WIDTH - 16) if mirrored else slice(16, None)] = 0
    return positions[0, :, 0], tracked(film, true, covered=covered).positions[0, :, 0]


@pytest.mark.parametrize("covered", [True, False])
def test_what_is_covered_may_come_out_anywhere_and_is_found_by_a_sixth_of_it(covered):
    """18 px from where it went in, of a radius of 4. Where nothing covers, that would be another ball."""
    place, found = behind_a_curtain([11, 14, 17, 20, 21, 17, 13], [7.5] * 4 + [25.5] * 3, covered)
    assert found[3:5].isnan().all()
    if covered:
        assert (found[5:] - place[5:]).norm(dim=-1).max() < 0.6
    else:
        assert found[5:].isnan().all()


@pytest.mark.parametrize("first", [14.9, 16.1, 17.3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_what_comes_out_unexpected_is_placed_by_its_edge_at_once(first, mirrored):
    """From two thirds to a quarter of it are seen, whose mean is 1.3 to 2.5 px off; it was expected to fly on
    behind the curtain."""
    xs = [11, 14, 17, 20, 23, 26, first, first - 1, first - 2]
    place, found = behind_a_curtain(xs, [7.5] * 6 + [24.5, 24.9, 25.3], True, mirrored)
    assert found[4:6].isnan().all()
    assert (found[6:] - place[6:]).norm(dim=-1).max() < 0.5


def test_the_rest_of_what_comes_out_is_where_it_was_seen_last_and_not_where_it_is_expected():
    """It is thought to have come back from the far wall, and to be out already."""
    xs = [11, 17, 23, 29, 35, 41, 39, 33, 27, 27, 27, 27, 17.3]
    place, found = behind_a_curtain(xs, [7.5] * 10 + [24.5] * 3, True)
    assert found[2:12].isnan().all()
    assert (found[12] - place[12]).norm() < 0.2


def test_what_comes_out_unexpected_is_not_expected_to_go_on_as_before():
    """It went in at 2 px a frame along the edge, and rests where a quarter of it is seen."""
    place, found = behind_a_curtain(
        [11, 14, 17, 20, 23, 26, *[17.3] * 4], [9.5, 11.5, 13.5, 15.5, 17.5, 19.5, *[26.5] * 4], True
    )
    assert (found[6:] - place[6:]).norm(dim=-1).max() < 0.2


def test_what_turned_behind_a_curtain_is_soon_placed_to_half_a_pixel():
    """Though it was expected to come out elsewhere, and is seen in part only."""
    place, found = behind_a_curtain([11, 13, 15, 18, 21, 21, 19, 18, 17, 16], [16.3] * 5 + [27, 26, 25, 24, 23], True)
    assert (found - place)[8:].norm(dim=-1).max() < 0.5


def test_a_large_ball_keeps_the_pixels_that_are_nearer_to_a_small_ones_middle():
    """Radii 7 and 2 that touch: seen from the middle of the gap, every second pixel is nearer to the small one."""
    positions = torch.tensor([[[14.5, 16.5], [24.0, 16.5]]]).double().expand(1, 5, 2, 2)
    sizes = torch.tensor([[7.0, 2.0]]).double()
    true = drawn(positions, sizes)
    objects = tracked(film_of(positions, sizes[0]), true)
    assert_near(objects.positions[:, :, :2], positions, 0.3)
    assert torch.equal(objects.masks, true.masks)


def test_newcomers_that_are_gone_make_room_for_others():
    """More of them, one after another and nowhere near to one before, than there is room for at a time."""
    count = UNEXPECTED + 3
    at = torch.full((1, 1 + count, 1 + count, 2), torch.nan).double()
    at[:, :, 0] = torch.tensor([4.5, 4.5]).double()
    for number in range(count):
        at[0, 1 + number, 1 + number] = torch.tensor([6.5 + 11 * (number % 4), 16.5 + 11 * (number // 4)]).double()
    sizes = torch.full((1, 1 + count), 3.0).double()
    objects = tracked(film_of(at, sizes[0]), drawn(at[:, :, :1], sizes[:, :1]))
    assert objects.seen[0, 1:].sum(-1).tolist() == [2] * count


def test_a_newcomer_does_not_inherit_the_speed_of_the_one_before():
    """One comes, speeds up to 12 px a frame and is gone; the next rests, and stays the same one."""
    at = torch.full((1, 9, 3, 2), torch.nan).double()
    at[:, :, 0] = torch.tensor([4.5, 4.5]).double()
    at[0, 1:6, 1] = torch.tensor([[4.5, 28.5], [7.5, 28.5], [13.5, 28.5], [22.5, 28.5], [34.5, 28.5]]).double()
    at[0, 7:, 2] = torch.tensor([20.5, 14.5]).double()
    sizes = torch.full((1, 3), 3.0).double()
    found = tracked(film_of(at, sizes[0]), drawn(at[:, :, :1], sizes[:, :1])).positions[:, :, 1:]
    assert_near(found[:, :, :1], torch.where(at[:, :, 1:2].isnan(), at[:, :, 2:], at[:, :, 1:2]), 0.3)
    assert found[:, :, 1:].isnan().all()


def test_patches_that_meet_at_corners_only_are_two_newcomers():
    """Neighbours are those along rows and columns."""
    film = torch.zeros(1, 5, 1, HEIGHT, WIDTH)
    film[:, 1:, 0, 10:15, 20:25] = film[:, 1:, 0, 15:20, 25:30] = 1
    true = drawn(torch.full((1, 5, 1, 2), torch.nan).double(), torch.tensor([[3.0]]).double())
    found = tracked(film, true, torch.zeros(1, 1, 2)).positions[0, 1]
    assert found[~found.isnan().any(-1)].tolist() == [[22.5, 12.5], [27.5, 17.5]]


def test_there_is_room_for_four_newcomers_at_a_time():
    film = torch.zeros(1, 5, 1, HEIGHT, WIDTH)
    for number in range(6):
        film[:, 1:, 0, 13:20, 7 * number + 3 : 7 * number + 8] = 1
    true = drawn(torch.full((1, 5, 1, 2), torch.nan).double(), torch.tensor([[3.0]]).double())
    objects = tracked(film, true, torch.zeros(1, 1, 2))
    assert objects.seen[0].sum(-1).tolist() == [0, 4, 4, 4, 4]


def test_of_two_that_share_a_disc_one_is_given_up_however_many_pixels_it_has():
    """A disc of radius 2.5 in the middle of a pixel has 21 of them, where π r² is 19.6: more than one disc's share."""
    time, middle = torch.arange(6).double(), torch.tensor([22.5, 16.5]).double()
    gap = (time - 2.5).unsqueeze(-1) * torch.tensor([2.0, 0.0])
    positions, sizes = torch.stack([middle + gap, middle - gap], 1).unsqueeze(0), torch.full((1, 2), 2.5).double()
    alone = film_of(middle.expand(1, 6, 1, 2), sizes[0, :1])
    film = torch.cat([film_of(positions, sizes[0])[:, :2], alone[:, 2:]], 1)
    assert alone[0, 0].sum() == 21
    assert tracked(film, drawn(positions, sizes)).seen[0].sum(-1).tolist() == [2, 2, 1, 1, 1, 1]


def jumping(covered: bool) -> tuple[Tensor, ...]:
    """What `track` is given of equal balls that turn up anywhere in each frame, where they were thought to rest."""
    random = torch.Generator().manual_seed(2)
    places = torch.rand((30, 7, 5, 2), generator=random).double() * torch.tensor([WIDTH - 7, HEIGHT - 7]) + 3.5
    radius = torch.full((30, 5), 3.0).double()
    film = drawn(places, radius).film
    return film, places[:, 0], torch.zeros(30, 5, 2), radius, torch.full((30,), covered)


@pytest.mark.parametrize("covered", [False, True])
def test_upside_down_is_as_good_as_upright(covered):
    film, places, *rest = jumping(covered)
    upright = track(film, places, *rest).positions
    turned = track(film.flip(-2), places * torch.tensor([1, -1]) + torch.tensor([0, HEIGHT]), *rest).positions
    turned[..., 1] = HEIGHT - turned[..., 1]
    torch.testing.assert_close(turned[:, :, :5], upright[:, :, :5], rtol=0, atol=0.01, equal_nan=True)


@pytest.mark.parametrize("covered", [False, True])
def test_the_order_of_the_true_objects_tells_nothing(covered):
    film, places, *rest = jumping(covered)
    order = [2, 4, 0, 3, 1]
    found, other = (track(film, some, *rest).positions[:, :, :5] for some in (places, places[:, order]))
    torch.testing.assert_close(other, found[:, :, order], rtol=0, atol=0, equal_nan=True)
