"""Arrays of a file that holds several: each by its name, one for each part, or many as the clips of one part."""

import errno
import re
import tempfile
import zipfile
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from film_samples import COLOR, GREY, B, H, T, W, read
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_runs import no_file_longer_than

from videopred.datasets import open_dataset
from videopred.datasets.film_formats import read_films
from videopred.datasets.foreign_films import whole_source
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.importing import import_films

ACTIONS = np.zeros((B, T, 2))


def save(path, arrays: dict, **kept):
    """Arrays under their names, in the format of the path's suffix; `kept` says how HDF5 keeps them."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, **kept)
    return path


def all_clips(path, **config) -> tuple[dict[str, np.ndarray], dict]:
    """Part -> its clips (B, T, H, W, C), and what was found out."""
    films = read_films(path, ImportConfig(**config))
    clips = {
        part: np.stack([films.record(part, clip)["features"] for clip in range(count)])
        for part, count in films.parts.items()
    }
    return clips, dict(films.found)


@given(
    axes=st.permutations("BTHWC"),
    kept=st.sampled_from([{}, {"chunks": True, "compression": "gzip"}]),
    kind=st.sampled_from(["grey", "color", "bool"]),
    suffix=st.sampled_from(["h5", "hdf5", "H5"]),
)
@settings(max_examples=25)
def test_an_hdf5_array_in_any_order_of_axes(tmp_path_factory, axes, kept, kind, suffix):
    films = {"grey": GREY, "color": COLOR, "bool": GREY > 127}[kind]
    path = tmp_path_factory.mktemp("array") / f"films.{suffix}"
    array = films.transpose(["BTHWC".index(letter) for letter in axes])
    save(path, {"a/frames": array, "b": np.zeros(3)}, **kept)
    clips, found = read(path, axes="".join(axes), array=("a/frames",))
    assert clips.dtype == films.dtype
    assert np.array_equal(clips, films)
    assert (found["format"], found["axes"]) == ("HDF5 array a/frames of 2", "".join(axes))


@pytest.mark.parametrize(("suffix", "kind"), [(".h5", "HDF5"), (".npz", "NumPy")])
def test_the_only_array_of_a_file_needs_no_name(tmp_path, suffix, kind):
    """Single numbers beside it are none."""
    clips, found = read(save(tmp_path / f"f{suffix}", {"x": GREY[1, ..., 0], "fps": np.float64(25)}), "validation")
    assert np.array_equal(clips, GREY[1:2])
    assert (found["format"], found["axes"]) == (f"{kind} array x of 1", "THW, the only ones possible for three")


def test_an_hdf5_array_that_is_kept_as_it_is_takes_no_place_on_the_disk(tmp_path, monkeypatch):
    """Big endian, too, and behind a block of somebody's own."""
    with h5py.File(tmp_path / "f.h5", "w", userblock_size=512) as file:
        file["first"] = ACTIONS
        file["films"] = GREY.astype(">u2")
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    clips, _ = read(tmp_path / "f.h5", axes="BTHWC", array=("films",), range=(0, 255))
    assert np.array_equal(clips, GREY)


@pytest.mark.parametrize("name", ["f.npz", "f.h5"])
def test_no_room_to_unpack_an_array_is_one_clear_line(tmp_path, name):
    source = save(tmp_path / name, {"x": np.zeros((900, H, W), np.uint8)}, compression=1)
    said = f"TMPDIR must be a folder that can be written, got {tempfile.gettempdir()} (File too large); free some space"
    with no_file_longer_than(5000), pytest.raises(OSError, match="^" + re.escape(said)):
        read(source)


@pytest.mark.parametrize("name", ["f.npz", "f.h5"])
def test_room_is_asked_for_before_anything_is_unpacked(tmp_path, monkeypatch, name):
    source = save(tmp_path / name, {"x": np.zeros((900, H, W), np.uint8)}, compression=1)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=5000))
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    said = f"TMPDIR must be a folder with room for 72 kB, which an array in {source} unpacks to, got 5 kB in "
    with pytest.raises(OSError, match="^" + re.escape(f"{said}{tempfile.gettempdir()}; free some space there, or")):
        read(source)


def test_a_disk_that_fails_under_the_source_is_not_that_of_the_temporary_folder(tmp_path, monkeypatch):
    source, plain = save(tmp_path / "f.npz", {"x": np.zeros((900, H, W), np.uint8)}), zipfile.ZipExtFile.read

    def read_little(self: zipfile.ZipExtFile, size: int = -1) -> bytes:
        if size > 1000:
            raise OSError(errno.EIO, "Input/output error")
        return plain(self, size)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", read_little)
    with pytest.raises(OSError, match=r"f\.npz must be readable, got Input/output error; look after its disk"):
        read(source)


