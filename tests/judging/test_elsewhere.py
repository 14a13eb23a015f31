"""Films made elsewhere: exact numbers of any kind of file, and a line for whatever is not known or does not fit."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from PIL import Image

from videopred.check import FaultyFileError
from videopred.eval.settings import GivenConfig, Protocol
from videopred.judging.elsewhere import GivenFilms, GivenTruth
from videopred.judging.evaluating import evaluate_given, judge
from videopred.judging.opening import open_given, read_range

CLIPS, FRAMES, HEIGHT, WIDTH = 3, 4, 5, 7
CHANCE = np.random.default_rng(0)
SOFT = CHANCE.random((CLIPS, FRAMES, 1, HEIGHT, WIDTH))
"""B T C H W, float64."""
HARD = (CHANCE.random((CLIPS, FRAMES, 1, HEIGHT, WIDTH)) < 0.4).astype(np.uint8)


def given(path: Path, **changes: Any) -> GivenFilms:
    return GivenFilms("--pred", path, **changes)


@pytest.mark.parametrize(
    ("array", "levels", "axes", "expected"),
    [
        (SOFT, (0, 1), "BTCHW", SOFT),
        (SOFT.astype(np.float32), (0, 1), "BTCHW", SOFT.astype(np.float32)),
        (SOFT * 2 - 1, (-1, 1), "BTCHW", SOFT),
        (SOFT.transpose(1, 0, 3, 4, 2), (0, 1), "TBHWC", SOFT),
        (HARD.astype(bool), None, "BTCHW", HARD),
        (HARD * 255, (0, 255), "BTCHW", HARD),
        (HARD.astype(np.int64), (0, 1), "BTCHW", HARD),
        (SOFT[0, :, 0], (0, 1), None, SOFT[:1]),
    ],
    ids=["double", "single", "minus one to one", "other axes", "bool", "bytes", "integers", "three axes"],
)
def test_arrays_are_read_exactly(tmp_path, array, levels, axes, expected):
    np.save(tmp_path / "p.npy", array)
    np.savez(tmp_path / "p.npz", other=np.zeros(2), mine=array)
    films = given(tmp_path / "p.npy", levels=levels, axes=axes)
    packed = given(tmp_path / "p.npz", levels=levels, axes=axes, array="mine")
    assert (films.clips, films.frames, films.film_shape) == (len(expected), FRAMES, (1, HEIGHT, WIDTH))
    for start in range(len(expected)):
        torch.testing.assert_close(
            films.read(start, start + 1).double(), torch.from_numpy(expected[start : start + 1]).double(), rtol=1e-15,
            atol=2e-16,
        )  # fmt: skip
        assert torch.equal(films.read(start, start + 1), packed.read(start, start + 1))
    assert films.read(0, 1).dtype == (torch.float64 if array.dtype == np.float64 else torch.float32)


def test_a_data_file_of_floats_is_not_rounded(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["test/features"] = SOFT.transpose(1, 0, 3, 4, 2)
    np.testing.assert_array_equal(given(tmp_path / "p.h5").read(0, 3), SOFT)


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
        assert films.film_shape == (1, HEIGHT, WIDTH)
        np.testing.assert_array_equal(films.read(0, 2), HARD[:2])


@pytest.mark.parametrize(
    ("array", "said", "message"),
    [
        (SOFT, {"axes": "BTCHW"}, "--range must say which numbers are black and white, got nothing for float64 from"),
        (HARD, {"axes": "BTCHW"}, "--range must say which numbers are black and white, got nothing for uint8 from 0"),
        (SOFT, {"levels": (0, 1)}, r"--axes must be given for 5 axes, which may be BTHWC, BTCHW, TBHWC or TBCHW, got"),
        (SOFT, {"levels": (0, 1), "axes": "BTCH"}, "--axes must be letters of B clips, .* got 'BTCH'"),
        (
            SOFT + 0.1,
            {"levels": (0, 1), "axes": "BTCHW"},
            "--pred must hold numbers from 0 to 1, as its range",
        ),
        (SOFT * np.nan, {"levels": (0, 1), "axes": "BTCHW"}, "--pred must hold numbers .* got NaN in clip 0 of"),
        (HARD > 0, {"levels": (0, 255), "axes": "BTCHW"}, r"--range must be 0,1 or left out, got \(0, 255\) for bool"),
        (SOFT.astype(complex), {"axes": "BTCHW"}, "--pred must hold an array of numbers, got complex128"),
    ],
)
def test_what_is_not_known_or_not_so_is_said(tmp_path, array, said, message):
    np.save(tmp_path / "p.npy", array)
    with pytest.raises(ValueError, match=message):
        given(tmp_path / "p.npy", **said).read(0, 1)


def test_a_range_means_nothing_of_pictures_and_an_array_must_be_named(tmp_path):
    Image.fromarray(HARD[0, 0, 0]).save(tmp_path / "0.png")
    with pytest.raises(ValueError, match="--range must be left out where no array is given"):
        given(tmp_path, levels=(0, 1))
    np.savez(tmp_path / "two.npz", a=SOFT, b=SOFT)
    with pytest.raises(ValueError, match="--pred-array must be given where a file holds several arrays, got none of a"):
        given(tmp_path / "two.npz", levels=(0, 1))
    with pytest.raises(FileNotFoundError, match="--pred must be an existing file or folder"):
        given(tmp_path / "gone.npy")


def test_pictures_of_different_sizes_and_a_colored_one_among_grey_are_refused(tmp_path):
    for clip, (wide, color) in enumerate([(4, False), (6, False)]):
        (tmp_path / str(clip)).mkdir()
        Image.new("RGB" if color else "L", (wide, 3)).save(tmp_path / str(clip) / "0.png")
    films = given(tmp_path)
    with pytest.raises(ValueError, match=r"--pred must hold clips of one shape and kind, \(T, H, W, C\) \(1, 3, 4"):
        films.read(0, 2)


@pytest.mark.parametrize("text", ["0", "0,1,2", "1,0", "a,b", ""])
def test_a_range_is_two_numbers(text):
    assert read_range("--range", "-1,1") == (-1, 1)
    with pytest.raises(ValueError, match="--true-range must be two numbers, black first, with a comma between, got"):
        read_range("--true-range", text)


def test_predictions_are_scored_as_a_models_would_be(tmp_path):
    """The same films by way of a file and of a function: the same scores to the last bit, in batches of any size."""
    np.save(tmp_path / "t.npy", HARD)
    np.save(tmp_path / "p.npy", SOFT[:, 1:])
    words = {"range": "0,1", "axes": "BTCHW"}
    predicted, truth = open_given(GivenConfig(pred=tmp_path / "p.npy", true=tmp_path / "t.npy", **words), "test")
    asked = Protocol(context=1, horizon=3, metrics=("bce", "mse", "f1"), feedback="elsewhere")
    scores = [evaluate_given(predicted, truth, asked, batch_size=size) for size in (1, 2, 5)]
    films = iter([torch.from_numpy(SOFT[:, 1:])])
    by_function = judge(lambda *_: next(films), truth, asked, batch_size=5)
    for one in scores:
        assert tuple(one.values) == ("prediction", "blank", "copy last")
        for name, values in by_function.values["model"].items():
            np.testing.assert_array_equal(one.values["prediction"][name], values)


def test_without_context_only_blank_stands_beside(tmp_path):
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    np.save(tmp_path / "p.npy", SOFT)
    predicted = given(tmp_path / "p.npy", levels=(0, 1), axes="BTCHW")
    scores = evaluate_given(predicted, truth, Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere"))
    assert tuple(scores.values) == ("prediction", "blank")
    expected = ((SOFT - HARD) ** 2).mean(axis=(0, 2, 3, 4))
    np.testing.assert_allclose(scores.values["prediction"]["mse"], expected)
    assert (scores.reference, scores.protocol.clips) == (None, 3)
    assert scores.skill("prediction", "mse") is None


def test_a_damaged_file_is_a_failure_and_no_misuse(tmp_path):
    np.save(tmp_path / "p.npy", SOFT)
    (tmp_path / "p.npy").write_bytes((tmp_path / "p.npy").read_bytes()[:-9])
    with pytest.raises(FaultyFileError, match=r"--pred must be a whole array in NumPy.s format, got .*p.npy"):
        given(tmp_path / "p.npy", levels=(0, 1), axes="BTCHW")


def test_predictions_shorter_than_a_named_protocol_are_not_told_to_change_it(tmp_path):
    """--horizon is refused beside --protocol."""
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    np.save(tmp_path / "p.npy", SOFT[:, :3])
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    asked = Protocol(name="ours", context=0, horizon=4, feedback="elsewhere", metrics=("mse",))
    with pytest.raises(ValueError, match=r"frames of the horizon, got 3 in .*; predict as many as ours asks for"):
        evaluate_given(given(tmp_path / "p.npy", levels=(0, 1), axes="BTCHW"), truth, asked)


@pytest.mark.parametrize(
    ("array", "horizon", "message"),
    [
        (SOFT[:2], 4, "--pred must hold the 3 clips to score, got 2 in .*p.npy; give --first"),
        (SOFT[:, :3], 4, "--pred must hold the 4 frames of the horizon, got 3 in .*p.npy; give a shorter --horizon"),
        (SOFT[..., :6], 4, r"--pred must hold frames of 1 x 5 x 7 .* as the truth, got 1 x 5 x 6"),
    ],
)
def test_predictions_that_do_not_fit_the_truth_are_refused(tmp_path, array, horizon, message):
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    np.save(tmp_path / "p.npy", array)
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", levels=(0, 1), axes="BTCHW")
    with pytest.raises(ValueError, match=message):
        evaluate_given(predicted, truth, Protocol(context=0, horizon=horizon, feedback="elsewhere", metrics=("mse",)))


def test_longer_predictions_are_cut_and_that_is_said(tmp_path):
    np.save(tmp_path / "t.npy", HARD.astype(bool))
    np.save(tmp_path / "p.npy", SOFT)
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", axes="BTCHW"))
    predicted = given(tmp_path / "p.npy", levels=(0, 1), axes="BTCHW")
    scores = evaluate_given(predicted, truth, Protocol(context=0, horizon=2, metrics=("mse",), feedback="elsewhere"))
    assert "of the 4 frames in" in scores.table()


def test_words_about_nothing_are_refused():
    with pytest.raises(ValueError, match=r"--pred must be given for films made elsewhere, got --range; name the"):
        GivenConfig(range="0,1")
    with pytest.raises(ValueError, match="--true must be given with words about it, got --true-axes; a data file says"):
        GivenConfig(pred=Path("p.npy"), true_axes="TBHW")


@pytest.mark.parametrize("chunks", [None, (2, 2, 1, 3, 7)])
def test_arrays_of_hdf5_files_are_read_as_those_of_numpy(tmp_path, chunks):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file.create_dataset("deep/mine", data=SOFT, chunks=chunks)
        file["rate"] = 25  # a single number, and so no array
    one = given(tmp_path / "p.h5", levels=(0, 1), axes="BTCHW")
    np.testing.assert_array_equal(one.read(0, CLIPS), SOFT)
    with h5py.File(tmp_path / "p.h5", "a") as file:
        file["other"] = np.stack([SOFT, SOFT / 2])
    with pytest.raises(ValueError, match="--pred-array must be given where a file holds several arrays, got none of"):
        given(tmp_path / "p.h5", levels=(0, 1), axes="BTCHW")
    several = given(tmp_path / "p.h5", levels=(0, 1), axes="NBTCHW", array="other")
    np.testing.assert_array_equal(several.read(1, CLIPS, sample=1), SOFT[1:] / 2)
    with pytest.raises(ValueError, match="--pred-array must be one of deep/mine, other, got odd"):
        given(tmp_path / "p.h5", levels=(0, 1), axes="BTCHW", array="odd")


def test_an_hdf5_file_without_numbers_or_cut_off_is_a_failure(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["words"] = [b"one", b"two"]
    with pytest.raises(FaultyFileError, match=r"--pred must hold an array of numbers, got object in"):
        given(tmp_path / "p.h5", axes="BTCHW")
    (tmp_path / "p.h5").write_bytes((tmp_path / "p.h5").read_bytes()[:-9])
    with pytest.raises(FaultyFileError, match=r"--pred must be a whole HDF5 file, got .*truncated.*; save it again"):
        given(tmp_path / "p.h5", axes="BTCHW")
    np.save(tmp_path / "p.npy", SOFT)
    with pytest.raises(FaultyFileError, match="--true must be a whole HDF5 file, got"):
        open_given(GivenConfig(pred=tmp_path / "p.npy", true=tmp_path / "p.h5", range="0,1", axes="BTCHW"), "test")


def test_an_array_of_a_data_file_may_be_meant_as_one(tmp_path):
    """By its name: then its range and axes must be said, as of any array."""
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["test/features"] = SOFT.transpose(1, 0, 3, 4, 2)
    films = given(tmp_path / "p.h5", levels=(0, 1), axes="TBHWC", array="test/features")
    np.testing.assert_array_equal(films.read(0, CLIPS), SOFT)
    with pytest.raises(ValueError, match=r"--axes must be left out, got TBHWC for .*p\.h5; a data file says them"):
        given(tmp_path / "p.h5", axes="TBHWC")


def test_what_is_said_of_arrays_holds_for_those_that_are(tmp_path):
    np.save(tmp_path / "a.npy", HARD[0])
    images = [Image.fromarray(frame * 255) for frame in HARD[0, :, 0]]
    images[0].save(tmp_path / "g.gif", save_all=True, append_images=images[1:], duration=100)
    array, gif = tmp_path / "a.npy", tmp_path / "g.gif"
    for pred, true in ((array, gif), (gif, array)):
        predicted, truth = open_given(GivenConfig(pred=pred, true=true, range="0,1", axes="TCHW"), "test")
        assert truth is not None
        np.testing.assert_array_equal(predicted.read(0, 1), HARD[:1])
        np.testing.assert_array_equal(truth.given.read(0, 1), HARD[:1])
    for words in ({"range": "0,1"}, {"axes": "TCHW"}, {"true_range": "0,1"}, {"true_axes": "TCHW"}):
        flag = f"--{next(iter(words)).replace('_', '-')}"
        with pytest.raises(ValueError, match=f"{flag} must be left out where no array is given, got .*; pictures and"):
            open_given(GivenConfig(pred=gif, true=gif, **words), "test")
    with pytest.raises(ValueError, match="--true-range must be left out where no array is given"):
        open_given(GivenConfig(pred=array, true=gif, range="0,1", axes="TCHW", true_range="0,1"), "test")


def test_the_true_films_own_words_are_named_as_they_were_typed(tmp_path):
    np.save(tmp_path / "p.npy", SOFT)
    np.save(tmp_path / "t.npy", HARD > 0)
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "range": "0,1", "axes": "BTCHW"}
    with pytest.raises(ValueError, match=r"--true-axes must name each axis of the array, .*t\.npy, got 4 \(BTHW\)"):
        open_given(GivenConfig(**said, true_axes="BTHW"), "test")
    with pytest.raises(ValueError, match="--true-range must be 0,1 or left out, got"):
        open_given(GivenConfig(**said, true_range="0,255"), "test")
    with pytest.raises(ValueError, match=r"--pred-array must be left out, got mine for .*p\.npy; the file holds one"):
        open_given(GivenConfig(**said, pred_array="mine"), "test")


def test_frames_that_are_not_of_one_size_are_refused(tmp_path):
    for number, wide in enumerate([4, 6]):
        Image.new("L", (wide, 3)).save(tmp_path / f"{number}.png")
    with pytest.raises(
        ValueError, match=r"--pred must hold frames of one size, got others in .*; judge them one by one"
    ):
        given(tmp_path)


def test_a_range_that_the_films_hardly_use_is_remarked(tmp_path):
    np.save(tmp_path / "t.npy", HARD)
    np.save(tmp_path / "p.npy", SOFT)
    asked = Protocol(context=0, horizon=4, metrics=("mse",), feedback="elsewhere")
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "axes": "BTCHW"}
    predicted, truth = open_given(GivenConfig(**said, range="0,255"), "test")
    notes = evaluate_given(predicted, truth, asked).notes
    assert [note.partition(" goes ")[0].rpartition("/")[2] for note in notes] == ["p.npy", "t.npy"]
    assert notes[1].endswith("goes from 0 to 1, of a range from 0 to 255")
    predicted, truth = open_given(GivenConfig(**said, range="0,90", true_range="0,1"), "test")
    assert evaluate_given(predicted, truth, asked).notes == ()
    np.save(tmp_path / "p.npy", np.zeros_like(SOFT))
    assert given(tmp_path / "p.npy", levels=(0, 1), axes="BTCHW").remark == ""


def test_the_truth_has_the_axes_of_the_predictions_but_for_their_samples(tmp_path):
    np.save(tmp_path / "p.npy", np.stack([SOFT, 1 - SOFT]))
    np.save(tmp_path / "t.npy", HARD)
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "range": "0,1", "axes": "NBTCHW"}
    predicted, truth = open_given(GivenConfig(**said), "test")
    assert (predicted.samples, truth.given.samples) == (2, 1)
    np.testing.assert_array_equal(truth.given.read(0, CLIPS), HARD)


def test_a_colored_film_after_a_grey_one_is_refused(tmp_path):
    for number, color in enumerate(["white", "red"]):
        frames = [Image.new("RGB", (WIDTH, HEIGHT), each) for each in ("black", color)]
        frames[0].save(tmp_path / f"{number}.gif", save_all=True, append_images=frames[1:], duration=100)
    with pytest.raises(
        ValueError, match=r"--pred must be grey throughout, as its first clip is, got color in .*1\.gif of"
    ):
        given(tmp_path).read(0, 2)
