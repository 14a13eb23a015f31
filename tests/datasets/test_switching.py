"""One ball, two oscillations, one switch: the law said again slowly, and what the bulbs tell."""

import numpy as np
import pytest
from distributions import assert_drawn_from, count_bins
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets import make_world
from videopred.datasets.clip import Clip
from videopred.datasets.one_ball_settings import SwitchingConfig

LIT, UNLIT = 255, 89  # 1.0 and 0.35 of white


def clips_of(count: int, seed: int = 4, **changes: object) -> tuple[SwitchingConfig, list[Clip]]:
    recipe = SwitchingConfig(**({"height": 40, "width": 56} | changes))
    return recipe, list(make_world(recipe).clips(seed, "train", range(count)))


def check_law(clip: Clip, recipe: SwitchingConfig) -> None:
    """Fail unless the ball flies as its first frame, its velocities there and at the switch, and the walls say."""
    radius = recipe.radius * recipe.px_per_unit
    position, velocity = clip.positions[:, 0].astype(float), clip.velocities[:, 0].astype(float)
    switch, indicator = int(clip.labels["switch"]), clip.series["indicator"]
    assert (indicator[:switch] == indicator[0]).all()
    assert (indicator[switch:] == 1 - indicator[0]).all()
    speed = np.abs(velocity).max()
    assert recipe.speed[0] * 0.9999 <= speed / recipe.px_per_unit <= recipe.speed[1] * 1.0001
    for t in range(recipe.frames):
        along = int(indicator[t])
        across = 1 - along
        assert velocity[t, across] == 0
        assert abs(velocity[t, along]) == speed
        far = (recipe.width, recipe.height)[along] - radius
        reached = position[t, along] + velocity[t, along]
        low, high = int(reached < radius), int(reached > far)
        now = clip.contacts[(clip.contacts["time"] > t) & (clip.contacts["time"] <= t + 1)]
        sure = min(abs(reached - radius), abs(reached - far)) > 1e-4
        assert not sure or now["second"].tolist() == [-1 - 2 * along] * low + [-2 - 2 * along] * high
        turned = -1 if len(now) else 1
        if len(now):
            wall = radius if now["second"][0] == -1 - 2 * along else far
            at = now["time"][0] - t
            assert position[t, along] + at * velocity[t, along] == pytest.approx(wall, abs=1e-4)
            reached = 2 * wall - reached
        if t + 1 < recipe.frames:
            assert position[t + 1, across] == position[t, across]
            assert position[t + 1, along] == pytest.approx(reached, abs=1e-4)
            # At the switch the ball keeps its sign: right becomes down, left becomes up.
            assert velocity[t + 1].sum() == turned * velocity[t].sum()


