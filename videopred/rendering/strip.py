"""Rows below one another, with every n-th frame as a column: a still for paper."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from videopred.check import whole_number
from videopred.palette import CONTEXT, ROLLOUT
from videopred.rendering import USUAL_ROWS
from videopred.rendering.canvas import our_style
from videopred.rendering.clip_view import ClipView
from videopred.rendering.film import MARGIN
from videopred.rendering.lettering import TEXT, legend_width, paint_legend, text_width
from videopred.rendering.page import Page, blank_page
from videopred.rendering.panel import Panel, Swatch, draw_rows
from videopred.rendering.raster_rows import GUTTER

GAP, NAMES, TOP = 6, 128, 134
"""Room between pictures; left of them, at least, for the names of rows; and above them. In px."""
_APART, _LINE = 28, 22
"""Room between legends, and height of a line of a name, in px."""


@our_style()
def strip(view: ClipView, rows: Sequence[str] = USUAL_ROWS, *, columns: int = 12, panel_px: int = 128) -> np.ndarray:
    """A still with these rows, and every n-th frame as a column.

    The rollout's first frame and the last of all are always columns; n is the smallest with which the film fits.

    Args:
        view: one clip.
        rows: names in ROWS.
        columns: largest number of columns, at least 2.
        panel_px: longest side of a picture at most, but for larger frames; a pixel becomes a square of whole pixels.

    Returns:
        (height, width, 3) uint8.

    Raises:
        ValueError: the view lacks what a row draws, or there are fewer than 2 columns.
    """
    whole_number("columns", columns, 2, "the rollout's first frame and the last are always shown")
    frames, height, width = view.truth.shape[:3]
    scale = max(1, panel_px // max(height, width))
    panels = draw_rows(rows, view, scale)
    times = every_nth(view.context, frames, columns)
    names = [_name(panel) for panel in panels]
    gutter = GUTTER if any(panel.bands for panel in panels) else 0
    left = gutter + max(NAMES, *(28 + text_width(line) for name in names for line in name.splitlines()))
    lines = [len(name.splitlines()) for name in names]
    grid = _Grid(times, view.context, lines, height * scale, width * scale, left, gutter)
    legends = _legends(panels)
    right = max(grid.lefts[-1] + grid.wide, left + 320, left + sum(map(_width, legends.items())))
    page = Page(blank_page(grid.bottom + MARGIN, right + MARGIN))
    _paste_stills(page, panels, names, grid)
    _paint_spans(page, grid)
    _paint_legends(page, legends)
    return page.drawn()


class _Grid(NamedTuple):
    """Where the pictures stand, in px."""

    times: list[int]
    """Index of the frame in each column."""
    context: int
    """Frames given, before a wider gap."""
    lines: list[int]
    """Lines of the name of each row."""
    high: int
    wide: int
    """Size of a picture."""
    left: int
    """Where the first one begins."""
    gutter: int
    """Room before it for numbers of bands."""

    @property
    def lefts(self) -> list[int]:
        """Left edges of the columns."""
        pitch = max(self.wide, 40) + GAP  # a frame number needs this much
        return [self.left + k * pitch + (24 if t >= self.context else 0) for k, t in enumerate(self.times)]

    @property
    def tops(self) -> list[int]:
        """Upper edges of the pictures of each row."""
        heights = self._heights
        return [TOP + sum(heights[:row]) + row * GAP + (height - self.high) // 2 for row, height in enumerate(heights)]

    @property
    def bottom(self) -> int:
        """Lower edge of the last row."""
        return TOP + sum(self._heights) + (len(self.lines) - 1) * GAP

    @property
    def _heights(self) -> list[int]:
        """Of rows: of their pictures, or of their names if these are higher."""
        return [max(self.high, _LINE * lines) for lines in self.lines]


def _paste_stills(page: Page, panels: Sequence[Panel], names: Sequence[str], grid: _Grid) -> None:
    """Put the pictures in their places, with names of rows and numbers of columns."""
    before = grid.left - grid.gutter - 14
    page.write("frame", before, TOP - 48, align="right", size=TEXT)
    page.write("step", before, TOP - 20, align="right", size=TEXT)
    for panel, name, top in zip(panels, names, grid.tops, strict=True):
        page.write(name, before, top + grid.high // 2, align="right", size=TEXT)
        for middle, number in panel.bands:
            page.write(number, grid.left - grid.gutter / 2, top + middle, size=TEXT)
        for t, left in zip(grid.times, grid.lefts, strict=True):
            page.paste(panel.stills[t], 1, left, top)
    for t, left in zip(grid.times, grid.lefts, strict=True):
        page.write(f"{t + 1}", left + grid.wide / 2, TOP - 48, size=TEXT)
        if t >= grid.context:
            page.write(f"{t + 1 - grid.context}", left + grid.wide / 2, TOP - 20, size=TEXT)


def _paint_spans(page: Page, grid: _Grid) -> None:
    """Paint a line, with its name, over the frames that are given and one over those that are predicted."""
    given = [left for t, left in zip(grid.times, grid.lefts, strict=True) if t < grid.context]
    for name, color, lefts in (("context", CONTEXT, given), ("rollout", ROLLOUT, grid.lefts[len(given) :])):
        if lefts:
            page.pixels[TOP - 72 : TOP - 66, lefts[0] : lefts[-1] + grid.wide] = color
            page.write(name, lefts[0], TOP - 90, align="left", size=TEXT)


def _paint_legends(page: Page, legends: dict[str, tuple[Swatch, ...]]) -> None:
    """Paint legends and their words in the upper right."""
    x = page.pixels.shape[1] - MARGIN - sum(map(_width, legends.items())) + _APART
    for kind, swatches in legends.items():
        page.write(kind, x, 16, align="left", size=TEXT)
        paint_legend(page, swatches, x + (text_width(kind) + 10 if kind else 0), 16)
        x += _width((kind, swatches))


def _name(panel: Panel) -> str:
    """A panel's model if there are several, and its caption made short: on two lines if it has a comma, else its last
    word."""
    caption = panel.caption.replace(", ", "\n") if ", " in panel.caption else panel.caption.split()[-1]
    return f"{panel.model}\n{caption}" if panel.model else caption


def _legends(panels: Sequence[Panel]) -> dict[str, tuple[Swatch, ...]]:
    """Kind of panel -> its swatches, each once; words that are in several rows have the row's name for a kind."""
    found: dict[str, tuple[Swatch, ...]] = {}
    words = {panel.caption.split()[-1] for panel in panels if panel.swatches and not panel.kind}
    for panel in panels:
        if panel.swatches:
            kind = panel.kind or (panel.caption.split()[-1] if len(words) > 1 else "")
            found[kind] = tuple(dict.fromkeys((*found.get(kind, ()), *panel.swatches)))
    return found


def _width(legend: tuple[str, tuple[Swatch, ...]]) -> int:
    """Width of a legend and of the gap before it, in px."""
    kind, swatches = legend
    return legend_width(swatches) + (text_width(kind) + 10 if kind else 0) + _APART


def every_nth(context: int, frames: int, columns: int) -> list[int]:
    """Indices of at most `columns` frames: every n-th, with the rollout's first among them, and the last of all."""
    for every in range(1, frames + 1):
        shown = sorted({*range(context % every, frames, every), frames - 1})
        if len(shown) <= columns:
            return shown
    raise AssertionError("a step as long as the film leaves two frames at most")
