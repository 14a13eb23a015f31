"""Text and legends on pixels: as wide as they are said to be, so that nothing overlaps."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from videopred.rendering import fonts
from videopred.rendering.canvas import dress, empty_figure, figure_bytes, our_style
from videopred.rendering.lettering import SWATCH, TEXT, legend_width, paint_legend, text_width
from videopred.rendering.page import Page, blank_page
from videopred.rendering.panel import Swatch

HIGH, WIDE, LEFT = 41, 640, 30


def written(text: str) -> np.ndarray:
    """A page with a text on it."""
    page = Page(blank_page(HIGH, WIDE))
    page.write(text, LEFT, HIGH / 2, align="left", size=TEXT)
    return page.drawn()


def inked(image: np.ndarray) -> np.ndarray:
    """The columns that are not blank."""
    return np.flatnonzero((image != 255).any((0, 2)))


@pytest.mark.parametrize("text", ["0", "schema", "iiiiiiii", "WWWWWWWW", "active modules, changed"])
def test_a_text_is_as_wide_as_is_said(text):
    columns = inked(written(text))
    assert columns[0] - LEFT in (0, 1, 2)  # 2 with matplotlib 3.10
    assert abs(columns[-1] + 1 - columns[0] - text_width(text)) <= 2
    assert text_width(text, 3 * TEXT) == pytest.approx(3 * text_width(text), abs=3)
    assert text_width("") == text_width(" ") == 0


@pytest.fixture
def another_font(monkeypatch) -> Iterator[None]:
    """One that comes with matplotlib, as if it were of another script."""
    monkeypatch.setattr(fonts, "_OF_OTHER_SCRIPTS", ("No Such Font", "STIXGeneral"))
    fonts.fonts.cache_clear()
    yield
    fonts.fonts.cache_clear()


def test_letters_that_our_font_lacks_are_of_another_that_is_there(another_font):
    """Such as those of a run with a Chinese name, of which there would be boxes."""
    text = "\u1d81 balls"
    with warnings.catch_warnings(), our_style():
        warnings.simplefilter("error")  # of a glyph that is missing
        columns = inked(written(text))
        assert abs(columns[-1] + 1 - columns[0] - text_width(text)) <= 2
        figure = empty_figure(4, 3)
        dress(figure.subplots(), title=text)
        figure_bytes(figure, "png")


@pytest.mark.parametrize("names", [("missed", "invented"), ("0", "1", "2"), ("truth",), ("0", "iiiiiiii", "WWWW")])
def test_a_legend_is_as_wide_as_is_said_and_its_parts_stand_apart(names):
    swatches = tuple(Swatch((9 * k, 200, 90), name) for k, name in enumerate(names))
    page = Page(blank_page(HIGH, WIDE))
    paint_legend(page, swatches, LEFT, HIGH // 2)
    columns = inked(page.drawn())
    assert columns[0] == LEFT
    assert abs(columns[-1] + 1 - LEFT - legend_width(swatches)) <= 2
    assert legend_width(()) == 0
    painted = inked(page.pixels)
    for swatch in swatches:
        colored = (page.pixels == swatch.color).all(-1)
        place, height = np.flatnonzero(colored.any(0)), np.flatnonzero(colored.any(1))
        assert len(place) == len(height) == SWATCH
        assert height[0] + SWATCH // 2 == HIGH // 2, "as high as the middle of its name"
        after = [*painted[painted > place[-1]], WIDE]
        text = columns[(columns > place[-1]) & (columns < after[0])]
        assert place[-1] + 3 < text[0] <= place[-1] + 10
        assert text[-1] + 9 < after[0], "nearer to its own colour than to the next"
