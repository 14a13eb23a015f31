"""Exact discs: cases solved by hand."""

import numpy as np
import pytest

from videopred.datasets.contacts import CONTACT, hits_by_frame
from videopred.datasets.physics import Box, State, simulate


def one_clip(position, velocity, radius, mass, frames=9, **law):
    """Positions and velocities (T, N, 2) and contacts of one clip in a box 30 by 20."""
    state = State(*(np.array([a], float) for a in (position, velocity, radius, mass)))
    motion = simulate(state, Box(30.0, 20.0, **law), frames)
    return motion.positions[0], motion.velocities[0], motion.contacts[0]


def test_equal_masses_swap_head_on():
    x, v, contacts = one_clip([[5, 9], [14, 9]], [[1, 0], [-0.5, 0]], [2, 1], [3, 3])
    # They close 9 - 3 = 6 px at 1.5 px per frame: contact at 4, at x = 9 and 12.
    assert contacts.tolist() == [(4.0, 0, 1, 3 * 1.5)]
    np.testing.assert_allclose(v[3], [[1, 0], [-0.5, 0]])
    np.testing.assert_allclose(v[4], [[-0.5, 0], [1, 0]], atol=1e-15)
    np.testing.assert_allclose(x[4], [[9, 9], [12, 9]])
    np.testing.assert_allclose(x[8], [[7, 9], [16, 9]])


def test_a_heavy_disc_passes_on_its_momentum():
    _, v, _ = one_clip([[5, 9], [14, 9]], [[1, 0], [0, 0]], [2, 1], [6, 1], frames=11)
    np.testing.assert_allclose(v[10], [[5 / 7, 0], [12 / 7, 0]])  # (M - m) / (M + m) and 2 M / (M + m)


def test_equal_masses_part_at_right_angles():
    _, v, contacts = one_clip([[5, 8], [12, 10]], [[1, 0], [0, 0]], [2, 2], [2, 2])
    assert len(contacts) == 1
    assert v[8, 0] @ v[8, 1] == pytest.approx(0, abs=1e-15)
    assert np.linalg.norm(v[8], axis=1).min() > 0.1


def test_a_wall_reflects_at_the_angle_of_incidence():
    x, v, contacts = one_clip([[25, 5]], [[2, 0.5]], [1], [4])
    assert contacts.tolist() == [(2.0, 0, -2, 16.0)]  # the right wall; 2 m |v|
    assert v[8].tolist() == [[-2, 0.5]]
    assert x[8].tolist() == [[29 - 2 * 6, 9]]


def test_walls_are_numbered_left_right_top_bottom():
    for velocity, number in (([-9, 0], -1), ([9, 0], -2), ([0, -9], -3), ([0, 9], -4)):
        assert one_clip([[15, 10]], [velocity], [1], [1], frames=2)[2]["second"][0] == number


def test_a_corner_turns_both_components():
    x, v, contacts = one_clip([[27, 17]], [[1, 1]], [1], [1], frames=4)
    assert contacts["time"].tolist() == [2, 2]
    assert contacts["second"].tolist() == [-2, -4]  # x before y
    assert v[3].tolist() == [[-1, -1]]
    assert x[3].tolist() == [[28, 18]]


def test_a_disc_already_at_its_contact_turns_at_once_never_earlier():
    for position, velocity in (([[1 - 1e-12, 9]], [[-1, 0]]), ([[5, 9], [7 - 1e-12, 9]], [[1, 0], [0, 0]])):
        sizes = np.ones(len(position))
        _, _, contacts = one_clip(position, velocity, sizes, sizes)
        assert contacts["time"][0] == 0


def test_discs_that_only_graze_fly_on():
    _, v, contacts = one_clip([[5, 9], [12, 12]], [[1, 0], [0, 0]], [1, 2], [1, 1])
    assert contacts.tolist() == []
    assert v[8].tolist() == [[1, 0], [0, 0]]


