"""Shapes that stand on the ground, to pixels: discs, squares and triangles of one area, each in a band of rows.

A pixel belongs to a shape when its centre does: hard edges, no anti-aliasing.
"""

import math

import numpy as np

SHAPES = ("disc", "square", "triangle")
"""Names of the shapes; a shape's number is its place here."""

_TRIANGLE_BASE, _TRIANGLE_HEIGHT = 1.25, 1.6  # in sides of a square of the same area: their product is 2
HALF_WIDTH = _TRIANGLE_BASE / 2
"""Half of the widest shape's width, in sides of the square."""
HEIGHT = _TRIANGLE_HEIGHT
"""Height of the tallest shape, in sides of the square."""


def centre_height(shape: int, side: float) -> float:
    """Height of a shape's centre of area above its ground.

    Args:
        shape: number of the shape.
        side: side of the square of the same area, px.
    """
    return side * (math.sqrt(1 / math.pi), 0.5, _TRIANGLE_HEIGHT / 3)[shape]


def half_widths(shape: int, side: float, rows: int) -> np.ndarray:
    """How far a shape reaches to either side of its centre in each row.

    Args:
        shape: number of the shape.
        side: side of the square of the same area, px.
        rows: rows of the band whose bottom is the ground.

    Returns:
        (rows,) float64, px, from the top row down; NaN in rows above the shape.
    """
    height = rows - 0.5 - np.arange(rows)  # of the pixels' centres above the ground
    if shape == 0:
        radius = side / math.sqrt(math.pi)
        gap = radius**2 - (height - radius) ** 2
        return np.sqrt(np.where(gap >= 0, gap, np.nan))
    if shape == 1:
        return np.where(height <= side, side / 2, np.nan)
    half = _TRIANGLE_BASE / 2 * (side - height / _TRIANGLE_HEIGHT)
    return np.where(half >= 0, half, np.nan)


def spans(x: np.ndarray, half: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The pixels that a shape covers in each row: from `start` up to `stop`.

    Args:
        x: (T,) px, columns of the shape's centre.
        half: (rows,) of `half_widths`.
        width: columns of a frame.

    Returns:
        start, stop: (T, rows) int in 0 to width; equal where the row has none.
    """
    reach = np.nan_to_num(half, nan=-1.0)
    start = np.clip(np.ceil(x[:, None] - reach - 0.5), 0, width).astype(int)
    stop = np.clip(np.floor(x[:, None] + reach + 0.5), 0, width).astype(int)
    return start, np.maximum(start, stop)


def paint_spans(lines: np.ndarray, start: np.ndarray, stop: np.ndarray, color: np.ndarray) -> None:
    """Paint spans of pixels in one color, in place.

    Args:
        lines: (T, rows, W * C) uint8, rows of pixels with their channels one after the other.
        start, stop: (T, rows) int, or (1, rows) where nothing moves.
        color: (C,) uint8.
    """
    width = lines.shape[-1] // len(color)
    # Bit masks over plain bytes: a choice for each pixel of three bytes takes ten times as long.
    prefix = np.tri(width + 1, width, -1, np.uint8).repeat(len(color), axis=1) * np.uint8(255)
    inside = prefix[stop] ^ prefix[start]
    lines &= ~inside
    lines |= inside & np.tile(color, width)
