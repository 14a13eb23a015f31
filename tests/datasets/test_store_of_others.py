"""Reading files that are not ours: R-NEM's originals, other arrays in such groups, and what is refused."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from videopred.datasets.description import describe
from videopred.datasets.store import ClipFile

LIT = np.random.default_rng(0).random((5, 7, 8, 10, 1)) < 0.3
"""(T, N, H, W, C) of an original file."""
FILM = np.zeros((5, 2, 8, 10, 1), bool)


def write_group(**datasets):
    """A writer of foreign files with these data sets in the group training."""

    def write(path: Path) -> None:
        with h5py.File(path, "w") as file:
            for name, data in datasets.items():
                file[name.replace("__", "/")] = data

    return write


@pytest.mark.parametrize(
    ("features", "level", "values"),
    [
        (LIT, 255, "binary, from bool"),
        (LIT * (128 / 255), 128, "grey levels, from float64"),
        (LIT * np.float16(77 / 255), 77, "grey levels, from float16"),
        (LIT.astype(np.float32), 255, "grey levels, from float32"),
        (LIT * np.uint8(200), 200, "grey levels, from uint8"),
        (LIT * np.int64(200), 200, "grey levels, from int64"),
        (LIT * np.uint8(1), 255, "binary, from uint8"),
        (LIT * np.int16(1), 255, "binary, from int16"),
    ],
)
def test_original_files_of_rnem_can_be_read(tmp_path, features, level, values):
    """Only `features` and `groups`, the latter as float, as in the authors' files."""
    path = tmp_path / "balls678mass64.h5"
    with h5py.File(path, "w") as file:
        for group in ("training", "validation"):
            file[f"{group}/features"] = features
            file[f"{group}/groups"] = LIT.astype(np.float32)
    file = ClipFile(path)
    assert (file.name, file.recipe, file.seed) == ("balls678mass64", None, None)
    assert file.parts == {"train": 7, "validation": 7}
    assert (file.frames, file.height, file.width, file.channels) == (5, 8, 10, 1)
    assert file.values() == values
    assert file.binary == values.startswith("binary")
    assert (file.context, file.horizon) == (2, 3)
    frames = file.read_frames("train", 1, 3)
    assert frames.dtype == np.uint8
    assert (frames == level * LIT[:, 1:3].swapaxes(0, 1)).all()
    with pytest.raises(
        ValueError, match=r"^DATA must hold the whole truth, as our own files do, got frames of another"
    ):
        file.clip("train", 0)
    facts = describe(file)
    assert facts["values"] == values
    assert facts["parts"]["train"] == {"clips": 7, "mean_intensity": pytest.approx(level / 255 * LIT.mean())}


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("axes", [(5, 7, 8, 10), (5, 7, 8, 10, 1)])
def test_groups_of_any_kind_come_as_ours(tmp_path, dtype, axes):
    groups = np.random.default_rng(1).integers(2 if dtype is bool else 9, size=(5, 7, 8, 10)).astype(dtype)
    write_group(training__features=LIT, training__groups=groups.reshape(axes))(tmp_path / "x.h5")
    read = ClipFile(tmp_path / "x.h5").read("train", "groups", 2, 5)
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, groups.swapaxes(0, 1)[2:5])


@pytest.mark.parametrize("wrong", [-1, 256, 0.5, np.nan])
def test_groups_that_count_nothing_are_refused(tmp_path, wrong):
    groups = np.zeros(LIT.shape, type(wrong))
    groups[1:, 0] = wrong
    write_group(training__features=LIT, training__groups=groups)(tmp_path / "x.h5")
    message = f"^DATA must hold groups that are whole numbers from 0 to 255, got {wrong} in"
    with pytest.raises(ValueError, match=message):
        ClipFile(tmp_path / "x.h5").read("train", "groups", 0, 1)


