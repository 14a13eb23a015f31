"""Plausibility over runs from several seeds: the mean of each error, and its standard deviation."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from videopred.amounts import counted
from videopred.eval.file_names import OVER_SEEDS_FILES
from videopred.eval.plausibility_scores import PlausibilityScores
from videopred.eval.plausibility_text import Line, cell, kinds_table, legend_of
from videopred.eval.text import csv_text
from videopred.files import json_text, write_all
from videopred.run_files import run_name

_ERRORS = ("relative", "strict", "absolute")


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
    legend = legend_of(first.errors, "sd: standard deviation over seeds (– for one)", _notes(runs))
    name = run_name(Path(first.settings["run"])).partition("/")[0]
    title = f"{name} on {first.title}; mean of {counted(len(runs), 'seed')}"
    return "\n\n".join([title, *tables, legend])


def save_over_seeds(runs: Sequence[PlausibilityScores], folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write plausibility-over-seeds.json and .csv, both or none, and return their paths.

    Args:
        runs: the scores of each, of the same films and settings.
        folder: made if it is not there.
        overwrite: replace files that are there.

    Raises:
        FileExistsError: one is there and `overwrite` is false; then none is written.
    """
    asked = {name: value for name, value in runs[0].settings.items() if name != "run"}
    settings = {**asked, "runs": [one.settings["run"] for one in runs]}
    content = {"settings": settings, "notes": _notes(runs), "over_seeds": over_seeds(runs)}
    paths = [folder / name for name in OVER_SEEDS_FILES]
    return write_all(dict(zip(paths, (json_text(content), _csv(runs)), strict=True)), overwrite=overwrite)


def _notes(runs: Sequence[PlausibilityScores]) -> list[str]:
    """The notes of all, each with the name of its run."""
    return [f"{run_name(Path(run.settings['run']))}: {note}" for run in runs for note in run.notes]


def _csv(runs: Sequence[PlausibilityScores]) -> str:
    """One line for each aggregate and kind of scenes; an empty condition means all, an empty deviation one seed."""
    heads = list(runs[0].scenes.conditions)
    lines = [
        [name, *(row["where"].get(head, "") for head in heads), row["scenes"], *_numbers(row)]
        for name, rows in over_seeds(runs).items()
        for row in rows
    ]
    numbers = [column for error in _ERRORS for column in (error, f"{error}_deviation")]
    return csv_text(["aggregate", *heads, "scenes", *numbers], lines)


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    return {"mean": statistics.fmean(values), "deviation": statistics.stdev(values) if len(values) > 1 else None}


def _line(row: dict[str, Any]) -> Line:
    return Line(row["where"], row["scenes"], list(map(cell, _numbers(row))))


def _numbers(row: dict[str, Any]) -> list[float | None]:
    """Mean and deviation of each error."""
    return [row[error][key] for error in _ERRORS for key in ("mean", "deviation")]
