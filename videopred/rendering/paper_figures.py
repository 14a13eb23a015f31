"""The papers' own figures of one clip. Each is made from a list with that one view."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from videopred.palette import (
    CONTEXT,
    INK,
    MARK,
    OBJECT_COLORS,
    PAGE,
    ROLLOUT,
    TRACK,
    schema_cells,
    schema_colors,
    schema_tints,
)
from videopred.rendering.canvas import LETTERS, SMALL, TIME, cells, dress, empty_figure, frames_along, hue, literal
from videopred.rendering.clip_view import ClipView
from videopred.rendering.film_rows import laid_over
from videopred.rendering.strip import every_nth

MARKED_STEP = 10
"""The rollout step that RIMs, figures 7 and 9, mark."""
COLUMNS = 11
"""Most frames of a strip; of the papers' clips these are every fifth in RIMs, figure 6, and every third in 7 and 9."""
_WIDE = 7.0
"""Width of a figure, inches."""
_LINES = ("-", "--", ":", "-.")
"""Of objects, since in grey their colours are much alike; seven colours and four lines repeat together after 28."""
_OUTLINED = [withStroke(linewidth=3.2, foreground=hue(INK))]
"""Of lines on paper, on which yellow alone would not be seen."""
_LIT = 90
"""Grey of a dark pixel in the strip of an active module."""


def strip_figure(views: Sequence[ClipView]) -> Figure:
    """Every n-th frame, the truth in transparent blue over the prediction; rollout step 10 has a red frame.

    Of a film in color, which blue would change, the truth stands above the prediction. Several models have a row each.
    A film that ends before step 10 has no mark. Source: RIMs, figures 7 to 10; SCOFF, figures 8 to 12.
    """
    (view,) = views
    names = [one.model for one in view.of_each]
    frames = len(view.truth)
    marked = view.context + MARKED_STEP - 1
    shown = every_nth(marked if marked < frames else view.context, frames, COLUMNS)
    if view.truth.shape[-1] == 3:
        films = [view.truth, *(one.prediction for one in view.of_each)]
        words = "upper row the truth, lower row the prediction"
        if view.beside:
            names, words = ["truth", *names], "predictions below the truth"
    else:
        films = [laid_over(view.truth, one.prediction) for one in view.of_each]
        words = "truth in blue over the prediction"
    if marked in shown:
        words += f"; red: step {MARKED_STEP}"
    return _stills(view, films, words, shown, marked, names if view.beside else ())


def active_strips(views: Sequence[ClipView]) -> Figure:
    """Every n-th frame, the truth in transparent blue over the prediction; grey are the strips that active modules read
    there. Source: RIMs, figure 6, which shows the prediction in orange and green.

    The last frame is left out, as no step reads it.
    """
    (view,) = views
    (active,) = view.traced("active")
    assert view.strips is not None
    film = laid_over(view.truth, view.prediction)
    for t, read in enumerate(active[1:]):  # at index t + 1 is the step that read frame t
        for (first, end), is_active in zip(view.strips, read, strict=True):
            if is_active:
                film[t, first:end] = _LIT + film[t, first:end] / 255 * (255 - _LIT)  # brighter, on grey films too
    words = "truth in blue over the prediction, strips of active modules grey"
    return _stills(view, [film], words, every_nth(view.context, len(film) - 1, COLUMNS))


