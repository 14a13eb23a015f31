"""The laws by which digits move: each against its own statement, and all over many sizes."""

import numpy as np
import pytest
from distributions import assert_drawn_from, count_bins
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from small_worlds import small

from videopred.datasets import make_world
from videopred.datasets.clip import Clip, clip_seed
from videopred.datasets.digit_walks import LegacyWalks, walk
from videopred.datasets.digits import read_digits
from videopred.datasets.settings import MovingMNISTConfig

ALL = tuple(range(10))
LAWS = ("fixed", "svg", "srivastava")


def clips_of(count: int, part: str = "train", seed: int = 2, **changes: object) -> tuple[MovingMNISTConfig, list[Clip]]:
    recipe = small("sm-mnist", **changes)
    return recipe, list(make_world(recipe).clips(seed, part, range(count)))


def corners_of(clip: Clip, recipe: MovingMNISTConfig) -> np.ndarray:
    """(T, N, 2) px, of the digits that are there."""
    return clip.positions[:, clip.objects["active"]].astype(float) - recipe.digit_size / 2


def walls_of(clip: Clip) -> np.ndarray:
    """(T, N, 2): -1 where a digit hits the low wall of an axis on the way to the next frame, 1 the high, or 0."""
    walls = np.zeros(clip.positions.shape, int)
    for time, digit, wall, impulse in clip.contacts:
        axis, far = divmod(-wall - 1, 2)
        assert walls[int(time) - 1, digit, axis] == 0, "one wall was hit twice at once"
        walls[int(time) - 1, digit, axis] = 1 if far else -1
        assert np.isnan(impulse)
    return walls


# --- what all laws share -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    law=st.sampled_from(LAWS),
    deterministic=st.booleans(),
    frames=st.integers(2, 9),
    sizes=st.tuples(st.integers(12, 40), st.integers(12, 40), st.integers(1, 11)),
    digits=st.lists(st.integers(1, 3), min_size=1, max_size=3, unique=True),
    seed=st.integers(0, 2**64 - 1),
    data=st.data(),
)
def test_a_digit_flies_straight_stops_at_walls_and_turns_inward(law, deterministic, frames, sizes, digits, seed, data):
    height, width, side = sizes
    speed = data.draw(st.integers(1, min(height, width) - side))
    recipe, clips = clips_of(
        5,
        seed=seed,
        law=law,
        deterministic=deterministic,
        frames=frames,
        height=height,
        width=width,
        digit_size=side,
        speed=speed,
        digits=digits[:1] if law == "svg" else digits,
    )
    most = np.array([width, height]) - side - (law == "svg")
    for clip in clips:
        active = clip.objects["active"]
        assert active.sum() in recipe.digits
        assert not walls_of(clip)[:, ~active].any()
        corner, velocity, walls = corners_of(clip, recipe), clip.velocities[:, active], walls_of(clip)[:, active]
        assert (corner >= 0).all()
        assert (corner <= most).all()
        reached = corner + velocity
        if law == "srivastava":
            np.testing.assert_allclose(np.linalg.norm(velocity, axis=2), speed, rtol=1e-5)
            np.testing.assert_allclose(corner[1:], np.clip(reached, 0, most)[:-1], atol=1e-5)
        else:
            assert (np.abs(velocity) <= speed).all()
            assert (velocity == velocity.round()).all()
            assert (corner[1:] == np.clip(reached, 0, most)[:-1]).all()
            assert (walls == (reached > most).astype(int) - (reached < 0)).all()
        turned, straight = velocity[1:], (walls == 0).all(2)[:-1]
        assert (turned[straight] == velocity[:-1][straight]).all()
        if deterministic or law == "srivastava":
            assert (turned == np.where(walls[:-1] != 0, -1, 1) * velocity[:-1]).all()
        elif law == "fixed":
            assert (turned * walls[:-1])[walls[:-1] != 0].max(initial=-1) < 0
        else:  # SVG's second wall forgets the first: only x, the second, is sure
            assert (turned[..., 0] * walls[:-1, :, 0])[walls[:-1, :, 0] != 0].max(initial=-1) < 0


@pytest.mark.parametrize("law", LAWS)
def test_every_handwritten_digit_of_the_part_is_equally_likely(law):
    _, clips = clips_of(2000, "validation", law=law, frames=2, digit_size=8, train_digits=(6, 0))
    digits = read_digits()
    rows = digits.parts["validation"][np.isin(digits.labels[digits.parts["validation"]], (6, 0))]
    drawn = np.array([clip.objects["source"] for clip in clips])
    assert set(drawn.ravel()) <= set(rows)
    assert_drawn_from(np.bincount(np.searchsorted(rows, drawn.ravel())))
    same = (drawn[:, 0] == drawn[:, 1]).sum()  # with replacement: 2000 / 194 expected
    assert_drawn_from(np.array([same, 2000 - same]), np.array([1 / len(rows), 1 - 1 / len(rows)]))


# --- fixed -------------------------------------------------------------------------------------------------


