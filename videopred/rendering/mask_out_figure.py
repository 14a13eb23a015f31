"""What the other modules do, and how wrong the film gets, when one module is silenced."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from videopred.palette import INK, INVENTED
from videopred.rendering.canvas import SMALL, dress, empty_figure, hue, shaded, told_of_clips
from videopred.rendering.clip_view import ClipView


def masked_out(views: Sequence[ClipView]) -> Figure:
    """Share of the rollout steps at which each module is active, and the squared error, for each module silenced.

    Source: RIMs, appendix E.3, figures 21 to 25, which show the activity over time for each module masked out.

    Args:
        views: of some clips untouched, then of the same clips without module 0, without module 1, and so on.
    """
    shares, errors = measure(views)
    silenced, modules = shares.shape
    width = max(0.55 * modules, 2.2)  # inches; the title of few modules takes as much
    figure = empty_figure(3.2 + width, 1.2 + 0.34 * silenced)
    plot, dots = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [width, 1.8]})
    shaded(plot, shares)
    dress(plot, "share of rollout steps active", views[0].word_for_module, "silenced")
    plot.set_xticks(range(modules))
    plot.set_yticks(range(silenced), ["none", *map(str, range(silenced - 1))])
    _draw_errors(dots, errors)
    told_of_clips(figure, len(views) // silenced, len(views[0].truth), views[0].context)
    return figure


def _draw_errors(plot: Any, errors: np.ndarray) -> None:
    """A dot for each error, with a line from where it is when nothing is silenced: axes need not begin at 0."""
    untouched, rows = errors[0], range(len(errors))
    plot.axvline(untouched, color=hue(INK), linestyle="--", linewidth=1.2)
    plot.hlines(rows, untouched, errors, color=hue(INVENTED), linewidth=2)
    plot.plot(errors, rows, "o", color=hue(INVENTED), markersize=7)
    for row, error in enumerate(errors):
        plot.text(
            1.04, row, f"{error:.4f}", transform=plot.get_yaxis_transform(), va="center", fontsize=SMALL, color=hue(INK)
        )
    dress(plot, "squared error", "MSE", "")
    plot.margins(x=0.15)
    plot.xaxis.set_major_locator(MaxNLocator(3))
    plot.ticklabel_format(axis="x", useOffset=False)
    plot.tick_params(left=False)


def measure(views: Sequence[ClipView]) -> tuple[np.ndarray, np.ndarray]:
    """What the figure is drawn from, means over clips and rollout steps.

    Returns:
        (1 + K, K) share of steps active, the first row untouched; and (1 + K,) mean squared error of intensities.
    """
    active = [_active(view)[view.context :].mean(0) for view in views]
    modules = len(active[0])
    shares = np.array(active).reshape(modules + 1, -1, modules).mean(1)
    if not views[0].traced("active"):
        shares[range(1, modules + 1), range(modules)] = 0
    return shares, np.array([view.error for view in views]).reshape(modules + 1, -1).mean(1)


def _active(view: ClipView) -> np.ndarray:
    """(T, K) of all layers; a core whose modules never rest, such as scoff, says nothing of it."""
    layers = view.traced("active")
    if not layers:
        layers = [np.ones(read.shape[::2]) for read in view.traced("input_attention")]  # of (T, heads, K, L)
    return np.concatenate(layers, axis=1)