def test_a_disc_falls_along_a_parabola():
    x, v, contacts = one_clip([[10, 5]], [[1, -0.5]], [1], [2], gravity=0.25)
    t = np.arange(9)
    np.testing.assert_allclose(x[:, 0], np.stack([10 + t, 5 - 0.5 * t + 0.125 * t**2], axis=1), atol=1e-12)
    np.testing.assert_allclose(v[:, 0], np.stack([1 + 0 * t, -0.5 + 0.25 * t], axis=1), atol=1e-12)
    assert len(contacts) == 0  # at 9 it is still 19 - 10.625 px above the floor


def test_each_bounce_reaches_the_square_of_the_restitution():
    """A fall of h takes sqrt(2 h / g) = 4 frames and ends at 2 px per frame, with h = 4 and g = 1/2. Half of the speed
    lasts for 2 * 1 / g = 4 frames and rises to 1 / (2 g) = h / 4. Each hop lasts half as long as the one before, until
    a contact comes less than a frame after the last: from 11.5 on nothing is lost, and hops of 1/2 frame go on.
    """
    x, _, contacts = one_clip([[10, 15]], [[0, 0]], [1], [3], frames=14, gravity=0.5, restitution=0.5)
    assert contacts["time"].tolist() == [4, 8, 10, 11, 11.5, 12, 12.5, 13, 13.5, 14]
    assert (contacts["second"] == -4).all()
    np.testing.assert_allclose(contacts["impulse"][:4], [3 * 3, 3 * 1.5, 3 * 0.75, 3 * 0.375])
    np.testing.assert_allclose(contacts["impulse"][4:], 2 * 3 * 0.125)
    assert x[6, 0, 1] == 19 - 4 / 4
    assert x[9, 0, 1] == 19 - 4 / 16
    assert x[11:, 0, 1].tolist() == [19, 19, 19]


def test_a_disc_thrown_up_hits_the_top_only_if_it_gets_there():
    # It rises v² / (2 g) = 4 px. From 3 px below the top it arrives after 2 frames, 3 = 2 * 2 - 2² / 4, at speed 1.
    _, v, contacts = one_clip([[10, 4]], [[0, -2]], [1], [1], frames=5, gravity=0.5)
    assert contacts[["time", "second", "impulse"]].tolist() == [(2, -3, 2 * 1)]
    assert v[2, 0].tolist() == [0, 1]
    x, v, contacts = one_clip([[10, 6]], [[0, -2]], [1], [1], gravity=0.5)
    assert len(contacts) == 0
    assert x[4, 0].tolist() == [10, 6 - 4]
    assert v[8, 0].tolist() == [0, 2]


def test_discs_that_fall_together_meet_as_if_they_did_not():
    still = one_clip([[5, 9], [14, 9]], [[1, 0], [-0.5, 0]], [2, 1], [3, 3], frames=6)
    x, _, contacts = one_clip([[5, 9], [14, 9]], [[1, 0], [-0.5, 0]], [2, 1], [3, 3], frames=6, gravity=0.1)
    assert contacts.tolist() == still[2].tolist()
    fallen = np.zeros((6, 2, 2))
    fallen[:, :, 1] = 0.1 * np.arange(6)[:, None] ** 2 / 2
    np.testing.assert_allclose(x - still[0], fallen, atol=1e-12)


def test_restitution_shares_the_speed():
    # Equal masses, one at rest: (1 - e) / 2 and (1 + e) / 2 of the speed.
    _, v, contacts = one_clip([[5, 9], [14, 9]], [[1, 0], [0, 0]], [2, 1], [3, 3], restitution=0.5)
    np.testing.assert_allclose(v[8], [[0.25, 0], [0.75, 0]])
    assert contacts.tolist() == [(6, 0, 1, 3 * 0.75)]


