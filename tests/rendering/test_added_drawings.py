"""A row or figure is drawn as soon as it is in its table, wherever there is what it needs."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from view_samples import FRAMES, SCALE, draw, in_small, intervened, view

from videopred.rendering import FIGURES, ROWS, Drawing
from videopred.rendering.clip_view import ClipView
from videopred.rendering.encoding import draw_figure, draw_view
from videopred.rendering.panel import Panel, draw_rows, shown
from videopred.rendering.settings import PictureConfig


def negative(of: ClipView, scale: int) -> Panel:
    return shown(255 - of.prediction, scale, "negative")


def resting(of: ClipView, scale: int) -> Panel:
    """Light where the first module rests."""
    rests = of.trace["active"][:, 0] == 0
    return shown(rests[:, None, None, None] * np.full_like(of.truth, 255), scale, "resting")


def lit_share(views: list[ClipView]) -> Figure:
    figure = Figure()
    figure.subplots().plot(views[0].truth.mean((1, 2, 3)))
    return figure


def test_a_row_that_needs_nothing_is_drawn_of_any_view(monkeypatch):
    monkeypatch.setitem(ROWS, "negative", Drawing("The prediction, inverted.", f"{__name__}:negative"))
    bare = view(trace={}, masks=None)
    np.testing.assert_array_equal(in_small(draw("negative", bare, SCALE).film)[..., :1], 255 - bare.prediction)
    rows = PictureConfig(rows="truth,negative").row_names()
    (content,) = draw_view(bare, [Path("strip.png")], rows).values()
    assert content.startswith(b"\x89PNG")
    with pytest.raises(
        ValueError, match=r"among truth, pred, diff, overlay, negative for this .* got masks; leave it out"
    ):
        draw("masks", bare, SCALE)


def test_a_row_that_needs_a_trace_comes_twice_under_an_intervention_and_is_refused_without(monkeypatch):
    own = Drawing("When the first module rests.", f"{__name__}:resting", needs=("active", "positions"))
    monkeypatch.setitem(ROWS, "resting", own)
    whole = intervened()._replace(truths={"positions": np.zeros((FRAMES, 2, 2))})
    untouched, changed = draw_rows(["resting"], whole, SCALE)
    assert [panel.caption for panel in (untouched, changed)] == ["resting, untouched", "resting, changed"]
    np.testing.assert_array_equal(untouched.film[1:], 255 - changed.film[1:])
    for lacking in ({"truths": {}}, {"trace": {}}):
        with pytest.raises(
            ValueError, match=r"^--rows must be among .* for this model and data, got resting; leave it"
        ):
            draw("resting", whole._replace(**lacking), SCALE)


def test_a_figure_is_drawn_of_views_that_have_what_it_needs(monkeypatch):
    own, path = Drawing("How much is lit.", f"{__name__}:lit_share"), Path("lit.svg")
    monkeypatch.setitem(FIGURES, "lit-share", own)
    drawn = draw_figure(PictureConfig(figure="lit-share").figure, [view(trace={}, masks=None)], [path])
    assert b"<svg" in drawn[path]
    monkeypatch.setitem(FIGURES, "lit-share", own._replace(needs=("masks of objects", "motion")))
    draw_figure("lit-share", [view(truths={"motion": np.array(["horizontal"] * FRAMES)})], [path])
    with pytest.raises(ValueError, match=r"among strip for .* got lit-share, which needs motion; ask for another"):
        draw_figure("lit-share", [view(trace={})], [path])


def test_what_is_in_no_table_is_refused():
    with pytest.raises(ValueError, match=r"--rows must be one of truth, pred, .*, got prd; did you mean pred\?"):
        draw("prd", view(), SCALE)
    with pytest.raises(ValueError, match=r"--figure must be one of strip, .*, got strp; did you mean strip\?"):
        draw_figure("strp", [view()], [Path("f.svg")])
