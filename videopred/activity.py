"""What modules did in a clip, as a picture: a row for each module, a column for each step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from videopred.models.core import Trace

_DPI, _CELL, _MARGIN = 100, 0.14, 1.2
"""Pixels per inch; inches of a cell, and of what stands around the cells."""


def drawable(axes: Mapping[str, str]) -> list[str]:
    """The names in a trace that have one number for each module and step, given the axes of each after B and T."""
    return [name for name, axis in axes.items() if axis == "K"]


def activity_image(trace: Trace, names: list[str], clip: int, context: int) -> np.ndarray | None:
    """A panel for each name, with a line where the rollout begins; None if there is nothing to draw.

    Shares and choices are grey from 0 (white) to 1 (black), numbers of schemata have a colour each.

    Args:
        trace: name -> (B, T, K).
        names: which to draw.
        clip: index in the batch.
        context: steps at which a true frame was given.

    Returns:
        (height, width, 3) uint8.
    """
    panels: dict[str, np.ndarray] = {name: trace[name][clip].float().cpu().numpy().T for name in names}  # (K, T)
    if not panels:
        return None
    heights = [len(panel) for panel in panels.values()]
    steps = max(panel.shape[1] for panel in panels.values())
    size = (_CELL * steps + 2 * _MARGIN, _CELL * 2 * sum(heights) + _MARGIN * len(heights))
    figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
    plots: Any = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for plot, (name, panel) in zip(plots[:, 0], panels.items(), strict=True):
        chosen = name.endswith("schema")
        colours: dict[str, Any] = {"cmap": "tab10", "vmax": 9} if chosen else {"cmap": "Greys", "vmax": 1}
        rows, columns = panel.shape
        edges = (0.5, columns + 0.5, rows - 0.5, -0.5)  # steps are counted from 1, as frames are in films
        plot.imshow(panel, aspect="auto", interpolation="nearest", vmin=0, extent=edges, **colours)
        plot.axvline(context + 0.5, color="#e69f00", linewidth=2)
        plot.set_title(name, fontsize=9, loc="left")
        plot.set_ylabel("module", fontsize=8)
        plot.set_yticks(range(len(panel)))
        plot.xaxis.set_major_locator(MaxNLocator(integer=True))
        plot.tick_params(labelsize=7)
    plots[-1, 0].set_xlabel("step; the rollout begins at the orange line", fontsize=8)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
