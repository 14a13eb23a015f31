"""A page on which pictures keep their pixels beside text and plots. A door of matplotlib."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

LETTERS = 15
"""Usual size of text, px."""
_DPI = 64  # a power of two: size / dpi * dpi is exact, so no pixel is lost to rounding


class Page:
    """A white page with pictures, text and plots; places are px from the upper left."""

    def __init__(self, height: int, width: int) -> None:
        self._pixels = np.full((height, width, 3), 255, np.uint8)
        self._figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        self._canvas = FigureCanvasAgg(self._figure)
        self._height, self._width = height, width

    def paste(self, picture: np.ndarray, scale: int, left: int, top: int) -> None:
        """Put a picture (H, W, 3) uint8 on the page, each pixel a square of scale x scale."""
        large = enlarged(picture, scale)
        self._pixels[top : top + large.shape[0], left : left + large.shape[1]] = large

    def write(
        self, text: str, x: float, y: float, color: str = "#333333", align: str = "center", size: int = LETTERS
    ) -> None:
        """Write a line of text, whose middle is at y; x is where `align` says."""
        at = x / self._width, 1 - y / self._height
        self._figure.text(*at, text, size=points(size), ha=align, va="center_baseline", color=color)

    def axes(self, left: int, top: int, width: int, height: int) -> Axes:
        """An empty plot in a rectangle."""
        bottom = 1 - (top + height) / self._height
        return self._figure.add_axes((left / self._width, bottom, width / self._width, height / self._height))

    def drawn(self) -> np.ndarray:
        """(height, width, 3) uint8: where nothing is drawn, the pictures show."""
        self._figure.patch.set_alpha(0)
        self._canvas.draw()
        seen = np.asarray(self._canvas.buffer_rgba()).astype(np.float32)
        share = seen[..., 3:] / 255
        return (seen[..., :3] * share + self._pixels * (1 - share)).round().astype(np.uint8)


def enlarged(image: np.ndarray, scale: int) -> np.ndarray:
    """Each pixel as a square of scale x scale."""
    return image.repeat(scale, axis=0).repeat(scale, axis=1)


def points(px: float) -> float:
    """A size of text on a page, as matplotlib takes it."""
    return px * 72 / _DPI
