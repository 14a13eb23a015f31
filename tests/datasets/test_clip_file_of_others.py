"""Reading files that are not ours: R-NEM's originals, other arrays in such groups, and what is refused."""

import re

import h5py
import numpy as np
import pytest
from groups_of_others import write_group

from videopred.datasets.clip_file import ClipFile
from videopred.datasets.description import describe
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films
from videopred.datasets.verification import verify

LIT = np.random.default_rng(0).random((5, 7, 8, 10, 1)) < 0.3
"""(T, N, H, W, C) of an original file."""
FILM = np.zeros((5, 2, 8, 10, 1), bool)


@pytest.mark.parametrize(
    ("features", "level", "values"),
    [
        (LIT, 255, "binary, from bool"),
        (LIT * (128 / 255), 128, "grey levels, from float64"),
        (LIT * np.float16(77 / 255), 77, "grey levels, from float16"),
        (LIT.astype(np.float32), 255, "grey levels, from float32"),
        (LIT * np.float32(51) * np.float32(1 / 255), 51, "grey levels, from float32"),  # but nearly 51 / 255
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
    assert file.pixel_values() == values
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


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_collisions_and_events_of_any_kind_come_as_ours(tmp_path, dtype):
    events = np.random.default_rng(1).integers(2 if dtype is bool else 256, size=(5, 7, 1, 1, 1)).astype(dtype)
    kept = {"training__collisions": LIT.astype(dtype), "training__events": events}
    write_group(training__features=LIT, **kept)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    collisions, counts = (file.read("train", name, 2, 5) for name in ("collisions", "events"))
    assert (collisions.dtype, counts.dtype) == (bool, np.uint8)
    assert (collisions == LIT[:, 2:5, ..., 0].swapaxes(0, 1)).all()
    assert (counts == events[:, 2:5, 0, 0, 0].T).all()


def test_chunks_that_others_never_wrote_are_dark_and_nothing_is_wrong_with_them(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        array = file.create_dataset("training/features", (5, 3, 8, 10, 1), np.uint8, chunks=(5, 1, 8, 10, 1))
        array[:, 1:] = 9
    frames = ClipFile(tmp_path / "x.h5").read_frames("train", 0, 3)
    assert (not frames[0].any(), (frames[1:] == 9).all()) == (True, True)
    assert "can be read" in verify(ClipFile(tmp_path / "x.h5")).proved["whole"]


@pytest.mark.parametrize("wrong", [-1, 256, 0.5, np.nan])
@pytest.mark.parametrize(
    ("name", "told"),
    [("groups", "whole numbers from 0 to 255"), ("events", "whole numbers from 0 to 255"), ("collisions", "0 or 1")],
)
def test_truth_that_our_types_cannot_hold_is_refused(tmp_path, name, told, wrong):
    values = np.zeros(LIT.shape, type(wrong))
    values[1:, 0] = wrong
    write_group(training__features=LIT, **{f"training__{name}": values})(tmp_path / "x.h5")
    with pytest.raises(ValueError, match=rf"^DATA must hold {name} that are {told}, got {wrong} in"):
        ClipFile(tmp_path / "x.h5").read("train", name, 0, 1)


def test_truth_of_unknown_shape_is_left_out(tmp_path):
    write_group(
        training__features=LIT,
        training__groups=LIT[:, :6],  # of too few clips
        training__positions=np.zeros((5, 7, 4)),  # both coordinates of two balls in one axis
        training__velocities=np.zeros((7, 5, 2, 2)),  # clips first
        training__labels__kind=np.arange(7),
        training__labels__kinds=np.arange(5),
        training__rate=25.0,
    )(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.truth == ("labels/kind",)
    assert describe(file)["left_out"].startswith("groups, positions, velocities, of other axes or lengths than such")


def test_null_arrays_are_none(tmp_path):
    write_group(training__features=LIT, training__labels__none=h5py.Empty("f4"))(tmp_path / "x.h5")
    assert ClipFile(tmp_path / "x.h5").truth == ()


@pytest.mark.parametrize(
    ("odd", "complaint"),
    [
        (2, "DATA must hold features between 0 and 1 in every clip, as in the first, middle and last, got 0 to 2 in"),
        (-1, "DATA must hold features between 0 and 1 in every clip, as in the first, middle and last, got -1 to 1 in"),
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


@pytest.mark.parametrize("clip", [0, 3, 6])
def test_the_first_the_middle_and_the_last_clip_tell_what_whole_numbers_mean(tmp_path, clip):
    features = LIT.astype(np.int64)
    features[2, clip, 0, 0, 0] = 2
    write_group(training__features=features)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert not file.binary
    np.testing.assert_array_equal(file.read_frames("train", 0, 7), features.swapaxes(0, 1))


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
    assert describe(file)["repeated"] == "groups, positions, stored once (T = 1), repeated for each of 5 frames"


def test_words_are_left_out_and_that_is_said(tmp_path):
    words = {"training__labels__name": np.array([b"O1"] * 7), "training__labels__text": ["O1"] * 7}
    write_group(training__features=LIT, training__labels__kind=np.arange(7), **words)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.truth == ("labels/kind",)
    assert describe(file)["no_numbers"] == "labels/name, labels/text, left out"


def test_a_group_that_is_called_as_a_part_is_told(tmp_path):
    write_group(train__features=LIT, Valid__features=LIT, test__features=LIT, testing__features=LIT)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.parts == {"test": 7}
    told = "the group Valid; call it validation, the group train; call it training"
    assert describe(file)["unread"] == told


@pytest.mark.parametrize("shape", [(1, 7), (5, 7), (1, 7, 1, 1, 1), (5, 7, 1)])
def test_events_may_have_thin_axes_or_none(tmp_path, shape):
    events = np.random.default_rng(5).integers(3, size=shape)
    write_group(training__features=LIT, training__events=events)(tmp_path / "x.h5")
    read = ClipFile(tmp_path / "x.h5").read("train", "events", 0, 7)
    assert (read == np.broadcast_to(events.reshape(shape[:2]), (5, 7)).T).all()


def test_what_stands_once_for_other_clips_is_no_truth(tmp_path):
    for count in (6, 8):  # of 7 clips
        where = {"training__positions": np.zeros((1, count, 3, 2)), "training__groups": np.zeros((1, count, 8, 10))}
        write_group(training__features=LIT, **where)(tmp_path / f"{count}.h5")
        assert ClipFile(tmp_path / f"{count}.h5").truth == ()


@pytest.mark.parametrize("shape", [(5, 7, 8, 10, 3), (5, 7, 10, 8), (5, 7, 4, 5, 1), (7, 5, 8, 10, 1)])
def test_masks_of_other_pixels_are_left_out_and_said(tmp_path, shape):
    """One mask for each object, or with swapped axes, or smaller than the frames."""
    groups = np.ones(shape, np.uint8)
    places = np.full((5, 7, 2, 2), 4.5)
    write_group(training__features=LIT, training__groups=groups, training__positions=places)(tmp_path / "x.h5")
    file = ClipFile(tmp_path / "x.h5")
    assert file.truth == ("positions",)
    assert describe(file)["left_out"].startswith("groups, of other axes")


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
            write_group(training__features=FILM, test__features=FILM.astype(np.uint8)),
            "got ['bool', 'uint8'] in {path}; store all parts as uint8, or make a file with `videopred generate`",
        ),
        (
            write_group(training__features=FILM, test__features=FILM[:4]),
            "DATA must hold clips of one shape as features (T, N, H, W, C), time first, "
            "got [(5, 2, 8, 10, 1), (4, 2, 8, 10, 1)] in {path}; make a file with `videopred generate`, or bring in",
        ),
    ],
)
def test_foreign_and_broken_files_are_one_clear_line(tmp_path, write, complaint):
    write(tmp_path / "x.h5")
    with pytest.raises(ValueError, match=re.escape(complaint.format(path=tmp_path / "x.h5"))) as caught:
        ClipFile(tmp_path / "x.h5")
    assert re.search("`videopred (generate|import)`", str(caught.value))
    assert "\n" not in str(caught.value)


def test_frames_without_an_axis_for_channels_can_be_brought_in_as_is_said(tmp_path):
    write_group(training__features=LIT[..., 0], test__features=LIT[:, :2, ..., 0])(tmp_path / "x.h5")
    with pytest.raises(ValueError, match="with `videopred import ") as caught:
        ClipFile(tmp_path / "x.h5")
    said = "x.h5 --array train=training/features test=test/features --axes TBHW --out x-films.h5`"
    assert str(caught.value).endswith(said)
    config = ImportConfig(array=("train=training/features", "test=test/features"), axes="TBHW")
    path, _ = import_films(tmp_path / "x.h5", tmp_path / "x-films.h5", config)
    assert (ClipFile(path).read_frames("train", 0, 7).swapaxes(0, 1) == 255 * LIT).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_frames_are_256_levels_or_refused(tmp_path, dtype):
    levels = np.arange(256).reshape(2, 1, 8, 16, 1)
    write_group(training__features=(levels / 255).astype(dtype))(tmp_path / "x.h5")
    assert (ClipFile(tmp_path / "x.h5").read_frames("train", 0, 1)[0] == levels[:, 0]).all()
    off = 1.5 * np.finfo(dtype).eps  # more than rounding a level to this type may cost
    write_group(training__features=(levels / 255.5 + off).astype(dtype))(tmp_path / "y.h5")
    with pytest.raises(ValueError, match=rf"^DATA must hold float features that are 256 levels.*, got {off:.6g} in"):
        ClipFile(tmp_path / "y.h5").read_frames("train", 0, 1)


def test_float_frames_outside_0_to_1_are_refused_and_can_be_imported(tmp_path):
    film = np.full(FILM.shape, 1.5)
    film[1, 0] = -0.25
    write_group(training__features=film)(tmp_path / "x.h5")
    message = r"^DATA must hold float features between 0 and 1, got -0\.25 to 1\.5 in .*; convert its frames with"
    with pytest.raises(ValueError, match=message):
        ClipFile(tmp_path / "x.h5").read_frames("train", 0, 1)
    film[0, 0] = np.nan  # which no import converts
    write_group(training__features=film)(tmp_path / "nan.h5")
    with pytest.raises(ValueError, match=r"got nan to nan in .*; replace what is not finite"):
        ClipFile(tmp_path / "nan.h5").read_frames("train", 0, 1)
    config = ImportConfig(array=("train=training/features",), axes="TBHWC", range=(-0.25, 1.5))
    path, _ = import_films(tmp_path / "x.h5", tmp_path / "converted.h5", config)
    assert set(np.unique(ClipFile(path).read_frames("train", 0, 1))) == {0, 255}


@pytest.mark.parametrize(("black", "white"), [(-1, 1), (0, 2)])
def test_float_frames_that_leave_0_to_1_at_one_end_alone_are_refused(tmp_path, black, white):
    write_group(training__features=np.where(LIT, float(white), float(black)))(tmp_path / "x.h5")
    with pytest.raises(ValueError, match=f"hold float features between 0 and 1, got {black} to {white} in"):
        ClipFile(tmp_path / "x.h5").read_frames("train", 0, 1)


def test_a_name_that_the_layout_does_not_know_is_told(tmp_path):
    places = np.zeros((5, 7, 2, 2), np.float32)
    own = {
        "test__features": LIT,
        "test__position": places,
        "test__qqq": places,
        "test__objects__mass": places[0, ..., 0],
    }
    write_group(**own)(tmp_path / "x.h5")
    facts = describe(ClipFile(tmp_path / "x.h5"))
    assert facts["unknown"].startswith("position (did you mean positions?), qqq (nothing like it is known): no command")
    assert facts["truth"] == ["objects/mass", "position", "qqq"]
