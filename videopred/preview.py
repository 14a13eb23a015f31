"""A GIF of several clips side by side, each object with an outline of its own colour where masks are known."""

from pathlib import Path

import numpy as np

from videopred import pictures
from videopred.files import write_bytes
from videopred.palette import OBJECT_COLORS, PAGE

_MARGIN, _OUTLINE = 14, 2


def preview_gif(
    frames: np.ndarray, path: Path, masks: np.ndarray | None = None, *, columns: int = 3, panel_px: int = 192
) -> Path:
    """Write a GIF of several clips playing side by side, and return its path. A file there is replaced.

    Args:
        frames: (clips, T, H, W, C) uint8; C is 1 or 3.
        path: ends in .gif.
        masks: (clips, T, H, W) uint8, objects counted from 1; their edges are drawn over the frames.
        columns: clips in a row.
        panel_px: longest side of a clip at most, but for larger frames; a pixel becomes a square of whole pixels.

    Raises:
        OSError: the file cannot be written.
    """
    clips, length, height, width = frames.shape[:4]
    scale = max(1, panel_px // max(height, width))
    high, wide = height * scale, width * scale
    rows, columns = -(-clips // columns), min(clips, columns)
    size = (_MARGIN + rows * (high + _MARGIN), _MARGIN + columns * (wide + _MARGIN))
    film = np.full((length, *size, 3), PAGE, np.uint8)
    for clip, of_clip in enumerate(frames):
        row, column = divmod(clip, columns)
        top, left = _MARGIN + row * (high + _MARGIN), _MARGIN + column * (wide + _MARGIN)
        panel = film[:, top : top + high, left : left + wide]
        panel[:] = of_clip.repeat(scale, axis=1).repeat(scale, axis=2)
        if masks is not None:
            draw_outlines(panel, masks[clip].repeat(scale, axis=1).repeat(scale, axis=2), _OUTLINE)
    return write_bytes(path, pictures.gif_bytes(film))


def draw_outlines(film: np.ndarray, masks: np.ndarray, thickness: int) -> None:
    """Paint the outer pixels of every object, in place.

    Args:
        film: (T, H, W, 3) uint8, changed.
        masks: (T, H, W) uint8, objects counted from 1; 0 is background.
        thickness: how far from what is not the object a pixel is painted, along rows and columns.
    """
    height, width = masks.shape[1:]
    padded = np.pad(masks, ((0, 0), (thickness, thickness), (thickness, thickness)), mode="edge")
    edge = np.zeros(masks.shape, bool)
    for shift in range(1, thickness + 1):
        for down, right in ((shift, 0), (-shift, 0), (0, shift), (0, -shift)):
            top, left = thickness + down, thickness + right
            edge |= masks != padded[:, top : top + height, left : left + width]
    edge &= masks > 0
    film[edge] = OBJECT_COLORS[(masks[edge] - 1) % len(OBJECT_COLORS)]
