"""The stepping laws, against slow plain code that moves one number at a time, and the faults they are known for."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets.physics import Box, Motion, State
from videopred.datasets.settings import BallsConfig
from videopred.datasets.starts import draw_starts
from videopred.datasets.stepping import step_rnem, step_sutskever

W, H, T = 66, 48, 23
BOX = Box(W, H)


def starts(engine: str, seed: int, clips: int, **changes) -> State:
    recipe = BallsConfig(**{"engine": engine, "height": H, "width": W, "balls": (2, 5), "speed": 1.5} | changes)
    return draw_starts(recipe, [np.random.default_rng([seed, clip]) for clip in range(clips)]).state


def slowly(engine: str, state: State, clip: int) -> tuple[np.ndarray, np.ndarray, list[tuple]]:
    """Positions and velocities (T, N, 2) and contacts of one clip, by the rules in stepping.py's docstring."""
    discs = [n for n in range(state.radius.shape[1]) if not math.isnan(state.radius[clip, n])]
    x = [list(state.position[clip, n]) for n in discs]
    v = [list(state.velocity[clip, n]) for n in discs]
    r, m = state.radius[clip], state.mass[clip]
    xs, vs, contacts = [], [], []
    substeps = {"rnem": 1, "sutskever": 2}[engine]
    for t in range(T):
        xs.append([list(place) for place in x])
        vs.append([list(speed) for speed in v])
        for k in range(substeps):
            now = t + (k + 1) / substeps
            for n in discs:
                for axis in (0, 1):
                    x[n][axis] += v[n][axis] / substeps
            for axis, side in ((0, W), (1, H)):
                for n in discs:
                    near, far = x[n][axis] < r[n], x[n][axis] > side - r[n]
                    if engine == "rnem" and (near or far):
                        x[n][axis] = r[n] if near else side - r[n]
                    elif not (near and v[n][axis] < 0) and not (far and v[n][axis] > 0):
                        continue
                    contacts.append((now, n, -1 - 2 * axis - far, 2 * m[n] * abs(v[n][axis])))
                    v[n][axis] = -v[n][axis]
            for b in discs:
                for a in range(b):
                    dx, dy = x[a][0] - x[b][0], x[a][1] - x[b][1]
                    distance = math.hypot(dx, dy)
                    if distance >= r[a] + r[b]:
                        continue
                    nx, ny = dx / distance, dy / distance
                    if engine == "rnem":
                        half = (r[a] + r[b] - distance) / 2
                        x[a][0] += half * nx
                        x[a][1] += half * ny
                        x[b][0] -= half * nx
                        x[b][1] -= half * ny
                    va, vb = v[a][0] * nx + v[a][1] * ny, v[b][0] * nx + v[b][1] * ny
                    new_va = ((m[a] - m[b]) * va + 2 * m[b] * vb) / (m[a] + m[b])
                    new_vb = ((m[b] - m[a]) * vb + 2 * m[a] * va) / (m[a] + m[b])
                    for disc, change in ((a, new_va - va), (b, new_vb - vb)):
                        v[disc][0] += change * nx
                        v[disc][1] += change * ny
                    contacts.append((now, a, b, m[a] * abs(new_va - va)))
    return np.array(xs), np.array(vs), contacts


seeds = st.integers(0, 2**32)
few = settings(max_examples=6)
LAWS = {"rnem": step_rnem, "sutskever": step_sutskever}


@pytest.mark.parametrize("engine", LAWS)
@few
@given(seeds)
def test_many_clips_at_once_move_as_one_by_slow_code(engine, seed):
    state = starts(engine, seed, 4)
    motion = LAWS[engine](state, BOX, T)
    for clip in range(4):
        x, v, contacts = slowly(engine, state, clip)
        count = x.shape[1]
        np.testing.assert_allclose(motion.positions[clip, :, :count], x, atol=1e-6)
        np.testing.assert_allclose(motion.velocities[clip, :, :count], v, atol=1e-6)
        assert np.isnan(motion.positions[clip, :, count:]).all()
        assert np.isnan(motion.velocities[clip, :, count:]).all()
        table = motion.contacts[clip]
        assert [tuple(row)[:3] for row in table.tolist()] == [row[:3] for row in contacts]
        np.testing.assert_allclose(table["impulse"], [row[3] for row in contacts], atol=1e-6)
    assert sum(map(len, motion.contacts)) > T / 2


