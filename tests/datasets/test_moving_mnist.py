"""Moving digits: which digits a part may show, and how light adds up. How they move is in test_digit_walks."""

import numpy as np
import pytest
from small_worlds import small

from videopred.datasets import make_world
from videopred.datasets.clip import Clip
from videopred.datasets.digits import read_digits, resize
from videopred.datasets.moving_mnist import paint

SIZE, H, W = 28, 40, 56


def clips_of(part: str = "train", count: int = 60, **changes: object) -> list[Clip]:
    recipe = small("sm-mnist", **({"frames": 19, "digit_size": SIZE, "speed": 5} | changes))
    return list(make_world(recipe).clips(2, part, range(count)))


@pytest.mark.parametrize(
    ("part", "validation", "classes"),
    [
        ("train", None, {2, 5}),
        ("validation", None, {2, 5}),
        ("train", (0, 5), {2, 5}),
        ("validation", (0, 5), {0, 5}),
        ("test", None, {1, 7, 9}),
    ],
)
def test_each_part_shows_its_own_classes(part, validation, classes):
    clips = clips_of(part, train_digits=(2, 5), validation_digits=validation, test_digits=(9, 1, 7))
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


@pytest.mark.parametrize("overlap", ["add", "max"])
def test_frames_are_the_sum_of_digits_cut_at_white_or_the_brightest(overlap):
    """Drawn again, slowly, from what the clip says of itself."""
    images, white = read_digits().images, 0
    for clip in clips_of(count=6, digits=(3,), overlap=overlap):
        for t in range(19):
            light = np.zeros((3, H, W), int)
            for n, row in enumerate(clip.objects["source"]):
                x, y = (clip.positions[t, n] - SIZE / 2).astype(int)
                light[n, y : y + SIZE, x : x + SIZE] = images[row]  # at 28 px a digit is as in the file
            together = light.sum(0).clip(max=255) if overlap == "add" else light.max(0)
            assert (clip.frames[t, ..., 0] == together).all()
            assert (clip.masks[t] == np.where(light.any(0), light.argmax(0) + 1, 0)).all()
            seen = [(clip.masks[t] == n + 1).sum() / (light[n] > 0).sum() for n in range(3)]
            np.testing.assert_allclose(clip.visibility[t], seen, atol=1e-3)
            white += (light.sum(0) > 255).sum()
    assert white > 0


@pytest.mark.parametrize("height", [35, 60])
def test_digits_are_painted_up_to_the_corners_of_the_frame(height):
    """Squares in two opposite corners of the frame, and a brighter one between them."""
    width, side = 47, 33
    sprites = [np.full((side, side), light, np.uint8) for light in (70, 200, 90)]
    far = width - side, height - side
    frames, masks = paint(sprites, np.array([[(0, 0), (1, 2), far]]), height, width, "add")
    assert frames.shape == masks.shape == (1, height, width)
    assert frames[0, 0, 0] == 70
    assert frames[0, -1, -1] == 90
    assert (masks[0] == 2).sum() == side * side
    assert masks[0, 0, 0] == 1
    assert masks[0, -1, -1] == 3


def test_sprites_are_kept_within_bounds(monkeypatch):
    """However few fit, clips are the same."""
    usual = clips_of(count=6)
    monkeypatch.setattr("videopred.datasets.moving_mnist._SPRITE_BYTES", 3 * SIZE * SIZE)
    for clip, same in zip(clips_of(count=6), usual, strict=True):
        assert clip.frames.tobytes() == same.frames.tobytes()
    world = make_world(small("sm-mnist", digit_size=SIZE))
    assert len(list(world.clips(2, "train", range(6)))) == 6
    assert len(world._sprites) <= 3


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


def test_absent_digits_are_nowhere_and_have_no_speed():
    for clip in clips_of(count=12, digits=(1, 3)):
        absent = ~clip.objects["active"]
        assert np.isnan(clip.positions[:, absent]).all()
        assert np.isnan(clip.velocities[:, absent]).all()
        assert not np.isnan(clip.velocities[:, ~absent]).any()
