"""Objects followed in films in which they move otherwise than they were expected to."""

import torch
from object_scenes import HEIGHT, drawn
from test_tracking import assert_near, film_of, tracked
from torch import Tensor

from videopred.eval.tracking import UNEXPECTED


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


def test_a_fast_ball_is_expected_where_the_wall_sends_it():
    """Of radius 1.5, at 5 px a frame: from 4.5 to 2 px beyond the place where it touches, and so that far back."""
    positions = along(14.5, 9.5, 4.5, 3.5, 8.5, 13.5)
    assert_near(found_of(positions, 1.5, speed=-5.0), positions, 0.5)


def test_a_lost_ball_is_found_again_not_too_far_from_where_it_is_expected():
    """At 2 radii from there it is the same one, at 4 another."""
    for jump, same in ((6.0, True), (12.0, False)):
        positions = along(10.5, torch.nan, torch.nan, 10.5 + jump, 10.5 + jump)
        assert bool(found_of(positions, 3.0)[0, -1, 0].isfinite().all()) is same


def test_a_large_ball_keeps_the_pixels_that_are_nearer_to_a_small_ones_middle():
    """Radii 7 and 2 that touch: seen from the middle of the gap, every second pixel is nearer to the small one."""
    positions = torch.tensor([[[14.5, 16.5], [24.0, 16.5]]]).double().expand(1, 5, 2, 2)
    sizes = torch.tensor([[7.0, 2.0]]).double()
    true = drawn(positions, sizes)
    scene = tracked(film_of(positions, sizes[0]), true)
    assert_near(scene.positions[:, :, :2], positions, 0.3)
    assert torch.equal(scene.masks, true.masks)


def test_newcomers_that_are_gone_make_room_for_others():
    """More of them, one after another and far apart, than there is room for at a time."""
    count = UNEXPECTED + 3
    at = torch.full((1, 1 + count, 1 + count, 2), torch.nan).double()
    at[:, :, 0] = torch.tensor([4.5, 4.5]).double()
    for number in range(count):
        at[0, 1 + number, 1 + number] = torch.tensor([9.5 + 33 * (number % 2), HEIGHT - 5.5]).double()
    sizes = torch.full((1, 1 + count), 3.0).double()
    scene = tracked(film_of(at, sizes[0]), drawn(at[:, :, :1], sizes[:, :1]))
    assert scene.seen[0, 1:].sum(-1).tolist() == [2] * count