def test_truth_of_unknown_shape_is_left_out(tmp_path):
    write_group(
        training__features=LIT,
        training__groups=LIT[:, :6],  # of too few clips
        training__positions=np.zeros((5, 7, 4)),  # both coordinates of two balls in one axis
        training__velocities=np.zeros((7, 5, 2, 2)),  # clips first
        training__labels__kind=np.arange(7),
        training__labels__kinds=np.arange(5),
    )(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.truth == ("labels/kind", "positions")
    assert file.read("train", "positions", 0, 3).shape == (3, 5, 4)


@pytest.mark.parametrize(
    ("odd", "complaint"),
    [
        (2, "DATA must hold features between 0 and 1, as those do that were looked at first, got 0 to 2 in"),
        (-1, "DATA must hold features between 0 and 1, as those do that were looked at first, got -1 to 1 in"),
    ],
)
def test_whole_numbers_that_change_their_meaning_are_refused_when_they_are_read(tmp_path, odd, complaint):
    features = LIT.astype(np.int64)
    features[2, 4, 0, 0, 0] = odd  # neither in the first, the middle nor the last clip
    write_group(training__features=features)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    file.read_frames("train", 0, 4)
    with pytest.raises(ValueError, match="^" + re.escape(complaint)):
        file.read_frames("train", 4, 5)


@pytest.mark.parametrize("groups", [(1, 7, 8, 10), (1, 7, 8, 10, 1)])
def test_what_stands_once_is_given_for_each_frame_and_said(tmp_path, groups):
    still = np.random.default_rng(2).integers(9, size=groups)
    where = np.random.default_rng(3).normal(size=(1, 7, 3, 2))
    write_group(training__features=LIT, training__groups=still, training__positions=where)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.truth == ("groups", "positions")
    read = file.read("train", "groups", 2, 6)
    assert (read.shape, read.dtype) == ((4, 5, 8, 10), np.uint8)
    assert (read == still.reshape(7, 1, 8, 10)[2:6]).all()
    assert (file.read("train", "positions", 2, 6) == where[0, 2:6, None]).all()
    assert describe(file)["repeated"] == "groups, positions, kept with T = 1, for each of 5 frames"


def test_truth_is_what_all_parts_hold(tmp_path):
    parts = {"training__features": LIT, "validation__features": LIT[:, :3]}
    write_group(**parts, validation__groups=LIT[:, :3], training__positions=np.zeros((5, 7, 2, 2)))(tmp_path / "x.h5")
    assert ClipFile(tmp_path / "x.h5").truth == ()
    write_group(**parts, validation__groups=LIT[:, :3], training__groups=LIT)(tmp_path / "x.h5")
    assert ClipFile(tmp_path / "x.h5").truth == ("groups",)


@pytest.mark.parametrize(
    ("write", "complaint"),
    [
        (lambda path: path.write_text("not HDF5"), "DATA must be a whole, undamaged HDF5 file, got"),
        (lambda path: path.write_bytes(b""), "DATA must be a whole, undamaged HDF5 file, got"),
        (write_group(other=FILM), "DATA must hold some of the groups training, validation, test, got none of them"),
        (write_group(training=FILM), "DATA must hold features (T, N, H, W, C) that are numbers, got none in training"),
        (write_group(training__groups=FILM), "DATA must hold features (T, N, H, W, C) that are numbers, got none in"),
        (write_group(training__features=FILM[0]), "DATA must hold features (T, N, H, W, C) that are numbers, got <HD"),
        (
            write_group(training__features=FILM[:1]),
            "for there is nothing to predict in one, got features (1, 2",
        ),
        (write_group(training__features=FILM * 1j), "DATA must hold features (T, N, H, W, C) that are numbers, got <"),
        (write_group(training__features=FILM - 3), "DATA must hold features between 0 and 255, got -3 to 0 in"),
        (write_group(training__features=FILM + 256), "DATA must hold features between 0 and 255, got 0 to 256 in"),
        (
            write_group(training__features=FILM, test__features=FILM * 1),
            "DATA must hold features of one kind, got ['bool', 'int64'] in",
        ),
        (
            write_group(training__features=FILM, test__features=FILM[:4]),
            "DATA must hold clips of one shape, got [(4, 8, 10, 1), (5, 8, 10, 1)]",
        ),
    ],
)
def test_foreign_and_broken_files_are_one_clear_line(tmp_path, write, complaint):
    write(tmp_path / "x.h5")
    with pytest.raises(ValueError, match=re.escape(complaint)) as caught:
        ClipFile(tmp_path / "x.h5")
    assert "`videopred generate`" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_frames_are_256_levels_or_refused(tmp_path, dtype):
    levels = np.arange(256).reshape(2, 1, 8, 16, 1)
    write_group(training__features=(levels / 255).astype(dtype))(tmp_path / "x.h5")
    assert (ClipFile(tmp_path / "x.h5").read_frames("train", 0, 1)[0] == levels[:, 0]).all()
    off = 1.5 * np.finfo(dtype).eps  # more than rounding a level to this type may cost
    write_group(training__features=(levels / 255.5 + off).astype(dtype))(tmp_path / "y.h5")
    with pytest.raises(ValueError, match=rf"^DATA must hold float features that are 256 levels.*, got {off:.6g} in"):
        ClipFile(tmp_path / "y.h5").read_frames("train", 0, 1)


def test_float_frames_outside_0_to_1_are_refused(tmp_path):
    film = np.full(FILM.shape, 1.5)
    film[1, 0] = -0.25
    write_group(training__features=film)(tmp_path / "x.h5")
    with pytest.raises(ValueError, match=r"^DATA must hold float features between 0 and 1, got -0\.25 to 1\.5 in"):
        ClipFile(tmp_path / "x.h5").read_frames("train", 0, 1)
