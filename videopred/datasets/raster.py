"""Discs to pixels, and what can be seen of them.

A pixel belongs to a disc when its centre does, d² <= r²: hard edges, no anti-aliasing, as in R-NEM's films.
"""

import numpy as np


def draw_discs(positions: np.ndarray, radius: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Which disc is seen at each pixel; a later disc hides an earlier one.

    Each disc is drawn as spans: in every row that it meets, the pixels from `start` up to `stop`.

    Args:
        positions: (T, N, 2) px, x and y of centres; NaN for absent discs.
        radius: (N,) px.
        height: rows of a frame.
        width: columns of a frame.

    Returns:
        masks: (T, H, W) uint8, the number of the disc seen, counted from 1; 0 is background.
        drawn: (T, N) int, pixels of each disc inside the frame, hidden ones too.
    """
    frames, discs = positions.shape[:2]
    masks = np.zeros((frames, height, width), np.uint8)
    drawn = np.zeros((frames, discs), int)
    prefix = np.tri(width + 1, width, -1, np.uint8)  # row k: the first k pixels are on
    frame = np.arange(frames)[:, None]
    for disc in np.flatnonzero(~np.isnan(radius)):
        x, y = positions[:, disc, None, 0].astype(float), positions[:, disc, None, 1].astype(float)
        r = float(radius[disc])
        window = min(int(2 * r) + 1, height)  # rows that a disc can meet
        top = np.clip(np.ceil(y - r - 0.5), 0, height - window).astype(int)
        row = top + np.arange(window)  # (T, window)
        gap = r * r - (row + 0.5 - y) ** 2
        half = np.sqrt(np.maximum(gap, 0))
        start = np.clip(np.ceil(x - half - 0.5), 0, width).astype(int)
        stop = np.clip(np.floor(x + half + 0.5), 0, width).astype(int)
        stop = np.where(gap >= 0, np.maximum(stop, start), start)
        drawn[:, disc] = (stop - start).sum(1)
        spans = prefix[stop] ^ prefix[start]
        masks[frame, row] = np.maximum(masks[frame, row], spans * np.uint8(disc + 1))
    return masks, drawn


def visible_fraction(masks: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Share of each object's pixels that is seen.

    Args:
        masks: (T, H, W) uint8, objects counted from 1.
        drawn: (T, N) int, pixels of each object, hidden ones too; 0 for absent objects.

    Returns:
        (T, N) float16 in [0, 1]; NaN for absent objects.
    """
    frames, objects = drawn.shape
    seen = np.empty(drawn.shape)
    for number in range(objects):
        is_there = np.packbits((masks == number + 1).reshape(frames, -1), axis=1)
        seen[:, number] = np.bitwise_count(is_there).sum(1, dtype=int)
    return np.divide(seen, drawn, out=np.full(drawn.shape, np.nan), where=drawn > 0).astype(np.float16)


def pixels_of(masks: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Pixels of the chosen objects.

    Args:
        masks: (T, H, W) uint8, objects counted from 1.
        chosen: (T, N) bool.

    Returns:
        (T, H, W) bool.
    """
    pixels = np.zeros(masks.shape, bool)
    for frame, item in zip(*np.nonzero(chosen), strict=True):  # few: cheaper than looking at all frames
        pixels[frame] |= masks[frame] == item + 1
    return pixels
