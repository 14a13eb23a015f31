"""What stands in the metrics file of a run: rows, and the curves in them. Light: nothing here loads torch."""

import csv
from collections.abc import Iterable, Mapping
from math import isnan
from pathlib import Path

from videopred import check

Curve = tuple[list[float], list[float]]
"""Updates done, and values."""


def read_metrics(path: Path) -> list[dict[str, str]]:
    """The rows of a metrics file, without what is empty in them; none if there is no file, or no whole row.

    Raises:
        FaultyFileError: it holds something else, or is a folder.
    """
    if not path.exists():
        return []
    check.require_sound(path.is_file(), str(path), "be a file", "something else", "move it away")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in file if line.endswith("\n")]  # a killed process may leave half a line
        rows = [{name: value for name, value in row.items() if value} for row in csv.DictReader(lines)]
    except (UnicodeDecodeError, csv.Error):
        rows = [{}]
    sound = all(row.get("update", "").isdecimal() and None not in row for row in rows)
    fix = "restore it, or delete it, and the curves of the run are lost"
    check.require_sound(sound, str(path), "hold rows that begin with an update", "others", fix)
    return sorted(rows, key=lambda row: int(row["update"]))  # which a spreadsheet may have sorted otherwise


def curves(rows: Iterable[Mapping[str, str]]) -> dict[str, Curve]:
    """Column of a metrics file -> its curve, from the rows that were read; what is no number is left out."""
    found: dict[str, Curve] = {}
    for row in rows:
        for name, cell in row.items():
            if name == "update":
                continue
            try:
                value = float(cell)
            except ValueError:
                continue
            steps, values = found.setdefault(name, ([], []))
            steps.append(float(row["update"]))
            values.append(value)
    return found


def losses(found: Mapping[str, Curve], part: str) -> dict[str, Curve]:
    """Kind of loss, such as bce -> its curve on a part, which is train or validation."""
    return {name.removeprefix(f"{part}_"): curve for name, curve in found.items() if name.startswith(f"{part}_")}


def lowest(values: Iterable[float]) -> float:
    """The lowest of some losses, at least one; one that is not a number is never lower."""
    return min(values, key=lambda value: (isnan(value), value))
