"""A view of made-up films and traces, under an intervention and beside another model, for tests of what draws it."""

from typing import Any, NamedTuple

import numpy as np

from videopred.rendering.clip_view import ClipView
from videopred.rendering.film import headings
from videopred.rendering.page import Page, blank_page
from videopred.rendering.panel import Panel, draw_rows

FRAMES, CONTEXT, HEIGHT, WIDTH, SCALE = 7, 3, 12, 20, 8
MODULES, POSITIONS = 3, (2, 5)


def trace() -> dict[str, np.ndarray]:
    """What a model did at each step; at frame 0 nothing."""
    chance = np.random.default_rng(0)
    happened = {
        "active": chance.integers(0, 2, (FRAMES, MODULES)).astype(float),
        "schema": chance.integers(0, 4, (FRAMES, MODULES)).astype(float),
        "input_attention": chance.random((FRAMES, 2, MODULES, POSITIONS[0] * POSITIONS[1])),
        "null_attention": chance.random((FRAMES, MODULES)),
        "top_down": chance.random((FRAMES, MODULES)),
        "masks": chance.dirichlet(np.ones(MODULES), (FRAMES, HEIGHT, WIDTH)).transpose(0, 3, 1, 2),
    }
    for values in happened.values():
        values[0] = np.nan
    return happened


class Label(NamedTuple):
    """A text as it was written on a page."""

    text: str
    x: float
    y: float
    look: dict[str, Any]


def labels_written(monkeypatch) -> list[Label]:
    """The texts that are written on pages from now on."""
    labels, write = [], Page.write

    def noting(page: Page, text: str, x: float, y: float, **look) -> None:
        labels.append(Label(text, x, y, look))
        write(page, text, x, y, **look)

    monkeypatch.setattr(Page, "write", noting)
    return labels


def alone(label: Label, height: int, width: int) -> np.ndarray:
    """A page with nothing else on it."""
    page = Page(blank_page(height, width))
    page.write(*label[:3], **label.look)
    return page.drawn()


def view(**changes) -> ClipView:
    chance = np.random.default_rng(1)
    films = chance.integers(0, 256, (2, FRAMES, HEIGHT, WIDTH, 1), np.uint8)
    masks = np.zeros((FRAMES, HEIGHT, WIDTH), np.uint8)
    masks[:, 2:5, 6:8], masks[:, 7:9, 1:7] = 1, 9
    return ClipView(CONTEXT, *films, trace(), masks, POSITIONS)._replace(**changes)


def intervened() -> ClipView:
    """The same under an intervention that turns all upside down."""
    other = {name: 1 - values for name, values in trace().items()}
    return view(changed=255 - view().prediction, changed_trace=other)


def beside(row: dict[str, np.ndarray]) -> ClipView:
    """The view of one model beside that of another, which did only what `row` has."""
    other = view(prediction=255 - view().prediction, trace=row, model="theirs")
    return view(model="ours", beside=[other])


def draw(row: str, of: ClipView, scale: int) -> Panel:
    (panel,) = draw_rows([row], of, scale)
    return panel


def widest(panel: Panel) -> int:
    return max(line.width for line in headings(panel, SCALE * WIDTH))


def in_small(film: np.ndarray) -> np.ndarray:
    return film[:, SCALE // 2 :: SCALE, SCALE // 2 :: SCALE]
