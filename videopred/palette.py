"""The colours of every picture: Okabe and Ito's, and Tol's, which colour-blind readers tell apart.

Those of modules and objects, which are numbered, are also the colours of borders and differences, in other panels.
"""

import numpy as np

ORANGE, SKY, GREEN, YELLOW = (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66)
BLUE, VERMILION, PURPLE = (0, 114, 178), (213, 94, 0), (204, 121, 167)
"""Okabe and Ito's."""

PAGE = (255, 255, 255)
INK = (51, 51, 51)
TRACK = (222, 226, 230)
"""What has not happened yet."""
CONTEXT = (120, 144, 164)
"""Calm: the true frames are still given."""
ROLLOUT = ORANGE
"""The model is on its own."""
MISSED = SKY
"""In the truth only."""
INVENTED = VERMILION
"""In the prediction only."""
DISCOLORED = PURPLE
"""In both, in different colors."""
AGREED = (225, 225, 225)
"""In both: brighter than the colours above, so that it is told from them in grey, too."""
MARK = (204, 0, 0)
"""Red: the one place to look at."""

OBJECT_COLORS = np.array([ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE], np.uint8)
"""Object k, counted from 1, has number (k − 1) mod 7, and module k, counted from 0, number k mod 7."""
SCHEMA_COLORS = np.array(
    [
        *((51, 34, 136), (221, 204, 119), (68, 170, 153), (136, 34, 85), (204, 102, 119), (136, 204, 238)),
        *((153, 153, 51), (17, 119, 51), (170, 68, 153), (238, 119, 51)),
    ],
    np.uint8,
)
"""Tol's muted colours and an orange, as a schema is no object; the first of them are far apart in grey. Schema k has
number k mod 10."""


def module_colors(count: int) -> np.ndarray:
    """(count, 3) uint8, of modules or object files."""
    return OBJECT_COLORS[np.arange(count) % len(OBJECT_COLORS)]


def schema_colors(count: int) -> np.ndarray:
    """(count, 3) uint8, of schemata."""
    return SCHEMA_COLORS[np.arange(count) % len(SCHEMA_COLORS)]


def tinted(shares: np.ndarray, axis: int, first: int = 0) -> np.ndarray:
    """Shares in [0, 1] as colours: the page's at 0, the module's own at 1, that of a track where nothing is known.

    Args:
        shares: float; NaN is unknown.
        axis: which axis is that of the modules.
        first: number of the first of these.

    Returns:
        (…, 3) uint8.
    """
    of_modules = np.moveaxis(shares, axis, -1)
    return np.moveaxis(_mixed(of_modules, module_colors(first + of_modules.shape[-1])[first:]), -2, axis)


def schema_tints(weights: np.ndarray) -> np.ndarray:
    """Weights of schemata (…, S) in [0, 1] as their colours, as in `tinted`: (…, S, 3) uint8."""
    return _mixed(weights, schema_colors(weights.shape[-1]))


def _mixed(shares: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Shares (…, K) of these colours (K, 3) in the page's, as pixels; a share beyond 0 or 1 is taken for that."""
    shares = shares.clip(0, 1)
    return as_pixels(shares[..., None] * colors + (1 - shares[..., None]) * np.array(PAGE))


def as_pixels(colors: np.ndarray) -> np.ndarray:
    """Colours of 0 to 255 (…, 3) as uint8; NaN, unknown, is a track."""
    return np.where(np.isnan(colors), TRACK, colors).round().astype(np.uint8)


def schema_cells(chosen: np.ndarray) -> np.ndarray:
    """Numbers of schemata as their colours, (…, 3) uint8; −1, none, is the page, and NaN, unknown, a track."""
    colors = SCHEMA_COLORS[np.nan_to_num(chosen).astype(int) % len(SCHEMA_COLORS)]
    colors = np.where((chosen < 0)[..., None], PAGE, colors)
    return np.where(np.isnan(chosen)[..., None], TRACK, colors).astype(np.uint8)
