"""Exact discs: conservation laws, geometry, time's reversal, and cases solved by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets.balls import draw_start
from videopred.datasets.contacts import CONTACT, hits_by_frame
from videopred.datasets.physics import simulate
from videopred.datasets.settings import BallsConfig

CROWDED = BallsConfig(height=48, width=66, balls=(5, 8), speed=1.5, frames=23)
BOX = (66.0, 48.0)


def starts(seed: int, clips: int, recipe: BallsConfig = CROWDED) -> tuple[np.ndarray, ...]:
    """Position, velocity (S, N, 2), radius and mass (S, N) of random clips."""
    drawn = [draw_start(recipe, np.random.default_rng([seed, clip])) for clip in range(clips)]
    return tuple(map(np.stack, zip(*drawn, strict=True)))


def gaps(position: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Free space (..., pairs) between each two discs of (..., N, 2)."""
    i, j = np.triu_indices(radius.shape[-1], 1)
    apart = np.linalg.norm(position[..., i, :] - position[..., j, :], axis=-1)
    return apart - radius[..., i] - radius[..., j]


seeds = st.integers(0, 2**32)
few = settings(max_examples=8, deadline=None)


@few
@given(seeds)
def test_energy_is_kept(seed):
    position, velocity, radius, mass = starts(seed, 6)
    motion = simulate(position, velocity, radius, mass, BOX, 23)
    energy = np.nansum(mass[:, None, :, None] * motion.velocities**2, axis=(2, 3))
    np.testing.assert_allclose(energy, energy[:, :1] * np.ones(23), rtol=1e-12)
    assert sum(map(len, motion.contacts)) > 6 * 23 / 4


@few
@given(seeds)
def test_discs_never_overlap_nor_leave(seed):
    position, velocity, radius, mass = starts(seed, 6)
    motion = simulate(position, velocity, radius, mass, BOX, 23)
    assert np.nanmin(gaps(motion.positions, radius[:, None])) >= -1e-9
    edge = radius[:, None, :, None]
    present = ~np.isnan(motion.positions)
    assert ((motion.positions >= edge - 1e-9) & (motion.positions <= np.array(BOX) - edge + 1e-9))[present].all()


@few
@given(seeds)
def test_a_contact_acts_along_its_normal_and_on_nobody_else(seed):
    """Replay each clip from its frames: wherever one contact lies between two frames, the law must hold there."""
    position, velocity, radius, mass = starts(seed, 6)
    motion = simulate(position, velocity, radius, mass, BOX, 23)
    pairs = walls = 0
    for x, v, table, r, m in zip(*motion, radius, mass, strict=True):
        for t in range(22):
            inside = table[(table["time"] > t) & (table["time"] <= t + 1)]
            change = m[:, None] * (v[t + 1] - v[t])
            if len(inside) == 0:
                assert np.array_equal(v[t + 1], v[t], equal_nan=True)
                np.testing.assert_allclose(x[t + 1], x[t] + v[t], atol=1e-12)
            if len(inside) != 1:
                continue
            time, i, j, impulse = inside[0]
            there = x[t] + v[t] * (time - t)
            others = ~np.isnan(r) & ~np.isin(np.arange(len(r)), [i, j] if j >= 0 else [i])
            assert (change[others] == 0).all()
            assert impulse > 0
            if j >= 0:
                pairs += 1
                normal = there[i] - there[j]
                assert np.linalg.norm(normal) == pytest.approx(r[i] + r[j], abs=1e-9)
                normal /= np.linalg.norm(normal)
                np.testing.assert_allclose(change[i], impulse * normal, atol=1e-9)
                np.testing.assert_allclose(change[j], -change[i], atol=1e-12)
            else:
                walls += 1
                axis, far = divmod(-1 - j, 2)
                assert there[i][axis] == pytest.approx(BOX[axis] - r[i] if far else r[i], abs=1e-9)
                assert change[i][axis] == pytest.approx(-impulse if far else impulse, abs=1e-12)
                assert change[i][1 - axis] == 0
            np.testing.assert_allclose(x[t + 1], there + v[t + 1] * (t + 1 - time), atol=1e-12)
    assert pairs > 0
    assert walls > 0


@few
@given(seeds)
def test_time_can_be_reversed(seed):
    recipe = BallsConfig(height=48, width=66)
    position, velocity, radius, mass = starts(seed, 6, recipe)
    there = simulate(position, velocity, radius, mass, BOX, 31)
    back = simulate(there.positions[:, 30], -there.velocities[:, 30], radius, mass, BOX, 31)
    np.testing.assert_allclose(back.positions[:, 30], position, atol=1e-6)


def test_a_clip_is_the_same_whatever_is_beside_it():
    position, velocity, radius, mass = starts(7, 9)
    together = simulate(position, velocity, radius, mass, BOX, 23)
    for s in range(9):
        one = slice(s, s + 1)
        alone = simulate(position[one], velocity[one], radius[one], mass[one], BOX, 23)
        assert alone.positions[0].tobytes() == together.positions[s].tobytes()
        assert alone.velocities[0].tobytes() == together.velocities[s].tobytes()
        assert alone.contacts[0].tobytes() == together.contacts[s].tobytes()


def test_absent_discs_change_nothing():
    position, velocity, radius, mass = starts(7, 4, BallsConfig(height=48, width=66))
    alone = simulate(position, velocity, radius, mass, BOX, 23)

    def with_absent(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.full_like(array[:, :2], np.nan)], axis=1)

    beside = simulate(*map(with_absent, (position, velocity, radius, mass)), BOX, 23)
    assert beside.positions[:, :, :4].tobytes() == alone.positions.tobytes()
    assert np.isnan(beside.velocities[:, :, 4:]).all()
    assert [table.tobytes() for table in beside.contacts] == [table.tobytes() for table in alone.contacts]


def one_clip(position, velocity, radius, mass, frames=9):
    """Positions and velocities (T, N, 2) and contacts of one clip in a box 30 by 20."""
    arrays = (np.array([a], float) for a in (position, velocity, radius, mass))
    motion = simulate(*arrays, (30.0, 20.0), frames)
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


def test_endless_contacts_are_an_error(monkeypatch):
    monkeypatch.setattr("videopred.datasets.physics.MAX_EVENTS_PER_FRAME", 1)
    with pytest.raises(RuntimeError, match="more than 1 contacts per frame; give the balls more room"):
        one_clip([[5, 9]], [[300, 0]], [1], [1])
