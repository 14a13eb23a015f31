"""Tables with a row for each model and a column for each data set, as plain text, in Markdown and as LaTeX."""

from typing import TYPE_CHECKING

from videopred.amounts import counted
from videopred.eval.intervals import OVER_CLIPS, UNKNOWN
from videopred.eval.latex import latex
from videopred.eval.tables import best_rows, head, value_with_half, with_half
from videopred.eval.text import Block, aligned, markdown

if TYPE_CHECKING:
    from videopred.eval.comparison_over_data import DataComparison


def data_table(comparison: "DataComparison") -> str:
    """Plain text for a terminal; see `DataComparison.table`."""
    blocks = [aligned(*block) for block in _blocks(comparison)]
    return "\n\n".join([_title(comparison), *blocks, "\n".join(_legend(comparison))])


def data_document(comparison: "DataComparison") -> str:
    """The table over data sets as a document in Markdown."""
    return markdown(_title(comparison), _blocks(comparison), _legend(comparison))


def data_latex(comparison: "DataComparison") -> str:
    """The table over data sets as tables for a paper."""
    return latex(_title(comparison, "bold"), _blocks(comparison), _legend(comparison))


def _title(comparison: "DataComparison", mark: str = "*") -> str:
    against = "" if comparison.relative_to is None else f"; relative to {comparison.relative_to}"
    return f"{comparison.asked}{against}; {mark} marks the best of a column"


def _blocks(comparison: "DataComparison") -> list[Block]:
    heads, rows = [f"{data} " for data in comparison.data], list(comparison.rows)
    blocks = []
    for column in comparison.first.metrics:
        for steps in comparison.first.protocol.spans:
            means = [_means(comparison, data, column, steps) for data in comparison.data]
            blocks.append(Block(f"{head(comparison.first, column)}, mean of {steps:,}", heads, rows, means))
            if comparison.relative_to is not None:
                ratios = [_ratios(comparison, data, column, steps) for data in comparison.data]
                blocks.append(Block(f"relative error, mean of {steps:,}", heads, rows, ratios))
    return blocks


def _means(comparison: "DataComparison", data: str, column: str, steps: int) -> list[str]:
    """A column of means, each with half of its interval."""
    metric = comparison.first.metrics[column]
    best = best_rows({name: row.values(column)[:steps] for name, row in comparison.data[data].rows.items()}, metric)
    cells = []
    for row in comparison.rows:
        cell = comparison.cell(row, data, column, steps)
        mean = UNKNOWN if cell is None else cell.mean
        cells.append(f"{value_with_half(mean.value, mean.half, metric)}{'*' if row in best else ' '}")
    return cells


def _ratios(comparison: "DataComparison", data: str, column: str, steps: int) -> list[str]:
    """A column of relative errors, likewise."""
    cells = []
    for row in comparison.rows:
        cell = comparison.cell(row, data, column, steps)
        ratio = UNKNOWN if cell is None else cell.ratio
        cells.append(f"{with_half(ratio.value, ratio.half, 3)}{'!' if ratio.excludes(1) else ' '}")
    return cells


def _legend(comparison: "DataComparison") -> list[str]:
    """What the numbers mean, a line each."""
    metrics, data = dict.fromkeys(comparison.first.metrics.values()), comparison.data
    lines = [f"{metric.label}: {metric.convention}" for metric in metrics]
    if comparison.left_out:
        lines.append(f"left out, as not all tables have them: {', '.join(comparison.left_out)}")
    unlike = [f"{row} on {name}" for name, of in data.items() for row in of.unlike]
    if unlike:
        lines.append(f"left out, as they differ between tables (see --reference): {', '.join(unlike)}")
    if comparison.missing:
        files = {row: ", ".join(data[name].first.file for name in names) for row, names in comparison.missing.items()}
        told = "; ".join(f"{row} on {of}" for row, of in files.items())
        lines.append(f"empty, as not scored yet (see `videopred evaluate`): {told}")
    seeds = {row: _seeds(comparison, row) for row in comparison.models}
    lines += [f"{row}: mean of {told}" for row, told in seeds.items() if told]
    interval = "no interval for a single clip or scene"
    if units := sorted({of.first.unit for of in data.values() if of.first.drawn is not None}):
        interval = f"±: half of the 95 % interval over {' or '.join(f'{unit}s' for unit in units)} ({OVER_CLIPS})"
        if any(seeds.values()):
            interval += " and seeds (Student's t); a single run stands for itself alone"
    lines.append(interval)
    if comparison.relative_to is not None:
        told = f"distance from the best value, divided by that of {comparison.relative_to} on the same clips"
        lines.append(f"relative error: {told}; ! where the interval excludes 1, not corrected for several comparisons")
    return [*lines, *(f"on {name}, {said}" for name, of in data.items() for said in (*of.remarks, *of.notes))]


def _seeds(comparison: "DataComparison", row: str) -> str:
    """How many seeds a row is the mean of, and where; nothing if all are single runs."""
    found = {name: len(of.rows[row].runs) for name, of in comparison.data.items() if row in of.rows}
    if max(found.values()) == 1:
        return ""
    if len(set(found.values())) == 1:
        return counted(max(found.values()), "seed")
    return ", ".join(f"{counted(count, 'seed')} on {name}" for name, count in found.items())
