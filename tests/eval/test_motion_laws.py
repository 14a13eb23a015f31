"""Energy, momentum, overlaps and walls of motions made by hand."""

from dataclasses import replace

import pytest
import torch
from made_up_objects import HEIGHT, STEPS, WIDTH, as_predicted, true_objects

from videopred.eval import make_metric
from videopred.eval.objects import Objects

TRUE = true_objects()


def score(name: str, predicted: Objects, true: Objects = TRUE) -> torch.Tensor:
    metric = make_metric(name)
    return metric.reduce(metric.measure(predicted, true))


def flight(start: list[list[float]], velocity: list[list[float]], mass: list[float], frames: int = 6) -> Objects:
    """Balls of radius 2 that fly straight, in one clip of 33 x 47 px frames."""
    time = torch.arange(frames).double().view(-1, 1, 1)
    positions = torch.tensor(start).double() + time * torch.tensor(velocity).double()
    return Objects(
        positions=positions.unsqueeze(0),
        masks=torch.zeros((1, frames, HEIGHT, WIDTH), dtype=torch.uint8),
        radius=torch.full((1, len(start)), 2.0).double(),
        mass=torch.tensor([mass]).double(),
    )


def test_half_the_speed_is_a_quarter_of_the_energy():
    slow = TRUE.positions[:, :1] + (TRUE.positions - TRUE.positions[:, :1]) / 2
    assert score("energy", Objects(slow)) == pytest.approx([0.75] * STEPS)
    fast = TRUE.positions[:, :1] + (TRUE.positions - TRUE.positions[:, :1]) * 2
    assert score("energy", Objects(fast)) == pytest.approx([3.0] * STEPS)


def test_energy_by_hand():
    """Masses 1 and 6 at speeds 1 and 0.5: 0.5 + 0.75. The heavy one stops: 0.5 is left."""
    true = flight([[9, 9], [30, 20]], [[1, 0], [0, 0.5]], [1, 6])
    stops = true.positions.clone()
    stops[0, 3:, 1] = stops[0, 3, 1]
    assert score("energy", Objects(stops), true) == pytest.approx([0, 0, 0, 0.6, 0.6])


def test_energy_is_of_what_was_found_and_moves():
    true = flight([[9, 9], [30, 20], [20, 9]], [[1, 0], [0, 0.5], [0, 0]], [1, 6, torch.inf])
    some = true.positions.clone()
    some[0, 3, 1] = torch.nan
    assert score("energy", Objects(some), true) == pytest.approx([0] * 5)
    some[0, :, 0] = torch.nan
    assert score("energy", Objects(some), true).isnan().tolist() == [False, False, True, True, False]


def test_energy_is_of_steps_between_frames_that_show_the_ball():
    """Of the heavy one, hidden in frame 3, a model may think what it likes there."""
    true = flight([[9, 9], [30, 20]], [[1, 0], [0, 0.5]], [1, 6])
    true = replace(true, visibility=torch.ones(1, 6, 2))
    true.visibility[0, 3, 1] = 0
    thought = true.positions.clone()
    thought[0, 3, 1] += 5
    assert score("energy", Objects(thought), true) == pytest.approx([0] * 5)


def test_a_contact_keeps_momentum_and_a_turn_does_not():
    """Equal masses meet head on between two frames and trade velocities."""
    true = flight([[15, 15], [25, 15]], [[1, 0], [-1, 0]], [3, 3], frames=7)
    bounce = true.positions.clone()
    bounce[0, 4:] = torch.tensor([[[17.5, 15], [22.5, 15]], [[16.5, 15], [23.5, 15]], [[15.5, 15], [24.5, 15]]])
    values = score("momentum", Objects(bounce), true)
    assert values[0].isnan()  # a change needs three frames
    assert values[1:] == pytest.approx([0] * 5, abs=1e-12)
    turn = true.positions.clone()
    turn[0, 4:, 0, 0] = torch.tensor([17.0, 16, 15])
    # From -3 + 3 to -3 - 3 along x, of 6 in all.
    assert score("momentum", Objects(turn), true)[1:] == pytest.approx([0, 0, 1, 0, 0])


