"""A page on which pictures keep their pixels beside text and plots. A door of matplotlib."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from videopred.palette import INK, PAGE
from videopred.rendering.canvas import hue, literal, pixels
from videopred.rendering.fonts import fonts

LETTERS = 15
"""Usual size of text, px."""
_DPI = 64  # a power of two: size / dpi * dpi is exact, so no pixel is lost to rounding


class Page:
    """Pixels (height, width, 3) uint8 with pictures, text and plots on them; places are px from the upper left.

    Attributes:
        pixels: what shows where no text and no plot is.
    """

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels
        self._height, self._width = pixels.shape[:2]
        self._figure = Figure(figsize=(self._width / _DPI, self._height / _DPI), dpi=_DPI)

    def paste(self, picture: np.ndarray, scale: int, left: int, top: int) -> None:
        """Put a picture (H, W, 3) uint8 on the page, each pixel a square of scale x scale."""
        large = enlarged(picture, scale)
        self.pixels[top : top + large.shape[0], left : left + large.shape[1]] = large

    def write(
        self,
        text: str,
        x: float,
        y: float,
        color: tuple[int, int, int] = INK,
        align: str = "center",
        size: int = LETTERS,
    ) -> None:
        """Write a line of text, whose middle is at y; x is where `align` says."""
        self._figure.text(
            x / self._width, 1 - y / self._height, literal(text), size=points(size), ha=align, va="center_baseline",
            color=hue(color), family=fonts(),
        )  # fmt: skip

    def axes(self, left: int, top: int, width: int, height: int) -> Axes:
        """An empty plot in a rectangle."""
        bottom = 1 - (top + height) / self._height
        return self._figure.add_axes((left / self._width, bottom, width / self._width, height / self._height))

    def drawn(self) -> np.ndarray:
        """(height, width, 3) uint8: where nothing is drawn, the pictures show."""
        self._figure.figimage(self.pixels, origin="upper", zorder=-1)  # below the plots
        return pixels(self._figure)


def blank_page(height: int, width: int) -> np.ndarray:
    """(height, width, 3) uint8."""
    return np.full((height, width, 3), PAGE, np.uint8)


def enlarged(pictures: np.ndarray, scale: int) -> np.ndarray:
    """Pictures (..., H, W, C) with each pixel as a square of scale x scale."""
    return pictures.repeat(scale, axis=-3).repeat(scale, axis=-2)


def points(px: float) -> float:
    """A size of text on a page, as matplotlib takes it."""
    return px * 72 / _DPI
