"""Random numbers for many clips at once; those of a clip depend on its address alone."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import prod

import numpy as np

from videopred.datasets.clip import clip_seed


def open_sources(seed: int, part: str, indices: Iterable[int]) -> list[np.random.Generator]:
    """The random source of each clip, at its beginning."""
    return [np.random.Generator(np.random.PCG64(clip_seed(seed, part, index))) for index in indices]


def open_in_blocks(seed: int, part: str, indices: Iterable[int], size: int) -> Iterator[list[np.random.Generator]]:
    """The random sources of at most `size` clips at a time."""
    queue = iter(indices)
    while block := list(islice(queue, size)):
        yield open_sources(seed, part, block)


def draw_tables(sources: Sequence[np.random.Generator], *shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Uniform numbers in [0, 1) for B clips: every clip draws the same number of them, whether they are used or not.

    Args:
        sources: the random source of each clip.
        shapes: of the tables, for one clip.

    Returns:
        For each shape, (*shape, B) float64: clips lie along the last axis, which makes NumPy's inner loops long.
    """
    sizes = [prod(shape) for shape in shapes]
    drawn = np.ascontiguousarray(np.stack([source.random(sum(sizes)) for source in sources], axis=1))  # (numbers, B)
    pieces = np.split(drawn, np.cumsum(sizes)[:-1])
    return [piece.reshape(*shape, -1) for piece, shape in zip(pieces, shapes, strict=True)]


def to_whole(uniform: np.ndarray, low: int | np.ndarray, high: int | np.ndarray) -> np.ndarray:
    """Uniform numbers in [0, 1) as whole numbers from `low` to `high`, both included and all equally likely.

    Args:
        uniform: (...) float64.
        low, high: whole numbers, or arrays that broadcast to `uniform`; far below 2**53.

    Returns:
        (...) int64.
    """
    return low + (uniform * (high - low + 1)).astype(np.int64)
