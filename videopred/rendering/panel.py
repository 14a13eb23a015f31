"""What a row is drawn as: pixels at every frame, and what stands around them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from videopred.addresses import find
from videopred.rendering import ROWS, check_rows
from videopred.rendering.clip_view import ClipView, available, check_row
from videopred.rendering.page import enlarged


class Swatch(NamedTuple):
    """A colour of the legend."""

    color: tuple[int, ...]
    name: str


class Panel(NamedTuple):
    """A row of pictures of equal size."""

    film: np.ndarray
    """(T, height, width, 3) uint8, as it plays."""
    stills: np.ndarray
    """(T, height, width, 3) uint8, as each frame stands by itself in a strip."""
    caption: str
    """What it shows."""
    swatches: tuple[Swatch, ...] = ()
    kind: str = ""
    """What the names of the swatches count: module, schema or object; empty where they are words."""
    numbered: bool = False
    """Whether numbers on the film itself explain its colours."""
    model: str = ""
    """The model that it is of, where there are several."""
    bands: Sequence[tuple[float, str]] = ()
    """Where numbers of bands stand, px from the top; films have them, and stills get them beside the first."""


def draw_rows(rows: Sequence[str], view: ClipView, scale: int) -> list[Panel]:
    """The panels of rows, in which each pixel of the film is a square of `scale` x `scale`.

    Of several models, each row comes once for each that has it, and the truth once. Under an intervention, rows that
    show what the model did come twice: untouched, then changed.

    Raises:
        ValueError: there is no such row, none at all, or nothing to draw one from.
    """
    check_rows(tuple(dict.fromkeys(rows)))  # here, one may come twice
    panels = []
    for row in rows:
        check_row(view, row)
        if row == "truth":
            panels.append(_draw(row, view, scale))
            continue
        for one in view.of_each:
            if row in available(one):
                panels += [panel._replace(model=one.model) for panel in _panels(row, one, scale)]
    return panels


def _panels(row: str, view: ClipView, scale: int) -> list[Panel]:
    """The panel of a row of one model, or two under an intervention."""
    panel = _draw(row, view, scale)
    if view.changed is None or not any(view.traced(need) for need in ROWS[row].needs):
        return [panel]
    changed = _draw(row, view._replace(trace=view.changed_trace), scale)
    return [one._replace(caption=f"{row}, {how}") for one, how in ((panel, "untouched"), (changed, "changed"))]


def _draw(row: str, view: ClipView, scale: int) -> Panel:
    panel: Panel = find(ROWS[row].address)(view, scale)
    return panel


def numbers(colors: np.ndarray) -> tuple[Swatch, ...]:
    """A swatch for each of (N, 3) colours, counted from 0."""
    return tuple(Swatch(tuple(color), str(k)) for k, color in enumerate(colors.tolist()))


def shown(film: np.ndarray, scale: int, caption: str, swatches: tuple[Swatch, ...] = (), kind: str = "") -> Panel:
    """The panel of a film (T, H, W, 1 or 3) uint8."""
    film = enlarged(np.broadcast_to(film, (*film.shape[:-1], 3)), scale)
    return Panel(film, film, caption, swatches, kind)
