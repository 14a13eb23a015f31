"""Facts of a run and its data, as names and values to be read, and its curves."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from videopred.amounts import duration, four_digits
from videopred.differing import differing, setting_told
from videopred.eval.scores import Scores
from videopred.report import tables
from videopred.report.charts import Line, line_chart
from videopred.report.found import FoundRun
from videopred.training.metrics_rows import curves, losses, lowest

_TIMES = {"seconds": "time", "cpu_seconds": "CPU time"}
"""Numbers of seconds in a record, and what they are called."""
_POINTS = 300
"""Points of a curve at most; of more rows, means of as many as it takes are drawn."""


def first_facts(run: FoundRun, scores: Scores | None) -> dict[str, str]:
    """The facts at the top of a run's section: name -> value."""
    found: dict[str, str] = {"core": run.core}
    frames = run.settings.get("film_shape")
    if frames:
        found["frames"] = f"{frames[1]} × {frames[2]}" + (" in color" if frames[0] == 3 else "")
    if run.record.get("updates") is not None:
        found["updates"] = f"{run.record['updates']:,}"
    found |= {"state": str(run.record["state"])} if "state" in run.record else {}
    for kind, (_, values) in losses(curves(run.log), "validation").items():
        found[f"lowest validation loss ({kind})"] = four_digits(lowest(values))
    if scores is not None:
        column = next(iter(scores.metrics))
        (model, *_) = scores.models
        found[tables.head(scores, column)] = tables.written(scores.mean(model, column), scores.metrics[column])
    return found


def learning_charts(run: FoundRun) -> list[str]:
    """The losses in one chart, and every other curve that moves in one of its own."""
    found = curves(run.log)
    lines: dict[str, Line] = {}
    for place, part in enumerate(("train", "validation")):
        for kind, curve in losses(found, part).items():
            lines[f"{part} {kind}"] = thinned(*curve, f"line-{place}")
    others = [
        line_chart(name.replace("/", ": ").replace("_", " "), {name: thinned(*curve, "line-0")}, "updates")
        for name, curve in found.items()
        if name.replace("_", " ", 1) not in lines and len(set(curve[1])) > 1
    ]
    return [chart for chart in [line_chart("loss", lines, "updates"), *others] if chart]


def thinned(steps: Sequence[float], values: Sequence[float], style: str) -> Line:
    """A curve of so many points at most, each the mean of as many neighbours."""
    pieces = min(len(steps), _POINTS)
    x, y = ([float(piece.mean()) for piece in np.array_split(np.array(axis), pieces)] for axis in (steps, values))
    return Line(x, y, style=style)


def data_record(run: FoundRun) -> dict[str, str]:
    """What a run says of the data that it learned from."""
    record = run.settings.get("data") or run.record.get("data") or {}
    return {name: str(value) for name, value in record.items()}


def data_card(facts: Mapping[str, Any], fingerprint: str, run: FoundRun) -> dict[str, dict[str, str]]:
    """What there is to say of the data shown."""
    trained = data_record(run).get("sha256")
    same = "the data it was trained on" if trained == fingerprint else "not the data it was trained on"
    alone = {name: value for name, value in facts.items() if name not in ("recipe", "parts", "imported")}
    alone |= {"fingerprint": fingerprint} | ({"this is": same} if trained else {})
    parts = {part: of_part for part, of_part in facts["parts"].items() if of_part["clips"]}
    return _written_groups({"": alone, **parts, "imported": facts.get("imported", {}), "recipe": facts["recipe"] or {}})


def settings_by_part(run: FoundRun) -> dict[str, dict[str, str]]:
    """Settings by part, flat in each."""
    model = run.settings["model"]
    groups: dict[str, Any] = {name: value for name, value in model.items() if isinstance(value, dict)}
    alone = {name: value for name, value in model.items() if not isinstance(value, dict)}
    alone |= {name: run.settings[name] for name in ("film_shape", "init_from") if run.settings.get(name) is not None}
    groups |= {"films": alone}
    groups |= {name: run.settings[name] for name in ("training", "compute") if name in run.settings}
    return _written_groups(groups)


def _written_groups(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    return {
        group: {name.replace("_", " "): setting_told(value) for name, value in rows.items()}
        for group, rows in groups.items()
        if rows
    }


def settings_beside(runs: Sequence[FoundRun]) -> tables.Table | None:
    """The settings by which runs differ; None if there is none."""
    found = differing({run.name: run.settings for run in runs})
    if not found:
        return None
    rows = zip([run.name for run in runs], zip(*found.values(), strict=True), strict=True)
    lines = [tables.Row(name, [tables.Cell(value) for value in values]) for name, values in rows]
    return tables.Table("Settings by which they differ", [*found], lines)


def provenance(run: FoundRun) -> dict[str, str]:
    """Where the run came from, but not the name of the machine, which does not concern readers of the page."""
    record = run.record
    names = ("started", "finished", "seconds", "cpu_seconds", "device", "threads", "python", "machine", "commit")
    found: dict[str, str] = {}
    for name in names:
        value = record.get(name)
        if name in _TIMES and isinstance(value, int | float) and isfinite(value):
            found[_TIMES[name]] = duration(value)
        elif value is not None:
            found[name] = setting_told(value)
    return found | {name: str(number) for name, number in record.get("versions", {}).items()}
