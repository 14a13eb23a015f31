"""Plausibility over runs from several seeds: the mean of each error, and its standard deviation."""

import statistics
from collections.abc import Sequence
from typing import Any

from videopred.eval.plausibility_scores import PlausibilityScores
from videopred.eval.plausibility_text import LEGEND, Line, cell, kinds_table


def over_seeds(runs: Sequence[PlausibilityScores]) -> dict[str, list[dict[str, Any]]]:
    """Aggregate -> kinds of scenes, each error with its mean and deviation over the runs: ready for JSON.

    Args:
        runs: the scores of each, of the same films and settings.
    """
    return {
        name: [
            {
                "where": dict(of_runs[0].where),
                "scenes": of_runs[0].scenes,
                "relative": _spread([errors.relative.value for errors in of_runs]),
                "strict": _spread([errors.strict for errors in of_runs]),
                "absolute": _spread([errors.absolute.value for errors in of_runs]),
            }
            for of_runs in zip(*(run.errors[name] for run in runs), strict=True)
        ]
        for name in runs[0].errors
    }


def seeds_table(runs: Sequence[PlausibilityScores]) -> str:
    """The same as plain text for a terminal."""
    first = runs[0]
    if first.scenes.possible is None:
        return first.table()
    heads = ["relative", "sd", "strict", "sd", "absolute", "sd"]
    tables = [kinds_table(name, heads, [_line(row) for row in rows]) for name, rows in over_seeds(runs).items()]
    legend = f"{LEGEND}; sd: standard deviation over seeds (- of one)"
    return "\n\n".join([f"{first.title}; mean of {len(runs)} seeds", *tables, legend])


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    return {"mean": statistics.fmean(values), "deviation": statistics.stdev(values) if len(values) > 1 else None}


def _line(row: dict[str, Any]) -> Line:
    spreads = (row[error] for error in ("relative", "strict", "absolute"))
    return Line(row["where"], row["scenes"], [cell(number) for spread in spreads for number in spread.values()])
