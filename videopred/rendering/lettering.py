"""Text on pixels."""

from typing import NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from videopred.palette import INK, PAGE
from videopred.rendering.panel import Swatch

TEXT, SWATCH = 18, 14
"""Size of letters, and side of a colour in a legend, px."""
_LETTER = 10.5
"""Width of a letter, on the average, px."""


class Label(NamedTuple):
    """Text on a picture."""

    text: str
    x: float
    """px from the left, of the anchor that `align` names."""
    y: float
    """px from the top, of the middle."""
    align: str = "center"


def blank_page(height: int, width: int) -> np.ndarray:
    """(height, width, 3) uint8."""
    return np.full((height, width, 3), PAGE, np.uint8)


def legend_width(swatches: tuple[Swatch, ...]) -> int:
    """Of a legend, px."""
    return round(sum(map(_swatch_width, swatches)) - 21) if swatches else 0


def _swatch_width(swatch: Swatch) -> float:
    return SWATCH + 7 + _LETTER * len(swatch.name) + 21 - (7 if len(swatch.name) == 1 else 0)


def paint_legend(page: np.ndarray, swatches: tuple[Swatch, ...], x: int, y: int) -> list[Label]:
    """Paint swatches from x on, and return their labels."""
    labels, left = [], float(x)
    for swatch in swatches:
        at = round(left)
        page[y - SWATCH // 2 : y + SWATCH // 2, at : at + SWATCH] = swatch.color
        labels.append(Label(swatch.name, at + SWATCH + (7 if len(swatch.name) > 1 else 4), y, "left"))
        left += _swatch_width(swatch)
    return labels


def text_width(text: str) -> int:
    """About how wide a text is, px."""
    return round(_LETTER * len(text))


def write(image: np.ndarray, labels: list[Label]) -> np.ndarray:
    """The image with text on it."""
    height, width = image.shape[:2]
    dpi = 64  # a power of two: width / dpi * dpi is exact, so no pixel is lost to rounding
    figure = Figure(figsize=(width / dpi, height / dpi), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    figure.figimage(image, origin="upper")
    for label in labels:
        figure.text(
            label.x / width, 1 - label.y / height, label.text, size=TEXT * 72 / dpi,
            ha=label.align, va="center_baseline", color=np.array(INK) / 255, family="DejaVu Sans",
        )  # fmt: skip
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
