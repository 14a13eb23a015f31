"""Reading our own files: the layout that others rely on, and damaged ones."""

import errno
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from small_worlds import SMALL, small
from tiny_runs import no_more_files_than

from videopred import check
from videopred.datasets import description, make_world
from videopred.datasets.clip import clip_seed
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.description import describe
from videopred.datasets.generation import generate
from videopred.software import SOFTWARE

T, H, W = SMALL.values()
N, K = 18, 6


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """A file of 18 training and 5 test clips of 2 or 6 balls."""
    recipe = small("balls4", balls=(2, 6))
    return generate("balls4", {"train": N, "test": 5}, seed=3, out=tmp_path_factory.mktemp("store"), recipe=recipe)


def test_the_layout_is_that_of_rnem(path):
    layout = {
        "features": ("bool", (T, N, H, W, 1)),
        "groups": ("uint8", (T, N, H, W, 1)),
        "collisions": ("bool", (T, N, H, W, 1)),
        "events": ("uint8", (T, N, 1, 1, 1)),
        "positions": ("float32", (T, N, K, 2)),
        "velocities": ("float32", (T, N, K, 2)),
        "visibility/fraction": ("float16", (T, N, K)),
        "objects/active": ("bool", (N, K)),
        "objects/mass": ("float32", (N, K)),
        "objects/radius": ("float32", (N, K)),
        "contact_offsets": ("int64", (N + 1,)),
        "seed": ("uint64", (N,)),
        "index": ("int64", (N,)),
    }
    with h5py.File(path) as file:
        assert sorted(file) == ["test", "training"]
        assert file.attrs["format"] == "videopred/1"
        assert file.attrs["axes"] == "TNHWC"
        group = file["training"]
        for name, (dtype, shape) in layout.items():
            assert (str(group[name].dtype), group[name].shape) == (dtype, shape), name
            assert (group[name].compression, group[name].compression_opts) == ("gzip", 1), name
            clips = 1 if name in ("features", "groups", "collisions") else 16
            assert shape[:2] != (T, N) or group[name].chunks == (shape[0], clips, *shape[2:]), name
        assert group["contact_offsets"][-1] == len(group["contacts"])
        assert group["index"][:].tolist() == list(range(N))
        words = [clip_seed(3, "train", index).generate_state(1, np.uint64)[0] for index in range(N)]
        assert group["seed"][:].tolist() == words


def test_nothing_in_a_file_says_when_it_was_made(path):
    """Else equal recipes would give other bytes a second later."""
    with h5py.File(path) as file:
        times = {}
        file.visititems(lambda name, item: times.update({name: h5py.h5g.get_objinfo(item.id).mtime}))
    assert "training/features" in times
    assert set(times.values()) == {0}


def test_a_file_says_what_it_is(path):
    file = ClipFile(path)
    assert (file.path, file.name, file.seed) == (path, "balls4", 3)
    assert file.recipe == small("balls4", balls=(2, 6))
    assert (file.context, file.horizon) == (file.recipe.context, file.recipe.horizon) == (3, 4)
    assert file.parts == {"train": N, "test": 5}
    assert (file.frames, file.height, file.width, file.channels) == (T, H, W, 1)
    assert file.binary


def test_binary_frames_are_handed_out_as_0_and_255(path):
    frames = ClipFile(path).read_frames("train", 4, 9)
    assert (frames.shape, frames.dtype) == ((5, T, H, W, 1), np.uint8)
    with h5py.File(path) as file:
        stored = file["training/features"][:, 4:9]
    assert (frames == 255 * stored.swapaxes(0, 1).astype(int)).all()


def test_a_clip_without_contacts_has_an_empty_table(tmp_path):
    recipe = small("balls4", balls=(1,), speed=1e-6)
    path = generate("slow", {"train": 2}, out=tmp_path, recipe=recipe)
    assert len(ClipFile(path).clip("train", 1).contacts) == 0


