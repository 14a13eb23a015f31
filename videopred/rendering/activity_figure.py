"""What modules did in a clip, as a figure: a band for each module, a cell for the frame that each step led to."""

from collections.abc import Container, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from videopred.palette import schema_cells, tinted
from videopred.rendering.canvas import TIME, cells, dress, empty_figure, frames_along

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawable(trace: Container[str], axes: Mapping[str, str]) -> list[str]:
    """The names in a trace that have one number for each module and step, given the axes of each after B and T."""
    return [name for name, axis in axes.items() if axis == "K" and name in trace]


def first_modules(panels: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Name of a trace (T, K), the lowest layer's first -> number of its first module, counted through all layers."""
    sizes = {name.rpartition(".")[0]: panel.shape[1] for name, panel in panels.items()}
    firsts = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    return {name: firsts[name.rpartition(".")[0]] for name in panels}


def activity_figure(panels: Mapping[str, np.ndarray], context: int) -> "Figure":
    """A panel for each trace of a clip, with a line where the rollout begins.

    Shares and choices are in the module's colour, the stronger the higher; schemata have colours of their own.

    Args:
        panels: name -> (T, K), as `ClipView.trace` has it: NaN, drawn as unknown, at the first frame.
        context: true frames given.
    """
    heights = [panel.shape[1] for panel in panels.values()]
    figure = empty_figure(7.0, 0.75 * len(heights) + 0.26 * sum(heights))
    plots = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    firsts, part = first_modules(panels), "object file" if any(name.endswith("schema") for name in panels) else "module"
    for plot, (name, panel) in zip(plots, panels.items(), strict=True):
        schema, first = name.endswith("schema"), firsts[name]
        painted = schema_cells(panel.T) if schema else tinted(panel.T, axis=0, first=first)
        dress(plot, name.replace("_", " "), TIME if plot is plots[-1] else "", part)
        cells(plot, painted)
        plot.set_yticks(range(panel.shape[1]), range(first, first + panel.shape[1]))
        frames_along(plot, len(panel), context)
    return figure
