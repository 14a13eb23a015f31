"""Scores as tables and curves of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from videopred.amounts import counted
from videopred.eval.comparison import Comparison, Difference, compare
from videopred.eval.comparison_rows import ComparedRow
from videopred.eval.intervals import OVER_CLIPS
from videopred.eval.metric import Quantity
from videopred.eval.plausibility_settings import asked_alike
from videopred.eval.plausibility_text import is_shown
from videopred.eval.scores import Scores
from videopred.eval.tables import (
    best_rows,
    conventions,
    curve_title,
    head,
    mean_with_half,
    value_with_half,
    what_steps_are,
    what_was_asked,
    written,
    written_interval,
)
from videopred.plots.score_panel import over_steps
from videopred.report.charts import Line, line_chart, styles


class Cell(NamedTuple):
    """A number, and whether it is to be seen first."""

    text: str
    strong: bool = False
    below: str = ""
    """What stands in small under it."""


class Row(NamedTuple):
    """A line of a table."""

    name: str
    cells: Sequence[Cell]
    faint: bool = False
    """Whether it only stands beside the others."""
    style: str = ""
    """The class of its line in the curves; none if it has no curve."""


class Table(NamedTuple):
    """A table of numbers."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Row]


class ScoreBlock(NamedTuple):
    """Scores on one data set, of one run or of several side by side."""

    title: str
    tables: Sequence[Table]
    charts: Sequence[str]
    legend: Mapping[str, str]
    """Metric -> its convention, and how intervals are shown."""
    notes: Sequence[str]


def score_block(name: str, scores: Scores) -> ScoreBlock:
    """What there is to say of scores on the data of that name."""
    shaded = "; shaded in the curves" if scores.protocol.horizon > 1 else ""  # a single step has no curve
    legend = _legend(scores, "±", "half of the 95 % interval over {}s ({})" + shaded)
    title = f"{name}: {what_was_asked(scores)}"
    charts = _charts(scores, _rows(scores))
    return ScoreBlock(title, [score_table(scores)], charts, legend, [*scores.remarks, *scores.notes])


def comparison_block(each: Mapping[str, Scores], tables: Mapping[str, Scores]) -> ScoreBlock:
    """What there is to say of several runs together: each by itself, and models of several seeds.

    Args:
        each: run -> its scores, without those of other runs.
        tables: name -> scores of some of these runs, which tell of seeds.

    Raises:
        ValueError: the scores cannot be compared.
    """
    compared = compare({name: replace(one, seeds={}) for name, one in each.items()})
    interval, has_curves = "95 % interval over {}s ({})", compared.first.protocol.horizon > 1
    legend = _legend(compared.first, "shaded", interval) if has_curves else conventions(compared.first)
    found = [*comparison_tables(compared), *seed_tables(tables)]
    charts = _charts(compared.first, compared.rows)
    return ScoreBlock(compared.asked, found, charts, legend, [*compared.remarks, *compared.notes])


def _legend(scores: Scores, mark: str, interval: str) -> dict[str, str]:
    """What metrics are, and unless there is a single clip or scene, what marks an interval."""
    intervals = {} if scores.drawn is None else {mark: interval.format(scores.unit, OVER_CLIPS)}
    return conventions(scores) | intervals


def score_table(scores: Scores) -> Table:
    """Means over the rollout with half of their intervals; the best of a column is strong."""
    heads = [head(scores, column) for column in scores.metrics]
    best = {
        column: best_rows({row: of[column] for row, of in scores.values.items()}, metric)
        for column, metric in scores.metrics.items()
    }
    rows = []
    for row, style in _styles(_rows(scores)).items():
        cells = [Cell(mean_with_half(scores, row, column), row in best[column]) for column in scores.metrics]
        rows.append(Row(row, cells, row not in scores.models, style))
    horizon = scores.protocol.horizon
    return Table(f"Mean of {counted(horizon, 'step')}; the best of a column is bold", heads, rows)


def seed_tables(scores: Mapping[str, Scores]) -> list[Table]:
    """What is said of models over their seeds: their means and, of several models, the differences."""
    found: list[Table] = []
    for name, one in scores.items():
        table = seed_table(one, f"{name}: " if len(scores) > 1 else "")
        if table and found and found[-1].heads == table.heads:
            found[-1] = found[-1]._replace(rows=[*found[-1].rows, *table.rows])
        elif table:
            found.append(table)
    if not found:
        return found
    compared = compare(scores)
    if sum(row.is_model for row in compared.rows.values()) == 1:
        return found
    _, apart = comparison_tables(compared)
    rows = [row if row.faint else row._replace(style="") for row in apart.rows]  # the curves are of single runs
    return [*found, apart._replace(rows=rows)]


