"""Proofs about data sets: of sound ones all are given, and whatever is wrong is found and named."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from small_worlds import small

from videopred.check import FaultyFileError
from videopred.datasets import DATASETS, make_world, open_dataset, verification
from videopred.datasets.description import describe
from videopred.datasets.generation import generate
from videopred.datasets.verification import Verdict, verify

CLIPS = {"train": 21, "test": 8}


def proved(path: Path, **others: Any) -> Verdict:
    with open_dataset(path) as data:
        return verify(data, **others)


@pytest.fixture(scope="module", params=["one file", "shards"])
def sound(request, tmp_path_factory) -> Path:
    """A data set of moving digits, which have all that there is to be proved; tests only read it."""
    out, shards = tmp_path_factory.mktemp("sound"), 1 if request.param == "one file" else 2
    return generate("sm-mnist", CLIPS, seed=3, out=out, recipe=small("sm-mnist", digit_size=14), shards=shards)


@pytest.fixture
def mine(sound, tmp_path, monkeypatch) -> Path:
    """A copy of it to break, which is looked at in blocks of a few clips."""
    monkeypatch.setattr(verification, "_ROWS_AT_ONCE", 3)
    monkeypatch.setattr(verification, "_CLIPS_AT_ONCE", 2)
    copy = shutil.copytree if sound.is_dir() else shutil.copy
    return Path(copy(sound, tmp_path / sound.name))


def file_of(path: Path) -> Path:
    """The file, or the last shard, which begins with clip 10 of train and clip 4 of test."""
    return max(path.iterdir()) if path.is_dir() else path


def test_a_chunk_that_is_said_to_be_unpacked_and_is_not_is_found(tmp_path):
    path = generate("balls4", {"train": 3}, out=tmp_path, recipe=small("balls4"))
    with h5py.File(path, "r+") as file:
        array = file["training/groups"]
        place = array.id.get_chunk_info(1).chunk_offset  # of another size, else HDF5 forgets what is said
        array.id.write_direct_chunk(place, array.id.read_direct_chunk(place)[1] + b"\0", filter_mask=1)
    with open_dataset(path) as data, pytest.raises(FaultyFileError, match="got 2 of 3 chunks of groups of train in"):
        data.read("train", "groups", 0, 3)


def test_a_single_clip_is_told_as_one(tmp_path):
    verdict = proved(generate("balls4", {"test": 1}, seed=3, out=tmp_path, recipe=small("balls4")))
    assert verdict.proved["addresses"] == "the clip is at its own address, with its own seed"
    assert verdict.proved["parts"] == "there is but one clip"
    digits = proved(generate("sm-mnist", {"test": 1}, seed=3, out=tmp_path, recipe=small("sm-mnist")))
    assert digits.proved["parts"] == "there is but one clip"


@pytest.mark.parametrize("name", DATASETS)
def test_every_sound_set_is_proved_in_full(name, tmp_path):
    path = generate(name, {"train": 5, "test": 8}, seed=3, out=tmp_path, recipe=small(name))
    verdict = proved(path)
    assert verdict.path == str(path)
    assert list(verdict.proved) == ["whole", "recipe", "addresses", "parts", "masks"]
    assert verdict.proved["recipe"] == "clips made again are equal byte for byte: 5 of train, 8 of test"
    assert verdict.proved["addresses"] == "all 13 clips are at their own addresses, with their own seeds"
    assert verdict.proved["parts"].startswith("no two of 13 clips show the same frames")
    assert verdict.not_proved == {}


@pytest.mark.parametrize("sound", ["shards"], indirect=True)
def test_a_shard_is_proved_by_itself(sound):
    """Of 21 and 8 clips, the first has 10 and 4."""
    verdicts = [proved(shard) for shard in sorted(sound.iterdir())]
    found = [verdict.proved["addresses"] for verdict in verdicts]
    assert found == [f"all {count} clips are at their own addresses, with their own seeds" for count in (14, 15)]
    made_again = [verdict.proved["recipe"].partition(": ")[2] for verdict in verdicts]
    assert made_again == ["10 of train, 4 of test", "11 of train, 4 of test"]


def test_a_proof_says_what_it_rests_on(sound, capfd):
    with h5py.File(file_of(sound)) as file:
        frames = file["training/features"].id.get_num_chunks()
    verdict = proved(sound, sample=3)
    assert verdict.proved["recipe"] == "clips made again are equal byte for byte: 3 of train, 3 of test"
    chunks = re.match(r"all (\d+) chunks of (\d+) data sets are present and can be read$", verdict.proved["whole"])
    assert int(chunks[1]) > 3 * frames
    assert int(chunks[2]) % 2 == 0
    with_digits = r"no two of 29 clips show the same frames, and none of their \d+ handwritten digits is in two parts"
    assert re.fullmatch(with_digits, verdict.proved["parts"])
    assert capfd.readouterr() == ("", "")
    proved(sound, progress=True)
    assert "unpack" in capfd.readouterr().err


def test_where_clips_have_fewer_digits_the_missing_ones_are_in_no_part(tmp_path):
    """Their number in the file is that of no handwritten digit."""
    recipe = small("sm-mnist", digits=(1, 2))
    path = generate("sm-mnist", CLIPS, seed=3, out=tmp_path, recipe=recipe)
    with open_dataset(path) as data:
        assert all((data.read(part, "objects/source", 0, count) == -1).any() for part, count in CLIPS.items())
    assert "handwritten digits is in two parts" in proved(path).proved["parts"]


def change(place: str, edit: Callable[[np.ndarray], None]) -> Callable[[Path], None]:
    """A change of an array in a file: `edit` gets all of it, clips first."""

    def break_it(path: Path) -> None:
        with h5py.File(path, "r+") as file:
            array = file[place]
            values = array[()]
            edit(values.swapaxes(0, 1) if array.shape[0] == 7 and array.ndim > 2 else values)
            array[()] = values

    return break_it


def brighten(frames: np.ndarray) -> None:
    frames[4, 6, 0, 0] ^= 1


def copy_a_clip(path: Path) -> None:
    for name in ("features", "groups"):
        change(f"training/{name}", lambda array: array.__setitem__(5, array[3]))(path)


def spoil(table: np.ndarray) -> None:
    table[8] = 1


def shade(frames: np.ndarray) -> None:
    frames[5, 2] = 0


def drop(place: str) -> Callable[[Path], None]:
    def break_it(path: Path) -> None:
        with h5py.File(path, "r+") as file:
            del file[place]

    return break_it


def add_a_table(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["training/objects/weight"] = np.zeros(len(file["training/index"]))


def lose_a_chunk(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        whole = file["training/groups"]
        values, chunks = whole[()], whole.chunks
        del file["training/groups"]
        file.create_dataset("training/groups", values.shape, values.dtype, chunks=chunks, compression="gzip")
        file["training/groups"][:, 1:] = values[:, 1:]


def flip_a_bit(place: str, chunk: int) -> Callable[[Path], None]:
    def break_it(path: Path) -> None:
        with h5py.File(path) as file:
            found = file[place].id.get_chunk_info(chunk)
        content = bytearray(path.read_bytes())
        content[found.byte_offset + found.size - 1] ^= 8  # of the checksum: one bit before it may change no value
        path.write_bytes(content)

    return break_it


def steal_a_digit(path: Path) -> None:
    """A digit of the first training clip in the last test clip."""
    with h5py.File(path, "r+") as file:
        file["test/objects/source"][-1, 0] = file["training/objects/source"][0, 0]


def lie_about(**attributes: Any) -> Callable[[Path], None]:
    def break_it(path: Path) -> None:
        with h5py.File(path, "r+") as file:
            file.attrs.update(attributes)
            file["training/velocities"][...] = 0

    return break_it


MADE = "hold what its recipe makes, got"
WHOLE = "be a whole, undamaged HDF5 file, got"
BROKEN = {
    # what is broken -> how, what verify says, and of which clip of the file's training part
    "a pixel": (change("training/features", brighten), f"{MADE} another features", 4),
    "a velocity": (change("training/velocities", lambda array: array[7].fill(0)), f"{MADE} another velocities", 7),
    "contacts": (change("training/contacts", lambda table: table["time"].fill(0)), f"{MADE} another contacts", 0),
    "a table": (drop("training/objects/size"), f"{MADE} no objects/size", 0),
    "another table": (add_a_table, f"{MADE} an unknown objects/weight", 0),
    "no contacts": (drop("test/contacts"), f"{MADE} no contacts", None),
    "another version": (lie_about(software="videopred 0.0.7"), f"{MADE} another velocities", 0),
    "a lost chunk": (lose_a_chunk, f"{WHOLE} FEWER of ALL chunks of groups of train in", None),
    "a bit of groups": (flip_a_bit("training/groups", 6), f"{WHOLE} damaged groups of train, from clip 6 on (", None),
    "a bit of events": (flip_a_bit("test/events", 0), f"{WHOLE} damaged events of test, from clip 0 on (", None),
    "a bit of a table": (flip_a_bit("test/seed", 0), f"{WHOLE} damaged seed of test (", None),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_wrong_with_a_clip_is_found_and_named(mine, kind):
    break_it, must, clip = BROKEN[kind]
    file = file_of(mine)
    first = 10 if mine.is_dir() else 0
    break_it(file)
    count = 21 - first
    must = must.replace("FEWER", str(count - 1)).replace("ALL", str(count))
    with pytest.raises(ValueError, match="^" + re.escape(f"DATA must {must}")) as caught:
        proved(mine)
    told = str(caught.value)
    assert str(file) in told
    assert clip is None or f"in clip {first + clip} of train in {file};" in told
    assert "\n" not in told
    versions = r"; look at it with videopred 0\.0\.7, which wrote it \(this is videopred \S+\), or make it again with"
    assert bool(re.search(versions, told)) == (kind == "another version")


UNSAMPLED = {
    "twice": (copy_a_clip, "hold no clip twice, got the frames of clip THREE of train in", 5),
    "dark": (change("training/features", shade), "hold masks of what is seen, got an object where all is dark", 5),
    "seed": (change("training/seed", spoil), "hold the seed of each clip's address, got another seed", 8),
    "index": (change("training/index", spoil), "hold the index of each clip's address, got another index", 8),
}
"""As above; found in clips that are not made again."""


@pytest.mark.parametrize("kind", UNSAMPLED)
def test_what_is_wrong_with_clips_that_are_not_made_again_is_found_as_well(mine, kind):
    break_it, must, clip = UNSAMPLED[kind]
    file = file_of(mine)
    first = 10 if mine.is_dir() else 0
    break_it(file)
    must = must.replace("THREE", str(first + 3))
    with pytest.raises(ValueError, match="^" + re.escape(f"DATA must {must}")) as caught:
        proved(mine, sample=1)
    assert f"in clip {first + clip} of train in {file}; make it again with" in str(caught.value)


def test_a_digit_in_two_parts_is_found(mine):
    steal_a_digit(file_of(mine))
    message = (
        r"^DATA must hold no handwritten digit in two parts, got digit \d+ of train again in clip 7 of test in .*;"
    )
    with pytest.raises(ValueError, match=message):
        proved(mine, sample=1)


def test_the_first_digit_in_two_parts_is_found(mine):
    """Its number is 0; only below are numbers of no digit."""
    with h5py.File(file_of(mine), "r+") as file:
        file["training/objects/source"][5, 0] = file["test/objects/source"][-1, 0] = 0
    with pytest.raises(ValueError, match=r"^DATA must hold no handwritten digit in two parts, got digit 0 of "):
        proved(mine, sample=1)


def test_a_truncated_file_is_found(mine):
    file = file_of(mine)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"^DATA must be a whole, undamaged HDF5 file, got .*\.h5 \(.*trunc"):
        proved(mine)


def _shorten(file: h5py.File, name: str) -> None:
    """Leave out the last clip of what stands under a name."""
    group, axis = file["test"], int(name not in ("seed", "objects/active"))
    values = group[name][:, :-1] if axis else group[name][:-1]
    attributes = dict(group[name].attrs)
    del group[name]
    group[name] = values
    group[name].attrs.update(attributes)


EDITED: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "offsets back": (
        lambda file: file["test/contact_offsets"].__setitem__(-1, 0),
        "contact_offsets \\d+ and 0 of clip",
    ),
    "offsets below": (lambda file: file["test/contact_offsets"].__setitem__(0, -5), "contact_offsets -5 and"),
    "offsets beyond": (
        lambda file: file["test/contact_offsets"].__setitem__(-1, 9999),
        "instead of 9999 rows or more of",
    ),
    "positions": (lambda file: _shorten(file, "positions"), "5 instead of 6 rows or more of positions of test"),
    "seed": (lambda file: _shorten(file, "seed"), "5 instead of 6 rows or more of seed of test"),
}
"""Edits by other programs -> part of the one line about it."""


@pytest.mark.parametrize("edit", EDITED)
def test_arrays_that_do_not_belong_together_are_one_clear_line(edit, tmp_path):
    path = generate("balls4", {"train": 3, "test": 6}, seed=3, out=tmp_path, recipe=small("balls4", frames=30))
    change, message = EDITED[edit]
    with h5py.File(path, "r+") as file:
        assert file["test/contact_offsets"][-1] > 0
        change(file)
    with pytest.raises(FaultyFileError, match=f"^DATA must (be a whole, undamaged|hold what its recipe).*{message}"):
        proved(path)


def test_a_file_without_who_is_there_is_described_as_damaged(tmp_path):
    path = generate("balls4", {"test": 3}, seed=3, out=tmp_path, recipe=small("balls4"))
    with h5py.File(path, "r+") as file:
        del file["test/objects"]
    with (
        open_dataset(path) as data,
        pytest.raises(FaultyFileError, match=r"must hold the whole truth.*no objects/active"),
    ):
        describe(data)


def test_other_digits_are_asked_for(sound, tmp_path):
    recipe = open_dataset(sound).recipe
    assert recipe is not None
    other = recipe.model_copy(update={"mnist_sha256": "0" * 64})
    path = Path(shutil.copy(file_of(sound), tmp_path / "other.h5"))
    with h5py.File(path, "r+") as file:
        file.attrs["recipe"] = other.model_dump_json()
    with pytest.raises(ValueError, match=r"^--mnist must be the digits of the recipe, 000.*; give the same --mnist"):
        proved(path)


@pytest.mark.parametrize("sample", [0, -3])
def test_a_sample_of_nothing_is_refused(sound, sample):
    with pytest.raises(ValueError, match=rf"^--sample must be at least 1, got {sample}; give the number of clips"):
        proved(sound, sample=sample)


# --- files of others ---------------------------------------------------------------------------------------


def foreign(path: Path, train: np.ndarray, test: np.ndarray) -> Path:
    with h5py.File(path, "w") as file:
        file["training/features"] = train
        file.create_dataset("test/features", data=test, chunks=(5, 2, 8, 10, 1), compression="gzip")
        file["training/note"] = 3.0
    return path


def test_of_films_of_others_is_proved_what_can_be(tmp_path):
    chance = np.random.default_rng(0)
    train, test = chance.random((2, 5, 7, 8, 10, 1)) < 0.4
    train[:, 6] = train[:, 3] = train[:, 2]
    verdict = proved(foreign(tmp_path / "x.h5", train, test))
    assert verdict.proved == {
        "whole": "all 6 chunks of 3 data sets are present and can be read",
        "parts": "no two parts share a clip; 2 of 14 clips equal an earlier one of their part",
    }
    assert verdict.not_proved.pop("unknown").startswith("note")
    assert set(verdict.not_proved) == {"recipe", "addresses", "masks"}
    assert set(verdict.not_proved.values()) == {"these films come from elsewhere: nothing says how they were made"}
    test[:, 3] = train[:, 5]
    message = (
        r"^DATA must hold no clip twice, got the frames of clip 5 of train in .* again in clip 3 of test in .*; mend"
    )
    with pytest.raises(ValueError, match=message):
        proved(foreign(tmp_path / "y.h5", train, test))


def test_digits_of_clips_that_cannot_be_made_again_are_refused(tmp_path):
    films = np.random.default_rng(0).random((5, 6, 8, 10, 1)) < 0.3
    with pytest.raises(
        ValueError, match=r"^--mnist must be left out of clips that say no recipe, got nowhere with .*x"
    ):
        proved(foreign(tmp_path / "x.h5", films, films[:, :3] ^ True), mnist=Path("nowhere"))


def test_tiny_clips_may_look_alike_by_chance(tmp_path):
    recipe = small("balls1", frames=2, height=16, width=20, radii=(0.9,), masses=(1.0,))
    path = generate("balls1", {"train": 700, "test": 100}, out=tmp_path / "a.h5", recipe=recipe)
    assert re.search(r"but for \d+ that look like an earlier one by chance$", proved(path).proved["parts"])


def test_clips_made_again_are_spread_over_each_part(tmp_path, monkeypatch):
    asked: dict[str, list[int]] = {}
    world = type(make_world(small("balls4")))
    plain = world.clips

    def noted(self: Any, seed: int, part: str, indices: Any) -> Any:
        asked[part] = list(indices)
        return plain(self, seed, part, indices)

    data = open_dataset(generate("balls4", {"train": 9, "test": 2}, out=tmp_path, recipe=small("balls4")))
    monkeypatch.setattr(world, "clips", noted)
    verify(data, sample=3)
    assert asked == {"train": [0, 4, 8], "test": [0, 1]}


def test_the_same_bytes_of_another_type_are_another_truth(tmp_path):
    path = generate("balls4", {"train": 3}, out=tmp_path, recipe=small("balls4"))
    with h5py.File(path, "r+") as file:
        kept = file["training/visibility/fraction"][()]
        del file["training/visibility/fraction"]
        file["training/visibility/fraction"] = kept.view(np.int16)
    with open_dataset(path) as data, pytest.raises(FaultyFileError, match="another visibility/fraction in clip 0 of"):
        verify(data)
