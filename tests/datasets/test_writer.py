"""Writing files of records: clips of any origin, and records that do not go together."""

import gc
import sys
import weakref
import zlib
from collections.abc import Iterator

import h5py
import numpy as np
import pytest

from videopred.datasets.clip_file import ClipFile
from videopred.datasets.contacts import CONTACT
from videopred.datasets.file_layout import Record
from videopred.datasets.piece import frames_per_chunk, make_piece, make_pieces
from videopred.datasets.writer import new_file

T, H, W, C = 5, 8, 11, 3


def films(count: int, **others: np.ndarray) -> list[Record]:
    chance = np.random.default_rng(7)
    return [
        {"features": chance.integers(256, size=(T, H, W, C), dtype=np.uint8), "labels/kind": np.int16(i), **others}
        for i in range(count)
    ]


def test_films_of_others_need_nothing_but_frames(tmp_path):
    learn, test = films(19), films(2)
    with new_file(tmp_path / "a.h5", {"name": "theirs"}) as writer:
        writer.write_part("train", iter(learn), 19)
        writer.write_part("test", test, 2)
    with ClipFile(tmp_path / "a.h5") as file:
        assert (file.name, file.recipe, file.seed, file.binary) == ("theirs", None, None, False)
        assert file.parts == {"train": 19, "test": 2}
        assert file.truth == ("labels/kind",)
        assert (file.read_frames("train", 0, 19) == np.stack([record["features"] for record in learn])).all()
        np.testing.assert_array_equal(file.read("train", "labels/kind", 3, 19), np.arange(3, 19))


def test_what_hdf5_cannot_write_of_a_file_leaves_none(tmp_path, monkeypatch):
    """As a name that is no UTF-8: the file is closed while the disk is still there to be written to."""
    missed = []
    monkeypatch.setattr(sys, "unraisablehook", missed.append)
    with pytest.raises(UnicodeEncodeError), new_file(tmp_path / "a.h5", {"name": "\udcff"}):
        pass
    gc.collect()
    assert missed == []
    assert list(tmp_path.iterdir()) == []


def test_large_clips_are_taken_and_packed_one_by_one(tmp_path, monkeypatch):
    """Clips of others may be hundreds of MB each: of those before, one may still be there, and none packed."""
    monkeypatch.setattr("videopred.datasets.piece._LONG", T * H * W * C - 1)
    monkeypatch.setattr("videopred.datasets.piece._LARGE", 2 * H * W * C)
    given: list[weakref.ref] = []

    def records() -> Iterator[Record]:
        for number in range(19):
            frames = np.full((T, H, W, C), number, np.uint8)
            given.append(weakref.ref(frames))
            yield {"features": frames}
            del frames
            assert sum(one() is not None for one in given) <= 1

    assert [piece.clips for piece in make_pieces(records(), "train", 19)] == [1] * 19
    given.clear()
    with new_file(tmp_path / "a.h5", {"name": "theirs"}) as writer:
        writer.write_part("train", records(), 19)


@pytest.mark.parametrize("frames_are_long", [False, True])
def test_clips_that_share_chunks_come_back_in_their_order(tmp_path, monkeypatch, frames_are_long):
    """Sixteen of them fill a chunk, and only the last one of a file may hold fewer; long frames share none."""
    if frames_are_long:
        monkeypatch.setattr("videopred.datasets.piece._LONG", T * H * W * C - 1)
        monkeypatch.setattr("videopred.datasets.piece._LARGE", 2 * H * W * C)
    places = np.random.default_rng(8).normal(size=(35, T, 2, 2))
    records = [record | {"positions": places[i]} for i, record in enumerate(films(35))]
    with new_file(tmp_path / "a.h5", {"name": "theirs"}) as writer:
        writer.write_part("train", iter(records), 35)
    with ClipFile(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file.read("train", "positions", 0, 35), places)


def test_tables_are_cut_into_chunks_however_their_rows_come(tmp_path, monkeypatch):
    """17 clips with 0 to 3 contacts, in chunks of 4 rows: some of a step fill several, others none."""
    monkeypatch.setattr("videopred.datasets.writer._ROWS_PER_CHUNK", 4)
    rows = [np.full(i % 4, i / 2, CONTACT) for i in range(17)]
    records = [record | {"contacts": rows[i]} for i, record in enumerate(films(17))]
    with new_file(tmp_path / "a.h5", {"name": "theirs"}) as writer:
        writer.write_part("train", records, 17)
    with h5py.File(tmp_path / "a.h5") as file:
        group = file["training"]
        assert group["contacts"].chunks == group["contact_offsets"].chunks == group["labels/kind"].chunks == (4,)
        np.testing.assert_array_equal(group["contacts"][:], np.concatenate(rows))
        assert group["contact_offsets"][:].tolist() == np.cumsum([0, *map(len, rows)]).tolist()
        assert group["labels/kind"][:].tolist() == list(range(17))


