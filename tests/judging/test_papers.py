"""What is committed of the papers' own results."""

import csv
from pathlib import Path

import pytest

from videopred.eval.protocols import PROTOCOLS

FOLDER = Path(__file__).parents[2] / "eval" / "papers"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.mark.parametrize("name", ["scoff-intphys.csv", "in-text.csv", "figures.csv"])
def test_every_line_says_its_place_and_a_protocol_of_ours(name):
    for row in rows(name):
        assert None not in row
        assert all(row[key] for key in ("paper", "place", "protocol", "metric"))
        assert row["protocol"] in PROTOCOLS


def test_numbers_are_errors_and_none_is_read_off_a_plot():
    for row in rows("scoff-intphys.csv"):
        assert 0 < float(row["value"]) < 1
    for row in rows("scoff-intphys.csv") + rows("in-text.csv"):
        assert float(row["value"]) > 0
        assert row["read_off_a_plot"] == "no"


def test_all_committed_tables_are_looked_at():
    assert {path.name for path in FOLDER.iterdir()} == {"scoff-intphys.csv", "in-text.csv", "figures.csv"}
