"""Exact discs: conservation laws, geometry, symmetries, and the limit of small steps."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets import physics
from videopred.datasets.physics import Box, Motion, State, simulate
from videopred.datasets.settings import BallsConfig
from videopred.datasets.starts import draw_starts

W, H, T = 66, 48, 23
SIDES = np.array([W, H])
SIZES = {"height": H, "width": W, "frames": T}
CALM = BallsConfig(**SIZES)
CROWDED = {**SIZES, "balls": (4, 7), "speed": 1.5}
WORLDS = {
    "closed": BallsConfig(**CROWDED),
    "falling": BallsConfig(**CROWDED, gravity=0.05),
    "losing": BallsConfig(**CROWDED, gravity=0.05, restitution=0.7),
    "fixed": BallsConfig(**CROWDED, fixed=((3.5, 5.0), (9.0, 3.0))),
    "open": BallsConfig(**CROWDED, walls=False),
}


def starts(seed: int, clips: int, recipe: BallsConfig) -> State:
    """How random clips begin."""
    return draw_starts(recipe, [np.random.default_rng([seed, clip]) for clip in range(clips)]).state


def box_of(recipe: BallsConfig) -> Box:
    return Box(W, H, recipe.gravity * recipe.px_per_unit, recipe.restitution, recipe.walls)


def move(state: State, recipe: BallsConfig) -> Motion:
    return simulate(state, box_of(recipe), T)


def some(state: State, clips: slice) -> State:
    return State(*(values[clips] for values in state))


def gaps(position: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Free space (..., pairs) between each two discs of (..., N, 2)."""
    i, j = np.triu_indices(radius.shape[-1], 1)
    apart = np.linalg.norm(position[..., i, :] - position[..., j, :], axis=-1)
    return apart - radius[..., i] - radius[..., j]


seeds = st.integers(0, 2**32)
few = settings(max_examples=5)
in_all_worlds = pytest.mark.parametrize("recipe", WORLDS.values(), ids=WORLDS)


@pytest.mark.parametrize("recipe", [WORLDS[name] for name in ("closed", "falling", "fixed", "open")])
@few
@given(seeds)
def test_energy_is_kept(recipe, seed):
    state = starts(seed, 6, recipe)
    motion = move(state, recipe)
    mass = np.where(np.isinf(state.mass), 0, state.mass)[:, None]  # what never moves has no energy to give
    kinetic = np.nansum(mass * (motion.velocities**2).sum(-1) / 2, axis=2)
    potential = np.nansum(mass * box_of(recipe).gravity * (H - motion.positions[..., 1]), axis=2)
    energy = kinetic + potential
    np.testing.assert_allclose(energy, energy[:, :1] * np.ones(T), rtol=1e-12)
    assert recipe.walls is False or sum(map(len, motion.contacts)) > 6 * T / 4


@few
@given(seeds)
def test_restitution_takes_energy_at_contacts_and_nowhere_else(seed):
    recipe = BallsConfig(**CROWDED, restitution=0.8)
    state = starts(seed, 6, recipe)
    motion = move(state, recipe)
    energy = np.nansum(state.mass[:, None, :, None] * motion.velocities**2, axis=(2, 3))
    busy = np.array([np.histogram(table["time"], np.arange(T))[0] > 0 for table in motion.contacts])
    assert (np.diff(energy)[busy] <= 1e-12 * energy.max()).all()
    assert (np.diff(energy)[~busy] == 0).all()
    assert (energy[:, -1] < 0.9 * energy[:, 0]).all()


@in_all_worlds
@few
@given(seeds)
def test_discs_never_overlap_nor_leave(recipe, seed):
    state = starts(seed, 6, recipe)
    motion = move(state, recipe)
    assert np.nanmin(gaps(motion.positions, state.radius[:, None])) >= -1e-9
    if recipe.walls:
        edge = state.radius[:, None, :, None]
        present = ~np.isnan(motion.positions)
        assert ((motion.positions >= edge - 1e-9) & (motion.positions <= SIDES - edge + 1e-9))[present].all()


