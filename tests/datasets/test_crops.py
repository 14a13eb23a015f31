"""Crops of frames for training: what they show, where they lie, and what is refused."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import SMALL, small
from told_clips import Told

from videopred.datasets.crops import CropDataset, cut_crops
from videopred.datasets.loader import FilmDataset
from videopred.datasets.recipe_clips import open_recipe
from videopred.frames import to_film

T, H, W = SMALL.values()


@given(size=st.sampled_from([1, 3, 7]), channels=st.sampled_from([1, 3]), film=st.booleans(), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_crops_are_what_lies_around_their_pixels(size, channels, film, seed):
    chance = np.random.default_rng(seed)
    frames = chance.integers(1, 256, (4, 5, 6, channels), np.uint8)
    pixels = chance.integers((6, 5), size=(4, 8, 2))
    expected = np.zeros((4, 8, size, size, channels), np.uint8)
    for t, p, row, column in np.ndindex(4, 8, size, size):
        x, y = pixels[t, p, 0] + column - size // 2, pixels[t, p, 1] + row - size // 2
        if 0 <= x < 6 and 0 <= y < 5:
            expected[t, p, row, column] = frames[t, y, x]
    shown = to_film(frames) if film else torch.from_numpy(frames)
    crops = cut_crops(shown, torch.from_numpy(pixels), size)
    assert (crops == (to_film(expected) if film else torch.from_numpy(expected))).all()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_a_crop_is_centred_on_its_place(dtype):
    films = FilmDataset(open_recipe(small("sm-mnist"), {"test": 2}), "test", dtype=dtype, truth=("positions",))
    crops = CropDataset(films, crops=5, size=9)
    assert repr(crops) == f"<CropDataset: 5 crops of 9 px from each frame of {films!r}>"
    item = crops[1]
    assert list(item) == ["frames", "positions", "crops", "places"]
    assert item["crops"].shape == ((T, 5, 9, 9, 1) if dtype == torch.uint8 else (T, 5, 1, 9, 9))
    assert (item["places"].shape, item["places"].dtype) == ((T, 5, 2), torch.float32)
    assert (item["frames"] == films[1]["frames"]).all()
    film = item["frames"] if dtype == torch.uint8 else item["frames"].movedim(1, -1)
    crops = item["crops"] if dtype == torch.uint8 else item["crops"].movedim(2, -1)
    x, y = (item["places"] - 0.5).to(int).unbind(-1)
    assert (crops[:, :, 4, 4] == film[torch.arange(T)[:, None], y, x]).all()
    assert item["crops"].max() > 0


def test_places_depend_on_seed_epoch_part_and_clip_alone():
    source = open_recipe(small("balls4"), {"train": 4, "test": 4})

    def places(part="train", start=0, item=0, epoch=0, seed=0, **options):
        crops = CropDataset(FilmDataset(source, part, start, **options), seed=seed)
        crops.epoch = epoch
        assert crops.epoch == epoch
        return crops[item]["places"]

    torch.manual_seed(3)
    first = places(item=3)
    torch.manual_seed(4)
    assert (places(start=3) == first).all()
    window = places(start=2, window=3, stride=2, item=4)  # clip 3, frames 2 to 4
    assert (window == first[2:5]).all()
    others = [places(item=2), places(epoch=1, item=3), places(seed=1, item=3), places(part="test", item=3)]
    assert len({place.numpy().tobytes() for place in (first, *others)}) == 5


def test_places_are_uniform_over_pixels_and_times():
    """χ² with a fixed seed: the statistic of H·W - 1 degrees of freedom lies within three deviations of its mean."""
    source = open_recipe(small("balls4"), {"train": 8})
    crops = CropDataset(FilmDataset(source, "train"), crops=400, size=1, seed=5)
    places = np.stack([crops[item]["places"].numpy() for item in range(8)]) - 0.5  # (8, T, 400, 2)
    for cells, count in (
        (places[..., 1] * W + places[..., 0], H * W),
        (places[..., 0], W),
        (places[:, 3, :, 1], H),
        (places[:, 0, :-1, 0] // 8 * 7 + places[:, 0, 1:, 0] // 8, 49),  # neighbours in one frame
    ):
        seen = np.bincount(cells.astype(int).ravel(), minlength=count)
        assert len(seen) == count
        mean = seen.sum() / count
        chi2 = ((seen - mean) ** 2 / mean).sum()
        assert abs(chi2 - (count - 1)) < 3 * np.sqrt(2 * (count - 1))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"crops": 0}, "crops must be at least 1, got 0; 10 is usual"),
        ({"size": 0}, "size must be at least 1, got 0; 11 is usual"),
        ({"size": 4}, "size must be odd, got 4; choose 5"),
        ({"seed": -1}, "seed must be at least 0, got -1; give a whole number such as 0"),
    ],
)
def test_wrong_crops_are_one_clear_line(options, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        CropDataset(FilmDataset(Told(3), "test"), **options)
    with pytest.raises(TypeError, match=r"^films must be a FilmDataset, got 'told.h5', of class str; make it with vid"):
        CropDataset("told.h5", **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^epoch must be at least 0, got -1; count epochs from 0$"):
        CropDataset(FilmDataset(Told(3), "test")).epoch = -1
