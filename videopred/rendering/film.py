"""Rows side by side, as a film that plays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from videopred.palette import CONTEXT, ROLLOUT, TRACK
from videopred.rendering import USUAL_ROWS
from videopred.rendering.canvas import our_style
from videopred.rendering.clip_view import ClipView
from videopred.rendering.lettering import TEXT, legend_width, paint_legend, text_width
from videopred.rendering.page import Page, blank_page
from videopred.rendering.panel import Panel, Swatch, draw_rows

BORDER, MARGIN, LINE = 4, 14, 24
"""Sizes of the picture's parts, px; a line is one of text above a panel."""
_ABREAST = 4
"""Panels in a line at most, but for more models; then they are smaller."""
_WORDS = 2
"""Colours that are named in words in a line at most, where more would need more room than the panel has."""
_NUMBERS = 7
"""Colours that are named by numbers in a line at least, also where they need more."""


@our_style()
def film_frames(view: ClipView, rows: Sequence[str] = USUAL_ROWS, *, panel_px: int = 256) -> np.ndarray:
    """Frames of a film with these rows as panels, at most four abreast, in lines about as long as each other.

    Of several models, each has a column, on the right of the truth. Borders change colour where the rollout begins.

    Args:
        view: one clip.
        rows: names in ROWS.
        panel_px: longest side of a panel at most, but for larger frames; a pixel becomes a square of whole pixels.

    Returns:
        (T, height, width, 3) uint8.

    Raises:
        ValueError: the view lacks what a row draws.
    """
    frames, height, width = view.truth.shape[:3]
    abreast = max(_ABREAST, len(view.of_each) + ("truth" in rows))
    scale = max(1, panel_px * _ABREAST // abreast // max(height, width))
    panels = draw_rows(rows, view, scale)
    widest = MARGIN + max(heading.width for panel in panels for heading in headings(panel, width * scale))
    if (fitting := min(panel_px, widest) // max(height, width)) > scale:  # there is room under the headings
        scale, panels = fitting, draw_rows(rows, view, fitting)
    cells = _in_columns(panels, [one.model for one in view.of_each]) if view.beside else _in_lines(len(panels))
    above = [headings(panel, width * scale) for panel in panels]
    columns = 1 + max(column for _, column in cells)
    below = text_width(f"frame {frames}") + MARGIN + text_width(_state(frames - view.context))
    widest = max(widest, -(-(below - (columns - 1) * MARGIN) // columns))
    layout = _Layout(height * scale, width * scale, cells, widest, below, header=16 + LINE * max(map(len, above)))
    page = _captioned_page(layout, above)
    return np.stack([_frame(page, layout, panels, t, view.context) for t in range(frames)])


def _in_lines(panels: int) -> list[tuple[int, int]]:
    """Line and column of each panel: five stand as three and two, not as four and one."""
    lines = -(-panels // _ABREAST)
    abreast = -(-panels // lines)
    return [divmod(k, abreast) for k in range(panels)]


def _in_columns(panels: Sequence[Panel], models: Sequence[str]) -> list[tuple[int, int]]:
    """Line and column of each panel: what is of one model stands in one column, what is of none before all."""
    first = int(any(not panel.model for panel in panels))
    cells, line, before = [], 0, -1
    for panel in panels:
        column = models.index(panel.model) + first if panel.model else 0
        line += column <= before
        before = column
        cells.append((line, column))
    return cells


class _Layout(NamedTuple):
    """Where things lie on a frame, in px."""

    high: int
    wide: int
    """Size of a panel, without its border."""
    cells: list[tuple[int, int]]
    """Line and column of each panel."""
    caption: int
    """Width of the widest caption, or of a column's share of the text below if that is more."""
    below: int
    """Width of the text under the panels."""
    header: int
    """Height of what stands above a panel and its border."""

    @property
    def places(self) -> list[tuple[int, int]]:
        """Top and left of the panels, without their borders."""
        across = max(self.wide + 2 * BORDER, self.caption)
        inset = (across - self.wide) // 2
        down = self.header + self.high + 2 * BORDER + 6
        return [(self.header + BORDER + line * down, MARGIN + inset + k * (across + MARGIN)) for line, k in self.cells]

    @property
    def span(self) -> slice:
        """Columns from the first panel's border to the rightmost one's, or more if the text below them is wider."""
        lefts = [left for _, left in self.places]
        first, last = min(lefts) - BORDER, max(lefts) + self.wide + BORDER
        more = max(0, self.below - (last - first))
        return slice(first - more // 2, last + more - more // 2)

    @property
    def footer(self) -> slice:
        """Rows of the text under the panels."""
        bottom = self.places[-1][0] + self.high + BORDER
        return slice(bottom + 6, bottom + 34)


class Heading(NamedTuple):
    """A line above a panel."""

    caption: str
    swatches: tuple[Swatch, ...] = ()

    @property
    def width(self) -> int:
        """Of the words and the legend behind them, px."""
        return self.legend_at + legend_width(self.swatches)

    @property
    def legend_at(self) -> int:
        """Where the legend begins, px."""
        return text_width(self.caption) + (14 if self.caption and self.swatches else 0)


def headings(panel: Panel, wide: int) -> list[Heading]:
    """What stands above a panel: its model if there are several, then what it shows and the colours that are named.

    Several colours with words for names say what it shows; others have a line of their own if they need it. Many words
    stand in two lines, and so does what is said in several parts; many numbers in as many as they need.

    Args:
        panel: what is drawn.
        wide: its width, px.
    """
    says = len(panel.swatches) > 1 and not panel.kind and not panel.numbered
    line = Heading("" if says else panel.caption, () if panel.numbered else panel.swatches)
    lines = [line]
    if line.width > wide and line.caption and line.swatches:
        named = len(line.swatches)
        fitting = max(_NUMBERS, named * (wide + 2 * BORDER) // legend_width(line.swatches))
        many = -(-named // -(-named // fitting))  # lines are about as long as each other
        parts = [line.swatches[k : k + many] for k in range(0, named, many)]
        lines = [Heading(line.caption), *(Heading("", part) for part in parts)]
    elif line.width > wide + 2 * BORDER and not line.swatches:
        lines = [Heading(part) for part in line.caption.split(", ")]
    elif line.width > wide + 2 * BORDER and len(line.swatches) > _WORDS:
        half = -(-len(line.swatches) // 2)
        lines = [Heading("", line.swatches[:half]), Heading("", line.swatches[half:])]
    return [Heading(panel.model), *lines] if panel.model else lines


def _captioned_page(layout: _Layout, above: Sequence[Sequence[Heading]]) -> np.ndarray:
    """The page that all frames share: white, with what stands above each panel."""
    page = Page(blank_page(layout.footer.stop + 18, layout.span.start + layout.span.stop))
    for (top, left), lines in zip(layout.places, above, strict=True):
        for number, heading in enumerate(reversed(lines)):  # the last one close to the panel
            y, start = top - BORDER - 18 - LINE * number, round(left + (layout.wide - heading.width) / 2)
            page.write(heading.caption, start, y, align="left", size=TEXT)
            paint_legend(page, heading.swatches, start + heading.legend_at, y)
    return page.drawn()


def _frame(page: np.ndarray, layout: _Layout, panels: list[Panel], t: int, context: int) -> np.ndarray:
    """Frame t."""
    image = page.copy()
    step, frames = t + 1 - context, len(panels[0].film)
    for (top, left), panel in zip(layout.places, panels, strict=True):
        right, bottom = left + layout.wide, top + layout.high
        image[top - BORDER : bottom + BORDER, left - BORDER : right + BORDER] = ROLLOUT if step > 0 else CONTEXT
        image[top:bottom, left:right] = panel.film[t]
    first, last = layout.span.start, layout.span.stop
    footer = Page(image[layout.footer])
    footer.write(f"frame {t + 1}", first, 14, align="left", size=TEXT)
    footer.write(_state(step), last, 14, align="right", size=TEXT)
    image[layout.footer] = footer.drawn()
    timeline = image[layout.footer.stop : layout.footer.stop + 4, layout.span]
    timeline[:] = TRACK
    now, turn = (round(timeline.shape[1] * passed / frames) for passed in (t + 1, context))
    timeline[:, :now] = CONTEXT
    timeline[:, turn:now] = ROLLOUT
    return image


def _state(step: int) -> str:
    """What happens at a step, counted from the rollout's first at 1."""
    return f"rollout step {step}" if step > 0 else "context"
