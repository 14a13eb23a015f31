"""Films made elsewhere: exact numbers of any kind of file, and a line for whatever is not known or does not fit."""

from math import inf, nan
from pathlib import Path

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import torch
from given_arrays import CLIPS, FRAMES, HARD, HEIGHT, SOFT, WIDTH, given, open_one
from PIL import Image

from videopred import check
from videopred.check import FaultyFileError
from videopred.eval.settings import GivenConfig
from videopred.judging.given_films import GivenFilms, GivenTruth


@pytest.mark.parametrize(
    ("array", "value_range", "axes", "expected"),
    [
        (SOFT, (0, 1), "BTCHW", SOFT),
        (SOFT.astype(np.float32), (0, 1), "BTCHW", SOFT.astype(np.float32)),
        (SOFT * 2 - 1, (-1, 1), "BTCHW", SOFT),
        (SOFT.transpose(1, 0, 3, 4, 2), (0, 1), "TBHWC", SOFT),
        (HARD.astype(bool), None, "BTCHW", HARD),
        (HARD.astype(bool), (0, 1), "BTCHW", HARD),
        (HARD * 255, (0, 255), "BTCHW", HARD),
        (HARD.astype(np.int64), (0, 1), "BTCHW", HARD),
        (SOFT[0, :, 0], (0, 1), None, SOFT[:1]),
    ],
    ids=[
        "double", "single", "minus one to one", "other axes", "bool", "bool with its range", "bytes", "integers",
        "three axes",
    ],
)  # fmt: skip
def test_arrays_are_read_exactly(tmp_path, array, value_range, axes, expected):
    np.save(tmp_path / "p.npy", array)
    np.savez(tmp_path / "p.npz", other=np.zeros(2), mine=array)
    films = given(tmp_path / "p.npy", value_range=value_range, axes=axes)
    packed = given(tmp_path / "p.npz", value_range=value_range, axes=axes, array="mine")
    assert (films.clips, films.frames, films.film_shape) == (len(expected), FRAMES, (1, HEIGHT, WIDTH))
    for start in range(len(expected)):
        torch.testing.assert_close(
            films.read(start, start + 1).double(), torch.from_numpy(expected[start : start + 1]).double(), rtol=1e-15,
            atol=2e-16,
        )  # fmt: skip
        assert torch.equal(films.read(start, start + 1), packed.read(start, start + 1))
    assert films.read(0, 1).dtype == (torch.float64 if array.dtype == np.float64 else torch.float32)


def test_a_range_is_rounded_as_the_films_are(tmp_path):
    hard = (HARD + 0.7).astype(np.float32)
    np.save(tmp_path / "p.npy", hard)
    films = given(tmp_path / "p.npy", value_range=(0.7, 1.7), axes="BTCHW")
    np.testing.assert_array_equal(films.read(0, CLIPS), HARD)
    np.save(tmp_path / "p.npy", hard.astype(np.float16))
    for low, high in ((0.7, 1e5), (0.7, 0.70001)):
        must = "--range must be two numbers that float16 holds and tells apart"
        with pytest.raises(ValueError, match=f"{must}, got {low:g} {high:g}; give those that"):
            given(tmp_path / "p.npy", value_range=(low, high), axes="BTCHW")


