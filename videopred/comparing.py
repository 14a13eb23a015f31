"""A comparison as files: document, table and figures."""

from collections.abc import Mapping
from pathlib import Path

from videopred import check
from videopred.curves import SUFFIXES, Curve, draw_curves
from videopred.eval.comparison import Comparison
from videopred.eval.tables import curve_title
from videopred.files import write_text


def save_comparison(comparison: Comparison, targets: Mapping[str, Path], *, overwrite: bool = False) -> None:
    """Write a comparison.

    Args:
        comparison: what to write.
        targets: ending (.md, .csv, .png, .svg) -> path.
        overwrite: replace files that are there.

    Raises:
        FileExistsError: one is there and `overwrite` is false; then none is written.
    """
    for path in targets.values():
        check.absent("--out", path, overwrite)
    for suffix, path in targets.items():
        if suffix in SUFFIXES:
            _draw(comparison, path)
            continue
        write_text(path, comparison.markdown() if suffix == ".md" else comparison.to_csv())


def _draw(comparison: Comparison, path: Path) -> None:
    """Curves over the horizon."""
    asked = comparison.first.protocol
    steps = "frame predicted" if asked.one_step else "rollout step"
    draw_curves(path, _panels(comparison), title=comparison.asked, steps=steps, marks=asked.spans[:-1])


def _panels(comparison: Comparison) -> dict[str, dict[str, Curve]]:
    """Title -> row -> its curve."""
    return {
        curve_title(comparison.first.label(column), metric): {
            name: _curve(comparison, name, column) for name in comparison.rows
        }
        for column, metric in comparison.first.metrics.items()
    }


def _curve(comparison: Comparison, name: str, column: str) -> Curve:
    row = comparison.rows[name]
    values, ends = row.values(column), row.intervals(column)
    low, high = (values, values) if ends is None else ends
    return Curve(values, low, high, faint=not row.is_model)
