"""The record of a run: what it says to all who read it."""

import json
import re

import pytest

from videopred.check import FaultyFileError
from videopred.run_record import is_of_run, read_record, stamp_of, updates_learned, updates_saved


def test_without_a_record_nothing_is_told(tmp_path):
    assert read_record(tmp_path) == {}
    assert (updates_saved({}), updates_learned({}), stamp_of({})) == (None, None, None)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe{", b"[1]"])
def test_a_damaged_record_is_named(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(FaultyFileError, match=r"run\.json must hold JSON, got something else; restore it, or delete"):
        read_record(tmp_path)


@pytest.mark.parametrize(
    "odd",
    [
        {"command": ["a"]},
        {"data": "two.h5"},
        {"seconds": "2"},
        {"state": None},
        {"updates": "two"},
        {"finished": 5},
        {"resumed": {"at": 3}},
        {"saved": "3"},
        {"threads": "2"},
        {"versions": ["1.0"]},
    ],
)
def test_what_is_of_another_kind_is_named(tmp_path, odd):
    ((name, value),) = odd.items()
    (tmp_path / "run.json").write_text(json.dumps({"started": "then", "data": None, "saved": 3} | odd))
    told = re.escape(f"run.json must hold the record of a run, got {name} {value!r}; restore it, or delete it")
    with pytest.raises(FaultyFileError, match=told):
        read_record(tmp_path)


@pytest.mark.parametrize(
    ("record", "saved", "learned"),
    [
        ({"saved": 3}, 3, None),
        ({"saved": 3, "learned": 2}, 3, 2),
        ({"updates": 5}, 5, 5),
        ({"saved": 3, "updates": 5}, 5, 5),
        ({"updates": 0}, 0, 0),
    ],
    ids=["it runs", "an export of one that runs", "it has ended", "it ended unsaved", "it has failed at once"],
)
def test_how_far_a_run_is(record, saved, learned):
    assert (updates_saved(record), updates_learned(record)) == (saved, learned)


def test_stamps_of_one_run_differ_and_are_told_from_those_of_another():
    records = [{}, {"saved": 3}, {"updates": 5}, {"updates": 5, "weights": "last, 16 bits"}]
    stamps = [stamp_of({"started": "then"} | record) for record in records]
    assert stamps == ["then", "then after 3 updates", "then after 5 updates", "then after 5 updates, last, 16 bits"]
    assert all(is_of_run(stamp, {"started": "then", "updates": 7}) for stamp in stamps)
    assert not any(is_of_run(stamp, {"started": "now", "updates": 5}) for stamp in stamps)
    assert not any(is_of_run(stamp, {}) for stamp in stamps)


def test_a_run_is_told_by_its_beginning_and_a_saved_model_by_its_end():
    """A run that is resumed ends again."""
    assert stamp_of({"started": "then", "finished": "later", "updates": 5}) == "then after 5 updates"
    assert stamp_of({"finished": "later", "updates": 5}) == "later after 5 updates"