def test_starts_and_speeds_are_uniform_over_whole_numbers():
    recipe, clips = clips_of(1500, digit_size=28, speed=3)
    starts = np.concatenate([corners_of(clip, recipe)[0] for clip in clips]).astype(int)
    speeds = np.concatenate([clip.velocities[0] for clip in clips]).astype(int)
    for axis, places in enumerate((recipe.width - 28 + 1, recipe.height - 28 + 1)):
        assert_drawn_from(np.bincount(starts[:, axis], minlength=places))
        assert_drawn_from(np.bincount(speeds[:, axis] + 3, minlength=7))
    both = (speeds + 3) @ (7, 1)
    assert_drawn_from(np.bincount(both, minlength=49))


def test_numbers_of_digits_are_equally_likely():
    _, clips = clips_of(1200, digits=(3, 1), frames=2, digit_size=9)
    counts = np.bincount([clip.objects["active"].sum() for clip in clips], minlength=4)
    assert counts[[0, 2]].tolist() == [0, 0]
    assert_drawn_from(counts[[1, 3]])


def test_bounces_draw_every_inward_and_every_free_speed_alike():
    _, clips = clips_of(300, frames=25, digit_size=30, speed=3)
    walls = np.concatenate([walls_of(clip)[:-1].reshape(-1, 2) for clip in clips])
    turned = np.concatenate([clip.velocities[1:].reshape(-1, 2) for clip in clips]).astype(int)
    for axis in (0, 1):
        hit, other = walls[:, axis] != 0, walls[:, 1 - axis]
        inward = -walls[hit, axis] * turned[hit, axis]
        assert_drawn_from(np.bincount(inward, minlength=4)[1:])
        free = turned[hit & (other == 0), 1 - axis]
        assert_drawn_from(np.bincount(free + 3, minlength=7))
        corner = hit & (other != 0)
        assert corner.sum() > 50
        assert_drawn_from(np.bincount(-other[corner] * turned[corner, 1 - axis], minlength=4)[1:])


# --- svg ---------------------------------------------------------------------------------------------------


def svg_film(
    digits: np.ndarray, chance: np.random.RandomState, recipe: MovingMNISTConfig
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """SVG's law, said again slowly: film (T, H, W) float32 in [0, 1], corners and velocities (N, T, 2)."""
    film = np.zeros((recipe.frames, recipe.height, recipe.width), np.float32)
    side, fastest = recipe.digit_size, int(recipe.speed)
    rightmost, lowest = recipe.width - side, recipe.height - side
    corners, velocities = [], []
    for _ in range(recipe.digits[0]):
        small_digit = Image.fromarray(digits[chance.randint(len(digits))])
        digit = np.asarray(small_digit.resize((side, side), Image.Resampling.BILINEAR)).astype(np.float32) / 255
        x = chance.randint(rightmost)
        y = chance.randint(lowest)
        dx = chance.randint(-fastest, fastest + 1)
        dy = chance.randint(-fastest, fastest + 1)
        for t in range(recipe.frames):
            above, below = y < 0, y >= lowest
            y = 0 if above else lowest - 1 if below else y
            if (above or below) and recipe.deterministic:
                dy = -dy
            elif above or below:
                dy = chance.randint(1, fastest + 1) if above else chance.randint(-fastest, 0)
                dx = chance.randint(-fastest, fastest + 1)
            left, right = x < 0, x >= rightmost
            x = 0 if left else rightmost - 1 if right else x
            if (left or right) and recipe.deterministic:
                dx = -dx
            elif left or right:
                dx = chance.randint(1, fastest + 1) if left else chance.randint(-fastest, 0)
                dy = chance.randint(-fastest, fastest + 1)
            for row in range(side):
                for column in range(side):
                    film[t, y + row, x + column] += digit[row, column]
            corners.append((x, y))
            velocities.append((dx, dy))
            x, y = x + dx, y + dy
    film[film > 1] = 1
    shape = recipe.digits[0], recipe.frames, 2
    return film, np.reshape(corners, shape), np.reshape(velocities, shape)


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("train", {"frames": 17, "height": 24, "width": 31, "digit_size": 15}),
        ("test", {"frames": 6, "digits": (3,), "speed": 3, "height": 40, "width": 35, "digit_size": 32}),
        ("validation", {"frames": 30, "height": 14, "width": 11, "digit_size": 5, "deterministic": True}),
    ],
)
def test_svg_is_their_law_to_the_bit(part, changes):
    recipe, clips = clips_of(4, part, seed=9, law="svg", train_digits=(1, 7, 3), test_digits=ALL, **changes)
    digits = read_digits()
    rows = digits.parts[part]
    images = digits.images[rows[np.isin(digits.labels[rows], recipe.classes(part))]]
    chance = np.random.RandomState(clip_seed(9, part, 0).generate_state(1)[0])
    overlaps = 0
    for clip in clips:
        film, corners, velocities = svg_film(images, chance, recipe)
        assert (np.rint(film * 255) == clip.frames[..., 0]).all()
        assert np.abs(film - clip.frames[..., 0] / np.float32(255)).max() <= 2**-24
        assert (corners_of(clip, recipe).swapaxes(0, 1) == corners).all()
        assert (clip.velocities.swapaxes(0, 1) == velocities).all()
        overlaps += (film == 1).sum()
    assert overlaps > 0


