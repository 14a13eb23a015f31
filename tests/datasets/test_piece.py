"""Pieces of files: packed and unpacked again, on disk, and damaged there."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_worlds import small

from videopred.datasets import make_world
from videopred.datasets.piece import STEP, Piece, clips_per_chunk, load_piece, make_piece, pack_sparse
from videopred.datasets.record import CONTACTS, Record, full_record, has_time

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
    runs=st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=9),
    shape=st.tuples(st.integers(1, 90), st.integers(1, 11)),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_what_is_packed_sparsely_unpacks_to_itself(runs, shape, seed):
    """Also where a filled frame ends lit and the next one, after empty ones, begins so: zlib must not look back."""
    chance = np.random.default_rng(seed)
    frames = []
    for count, filled in runs:
        block = chance.random((count, *shape, 1)) < 0.5
        block[:, 0, 0] = block[:, -1, -1] = True
        frames.append(block & filled)
    values = np.concatenate(frames)
    assert zlib.decompress(pack_sparse(values)) == values.tobytes()


def test_empty_frames_cost_next_to_nothing():
    values = np.zeros((51, 64, 64, 1), bool)
    values[7:9] = np.random.default_rng(0).random((2, 64, 64, 1)) < 0.5
    assert len(pack_sparse(values)) < len(zlib.compress(values[7:9].tobytes(), 1)) + 1000