def _stills(
    view: ClipView,
    films: Sequence[np.ndarray],
    words: str,
    shown: Sequence[int],
    marked: int | None = None,
    names: Sequence[str] = (),
) -> Figure:
    """Frames of films (T, H, W, 1 or 3), one film below another, with their numbers and steps, and borders that say
    what is given and what is predicted; the one marked has a red one. Names of the films, if any, stand on the left."""
    height, width = view.truth.shape[1:3]
    cell = _WIDE / len(shown) - 0.08  # a gap beside each
    figure = empty_figure(_WIDE, len(films) * cell * height / width + 0.58)  # three lines of text
    plots = figure.subplots(len(films), len(shown), squeeze=False)
    for (row, column), plot in np.ndenumerate(plots):
        t = shown[column]
        step = t + 1 - view.context
        plot.imshow(films[row][t], interpolation="none")  # others resample it, in PDF and SVG as well
        plot.set_xticks([])
        plot.set_yticks([])
        color, thick = (MARK, 3.0) if t == marked else (CONTEXT if step < 1 else ROLLOUT, 1.5)
        if row == 0:
            plot.set_title(f"{t + 1}", fontsize=SMALL, color=hue(INK), pad=1.5 + thick)
        if names and column == 0:
            plot.set_ylabel(literal(names[row]), rotation=0, ha="right", va="center", fontsize=SMALL, color=hue(INK))
        if row == len(films) - 1:
            plot.set_xlabel(f"{step}" if step > 0 else "given", fontsize=SMALL, color=hue(INK), labelpad=2)
        plot.spines[:].set(color=hue(color), linewidth=thick)
        for spine in plot.spines.values():
            spine.set_position(("outward", thick / 2 - 0.4))  # around the frame; a bit on it, or gaps of a pixel remain
    figure.suptitle(f"frame above, rollout step below; {words}", fontsize=SMALL, color=hue(INK))
    return figure


def activation(views: Sequence[ClipView]) -> Figure:
    """Which modules were active, black, at each frame. Source: RIMs, figure 2."""
    (view,) = views
    layers = _active(view)
    figure = empty_figure(_WIDE, 0.9 + 0.24 * sum(map(len, layers)))
    _paint_active(figure.subplots(), layers, view.context)
    return figure


def activation_and_positions(views: Sequence[ClipView]) -> Figure:
    """Where the objects were, above which modules were active.

    Source: after RIMs, figure 6. Where modules see all of the frame, what is compared is the time at which something
    happens.
    """
    (view,) = views
    layers, positions = _active(view), view.truths["positions"]  # (T, N, 2)
    modules = sum(map(len, layers))
    frames = np.arange(1, len(positions) + 1)
    figure = empty_figure(_WIDE, 3.2 + 0.24 * modules)
    heights = [1.1, 1.1, 0.24 * modules]
    across, down, raster = figure.subplots(3, 1, sharex=True, gridspec_kw={"height_ratios": heights})
    for axis, (plot, size) in enumerate(((across, view.truth.shape[2]), (down, view.truth.shape[1]))):
        for number in np.flatnonzero(~np.isnan(positions).all((0, 2))).tolist():  # absent ones have no line
            color, style = hue(OBJECT_COLORS[number % len(OBJECT_COLORS)]), _LINES[number % len(_LINES)]
            name = None if axis else f"object {number + 1}"
            places = positions[:, number, axis]
            plot.plot(frames, places, color=color, linestyle=style, linewidth=2, label=name, path_effects=_OUTLINED)
        dress(plot, y="xy"[axis] + ", px")
        plot.set_ylim(0, size)
        frames_along(plot, len(frames), view.context)
    down.invert_yaxis()  # rows are counted downwards
    across.set_title("true positions of the objects", fontsize=LETTERS, loc="left", color=hue(INK))
    figure.legend(loc="outside upper right", ncols=4, fontsize=SMALL, frameon=False, labelcolor=hue(INK))
    _paint_active(raster, layers, view.context)
    return figure


