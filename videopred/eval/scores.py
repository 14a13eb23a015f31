"""Scores: the table that comes out of judging, as text, JSON and CSV."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from videopred.check import absent, require
from videopred.eval.settings import Protocol
from videopred.files import whole_file

if TYPE_CHECKING:
    from videopred.eval.metric import Metric


@dataclass(frozen=True)
class Scores:
    """How well each row (the model, and the trivial predictions) did at each step of the rollout."""

    values: Mapping[str, Mapping[str, np.ndarray]]
    """row -> metric -> (horizon,) float64."""
    metrics: Mapping[str, "Metric"]
    """name -> the metric, with its convention and direction."""
    file: str
    """Path of the file whose clips were predicted."""
    fingerprint: str
    """Fingerprint of that file."""
    reference: str
    """Path of the file whose training part gave the mean frame and the calibration."""
    protocol: Protocol
    """What was asked; `clips` is filled in."""

    def table(self, steps: Sequence[int] | None = None) -> str:
        """Plain text for a terminal: means over the rollout, then every metric at a few steps.

        Args:
            steps: rollout steps to show, from 1 to the horizon; None chooses about five.

        Raises:
            ValueError: a step is outside the rollout.
        """
        horizon = self.protocol.horizon
        steps = _few_steps(horizon) if steps is None else steps
        for step in steps:
            inside = 1 <= step <= horizon
            require(inside, "steps", f"lie in 1 to {horizon}", step, "step 1 is the first predicted frame")
        return "\n\n".join(
            [
                self._title(),
                self._means(),
                *(self._at_steps(name, steps) for name in self.metrics),
                "\n".join(f"{metric.label:4}  {metric.convention}" for metric in self.metrics.values()),
            ]
        )

    def _title(self) -> str:
        asked = self.protocol
        clips = f"{asked.clips} clip{'' if asked.clips == 1 else 's'} of the {asked.part} part"
        span = f"{asked.context} frames of context, {asked.horizon} predicted, feedback {asked.feedback}"
        return f"{Path(self.file).name}: {clips}, {span}; * marks the best of a column"

    def _means(self) -> str:
        heads = [f"{metric.label} {_arrow(metric)}" for metric in self.metrics.values()]
        columns = [self._column(name, slice(None)) for name in self.metrics]
        return _aligned(f"mean of {self.protocol.horizon} steps", heads, list(self.values), columns)

    def _at_steps(self, name: str, steps: Sequence[int]) -> str:
        metric = self.metrics[name]
        columns = [self._column(name, slice(step - 1, step)) for step in steps]
        heads = [f"{step} " for step in steps]
        return _aligned(f"{metric.label} {_arrow(metric)} at step", heads, list(self.values), columns)

    def _column(self, name: str, steps: slice) -> list[str]:
        """One cell for each row, the best marked with a star."""
        metric = self.metrics[name]
        means = [float(of_row[name][steps].mean()) for of_row in self.values.values()]
        best = max(means) if metric.higher_is_better else min(means)
        return [f"{mean:z.{metric.decimals}f}{'*' if mean == best else ' '}" for mean in means]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows."""
        return {
            "file": self.file,
            "fingerprint": self.fingerprint,
            "reference": self.reference,
            "protocol": self.protocol.model_dump(mode="json"),
            "metrics": {
                name: {
                    "label": metric.label,
                    "settings": metric.config.model_dump(mode="json"),
                    "convention": metric.convention,
                    "higher_is_better": metric.higher_is_better,
                }
                for name, metric in self.metrics.items()
            },
            "rows": {
                row: {name: {"mean": float(values.mean()), "steps": values.tolist()} for name, values in of_row.items()}
                for row, of_row in self.values.items()
            },
        }

    def to_csv(self) -> str:
        """One line for each row, metric and step, under a head line; values in full precision."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "metric", "step", "value"])
        for row, of_row in self.values.items():
            for name, values in of_row.items():
                writer.writerows([row, name, step, value] for step, value in enumerate(values.tolist(), 1))
        return text.getvalue()

    def save(self, folder: Path, *, overwrite: bool = False) -> list[Path]:
        """Write scores.json and scores.csv, and return their paths.

        Raises:
            FileExistsError: one is there and `overwrite` is false; then neither is written.
        """
        texts = {
            folder / "scores.json": json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n",
            folder / "scores.csv": self.to_csv(),
        }
        for path in texts:
            absent("--out", path, overwrite)
        for path, text in texts.items():
            with whole_file(path) as partial:
                partial.write_text(text, encoding="utf-8")
        return list(texts)


def _few_steps(horizon: int) -> list[int]:
    """The first step, the last, and a few round ones between."""
    return [step for step in (1, 2, 5, 10, 20, 50, 100) if step < horizon] + [horizon]


def _arrow(metric: "Metric") -> str:
    return "↑" if metric.higher_is_better else "↓"


def _aligned(corner: str, heads: list[str], rows: list[str], columns: list[list[str]]) -> str:
    """Lines with the names flush left and the columns flush right."""
    names = [name.ljust(20) for name in (corner, *rows)]
    numbers = [
        [cell.rjust(max(8, *map(len, (head, *column)))) for cell in (head, *column)]
        for head, column in zip(heads, columns, strict=True)
    ]
    return "\n".join("  ".join(line).rstrip() for line in zip(names, *numbers, strict=True))
