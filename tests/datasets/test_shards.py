"""Data sets in shards: the clips of one file, made by any process, and opened only when all are there."""

import fcntl
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
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import InScenes, small
from test_worlds import assert_same
from tiny_runs import no_more_files_than

from videopred.datasets import generation, open_dataset
from videopred.datasets.balls import BouncingBalls
from videopred.datasets.description import describe
from videopred.datasets.generation import generate
from videopred.datasets.plan import Target
from videopred.datasets.shards import shard_ranges
from videopred.datasets.verification import verify

CLIPS = {"train": 11, "test": 2}
SMALL = small("balls4", balls=(2, 5))


def make(out: Path, shards: int = 3, **others) -> Path:
    return generate("balls4", CLIPS, **{"seed": 3, "out": out, "recipe": SMALL, "shards": shards} | others)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


NAMES = [f"balls4-{shard:05}-of-00003.h5" for shard in range(3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A data set in three shards; tests only read it."""
    return make(tmp_path_factory.mktemp("shards"))


@pytest.fixture
def mine(folder, tmp_path) -> Path:
    """A copy of it to break."""
    return Path(shutil.copytree(folder, tmp_path / "balls4"))


@given(train=st.integers(0, 90), scenes=st.integers(0, 30), shards=st.integers(1, 12))
@settings(max_examples=40)
def test_shards_hold_every_clip_once_in_even_shares_of_whole_scenes(train, scenes, shards):
    clips = {"train": train, "test": 4 * scenes}
    cut = [shard_ranges(clips, InScenes(), shards, shard) for shard in range(shards)]
    for part, size in (("train", 1), ("test", 4)):
        shares = [ranges.get(part, range(0)) for ranges in cut]
        assert [index for share in shares for index in share] == list(range(clips[part]))
        assert {len(share) % size for share in shares} == {0}
        assert max(map(len, shares)) - min(map(len, shares)) <= size


def test_shards_are_the_one_file_clip_by_clip(folder, tmp_path):
    one, many = open_dataset(make(tmp_path, shards=1)), open_dataset(folder)
    assert names(folder) == NAMES
    assert [shard.parts for shard in many.shards] == [{"train": 3}, {"train": 4, "test": 1}, {"train": 4, "test": 1}]
    for fact in ("name", "recipe", "seed", "context", "horizon", "parts", "frames", "height", "width", "channels",
                 "binary", "truth"):  # fmt: skip
        assert getattr(many, fact) == getattr(one, fact), fact
    for part, count in CLIPS.items():
        for start, stop in ((0, count), (1, 2), (count - 1, count), (0, count // 2)):
            np.testing.assert_array_equal(many.read_frames(part, start, stop), one.read_frames(part, start, stop))
            for name in one.truth:
                np.testing.assert_array_equal(many.read(part, name, start, stop), one.read(part, name, start, stop))
        for index in range(count):
            assert_same(many.clip(part, index), one.clip(part, index))
    for name, addresses in zip(NAMES, (range(3), range(3, 7), range(7, 11)), strict=True):
        with h5py.File(folder / name) as stored:
            assert stored["training/index"][:].tolist() == list(addresses)
            assert stored.attrs["clips"] == '{"train": 11, "test": 2}'
    facts, same = describe(many), describe(one)
    assert facts["bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    for fact in ("path", "bytes"):
        facts.pop(fact), same.pop(fact)
    assert facts == same


def test_a_folder_can_be_pickled_closed_and_used_again(folder):
    with open_dataset(folder) as many:
        frames = many.read_frames("train", 1, 9)
        copy = pickle.loads(pickle.dumps(many))
    assert (copy.read_frames("train", 1, 9) == frames).all()
    assert (many.read_frames("train", 1, 9) == frames).all()


def test_more_shards_than_files_may_be_open(tmp_path, monkeypatch):
    monkeypatch.setattr("videopred.datasets.clip_folder._OPEN", 3)
    one, path = open_dataset(make(tmp_path, shards=1)), make(tmp_path, shards=11)
    fingerprint, proved = open_dataset(path).fingerprint(), verify(open_dataset(path)).proved
    with no_more_files_than(6), open_dataset(path) as many:  # three shards, and what a fingerprint maps
        np.testing.assert_array_equal(many.read_frames("train", 0, 11), one.read_frames("train", 0, 11))
        for index in (9, 2, 0, 5, 2, 10, 9):
            assert_same(many.clip("train", index), one.clip("train", index))
        assert many.fingerprint() == fingerprint
        copy = pickle.loads(pickle.dumps(many))
        many.close()
        assert verify(copy).proved == proved


def test_shards_that_were_used_last_stay_open(tmp_path, monkeypatch):
    monkeypatch.setattr("videopred.datasets.clip_folder._OPEN", 3)
    with open_dataset(make(tmp_path, shards=11)) as many:
        for index in (4, 7, 1, 4, 9):
            many.read_frames("train", index, index + 1)
        assert [number for number, shard in enumerate(many.shards) if shard.arrays._handle] == [1, 4, 9]


def test_a_folder_that_one_stands_in_has_its_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with open_dataset(".") as data:
        assert data.path == folder


def test_what_lies_beside_the_shards_is_named_and_left_out(mine):
    with open_dataset(mine) as data:
        assert "left_out" not in describe(data)
    for name in ("more.HDF5", "balls4.h5", ".hidden.h5", "notes.txt"):
        (mine / name).write_text("")
    with open_dataset(mine) as data:
        assert describe(data)["left_out"] == "balls4.h5, more.HDF5, which are not shards"
        (mine / "more.HDF5").unlink()
    with open_dataset(mine) as data:
        assert verify(data).not_proved == {"left_out": "balls4.h5, which is not a shard"}


def test_another_clip_is_another_fingerprint(folder, tmp_path):
    assert open_dataset(make(tmp_path / "same")).fingerprint() == open_dataset(folder).fingerprint()
    assert open_dataset(make(tmp_path / "other", seed=4)).fingerprint() != open_dataset(folder).fingerprint()


@pytest.mark.parametrize(
    ("part", "start", "stop", "complaint"),
    [
        ("validation", 0, 1, "--part must be one of train, test, got validation"),
        ("train", 9, 12, "clips must be at least one, between 0 and 11 (the clips of train in "),
    ],
)
def test_clips_that_are_not_there(folder, part, start, stop, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        open_dataset(folder).read_frames(part, start, stop)


# --- making ------------------------------------------------------------------------------------------------


def test_shards_that_are_there_are_kept(mine, capfd):
    before = {name: (mine / name).read_bytes() for name in NAMES}
    (mine / NAMES[1]).unlink()
    times = {name: (mine / name).stat().st_mtime_ns for name in (NAMES[0], NAMES[2])}
    assert make(mine.parent) == mine
    assert capfd.readouterr() == ("", "resuming: 8 of 13 clips are there\n")
    assert {name: (mine / name).read_bytes() for name in NAMES} == before
    assert {name: (mine / name).stat().st_mtime_ns for name in times} == times
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*balls4 \(already there\); choose ano"):
        make(mine.parent)


def test_shards_that_are_all_there_are_all_replaced(mine, capfd):
    """Else one whose pixels are damaged would stay, though `verify` says that it is to be made again."""
    before = {name: (mine / name).read_bytes() for name in NAMES}
    with h5py.File(mine / NAMES[1], "r+") as file:
        file["training/features"][0, 0] ^= True
    make(mine.parent, overwrite=True, workers=2)
    assert capfd.readouterr() == ("", "")
    assert {name: (mine / name).read_bytes() for name in NAMES} == before


def test_a_stopped_generation_goes_on_in_its_shard(tmp_path, folder, monkeypatch, capfd):
    clips = BouncingBalls.clips

    def stopping(self, seed, part, indices):
        for index, made in zip(indices := list(indices), clips(self, seed, part, indices), strict=True):
            if index == 5:
                raise KeyboardInterrupt
            yield made

    with monkeypatch.context() as patched:
        patched.setattr(BouncingBalls, "clips", stopping)
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path)
    assert names(tmp_path) == NAMES[:1]
    make(tmp_path)
    assert capfd.readouterr().err == "resuming: 3 of 13 clips are there\n"
    for name in NAMES:
        assert (tmp_path / "balls4" / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize("change", [{"seed": 4}, {"recipe": small("balls4")}])
def test_shards_of_another_set_are_replaced_only_on_request(mine, change, tmp_path):
    before = {name: (mine / name).read_bytes() for name in NAMES}
    (mine / NAMES[2]).unlink()
    with pytest.raises(FileExistsError, match=r"^--out must hold only the shards asked for, got .*00000-of-00003"):
        make(mine.parent, **change)
    assert (mine / NAMES[0]).read_bytes() == before[NAMES[0]]
    make(mine.parent, overwrite=True, **change)
    expected = make(tmp_path / "new", **change)
    assert all((mine / name).read_bytes() == (expected / name).read_bytes() for name in NAMES)


def test_a_shard_of_another_version_is_replaced_only_on_request(mine, folder):
    with h5py.File(mine / NAMES[1], "a") as file:
        file.attrs["software"] = "videopred 0.0.7"
    with pytest.raises(FileExistsError, match=r"^--out must hold only .*-00001-of-00003\.h5, with other content; ch"):
        make(mine.parent)
    make(mine.parent, overwrite=True)
    assert (mine / NAMES[1]).read_bytes() == (folder / NAMES[1]).read_bytes()


def test_shards_of_another_number_go_only_on_request(mine):
    with pytest.raises(FileExistsError, match=r"^--out must hold only .*-00000-of-00003\.h5, of another set; ch"):
        make(mine.parent, shards=2)
    make(mine.parent, shards=2, overwrite=True)
    assert names(mine) == ["balls4-00000-of-00002.h5", "balls4-00001-of-00002.h5"]
    (mine / "balls4-00000-of-00002.h5").write_bytes(b"damaged")
    with pytest.raises(FileExistsError, match=r"^--out must hold only .*-00000-of-00002\.h5, with other content; ch"):
        make(mine.parent, shards=2)


def test_nobody_makes_shards_of_another_number_meanwhile(tmp_path):
    pieces = tmp_path / "balls4/.balls4-00001-of-00002.h5.0123456789ab.pieces"
    pieces.mkdir(parents=True)
    (pieces / "train-00000000-00000001.piece").write_bytes(b"")
    busy = r"^--out must be a file that no other process is making, got .*/balls4-00001-of-00002\.h5, which is"
    with (pieces / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for shards in (3, 2):
            with pytest.raises(OSError, match=busy):
                make(tmp_path, shards, overwrite=True)
        assert names(tmp_path / "balls4") == ["lock", "train-00000000-00000001.piece"]
    with pytest.raises(FileExistsError, match=r"^--out must hold no clips of another command that was stopped, got "):
        make(tmp_path)
    make(tmp_path, overwrite=True)
    assert names(tmp_path) == NAMES


def test_shards_that_came_meanwhile_stay(tmp_path, monkeypatch):
    made = generation.make_file

    def late(target: Target, *args, **others) -> None:
        (target.path.parent / "balls4-00000-of-00002.h5").write_text("another command's")
        made(target, *args, **others)

    monkeypatch.setattr(generation, "make_file", late)
    (tmp_path / "balls4").mkdir()
    make(tmp_path)
    assert names(tmp_path) == ["balls4-00000-of-00002.h5", *NAMES]


LAUNCHED = """
import sys
from pathlib import Path
from videopred.datasets.generation import generate
from videopred.datasets.settings import BallsConfig
recipe = BallsConfig.model_validate_json(sys.argv[2])
print(generate("balls4", {"train": 11, "test": 2}, seed=3, out=Path(sys.argv[1]), recipe=recipe, shards=3))
"""


def test_processes_started_together_share_the_shards(tmp_path, folder):
    command = [sys.executable, "-c", LAUNCHED, str(tmp_path), SMALL.model_dump_json()]
    started = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"RANK": str(rank), "WORLD_SIZE": "2"},
        )
        for rank in range(2)
    ]  # fmt: skip
    told = [process.communicate() for process in started]
    shares = ["shards 0 2", "shard 1"]
    assert told == [(f"{tmp_path / 'balls4'}\n", f"process {i} of 2 makes {shares[i]}\n") for i in range(2)]
    for name in NAMES:
        assert (tmp_path / "balls4" / name).read_bytes() == (folder / name).read_bytes()


def test_slurm_says_it_otherwise(tmp_path, monkeypatch, capfd):
    told = {"PROCID": "1", "NTASKS": "2", "JOB_ID": "7", "STEP_ID": "0", "NODEID": "0", "LOCALID": "1"}
    for name, value in (told | {"STEP_NODELIST": "first", "STEP_TASKS_PER_NODE": "2"}).items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    make(tmp_path / "script")  # a batch script and a shell of salloc's have these, and are one process
    assert names(tmp_path / "script") == NAMES
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    for _ in range(2):  # all that is this process's being there is no error: the others may have been late
        make(tmp_path / "step")
    assert names(tmp_path / "step") == NAMES[1:2]
    assert capfd.readouterr().err == (
        "process 1 of 2 makes shard 1\nprocess 1 of 2 makes shard 1\nresuming: 5 of 5 clips are there\n"
    )


@pytest.mark.parametrize(
    ("request_", "environment", "complaint"),
    [
        ({"shards": 0}, {}, "--shards must be at least 1, got 0; give a number of files, 1 for a single one"),
        ({"shards": 12}, {}, "--shards must be at most 11, so that each holds some of the largest part, got 12; give"),
        (
            {"shards": 4, "recipe": InScenes(), "clips": {"train": 2, "test": 12}},
            {},
            "--shards must be at most 3, so that each holds some of the largest part, got 4; give fewer shards or more",
        ),
        ({"recipe": InScenes(), "clips": {"test": 6}}, {}, "--clips test must be a multiple of 4, the clips of a scen"),
        ({"out": Path("a.h5")}, {}, "--out must be a folder for several shards, got a.h5; leave .h5 out"),
        ({"out": Path("a.hdf5")}, {}, "--out must be a folder, or a file that ends in .h5, got a.hdf5; rename it"),
        (
            {"recipe": small("sm-mnist-svg", digit_size=14)},
            {},
            "--shards must be 1 for clips that are drawn in order from one stream, got 3; leave it out",
        ),
        ({}, {"RANK": "0", "WORLD_SIZE": "4"}, "--shards must be at least 4, the processes started together, got 3;"),
        ({"shards": 1}, {"RANK": "0", "WORLD_SIZE": "2"}, "--shards must be at least 2, the processes started toget"),
        ({}, {"RANK": "2", "WORLD_SIZE": "2"}, "RANK must be a number below WORLD_SIZE, got 2 of 2; start the process"),
        ({}, {"WORLD_SIZE": "2"}, "RANK must be a number below WORLD_SIZE, got nothing of 2; start the processes with"),
        ({}, {"RANK": "x", "WORLD_SIZE": "2"}, "RANK must be a number below WORLD_SIZE, got x of 2; start the process"),
    ],
)
def test_wrong_requests_leave_nothing(tmp_path, monkeypatch, request_, environment, complaint):
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    request = {"name": "balls4", "clips": CLIPS, "recipe": SMALL, "shards": 3} | request_
    with pytest.raises(ValueError, match="^" + re.escape(complaint)):
        generate(**request)
    assert list(tmp_path.iterdir()) == []


# --- opening -----------------------------------------------------------------------------------------------


def set_attribute(path: Path, **attributes) -> None:
    with h5py.File(path, "r+") as file:
        file.attrs.update(attributes)


def drop_attribute(path: Path, name: str) -> None:
    with h5py.File(path, "r+") as file:
        del file.attrs[name]


def cut_a_clip(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        features = file["training/features"][:, 1:]
        del file["training/features"]
        file["training/features"] = features


BROKEN = {
    "empty": (lambda folder: [path.unlink() for path in folder.iterdir()], "be a data file or a folder of shards, got"),
    "missing": (
        lambda folder: (folder / NAMES[1]).unlink(),
        "hold all 3 shards, got none called balls4-00001-of-00003.h5 in",
    ),
    "the first is missing": (
        lambda folder: (folder / NAMES[0]).unlink(),
        "hold all 3 shards, got none called balls4-00000-of-00003.h5 in",
    ),
    "two sets": (
        lambda folder: shutil.copy(folder / NAMES[1], folder / "other-00001-of-00003.h5"),
        "hold the shards of one set, got balls4 in 3 and other in 3 in",
    ),
    "two numbers": (
        lambda folder: shutil.copy(folder / NAMES[1], folder / "balls4-00001-of-00004.h5"),
        "hold the shards of one set, got balls4 in 3 and balls4 in 4 in",
    ),
    "one too many": (
        lambda folder: shutil.copy(folder / NAMES[1], folder / "balls4-00003-of-00003.h5"),
        "hold 3 shards, counted from 0, got balls4-00003-of-00003.h5 in",
    ),
    "twice": (
        lambda folder: shutil.copy(folder / NAMES[1], folder / NAMES[2]),
        f"hold shard 2 of 3 in {NAMES[2]}, got",
    ),
    "no shard": (
        lambda folder: generate("balls4", CLIPS, out=folder / NAMES[2], recipe=SMALL, overwrite=True),
        f"hold shard 2 of 3 in {NAMES[2]}, got shard None of None in",
    ),
    "of another number": (
        lambda folder: set_attribute(folder / NAMES[1], shards=4),
        f"hold shard 1 of 3 in {NAMES[1]}, got shard 1 of 4 in",
    ),
    "another name": (
        lambda folder: set_attribute(folder / NAMES[1], name="curtain"),
        f"hold shards of one name, as in {NAMES[0]}, balls4, got curtain in {NAMES[1]} in",
    ),
    "another seed": (lambda folder: set_attribute(folder / NAMES[1], seed=np.uint64(4)), "hold shards of one seed, as"),
    "another recipe": (
        lambda folder: set_attribute(folder / NAMES[1], recipe=small("balls4").model_dump_json()),
        "hold shards of one recipe, as in balls4-00000-of-00003.h5, {",
    ),
    "other totals": (
        lambda folder: set_attribute(folder / NAMES[2], clips='{"train": 12, "test": 2}'),
        "hold shards of one clips, as in balls4-00000-of-00003.h5",
    ),
    "without numbers of clips": (
        lambda folder: [drop_attribute(folder / name, "clips") for name in NAMES],
        "say as JSON how many clips there are, got None in",
    ),
    "numbers of clips that are none": (
        lambda folder: [set_attribute(folder / name, clips="many") for name in NAMES],
        "say as JSON how many clips there are, got many in",
    ),
    "damaged": (
        lambda folder: (folder / NAMES[2]).write_bytes((folder / NAMES[2]).read_bytes()[:-9]),
        "be a whole, undamaged HDF5 file, got",
    ),
    "cut": (lambda folder: cut_a_clip(folder / NAMES[2]), f"hold {{'train': 4, 'test': 1}} clips in {NAMES[2]}, got"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_whole_set_is_one_clear_line(mine, kind):
    break_it, complaint = BROKEN[kind]
    break_it(mine)
    with pytest.raises(ValueError, match=f"^{re.escape(f'DATA must {complaint}')}") as caught:
        open_dataset(mine)
    assert "`videopred generate" in str(caught.value)
    assert "\n" not in str(caught.value)