@settings(max_examples=30)
@given(
    frames=st.integers(2, 30),
    height=st.integers(24, 50),
    wider=st.integers(1, 30),
    radius=st.floats(0.3, 3),
    speed=st.tuples(st.floats(0.05, 1), st.floats(0.05, 1)).map(sorted),
    seed=st.integers(0, 2**64 - 1),
    data=st.data(),
)
def test_a_ball_flies_along_one_axis_then_along_the_other(frames, height, wider, radius, speed, seed, data):
    span = st.tuples(st.integers(1, frames - 1), st.integers(1, frames - 1)).map(sorted)
    switch = data.draw(st.none() | span)
    width = int((2.6 + 2 * radius) * height / 10) + 1 + wider
    recipe, clips = clips_of(
        5, seed, frames=frames, height=height, width=width, radius=radius, speed=speed, switch=switch
    )
    first, last = switch or (frames // 2, frames // 2)
    size, box = radius * height / 10, np.array([width, height])
    for clip in clips:
        assert (clip.positions > size - 1e-4).all()
        assert (clip.positions < box - size + 1e-4).all()
        assert first <= clip.labels["switch"] <= last
        check_law(clip, recipe)


def bulb_pixels(recipe: SwitchingConfig) -> np.ndarray:
    """(2, H, W) bool: the pixels of each bulb, by distance from its centre."""
    rows, columns = np.mgrid[: recipe.height, : recipe.width] + 0.5
    unit = recipe.height / 10
    distance2 = [(columns - x * unit) ** 2 + (rows - 9.5 * unit) ** 2 for x in (0.5, 1.3)]
    return np.array(distance2) <= (0.3 * unit) ** 2


@pytest.mark.parametrize("changes", [{}, {"height": 64, "width": 64}, {"height": 24, "width": 31, "radius": 1.6}])
def test_the_bulbs_tell_of_the_coming_step_and_are_never_covered(changes):
    recipe, clips = clips_of(80, switch=(15, 35), **changes)
    bulbs = bulb_pixels(recipe)
    assert (bulbs.sum((1, 2)) > 0).all()
    for clip in clips:
        pixels = clip.frames[..., 0]
        for bulb in range(2):
            shown = pixels[:, bulbs[bulb]]
            assert (shown == np.where(clip.series["indicator"] == bulb, LIT, UNLIT)[:, None]).all()
        step = np.diff(clip.positions[:, 0], axis=0)
        assert (step[np.arange(50), clip.series["indicator"][:-1]] != 0).all()
        assert (step[np.arange(50), 1 - clip.series["indicator"][:-1]] == 0).all()
        assert not clip.masks[:, bulbs.any(0)].any()
        assert (pixels[:, ~bulbs.any(0)] == 255 * clip.masks[:, ~bulbs.any(0)]).all()
        distance = np.linalg.norm(clip.positions - np.array([0.5, 9.5]) * recipe.px_per_unit, axis=-1)
        assert (distance >= (recipe.radius + 0.3) * recipe.px_per_unit - 1e-4).all()


def test_what_is_drawn_is_uniform():
    """In a very wide box hardly any path comes near the bulbs, and hardly any is drawn again."""
    recipe, clips = clips_of(1200, frames=4, height=24, width=500, switch=(1, 3))
    switches = np.array([clip.labels["switch"] for clip in clips])
    assert_drawn_from(np.bincount(switches, minlength=4)[1:])
    velocity = np.array([clip.velocities[0, 0] for clip in clips]) / recipe.px_per_unit
    ways = 2 * np.array([clip.series["indicator"][0] for clip in clips]) + (velocity.sum(1) > 0)
    assert_drawn_from(np.bincount(ways, minlength=4))
    assert_drawn_from(count_bins(np.abs(velocity).max(1).clip(0.2, 0.4), 0.2, 0.4))
    start = np.array([clip.positions[0, 0] for clip in clips])
    radius = 0.8 * 2.4
    assert_drawn_from(count_bins(start[:, 0], radius, 500 - radius))
    assert_drawn_from(count_bins(start[:, 1], radius, 24 - radius))


def test_a_switch_may_be_so_late_that_its_number_is_a_long_one():
    last = np.iinfo(np.int16).max + 2
    _, [clip] = clips_of(1, frames=last + 3, height=24, width=32, switch=(last, last))
    assert clip.labels["switch"] == last
    _, [short] = clips_of(1)
    assert short.labels["switch"].dtype == np.int16, "as in the files that there are"


def test_hardly_any_room_is_said(monkeypatch):
    monkeypatch.setattr("videopred.datasets.switching._ROUNDS", 1)
    with pytest.raises(
        ValueError, match=r"^--radius must leave room for a path beside the bulbs, got 0\.8, with none in 1 tries; ch"
    ):
        clips_of(60)


def test_the_preset_is_as_documented():
    recipe = make_world("switching").recipe
    assert (recipe.frames, recipe.height, recipe.width, recipe.radius) == (51, 64, 64, 0.8)
    assert recipe.switch_frames == (25, 25)
    assert (recipe.context, recipe.horizon) == (5, 46)
    assert not recipe.binary