@in_all_worlds
def test_nor_do_they_at_the_times_of_contacts(recipe, monkeypatch):
    collide, looks = physics._collide, []

    def watched(x: np.ndarray, v: np.ndarray, mass: np.ndarray, kept: np.ndarray, event: np.ndarray, clip: np.ndarray):
        looks.append(len(clip))
        there, radius = x[:, :, clip].T, state.radius[clip]  # (clips, N, 2)
        assert np.nanmin(gaps(there, radius)) >= -1e-9
        outside = np.maximum(radius[..., None] - there, there - SIDES + radius[..., None])
        assert not recipe.walls or np.nanmax(outside) <= 1e-9
        return collide(x, v, mass, kept, event, clip)

    monkeypatch.setattr(physics, "_collide", watched)
    state = starts(11, 20, recipe)
    motion = move(state, recipe)
    assert sum(looks) == sum(map(len, motion.contacts)) > 25


@in_all_worlds
@few
@given(seeds)
def test_a_contact_acts_along_its_normal_and_on_nobody_else(recipe, seed):
    """Replay each clip from its frames: wherever one contact lies between two frames, the law must hold there."""
    state = starts(seed, 6, recipe)
    motion, pull = move(state, recipe), np.array([0, box_of(recipe).gravity])
    pairs = walls = 0
    for x, v, table, r, m in zip(*motion, state.radius, state.mass, strict=True):
        movers = np.isfinite(m)
        for t in range(T - 1):
            inside = table[(table["time"] > t) & (table["time"] <= t + 1)]
            if len(inside) == 0:
                np.testing.assert_allclose(v[t + 1, movers], v[t, movers] + pull, atol=1e-12)
                np.testing.assert_allclose(x[t + 1, movers], (x[t] + v[t] + pull / 2)[movers], atol=1e-12)
            if len(inside) != 1:
                continue
            time, i, j, impulse = inside[0]
            before, after = time - t, t + 1 - time
            there = x[t] + v[t] * before + pull * before**2 / 2
            arrives, leaves = v[t] + pull * before, v[t + 1] - pull * after
            np.testing.assert_allclose(
                x[t + 1, movers], (there + leaves * after + pull * after**2 / 2)[movers], atol=1e-11
            )
            fixed = np.isinf(m)
            assert (v[t + 1, fixed] == 0).all()
            assert (x[t + 1, fixed] == x[t, fixed]).all()
            change = leaves - arrives
            partners = [i, j] if j >= 0 else [i]
            others = movers & ~np.isin(np.arange(len(r)), partners)
            np.testing.assert_allclose(change[others], 0, atol=1e-12)
            touching = np.isin(table["first"], partners) | np.isin(table["second"], partners)
            soon = touching & (table["time"] > time - 1 + 1e-9) & (table["time"] < time)
            kept = 1 if soon.any() else recipe.restitution
            assert impulse > 0
            if j >= 0:
                pairs += 1
                normal = there[i] - there[j]
                assert np.linalg.norm(normal) == pytest.approx(r[i] + r[j], abs=1e-9)
                normal /= np.linalg.norm(normal)
                for disc, sign in ((i, 1), (j, -1)):
                    np.testing.assert_allclose(change[disc], sign * impulse * normal / m[disc], atol=1e-9)
                closing = (arrives[j] - arrives[i]) @ normal
                assert (leaves[i] - leaves[j]) @ normal == pytest.approx(kept * closing, abs=1e-9)
            else:
                walls += 1
                axis, far = divmod(-1 - j, 2)
                assert there[i][axis] == pytest.approx(SIDES[axis] - r[i] if far else r[i], abs=1e-9)
                assert m[i] * change[i][axis] == pytest.approx(-impulse if far else impulse, abs=1e-9)
                assert change[i][1 - axis] == pytest.approx(0, abs=1e-12)
                assert leaves[i][axis] == pytest.approx(-kept * arrives[i][axis], abs=1e-9)
    assert pairs > 0 or not recipe.walls  # in the open, balls fly apart and may never meet
    assert (walls > 0) == recipe.walls


@few
@given(seeds)
def test_time_can_be_reversed(seed):
    for recipe in (CALM, BallsConfig(**SIZES, gravity=0.02), BallsConfig(**SIZES, fixed=((4.0, 5.0),))):
        state = starts(seed, 6, recipe)
        there = move(state, recipe)
        end = State(there.positions[:, -1], -there.velocities[:, -1], state.radius, state.mass)
        back = move(end, recipe)
        np.testing.assert_allclose(back.positions[:, -1], state.position, atol=1e-6)


