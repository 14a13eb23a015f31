"""Comparison over data: models on several data sets, each cell with an interval over clips, or scenes, and seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from videopred import check
from videopred.amounts import counted
from videopred.eval.comparison import (
    Comparison,
    by_shared_metrics,
    check_asked_alike,
    compare,
    first_known,
    names_by_row,
)
from videopred.eval.comparison_rows import model_rows
from videopred.eval.data_names import Series, series_of
from videopred.eval.data_tables import data_document, data_latex, data_table
from videopred.eval.intervals import UNKNOWN, Estimate
from videopred.eval.scores import Scores
from videopred.eval.tables import how_asked, own_feedback
from videopred.eval.text import csv_text, without_nan


class Cell(NamedTuple):
    """How a row does on a data set, in the mean over some first steps."""

    mean: Estimate
    """The row's mean; for a row of several seeds, the mean over the seeds."""
    ratio: Estimate
    """Its distance from the metric's best value, divided by the reference row's on these clips; NaN without one."""
    seeds: int
    """How many runs the row is the mean of."""
    deviation: float
    """Standard deviation of the mean over these seeds; NaN of a single run."""


@dataclass(frozen=True)
class DataComparison:
    """Rows of scores on several data sets.

    Raises:
        ValueError: the scores are under several protocols, or no model is on two data sets; or there is no such row.
    """

    data: Mapping[str, Comparison]
    """Name of a data set -> the rows on it."""
    relative_to: str | None = None
    """The reference row of relative errors, if they are wanted; see `rows`."""
    left_out: tuple[str, ...] = ()
    """Metrics that not all tables have, and that are not compared."""

    def __post_init__(self) -> None:
        check_asked_alike(self._first_tables, on_the_same_clips=False)
        places = {row: self._data_of(row) for row in self.models}
        got = ", and ".join(f"{row} on {' and '.join(names)}" for row, names in places.items())
        must = "be of the same data, or have a model that is on several"
        fix = "score a model on each, or give rows on different data one name with --names"
        check.require(any(len(names) > 1 for names in places.values()), "SCORES", must, got, fix)
        if self.relative_to is not None:
            check.one_of("--relative-to", self.relative_to, self.rows)

    @property
    def first(self) -> Scores:
        """The first table whose feedback is known, if there is one, which says what was asked of all."""
        return first_known(self._first_tables.values())

    @property
    def _first_tables(self) -> dict[str, Scores]:
        """Data set -> the first table of it."""
        return {name: comparison.first for name, comparison in self.data.items()}

    def _data_of(self, row: str) -> list[str]:
        """Data sets on which a row was scored."""
        return [name for name, comparison in self.data.items() if row in comparison.rows]

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Rows that are models', of all data sets."""
        rows = [named for comparison in self.data.values() for named in comparison.rows.items()]
        return tuple(dict.fromkeys(name for name, row in rows if row.is_model))

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """All rows of all data sets: models, then trivial baselines."""
        every = [row for comparison in self.data.values() for row in comparison.rows]
        return tuple(dict.fromkeys([*self.models, *every]))

    @property
    def missing(self) -> dict[str, list[str]]:
        """Model -> data sets on which it was not scored, of each that has such."""
        found = {row: [name for name in self.data if name not in self._data_of(row)] for row in self.models}
        return {row: names for row, names in found.items() if names}

    @property
    def series(self) -> Series | None:
        """The one number in which the names of the data sets differ; None if they differ otherwise."""
        return series_of(list(self.data))

    @property
    def asked(self) -> str:
        """How many data sets, and what was asked of all."""
        asked = self.first.protocol
        counts = {table.clips for table in self._first_tables.values()}
        clips = counted(max(counts), "clip") if len(counts) == 1 else f"{min(counts)} to {max(counts)} clips"
        tables = [table for comparison in self.data.values() for table in comparison.scores.values()]
        others = own_feedback(table.protocol for table in tables)
        return f"{len(self.data)} data sets: {clips} of the {asked.part} part of each, {how_asked(asked)}{others}"

    def cell(self, row: str, data: str, column: str, steps: int | None = None) -> Cell | None:
        """How a row does in the mean over the first steps, over all when None; None where it was not scored."""
        rows = self.data[data].rows
        if row not in rows:
            return None
        found, reference = rows[row], rows.get(self.relative_to or "")
        ratio = UNKNOWN if reference is None else found.relative_to(reference, column, steps)
        return Cell(found.mean(column, steps), ratio, len(found.runs), found.deviation(column, steps))

    def table(self) -> str:
        """Plain text for a terminal: of each metric means with intervals and, if asked for, relative errors."""
        return data_table(self)

    def markdown(self) -> str:
        """The same as a document in Markdown."""
        return data_document(self)

    def latex(self) -> str:
        """The same as tables for a paper."""
        return data_latex(self)

    def to_csv(self) -> str:
        """A line for each row, data set, column and span of steps that was scored, in full precision."""
        heads = ["row", "data", "metric", "steps", "value", "low", "high"]
        heads += ["relative to", "relative error", "relative low", "relative high", "seeds", "deviation over seeds"]
        lines = [
            [row, data, column, steps, *cell.mean, self.relative_to, *cell.ratio, cell.seeds, cell.deviation]
            for row in self.rows
            for data in self.data
            for column in self.first.metrics
            for steps in self.first.protocol.spans
            if (cell := self.cell(row, data, column, steps)) is not None
        ]
        return csv_text(heads, lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows; null where nothing can be said."""
        files = {
            name: {
                "file": of.first.file,
                "fingerprint": of.first.fingerprint,
                "clips": of.first.clips,
                "notes": of.notes,
            }
            for name, of in self.data.items()
        }
        rows = {row: {name: self._told(row, name) for name in self._data_of(row)} for row in self.rows}
        protocol = self.first.protocol.model_dump(mode="json", exclude={"clips"})
        return {"relative_to": self.relative_to, "data": files, "protocol": protocol, "rows": rows}

    def _told(self, row: str, data: str) -> dict[str, Any]:
        """Metric -> steps -> what is told of a row on a data set."""
        told: dict[str, Any] = {column: {} for column in self.first.metrics}
        for column in told:
            for steps in self.first.protocol.spans:
                cell = self.cell(row, data, column, steps)
                assert cell is not None, (row, data)
                words = cell._asdict() | {"mean": cell.mean._asdict(), "ratio": cell.ratio._asdict()}
                told[column][str(steps)] = without_nan(words)
        return told


def compare_over_data(
    data: Mapping[str, Mapping[str, Scores]], relative_to: str | None = None, names: Mapping[str, str] | None = None
) -> DataComparison:
    """Tables of scores on several data sets, side by side.

    Args:
        data: name of a data set -> name of a table -> the table; see `videopred.eval.data_names.by_data`.
        relative_to: the reference row of relative errors; none when None.
        names: name of a model's row -> what it is called instead. Rows of one name on different data are one row.

    Raises:
        ValueError: the tables of a data set cannot be compared, those of several are not under the same protocol,
            share no metric, or have no model that is on two data sets; or there is no such row.
    """
    every = {f"{name} on {data_name}": table for data_name, tables in data.items() for name, table in tables.items()}
    shared, left_out = by_shared_metrics(every)
    same = {
        data_name: {name: shared[f"{name} on {data_name}"] for name in tables} for data_name, tables in data.items()
    }
    rows = {data_name: model_rows(tables) for data_name, tables in same.items()}
    called = names_by_row(names)
    for row in called:
        check.one_of("--names", row, dict.fromkeys(row for on_data in rows.values() for row in on_data))
    compared = {
        data_name: compare(tables, names={row: name for row, name in called.items() if row in rows[data_name]})
        for data_name, tables in same.items()
    }
    return DataComparison(compared, relative_to, left_out)