def test_momentum_is_not_asked_for_at_walls_nor_of_some_of_the_balls():
    near = flight([[5.5, 9], [30, 20]], [[-0.5, 0], [0, 0.5]], [1, 6])
    # Its centre comes to 3 px from the wall, farther than its radius and one step; the next one comes to 1.5.
    assert score("momentum", as_predicted(near), near).isnan().tolist() == [True, False, False, False, False]
    nearer = flight([[4.0, 9], [30, 20]], [[-0.5, 0], [0, 0.5]], [1, 6])
    assert score("momentum", as_predicted(nearer), nearer).isnan().tolist() == [True, False, False, True, True]
    gone = near.positions.clone()
    gone[0, 3, 1] = torch.nan
    assert score("momentum", Objects(gone), near).isnan().tolist() == [True, False, True, True, True]
    fixed = replace(near, mass=torch.tensor([[1.0, torch.inf]]).double())
    assert score("momentum", as_predicted(fixed), fixed).isnan().all()


def test_momentum_is_a_share_of_that_of_both_steps():
    """What was 1 + 3 becomes 3 + 3: a jump of 2, and 5 on average."""
    true = flight([[9, 9], [20, 20]], [[1, 0], [0, 0.5]], [1, 6])
    faster = true.positions.clone()
    faster[0, 3:, 0, 0] += torch.tensor([2.0, 4, 6])
    assert score("momentum", Objects(faster), true)[1:] == pytest.approx([0, 0.4, 0, 0])


def test_where_all_rest_nothing_can_be_said_of_momentum():
    rest = flight([[9, 9], [20, 20]], [[0, 0], [0, 0]], [1, 6])
    measured = make_metric("momentum").measure(as_predicted(rest), rest)
    assert not torch.stack([measured["total"], measured["count"]]).any()


def test_momentum_is_not_asked_for_right_after_a_wall():
    """A ball that may have touched a wall in step 1 is far from it after, and in step 2 farther than it moves."""
    true = flight([[3, 9], [30, 20]], [[6, 0], [0, 0.5]], [1, 6])
    assert score("momentum", as_predicted(true), true).isnan().tolist() == [True, True, False, False, False]


def test_absent_balls_have_no_momentum():
    true = flight([[15, 15], [25, 15]], [[1, 0], [-1, 0]], [3, 3])
    nowhere = torch.full((1, 6, 1, 2), torch.nan).double()
    nan = torch.full((1, 1), torch.nan).double()
    more = replace(
        true,
        positions=torch.cat([true.positions, nowhere], 2),
        radius=torch.cat([true.radius, nan], 1),
        mass=torch.cat([true.mass, nan], 1),
    )
    for name in ("momentum", "energy", "overlaps", "walls"):
        torch.testing.assert_close(
            score(name, as_predicted(more), more), score(name, as_predicted(true), true), equal_nan=True
        )


def test_overlaps_by_hand():
    """Discs of radius 2 at distances 4, 3.5, 3, 2.5, …: over 1 px deep from the fourth step on. Or of 2 and 2.5."""
    true = flight([[15, 15], [19.5, 15], [40, 28]], [[0, 0], [-0.5, 0], [0, 0]], [1, 1, 1])
    assert score("overlaps", as_predicted(true), true) == pytest.approx([0, 0, 0, 1 / 3, 1 / 3])
    larger = replace(true, radius=torch.tensor([[2, 2.5, 2]]).double())
    assert score("overlaps", as_predicted(larger), larger) == pytest.approx([0, 0, 1 / 3, 1 / 3, 1 / 3])
    one = replace(true, positions=true.positions[:, :, :1], radius=true.radius[:, :1], mass=true.mass[:, :1])
    assert score("overlaps", as_predicted(one), one).isnan().all()


@pytest.mark.parametrize("wall", ["left", "right", "top", "bottom"])
def test_walls_by_hand(wall):
    """A disc of radius 2 whose edge is 0, 0.4, …, 2 px beyond a wall; another stays inside."""
    start = {"left": [2, 9], "right": [WIDTH - 2, 9], "top": [9, 2], "bottom": [9, HEIGHT - 2]}[wall]
    away = {"left": [-0.4, 0], "right": [0.4, 0], "top": [0, -0.4], "bottom": [0, 0.4]}[wall]
    true = flight([start, [20, 20]], [away, [0, 0]], [1, 1])
    assert score("walls", as_predicted(true), true) == pytest.approx([0, 0, 0.5, 0.5, 0.5])
