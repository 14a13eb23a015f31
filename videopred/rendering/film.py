"""Rows side by side, as a film that plays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from videopred.palette import CONTEXT, ROLLOUT, TRACK
from videopred.rendering import USUAL_ROWS
from videopred.rendering.lettering import Label, legend_width, paint_legend, text_width, write
from videopred.rendering.page import blank_page
from videopred.rendering.panel import Panel, Swatch, draw_rows
from videopred.rendering.scene import Scene

BORDER, MARGIN, HEADER = 4, 14, 40
"""Sizes of the picture's parts, px."""
_ABREAST = 4
"""Panels in a line at most, but for more models; then they are smaller."""


def film_frames(scene: Scene, rows: Sequence[str] = USUAL_ROWS, *, panel_px: int = 256) -> np.ndarray:
    """Frames of a film with these rows as panels, at most four abreast, in lines about as long as each other.

    Of several models, each has a column, on the right of the truth. Borders change colour where the rollout begins.

    Args:
        scene: one clip.
        rows: names in ROWS.
        panel_px: longest side of a panel at most, but for larger frames; a pixel becomes a square of whole pixels.

    Returns:
        (T, height, width, 3) uint8.

    Raises:
        ValueError: the scene lacks what a row draws.
    """
    frames, height, width = scene.truth.shape[:3]
    abreast = max(_ABREAST, len(scene.of_each) + ("truth" in rows))
    scale = max(1, panel_px * _ABREAST // abreast // max(height, width))
    panels = draw_rows(rows, scene, scale)
    cells = _in_columns(panels, [one.model for one in scene.of_each]) if scene.beside else _in_lines(len(panels))
    layout = _Layout(height * scale, width * scale, cells, max(map(_caption_width, panels)))
    page = _captioned_page(layout, panels)
    return np.stack([_frame(page, layout, panels, t, scene.context) for t in range(frames)])


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
    """Width of the widest caption."""

    @property
    def places(self) -> list[tuple[int, int]]:
        """Top and left of the panels, without their borders."""
        across = max(self.wide + 2 * BORDER, self.caption)
        inset = (across - self.wide) // 2
        down = HEADER + self.high + 2 * BORDER + 6
        return [(HEADER + BORDER + line * down, MARGIN + inset + k * (across + MARGIN)) for line, k in self.cells]

    @property
    def span(self) -> slice:
        """Columns from the first panel's border to the rightmost one's."""
        lefts = [left for _, left in self.places]
        return slice(min(lefts) - BORDER, max(lefts) + self.wide + BORDER)

    @property
    def footer(self) -> slice:
        """Rows of the text under the panels."""
        bottom = self.places[-1][0] + self.high + BORDER
        return slice(bottom + 6, bottom + 34)


def _captioned_page(layout: _Layout, panels: list[Panel]) -> np.ndarray:
    """The page that all frames share: white, with captions and legends."""
    page = blank_page(layout.footer.stop + 18, layout.span.start + layout.span.stop)
    labels: list[Label] = []
    for (top, left), panel in zip(layout.places, panels, strict=True):
        y, middle = top - BORDER - 18, left + layout.wide / 2
        caption, swatches = _words(panel)
        if not swatches:
            labels.append(Label(caption, middle, y))
            continue
        start = round(middle - _caption_width(panel) / 2)
        if caption:
            labels.append(Label(caption, start, y, "left"))
        labels += paint_legend(page, swatches, start + (text_width(caption) + 14 if caption else 0), y)
    return write(page, labels)


def _words(panel: Panel) -> tuple[str, tuple[Swatch, ...]]:
    """What stands above a panel: its model if there are several, a caption unless several colours are named instead,
    and the named colours."""
    named = len(panel.swatches) > 1 and not panel.kind and not panel.numbered
    caption = ", ".join(filter(None, (panel.model, "" if named else panel.caption)))
    return caption, () if panel.numbered else panel.swatches


def _caption_width(panel: Panel) -> int:
    """Width of a panel's caption and legend, px."""
    caption, swatches = _words(panel)
    return text_width(caption) + (14 if caption and swatches else 0) + legend_width(swatches)


def _frame(page: np.ndarray, layout: _Layout, panels: list[Panel], t: int, context: int) -> np.ndarray:
    """Frame t."""
    image = page.copy()
    step, frames = t + 1 - context, len(panels[0].film)
    for (top, left), panel in zip(layout.places, panels, strict=True):
        right, bottom = left + layout.wide, top + layout.high
        image[top - BORDER : bottom + BORDER, left - BORDER : right + BORDER] = ROLLOUT if step > 0 else CONTEXT
        image[top:bottom, left:right] = panel.film[t]
    state = f"rollout step {step}" if step > 0 else "context"
    first, last = layout.span.start, layout.span.stop
    labels = [Label(f"frame {t + 1}", first, 14, "left"), Label(state, last, 14, "right")]
    image[layout.footer] = write(image[layout.footer], labels)
    timeline = image[layout.footer.stop : layout.footer.stop + 4, layout.span]
    timeline[:] = TRACK
    now, turn = (round(timeline.shape[1] * passed / frames) for passed in (t + 1, context))
    timeline[:, : min(now, turn)] = CONTEXT
    timeline[:, turn : max(now, turn)] = ROLLOUT
    return image
