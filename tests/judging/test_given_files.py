"""What keeps films: data files of bytes, shards, names in any case, and what is said of what is no array."""

import h5py
import numpy as np
import pytest
from PIL import Image
from tiny_runs import CLIPS, RECIPE, tiny_data

from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.judging.given_files import holds_array, is_data
from videopred.judging.given_films import GivenFilms

SOFT = np.random.default_rng(0).random((3, 4, 5, 7, 1))
"""B T H W C, float64."""


@pytest.mark.parametrize("shards", [1, 2])
def test_films_of_our_own_data_are_those_of_their_clips(tmp_path, shards):
    """Each its own, of one file or of several, and of the part that is asked for."""
    path = tiny_data(tmp_path / "one.h5")
    if shards > 1:
        path = generate("balls4", CLIPS, recipe=RECIPE, out=tmp_path / "several", seed=0, shards=shards)
    assert is_data(path)
    assert not holds_array(path, None)
    for part in ("test", "train"):
        with open_dataset(path) as file:
            expected = file.read_frames(part, 0, CLIPS[part]) / 255
        films = GivenFilms("--pred", path, part=part)
        assert films.clips == CLIPS[part]
        np.testing.assert_allclose(films.read(1, CLIPS[part]).movedim(2, -1), expected[1:], rtol=1e-6)
        assert not np.array_equal(expected[1], expected[2])


@pytest.mark.parametrize("name", ["a.h5", "a.H5", "a.hdf5"])
def test_hdf5_has_several_suffixes(tmp_path, name):
    with h5py.File(tmp_path / name, "w") as file:
        file["films"] = SOFT
    assert holds_array(tmp_path / name, None)
    films = GivenFilms("--pred", tmp_path / name, value_range=(0, 1), axes="BTHWC")
    np.testing.assert_array_equal(films.read(0, 3).movedim(2, -1), SOFT)
    with h5py.File(tmp_path / f"data-{name}", "w") as file:
        file["test/features"] = SOFT.transpose(1, 0, 2, 3, 4)
    assert is_data(tmp_path / f"data-{name}")
    assert not holds_array(tmp_path / f"data-{name}", None)


def test_a_folder_of_pictures_is_no_data_and_holds_no_array_to_name(tmp_path):
    Image.new("L", (7, 5)).save(tmp_path / "0.png")
    assert not is_data(tmp_path)
    with pytest.raises(ValueError, match=r"--pred-array must be left out, got films for .*; it means nothing here"):
        GivenFilms("--pred", tmp_path, array="films")
