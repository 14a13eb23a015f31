"""Rows about modules: a band for each, a cell for each frame, filled as time passes."""

import numpy as np

from videopred.palette import INK, PAGE, SCHEMA_COLORS, TRACK, as_pixels, module_colors, schema_cells, tinted
from videopred.rendering.lettering import Label, write
from videopred.rendering.panel import Panel, Swatch, numbers, shown
from videopred.rendering.scene import Scene

GUTTER, LETTER = 26, 22
"""Width left of the bands for their numbers, and height that a number needs, px."""


def modules(scene: Scene, scale: int) -> Panel:
    """Active modules in their colours, resting ones white; of several layers, the lowest is on top."""
    active = np.concatenate(scene.traced("active"), axis=1)  # (T, K)
    colors = module_colors(active.shape[1])
    return _raster(scene, scale, tinted(active, axis=1), "active modules", numbers(colors), "module")


def schemata(scene: Scene, scale: int) -> Panel:
    """Each object file's schema."""
    (chosen,) = scene.traced("schema")  # (T, K)
    swatches = numbers(SCHEMA_COLORS[np.arange(int(np.nanmax(chosen)) + 1) % len(SCHEMA_COLORS)])
    return _raster(scene, scale, schema_cells(chosen), "schemata", swatches, "schema")._replace(numbered=False)


def attention(scene: Scene, scale: int) -> Panel:
    """Where on the map each module reads, in its colour; of a core that reads vectors, how much each module reads."""
    traces = scene.traced("input_attention")
    if scene.map_shape is not None and len(traces) == 1:
        return _attention_map(scene, scale, traces[0].mean(1))
    read = np.concatenate([trace.mean(1).sum(-1) for trace in traces], axis=1)  # (T, K)
    colors = module_colors(read.shape[1])
    return _raster(scene, scale, tinted(read, axis=1), "attention", numbers(colors), "module")


def _attention_map(scene: Scene, scale: int, read: np.ndarray) -> Panel:
    """Attention (T, K, L) on the positions of a map; at each frame the position that is read most is brightest."""
    assert scene.map_shape is not None
    height, width = scene.truth.shape[1:3]
    down, across = scene.map_shape
    colors = module_colors(read.shape[1])
    light = np.einsum("tkl,kc->tlc", read, colors)
    most = read.sum(1).max(-1)
    light /= np.where(most == 0, 1, most)[:, None, None]
    film = as_pixels(light.reshape(len(read), down, across, 3))
    # The nearest position of each pixel: a map need not divide the frame.
    rows, columns = np.arange(height) * down // height, np.arange(width) * across // width
    return shown(film[:, rows][:, :, columns], scale, "attention", numbers(colors), "module")


def _raster(
    scene: Scene, scale: int, cells: np.ndarray, caption: str, swatches: tuple[Swatch, ...], kind: str
) -> Panel:
    """The panel of cells (T, K, 3); when it plays, those of later frames are not there yet."""
    frames, bands = cells.shape[:2]
    high, wide = scene.truth.shape[1] * scale, scene.truth.shape[2] * scale
    tops = np.linspace(0, high, bands + 1).round().astype(int)
    edges = np.linspace(GUTTER, wide, frames + 1).round().astype(int)
    film = np.full((frames, high, wide, 3), PAGE, np.uint8)
    stills = film.copy()
    gap = 2 if high >= 6 * bands else 0
    for k in range(bands):
        top, bottom = tops[k] + gap, tops[k + 1] - gap
        film[:, top:bottom, GUTTER:] = TRACK
        for t in range(frames):
            film[t:, top:bottom, edges[t] : edges[t + 1]] = cells[t, k]
            stills[t, top:bottom] = cells[t, k]
    turn = edges[scene.context]
    film[:, :, turn - 1 : turn + 1] = INK  # no module has it
    every = -(-LETTER * bands // high)
    labels = [Label(str(k), GUTTER / 2, (tops[k] + tops[k + 1]) / 2) for k in range(0, bands, every)]
    film[:, :, :GUTTER] = write(film[0], labels)[:, :GUTTER]
    return Panel(film, stills, caption, swatches, kind, numbered=True)
