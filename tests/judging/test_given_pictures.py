"""Pictures made elsewhere that are to be judged, or are the truth: their white, their color, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from given_arrays import FRAMES, HARD, HEIGHT, WIDTH, given, open_one
from PIL import Image

from videopred.eval.settings import GivenConfig
from videopred.judging.given_films import GivenFilms, GivenTruth
from videopred.judging.given_flags import open_given


def test_gifs_and_pngs_are_read(tmp_path):
    for clip in range(2):
        (tmp_path / "png" / str(clip)).mkdir(parents=True)
        images = [Image.fromarray(frame * 255) for frame in HARD[clip, :, 0]]
        for t, image in enumerate(images):
            image.save(tmp_path / "png" / str(clip) / f"{t}.png")
        (tmp_path / "gif").mkdir(exist_ok=True)
        images[0].save(tmp_path / "gif" / f"{clip}.gif", save_all=True, append_images=images[1:], duration=100)
    for kind in ("png", "gif"):
        films = given(tmp_path / kind)
        films.take_as_grey()
        assert films.film_shape == (1, HEIGHT, WIDTH)
        np.testing.assert_array_equal(films.read(0, 2), HARD[:2])


@pytest.mark.parametrize("other", [("L", (6, 3)), ("RGB", (4, 3))], ids=["size", "color"])
def test_pictures_of_different_sizes_and_a_colored_one_among_grey_are_refused(tmp_path, other):
    for clip, (kind, size) in enumerate([("L", (4, 3)), other]):
        (tmp_path / str(clip)).mkdir()
        Image.new(kind, size).save(tmp_path / str(clip) / "0.png")
    films = given(tmp_path)
    with pytest.raises(ValueError, match=r"--pred must hold clips of one shape and kind, \(T, H, W, C\) \(1, 3, 4"):
        films.read(0, 2)


def test_the_folder_one_is_in_is_called_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "films").mkdir()
    for frame in range(FRAMES):
        Image.fromarray(HARD[0, frame, 0] * 255).save(tmp_path / f"films/{frame}.png")
    monkeypatch.chdir(tmp_path / "films")
    truth = GivenTruth(GivenFilms("--true", Path(".")))
    assert (truth.name, truth.path.name) == ("films", "films")


def test_the_white_of_pictures_is_that_of_their_bits(tmp_path):
    lit = HARD[0, 0, 0] > 0
    for bits, frame in ((1, lit), (8, lit * np.uint8(255)), (16, lit * np.uint16(65535))):
        (tmp_path / f"{bits}").mkdir()
        Image.fromarray(frame).save(tmp_path / f"{bits}" / "0.png")
        np.testing.assert_array_equal(given(tmp_path / f"{bits}").read(0, 1)[0, 0, 0], lit)
    message = r"--pred must hold clips of one shape and kind, .* bool as the first, got .* uint8 in .*8 of"
    with pytest.raises(ValueError, match=message):
        given(tmp_path).read(0, 2)


def test_frames_that_are_not_of_one_size_are_refused(tmp_path):
    for number, wide in enumerate([4, 6]):
        Image.new("L", (wide, 3)).save(tmp_path / f"{number}.png")
    with pytest.raises(
        ValueError, match=r"--pred must hold frames of one size and kind, got others in .*; make them al"
    ):
        given(tmp_path)


@pytest.mark.parametrize("bits", [(8, 1), (1, 8), (16, 8)])
def test_frames_of_several_bits_are_refused(tmp_path, bits):
    """Whoever makes PNG files small may write a frame that is black and white with a bit a pixel, others with 8."""
    lit = HARD[0, 0, 0] > 0
    frames = {1: lit, 8: lit * np.uint8(255), 16: lit * np.uint16(65535)}
    for number, of in enumerate(bits):
        Image.fromarray(frames[of]).save(tmp_path / f"{number}.png")
    with pytest.raises(ValueError, match=r"^--pred must hold frames of one size and kind, got others in "):
        given(tmp_path)


def test_a_data_file_beside_frames_makes_them_no_shards(tmp_path):
    """As where films were imported into the folder that they lie in."""
    Image.fromarray(HARD[0, 0, 0] * 255).save(tmp_path / "0.png")
    (tmp_path / "set.h5").touch()
    np.testing.assert_array_equal(given(tmp_path).read(0, 1)[0, 0, 0], HARD[0, 0, 0])


def save_pictures(folder: Path, kind: str, *clips: tuple[str, str]) -> Path:
    """Films of two frames in color, one color a frame, as GIFs or PNGs."""
    for number, colors in enumerate(clips):
        first, last = (Image.new("RGB", (WIDTH, HEIGHT), color) for color in colors)
        clip = folder / str(number)
        clip.mkdir(parents=True)
        if kind == "gif":
            first.save(folder / f"{number}.gif", save_all=True, append_images=[last], duration=100)
            clip.rmdir()
        else:
            first.save(clip / "0.png")
            last.save(clip / "1.png")
    return folder


@pytest.mark.parametrize("kind", ["gif", "png"])
def test_pictures_that_have_color_anywhere_are_in_color(tmp_path, kind):
    colored = save_pictures(tmp_path / "colored", kind, ("black", "white"), ("white", "blue"))
    grey = save_pictures(tmp_path / "grey", kind, ("black", "white"), ("white", "grey"))
    for said in ({"pred": colored, "true": grey}, {"pred": grey, "true": colored}):
        predicted, truth = open_one("test", **said)
        assert predicted.film_shape == truth.film_shape == (3, HEIGHT, WIDTH)
    assert truth.given.read(1, 2)[0, :, :, 2, 3].tolist() == [[1, 1, 1], [0, 0, 1]]
    predicted, truth = open_one("test", pred=grey, true=grey)
    assert predicted.film_shape == truth.film_shape == (1, HEIGHT, WIDTH)
    assert predicted.read(1, 2)[0, 1, 0, 2, 3] == pytest.approx(128 / 255)


@pytest.mark.parametrize("kind", ["gif", "png"])
def test_pictures_in_color_have_the_channels_of_the_truth(tmp_path, kind):
    grey = save_pictures(tmp_path / "grey", kind, ("black", "white"))
    for channels in (1, 3):
        np.save(tmp_path / "t.npy", np.zeros((1, 2, channels, HEIGHT, WIDTH), bool))
        predicted, truth = open_one("test", pred=grey, true=tmp_path / "t.npy", true_axes="BTCHW")
        assert predicted.film_shape == truth.film_shape == (channels, HEIGHT, WIDTH)
        predicted, _ = open_one("test", truth, pred=grey)
        assert predicted.film_shape == (channels, HEIGHT, WIDTH)
        assert predicted.read(0, 1)[0, :, :, 2, 3].tolist() == [[0] * channels, [1] * channels]


def test_an_array_in_color_stays_so_beside_a_grey_truth(tmp_path):
    """To be refused for its channels: of an array, nothing is guessed."""
    grey = save_pictures(tmp_path / "grey", "png", ("black", "white"))
    np.save(tmp_path / "p.npy", np.zeros((1, 2, 3, HEIGHT, WIDTH), bool))
    predicted, truth = open_one("test", pred=tmp_path / "p.npy", true=grey, axes="BTCHW")
    assert predicted.film_shape == truth.film_shape == (3, HEIGHT, WIDTH)
    np.save(tmp_path / "t.npy", np.zeros((1, 2, 1, HEIGHT, WIDTH), bool))
    predicted, _ = open_one("test", pred=tmp_path / "p.npy", true=tmp_path / "t.npy", axes="BTCHW")
    assert predicted.film_shape == (3, HEIGHT, WIDTH)


def test_a_colored_film_of_a_grey_truth_is_refused(tmp_path):
    colored = save_pictures(tmp_path / "p", "gif", ("black", "white"), ("black", "red"))
    np.save(tmp_path / "t.npy", np.zeros((2, 2, 1, HEIGHT, WIDTH), bool))
    predicted, _ = open_one("test", pred=colored, true=tmp_path / "t.npy", true_axes="BTCHW")
    with pytest.raises(ValueError, match=r"--pred must be grey as the truth is, got color in .*1\.gif of"):
        predicted.read(0, 2)


def test_arrays_and_grey_pictures_in_color_stand_beside_one_another(tmp_path):
    """Words about arrays hold for the arrays among them; against true films of one channel all have one."""
    films = HARD[:2] * 255
    np.save(tmp_path / "p.npy", films)
    for name in ("first", "second"):
        for clip, frame in np.ndindex(films.shape[:2]):
            place = tmp_path / name / f"c{clip}" / f"{frame}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(films[clip, frame, 0]).convert("RGB").save(place)
    said = {"pred": tuple(tmp_path / name for name in ("p.npy", "first", "second")), "range": (0, 255), "axes": "BTCHW"}
    _, truth = open_one("test", pred=tmp_path / "first", true=tmp_path / "p.npy", range=(0, 255), axes="BTCHW")
    for true in ({"true": tmp_path / "p.npy"}, {}):
        predicted, _ = open_given(GivenConfig(**said, **true), "test", None if true else truth)
        assert list(predicted) == ["p", "first", "second"]
        for of in predicted.values():
            np.testing.assert_array_equal(of.read(0, 2), films / 255)