@pytest.mark.parametrize("engine", LAWS)
@few
@given(seeds)
def test_energy_does_not_reveal_them(engine, seed):
    state = starts(engine, seed, 5)
    motion = LAWS[engine](state, BOX, T)
    energy = np.nansum(state.mass[:, None, :, None] * motion.velocities**2, axis=(2, 3))
    np.testing.assert_allclose(energy, energy[:, :1] * np.ones(T), rtol=1e-11)


@pytest.mark.parametrize("engine", LAWS)
def test_a_clip_is_the_same_whatever_is_beside_it(engine):
    state = starts(engine, 3, 7)
    together = LAWS[engine](state, BOX, T)
    for s in range(7):
        alone = LAWS[engine](State(*(values[s : s + 1] for values in state)), BOX, T)
        assert alone.positions[0].tobytes() == together.positions[s].tobytes()
        assert alone.velocities[0].tobytes() == together.velocities[s].tobytes()
        assert alone.contacts[0].tobytes() == together.contacts[s].tobytes()


def one_clip(engine, position, velocity, radius, mass, frames=5) -> Motion:
    """The motion of one clip in a box 30 by 20."""
    return LAWS[engine](State(*(np.array([a], float) for a in (position, velocity, radius, mass))), Box(30, 20), frames)


def test_rnem_shows_every_bounce_at_the_wall():
    state = starts("rnem", 8, 40, balls=(1,))
    motion = step_rnem(state, BOX, T)
    bounces = 0
    for x, table, r in zip(motion.positions, motion.contacts, state.radius, strict=True):
        for time, disc, number, _ in table[table["time"] < T]:
            axis, far = divmod(-1 - number, 2)
            assert x[int(time), disc, axis] == ((W, H)[axis] - r[disc] if far else r[disc])
            bounces += 1
    assert bounces > 20


def test_rnem_pushes_each_by_half_of_the_overlap_whatever_the_masses():
    # After the third step the centres, 14 - 9 = 5 apart at first, are 2 apart where 3 is the least: 1/2 for each.
    motion = one_clip("rnem", [[9, 8], [14, 8]], [[1, 0], [0, 0]], [1, 2], [1, 6])
    assert motion.positions[0, 3].tolist() == [[11.5, 8], [14.5, 8]]
    # (m - M) / (m + M) and 2 m / (m + M) of the speed
    np.testing.assert_allclose(motion.velocities[0, 3], [[-5 / 7, 0], [2 / 7, 0]], atol=1e-15)
    [(time, first, second, impulse)] = motion.contacts[0]
    assert (time, first, second) == (3, 0, 1)
    assert impulse == pytest.approx(6 * 2 / 7)


def test_rnem_loses_the_rest_of_the_step_at_a_wall():
    motion = one_clip("rnem", [[26, 9]], [[2, 0.5]], [1], [4])
    assert motion.positions[0, :, 0].tolist() == [[26, 9], [28, 9.5], [29, 10], [27, 10.5], [25, 11]]
    assert motion.velocities[0, :, 0].tolist() == [[2, 0.5], [2, 0.5], [-2, 0.5], [-2, 0.5], [-2, 0.5]]
    assert motion.contacts[0].tolist() == [(2, 0, -2, 16)]


