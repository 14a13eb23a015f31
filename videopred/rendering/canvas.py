"""Figures with axes: how they look, and their bytes as PNG, SVG or PDF."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np
from matplotlib import rc_context, style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from videopred.amounts import counted
from videopred.palette import INK, PAGE
from videopred.printable import printable_lines
from videopred.rendering.fonts import fonts

TIME = "frame; the rollout begins at the dashed line"
"""What stands along time."""

LETTERS, SMALL = 11, 9
"""Sizes of text, points: legible when a figure of 7 inches is printed at half its size."""


_WHEN_OR_BY_WHAT = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}
"""What matplotlib would note in a file of each kind that changes with the day, or with its version."""

_ONE_AT_A_TIME = RLock()
"""Held while matplotlib has our style, which is that of the whole process."""


@contextmanager
def our_style() -> Iterator[None]:
    """Within it, and in what it decorates, figures look as ours do, whatever style somebody has set for their own."""
    with _ONE_AT_A_TIME, style.context(["default", {"font.family": fonts()}]):
        yield


def hue(color: Sequence[int] | np.ndarray) -> tuple[float, float, float]:
    """A colour of 0 to 255 as matplotlib takes it."""
    red, green, blue = (float(part) / 255 for part in color)
    return red, green, blue


def literal(text: str) -> str:
    """Text of a user as it stands, without the formulas that matplotlib sees between dollars, nor what no SVG may hold.

    A name that begins with _ is behind a character without width, or matplotlib leaves it out of legends.
    """
    return ("\u200b" if text.startswith("_") else "") + printable_lines(text).replace("$", r"\$")


def empty_figure(width: float, height: float) -> Figure:
    """A figure of that size in inches, that lays itself out."""
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def dress(plot: Any, title: str = "", x: str = "", y: str = "") -> None:
    """Give a plot its words, and nothing that is not needed."""
    plot.set_title(title, fontsize=LETTERS, loc="left", color=hue(INK))
    plot.set_xlabel(x, fontsize=LETTERS, color=hue(INK))
    plot.set_ylabel(y, fontsize=LETTERS, color=hue(INK))
    plot.tick_params(labelsize=SMALL, colors=hue(INK))
    plot.spines[["top", "right"]].set_visible(False)


def frames_along(plot: Any, frames: int, context: int) -> None:
    """Frames 1, 2, … along x, with a line where the rollout begins."""
    plot.set_xlim(0.5, frames + 0.5)
    plot.xaxis.set_major_locator(MaxNLocator(integer=True))
    plot.axvline(context + 0.5, color=hue(INK), gapcolor="white", linewidth=2, linestyle="--")  # seen on black as well


def told_of_clips(figure: Figure, clips: int, frames: int, context: int) -> None:
    """Write below a figure of several clips what its numbers are means over."""
    words = f"over {counted(clips, 'clip')}; {counted(context, 'frame')} given, {frames - context} predicted"
    figure.supxlabel(words, fontsize=SMALL, color=hue(INK))


def cells(plot: Any, colors: np.ndarray, lines: int = 1) -> None:
    """Paint (K lines, T, 3) uint8 as cells with a gap between bands: band k around y = k, column t at frame t + 1.

    Args:
        plot: where.
        colors: of each cell, a band's lines one below the other.
        lines: that one band has.
    """
    bands, frames = len(colors) // lines, colors.shape[1]
    edges = (0.5, frames + 0.5, bands - 0.5, -0.5)
    plot.imshow(colors, aspect="auto", interpolation="none", extent=edges)
    for band in range(1, bands):
        plot.axhline(band - 0.5, color="white", linewidth=2)
    plot.set_yticks(range(bands))
    plot.tick_params(left=False)
    plot.spines[:].set_visible(False)


def shaded(plot: Any, shares: np.ndarray) -> None:
    """Paint shares (rows, columns) in [0, 1] as cells with their numbers, the darker the larger; NaN is a dash."""
    known = np.nan_to_num(shares)[..., None]
    colors = known * np.array(INK) + (1 - known) * np.array(PAGE)
    plot.imshow(colors.round().astype(np.uint8), aspect="auto", interpolation="none")
    for (row, column), share in np.ndenumerate(shares):
        ink = hue(PAGE if share > 0.7 else (0, 0, 0))  # the ink of other words would be too pale on grey
        told = "–" if np.isnan(share) else f"{share:.2f}"
        plot.text(column, row, told, ha="center", va="center", fontsize=SMALL, color=ink)
    plot.spines[:].set_visible(False)
    plot.tick_params(left=False, bottom=False)


def pixels(figure: Figure) -> np.ndarray:
    """A figure as a picture, (height, width, 3) uint8."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as a file: png, svg or pdf. The same figure gives the same bytes."""
    content = io.BytesIO()
    metadata = {_WHEN_OR_BY_WHAT[kind]: None}
    # Names of parts in an SVG are drawn from the salt. Conferences refuse fonts of type 3, which are usual in a PDF.
    with rc_context({"svg.hashsalt": "videopred", "pdf.fonttype": 42}):
        figure.savefig(content, format=kind, metadata=metadata)
    return content.getvalue()
