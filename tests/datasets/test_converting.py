"""Films that are cut into clips: every frame in its place, but for the rest, which is said."""

import json
import re
from dataclasses import replace

import h5py
import numpy as np
import pytest
from film_samples import H, W
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from videopred.datasets import open_dataset
from videopred.datasets.converting import cut
from videopred.datasets.film_formats import read_films
from videopred.datasets.foreign_films import RawFilms
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films

FILM = np.random.default_rng(1).integers(0, 256, (17, H, W), np.uint8)


class Reels:
    """Films whose frames say where they are from, and how often each film was begun."""

    def __init__(self, lengths: list[int], parts: dict[str, int] | None = None) -> None:
        self.lengths, self.begun = lengths, [0] * len(lengths)
        names = [f"film {number}" for number in range(len(lengths))]
        self.stored = RawFilms("there", {"format": "reel"}, names, self.frames, parts=parts)

    def frames(self, film: int):
        self.begun[film] += 1
        for frame in range(self.lengths[film]):
            yield np.array([film, frame])


@given(st.lists(st.integers(4, 11), min_size=1, max_size=4), st.integers(2, 4), st.randoms())
def test_clips_are_the_frames_of_their_films_side_by_side(lengths, frames, chance):
    films = cut(Reels(lengths).stored, lengths, frames)
    expected = [
        [[film, start + t] for t in range(frames)]
        for film, length in enumerate(lengths)
        for start in range(0, length - frames + 1, frames)
    ]
    assert len(films.names) == len(expected)
    for clip in chance.sample(range(len(expected)), len(expected)):  # in any order
        assert [frame.tolist() for frame in films.frames(clip)] == expected[clip]
    rest = sum(lengths) - frames * len(expected)
    told = f"from {len(lengths)} film{'s' * (len(lengths) != 1)}; {rest} frame{'s' * (rest != 1)} at ends left out"
    assert films.found["cut"] == told


def test_each_film_is_begun_once_in_the_order_of_clips():
    reels = Reels([7, 5])
    films = cut(reels.stored, reels.lengths, 2)
    for clip in range(5):
        list(films.frames(clip))
    assert reels.begun == [1, 1]


def test_a_clip_is_called_by_its_film_and_where_it_begins():
    films = cut(replace(Reels([7, 5]).stored, frame_name=lambda clip, frame: f"{clip}-{frame}.png"), [7, 5], 3)
    assert films.called(1, 2) == "frame 2 of film 0 from frame 3"
    assert films.names[2] == "film 1 from frame 0"


def test_a_clip_that_was_left_in_the_middle_leaves_the_next_as_it_is():
    films = cut(Reels([7]).stored, [7], 3)
    half = films.frames(0)
    assert next(half).tolist() == [0, 0]
    assert [frame.tolist() for frame in films.frames(1)] == [[0, 3], [0, 4], [0, 5]]
    assert [frame.tolist() for frame in half] == [[0, 1], [0, 2]]


def test_a_clip_that_was_left_in_the_middle_begins_anew():
    films = cut(Reels([7]).stored, [7], 3)
    list(films.frames(0))
    assert next(films.frames(1)).tolist() == [0, 3]
    assert [frame.tolist() for frame in films.frames(1)] == [[0, 3], [0, 4], [0, 5]]


def test_parts_keep_their_films():
    reels = Reels([7, 5, 4], {"train": 1, "test": 2})
    assert cut(reels.stored, reels.lengths, 2).parts == {"train": 3, "test": 4}
    assert cut(Reels([7]).stored, [7], 2).parts is None


def test_a_single_film_is_enough_to_learn_from(tmp_path):
    """Its last clips can be kept aside."""
    np.save(tmp_path / "film.npy", FILM)
    path, found = import_films(tmp_path / "film.npy", tmp_path / "ours.h5", ImportConfig(part="train", frames=5))
    file = open_dataset(path)
    assert (file.parts, file.frames) == ({"train": 3}, 5)
    assert np.array_equal(file.read_frames("train", 0, 3).reshape(15, H, W), FILM[:15])
    assert json.loads(json.dumps(found)) == found
    assert found["cut"] == "from 1 film; 2 frames at ends left out"
    assert (found["clips"], found["frames"]) == (3, 5)


def test_films_of_several_lengths_become_clips_of_one(tmp_path):
    for name, length in (("a", 7), ("b", 4)):
        (tmp_path / name).mkdir()
        for t in range(length):
            Image.fromarray(FILM[t]).save(tmp_path / name / f"{t}.png")
    with pytest.raises(ValueError, match=r"got 7 frames in .*a and 4 frames in .*b in .*; cut them into clips with --"):
        read_films(tmp_path)
    films = read_films(tmp_path, ImportConfig(frames=3))
    assert films.parts == {"test": 3}
    for clip, start in enumerate((0, 3, 0)):
        assert np.array_equal(films.record("test", clip)["features"][..., 0], FILM[start : start + 3])


def test_parts_of_a_file_are_cut_each(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["a"], file["b"] = FILM[:9], FILM[9:]
    films = read_films(tmp_path / "f.h5", ImportConfig(array=("train=a", "test=b"), axes="THW", frames=4))
    assert films.parts == {"train": 2, "test": 2}
    assert films.found["clips"] == "2 train, 2 test"
    assert np.array_equal(films.record("test", 1)["features"][..., 0], FILM[13:])


def test_a_film_shorter_than_a_clip_is_named(tmp_path):
    complaint = "--frames must be at most the frames of the shortest film, got 6 with 5 in film 1; lower it, or leave"
    with pytest.raises(ValueError, match=re.escape(complaint)):
        cut(Reels([7, 5]).stored, [7, 5], 6)
    with pytest.raises(ValueError, match="--frames must be greater than 1, got 1"):
        ImportConfig(frames=1)
