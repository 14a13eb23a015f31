"""Scores for other programs: what scores.json and scores.csv say."""

from typing import TYPE_CHECKING, Any

import numpy as np

from videopred.eval.intervals import OVER_CLIPS, Interval
from videopred.eval.text import csv_text, without_nan
from videopred.own_code import code_record

if TYPE_CHECKING:
    from videopred.eval.scores import Scores


def score_dict(scores: "Scores") -> dict[str, Any]:
    """Everything but the measurements; see `Scores.to_dict`."""
    if scores.code is None:
        code = code_record({metric.name for metric in scores.metrics.values()})
    else:
        code = {"code": dict(scores.code)} if scores.code else {}
    content = {
        "file": scores.file,
        "fingerprint": scores.fingerprint,
        "reference": scores.reference,
        "protocol": scores.protocol.model_dump(mode="json"),
        "clips_in_part": scores.clips_in_part,
        "models": list(scores.models),
        "stamps": dict(scores.stamps),
        "predictable": scores.predictable,
        "seeds": {name: list(rows) for name, rows in scores.seeds.items()},
        "notes": list(scores.notes),
        "remarks": list(scores.remarks),
        "metrics": {
            column: {
                "metric": metric.name,
                "label": scores.label(column),
                "settings": metric.config.model_dump(mode="json"),
                "convention": metric.convention,
                "higher_is_better": metric.higher_is_better,
            }
            for column, metric in scores.metrics.items()
        },
        **code,
        "interval": f"95 % over {scores.unit}s ({OVER_CLIPS}); of over_seeds, 95 % over runs (Student's t)",
        "best_of": {
            row: {name: {str(count): value for count, value in of.items()} for name, of in of_row.items()}
            for row, of_row in scores.best_of.items()
        },
        "rows": {row: {column: _cell(scores, row, column) for column in scores.metrics} for row in scores.values},
        "over_seeds": {
            name: {column: _seed_cell(scores, name, column) for column in scores.metrics} for name in scores.seeds
        },
    }
    found: dict[str, Any] = without_nan(content)
    return found


def score_csv(scores: "Scores") -> str:
    """One line for each row, column and step; see `Scores.to_csv`."""
    lines: list[tuple[Any, ...]] = []
    for row, of_row in scores.values.items():
        for column, values in of_row.items():
            ends = scores.intervals(row, column)
            lows, highs = ([None] * len(values),) * 2 if ends is None else (ends.low.tolist(), ends.high.tolist())
            steps = zip(values.tolist(), lows, highs, strict=True)
            lines += [(row, column, step, *numbers) for step, numbers in enumerate(steps, 1)]
    return csv_text(["row", "metric", "step", "value", "low", "high"], lines)


def _cell(scores: "Scores", row: str, column: str) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "mean": scores.mean(row, column),
        "interval": _listed(scores.interval(row, column)),
        "skill": scores.skill(row, column),
        "steps": scores.values[row][column].tolist(),
        "intervals": _listed(scores.intervals(row, column)),
    }
    spans = scores.protocol.spans
    return cell if len(spans) == 1 else cell | {"means": {str(span): scores.mean(row, column, span) for span in spans}}


def _seed_cell(scores: "Scores", name: str, column: str) -> dict[str, Any]:
    mean, half = scores.over_seeds(name, column)
    cell, spans = {"mean": mean, "interval": [mean - half, mean + half]}, scores.protocol.spans
    means = {str(span): scores.over_seeds(name, column, span)[0] for span in spans}
    return cell if len(spans) == 1 else cell | {"means": means}


def _listed(interval: Interval | None) -> list[Any] | None:
    """The two ends, of each step where there are several."""
    return None if interval is None else np.stack(interval, axis=-1).tolist()
