"""The curves of a run as one CSV file, which goes on where it stopped."""

import csv
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger
from lightning.pytorch.utilities import rank_zero_only

from videopred.files import told_of, whole_file
from videopred.training.metrics_rows import read_metrics


class MetricsFile(Logger):
    """Rows of `update`, counted from 1, and what was measured at it, written as they come.

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
        if not self._columns:
            self._write(self._kept, ["update"])
        row = {"update": step + 1} | {name: value for name, value in metrics.items() if name != "epoch"}
        if not set(row) <= set(self._columns):
            self._write(read_metrics(self.path), [*self._columns, *(name for name in row if name not in self._columns)])
        with told_of(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self._columns).writerow(row)

    def _write(self, rows: list[dict[str, str]], columns: list[str]) -> None:
        self._columns = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
        with whole_file(self.path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns)
            writer.writeheader()
            writer.writerows(rows)