def test_a_data_file_of_floats_is_not_rounded(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["test/features"] = SOFT.transpose(1, 0, 3, 4, 2)
    np.testing.assert_array_equal(given(tmp_path / "p.h5").read(0, 3), SOFT)


@pytest.mark.parametrize(
    ("array", "said", "message"),
    [
        (SOFT, {"axes": "BTCHW"}, "--range must say which numbers are black and white, got nothing for float64 from"),
        (HARD, {"axes": "BTCHW"}, "--range must say which numbers are black and white, got nothing for uint8 from 0"),
        (SOFT, {"value_range": (0, 1)}, r"--axes must be given for 5 axes, which may be BTCHW or TBCHW or BCTHW, got"),
        (SOFT, {"value_range": (0, 1), "axes": "BTCH"}, "--axes must be letters of B clips, .* got 'BTCH'"),
        (
            SOFT + 0.1,
            {"value_range": (0, 1), "axes": "BTCHW"},
            "--pred must hold numbers from 0 to 1, as its range says, got .* in clip 0 of .*; clip the films to",
        ),
        (
            SOFT - 0.1,
            {"value_range": (0, 1), "axes": "BTCHW"},
            "--pred must hold numbers from 0 to 1, as its range says",
        ),
        (SOFT * np.nan, {"value_range": (0, 1), "axes": "BTCHW"}, "--pred must hold numbers .* got NaN in clip 0 of"),
        (
            HARD > 0,
            {"value_range": (0, 255), "axes": "BTCHW"},
            r"--range must be 0 1 .*, got 0 255 in .* --true-range for the others$",
        ),
        (SOFT.astype(complex), {"axes": "BTCHW"}, "--pred must hold an array of numbers, got complex128"),
    ],
)
def test_what_is_not_known_or_not_so_is_said(tmp_path, array, said, message):
    np.save(tmp_path / "p.npy", array)
    with pytest.raises(ValueError, match=message):
        given(tmp_path / "p.npy", **said).read(0, 1)


def test_an_array_must_be_there_and_named(tmp_path):
    np.savez(tmp_path / "two.npz", a=SOFT, b=SOFT)
    with pytest.raises(ValueError, match="--pred-array must be given where a file holds several arrays, got none for"):
        given(tmp_path / "two.npz", value_range=(0, 1))
    with pytest.raises(FileNotFoundError, match="--pred must be an existing file or folder"):
        given(tmp_path / "gone.npy")


@pytest.mark.parametrize("wrong", [(0,), (0, 1, 2), (1, 0), ("a", "b"), (), (0, inf), (nan, 1)])
def test_a_range_is_two_numbers(wrong):
    for flag in ("range", "true_range"):
        said = {"pred": (Path("p.npy"),), "true": Path("t.npy")}
        assert getattr(GivenConfig(**said, **{flag: (-1, 1)}), flag) == (-1, 1)
        with pytest.raises(ValueError, match=f"^{check.flag(flag)} must .*; "):
            GivenConfig(**said, **{flag: wrong})


def test_of_true_films_nothing_is_known_but_their_frames(tmp_path):
    np.save(tmp_path / "t.npy", SOFT)
    truth = GivenTruth(GivenFilms("--true", tmp_path / "t.npy", value_range=(0, 1), axes="BTCHW"))
    for ask in (lambda: truth.read("test", "positions", 0, 1), lambda: truth.clip("test", 0)):
        with pytest.raises(ValueError, match=r"the truth must be known of the films, got .*; give a data file"):
            ask()
    with pytest.raises(ValueError, match=r"clips must be at least one, between 0 and 3 .*, got 0 to 4"):
        truth.read_frames("test", 0, CLIPS + 1)


def test_the_part_of_a_data_file_that_is_the_truth_keeps_its_name(tmp_path):
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["training/features"] = SOFT.transpose(1, 0, 3, 4, 2)
        file["test/features"] = SOFT.transpose(1, 0, 3, 4, 2)[:, :1]
    np.save(tmp_path / "p.npy", SOFT)
    said = {"pred": tmp_path / "p.npy", "range": (0, 1), "axes": "BTCHW"}
    _, truth = open_one("train", **said, true=tmp_path / "t.h5")
    assert truth.parts == {"train": CLIPS}
    np.testing.assert_array_equal(truth.given.read(0, CLIPS), SOFT)
    _, truth = open_one("train", **said, true=tmp_path / "p.npy")
    assert truth.parts == {"test": CLIPS}


def test_each_of_both_films_has_its_own_array_and_the_part_is_of_both(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["training/features"] = SOFT.transpose(1, 0, 3, 4, 2)
        file["test/features"] = SOFT.transpose(1, 0, 3, 4, 2)[:, :1]
    np.savez(tmp_path / "p.npz", mine=SOFT, other=np.zeros(2))
    np.savez(tmp_path / "t.npz", theirs=HARD, other=np.zeros(2))
    words = {"range": (0, 1), "true": tmp_path / "t.npz", "true_array": "theirs", "true_axes": "BTCHW"}
    for said in (
        {"pred": tmp_path / "p.npz", "pred_array": "mine", "axes": "BTCHW"},
        {"pred": tmp_path / "d.h5"},
        {"pred": tmp_path / "d.h5", "pred_array": "training/features", "axes": "TBHWC"},
    ):
        predicted, truth = open_one("train", **words, **said)
        np.testing.assert_array_equal(predicted.read(0, CLIPS), SOFT)
        np.testing.assert_array_equal(truth.given.read(0, CLIPS), HARD)


def test_films_are_known_again_by_their_bytes(tmp_path):
    """As comparisons must: those of a folder by all that is in it."""
    folder = tmp_path / "png"
    folder.mkdir()
    for number, frame in enumerate(HARD[0, :, 0]):
        Image.fromarray(frame * 255).save(folder / f"{number}.png")
    np.save(tmp_path / "t.npy", HARD)
    other = HARD.copy()
    other[1, 2] = 1 - other[1, 2]
    changes = (
        (folder, lambda: (folder / "3.png").write_bytes((folder / "3.png").read_bytes() + b" ")),
        (tmp_path / "t.npy", lambda: np.save(tmp_path / "t.npy", other)),
    )
    for path, change in changes:
        said = {"value_range": (0, 1), "axes": "BTCHW"} if path.is_file() else {}
        seen = [GivenTruth(given(path, **said)).fingerprint() for _ in range(2)]
        change()
        seen.append(GivenTruth(given(path, **said)).fingerprint())
        assert seen[0] == seen[1] != seen[2]
        assert len(seen[0]) == 64


def test_films_that_are_taken_as_grey_are_others(tmp_path):
    iio.imwrite(tmp_path / "p.gif", np.repeat(SOFT[0].transpose(0, 2, 3, 1) * 255, 3, -1).astype(np.uint8))
    films = given(tmp_path / "p.gif")
    in_color = films.fingerprint()
    films.take_as_grey()
    assert films.fingerprint() != in_color


def test_films_that_are_read_in_another_way_are_others(tmp_path):
    np.savez(tmp_path / "p.npz", a=SOFT, b=SOFT)
    usual = {"value_range": (0, 1), "axes": "BTCHW", "array": "a"}
    prints = [given(tmp_path / "p.npz", **usual).fingerprint()]
    for other in ({}, {"value_range": (-1, 1)}, {"array": "b"}, {"axes": "TBCHW"}):
        prints.append(given(tmp_path / "p.npz", **usual | other).fingerprint())
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_axes_are_of_arrays_alone(tmp_path):
    """Those of predictions are given for the truth, too, which pictures do not need."""
    iio.imwrite(tmp_path / "p.gif", np.full((4, 5, 7), 200, np.uint8) * np.eye(4, dtype=np.uint8)[:, :1, None])
    prints = {given(tmp_path / "p.gif", axes=axes).fingerprint() for axes in (None, "BTCHW", "TBCHW")}
    assert len(prints) == 1


def test_a_damaged_file_is_a_failure_and_no_misuse(tmp_path):
    np.save(tmp_path / "p.npy", SOFT)
    (tmp_path / "p.npy").write_bytes((tmp_path / "p.npy").read_bytes()[:-9])
    with pytest.raises(FaultyFileError, match=r"--pred must be a whole array in NumPy.s format, got .*p.npy"):
        given(tmp_path / "p.npy", value_range=(0, 1), axes="BTCHW")


def test_words_about_nothing_are_refused():
    with pytest.raises(ValueError, match=r"--pred must be given for films made elsewhere, got --range; name the"):
        GivenConfig(range=(0, 1))
    with pytest.raises(ValueError, match="--true must be given with words about it, got --true-axes; a data file says"):
        GivenConfig(pred=(Path("p.npy"),), true_axes="TBHW")


@pytest.mark.parametrize("chunks", [None, (2, 2, 1, 3, 7)])
def test_arrays_of_hdf5_files_are_read_as_those_of_numpy(tmp_path, chunks):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file.create_dataset("deep/mine", data=SOFT, chunks=chunks)
        file["rate"] = 25  # a single number, and so no array
    one = given(tmp_path / "p.h5", value_range=(0, 1), axes="BTCHW")
    np.testing.assert_array_equal(one.read(0, CLIPS), SOFT)
    with h5py.File(tmp_path / "p.h5", "a") as file:
        file["other"] = np.stack([SOFT, SOFT / 2])
    with pytest.raises(ValueError, match="--pred-array must be given where a file holds several arrays, got none for"):
        given(tmp_path / "p.h5", value_range=(0, 1), axes="BTCHW")
    several = given(tmp_path / "p.h5", value_range=(0, 1), axes="NBTCHW", array="other")
    np.testing.assert_array_equal(several.read(1, CLIPS, sample=1), SOFT[1:] / 2)
    with pytest.raises(ValueError, match="--pred-array must be one of deep/mine, other, got odd"):
        given(tmp_path / "p.h5", value_range=(0, 1), axes="BTCHW", array="odd")


def numbers_of_12_bits() -> h5py.h5t.TypeID:
    kind = h5py.h5t.STD_U16LE.copy()
    kind.set_precision(12)
    kind.set_offset(4)  # as detectors write them: 16 times too large for who takes them for 16 bits
    return kind


def bfloat16() -> h5py.h5t.TypeID:
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    kind.set_precision(16)
    kind.set_ebias(127)
    return kind


@pytest.mark.parametrize(("kind", "most"), [(numbers_of_12_bits, 2**12 - 1), (bfloat16, 1)])
@pytest.mark.parametrize("chunks", [None, (2, 2, 1, 3, 7)])
def test_numbers_that_hdf5_keeps_otherwise_than_numpy_are_converted(tmp_path, kind, most, chunks):
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if chunks:
        plan.set_chunk(chunks)
    with h5py.File(tmp_path / "p.h5", "w") as file:
        space = h5py.h5s.create_simple(HARD.shape)
        array = h5py.Dataset(h5py.h5d.create(file.id, b"mine", kind(), space, plan))
        array[...] = HARD * np.float32(most)
    one = given(tmp_path / "p.h5", value_range=(0, most), axes="BTCHW")
    np.testing.assert_array_equal(one.read(0, CLIPS), HARD)


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
        open_one("test", pred=tmp_path / "p.npy", true=tmp_path / "p.h5", range=(0, 1), axes="BTCHW")


def test_an_array_of_a_data_file_may_be_meant_as_one(tmp_path):
    """By its name: then its range and axes must be said, as of any array."""
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["test/features"] = SOFT.transpose(1, 0, 3, 4, 2)
    films = given(tmp_path / "p.h5", value_range=(0, 1), axes="TBHWC", array="test/features")
    np.testing.assert_array_equal(films.read(0, CLIPS), SOFT)
    with pytest.raises(ValueError, match="--axes must be left out where no array is given, got TBHWC; pictures and"):
        open_one("test", pred=tmp_path / "p.h5", axes="TBHWC")


def test_what_is_said_of_arrays_holds_for_those_that_are(tmp_path):
    np.save(tmp_path / "a.npy", HARD[0])
    images = [Image.fromarray(frame * 255) for frame in HARD[0, :, 0]]
    images[0].save(tmp_path / "g.gif", save_all=True, append_images=images[1:], duration=100)
    array, gif = tmp_path / "a.npy", tmp_path / "g.gif"
    for pred, true in ((array, gif), (gif, array)):
        predicted, truth = open_one("test", pred=pred, true=true, range=(0, 1), axes="TCHW")
        assert truth is not None
        np.testing.assert_array_equal(predicted.read(0, 1), HARD[:1])
        np.testing.assert_array_equal(truth.given.read(0, 1), HARD[:1])
    for words in ({"range": (0, 1)}, {"axes": "TCHW"}, {"true_range": (0, 1)}, {"true_axes": "TCHW"}):
        flag = f"--{next(iter(words)).replace('_', '-')}"
        with pytest.raises(ValueError, match=f"{flag} must be left out where no array is given, got .*; pictures and"):
            open_one("test", pred=gif, true=gif, **words)
    with pytest.raises(
        ValueError, match="--true-range must be left out where no array is given, got 0 1; pictures and"
    ):
        open_one("test", pred=array, true=gif, range=(0, 1), axes="TCHW", true_range=(0, 1))


def test_the_true_films_own_words_are_named_as_they_were_typed(tmp_path):
    np.save(tmp_path / "p.npy", SOFT)
    np.save(tmp_path / "t.npy", HARD > 0)
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "range": (0, 1), "axes": "BTCHW"}
    with pytest.raises(ValueError, match=r"--true-axes must name each axis of the array, .*t\.npy, got 4 \(BTHW\)"):
        open_one("test", **said, true_axes="BTHW")
    with pytest.raises(ValueError, match=r"--true-range must be 0 1 .* in .*t\.npy; .* give --true-range 0 1$"):
        open_one("test", **said, true_range=(0, 255))
    with pytest.raises(ValueError, match=r"--pred-array must be left out, got mine for .*p\.npy; the file holds one"):
        open_one("test", **said, pred_array="mine")


def test_of_a_data_file_no_range_is_asked(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["test/features"] = (SOFT * 2).transpose(1, 0, 3, 4, 2)
    with pytest.raises(ValueError, match=r"--pred must hold numbers from 0 to 1, .*p\.h5; mend the films$"):
        given(tmp_path / "p.h5").read(0, 1)


def test_the_truth_has_the_axes_of_the_predictions_but_for_their_samples(tmp_path):
    np.save(tmp_path / "p.npy", np.stack([SOFT, 1 - SOFT]))
    np.save(tmp_path / "t.npy", HARD)
    said = {"pred": tmp_path / "p.npy", "true": tmp_path / "t.npy", "range": (0, 1), "axes": "NBTCHW"}
    predicted, truth = open_one("test", **said)
    assert (predicted.samples, truth.given.samples) == (2, 1)
    np.testing.assert_array_equal(truth.given.read(0, CLIPS), HARD)
