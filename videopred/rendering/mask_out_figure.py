"""What the other modules do, and how wrong the film gets, when one module is silenced."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from videopred.palette import INK, INVENTED, PAGE
from videopred.rendering.canvas import SMALL, dress, empty_figure, hue
from videopred.rendering.scene import Scene


def masked_out(scenes: Sequence[Scene]) -> Figure:
    """Share of the rollout steps at which each module is active, and the squared error, for each module silenced.

    Source: RIMs, appendix E.3, figures 21 to 25, which show the activity over time for each module masked out.

    Args:
        scenes: of some clips untouched, then of the same clips without module 0, without module 1, and so on.
    """
    shares, errors = measure(scenes)
    silenced, modules = shares.shape
    figure = empty_figure(2.8 + 0.55 * modules, 1.2 + 0.34 * silenced)
    plot, bars = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [0.55 * modules, 1.4]})
    dark, light = np.array(INK), np.array(PAGE)
    colors = shares[..., None] * dark + (1 - shares[..., None]) * light
    plot.imshow(colors.round().astype(np.uint8), aspect="auto", interpolation="nearest")
    for (row, column), share in np.ndenumerate(shares):
        ink = hue(PAGE if share > 0.5 else INK)
        plot.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=SMALL, color=ink)
    dress(plot, "share of rollout steps active", "module", "silenced")
    plot.set_xticks(range(modules))
    plot.set_yticks(range(silenced), ["none", *map(str, range(silenced - 1))])
    plot.spines[:].set_visible(False)
    bars.barh(range(silenced), errors, color=hue(INVENTED), height=0.7)
    dress(bars, "", "MSE", "")
    bars.set_xlim(0, None)
    return figure


def measure(scenes: Sequence[Scene]) -> tuple[np.ndarray, np.ndarray]:
    """What the figure is drawn from, means over clips and rollout steps.

    Returns:
        (1 + K, K) share of steps active, the first row untouched; and (1 + K,) mean squared error of intensities.
    """
    active, errors = [], []
    for scene in scenes:
        layers = scene.traced("mask-out", ["active"], "--figure")
        active.append(np.concatenate(layers, axis=1)[scene.context :].mean(0))
        wrong = scene.truth[scene.context :] / 255 - scene.prediction[scene.context :] / 255
        errors.append((wrong**2).mean())
    modules = len(active[0])
    grouped = np.array(active).reshape(modules + 1, -1, modules)
    return grouped.mean(1), np.array(errors).reshape(modules + 1, -1).mean(1)
