"""Films and strips of several models: a column or a row for each, under its name."""

import numpy as np
import pytest
from view_samples import FRAMES, HEIGHT, SCALE, WIDTH, beside, draw, in_small, trace, view, widest

from videopred.palette import PAGE, ROLLOUT
from videopred.rendering.clip_view import check_row
from videopred.rendering.film import film_frames, headings
from videopred.rendering.lettering import text_width
from videopred.rendering.panel import draw_rows
from videopred.rendering.strip import strip


def test_several_models_have_a_row_each_below_one_truth():
    other = {"active": 1 - trace()["active"]}
    panels = draw_rows(["truth", "pred", "modules", "boxes"], beside(other), SCALE)
    assert [(panel.model, panel.caption) for panel in panels] == [
        ("", "truth"), ("ours", "prediction"), ("theirs", "prediction"), ("ours", "active object files"),
        ("theirs", "active modules"), ("ours", "true boxes"), ("theirs", "true boxes"),
    ]  # fmt: skip
    for panel, made in zip(panels[1:3], (view().prediction, 255 - view().prediction), strict=True):
        np.testing.assert_array_equal(in_small(panel.film), np.broadcast_to(made, (FRAMES, HEIGHT, WIDTH, 3)))
    np.testing.assert_array_equal(panels[4].film, draw("modules", view(trace=other), SCALE).film)
    assert len(film_frames(beside(other), ["truth", "pred"], panel_px=SCALE * WIDTH)) == FRAMES


def test_each_model_has_a_column_of_a_film_beside_the_truth():
    rows = ["truth", "pred", "diff", "modules"]
    other = {"schema": trace()["schema"]}
    whole = film_frames(beside(other), [*rows, "schemata"], panel_px=SCALE * WIDTH)
    panels = draw_rows([*rows, "schemata"], beside(other), SCALE)
    column = max(SCALE * WIDTH + 8, 14 + max(map(widest, panels)))
    header = 16 + 24 * max(len(headings(panel, SCALE * WIDTH)) for panel in panels)
    cells = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (3, 1), (3, 2)]
    for panel, (line, k) in zip(panels, cells, strict=True):
        left = 14 + (column - SCALE * WIDTH) // 2 + k * (column + 14)
        top = header + 4 + line * (header + SCALE * HEIGHT + 14)
        place = whole[:, top : top + SCALE * HEIGHT, left : left + SCALE * WIDTH]
        np.testing.assert_array_equal(place, panel.film)
    wide = {}
    for names in ("abc", "abcde"):
        first, *others = (view(model=name) for name in names)
        wide[len(names)] = film_frames(first._replace(beside=others), ["truth", "pred"]).shape[2]
    assert wide[3] < wide[5] < 1.2 * wide[3]  # more than four abreast are smaller


def test_panels_grow_into_the_width_of_what_stands_above_them():
    models = [view(model=f"model {name}, of a rather long name") for name in "abcde"]
    film = film_frames(models[0]._replace(beside=models[1:]), ["pred"], panel_px=10 * WIDTH)
    borders = (film[-1] == ROLLOUT).all(-1).sum(0) > 5 * HEIGHT  # in these columns, the left and right ones
    edges = np.flatnonzero(np.diff(borders.astype(int)))
    assert edges[2] - edges[1] == 10 * WIDTH < max(text_width(model.model) for model in models)  # of five, else 8


def test_a_row_is_of_those_models_that_have_it():
    panels = draw_rows(["modules", "masks"], beside({"active": trace()["active"]}), SCALE)
    assert [panel.model for panel in panels] == ["ours", "theirs", "ours"]
    other = beside({"schema": trace()["schema"]})._replace(trace={})  # the first lacks it
    assert [panel.model for panel in draw_rows(["schemata"], other, SCALE)] == ["theirs"]
    check_row(other, "schemata")
    neither = beside({})._replace(trace={})
    with pytest.raises(
        ValueError, match="among truth, pred, diff, overlay, boxes for these models and data, got masks"
    ):
        draw_rows(["pred", "masks"], neither, SCALE)


def test_each_model_is_named_beside_its_colours_and_left_of_its_strip():
    missed = draw_rows(["diff"], beside({}), SCALE)
    lines = [headings(panel, SCALE * WIDTH) for panel in missed]
    shown = [(model.caption, [len(legend.swatches) for legend in legends]) for model, *legends in lines]
    assert shown == [("ours", [2, 1]), ("theirs", [2, 1])]
    shown = headings(draw_rows(["pred"], beside({}), SCALE)[0], SCALE * WIDTH)
    assert [line.caption for line in shown] == ["ours", "prediction"]
    narrow = strip(beside({}), ["pred"], panel_px=4 * WIDTH)
    long = beside({})._replace(model="a model whose name is long")
    wide = strip(long, ["pred"], panel_px=4 * WIDTH)
    assert narrow.shape[0] == wide.shape[0] == strip(view(), ["pred", "overlay"], panel_px=4 * WIDTH).shape[0]
    assert wide.shape[1] > narrow.shape[1] == strip(view(), ["pred", "overlay"], panel_px=4 * WIDTH).shape[1]
    first = next(x for x in range(wide.shape[1]) if (wide[134 : 134 + HEIGHT, x] != PAGE).any(-1).mean() > 0.9)
    assert first == 28 + text_width(long.model)


def test_dollars_in_a_name_are_no_formula():
    named = beside({})._replace(model="a$_{$b")
    assert text_width("a$_{$b") > text_width("ab")
    for picture in (film_frames(named, ["pred"], panel_px=WIDTH), strip(named, ["pred"], panel_px=WIDTH)):
        assert picture.any()