def test_walks_have_the_same_kinds_of_numbers_by_every_law():
    recipe = small("sm-mnist-svg")
    theirs = LegacyWalks(recipe, 7, 2, "train").walk(range(3))
    for law in ("fixed", "srivastava"):
        ours = walk(recipe.model_copy(update={"law": law}), 7, [np.random.default_rng(clip) for clip in range(3)])
        for name in ("corners", "velocities", "walls"):
            one, other = getattr(theirs, name), getattr(ours, name)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)


def test_svg_gives_a_clip_by_drawing_all_before_it():
    world = make_world(small("sm-mnist-svg"))
    in_order = list(world.clips(1, "train", range(6)))
    for index, clip in zip((5, 2, 2, 4), world.clips(1, "train", (5, 2, 2, 4)), strict=True):
        assert clip.frames.tobytes() == in_order[index].frames.tobytes()
    assert world.recipe.in_order
    assert not small("sm-mnist").in_order


@pytest.mark.parametrize(("preset", "edge"), [("sm-mnist-svg", 0), ("sm-mnist", 1)])
def test_digits_reach_every_edge_but_svgs_never_the_last_row_and_column(preset, edge):
    _, clips = clips_of(60, law=small(preset).law, digit_size=30)
    corners = np.concatenate([clip.positions - 15 for clip in clips]).reshape(-1, 2)
    assert corners.min(0).tolist() == [0, 0]
    assert corners.max(0).tolist() == [56 - 30 - 1 + edge, 40 - 30 - 1 + edge]


def test_the_preset_svg_is_of_svgs_sizes_and_classes():
    recipe = make_world("sm-mnist-svg").recipe
    assert (recipe.frames, recipe.height, recipe.width, recipe.digit_size, recipe.speed) == (30, 64, 64, 32, 4)
    assert recipe.classes("train") == recipe.classes("validation") == recipe.classes("test") == ALL


# --- srivastava --------------------------------------------------------------------------------------------


def test_srivastava_starts_anywhere_and_flies_anywhere():
    """At hardly any speed the first frame shows the start, which is otherwise one step earlier."""
    recipe, clips = clips_of(1500, law="srivastava", frames=2, speed=1e-4, digit_size=12)
    starts = np.concatenate([corners_of(clip, recipe)[0] for clip in clips])
    for axis, side in enumerate((recipe.width, recipe.height)):
        assert_drawn_from(count_bins(starts[:, axis], 0, side - 12))
    x, y = np.concatenate([clip.velocities[0] for clip in clips]).T
    assert_drawn_from(count_bins(np.arctan2(y, x), -np.pi, np.pi, 16))


def test_srivastavas_digits_are_drawn_at_their_corners_cut_to_whole_pixels():
    images, recipe = read_digits().images, small("srivastava", frames=9)
    between = 0
    for clip in make_world(recipe).clips(4, "validation", range(8)):
        corners = corners_of(clip, recipe)
        for t in range(9):
            light = np.zeros((2, recipe.height, recipe.width), np.uint8)
            for n, row in enumerate(clip.objects["source"]):
                x, y = corners[t, n].astype(int)
                light[n, y : y + 28, x : x + 28] = images[row]
            assert (clip.frames[t, ..., 0] == light.max(0)).all()
        between += (corners % 1 > 0.5).sum()
    assert between > 50


def test_the_first_frame_of_srivastava_is_one_step_from_a_uniform_start():
    """Digits that started within a step of the left wall and flew towards it are stopped at it."""
    _, clips = clips_of(1500, law="srivastava", frames=2, speed=3.6, height=48, width=64, digit_size=28)
    at_left = sum((clip.positions[0, :, 0] == 14).sum() for clip in clips)
    # P(u + 0.1 cos(a) < 0) over uniform u and a is 0.1 times the mean of the positive part of cos, which is 1 / pi.
    share = 0.1 / np.pi
    assert_drawn_from(np.array([at_left, 3000 - at_left]), np.array([share, 1 - share]))


def test_the_preset_srivastava_is_as_openstl_expects():
    recipe = make_world("srivastava").recipe
    assert (recipe.frames, recipe.height, recipe.width, recipe.digit_size) == (20, 64, 64, 28)
    assert recipe.speed == pytest.approx(0.1 * (64 - 28))
    assert (recipe.context, recipe.horizon, recipe.overlap) == (10, 10, "max")
    given_and_imagined = {7: (3, 4), 19: (9, 10), 29: (10, 10)}
    for frames, expected in given_and_imagined.items():
        assert (small("srivastava", frames=frames).context, small("srivastava", frames=frames).horizon) == expected
    assert recipe.classes("train") == recipe.classes("test") == ALL
