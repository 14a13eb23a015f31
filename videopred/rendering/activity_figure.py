"""What modules did in a clip, as a figure: a band for each module, a cell for the frame that each step led to."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from videopred.palette import schema_cells, tinted
from videopred.rendering.canvas import TIME, cells, dress, empty_figure, frames_along

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawable(axes: Mapping[str, str]) -> list[str]:
    """The names in a trace that have one number for each module and step, given the axes of each after B and T."""
    return [name for name, axis in axes.items() if axis == "K"]


def activity_figure(panels: Mapping[str, np.ndarray], context: int) -> "Figure":
    """A panel for each trace of a clip, with a line where the rollout begins.

    Shares and choices are in the module's colour, the stronger the higher; schemata have colours of their own.

    Args:
        panels: name -> (T, K), as `Scene.trace` has it: NaN, drawn as unknown, at the first frame.
        context: true frames given.
    """
    heights = [panel.shape[1] for panel in panels.values()]
    figure = empty_figure(7.0, 0.75 * len(heights) + 0.26 * sum(heights))
    plots = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for plot, (name, panel) in zip(plots, panels.items(), strict=True):
        schema = name.endswith("schema")
        painted = schema_cells(panel.T) if schema else tinted(panel.T, axis=0)
        dress(plot, name.replace("_", " "), TIME if plot is plots[-1] else "", "object file" if schema else "module")
        cells(plot, painted)
        frames_along(plot, len(panel), context)
    return figure
