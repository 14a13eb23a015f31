"""Writing files of records: clips of any origin, and records that do not go together."""

import h5py
import numpy as np
import pytest

from videopred.datasets.contacts import CONTACT
from videopred.datasets.record import Record
from videopred.datasets.store import ClipFile
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
