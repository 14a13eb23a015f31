"""Films of which each part lies in a folder of its own."""

from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
from film_samples import COLOR, GREY, T
from PIL import Image

from videopred.datasets import open_dataset
from videopred.datasets.film_formats import read_films
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films
from videopred.judging.given_films import GivenFilms


def save_film(folder: Path, film: np.ndarray) -> None:
    folder.mkdir(parents=True)
    for number, frame in enumerate(film):
        Image.fromarray(frame).save(folder / f"{number}.png")


@pytest.fixture
def films(tmp_path) -> Path:
    """Two clips to learn from, and one of each other part, the last one grey."""
    place = tmp_path / "films"
    for name, film in {"Training/a": COLOR[0], "Training/b": COLOR[1], "val/c": COLOR[2]}.items():
        save_film(place / name, film)
    save_film(place / "test/d", GREY[0].repeat(3, axis=-1))
    (place / "readme.txt").write_text("ours")
    return place


def test_folders_of_parts_are_one_set(films, tmp_path):
    path, found = import_films(films, tmp_path / "set.h5")
    with open_dataset(path) as data:
        assert data.parts == {"train": 2, "validation": 1, "test": 1}
        np.testing.assert_array_equal(data.read_frames("train", 0, 2), COLOR[:2])
        np.testing.assert_array_equal(data.read_frames("validation", 0, 1), COLOR[2:])
        np.testing.assert_array_equal(data.read_frames("test", 0, 1)[0], GREY[0].repeat(3, axis=-1))
    assert found["format"] == "folder of folders of PNG frames"
    assert found["clips"] == "2 train, 1 validation, 1 test"


def test_a_folder_may_be_called_as_a_group_of_a_data_file_is(films):
    (films / "val").rename(films / "Dev")
    (films / "test").rename(films / "tests")
    assert read_films(films).parts == {"train": 2, "validation": 1, "test": 1}


def test_what_differs_between_the_parts_is_said_of_each(films):
    iio.imwrite(films / "test" / "e.gif", COLOR[0], duration=100, loop=0)
    (films / "val" / "notes.txt").write_text("few")
    for path in (films / "test" / "d").iterdir():
        path.unlink()
    (films / "test" / "d").rmdir()
    found = read_films(films).found
    assert found["format"] == (
        "train: folder of folders of PNG frames, validation: folder of folders of PNG frames, test: folder of GIFs"
    )
    assert found["left_out"] == "validation: 1 that is no PNG frame"
    assert found["frame_ms"] == "test: 100"


def test_a_folder_with_frames_of_its_own_is_a_film_whatever_lies_beside_them(films):
    Image.fromarray(COLOR[0, 0]).save(films / "0.png")
    Image.fromarray(COLOR[0, 1]).save(films / "1.png")
    found = read_films(films)
    assert found.parts == {"test": 1}
    np.testing.assert_array_equal(found.record("test", 0)["features"], COLOR[0, :2])


@pytest.mark.parametrize(("name", "kind"), [("f.gif", "pictures"), ("f.mp4", "MP4")])
def test_so_is_one_with_a_film_in_a_file_beside_folders_of_parts(films, name, kind):
    (films / name).write_text("no film")
    with pytest.raises(ValueError, match=rf"^SOURCE must (be|hold) whole {kind}, got .*{name}"):
        read_films(films)


def test_a_single_film_may_lie_in_the_folder_of_its_part(tmp_path):
    """Not all in one part, as numbered folders of frames are."""
    save_film(tmp_path / "films" / "train", COLOR[0])
    save_film(tmp_path / "films" / "test", COLOR[1])
    films = read_films(tmp_path / "films")
    assert films.parts == {"train": 1, "test": 1}
    np.testing.assert_array_equal(films.record("test", 0)["features"], COLOR[1])


def test_clips_of_all_parts_are_cut(films):
    cut = read_films(films, ImportConfig(frames=2))
    assert cut.parts == {"train": 2 * (T // 2), "validation": T // 2, "test": T // 2}
    np.testing.assert_array_equal(cut.record("validation", 1)["features"], COLOR[2, 2:4])


def test_a_clip_is_called_by_its_own_file(films):
    path = films / "val" / "c" / "3.png"
    Image.new("RGB", (5, 7)).save(path)
    with pytest.raises(ValueError, match=rf"^SOURCE must hold frames of one size and kind, got .* in {path}, after"):
        read_films(films)


def test_folders_with_other_names_beside_them_or_one_part_twice_are_no_parts(films):
    with pytest.raises(ValueError, match=r"^--part must be left out, got test for folders of all parts; leave it out"):
        read_films(films, ImportConfig(part="test"))
    with pytest.raises(
        ValueError, match=r"^--pred must be one of: .*folders train, validation and test, got .*none of"
    ):
        GivenFilms("--pred", films)
    (films / "more").mkdir()
    with pytest.raises(ValueError, match=r"^SOURCE must hold a folder for each part, .*, got more beside Training and"):
        read_films(films)
    (films / "more").rmdir()
    save_film(films / "validation" / "c", COLOR[0])
    with pytest.raises(ValueError, match=r"got validation and val in .*, which are one part; rename folders, or move"):
        read_films(films)


@pytest.mark.parametrize("kind", ["L", "RGB", "1"])
def test_grey_films_have_three_channels_where_color_is_asked_for(tmp_path, kind):
    film = GREY[1]
    for number, frame in enumerate(film):
        Image.fromarray(frame[..., 0]).convert(kind).save(tmp_path / f"{number}.png")
    kept = read_films(tmp_path)
    clip, colored = (
        read_films(tmp_path, ImportConfig(color=color)).record("test", 0)["features"] for color in (False, True)
    )
    assert clip.shape[-1] == kept.found["channels"] == 1
    np.testing.assert_array_equal(colored, clip.repeat(3, axis=-1))
    assert read_films(tmp_path, ImportConfig(color=True)).found["channels"] == 3