def test_one_kind_of_truth_can_be_read_alone(path):
    file = ClipFile(path)
    assert "positions" in file.truth
    assert "features" not in file.truth
    clips = [file.clip("train", index) for index in range(4, 9)]
    expected = {
        "groups": [clip.masks for clip in clips],
        "collisions": [clip.collisions for clip in clips],
        "events": [clip.events for clip in clips],
        "positions": [clip.positions for clip in clips],
        "visibility/fraction": [clip.visibility for clip in clips],
        "objects/mass": [clip.objects["mass"] for clip in clips],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(file.read("train", name, 4, 9), np.stack(values))
    with pytest.raises(ValueError, match=r"^the truth must be one of .*positions.*, got position; did you mean pos"):
        file.read("train", "position", 0, 1)


def test_a_file_can_be_pickled_closed_and_used_again(path):
    with ClipFile(path) as file:
        frames = file.read_frames("test", 0, 5)
        copy = pickle.loads(pickle.dumps(file))
    assert (copy.read_frames("test", 0, 5) == frames).all()
    assert (file.read_frames("test", 0, 5) == frames).all()


def test_a_file_is_found_again_by_a_program_that_changed_its_folder(path, tmp_path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with ClipFile(path.name) as file:
        whole, mark = file.read_frames("train", 0, 2), file.fingerprint()
    monkeypatch.chdir(tmp_path)
    with file:
        np.testing.assert_array_equal(file.read_frames("train", 0, 2), whole)
        assert (file.fingerprint(), str(file.path)) == (mark, path.name)


def test_a_process_never_uses_the_handle_of_another(path, monkeypatch):
    file = ClipFile(path)
    frames = file.read_frames("test", 0, 5)
    handle, arrays = file.arrays._handle, list(file.arrays._arrays.values())
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert (file.read_frames("test", 0, 5) == frames).all()
    assert file.arrays._handle is not handle
    assert not any(array is other for array in arrays for other in file.arrays._arrays.values())


def test_a_file_that_is_cut_off_while_it_is_open_is_refused(tmp_path):
    """HDF5 reads what is beyond the end of a file as zeros."""
    place, frames = tmp_path / "k.h5", np.ones((5, 7, 24, 32, 1), np.float32)
    with h5py.File(place, "w") as file:
        file["training/features"] = frames  # as R-NEM stores them: not compressed
    opened = ClipFile(place)
    assert (opened.read_frames("train", 0, 2) == 255).all()
    os.truncate(place, place.stat().st_size // 2)
    with pytest.raises(
        ValueError, match=r"DATA must be the file that was opened, got .*k\.h5, which has been replaced"
    ):
        opened.read_frames("train", 2, 4)


def test_a_disk_that_fails_is_no_damage(path, monkeypatch):
    def fails(*anything: object, **how: object) -> None:
        raise OSError(errno.EIO, "Can't read data")

    opened = ClipFile(path)
    opened.read_frames("test", 0, 1)
    monkeypatch.setattr(h5py.Dataset, "read_direct", fails)
    with pytest.raises(OSError, match=r"\.h5 must be readable, got Input/output error; look after its disk, and give"):
        opened.read_frames("test", 1, 2)


def test_a_file_that_another_program_writes_into_is_no_damage(path, tmp_path, monkeypatch):
    monkeypatch.delenv("HDF5_USE_FILE_LOCKING", raising=False)
    code = (
        f"import h5py, sys; file = h5py.File({str(tmp_path / 'busy.h5')!r}, 'r+'); print(flush=True); sys.stdin.read()"
    )
    shutil.copy(path, tmp_path / "busy.h5")
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(OSError, match=r"busy\.h5 must be closed by other programs, got one that writes"):
            ClipFile(tmp_path / "busy.h5")
        other.kill()
    assert ClipFile(tmp_path / "busy.h5").parts == {"train": N, "test": 5}


def test_a_description_counts_what_is_there(path):
    facts = describe(ClipFile(path))
    made = list(make_world(small("balls4", balls=(2, 6))).clips(3, "train", range(N)))
    assert facts["parts"]["train"] == {
        "clips": N,
        "mean_intensity": pytest.approx(np.mean([clip.masks > 0 for clip in made])),
        "objects_per_clip": pytest.approx(np.mean([np.isfinite(clip.positions[0, :, 0]).sum() for clip in made])),
        "contacts_per_clip": pytest.approx(np.mean([len(clip.contacts) for clip in made])),
        "frames_predictable": T,  # so short a clip loses nothing
    }
    assert facts["values"] == "binary"
    assert facts["bytes"] == path.stat().st_size
    assert facts["recipe"]["balls"] == [2, 6]
    assert {"groups", "positions", "objects/mass"} <= set(facts["truth"])
    assert not facts.keys() & {"imported", "unknown"}


def test_a_description_says_of_all_clips_of_each_part_how_long_they_can_be_predicted(path, monkeypatch):
    grown = {("train", N): 4, ("test", 5): 7}
    monkeypatch.setattr(description, "error_growth", lambda file, *words: grown[words])
    monkeypatch.setattr(description, "frames_predictable", lambda growth: growth)
    parts = describe(ClipFile(path))["parts"]
    assert {name: facts["frames_predictable"] for name, facts in parts.items()} == {"train": 4, "test": 7}


def test_a_missing_file_names_the_command_that_makes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^DATA must be an existing file, got .* make one with `videopred gen"):
        ClipFile(tmp_path / "anything.h5")
    with pytest.raises(FileNotFoundError, match="`videopred generate sm-mnist`"):
        ClipFile(tmp_path / "sm-mnist.h5")


def test_another_file_in_its_place_is_refused_when_it_is_opened_again(path, tmp_path):
    """Also in workers, and where it has the same clips: whoever asks may hold what the first one said."""
    place = tmp_path / "x.h5"
    place.write_bytes(path.read_bytes())
    closed, opened = ClipFile(place), ClipFile(place)
    frames = opened.read_frames("train", 0, 2)
    (tmp_path / "y.h5").write_bytes(path.read_bytes())
    (tmp_path / "y.h5").replace(place)
    assert (opened.read_frames("train", 0, 2) == frames).all()  # of the first one, which is still open
    must = r"^DATA must be the file that was opened, got .*x\.h5, which has been replaced or changed since; put"
    for read in (
        lambda: closed.read_frames("train", 0, 2),
        lambda: pickle.loads(pickle.dumps(opened)).read_frames("train", 0, 2),
        opened.fingerprint,
    ):
        with pytest.raises(ValueError, match=must):
            read()
    assert (ClipFile(place).read_frames("train", 0, 2) == frames).all()


def test_a_file_that_is_gone_is_not_called_damaged(path, tmp_path):
    place = tmp_path / "x.h5"
    place.write_bytes(path.read_bytes())
    closed, opened = ClipFile(place), ClipFile(place)
    opened.read_frames("train", 0, 2)
    place.unlink()
    for read in (lambda: closed.read_frames("train", 0, 2), opened.fingerprint):
        with pytest.raises(FileNotFoundError, match=r"^DATA must be an existing file, got .*x\.h5 \(nothing there\); "):
            read()


def test_in_files_of_ours_nothing_stands_once(path, tmp_path):
    (tmp_path / "x.h5").write_bytes(path.read_bytes())
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        first = file["training/groups"][:1]
        del file["training/groups"]
        file["training/groups"] = first
    assert "groups" in ClipFile(path).truth
    cut = ClipFile(tmp_path / "x.h5")
    assert "groups" not in cut.truth
    assert "repeated" not in cut.remarks
    with pytest.raises(ValueError, match=r"^DATA must hold the whole truth, as our own files do, got no groups in "):
        describe(cut)


def test_a_truncated_file_is_one_clear_line(path, tmp_path):
    content = path.read_bytes()
    for share in (0.1, 0.5, 0.99):
        (tmp_path / "cut.h5").write_bytes(content[: int(share * len(content))])
        with pytest.raises(
            ValueError, match=r"^DATA must be a whole, undamaged HDF5 file, got .*cut\.h5 \(.*; make it"
        ):
            ClipFile(tmp_path / "cut.h5")


def test_a_flipped_bit_among_the_frames_is_noticed_or_changes_no_frame(path, tmp_path):
    with h5py.File(path) as file:
        chunk = file["training/features"].id.get_chunk_info(7)
    frames, complaints = ClipFile(path).read_frames("train", 0, 8), []
    for place, bit in ((place, bit) for place in (2, chunk.size // 3, chunk.size // 2) for bit in range(8)):
        content = bytearray(path.read_bytes())
        content[chunk.byte_offset + place] ^= 1 << bit
        (tmp_path / "flipped.h5").write_bytes(content)
        with ClipFile(tmp_path / "flipped.h5") as file:
            np.testing.assert_array_equal(file.read_frames("train", 0, 7), frames[:7])
            try:
                np.testing.assert_array_equal(file.read_frames("train", 0, 8), frames)
            except ValueError as error:
                complaints.append(str(error))
    assert len(complaints) >= 12
    expected = re.compile(r"DATA must be a whole, undamaged HDF5 file, got .*; make it again")
    assert all(map(expected.match, complaints))


def test_damage_of_what_is_said_of_arrays_is_no_fault_of_ours(path, tmp_path):
    """Most of it has checksums; HDF5's index of chunks has none."""
    whole, packed = bytearray(path.read_bytes()), set()
    with ClipFile(path) as file:
        for part in file.parts:
            for array in file.arrays.of_part(part).values():
                chunks = range(array.id.get_num_chunks()) if array.chunks else ()
                for info in map(array.id.get_chunk_info, chunks):
                    packed.update(range(info.byte_offset, info.byte_offset + info.size))
    chance, refused = np.random.default_rng(4), 0
    for place in chance.choice(sorted(set(range(len(whole))) - packed), 160, replace=False):
        content = whole.copy()
        content[place] ^= 1 << int(chance.integers(8))
        (tmp_path / "flipped.h5").write_bytes(content)
        try:
            with ClipFile(tmp_path / "flipped.h5") as file:
                file.fingerprint()
                for part in file.parts:
                    list(file.arrays.unpack(part))
        except check.FailedError as error:
            refused += "flipped.h5" in str(error)
    assert refused >= 15


def test_a_fingerprint_that_unpacks_values_refuses_damaged_ones(path, tmp_path):
    copy = shutil.copy(path, tmp_path / "theirs.h5")
    with h5py.File(copy, "r+") as file:
        del file.attrs["recipe"]
        chunk = file["test/features"].id.get_chunk_info(1)
    content = bytearray(copy.read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 4
    copy.write_bytes(content)
    with (
        ClipFile(copy) as file,
        pytest.raises(ValueError, match=r"^DATA must be a whole, undamaged HDF5 file, got .*their"),
    ):
        file.fingerprint()


def test_a_chunk_that_is_nowhere_is_noticed_before_others_are_read(path, tmp_path):
    """HDF5 reads zeros in its place."""
    copy = shutil.copy(path, tmp_path / "gap.h5")
    with h5py.File(copy, "r+") as file:
        frames = file["training/features"][:]
        del file["training/features"]
        new = file.create_dataset("training/features", frames.shape, bool, chunks=(T, 1, H, W, 1), compression="gzip")
        for clip in range(N - 1):
            new[:, clip] = frames[:, clip]
    with ClipFile(copy) as file:
        for clips in ((2, 4), (2, 4), (N - 1, N)):
            with pytest.raises(ValueError, match=f"{N - 1} of {N} chunks of features of train"):
                file.read_frames("train", *clips)


def test_attributes_of_another_version_are_refused(path, tmp_path):
    for name, value, complaint in (
        ("format", "videopred/2", "DATA must be of format videopred/1, got videopred/2"),
        (
            "recipe",
            '{"kind": "cubes"}',
            "DATA must hold a recipe of this version, got another one (settings must be one of",
        ),
        ("context", 99, "DATA must say the context 3 of its recipe, got 99 in "),
        ("seed", "zero", "DATA must hold the seed of its recipe, got zero in "),
        ("source", "a folder", "DATA must say as JSON what its films were imported from, got a folder in "),
        ("format", [1, 2], "DATA must be of format videopred/1, got [1 2] in "),
        ("recipe", [1, 2, 3], "DATA must hold a recipe of this version, got another one (settings must be"),
        ("source", [1, 2], "DATA must say as JSON what its films were imported from, got [1 2] in "),
        ("source", "[1, 2]", "DATA must say as JSON what its films were imported from, got [1, 2] in "),
        ("source", 7, "DATA must say as JSON what its films were imported from, got 7 in "),
        ("source", "[" * 9000, "DATA must say as JSON what its films were imported from, got [[["),
    ):
        (tmp_path / "new.h5").write_bytes(path.read_bytes())
        with h5py.File(tmp_path / "new.h5", "r+") as file:
            file.attrs[name] = value
        with pytest.raises(ValueError, match=re.escape(complaint)):
            ClipFile(tmp_path / "new.h5")


def test_what_another_version_wrote_is_looked_at_with_that(path, tmp_path):
    copy = shutil.copy(path, tmp_path / "later.h5")
    with h5py.File(copy, "r+") as file:
        file.attrs.update({"format": "videopred/2", "software": "videopred 9.0"})
    message = rf"got videopred/2 in {copy}; look at it with videopred 9\.0, which wrote it \(this is {SOFTWARE}\)"
    with pytest.raises(ValueError, match=message):
        ClipFile(copy)


@pytest.mark.parametrize("lacking", ["name", "seed"])
def test_a_file_of_ours_without_a_name_or_seed_is_named(path, tmp_path, lacking):
    copy = shutil.copy(path, tmp_path / "cut.h5")
    with h5py.File(copy, "r+") as file:
        del file.attrs[lacking]
    with pytest.raises(ValueError, match=rf"DATA must say its name, and of a recipe the seed, got no {lacking} in "):
        ClipFile(copy)


@pytest.mark.parametrize(
    ("part", "start", "stop", "complaint"),
    [
        ("validation", 0, 1, "must be one of train, test, got validation"),
        ("test", 0, 6, "clips must be at least one, between 0 and 5 (the clips of test in "),
        ("test", -1, 2, "), got -1 to 2; ask for those that are there"),
        ("test", 3, 3, "), got 3 to 3; ask for those that are there"),
    ],
)
def test_clips_that_are_not_there(path, part, start, stop, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        ClipFile(path).read_frames(part, start, stop)


def test_clips_say_what_they_are(path):
    clips = f"{path}: {N} train, 5 test clips of {T} frames of {H} x {W} px, binary"
    assert repr(ClipFile(path)) == f"<ClipFile {clips}>"


def test_a_file_that_may_not_be_read_is_not_called_damaged(path, monkeypatch):
    def refused(*_: object) -> None:
        raise PermissionError(13, "Unable to synchronously open file (unable to open file: errno = 13)")

    monkeypatch.setattr(h5py, "File", refused)
    with pytest.raises(PermissionError) as caught:
        ClipFile(path)
    assert str(caught.value) == f"[Errno 13] Permission denied: '{path}'"


def test_a_file_for_which_too_many_are_open_is_not_called_damaged(path):
    open_already = ClipFile(path)
    got = "must be opened within the system's limit of open files, got one file more; raise it with `ulimit -n`, or use"
    with no_more_files_than(0), pytest.raises(OSError, match="^" + re.escape(f"{path} {got}")):
        open_already.read_frames("train", 0, 1)


def test_a_file_is_in_the_layout_in_which_headers_have_checksums(path):
    assert path.read_bytes()[8] == 2, "the version of its superblock"
