"""Rows about modules: a band for each, a cell for each frame, filled as time passes."""

from collections.abc import Sequence

import numpy as np

from videopred.frames import nearest
from videopred.palette import INK, PAGE, TRACK, as_pixels, module_colors, schema_cells, schema_colors, tinted
from videopred.rendering.clip_view import ClipView
from videopred.rendering.lettering import TEXT
from videopred.rendering.page import Page
from videopred.rendering.panel import Panel, numbers, shown

GUTTER, LETTER = 26, 22
"""Width left of the bands for their numbers, and height that a number needs, px."""


def modules(view: ClipView, scale: int) -> Panel:
    """Active modules in their colours, resting ones white; of several layers, the lowest is on top."""
    return _layers(view, scale, view.traced("active"), f"active {view.word_for_module}s")


def schemata(view: ClipView, scale: int) -> Panel:
    """Each object file's schema."""
    (chosen,) = view.traced("schema")  # (T, K)
    swatches = numbers(schema_colors(view.schemata))
    film, stills, _, bands = _raster(view, scale, schema_cells(chosen))
    return Panel(film, stills, "schemata", swatches, "schema", bands=bands)


def attention(view: ClipView, scale: int) -> Panel:
    """Where on the map each module reads, in its colour; of a core that reads vectors, how much each module reads.

    Modules that rest read nothing, though they, too, have looked.
    """
    read = []  # (T, K, L) of each layer that attends
    for name, trace in view.trace.items():
        if name.rpartition(".")[2] == "input_attention":
            active = view.trace.get(name.removesuffix("input_attention") + "active")
            read.append(trace.mean(1) if active is None else trace.mean(1) * active[..., None])
    if view.map_shape is not None and len(read) == 1:
        return _attention_map(view, scale, read[0])
    return _layers(view, scale, [of_layer.sum(-1) for of_layer in read], "attention")


def null(view: ClipView, scale: int) -> Panel:
    """How much of its attention each module gave to the null slot, in its colour, the stronger the more."""
    return _layers(view, scale, view.traced("null_attention"), "null")


def top_down(view: ClipView, scale: int) -> Panel:
    """How much of its attention each module of a layer below others gave to the layer above, likewise."""
    return _layers(view, scale, view.traced("top_down"), "top-down")


def _attention_map(view: ClipView, scale: int, read: np.ndarray) -> Panel:
    """Attention (T, K, L) on the positions of a map; at each frame the position that is read most is brightest."""
    assert view.map_shape is not None
    height, width = view.truth.shape[1:3]
    down, across = view.map_shape
    colors = module_colors(read.shape[1])
    light = np.einsum("tkl,kc->tlc", read, colors)
    most = read.sum(1).max(-1)
    light /= np.where(most == 0, 1, most)[:, None, None]
    film = as_pixels(light.reshape(len(read), down, across, 3))
    film = film[:, nearest(height, down)][:, :, nearest(width, across)]
    return shown(film, scale, "attention", numbers(colors), view.word_for_module)


def _layers(view: ClipView, scale: int, layers: Sequence[np.ndarray], caption: str) -> Panel:
    """Shares (T, K) of each layer, in the modules' colours."""
    shares, sizes = np.concatenate(layers, axis=1), [layer.shape[1] for layer in layers]
    swatches = numbers(module_colors(shares.shape[1]))
    film, stills, numbered, bands = _raster(view, scale, tinted(shares, axis=1), sizes)
    return Panel(film, stills, caption, swatches, view.word_for_module, numbered, bands=bands)


def _raster(
    view: ClipView, scale: int, cells: np.ndarray, layers: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray, bool, list[tuple[float, str]]]:
    """Cells (T, K, 3) as bands, in layers of these sizes.

    Returns:
        film: (T, H, W, 3) uint8, filled up to the frame shown.
        stills: (T, H, W, 3) uint8, each of its own frame's colours only.
        numbered: whether there is room for the numbers of bands in the film.
        bands: these numbers, and where they stand.
    """
    frames, bands = cells.shape[:2]
    high, wide = view.truth.shape[1] * scale, view.truth.shape[2] * scale
    places = _bands(high, layers or [bands])
    numbered = wide >= 2 * GUTTER and high >= LETTER  # else there is no room: a legend stands above
    gutter = GUTTER if numbered else 0
    edges = np.linspace(gutter, wide, frames + 1).round().astype(int)
    film = np.full((frames, high, wide, 3), PAGE, np.uint8)
    stills = film.copy()
    for k, (top, bottom) in enumerate(places):
        film[:, top:bottom, gutter:] = TRACK
        for t in range(frames):
            film[t:, top:bottom, edges[t] : edges[t + 1]] = cells[t, k]
            stills[t, top:bottom] = cells[t, k]
    turn = edges[view.context]
    film[:, :, turn - 1 : turn + 1] = INK  # no module has it
    every = -(-LETTER * bands // high)
    middles = places.mean(1).clip(TEXT / 2, high - TEXT / 2)  # so that no number is cut
    named = [(float(middles[k]), str(k)) for k in range(0, bands, every)] if high >= LETTER else []
    page = Page(film[0])
    for middle, name in named:
        page.write(name, GUTTER / 2, middle, size=TEXT)
    film[:, :, :gutter] = page.drawn()[:, :gutter]
    return film, stills, numbered, named


def _bands(high: int, layers: Sequence[int]) -> np.ndarray:
    """(K, 2): first row of each band and the row behind its last; there is more room between layers, if any."""
    bands, layer = sum(layers), np.repeat(np.arange(len(layers)), layers)
    gap, more = 2 * (high >= 6 * bands), 6 * (high >= 12 * bands)
    edges = np.linspace(0, high - more * layer[-1], bands + 1).round().astype(int)
    return np.stack([edges[:-1] + gap, edges[1:] - gap], axis=1) + more * layer[:, None]