def test_long_clips_are_cut_into_chunks_that_are_read_alone(tmp_path, monkeypatch):
    """Of five frames two a chunk, the last filled up; of a damaged chunk no window suffers but its own."""
    monkeypatch.setattr("videopred.datasets.piece._LONG", T * H * W * C - 1)
    monkeypatch.setattr("videopred.datasets.piece._LARGE", 3 * H * W * C - 1)
    path, records = tmp_path / "a.h5", films(19)
    with new_file(path, {"name": "theirs"}) as writer:
        writer.write_part("train", records, 19)
    whole = np.stack([record["features"] for record in records])
    with h5py.File(path) as file:
        features = file["training/features"]
        assert features.chunks == (2, 1, H, W, C)
        places = [features.id.get_chunk_info(number) for number in range(features.id.get_num_chunks())]
        np.testing.assert_array_equal(features[:], whole.swapaxes(0, 1))
    assert len(places) == 3 * 19
    with ClipFile(path) as file:
        np.testing.assert_array_equal(file.read_window("train", 17, 1, 4), whole[17, 1:4])
        assert list(file.arrays.unpack("train")).count("features") == 3 * 19
    [place] = [place for place in places if place.chunk_offset[:2] == (2, 18)]
    content = bytearray(path.read_bytes())
    content[place.byte_offset + place.size // 2] ^= 4
    path.write_bytes(content)
    np.testing.assert_array_equal(ClipFile(path).read_window("train", 18, 0, 2), whole[18, :2])
    np.testing.assert_array_equal(ClipFile(path).read_window("train", 18, 4, 5), whole[18, 4:])
    with pytest.raises(ValueError, match="undamaged"):
        ClipFile(path).read_window("train", 18, 1, 3)


def test_long_clips_are_the_same_bytes_however_they_were_cut_into_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("videopred.datasets.piece._LONG", 1000)
    monkeypatch.setattr("videopred.datasets.piece._LARGE", 600)
    records = [record | {"groups": record["features"][..., :1]} for record in films(40)]
    chunks = make_piece(records, "train", 0, 40).chunks["features"]
    assert {len(zlib.decompress(chunk)) for chunk in chunks} == {2 * H * W * C}  # also the last of a clip
    for name in ("at once", "in steps"):
        with new_file(tmp_path / name, {"name": "theirs"}) as writer:
            if name == "at once":
                writer.write_pieces("train", [make_piece(records, "train", 0, 40)], 40)
            else:
                writer.write_part("train", records, 40)
    assert (tmp_path / "at once").read_bytes() == (tmp_path / "in steps").read_bytes()


@pytest.mark.parametrize(
    ("name", "shape", "kind", "frames"),
    [
        ("features", (512, 64, 64, 1), np.uint8, 512),  # 2 MiB
        ("features", (513, 64, 64, 1), np.uint8, 64),
        ("groups", (129, 64, 64, 1), np.float32, 16),
        ("positions", (90000, 4, 2), np.float32, 90000),
        ("features", (9, 600, 601, 3), np.uint8, 1),
    ],
)
def test_how_many_frames_share_a_chunk(name, shape, kind, frames):
    assert frames_per_chunk(name, np.empty((0, *shape), kind)) == frames


@pytest.mark.parametrize(
    ("records", "complaint"),
    [
        ([*films(2), *films(1, groups=np.zeros((T, H, W, 1), np.uint8))], r"^clip 2 of test must hold what the first"),
        ([*films(1), {"features": np.zeros((T, W, H, C), np.uint8)}], r"^clip 1 of test must hold what the first does"),
        (films(2), "^clips must be 3, got 2; ask for as many as there are$"),
        (films(4), "^clips must be 3, got more; ask for as many as there are$"),
    ],
)
def test_records_that_do_not_go_together_leave_no_file(tmp_path, records, complaint):
    with (
        pytest.raises(ValueError, match=complaint),
        new_file(tmp_path / "a.h5", {"name": "theirs"}) as writer,
    ):
        writer.write_part("test", records, 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [16, 18])
def test_a_clip_unlike_those_of_the_piece_before_leaves_no_file(tmp_path, number):
    """The first of a second piece or one of its others, of frames as large as theirs."""
    records = [*films(number), {"features": np.zeros((T, W, H, C), np.uint8), "labels/kind": np.int16(16)}]
    first, other = (rf"features as uint8 \({size}\)" for size in (f"{T}, {H}, {W}, {C}", f"{T}, {W}, {H}, {C}"))
    with (
        pytest.raises(
            ValueError, match=f"^clip {number} of test must hold what the first does, {first}, got {other}; "
        ),
        new_file(tmp_path / "a.h5", {"name": "theirs"}) as writer,
    ):
        writer.write_part("test", records, number + 1)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_tells_only_at_the_end_that_it_is_full_leaves_no_file(tmp_path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("videopred.datasets.writer.os.fsync", full)
    with (
        pytest.raises(OSError, match="No space left"),
        new_file(tmp_path / "a.h5", {"name": "theirs"}) as writer,
    ):
        writer.write_part("test", films(2), 2)
    assert list(tmp_path.iterdir()) == []
