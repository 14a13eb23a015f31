"""Moving digits: the law of motion, who may use which digit, and how light adds up."""

import numpy as np
import pytest
from small_worlds import small

from videopred.datasets import make_world
from videopred.datasets.clip import Clip
from videopred.datasets.digits import read_digits, resize

SIZE, H, W, SPEED = 28, 40, 56, 5


def clips_of(part: str = "train", count: int = 60, **changes: object) -> list[Clip]:
    recipe = small("sm-mnist", **({"frames": 19, "digit_size": SIZE, "speed": SPEED} | changes))
    return list(make_world(recipe).clips(2, part, range(count)))


def test_digits_stay_inside_and_reach_every_edge():
    corners = np.concatenate([clip.positions for clip in clips_of()]).reshape(-1, 2) - SIZE / 2
    assert (corners == corners.round()).all()
    assert corners.min(0).tolist() == [0, 0]
    assert corners.max(0).tolist() == [W - SIZE, H - SIZE]


def test_digits_start_anywhere_inside():
    starts = np.concatenate([clip.positions[0] for clip in clips_of(count=400, frames=2)]) - SIZE / 2
    for axis, places in enumerate((W - SIZE + 1, H - SIZE + 1)):
        counts = np.bincount(starts[:, axis].astype(int), minlength=places)
        assert len(counts) == places
        # Chi squared has as many degrees of freedom as places less one: far above its mean is wrong.
        assert ((counts - 800 / places) ** 2 / (800 / places)).sum() < 2 * places + 10


def test_speeds_take_all_whole_values_zero_too():
    speeds = np.concatenate([clip.velocities for clip in clips_of()])
    assert np.unique(speeds).tolist() == list(range(-SPEED, SPEED + 1))


def test_a_bounce_stops_at_the_wall_and_points_inward():
    bounces = corners_hit = 0
    for clip in clips_of():
        corner = clip.positions - SIZE / 2
        for t in range(len(corner) - 1):
            now = clip.contacts[clip.contacts["time"] == t + 1]
            for digit in range(2):
                mine = now[now["first"] == digit]
                reached = corner[t, digit] + clip.velocities[t, digit]
                for axis, side in enumerate((W, H)):
                    low, high = -1 - 2 * axis in mine["second"], -2 - 2 * axis in mine["second"]
                    assert low == (reached[axis] < 0)
                    assert high == (reached[axis] > side - SIZE)
                    velocity = clip.velocities[t + 1, digit, axis]
                    if low or high:
                        bounces += 1
                        assert corner[t + 1, digit, axis] == (0 if low else side - SIZE)
                        assert velocity > 0 if low else velocity < 0
                    else:
                        assert corner[t + 1, digit, axis] == reached[axis]
                        assert len(mine) or velocity == clip.velocities[t, digit, axis]
                corners_hit += len(mine) == 2
    assert bounces > 500
    assert corners_hit > 10  # or the case that we draw differently from SVG was never met


def test_a_bounce_may_turn_the_other_component_either_way():
    along = [
        clip.velocities[int(time), digit, 1]
        for clip in clips_of()
        for time, digit, wall, _ in clip.contacts
        if wall in (-1, -2) and time < 19 and 0 < clip.positions[int(time), digit, 1] - SIZE / 2 < H - SIZE
    ]
    assert set(along) == set(range(-SPEED, SPEED + 1))


@pytest.mark.parametrize(("part", "classes"), [("train", {2, 5}), ("validation", {2, 5}), ("test", {1, 7, 9})])
def test_each_part_shows_its_own_classes(part, classes):
    clips = clips_of(part, train_digits=(2, 5), test_digits=(9, 1, 7))
    labels = read_digits().labels
    assert {int(digit) for clip in clips for digit in clip.objects["digit"]} == classes
    for clip in clips:
        assert (labels[clip.objects["source"]] == clip.objects["digit"]).all()


def test_no_handwritten_digit_is_in_two_parts():
    used = {
        part: {
            int(row)
            for clip in clips_of(part, 200, frames=2, test_digits=tuple(range(8)))
            for row in clip.objects["source"]
        }
        for part in ("train", "validation", "test")
    }
    assert min(map(len, used.values())) > 100
    assert len(set.union(*used.values())) == sum(map(len, used.values()))


def test_the_number_of_digits_varies_and_absent_ones_say_so():
    counts = set()
    for clip in clips_of(digits=(1, 3)):
        present = clip.objects["active"]
        counts.add(int(present.sum()))
        assert (clip.objects["digit"][~present] == -1).all()
        assert (clip.objects["source"][~present] == -1).all()
        assert np.isnan(clip.objects["size"][~present]).all()
        assert clip.masks.max() <= present.sum()
    assert counts == {1, 3}


def test_frames_are_the_sum_of_digits_cut_at_white():
    """Drawn again, slowly, from what the clip says of itself."""
    images, white = read_digits().images, 0
    for clip in clips_of(count=6, digits=(3,)):
        for t in range(19):
            light = np.zeros((3, H, W), int)
            for n, row in enumerate(clip.objects["source"]):
                x, y = (clip.positions[t, n] - SIZE / 2).astype(int)
                light[n, y : y + SIZE, x : x + SIZE] = images[row]  # at 28 px a digit is as in the file
            assert (clip.frames[t, ..., 0] == light.sum(0).clip(max=255)).all()
            assert (clip.masks[t] == np.where(light.any(0), light.argmax(0) + 1, 0)).all()
            seen = [(clip.masks[t] == n + 1).sum() / (light[n] > 0).sum() for n in range(3)]
            np.testing.assert_allclose(clip.visibility[t], seen, atol=1e-3)
            white += (light.sum(0) > 255).sum()
    assert white > 0


def test_resizing_is_bilinear():
    digit = np.zeros((28, 28), np.uint8)
    digit[:, 5] = 200
    assert (resize(digit, 28) == digit).all()
    # At twice the size, new centres lie a quarter of a pixel beside old ones: weights 1/4 and 3/4.
    row = np.zeros(56)
    row[9:13] = 50, 150, 150, 50
    assert (resize(digit, 56) == row).all()
    assert (resize(digit.T, 56) == row[:, None]).all()


def test_the_recipe_names_its_digits_and_refuses_others():
    world = make_world("sm-mnist")
    assert world.recipe.mnist_sha256 == read_digits().sha256
    other = small("sm-mnist", mnist_sha256="0" * 64)
    with pytest.raises(ValueError, match=r"^--mnist must be the digits of the recipe, 0000.*; give the same --mnist"):
        make_world(other)