@few
@given(seeds, st.sampled_from([(-1, 1), (1, -1), (-1, -1)]))
def test_a_mirrored_clip_is_the_mirror_of_the_clip(seed, mirror):
    """Reflections in either axis and, as both at once, half a turn."""

    def reflected(place: np.ndarray) -> np.ndarray:
        return np.where(np.array(mirror) < 0, SIDES - place, place)

    state = starts(seed, 6, CALM)
    other = state._replace(position=reflected(state.position), velocity=state.velocity * mirror)
    motion, image = move(state, CALM), move(other, CALM)
    np.testing.assert_allclose(image.positions, reflected(motion.positions), atol=1e-9)
    np.testing.assert_allclose(image.velocities, motion.velocities * mirror, atol=1e-9)
    for mine, theirs in zip(motion.contacts, image.contacts, strict=True):
        np.testing.assert_allclose(mine["time"], theirs["time"], atol=1e-9)


def small_steps(state: State, steps_per_frame: int) -> np.ndarray:
    """Positions (B, T, N, 2) by steps so short that contacts may be found by overlap; error of the order of a step."""
    x, v, r, m = (values.copy() for values in state)
    i, j = np.triu_indices(r.shape[1], 1)
    reach, path = r[:, i] + r[:, j], []
    for step in range((T - 1) * steps_per_frame + 1):
        if step % steps_per_frame == 0:
            path.append(x.copy())
        x += v / steps_per_frame
        v = np.where(x < r[..., None], np.abs(v), np.where(x > SIDES - r[..., None], -np.abs(v), v))
        d, u = x[:, i] - x[:, j], v[:, i] - v[:, j]
        for s, p in np.argwhere(((d**2).sum(-1) < reach**2) & ((d * u).sum(-1) < 0)):
            a, b, n = i[p], j[p], d[s, p] / np.linalg.norm(d[s, p])
            total, along = m[s, a] + m[s, b], (v[s, a] - v[s, b]) @ n
            v[s, a] -= 2 * m[s, b] / total * along * n
            v[s, b] += 2 * m[s, a] / total * along * n
    return np.stack(path, axis=1)


def test_smaller_and_smaller_steps_come_closer_and_closer():
    recipe = BallsConfig(**SIZES, speed=1.0)
    state = starts(5, 40, recipe)
    motion = move(state, recipe)
    fifth = [table["time"][4] if len(table) > 4 else T for table in motion.contacts]
    before = np.arange(T) < np.array(fifth)[:, None]  # (B, T)
    errors = []
    for steps in (16, 32, 64, 128):
        far = np.linalg.norm(small_steps(state, steps) - motion.positions, axis=-1).max(-1)
        errors.append(np.where(before, far, 0).max(-1).mean())
    assert np.mean([len(table) for table in motion.contacts]) > 3
    assert (np.array(errors[1:]) / errors[:-1] < 0.7).all()
    assert errors[-1] < 0.1


@in_all_worlds
def test_a_clip_is_the_same_whatever_is_beside_it(recipe):
    state = starts(7, 9, recipe)
    together = move(state, recipe)
    for s in range(9):
        alone = move(some(state, slice(s, s + 1)), recipe)
        assert alone.positions[0].tobytes() == together.positions[s].tobytes()
        assert alone.velocities[0].tobytes() == together.velocities[s].tobytes()
        assert alone.contacts[0].tobytes() == together.contacts[s].tobytes()


@in_all_worlds
def test_absent_discs_change_nothing(recipe):
    state = starts(7, 4, recipe)
    alone = move(state, recipe)
    count = state.radius.shape[1]

    def with_absent(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.full_like(array[:, :2], np.nan)], axis=1)

    beside = move(State(*map(with_absent, state)), recipe)
    assert beside.positions[:, :, :count].tobytes() == alone.positions.tobytes()
    assert np.isnan(beside.velocities[:, :, count:]).all()
    assert [table.tobytes() for table in beside.contacts] == [table.tobytes() for table in alone.contacts]


@few
@given(seeds)
def test_a_world_without_walls_never_mentions_them(seed):
    recipe = WORLDS["open"]
    motion = move(starts(seed, 6, recipe), recipe)
    assert all((table["second"] >= 0).all() for table in motion.contacts)
    outside = (motion.positions < 0) | (motion.positions > SIDES)
    assert outside.any((1, 2, 3)).all()


@pytest.mark.slow
def test_long_clips_take_memory_for_their_frames_and_contacts_alone():
    state, box = starts(5, 17, WORLDS["closed"]), box_of(WORLDS["closed"])
    tracemalloc.start()
    motion = simulate(state, box, 900)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kept = motion.positions.nbytes + motion.velocities.nbytes + sum(table.nbytes for table in motion.contacts)
    assert len(motion.contacts[0]) > 900  # each of them would take as much as some frames
    assert peak < 3 * kept, peak / kept
