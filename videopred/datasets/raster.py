"""Discs to pixels, and what can be seen of them.

A pixel belongs to a disc when its centre does, d² <= r²: hard edges, no anti-aliasing, as in R-NEM's films.

Until the end a pixel is one bit, and a row of 64 pixels one number: shapes are (…, H, words), each word holding 64
columns, the first in its lowest bit. So a whole row is hidden, joined or counted in one operation.
"""

import numpy as np

_WORD = np.dtype("<u8")


def draw_discs(positions: np.ndarray, radius: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Which disc is seen at each pixel; a later disc hides an earlier one.

    Args:
        positions: (T, N, 2) px, x and y of centres.
        radius: (N,) px; NaN for absent discs, as are their positions.
        height: rows of a frame.
        width: columns of a frame.

    Returns:
        masks: (T, H, W) uint8, the number of the disc seen, counted from 1; 0 is background.
        drawn: (T, N) int, pixels of each disc, also those that are hidden or outside the frame.
    """
    discs, drawn = disc_rows(positions, np.broadcast_to(radius, positions.shape[:2]), height, width)
    return to_masks(uncovered(discs), width), drawn


def disc_rows(positions: np.ndarray, radius: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The pixels of each disc, as rows of bits, and how many each has.

    Args:
        positions: (F, N, 2) px, x and y of centres.
        radius: (F, N) px; NaN for absent discs, as are their positions.
        height: rows of a frame.
        width: columns of a frame.

    Returns:
        discs: (N, F, H, words) bits.
        drawn: (F, N) int, pixels of each disc, also those outside the frame.
    """
    frames, count = radius.shape
    first = _first_columns(width)
    words = first.shape[1]
    discs = np.zeros((count, frames * (height + 1), words), _WORD)  # a spare row takes what is outside the frame
    drawn = np.zeros((frames, count), int)
    # An absent disc is one of radius 0 that holds no pixel centre.
    x, y, r = (np.nan_to_num(values).astype(float) for values in (positions[..., 0], positions[..., 1], radius))
    window = np.arange(int(2 * r.max()) + 1)  # rows that a disc can meet
    frame = np.arange(frames)[:, None] * (height + 1)
    for disc in range(count):
        cx, cy, size = x[:, disc, None], y[:, disc, None], r[:, disc, None]
        row = np.ceil(cy - size - 0.5) + window  # (F, window)
        gap = size * size - (row + 0.5 - cy) ** 2
        half = np.sqrt(np.maximum(gap, 0))
        start, stop = np.ceil(cx - half - 0.5), np.floor(cx + half + 0.5)
        stop = np.where(gap >= 0, np.maximum(stop, start), start)
        drawn[:, disc] = (stop - start).sum(1)
        start, stop = (np.clip(edge, 0, width).astype(int) for edge in (start, stop))
        place = frame + np.where((row >= 0) & (row < height), row, height).astype(int)
        discs[disc][place] = first[stop] ^ first[start]
    return discs.reshape(count, frames, height + 1, words)[:, :, :height], drawn


def box_rows(boxes: np.ndarray, height: int, width: int) -> np.ndarray:
    """The pixels (B, H, words) of B rectangles (B, 4) int: top row, left column, rows, columns."""
    top, left, rows, columns = boxes.T[..., None].astype(int)
    first, row = _first_columns(width), np.arange(height)
    spans = first[left + columns] ^ first[left]  # (B, 1, words)
    return np.where(((row >= top) & (row < top + rows))[..., None], spans, _WORD.type(0))


def _first_columns(width: int) -> np.ndarray:
    """Rows (W + 1, words) of bits whose first 0 to W columns are on."""
    on = np.tri(width + 1, -(-width // 64) * 64, -1, np.uint8)
    return np.packbits(on, axis=1, bitorder="little").view(_WORD)


def uncovered(discs: np.ndarray) -> np.ndarray:
    """What is seen of each disc (N, F, H, words) bits, when later ones hide earlier."""
    seen, taken = discs.copy(), np.zeros_like(discs[0])
    for disc in reversed(range(len(discs))):
        seen[disc] &= ~taken
        taken |= discs[disc]
    return seen


def to_pixels(rows: np.ndarray, width: int) -> np.ndarray:
    """Bits (…, H, words) as (…, H, W) uint8, 0 or 1."""
    flat = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=None, bitorder="little")
    return np.ascontiguousarray(flat.reshape(*rows.shape[:-1], -1)[..., :width])


def any_of(discs: np.ndarray) -> np.ndarray:
    """The pixels (..., H, words) bits of at least one of (N, ..., H, words)."""
    return np.bitwise_or.reduce(discs, axis=0)


def to_masks(seen: np.ndarray, width: int) -> np.ndarray:
    """Masks (F, H, W) uint8, counted from 1, of discs (N, F, H, words) bits that share no pixel."""
    number = np.arange(1, len(seen) + 1)
    masks = np.zeros((*seen.shape[1:3], width), np.uint8)
    for digit in range(len(seen).bit_length()):
        masks |= to_pixels(any_of(seen[(number >> digit) % 2 > 0]), width) * np.uint8(1 << digit)
    return masks


def count_pixels(seen: np.ndarray) -> np.ndarray:
    """Number of pixels (F, N) int of (N, F, H, words) bits."""
    return np.bitwise_count(seen).sum((2, 3), dtype=int).T


def share_seen(seen: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Share of each object's pixels that is seen.

    Args:
        seen: (..., N) int, pixels of each object that are seen.
        drawn: (..., N) int, pixels of each object, hidden ones too; 0 for absent objects.

    Returns:
        (..., N) float16 in [0, 1]; NaN for absent objects.
    """
    return np.divide(seen, drawn, out=np.full(drawn.shape, np.nan), where=drawn > 0).astype(np.float16)


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
    return share_seen(seen, drawn)


def pixels_of(masks: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Pixels of the chosen objects.

    Args:
        masks: (T, H, W) uint8, objects counted from 1.
        chosen: (T, N) bool.

    Returns:
        (T, H, W) bool.
    """
    found = np.zeros(masks.shape, bool)
    for frame, item in zip(*np.nonzero(chosen), strict=True):  # few: cheaper than looking at all frames
        found[frame] |= masks[frame] == item + 1
    return found