def test_a_fixed_disc_reflects_like_a_wall():
    """Hit at 45 degrees of its edge, it turns the way of a disc by a right angle; 2 m v cos(45°) is exchanged."""
    x, v, contacts = one_clip([[15, 10], [5, 10 - 4 / np.sqrt(2)]], [[0, 0], [1, 0]], [3, 1], [np.inf, 5], frames=12)
    [(time, first, second, impulse)] = contacts
    assert (first, second) == (0, 1)
    assert time == pytest.approx(10 - 4 / np.sqrt(2))
    assert impulse == pytest.approx(2 * 5 / np.sqrt(2))
    np.testing.assert_allclose(v[11], [[0, 0], [0, -1]], atol=1e-12)
    assert (x[:, 0] == [15, 10]).all()


def test_without_walls_a_disc_flies_on():
    x, v, contacts = one_clip([[25, 5]], [[2, -1]], [1], [4], walls=False)
    assert x[8].tolist() == [[25 + 16, 5 - 8]]
    assert v[8].tolist() == [[2, -1]]
    assert len(contacts) == 0


def test_no_contact_is_an_empty_table():
    _, _, contacts = one_clip([[5, 9]], [[0, 0]], [1], [1])
    assert contacts.dtype == CONTACT
    assert len(contacts) == 0


def test_more_contacts_than_a_byte_holds_count_as_255():
    _, _, contacts = one_clip([[5, 9]], [[9000, 0]], [1], [1], frames=3)
    events, hit = hits_by_frame(contacts, 3, 2)
    assert len(contacts) > 3 * 300
    assert events.tolist() == [255, 255, 255]
    assert hit.tolist() == [[True, False]] * 3


def test_a_contact_belongs_to_the_frame_before_it_and_one_at_the_very_start_to_frame_0():
    contacts = np.array([(0, 0, -1, 1), (1, 1, 2, 1), (1.5, 0, -3, 1), (3, 2, -2, 1)], CONTACT)
    events, hit = hits_by_frame(contacts, 3, 3)
    assert events.tolist() == [2, 1, 1]
    assert hit.tolist() == [[True, True, True], [True, False, False], [False, False, True]]


def test_endless_contacts_are_an_error(monkeypatch):
    monkeypatch.setattr("videopred.datasets.physics.MAX_EVENTS_PER_FRAME", 1)
    must, fix = "meet at most 1 times a frame", "choose fewer balls, masses more alike, or a larger --restitution"
    with pytest.raises(ValueError, match=f"--balls must {must}, got more; {fix}"):
        one_clip([[5, 9]], [[300, 0]], [1], [1])


def test_contacts_at_the_same_instant_come_in_a_fixed_order():
    """All at 2: walls first, those across x before those across y, by disc; then pairs, by first and second disc."""
    position = [[9, 3], [3, 9], [27, 9], [8, 16], [14, 16], [18, 16], [24, 16]]
    velocity = [[0, -1], [-1, 0], [1, 0], [1, 0], [-1, 0], [1, 0], [-1, 0]]
    _, _, contacts = one_clip(position, velocity, np.ones(7), np.ones(7), frames=3)
    pairs = [(1, -1), (2, -2), (0, -3), (3, 4), (5, 6)]
    assert contacts[["time", "first", "second"]].tolist()[:5] == [(2, *pair) for pair in pairs]


def test_of_three_discs_that_meet_at_once_the_first_two_do_so_first():
    """The one in the middle is hit by the left one, passes on its speed to the right one, and the first two part."""
    _, v, contacts = one_clip([[5, 9], [10, 9], [15, 9]], [[1, 0], [0, 0], [-1, 0]], np.ones(3), np.ones(3), frames=5)
    assert contacts[["time", "first", "second"]].tolist() == [(3, 0, 1), (3, 1, 2), (3, 0, 1)]
    assert v[4].tolist() == [[-1, 0], [0, 0], [1, 0]]


def test_contacts_are_endless_only_if_there_are_too_many_for_all_frames(monkeypatch):
    """A long clip has many in all: here 6 in 9 frames, of 28 px each after the first."""
    monkeypatch.setattr("videopred.datasets.physics.MAX_EVENTS_PER_FRAME", 1)
    assert len(one_clip([[5, 9]], [[20, 0]], [1], [1])[2]) == 6
