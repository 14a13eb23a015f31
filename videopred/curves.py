"""Curves: how scores change over the horizon, as figures. With `rendering`, a door of matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from videopred import check
from videopred.files import whole_file

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's, which colour-blind readers tell apart; the same again, dashed, for more than seven."""
STYLES = ("solid", (0, (5, 2)), (0, (1, 1.5)))
FAINT = "#8A8A8A"
"""Of trivial predictions, so that models stand out; they differ in their dashes."""
FAINT_STYLES = ((0, (1, 1)), (0, (4, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (7, 2)), (0, (2, 4)), "solid")
SUFFIXES = (".png", ".svg")


class Curve(NamedTuple):
    """A line, and where it could lie as well."""

    values: np.ndarray
    """(T,)"""
    low: np.ndarray
    high: np.ndarray
    faint: bool = False
    """Whether it only stands beside the others."""


def draw_curves(path: Path, panels: Mapping[str, Mapping[str, Curve]], *, marks: Sequence[int] = ()) -> Path:
    """A figure with a panel for each metric: values over the steps of the rollout, shaded where they could lie.

    Args:
        path: ends in .png or .svg.
        panels: title -> name of a line -> the line.
        marks: steps to mark with a vertical line.

    Raises:
        ValueError: another ending.
    """
    must, fix = f"end in {' or '.join(SUFFIXES)}", "rename it"
    check.require(path.suffix in SUFFIXES, "the figure", must, path, fix)
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    names = list(next(iter(panels.values())))
    figure = Figure(figsize=(4.2 * columns + 2.4, 3.1 * rows + 0.3), layout="constrained")
    canvas = FigureCanvasAgg(figure) if path.suffix == ".png" else FigureCanvasSVG(figure)
    for index, (title, lines) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(rows, columns, index)
        models = [name for name, line in lines.items() if not line.faint]
        for name, line in lines.items():
            steps = np.arange(1, len(line.values) + 1)
            place = models.index(name) if not line.faint else names.index(name) - len(models)
            colour = FAINT if line.faint else COLOURS[place % len(COLOURS)]
            style = FAINT_STYLES[place % len(FAINT_STYLES)] if line.faint else STYLES[place // len(COLOURS) % 3]
            axes.plot(steps, line.values, color=colour, linestyle=style, linewidth=1.2 if line.faint else 2, label=name)
            axes.fill_between(steps, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
        for step in marks:
            axes.axvline(step, color="#D0D0D0", linewidth=1, zorder=0)
        axes.set_title(title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.locator_params(axis="x", integer=True)
        if index > len(panels) - columns:
            axes.set_xlabel("rollout step", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8, frameon=False)
    with whole_file(path) as partial, partial.open("wb") as file:
        figure.set_dpi(144)
        if path.suffix == ".png":
            canvas.print_png(file)  # type: ignore[union-attr]
        else:
            canvas.print_svg(file, metadata={"Date": None})  # type: ignore[union-attr]
    return path
