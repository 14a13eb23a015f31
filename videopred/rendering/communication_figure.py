"""Who hears whom: the attention of modules on one another, as a figure."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from videopred.rendering.canvas import dress, empty_figure, shaded, told_of_clips
from videopred.rendering.clip_view import ClipView


def communication(views: Sequence[ClipView]) -> Figure:
    """Mean attention of each module on each, while true frames are given and in the rollout, a line for each layer.

    Where modules share their attention out between one another and the input, as in RMC, the input is the last column.

    Args:
        views: of some clips, of one context.
    """
    spans = {"context": slice(1, views[0].context), "rollout": slice(views[0].context, None)}
    shown = {name: means for name, span in spans.items() if (means := measure(views, span))}
    layers = len(next(iter(shown.values())))
    modules = [len(means) for means in next(iter(shown.values()))]
    side = max(1.6, 0.42 * max(modules))
    figure = empty_figure(1.2 + len(shown) * (side + 0.5), 0.6 + layers * (side + 0.6))
    plots = figure.subplots(layers, len(shown), squeeze=False)
    word = views[0].word_for_module
    for column, (name, means) in enumerate(shown.items()):
        for layer, shares in enumerate(means):
            plot, first = plots[layers - 1 - layer, column], sum(modules[:layer])
            title = name if layers == 1 else f"{name}, layer {layer}"
            dress(plot, title, f"{word} that is heard", f"{word} that hears" if column == 0 else "")
            shaded(plot, shares)
            names = [*map(str, range(first, first + len(shares))), "input"]
            for axis, count in zip((plot.xaxis, plot.yaxis), shares.shape[::-1], strict=True):
                axis.set_ticks(range(count), names[:count])
    told_of_clips(figure, len(views), len(views[0].truth), views[0].context)
    return figure


def measure(views: Sequence[ClipView], span: slice) -> list[np.ndarray]:
    """What the figure is drawn from: for each layer, the lowest first, (K, K), who listens by who is heard; or
    (K, K + 1), with the input.

    Means over heads and over the steps of all clips at which the module that listens is active, NaN where it never is;
    empty if no step led to a frame of the span.
    """
    found = []
    for layer in range(len(views[0].traced("comm_attention"))):
        heard = _means(views, "comm_attention", layer, span)
        if views[0].traced("input_attention"):
            heard = _with_input(heard, _means(views, "input_attention", layer, span))
        active = np.ones(heard.shape[:2])
        if views[0].traced("active"):
            active = np.concatenate([view.traced("active")[layer][span] for view in views])
        if not len(heard):
            return []
        with np.errstate(invalid="ignore"):  # of a module that is never active
            found.append((heard * active[..., None]).sum(0) / active.sum(0)[:, None])
    return found


def _means(views: Sequence[ClipView], name: str, layer: int, span: slice) -> np.ndarray:
    """Attention (T, K, …) of a layer over the steps of all clips, a mean over heads."""
    return np.concatenate([view.traced(name)[layer][span].mean(1) for view in views])


def _with_input(heard: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Attention on modules (T, K, K), and on the input, (T, K, K + 1), if both together sum to 1, and not one alone."""
    whole = np.concatenate([heard, read.sum(-1, keepdims=True)], -1)
    together, alone = (np.allclose(shares.sum(-1), 1, atol=1e-2) for shares in (whole, heard))
    return whole if together and not alone else heard
