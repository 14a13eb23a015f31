"""Rows below one another, with every n-th frame as a column: a still for paper."""

from collections.abc import Sequence

import numpy as np

from videopred.check import whole_number
from videopred.palette import CONTEXT, ROLLOUT
from videopred.rendering import USUAL_ROWS
from videopred.rendering.film import MARGIN
from videopred.rendering.lettering import Label, blank_page, legend_width, paint_legend, text_width, write
from videopred.rendering.panel import Panel, Swatch, draw_rows
from videopred.rendering.scene import Scene

GAP, NAMES, TOP = 6, 128, 134
"""Between pictures; left of them, for the rows' names; above them; px."""
_APART = 28
"""Between legends, px."""


def strip(scene: Scene, rows: Sequence[str] = USUAL_ROWS, *, columns: int = 12, panel_px: int = 128) -> np.ndarray:
    """A still with these rows, and every n-th frame as a column.

    The rollout's first frame and the last of all are always columns; n is the smallest with which the film fits.

    Args:
        scene: one clip.
        rows: names in ROWS.
        columns: largest number of columns, at least 2.
        panel_px: longest side of a picture at most; a pixel becomes a square of whole pixels.

    Returns:
        (height, width, 3) uint8.

    Raises:
        ValueError: the scene lacks what a row draws.
    """
    whole_number("columns", columns, 2, "show a frame before and one after the rollout's beginning")
    frames, height, width = scene.truth.shape[:3]
    scale = max(1, panel_px // max(height, width))
    high, wide, context = height * scale, width * scale, scene.context
    panels = draw_rows(rows, scene, scale)
    pitch = max(wide, 40) + GAP  # a frame number needs this much
    shown = every_nth(context, frames, columns)
    lefts = [NAMES + k * pitch + (24 if t >= context else 0) for k, t in enumerate(shown)]
    tops = [TOP + row * (high + GAP) for row in range(len(panels))]
    legends = _legends(panels)
    needed = max(lefts[-1] + wide, NAMES + 320, NAMES + sum(map(_width, legends.items())))
    page = blank_page(tops[-1] + high + MARGIN, needed + MARGIN)

    labels = [Label("frame", NAMES - 14, TOP - 48, "right"), Label("step", NAMES - 14, TOP - 20, "right")]
    for panel, y in zip(panels, tops, strict=True):
        labels.append(Label(_short(panel.caption), NAMES - 14, y + high // 2, "right"))
    for t, left in zip(shown, lefts, strict=True):
        labels.append(Label(f"{t + 1}", left + wide / 2, TOP - 48))
        if t >= context:
            labels.append(Label(f"{t + 1 - context}", left + wide / 2, TOP - 20))
        for panel, y in zip(panels, tops, strict=True):
            page[y : y + high, left : left + wide] = panel.stills[t]
    given = [left for t, left in zip(shown, lefts, strict=True) if t < context]
    for name, color, group in (("context", CONTEXT, given), ("rollout", ROLLOUT, lefts[len(given) :])):
        if group:
            page[TOP - 72 : TOP - 66, group[0] : group[-1] + wide] = color
            labels.append(Label(name, group[0], TOP - 90, "left"))
    x = page.shape[1] - MARGIN - sum(map(_width, legends.items())) + _APART
    for kind, swatches in legends.items():
        labels.append(Label(kind, x, 16, "left"))
        labels += paint_legend(page, swatches, x + (text_width(kind) + 10 if kind else 0), 16)
        x += _width((kind, swatches))
    return write(page, labels)


def _short(caption: str) -> str:
    """A caption as the name of a row, which has less room: in two lines, or its last word."""
    return caption.replace(", ", "\n") if ", " in caption else caption.split()[-1]


def _legends(panels: Sequence[Panel]) -> dict[str, tuple[Swatch, ...]]:
    """Kind -> swatches, each once."""
    found: dict[str, tuple[Swatch, ...]] = {}
    for panel in panels:
        if panel.swatches:
            found[panel.kind] = tuple(dict.fromkeys((*found.get(panel.kind, ()), *panel.swatches)))
    return found


def _width(legend: tuple[str, tuple[Swatch, ...]]) -> int:
    """Of swatches, their kind and the gap before them, px."""
    kind, swatches = legend
    return legend_width(swatches) + (text_width(kind) + 10 if kind else 0) + _APART


def every_nth(context: int, frames: int, columns: int) -> list[int]:
    """Indices of evenly spaced frames, among them the rollout's first, and the last; at most `columns` of them."""
    for every in range(1, frames + 1):
        shown = sorted({*range(context % every, frames, every), frames - 1})
        if len(shown) <= columns:
            return shown
    raise AssertionError("a step as long as the film leaves one frame")