def test_a_source_on_a_disk_that_fails_is_not_called_damaged(tmp_path):
    message = r"f\.npz must be readable, got Input/output error; look after its disk"
    with pytest.raises(OSError, match=message), whole_source(tmp_path / "f.npz", (OSError,), "be sound", "mend it"):
        raise OSError(errno.EIO, "Input/output error")


def test_an_array_that_is_said_to_be_huge_writes_nothing(tmp_path, monkeypatch):
    """HDF5 gives zeros for all of it that no file holds."""
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", (10**12, H, W), np.uint8, chunks=(1000, H, W))
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=10**12))
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    with pytest.raises(OSError, match=r"^TMPDIR must be a folder with room for 80 TB, which an array in .*f\.h5 unp"):
        read(tmp_path / "f.h5")


@pytest.mark.parametrize("name", ["f.npz", "f.h5"])
@pytest.mark.parametrize("axes", ["BTHW", "TBHW"])
def test_an_array_for_each_part(tmp_path, name, axes):
    arrays = {"act": ACTIONS, "late": GREY[2:, ..., 0], "early": GREY[:2, ..., 0]}
    arrays |= {kind: array.swapaxes(0, 1) for kind, array in arrays.items() if axes == "TBHW" and kind != "act"}
    clips, found = all_clips(save(tmp_path / name, arrays), axes=axes, array=("test=late", "train=early"))
    assert list(clips) == ["train", "test"]
    assert np.array_equal(clips["train"], GREY[:2])
    assert np.array_equal(clips["test"], GREY[2:])
    assert found["clips"] == "2 train, 1 test"
    assert (found["format"].split(" ", 2)[2], found["axes"]) == ("arrays of 3", axes)
    assert "part" not in found


def test_parts_reach_the_data_file(tmp_path):
    source = save(tmp_path / "f.h5", {"a": GREY[:2], "b": GREY[2:]}, compression="gzip")
    config = ImportConfig(axes="BTHWC", array=("train=a", "validation=b"))
    path, found = import_films(source, tmp_path / "ours.h5", config)
    file = open_dataset(path)
    assert file.parts == {"train": 2, "validation": 1}
    assert np.array_equal(file.read_frames("train", 0, 2), GREY[:2])
    assert np.array_equal(file.read_frames("validation", 0, 1), GREY[2:])
    assert found["clips"] == "2 train, 1 validation"


def test_only_a_star_stands_for_something_else(tmp_path):
    source = save(tmp_path / "f.h5", {f"{name}[{n}]?/x": GREY[n] for name in ("late", "tall") for n in (0, 1)})
    clips, _ = read(source, axes="THWC", array=("late[*]?/*",))
    assert np.array_equal(clips, GREY[:2])
    with pytest.raises(ValueError, match=r"^--array must fit the name of an array, got [?]ate\*/x for "):
        read(source, axes="THWC", array=("?ate*/x",))


def test_an_array_of_several_names_is_one(tmp_path):
    """As where a link leads to the latest; each name can be given."""
    clips = {f"data/v{number}/frames": np.full((T, H, W, 3), number, np.uint8) for number in (1, 2)}
    source = save(tmp_path / "f.h5", clips)
    with h5py.File(source, "a") as file:
        file["data/latest"], file["data/same"] = h5py.SoftLink("/data/v2"), file["data/v2"]
    assert len(read(source, axes="THWC", array=("data/*/frames",))[0]) == 2
    assert read(source, axes="THWC", array=("data/latest/frames",))[0].min() == 2
    with h5py.File(source, "a") as file:
        del file["data/v1"]
    assert len(read(source, axes="THWC")[0]) == 1


def test_a_star_stands_for_arrays_of_a_clip_each_in_the_order_of_their_numbers(tmp_path):
    """More of them than stay open, as recordings of a robot are kept."""
    order = [10, 2, 9, 1, 30, 4, 33]
    demos = {f"data/demo_{number}/frames": np.full((T, H, W, 3), number, np.uint8) for number in order}
    others = {f"data/demo_{number}/actions": ACTIONS for number in order}
    source = save(tmp_path / "f.h5", demos | others, chunks=True)
    clips, found = read(source, axes="THWC", array=("data/*/frames",))
    assert clips[:, 0, 0, 0, 0].tolist() == sorted(order)
    assert found["format"] == "7 HDF5 arrays of 14"