def test_rnem_reverses_whatever_is_beyond_a_wall():
    """Step 1: the left disc bounces at 1 px; it is pushed back to 0.9 by an overlap of 0.2, and now flies inwards with
    0.1 - 2 / 7 * 0.2 px per frame. Step 2: that is not enough to come inside, so it is set back and reversed.
    """
    motion = one_clip("rnem", [[1.05, 9], [2.9, 9]], [[-0.1, 0], [-0.1, 0]], [1, 1], [6, 1])
    np.testing.assert_allclose(motion.positions[0, :3, 0, 0], [1.05, 0.9, 1])
    np.testing.assert_allclose(motion.velocities[0, :3, 0, 0], [-0.1, 0.3 / 7, -0.3 / 7])
    assert motion.contacts[0][["time", "first", "second"]].tolist()[:3] == [(1, 0, -1), (1, 0, 1), (2, 0, -1)]


def test_rnem_parts_discs_along_x_that_are_set_back_into_the_same_corner():
    motion = one_clip("rnem", [[4, 4], [4, 7]], [[-5, -4], [-6, -7]], [1, 1], [2, 2])
    assert motion.positions[0, 1].tolist() == [[2, 1], [0, 1]]
    assert motion.velocities[0, 1].tolist() == [[6, 4], [5, 7]]  # equal masses: x is exchanged, y is kept
    assert motion.contacts[0][4].tolist() == (1, 0, 1, 2)  # after one of each with each wall


def test_sutskever_goes_through_the_wall_and_is_not_set_back():
    motion = one_clip("sutskever", [[27.5, 9]], [[2, 0.5]], [1], [4])
    # Half steps of 1 px: 28.5, 29.5 and over, for the wall stops centres at 29.
    assert motion.positions[0, :, 0, 0].tolist() == [27.5, 29.5, 27.5, 25.5, 23.5]
    assert motion.contacts[0].tolist() == [(1, 0, -2, 16)]


def test_sutskever_exchanges_speeds_also_of_those_that_part():
    # Already overlapping by 1 and flying apart at 1: the half step leaves an overlap of 1/2, and turns both back.
    motion = one_clip("sutskever", [[10, 9], [13, 9]], [[-0.5, 0], [0.5, 0]], [2, 2], [1, 1], frames=3)
    assert motion.contacts[0]["time"].tolist()[:2] == [0.5, 1]
    assert motion.positions[0, 1].tolist() == [[10, 9], [13, 9]]


@pytest.mark.parametrize(
    ("balls", "radii", "masses", "share"),
    [(3, (1.2,), (1.0,), 0.044), (4, (1.2,), (1.0,), 0.085), (4, (0.8, 1.0), (1.0, 6.0), 0.060)],
)
def test_sutskevers_discs_overlap_as_often_as_in_the_original_script(balls, radii, masses, share):
    """Share of frames with an overlap, counted on 200 clips of 51 frames of the public script."""
    clips, frames = 300, 51
    changes = {"height": 64, "width": 64, "speed": 0.5}
    state = starts("sutskever", 1, clips, balls=(balls,), radii=radii, masses=masses, **changes)
    x = step_sutskever(state, Box(64, 64), frames).positions
    i, j = np.triu_indices(balls, 1)
    reach = (state.radius[:, i] + state.radius[:, j])[:, None]
    overlap = (np.linalg.norm(x[:, :, i] - x[:, :, j], axis=-1) < reach).any(-1)
    # Frames of a clip are not independent, so the error of both counts is taken from the spread over clips.
    error = overlap.mean(1).std() * math.sqrt(1 / 200 + 1 / clips)
    assert abs(overlap.mean() - share) < 3 * error


def test_rnems_discs_hardly_ever_overlap():
    state = starts("rnem", 1, 200, balls=(8,), height=64, width=64, speed=1 / 3)
    x = step_rnem(state, Box(64, 64), 51).positions
    i, j = np.triu_indices(8, 1)
    reach = (state.radius[:, i] + state.radius[:, j])[:, None]
    overlap = reach - np.linalg.norm(x[:, :, i] - x[:, :, j], axis=-1)
    # R-NEM's films show leftovers of chains in 0.1 to 0.2 % of pairs and frames, of 0.8 px at most.
    assert 0 < (overlap > 1e-9).mean() < 0.002
    assert overlap.max() < 1
