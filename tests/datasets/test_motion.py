"""One ball, three ways to move: each by its law, said again slowly, and by its distribution."""

import math

import numpy as np
import pytest
from distributions import assert_drawn_from, count_bins
from hypothesis import given, settings
from hypothesis import strategies as st

from videopred.datasets import make_world
from videopred.datasets.clip import Clip
from videopred.datasets.motion import MODES
from videopred.datasets.one_ball_settings import MotionConfig
from videopred.datasets.raster import draw_discs

ACCELERATE, CONSTANT, WALK = range(3)


def clips_of(count: int, seed: int = 4, **changes: object) -> tuple[MotionConfig, list[Clip]]:
    recipe = MotionConfig(**({"height": 40, "width": 56} | changes))
    return recipe, list(make_world(recipe).clips(seed, "train", range(count)))


def path_of(clip: Clip, recipe: MotionConfig) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities (T, 2) in arena units."""
    return tuple(array[:, 0].astype(float) / recipe.px_per_unit for array in (clip.positions, clip.velocities))


def mirrored(velocity: np.ndarray, walls: list[int]) -> np.ndarray:
    """A velocity after bounces off walls by their numbers in the table of contacts."""
    turned = velocity.copy()
    for wall in walls:
        turned[0 if wall >= -2 else 1] *= -1
    return turned


def turned_by(before: np.ndarray, after: np.ndarray) -> float:
    """Angle from one velocity to another, in (-180, 180] degrees."""
    cross, dot = before[0] * after[1] - before[1] * after[0], before @ after
    return math.degrees(math.atan2(cross, dot))


spans = st.tuples(st.floats(0.1, 0.999), st.floats(0.1, 0.999)).map(sorted)


@settings(max_examples=40)
@given(
    frames=st.integers(2, 40),
    sizes=st.tuples(st.integers(8, 40), st.integers(8, 40)).filter(lambda sizes: sizes[0] != sizes[1]),
    share=st.floats(0.1, 0.9),
    spans=st.tuples(spans, spans, spans),
    turn=st.floats(0, 180),
    seed=st.integers(0, 2**64 - 1),
)
def test_every_mode_keeps_to_its_law(frames, sizes, share, spans, turn, seed):
    height, width = sizes
    smallest, largest = math.sqrt(0.5) / (height / 10), min(10.0, 10 * width / height) / 2
    radius = smallest + share * (largest - smallest) + 1e-9
    room = min(10.0, 10 * width / height) - 2 * radius
    most = 2 * room / frames**2, room / frames, room
    accelerations, speeds, walks = (tuple(x * limit for x in span) for span, limit in zip(spans, most, strict=True))
    recipe, clips = clips_of(
        6,
        seed,
        frames=frames,
        height=height,
        width=width,
        radius=radius,
        acceleration=accelerations,
        constant_speed=speeds,
        walk_speed=walks,
        turn=turn,
    )
    box = np.array([10 * width / height, 10])
    time = np.arange(frames)[:, None]
    for clip in clips:
        position, velocity = path_of(clip, recipe)
        assert (position > radius - 1e-5).all()
        assert (position < box - radius + 1e-5).all()
        if clip.labels["mode"] == ACCELERATE:
            acceleration = velocity[-1] / (frames - 1)
            assert accelerations[0] * 0.9999 <= np.linalg.norm(acceleration) <= accelerations[1] * 1.0001
            np.testing.assert_allclose(velocity, acceleration * time, atol=1e-6)
            np.testing.assert_allclose(position, position[0] + acceleration * time**2 / 2, atol=1e-5)
            assert len(clip.contacts) == 0
        elif clip.labels["mode"] == CONSTANT:
            assert speeds[0] * 0.9999 <= np.linalg.norm(velocity[0]) <= speeds[1] * 1.0001
            assert (velocity == velocity[0]).all()
            np.testing.assert_allclose(position, position[0] + velocity[0] * time, atol=1e-5)
            assert len(clip.contacts) == 0
        else:
            check_walk(clip, recipe, box - radius)


def check_walk(clip: Clip, recipe: MotionConfig, far: np.ndarray) -> None:
    """Fail unless every step ends where its speed and the walls, `far` and the radius, say."""
    position, velocity = path_of(clip, recipe)
    speed = np.linalg.norm(velocity[0])
    assert recipe.walk_speed[0] * 0.9999 <= speed <= recipe.walk_speed[1] * 1.0001
    np.testing.assert_allclose(np.linalg.norm(velocity, axis=1), speed, rtol=1e-5)
    for t in range(recipe.frames):
        now = clip.contacts[(clip.contacts["time"] > t) & (clip.contacts["time"] <= t + 1)]
        reached = position[t] + velocity[t]
        for axis in range(2):
            near, low, high = recipe.radius, -1 - 2 * axis, -2 - 2 * axis
            for wall, place, beyond in (
                (low, near, near - reached[axis]),
                (high, far[axis], reached[axis] - far[axis]),
            ):
                if abs(beyond) > 1e-5:
                    assert (wall in now["second"]) == (beyond > 0)
                if wall in now["second"]:
                    [at] = now["time"][now["second"] == wall] - t
                    assert position[t, axis] + at * velocity[t, axis] == pytest.approx(place, abs=1e-5)
                    reached[axis] = 2 * place - reached[axis]
        if t + 1 < recipe.frames:
            np.testing.assert_allclose(position[t + 1], reached, atol=1e-4)
        if t + 1 < recipe.frames and recipe.turn == 0:
            np.testing.assert_allclose(velocity[t + 1], mirrored(velocity[t], now["second"]), atol=1e-5)


def test_a_walk_that_never_turns_is_a_triangle_wave():
    recipe, clips = clips_of(50, frames=60, modes=("walk",), walk_speed=(0.5, 0.9), turn=0.0)
    room = np.array(recipe.room)
    bounces = 0
    for clip in clips:
        position, velocity = path_of(clip, recipe)
        way = position[0] - recipe.radius + velocity[0] * np.arange(60)[:, None]
        np.testing.assert_allclose(position - recipe.radius, room - np.abs(room - way % (2 * room)), atol=1e-4)
        check_walk(clip, recipe, room + recipe.radius)
        assert (np.diff(clip.contacts["time"]) >= 0).all()
        assert np.isnan(clip.contacts["impulse"]).all(), "a ball without a mass"
        bounces += len(clip.contacts)
    assert bounces > 60


@pytest.mark.parametrize("mode", ["accelerate", "constant"])
def test_on_the_way_to_the_frame_after_the_last_no_wall_is_met_either(mode):
    """Of a contact in that time the last frame would tell; the amounts are just below the greatest."""
    room, frames = 10 - 2 * 0.8, 2
    most = 0.999 * 2 * room / frames**2, 0.999 * room / frames
    recipe, clips = clips_of(
        50, frames=frames, modes=(mode,), acceleration=(most[0] / 2, most[0]), constant_speed=(most[1] / 2, most[1])
    )
    low, high = recipe.radius, np.array(recipe.arena) - recipe.radius
    for clip in clips:
        position, velocity = path_of(clip, recipe)
        then = position[-1] + velocity[-1] * (1.5 if mode == "accelerate" else 1)  # at frame 1, v is a
        assert (then > low - 1e-5).all()
        assert (then < high + 1e-5).all()


def test_modes_are_equally_likely_and_named():
    _, clips = clips_of(1500, frames=2)
    assert MODES == ("accelerate", "constant", "walk")
    assert_drawn_from(np.bincount([clip.labels["mode"] for clip in clips], minlength=3))
    _, clips = clips_of(200, frames=2, modes=("walk", "constant"))
    assert_drawn_from(np.bincount([clip.labels["mode"] for clip in clips], minlength=3)[1:])


@pytest.mark.parametrize("mode", MODES)
def test_directions_amounts_and_starts_are_uniform(mode):
    recipe, clips = clips_of(1500, modes=(mode,), frames=30, height=20, width=31, turn=0.0)
    paths = [path_of(clip, recipe) for clip in clips]
    moving = np.array([velocity[1] for _, velocity in paths])  # at frame 1, where even those from rest move
    if mode == "walk":
        moving = np.array([velocity[0] for _, velocity in paths])
    span = {"accelerate": recipe.acceleration, "constant": recipe.constant_speed, "walk": recipe.walk_speed}[mode]
    assert_drawn_from(count_bins(np.linalg.norm(moving, axis=1).clip(*span), *span))
    assert_drawn_from(count_bins(np.arctan2(moving[:, 1], moving[:, 0]), -np.pi, np.pi, 12))
    way = {"accelerate": moving * 30**2 / 2, "constant": moving * 30, "walk": moving * 0}[mode]
    start, room = np.array([position[0] for position, _ in paths]) - recipe.radius, np.array(recipe.room)
    low, high = np.maximum(0, -way), np.minimum(room, room - way)
    share = ((start - low) / (high - low)).clip(0, 1)
    assert_drawn_from(count_bins(share[:, 0], 0, 1))
    assert_drawn_from(count_bins(share[:, 1], 0, 1))


def test_a_walk_turns_by_gaussian_angles():
    recipe, clips = clips_of(60, modes=("walk",), turn=30.0)
    turns = []
    for clip in clips:
        _, velocity = path_of(clip, recipe)
        for t in range(recipe.frames - 1):
            now = clip.contacts[(clip.contacts["time"] > t) & (clip.contacts["time"] <= t + 1)]
            turns.append(turned_by(mirrored(velocity[t], now["second"]), velocity[t + 1]) / 30)
    share = [(1 + math.erf(turn / math.sqrt(2))) / 2 for turn in turns]
    assert_drawn_from(count_bins(np.array(share), 0, 1, 20))


def test_the_preset_is_as_documented():
    recipe = make_world("motion3").recipe
    assert (recipe.frames, recipe.height, recipe.width, recipe.radius) == (51, 64, 64, 0.8)
    assert (recipe.context, recipe.horizon) == (5, 46)
    assert recipe.binary


def test_a_ball_is_as_large_as_its_recipe_says():
    """0.9 of an arena of 10, in frames of 40 rows: 3.6 px, to half a pixel along its edge."""
    _, clips = clips_of(3, radius=0.9)
    for clip in clips:
        assert clip.objects["radius"] == np.float32(3.6)
        assert (np.abs(np.sqrt(clip.masks.sum((1, 2)) / np.pi) - 3.6) < 0.5).all()


def test_masks_can_be_drawn_again_from_the_numbers_in_a_clip():
    recipe, clips = clips_of(20, radius=0.6)
    for clip in clips:
        masks, _ = draw_discs(clip.positions, clip.objects["radius"], recipe.height, recipe.width)
        assert (clip.masks == masks).all()