@pytest.mark.parametrize("dark", ["test", None])
def test_a_part_that_takes_little_of_the_range_is_remarked(tmp_path, dark):
    arrays = {"a": GREY, "b": GREY // 128 if dark else GREY}
    _, found = all_clips(save(tmp_path / "f.h5", arrays), axes="BTHWC", array=("train=a", "test=b"))
    assert found.get("note") == (dark and "test goes from 0 to 1, of a range from 0 to 255")
    arrays["b"] = np.zeros_like(GREY)  # of which nothing can be told
    assert "note" not in all_clips(save(tmp_path / "g.h5", arrays), axes="BTHWC", array=("train=a", "test=b"))[1]


def test_a_star_within_a_part(tmp_path):
    source = save(tmp_path / "f.h5", {"a/2": GREY[1:], "a/1": GREY[:1], "b": GREY[1:]})
    clips, _ = all_clips(source, axes="BTHWC", array=("train=a/*", "test=b"))
    assert np.array_equal(clips["train"], GREY)
    assert np.array_equal(clips["test"], GREY[1:])


def test_a_data_file_is_none_of_films_of_others_unless_an_array_is_named(tmp_path):
    soft = GREY.swapaxes(0, 1) / 300
    source = save(tmp_path / "f.h5", {"test/features": soft, "test/groups": soft})
    with pytest.raises(ValueError, match=r"^SOURCE must be films of others, got .*f\.h5, a data file; give it to"):
        read_films(source)
    clips, _ = read(source, axes="TBHWC", array=("test/features",))
    assert np.array_equal(clips, np.rint(GREY * (255 / 300)))


@pytest.mark.parametrize(
    ("arrays", "config", "complaint"),
    [
        ({"a": GREY, "b": ACTIONS}, {}, "--array must be given where a file holds several arrays, got none for "),
        ({"a": GREY, "b": ACTIONS}, {}, " with a (3, 5, 8, 10, 1) uint8, b (3, 5, 2) float64; name one of them"),
        ({"a": GREY, "bat": GREY}, {"array": ("bet",)}, "--array must be one of a, bat, got bet; did you mean bat?"),
        ({"a": GREY}, {"array": ("train=b",)}, "--array must be one of a, got b; choose one of these"),
        ({"a": GREY, "b": GREY}, {"array": ("c*",)}, "--array must fit the name of an array, got c* for "),
        (
            {"ab": GREY, "b": GREY},
            {"array": ("train=*", "test=a*")},
            "--array must name each once, got ab twice; ",
        ),
        ({"a": np.zeros((2, T, H, W, 6))}, {}, "--axes must be given for 5 axes, which may be BTHWC or TBHWC or "),
        ({"a": GREY}, {"axes": "BTHW"}, "--axes must name each axis of the array, (3, 5, 8, 10, 1) in "),
        ({"a": GREY, "b": ACTIONS}, {"array": ("*",), "axes": "BTHWC"}, "array, (3, 5, 2) in b in "),
        ({"a": GREY, "b": COLOR}, {"array": ("*",), "axes": "BTHWC"}, "got 8 x 10 x 3 uint8 in frame 0 of clip 0 of b"),
        ({"a": GREY, "b": GREY[:, 1:]}, {"array": ("*",), "axes": "BTHWC"}, "clips of one length, got 5 frames in "),
        ({"a": GREY, "b": GREY[:0]}, {"array": ("*",), "axes": "BTHWC"}, "not empty, got (0, 5, 8, 10, 1) in b in "),
        ({}, {}, "SOURCE must hold an array, got none in "),
        ({"a": np.zeros((0, T, H, W))}, {"axes": "BTHW"}, "SOURCE must hold an array that is not empty, got (0, 5, 8"),
    ],
)
def test_what_is_wrong_is_one_clear_line(tmp_path, arrays, config, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)) as caught:
        read_films(save(tmp_path / "f.h5", arrays), ImportConfig(**config))
    assert "\n" not in str(caught.value)


def test_a_name_may_hold_a_sign_of_equality():
    array = ImportConfig(array=("test=lr=0.1", "train=lr=1")).array_of_part
    assert list(array.items()) == [("train", "lr=1"), ("test", "lr=0.1")]


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"array": ("a", "b")}, "--array must be one name, or one for each part, as in train=NAME test=NAME, got a b"),
        ({"array": ("train=a", "val=b")}, "got train=a val=b; say which part each of them is"),
        ({"array": ("train=a", "train=b")}, "got train=a train=b; say which part each of them is"),
        ({"array": ("train=a",), "part": "test"}, "--part must be left out where --array names parts, got test; leave"),
    ],
)
def test_names_that_mean_nothing(config, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        ImportConfig(**config)
