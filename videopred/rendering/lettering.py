"""Text on pixels."""

from functools import cache
from math import ceil

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from videopred.rendering.canvas import literal
from videopred.rendering.fonts import fonts
from videopred.rendering.page import Page
from videopred.rendering.panel import Swatch

TEXT, SWATCH = 18, 14
"""Size of letters, and side of a colour in a legend, px."""


def legend_width(swatches: tuple[Swatch, ...]) -> int:
    """Width of a legend, px."""
    return sum(map(_swatch_width, swatches)) - 3 * _gap(swatches[-1]) if swatches else 0


def _swatch_width(swatch: Swatch) -> int:
    """Width of a colour, its name, and the space before the next, px."""
    return SWATCH + text_width(swatch.name) + 4 * _gap(swatch)


def _gap(swatch: Swatch) -> int:
    """Between a colour and its name, px: numbers stand closer."""
    return 4 if swatch.name.isdecimal() else 5


def paint_legend(page: Page, swatches: tuple[Swatch, ...], x: int, y: int) -> None:
    """Paint swatches and their names from x on."""
    for swatch in swatches:
        page.pixels[y - SWATCH // 2 : y + SWATCH // 2, x : x + SWATCH] = swatch.color
        page.write(swatch.name, x + SWATCH + _gap(swatch), y, align="left", size=TEXT)
        x += _swatch_width(swatch)


@cache
def text_width(text: str, size: int = TEXT) -> int:
    """How wide a text is, px."""
    if not text.strip():  # blanks have no ink
        return 0
    return ceil(TextPath((0, 0), literal(text), size=size, prop=FontProperties(family=fonts())).get_extents().width)
