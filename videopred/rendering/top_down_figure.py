"""How much a layer listens to the one above while objects are hidden, over many clips."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from videopred import check
from videopred.palette import BLUE, VERMILION
from videopred.rendering.canvas import LETTERS, SMALL, dress, empty_figure, hue, told_of_clips
from videopred.rendering.clip_view import ClipView

_LOOKS = {"below": (BLUE, "o", "-"), "above": (VERMILION, "s", "--"), "null": ((120, 120, 120), "^", ":")}
"""Kind of attention -> its colour, marker and line, since in grey the colours are much alike."""
_BINS = 5


def top_down(views: Sequence[ClipView]) -> Figure:
    """Mean attention on what is below, above and null, against the share of an object that is hidden, on average.

    Only steps that read a true frame with an object in it count, because nobody knows what an imagined frame hides: so
    give as much context as there is. Bars are a standard error over clips; a point of one clip has none. A panel for
    each layer that reads one above.

    Source: BRIMs, figure 2, whose abscissa is the number of random pixels; ours is occlusion.

    Raises:
        ValueError: nothing is ever hidden.
    """
    hidden, shares = measure(views)
    most = float(np.nanmax(hidden, initial=0))
    check.require(
        most > 0, "DATA", "hide objects at some frames of the context", "none", "use curtain, or more context"
    )
    edges = np.linspace(0, most, _BINS)
    places = np.digitize(hidden, edges[1:], right=True).astype(float)
    places[hidden == 0] = -1  # fully seen is a bin of its own
    places[np.isnan(hidden)] = np.nan
    figure = empty_figure(1.2 + 3.2 * len(shares), 3.2)
    plots = figure.subplots(1, len(shares), squeeze=False, sharey=True)[0]
    lone = False
    for plot, (layer, kinds) in zip(plots, shares.items(), strict=True):
        dress(plot, layer.replace("layer", "layer "), "share of the objects hidden", "")
        for kind, values in kinds.items():
            x, y, error = _binned(hidden, values, places)
            lone |= bool(np.isnan(error).any())
            color, marker, style = _LOOKS[kind]
            on_top = 3 if kind == "above" else 2  # null may be the same
            look: dict[str, Any] = {"linestyle": style, "linewidth": 2, "marker": marker, "markersize": 5}
            plot.errorbar(x, y, error, color=hue(color), zorder=on_top, label=kind, **look)
        plot.set_ylim(0, 1)
    plots[0].set_ylabel("attention, ± standard error" + "\n(no bar: one clip)" * lone, fontsize=LETTERS)
    plots[-1].legend(fontsize=SMALL, frameon=False)
    told_of_clips(figure, len(views), len(views[0].truth), views[0].context)
    return figure


def measure(views: Sequence[ClipView]) -> tuple[np.ndarray, dict[str, dict[str, np.ndarray]]]:
    """What the figure is drawn from.

    Returns:
        hidden: (clips, context) share that is hidden in the frame that was read, mean over the objects; NaN where no
            object is.
        layer -> below, above and, if there is a null slot, null -> (clips, context), mean over its modules.
    """
    hidden: list[np.ndarray] = []
    shares: dict[str, dict[str, list[np.ndarray]]] = {}
    for view in views:
        read = slice(1, view.context + 1)  # at index t stands the step that read frame t − 1
        visible = view.truths["visibility/fraction"][: view.context]
        there = ~np.isnan(visible)
        seen = np.where(there, visible, 0).sum(1)
        hidden.append(1 - np.divide(seen, there.sum(1), out=np.full(len(seen), np.nan), where=there.any(1)))
        for name in view.trace:
            layer, _, kind = name.rpartition(".")
            if kind == "top_down":
                above = view.trace[name][read].mean(1)
                kinds = {"below": 1 - above, "above": above}
                if (null := view.trace.get(f"{layer}.null_attention")) is not None:
                    kinds["null"] = null[read].mean(1)
                    kinds["below"] = kinds["below"] - kinds["null"]
                for key, values in kinds.items():
                    shares.setdefault(layer, {}).setdefault(key, []).append(values)
    return np.array(hidden), {
        layer: {kind: np.array(values) for kind, values in kinds.items()} for layer, kinds in shares.items()
    }


def _binned(hidden: np.ndarray, values: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean abscissa, mean value and its standard error over clips of each bin that holds something.

    Means are of clips' means, each of the frames in the bin; of a single clip there is no error, but NaN.
    """
    points = []
    for place in np.unique(places[~np.isnan(places)]):
        inside = places == place
        counts = inside.sum(1)
        of_clips = [np.where(inside, told, 0).sum(1)[counts > 0] / counts[counts > 0] for told in (hidden, values)]
        clips = of_clips[1]
        error = clips.std(ddof=1) / np.sqrt(len(clips)) if len(clips) > 1 else np.nan
        points.append((*(means.mean() for means in of_clips), error))
    x, y, errors = np.array(points).T
    return x, y, errors
