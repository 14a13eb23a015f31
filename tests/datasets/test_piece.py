"""Pieces of files: packed and unpacked again, on disk, and damaged there."""

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import small
from zlib_ng import zlib_ng

from videopred.datasets import make_world
from videopred.datasets.contacts import CONTACT
from videopred.datasets.file_layout import CONTACTS, Record, full_record, has_time
from videopred.datasets.piece import STEP, Piece, clips_per_chunk, load_piece, make_piece, pack

COUNT = 2 * STEP + 5


def records(name: str = "balls4", count: int = COUNT) -> list[Record]:
    world = make_world(small(name))
    clips = world.clips(3, "train", range(count))
    return [full_record(clip, world.recipe.binary, 3, "train", i) for i, clip in enumerate(clips)]


@pytest.mark.parametrize("name", ["balls4", "sm-mnist"])
def test_a_piece_holds_the_records(name):
    made = records(name)
    piece = make_piece(made, "train", 0, COUNT)
    assert piece.clips == COUNT
    assert piece.contact_counts.tolist() == [len(record[CONTACTS]) for record in made]
    for kind, values in made[0].items():
        form, every = piece.forms[kind], [record[kind] for record in made]
        assert form.dtype == values.dtype
        if kind == CONTACTS:
            assert piece.tables[kind].tobytes() == np.concatenate(every).tobytes()
        elif not has_time(kind):
            np.testing.assert_array_equal(piece.tables[kind], np.stack(every))
        else:
            clips = clips_per_chunk(kind, form, COUNT)
            assert clips == (1 if values.nbytes > 2**13 else STEP)
            assert len(piece.chunks[kind]) == -(-COUNT // clips)
            shape = len(values), clips, *values.shape[1:]
            chunks = [np.frombuffer(zlib.decompress(chunk), form.dtype) for chunk in piece.chunks[kind]]
            unpacked = np.concatenate([chunk.reshape(shape) for chunk in chunks], axis=1)
            np.testing.assert_array_equal(unpacked[:, :COUNT], np.stack(every, axis=1))


def assert_same(one: Piece, other: Piece) -> None:
    assert (one.clips, one.chunks) == (other.clips, other.chunks)
    assert one.contact_counts.tobytes() == other.contact_counts.tobytes()
    for mine, theirs in ((one.forms, other.forms), (one.tables, other.tables)):
        assert list(mine) == list(theirs)
        for name, array in mine.items():
            assert (array.dtype, array.shape) == (theirs[name].dtype, theirs[name].shape), name
            assert array.tobytes() == theirs[name].tobytes(), name


def test_a_piece_comes_back_from_a_file(tmp_path):
    piece = make_piece(records(), "train", 0, COUNT)
    piece.save(tmp_path / "piece")
    assert [path.name for path in tmp_path.iterdir()] == ["piece"]
    loaded = load_piece(tmp_path / "piece")
    assert loaded is not None
    assert_same(loaded, piece)


def test_a_damaged_piece_is_as_good_as_none(tmp_path):
    make_piece(records(count=3), "train", 0, 3).save(tmp_path / "piece")
    content = (tmp_path / "piece").read_bytes()
    assert load_piece(tmp_path / "nothing") is None
    for damaged in (content[:size] for size in (0, 1, 4, len(content) // 2, len(content) - 1)):
        (tmp_path / "piece").write_bytes(damaged)
        assert load_piece(tmp_path / "piece") is None
    (tmp_path / "piece").write_bytes(bytes(4))  # what a power failure may leave
    assert load_piece(tmp_path / "piece") is None
    for place in np.random.default_rng(0).integers(len(content), size=50):
        flipped = bytearray(content)
        flipped[place] ^= 16
        (tmp_path / "piece").write_bytes(flipped)
        assert load_piece(tmp_path / "piece") is None


@given(
    shape=st.lists(st.integers(0, 24), min_size=1, max_size=4),
    name=st.sampled_from(["features", "groups", "collisions", "positions"]),
    kind=st.sampled_from(["?", "u1", "<f2", "<f4", "<i8", CONTACT]),
    lit=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=120)
def test_what_is_packed_unpacks_to_itself_by_any_zlib(shape, name, kind, lit, seed):
    values = np.where(np.random.default_rng(seed).random(shape) < lit, 1, 0).astype(kind)
    assert zlib.decompress(pack(name, values)) == values.tobytes()
    assert zlib.decompress(pack(name, values.T)) == values.T.tobytes()


@pytest.mark.parametrize("name", ["balls4", "sm-mnist", "colored4", "occlusion"])
def test_packed_pixels_take_no_more_than_by_gzip_at_level_1(name):
    for record in records(name, count=4):
        for kind in ("features", "groups", "collisions"):
            assert len(pack(kind, record[kind])) < 1.1 * len(zlib.compress(record[kind].tobytes(), 1)) + 100, kind


@pytest.mark.parametrize("name", ["balls4", "curtain", "balls8"])
def test_masks_and_frames_of_on_and_off_take_less_as_runs_than_by_level_2(name):
    for kind in ("features", "groups", "collisions"):
        values = [record[kind].tobytes() for record in records(name, count=8)]
        by_level_2 = sum(len(zlib_ng.compress(content, 2)) for content in values)
        assert sum(len(pack(kind, record[kind])) for record in records(name, count=8)) < by_level_2, kind


def test_equal_values_are_packed_alike_wherever_they_lie_in_memory():
    values = np.random.default_rng(0).random((7, 41, 53)) < 0.1
    for name in ("features", "positions"):
        packed = {pack(name, np.frombuffer(bytes(n) + values.tobytes(), bool, offset=n)) for n in range(64)}
        assert len(packed) == 1, name
    grey = (values * 200).astype(np.uint8)
    assert len({pack("features", np.frombuffer(bytes(n) + grey.tobytes(), np.uint8, offset=n)) for n in range(64)}) == 1


def test_equal_values_are_packed_alike_by_many_threads_at_once():
    values = [record[name] for record in records(count=5) for name in ("features", "groups", "collisions")]
    alone = [pack("groups", array) for array in values]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(pack, ["groups"] * 3000, values * 200)) == alone * 200
