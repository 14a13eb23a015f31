"""The colors of objects, and colored and soft-edged discs on black."""

from typing import Literal

import numpy as np

PALETTE = np.array([(228, 26, 28), (55, 126, 184), (77, 175, 74), (152, 78, 163)], np.uint8)
"""The first four of ColorBrewer's Set1: red, blue, green and purple."""


def paint_masks(masks: np.ndarray, color: np.ndarray) -> np.ndarray:
    """Frames (T, H, W, 3) uint8 in which every object (N, 3) has its color wherever masks (T, H, W) show it."""
    return np.take(np.vstack([np.zeros((1, 3), np.uint8), color]), masks, axis=0)


def paint_soft(
    positions: np.ndarray,
    radius: np.ndarray,
    color: np.ndarray,
    edges: Literal["smooth", "sutskever"],
    height: int,
    width: int,
) -> np.ndarray:
    """Discs with soft edges; light adds where they touch or overlap, and is cut at full.

    Args:
        positions: (T, N, 2) px, x and y of centres.
        radius: (N,) px; NaN for absent discs, whose positions are not read.
        color: (N, C) uint8.
        edges: smooth is the share of a pixel that the disc covers, taken as r - d + 1/2 between 0 and 1, d being the
            distance of the pixel's centre: off by 0.06 at most for discs of 3 px or more. sutskever is exp(-(d/r)⁸).
        height: rows of a frame.
        width: columns of a frame.

    Returns:
        (T, H, W, C) uint8.
    """
    frames = len(positions)
    cover, light = np.zeros((frames, height, width)), np.zeros((frames, height, width, color.shape[1]))
    for disc in np.flatnonzero(~np.isnan(radius)):
        r = float(radius[disc])
        reach = r + 0.5 if edges == "smooth" else 1.4 * r  # where exp(-(d/r)⁸) is below 1e-6
        side = int(2 * reach) + 2
        x, y = positions[:, disc].T.astype(float)
        column, row = (_window(center, reach, side, size) for center, size in ((x, width), (y, height)))
        d2 = ((row + 0.5 - y[:, None]) ** 2)[:, :, None] + ((column + 0.5 - x[:, None]) ** 2)[:, None]
        with np.errstate(under="ignore"):  # far from a disc there is 0, also for who has NumPy raise
            share = np.clip(r + 0.5 - np.sqrt(d2), 0, 1) if edges == "smooth" else np.exp(-((d2 / (r * r)) ** 4))
        for frame, (top, left) in enumerate(zip(row[:, 0], column[:, 0], strict=True)):
            place = frame, slice(top, top + side), slice(left, left + side)
            cover[place] += share[frame]
            light[place] += share[frame][..., None] * color[disc]
    return np.rint(light / np.maximum(cover, 1)[..., None]).astype(np.uint8)


def _window(center: np.ndarray, reach: float, side: int, size: int) -> np.ndarray:
    """Pixels (T, side) along one axis of `size` that a disc may reach, or as many as there are."""
    first = np.clip(np.floor(center - reach), 0, max(size - side, 0)).astype(int)
    return first[:, None] + np.arange(min(side, size))