def seed_table(scores: Scores, prefix: str = "") -> Table | None:
    """Means over runs that differ in their seeds only, with half of their intervals over seeds; None without any.

    Args:
        prefix: before the name of each row.
    """
    if not scores.seeds:
        return None
    heads, rows = [head(scores, column) for column in scores.metrics], []
    for name in scores.seeds:
        cells = [
            Cell(value_with_half(*scores.over_seeds(name, column), metric)) for column, metric in scores.metrics.items()
        ]
        rows.append(Row(prefix + name, cells))
    return Table("Mean over runs from several seeds, with half of the 95 % interval over them", heads, rows)


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Means of every row with half of their intervals, and how far they are from the first model's; strong where clips
    tell them apart."""
    metrics = comparison.first.metrics
    heads = [head(comparison.first, column) for column in metrics]
    means, differences = [], []
    for row, style in _styles(comparison.rows).items():
        faint = not comparison.rows[row].is_model
        of_row = {column: comparison.rows[row].mean(column) for column in metrics}
        values = [Cell(value_with_half(one.value, one.half, metrics[column])) for column, one in of_row.items()]
        means.append(Row(row, values, faint, style))
        if row != comparison.relative_to:
            apart = [_difference(comparison.difference(row, column), metric) for column, metric in metrics.items()]
            differences.append(Row(row, apart, faint, style))
    horizon = comparison.first.protocol.horizon
    chances = f"{comparison.first.unit}s"
    chances += " and seeds" if any(len(row.runs) > 1 for row in comparison.rows.values()) else ""
    halves = "" if comparison.first.drawn is None else f", ± half of its 95 % interval over {chances}"
    paired = f"Differences from {comparison.relative_to}, with paired 95 % intervals over {chances}"
    strong = "bold where the interval excludes 0, not corrected for several comparisons"
    return [
        Table(f"Mean of {counted(horizon, 'step')}{halves}", heads, means),
        Table(f"{paired}; {strong}", heads, differences),
    ]


def plausibility_table(judged: Mapping[str, Any]) -> Table | None:
    """Errors of each aggregate, over all scenes and over those of one kind; None of films without labels."""
    kinds, rows = _kinds(judged), []
    if not kinds:
        return None
    for name, error in kinds.items():
        cells = [Cell(str(error["scenes"])), *(_estimate(error[which]) for which in ("relative", "absolute"))]
        rows.append(Row(name, cells, bool(error["where"])))
    return Table(
        "Errors, with 95 % intervals over scenes: 0 is best, 0.5 is chance",
        ["scenes", "relative ↓", "absolute ↓"],
        rows,
    )


def plausibility_beside(judged: Mapping[str, Mapping[str, Any]]) -> Table | None:
    """Relative errors of several runs; None if there are none, or they were asked about other films or in other ways.

    Args:
        judged: run -> what `videopred plausibility` wrote of it.
    """
    asked = [one["settings"] for one in judged.values()]
    kinds = [_kinds(one) for one in judged.values()]
    first, *others = ({name: error["scenes"] for name, error in of.items()} for of in kinds)
    if not first or any(of != first for of in others) or not all(asked_alike(one, asked[0]) for one in asked):
        return None
    rows = [
        Row(
            name,
            [Cell(str(scenes)), *(Cell(f"{of[name]['relative']['value']:.3f}") for of in kinds)],
            bool(kinds[0][name]["where"]),
        )
        for name, scenes in first.items()
    ]
    notes = [f"{run}: {note}" for run, one in judged.items() for note in one.get("notes", ())]
    return Table("; ".join(["Relative errors: 0 is best, 0.5 is chance", *notes]), ["scenes", *judged], rows)


def _kinds(judged: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Aggregate and kind of scenes, in words -> the errors, of kinds that are shown."""
    return {
        f"{aggregate}, {', '.join(f'{name} {value}' for name, value in error['where'].items()) or 'all scenes'}": error
        for aggregate, errors in judged["errors"].items()
        for error in errors
        if is_shown(error["where"])
    }


def _difference(one: Difference, metric: Quantity) -> Cell:
    return Cell(written(one.difference, metric), one.told_apart, written_interval(one.low, one.high, metric))


def _estimate(said: dict[str, float | None]) -> Cell:
    low, high = said["low"], said["high"]
    ends = "" if low is None or high is None else f" ({low:.3f} to {high:.3f})"
    return Cell("–" if said["value"] is None else f"{said['value']:.3f}{ends}")


def _rows(scores: Scores) -> dict[str, ComparedRow]:
    return {row: ComparedRow(scores, (row,)) for row in scores.values}


def _styles(rows: Mapping[str, ComparedRow]) -> dict[str, str]:
    """Row -> the class of its line, the models' first."""
    models = [name for name, row in rows.items() if row.is_model]
    return styles(models, [name for name in rows if name not in models])


def _charts(scores: Scores, rows: Mapping[str, ComparedRow]) -> list[str]:
    """An SVG of each metric by which something can be said, in which models can be told apart; none of a single step,
    where a curve is a point."""
    if scores.protocol.horizon == 1:
        return []
    where, steps = _styles(rows), range(1, scores.protocol.horizon + 1)
    charts = []
    for column, metric in scores.metrics.items():
        panel = over_steps(rows, column)
        lines = {
            name: Line(steps, curve.values.tolist(), curve.low.tolist(), curve.high.tolist(), where[name])
            for name, curve in panel.rows.items()
        }
        title = curve_title(scores.label(column), metric)
        charts.append(line_chart(title, lines, panel.along or what_steps_are(scores.protocol), panel.ends))
    return list(filter(None, charts))
