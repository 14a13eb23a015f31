"""What modules did in a clip, as a picture: a band for each module, a cell for the frame that each step led to."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from videopred.models.core import Trace
from videopred.palette import schema_cells, tinted
from videopred.rendering.canvas import TIME, cells, dress, empty_figure, frames_along, pixels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawable(axes: Mapping[str, str]) -> list[str]:
    """The names in a trace that have one number for each module and step, given the axes of each after B and T."""
    return [name for name, axis in axes.items() if axis == "K"]


def activity_image(trace: Trace, names: list[str], clip: int, context: int) -> np.ndarray | None:
    """A panel for each name, with a line where the rollout begins; None if there is nothing to draw.

    Shares and choices are in the module's colour, the stronger the higher; schemata have colours of their own. The
    first frame is blank, as no step led to it.

    Args:
        trace: name -> (B, T, K).
        names: which to draw.
        clip: index in the batch.
        context: true frames given.

    Returns:
        (height, width, 3) uint8.
    """
    figure = activity_figure({name: trace[name][clip].float().cpu().numpy() for name in names}, context)
    return None if figure is None else pixels(figure)


def activity_figure(panels: Mapping[str, np.ndarray], context: int) -> "Figure | None":
    """The same as a figure, from name -> (T, K) of one clip."""
    if not panels:
        return None
    heights = [panel.shape[1] for panel in panels.values()]
    figure = empty_figure(7.0, 0.75 * len(heights) + 0.26 * sum(heights))
    plots = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for plot, (name, panel) in zip(plots, panels.items(), strict=True):
        known = np.concatenate([np.full_like(panel[:1], np.nan, dtype=float), panel]).T  # (K, frames)
        schema = name.endswith("schema")
        painted = schema_cells(known) if schema else tinted(known, axis=0)
        dress(plot, name.replace("_", " "), TIME if plot is plots[-1] else "", "object file" if schema else "module")
        cells(plot, painted)
        frames_along(plot, known.shape[1], context)
    return figure
