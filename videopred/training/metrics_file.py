"""The curves of a run as one CSV file, which goes on where it stopped."""

import csv
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger
from lightning.pytorch.utilities import rank_zero_only

from videopred.files import told_of, whole_file
from videopred.systems import open_files_move
from videopred.training.metrics_rows import read_metrics
from videopred.training.telling import say


class MetricsFile(Logger):
    """Rows of `update`, counted from 1, and what was measured at it, written as they come.

    While the file may not be written to, as where Excel has it open on Windows, rows wait for the next ones, or for the
    end: that is no reason to end a training. A full disk is one.

    Args:
        path: the file.
        done: updates of the checkpoint that is gone on from; rows beyond them are dropped, for they come again.

    Raises:
        FaultyFileError: something else is there.
    """

    def __init__(self, path: Path, done: int) -> None:
        super().__init__()
        self.path = path
        self._kept = [row for row in read_metrics(path) if int(row["update"]) <= done]
        self._columns: list[str] = []
        self._waiting: list[dict[str, Any]] = []

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def version(self) -> int:
        return 0

    @rank_zero_only
    def log_hyperparams(self, *anything: Any, **more: Any) -> None:
        """Nothing: settings.json has them."""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int) -> None:  # type: ignore[override]
        """Add a row. Lightning's steps count from 0."""
        row = {"update": step + 1} | {name: value for name, value in metrics.items() if name != "epoch"}
        if not self._add([*self._waiting, row]) and len(self._waiting) == 1:
            say(f"{self.path} cannot be written to; its rows wait")

    def finalize(self, status: str) -> None:
        """Add the rows that wait still."""
        if self._waiting and not self._add(self._waiting):
            say(f"{self.path} could not be written to; its rows since update {self._waiting[0]['update']} are lost")

    def _add(self, rows: list[dict[str, Any]]) -> bool:
        """Whether rows could be added; else they wait."""
        self._waiting = rows
        try:
            if not self._columns:
                self._write(self._kept, ["update"])
            columns = list(dict.fromkeys([*self._columns, *(name for row in rows for name in row)]))
            if columns != self._columns:
                self._write(read_metrics(self.path), columns)
            with told_of(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns, lineterminator="\n").writerows(rows)
            self._waiting = []
        except PermissionError:
            pass
        return not self._waiting

    def _write(self, rows: list[dict[str, str]], columns: list[str]) -> None:
        columns = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
        if self.path.exists() and not open_files_move():
            with told_of(self.path), self.path.open("ab"):  # is refused at once, where replacing would be tried again
                pass
        with whole_file(self.path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        self._columns = columns
