"""A comparison as files: document, table and figures."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from videopred.eval.comparison import Comparison
from videopred.eval.comparison_over_data import DataComparison
from videopred.eval.intervals import UNKNOWN
from videopred.eval.tables import curve_title, what_steps_are
from videopred.files import write_all
from videopred.plots.curves import draw_curves
from videopred.plots.points import draw_points
from videopred.plots.score_panel import Curve, ScorePanel, over_steps
from videopred.rendering.canvas import figure_bytes, our_style


@our_style()
def save_comparison(
    comparison: Comparison | DataComparison,
    targets: Mapping[str, Path],
    *,
    curves: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a comparison, all its files or none.

    Args:
        comparison: what to write.
        targets: ending (.md, .tex, .csv, .png, .svg, .pdf) -> path.
        curves: see `draw_comparison`.
        overwrite: replace files that are there.

    Raises:
        FileExistsError: one is there and `overwrite` is false; then none is written.
    """
    contents = {path: _content(comparison, ending, curves) for ending, path in targets.items()}
    write_all(contents, overwrite=overwrite)


def _content(comparison: Comparison | DataComparison, ending: str, curves: bool) -> bytes | str:
    """What goes into the file with that ending."""
    if ending == ".md":
        return comparison.markdown()
    if ending == ".tex":
        return comparison.latex()
    if ending == ".csv":
        return comparison.to_csv()
    return figure_bytes(draw_comparison(comparison, curves=curves), ending[1:])


def draw_comparison(comparison: Comparison | DataComparison, *, curves: bool = False) -> Figure:
    """A comparison as a figure: curves over the horizon, or points over data sets.

    Args:
        comparison: what to draw.
        curves: draw curves over several data sets, too: a panel for each.
    """
    if isinstance(comparison, Comparison):
        columns = comparison.first.metrics
        panels = {_curve_title(comparison, column): over_steps(comparison.rows, column) for column in columns}
        return _draw_curves(comparison, panels)
    return _draw_curves(comparison, _panels_over_data(comparison)) if curves else _draw_points(comparison)


def _draw_curves(comparison: Comparison | DataComparison, panels: Mapping[str, ScorePanel]) -> Figure:
    """Curves over the horizon."""
    asked = comparison.first.protocol
    title = _title(comparison, "bars" if asked.horizon == 1 else "shaded")
    return draw_curves(panels, title=title, steps=what_steps_are(asked), marks=asked.spans[:-1])


def _panels_over_data(comparison: DataComparison) -> dict[str, ScorePanel]:
    """A panel of curves for each metric and data set; in each, every row has its place, and so its look."""
    nothing = np.full(comparison.first.protocol.horizon, np.nan)
    empty = {row: Curve(nothing, nothing, nothing, row not in comparison.models) for row in comparison.rows}
    panels = {}
    for column in comparison.first.metrics:
        for name, of in comparison.data.items():
            panel = over_steps(of.rows, column)
            panels[f"{name}: {_curve_title(comparison, column)}"] = panel._replace(rows=empty | dict(panel.rows))
    return panels


def _curve_title(comparison: Comparison | DataComparison, column: str) -> str:
    """What stands above curves."""
    return curve_title(comparison.first.label(column), comparison.first.metrics[column])


def _title(comparison: Comparison | DataComparison, interval: str) -> str:
    """What was asked, and how an interval looks and what it is over; a single clip or scene has none."""
    of_one = comparison.data.values() if isinstance(comparison, DataComparison) else [comparison]
    units = sorted({f"{one.first.unit}s" for one in of_one if one.first.drawn is not None})
    if not units:
        return comparison.asked
    several = any(len(row.runs) > 1 for one in of_one for row in one.rows.values())
    over = f"{' or '.join(units)}{' and seeds' if several else ''}"
    return f"{comparison.asked}; {interval}: 95 % intervals over {over}"


def _draw_points(comparison: DataComparison) -> Figure:
    """Means over the horizon, or relative errors where they were asked for, with data sets along x."""
    series, names = comparison.series, list(comparison.data)
    relative = comparison.relative_to is not None
    panels = {
        _data_title(comparison, column, steps): ScorePanel(
            {row: _over_data(comparison, row, column, steps) for row in comparison.rows},
            metric.higher_is_better and not relative,
        )
        for column, metric in comparison.first.metrics.items()
        for steps in comparison.first.protocol.spans
    }
    below = names if series is None else [str(number) for number in series.numbers]
    along = "data set" if series is None else f"data set {series.pattern}"
    return draw_points(panels, below, title=_title(comparison, "bars"), along=along, joined=series is not None)


def _data_title(comparison: DataComparison, column: str, steps: int) -> str:
    """Title of a panel."""
    label, metric = comparison.first.label(column), comparison.first.metrics[column]
    if comparison.relative_to is not None:
        return f"{label}, error relative to {comparison.relative_to} ↓, mean of {steps:,}"
    places = comparison.data.values()
    short = [row for row in comparison.rows if any(_lacks_steps(of, row, column, steps) for of in places)]
    left_out = f"; of fewer, so not drawn: {', '.join(short)}" if short else ""
    return f"{curve_title(label, metric)}, mean of {steps:,}{left_out}"


def _over_data(comparison: DataComparison, row: str, column: str, steps: int) -> Curve:
    """A row's values on each data set; NaN where it was not scored, or its mean is not one of the same steps."""
    shown = []
    for data, of in comparison.data.items():
        cell = comparison.cell(row, data, column, steps)
        if cell is None or (comparison.relative_to is None and _lacks_steps(of, row, column, steps)):
            shown.append(UNKNOWN)
        else:
            shown.append(cell.mean if comparison.relative_to is None else cell.ratio)
    values, low, high = np.array(shown).T
    return Curve(values, low, high, faint=row not in comparison.models)


def _lacks_steps(comparison: Comparison, row: str, column: str, steps: int) -> bool:
    """Whether a row has values, but none at a step at which another has one: its mean cannot be compared with that."""
    if row not in comparison.rows:
        return False
    known = {name: ~np.isnan(one.values(column)[:steps]) for name, one in comparison.rows.items()}
    return bool(known[row].any()) and not np.array_equal(known[row], np.any(list(known.values()), axis=0))