def schema_use(views: Sequence[ClipView]) -> Figure:
    """Which schema each object file used at each frame, and how often all in all.

    Of a model that tells the weights among which it chose, a file has a line for each schema, the stronger coloured the
    higher its weight, with a frame around the one it used. Where the true motion is known, its name stands above, and a
    line where it changes. Source: SCOFF, figures 3 and 15.
    """
    (view,) = views
    (chosen,) = (values.T for values in view.traced("schema"))  # (K, T)
    weights, every = view.traced("schema_weights"), range(view.schemata)
    figure = empty_figure(_WIDE, 1.5 + max(0.28, 0.08 * len(every) * len(weights)) * len(chosen))
    raster, shares = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [4, 1]})
    dress(raster, "", TIME, "object file")
    if weights:
        known = weights[0].swapaxes(0, 1)
        none = np.zeros((*known.shape[:2], len(every) - known.shape[-1]))
        _paint_weights(raster, np.concatenate([known, none], -1), chosen)
    else:
        cells(raster, schema_cells(chosen))
    frames_along(raster, chosen.shape[1], view.context)
    for word, first, last in _runs(view.truths.get("motion", ())):
        words, middle = f"motion: {word}", (first + last) / 2
        raster.text(middle, -0.55, words, ha="center", va="bottom", fontsize=SMALL, color=hue(INK))
        if first not in (1, view.context + 1):  # where the rollout begins, there is a line
            raster.axvline(first - 0.5, color=hue(INK), gapcolor="white", linestyle=(0, (1, 1)), linewidth=2)
    dress(shares, "", "share of frames")
    shares.tick_params(left=False)
    left = np.zeros(len(chosen))
    colors = list(map(hue, schema_colors(len(every))))
    for schema in every:
        share = (chosen[:, 1:] == schema).mean(1)
        shares.barh(range(len(chosen)), share, left=left, color=colors[schema], height=0.8)
        left += share
    shares.set_xlim(0, 1)
    patches = [Patch(color=colors[schema], label=f"schema {schema}") for schema in every]
    figure.legend(
        handles=patches,
        loc="outside upper left",
        ncols=min(5, len(patches)),
        fontsize=SMALL,
        frameon=False,
        labelcolor=hue(INK),
    )
    return figure


def _paint_weights(plot: Axes, weights: np.ndarray, chosen: np.ndarray) -> None:
    """Weights (K, T, S) of the schemata, a band for each object file with a line for each schema, and a frame around
    the one it used (K, T), in its full colour, by which it is told where weights are about equal."""
    count = weights.shape[-1]
    cells(plot, schema_tints(weights).swapaxes(1, 2).reshape(-1, weights.shape[1], 3), count)
    used = [(file, frame, int(chosen[file, frame])) for file, frame in np.argwhere(chosen >= 0).tolist()]
    high, inset = 1 / count, 0.12  # within its cell, as there are gaps between bands
    corners = [(at + 0.5 + inset / 2, file - 0.5 + high * (schema + inset)) for file, at, schema in used]
    frames = [Rectangle(corner, 1 - inset, high * (1 - 2 * inset)) for corner in corners]
    edges = schema_colors(count)[[schema for *_, schema in used]] / 255
    plot.add_collection(PatchCollection(frames, facecolor="none", edgecolor=edges, linewidth=1.2))


def _runs(words: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Each stretch of one word, with its first and last frame, counted from 1."""
    after = 0
    for word, stretch in groupby(words):
        before, after = after, after + len(list(stretch))
        yield word, before + 1, after


def _paint_active(plot: Axes, layers: Sequence[np.ndarray], context: int) -> None:
    """Bands of modules, black where they were active: no colour, which could be taken for that of a ball.

    Between layers is a dark line.
    """
    active = np.concatenate(layers)
    colors = np.where(np.isnan(active)[..., None], TRACK, np.where(active[..., None] == 1, (0, 0, 0), PAGE))
    dress(plot, "active modules black, inactive ones white", TIME, "module")
    cells(plot, colors.astype(np.uint8))
    for band in range(1, len(active)):
        plot.axhline(band - 0.5, color=hue(TRACK), linewidth=2)  # over the gap
    for first in np.cumsum([len(layer) for layer in layers[:-1]]):
        plot.axhline(first - 0.5, color=hue(INK), linewidth=1.5)
    plot.spines[:].set(visible=True, color=hue(TRACK))
    frames_along(plot, active.shape[1], context)


def _active(view: ClipView) -> list[np.ndarray]:
    """(K, T) of each layer, the lowest first; NaN at frame 0."""
    return [active.T for active in view.traced("active")]
