"""Rows: each draws what it is named after at the frame where it happened, and says so when there is nothing to draw."""

from itertools import pairwise

import numpy as np
import pytest
from view_samples import (
    CONTEXT,
    FRAMES,
    HEIGHT,
    MODULES,
    SCALE,
    WIDTH,
    Label,
    alone,
    draw,
    in_small,
    intervened,
    labels_written,
    trace,
    view,
    widest,
)

from videopred.palette import INK, INVENTED, MISSED, OBJECT_COLORS, PAGE, ROLLOUT, SCHEMA_COLORS, TRACK
from videopred.rendering import FIGURES, ROWS, check_rows
from videopred.rendering.clip_view import ClipView
from videopred.rendering.film import film_frames, headings
from videopred.rendering.film_rows import difference, laid_over
from videopred.rendering.lettering import TEXT, legend_width
from videopred.rendering.panel import draw_rows
from videopred.rendering.raster_rows import GUTTER
from videopred.rendering.strip import strip
from videopred.settings import Settings

PLAIN = [row for row in ROWS if row not in ("changed", "change")]
"""Rows that take no intervention."""


@pytest.mark.parametrize("row", PLAIN)
def test_panels_of_a_view_are_of_one_size_and_can_be_put_together(row):
    panel = draw(row, view(), SCALE)
    for film in (panel.film, panel.stills):
        assert film.shape == (FRAMES, HEIGHT * SCALE, WIDTH * SCALE, 3)
        assert film.dtype == np.uint8
    assert len(film_frames(view(), ["truth", row] if row != "truth" else [row], panel_px=SCALE * WIDTH)) == FRAMES


@pytest.mark.parametrize(
    ("rows", "abreast"),
    [(PLAIN, 4), (PLAIN[:9], 3), (["modules", "truth"], 2), (["pred", "truth", "masks", "schemata", "overlay"], 3)],
)
def test_panels_stand_where_the_film_says(rows, abreast):
    """At most four abreast, in even lines, each with its pixels inside its border."""
    whole = film_frames(view(), rows, panel_px=SCALE * WIDTH)
    panels = draw_rows(rows, view(), SCALE)
    column = max(SCALE * WIDTH + 8, 14 + max(map(widest, panels)))
    header = 16 + 24 * max(len(headings(panel, SCALE * WIDTH)) for panel in panels)
    for k, row in enumerate(rows):
        left = 14 + (column - SCALE * WIDTH) // 2 + k % abreast * (column + 14)
        top = header + 4 + k // abreast * (header + SCALE * HEIGHT + 14)
        place = whole[:, top : top + SCALE * HEIGHT, left : left + SCALE * WIDTH]
        np.testing.assert_array_equal(place, draw(row, view(), SCALE).film)
        assert (whole[CONTEXT:, top - 2, left : left + SCALE * WIDTH] == ROLLOUT).all()


def test_the_truth_lies_over_the_prediction_in_transparent_blue():
    truth, prediction = np.array([[[255], [255], [0], [0]]], np.uint8), np.array([[[255], [0], [255], [51]]], np.uint8)
    blue = np.array(MISSED)
    over = [0.6 * blue + 0.4 * 255, 0.6 * blue, (255, 255, 255), (51, 51, 51)]
    np.testing.assert_allclose(laid_over(truth, prediction)[0], over, atol=0.5)
    red = np.array([[[[255, 0, 0]]]], np.uint8)
    assert laid_over(red, 0 * red)[0, 0, 0] == pytest.approx(0.6 * blue, abs=0.5), "as opaque where it is of one colour"


@pytest.mark.parametrize(("row", "name"), [("modules", "active"), ("schemata", "schema")])
def test_a_band_has_a_cell_for_each_frame_which_comes_when_it_is_reached(row, name):
    panel, happened = draw(row, view(), SCALE), trace()[name]
    edges = np.linspace(GUTTER, SCALE * WIDTH, FRAMES + 1)
    for module in range(MODULES):
        y = round((module + 0.5) * SCALE * HEIGHT / MODULES)
        for t in range(FRAMES):
            value = happened[t, module]
            if t == 0:
                expected = TRACK
            elif row == "schemata":
                expected = SCHEMA_COLORS[int(value)]
            else:
                expected = OBJECT_COLORS[module] if value else PAGE
            x = round((edges[t] + edges[t + 1]) / 2)
            np.testing.assert_array_equal(panel.film[t, y, x], expected)
            np.testing.assert_array_equal(panel.film[-1, y, x], expected)
            np.testing.assert_array_equal(panel.stills[t, y, 5], expected)
            if t:
                np.testing.assert_array_equal(panel.film[t - 1, y, x], TRACK)
    assert (panel.film[:, :, round(edges[CONTEXT])] == INK).all()


def test_numbers_of_many_bands_leave_out_some(monkeypatch):
    """A number is 22 px high, the panel 96."""
    written = labels_written(monkeypatch)
    for bands, shown in ((3, ["0", "1", "2"]), (16, ["0", "4", "8", "12"])):
        written.clear()
        draw("modules", view(trace={"active": np.ones((FRAMES, bands))}), SCALE)
        assert [label.text for label in written] == shown
        places = [label.y for label in written]
        middles = [max(9, (int(number) + 0.5) * HEIGHT * SCALE / bands) for number in shown]  # above 9 it would be cut
        assert places == [pytest.approx(middle, abs=1) for middle in middles]


def test_numbers_of_low_bands_are_whole_and_narrow_or_very_low_panels_have_a_legend_instead():
    """Six bands of 4 px and numbers of 22; then panels in which numbers have no room."""
    active = {"active": np.ones((FRAMES, 6))}
    low = draw("modules", view(trace=active, truth=view().truth.repeat(4, axis=2)), 2)
    number = alone(Label("0", GUTTER / 2, 40, {"size": TEXT}), 90, GUTTER)
    whole, found = ((image != PAGE).any((1, 2)) for image in (number, low.film[0][:, :GUTTER]))
    assert found.sum() == pytest.approx(whole.sum(), abs=1)
    assert not found[[0, -1]].any()
    assert low.numbered
    for axis, films in (("narrow", view().truth[:, :, :4]), ("very low", view().truth[:, :2])):
        panel = draw("modules", view(trace=active, truth=films), 6)
        assert not panel.numbered, axis
        for k in range(6):
            across = panel.film[-1][round((k + 0.5) * panel.film.shape[1] / 6)]
            known = len(across) * (FRAMES - 1) / FRAMES  # all but the first frame
            assert (across == OBJECT_COLORS[k]).all(-1).sum() > 0.8 * known, axis


def test_layers_stand_below_one_another_the_lowest_on_top():
    layers = {"layer0.active": np.ones((FRAMES, 2)), "layer1.active": np.zeros((FRAMES, 3))}
    stills = draw("modules", view(trace=layers), SCALE).stills[-1]
    bands = [tuple(stills[round((k + 0.5) * SCALE * HEIGHT / 5), 5]) for k in range(5)]
    assert bands == [tuple(OBJECT_COLORS[0]), tuple(OBJECT_COLORS[1]), PAGE, PAGE, PAGE]


def test_attention_on_a_map_is_drawn_where_it_is():
    read = np.zeros((FRAMES, 1, MODULES, 10))
    read[:, 0, 1, 7], read[:, 0, 2, 4] = 0.8, 0.4  # row 1, column 2; row 0, column 4
    film = in_small(draw("attention", view(trace={"input_attention": read}), SCALE).film)[-1]
    np.testing.assert_array_equal(film[HEIGHT // 2 :, 8:12], np.broadcast_to(OBJECT_COLORS[1], (6, 4, 3)))
    np.testing.assert_allclose(film[: HEIGHT // 2, 16:], np.broadcast_to(OBJECT_COLORS[2] / 2, (6, 4, 3)), atol=0.5)
    assert film[:6, :16].max() == 0


def test_a_position_that_several_modules_read_is_of_their_colours_together():
    read = np.zeros((FRAMES, 1, MODULES, 10))
    read[:, 0, :2, 7], read[:, 0, 2, 4] = 0.4, 0.2  # row 1, column 2; row 0, column 4
    film = in_small(draw("attention", view(trace={"input_attention": read}), SCALE).film)[-1]
    for place, color in ((film[6:, 8:12], OBJECT_COLORS[:2].mean(0)), (film[:6, 16:], OBJECT_COLORS[2] / 4)):
        np.testing.assert_allclose(place, np.broadcast_to(color, (6, 4, 3)), atol=0.5)


def test_attention_of_a_core_that_reads_vectors_is_how_much_each_module_reads():
    read = np.full((FRAMES, 2, MODULES, 1), 0.25)
    read[:, :, 2] = 1
    stills = draw("attention", view(trace={"input_attention": read}, map_shape=None), SCALE).stills[-1]
    bands = [stills[round((k + 0.5) * SCALE * HEIGHT / MODULES), 5] for k in range(MODULES)]
    np.testing.assert_array_equal(bands[2], OBJECT_COLORS[2])
    np.testing.assert_allclose(bands[0], 0.25 * OBJECT_COLORS[0] + 0.75 * 255, atol=0.5)


@pytest.mark.parametrize("map_shape", [(2, 4), None])
def test_modules_that_rest_read_nothing(map_shape):
    read = np.full((FRAMES, 1, MODULES, 8), 0.1)
    active = np.ones((FRAMES, MODULES))
    active[:, 1:] = 0
    of_one = view(trace={"input_attention": read, "active": active})._replace(map_shape=map_shape)
    film = draw("attention", of_one, SCALE).film[-1]
    read[:, :, 1:] = 0
    alone = view(trace={"input_attention": read})._replace(map_shape=map_shape)
    np.testing.assert_array_equal(film, draw("attention", alone, SCALE).film[-1])


def test_a_layer_that_reads_without_attention_leaves_the_others_theirs():
    """Every layer of a stack may say which modules were active, but only some attend to their input."""
    read, active = np.full((FRAMES, 1, 2, 5), 0.15), np.tile([1.0, 0.0], (FRAMES, 1))
    stack = {"layer0.active": np.ones((FRAMES, 3)), "layer1.active": active, "layer1.input_attention": read}
    alone = {"active": active, "input_attention": read}
    films = [draw("attention", view(trace=trace, map_shape=None), SCALE).film for trace in (stack, alone)]
    np.testing.assert_array_equal(*films)


@pytest.mark.parametrize(("row", "name"), [("null", "null_attention"), ("top-down", "top_down")])
def test_attention_on_the_null_slot_and_from_above_is_a_cell_for_each_module(row, name):
    """Of two layers, of which the upper has nothing above."""
    shares = {f"layer{layer}.{name}": np.full((FRAMES, 2 + layer), 0.4 + 0.2 * layer) for layer in range(2)}
    if row == "top-down":
        del shares["layer1.top_down"]
    panel = draw(row, view(trace=shares), SCALE)
    levels = np.concatenate([share[0] for share in shares.values()])
    colors = levels[:, None] * OBJECT_COLORS[: len(levels)] + (1 - levels[:, None]) * np.array(PAGE)
    middles = ((np.arange(len(levels)) + 0.5) * SCALE * HEIGHT / len(levels)).astype(int)
    np.testing.assert_allclose(panel.stills[-1][middles, GUTTER + 5], colors, atol=0.5)
    assert (panel.caption, panel.kind, len(panel.swatches)) == (row, "module", len(levels))


def test_attention_of_several_layers_is_how_much_each_module_reads_of_all_positions():
    read = np.full((FRAMES, 2, 1, 5), 0.15)
    layers = {"layer0.input_attention": read, "layer1.input_attention": read / 3}
    stills = draw("attention", view(trace=layers), SCALE).stills[-1]
    for k, share in enumerate((0.75, 0.25)):
        band = stills[round((k + 0.5) * SCALE * HEIGHT / 2), 5]
        np.testing.assert_allclose(band, share * OBJECT_COLORS[k] + (1 - share) * 255, atol=0.5)


def test_masks_mix_the_colours_of_their_modules():
    film = in_small(draw("masks", view(), SCALE).film)
    shares = trace()["masks"][4, :, 3, 17]
    np.testing.assert_allclose(film[4, 3, 17], shares @ OBJECT_COLORS[:MODULES], atol=0.5)
    own = {"masks": np.ones((FRAMES, MODULES, HEIGHT, WIDTH))}
    most = np.minimum(OBJECT_COLORS[:MODULES].sum(0, dtype=int), 255)
    assert (draw("masks", view(trace=own), SCALE).film == most).all(), "those of one's own need not be shares"


def test_the_caption_of_a_panel_stays_beside_the_numbers_of_many_modules():
    """Words in a legend stand in place of a caption; numbers do not, even those of two digits."""
    masks = draw("masks", view(trace={"masks": np.full((FRAMES, 11, HEIGHT, WIDTH), 1 / 11)}), SCALE)
    swapped = masks._replace(caption="changed, 1 for 3, from step 3", swatches=())
    assert [line.caption for line in headings(swapped, 1000)] == ["changed, 1 for 3, from step 3"]
    assert [line.caption for line in headings(swapped, 100)] == ["changed", "1 for 3", "from step 3"]
    assert [(line.caption, len(line.swatches)) for line in headings(masks, 1000)] == [("masks", 11)]
    assert [(line.caption, len(line.swatches)) for line in headings(masks, 100)] == [("masks", 0), ("", 6), ("", 5)]
    assert [(line.caption, len(line.swatches)) for line in headings(draw("diff", view(), SCALE), 9)] == [
        ("", 2),
        ("", 1),
    ]


@pytest.mark.parametrize("row", ["masks", "attention"])
def test_the_first_frame_which_no_step_led_to_is_grey(row):
    panel = draw(row, view(), SCALE)
    assert (panel.film[0] == TRACK).all()
    assert (panel.film[1] != TRACK).any()


def test_what_changed_is_drawn_from_the_untouched_prediction_on():
    changed = in_small(draw("changed", intervened(), SCALE).film)
    np.testing.assert_array_equal(changed, np.broadcast_to(255 - view().prediction, changed.shape))
    told = intervened()._replace(intervention=("without 0 2", "from step 3"))
    assert draw("changed", told, SCALE).caption == "changed, without 0 2, from step 3"
    change = in_small(draw("change", intervened(), SCALE).film)
    np.testing.assert_array_equal(change, difference(view().prediction, 255 - view().prediction))


@pytest.mark.parametrize("row", ["modules", "masks", "attention", "schemata"])
def test_what_the_model_did_is_drawn_untouched_and_changed(row):
    untouched, changed = draw_rows([row], intervened(), SCALE)
    np.testing.assert_array_equal(untouched.film, draw(row, view(), SCALE).film)
    np.testing.assert_array_equal(changed.film, draw(row, view(trace=intervened().changed_trace), SCALE).film)
    assert (untouched.caption, changed.caption) == (f"{row}, untouched", f"{row}, changed")
    alone = strip(view(), ["truth", row], panel_px=4 * WIDTH).shape[0]
    assert strip(intervened(), ["truth", row], panel_px=4 * WIDTH).shape[0] - alone == HEIGHT * 4 + 6
    assert len(film_frames(intervened(), [row], panel_px=SCALE * WIDTH)) == FRAMES


def test_all_schemata_that_there_are_to_choose_among_are_named():
    chosen = np.full((FRAMES, MODULES), 1.0)
    for weights, named in ({}, 2), ({"schema_weights": np.full((FRAMES, MODULES, 12), 0.1)}, 12):
        swatches = draw("schemata", view(trace={"schema": chosen} | weights), SCALE).swatches
        assert [swatch.name for swatch in swatches] == [str(schema) for schema in range(named)]


def test_parts_are_object_files_where_they_have_schemata():
    plain = {name: values for name, values in trace().items() if name != "schema"}
    for of, part in ((view(), "object file"), (view(trace=plain), "module")):
        kinds = {row: draw(row, of, SCALE).kind for row in ("modules", "attention", "masks")}
        assert set(kinds.values()) == {part}
        assert draw("modules", of, SCALE).caption == f"active {part}s"


def test_layers_of_modules_stand_apart():
    """Two layers of 3 and 2: four gaps, of which the third is the widest, and bands that are equally high."""
    active = {f"layer{layer}.active": np.ones((FRAMES, size)) for layer, size in enumerate((3, 2))}
    column = draw("modules", view(trace=active), SCALE).stills[-1][:, GUTTER + 5]
    empty = (column == PAGE).all(-1)
    turns = np.flatnonzero(np.diff(empty)) + 1
    bands, gaps = np.diff(turns)[::2], np.diff(turns)[1::2]
    assert len(bands) == 5
    assert bands.max() - bands.min() <= 1
    assert gaps.tolist() == [4, 4, 10, 4]


def test_films_in_color_say_what_a_wrong_color_is():
    films = np.random.default_rng(2).integers(0, 256, (2, FRAMES, HEIGHT, WIDTH, 3), np.uint8)
    colored = ClipView(CONTEXT, *films)
    words = ["missed", "invented", "both", "wrong color"]
    assert [swatch.name for swatch in draw("diff", colored, SCALE).swatches] == words
    moved = colored._replace(changed=colored.truth)
    assert [swatch.name for swatch in draw("change", moved, SCALE).swatches] == ["lost", "new", "kept", "other color"]
    assert [swatch.name for swatch in draw("diff", view(), SCALE).swatches] == words[:3]
    edge = legend_width(draw("diff", view(), SCALE).swatches) - 2 * 4  # borders are part of the room
    assert [len(headings(draw("diff", view(), SCALE), wide)) for wide in (edge, edge - 1)] == [1, 2]
    lines = [
        [[swatch.name for swatch in line.swatches] for line in headings(draw("diff", colored, SCALE), wide)]
        for wide in (1000, 9)
    ]
    assert lines == [[words], [words[:2], words[2:]]]


def test_boxes_surround_the_true_objects_on_the_prediction():
    film = draw("boxes", view(), SCALE).film[-1]
    prediction = draw("pred", view(), SCALE).film[-1]
    for color, (top, bottom, left, right) in ((OBJECT_COLORS[0], (2, 5, 6, 8)), (OBJECT_COLORS[1], (7, 9, 1, 7))):
        np.testing.assert_array_equal(film[top * SCALE, left * SCALE], color)
        np.testing.assert_array_equal(film[bottom * SCALE - 1, right * SCALE - 1], color)
        inner = slice(top * SCALE + 2, bottom * SCALE - 2), slice(left * SCALE + 2, right * SCALE - 2)
        np.testing.assert_array_equal(film[inner], prediction[inner])
    np.testing.assert_array_equal(film[:10], prediction[:10])


def test_boxes_have_the_numbers_of_their_objects_in_the_legend():
    panel = draw("boxes", view(), SCALE)
    assert panel.kind == "object"
    assert [(swatch.name, swatch.color) for swatch in panel.swatches] == [
        (str(number), tuple(OBJECT_COLORS[(number - 1) % 7])) for number in (1, 9)
    ]


def test_the_legend_of_a_crowd_names_each_color_once():
    masks = np.zeros((FRAMES, HEIGHT, WIDTH), np.uint8)
    masks[:, 2, :9] = np.arange(1, 10)
    assert [swatch.name for swatch in draw("boxes", view(masks=masks), SCALE).swatches] == list("1234567")


@pytest.mark.parametrize(("scale", "line"), [(3, 2), (13, 3)])
def test_lines_of_boxes_are_seen_in_pictures_of_half_the_size(scale, line):
    film, prediction = (draw(row, view(), scale).film[-1] for row in ("boxes", "pred"))
    left, top = 6 * scale, 2 * scale
    assert (film[top : top + line, left : left + line] == OBJECT_COLORS[0]).all()
    np.testing.assert_array_equal(film[top + line, left + line], prediction[top + line, left + line])


def test_a_strip_has_the_rows_that_were_asked_for():
    one, three = strip(view(), ["schemata"]), strip(view(), ["schemata", "masks", "modules"])
    assert three.shape[0] - one.shape[0] == 2 * (HEIGHT * 6 + 6)
    for color in (MISSED, INVENTED):
        assert not (one == color).all(-1).any()


def test_words_in_the_legends_of_several_rows_of_a_strip_have_the_rows_name_before_them(monkeypatch):
    """Missed, of the difference, and the truth, of the overlay, have the same colour."""
    written = labels_written(monkeypatch)
    strip(view(), ["diff", "overlay", "modules"])
    numbered = ["object file", "0", "1", "2"]
    words = ["difference", "missed", "invented", "both", "overlay", "truth", *numbered]
    assert [label.text for label in written][-10:] == words
    strip(view(), ["diff", "modules"])
    assert [label.text for label in written][-8:] == ["", "missed", "invented", "both", *numbered]


def test_modules_of_all_models_are_in_the_legend_of_a_strip(monkeypatch):
    written, active = labels_written(monkeypatch), trace()["active"]
    fewer = view(model="theirs", trace={"active": active[:, :2]})
    strip(view(model="ours", trace={"active": active}, beside=[fewer]), ["modules"])
    assert [label.text for label in written][-4:] == ["module", "0", "1", "2"]


def test_bands_of_a_strip_are_numbered_beside_their_pictures_where_there_is_room(monkeypatch):
    written = labels_written(monkeypatch)
    scale = 6
    strip(view(), ["truth", "modules"], panel_px=scale * WIDTH)
    (name,) = [label for label in written if label.text == "files"]
    numbers = {label.text: label for label in written if label.x == name.x + 14 + GUTTER / 2}
    assert set(numbers) == {str(k) for k in range(MODULES)}
    middle = name.y - HEIGHT * scale / 2
    for k in range(MODULES):
        assert abs(numbers[str(k)].y - (middle + (k + 0.5) * HEIGHT * scale / MODULES)) <= 2
    written.clear()
    strip(view(), ["truth", "modules"], panel_px=WIDTH)
    (truth,) = [label for label in written if label.text == "truth"]
    (step,) = [label for label in written if label.text == "step"]
    assert truth.x == step.x
    assert not [label for label in written if label.text == "0" and label.y > truth.y]


def test_names_of_low_rows_stand_apart_in_a_strip_each_beside_its_pictures(monkeypatch):
    """Pictures are 24 px high, as a line of a name is; one name here has five."""
    written = labels_written(monkeypatch)
    told = intervened()._replace(intervention=("without 1", "freeze 0", "swap 2,3", "from step 3"))
    still = strip(told, ["changed", "truth", "modules", "changed"], panel_px=2 * WIDTH)
    names = [label for label in written if label.text.splitlines()[0] in ("changed", "truth", "modules")]
    assert [len(name.text.splitlines()) for name in names] == [5, 1, 2, 2, 5]
    steps = [label for label in written if label.text == "step"]
    inked = [np.flatnonzero((alone(one, *still.shape[:2]) != PAGE).any((1, 2))) for one in (*steps, *names)]
    for above, below in pairwise(inked):
        assert above[-1] < below[0]
    assert inked[-1][-1] < still.shape[0] - 1
    for name, rows in ((names[0], told.changed), (names[1], told.truth)):
        left = steps[0].x + 14 + GUTTER
        picture = still[round(name.y) - HEIGHT : round(name.y) + HEIGHT : 2, left : left + 2 * WIDTH : 2]
        np.testing.assert_array_equal(picture, np.broadcast_to(rows[0], picture.shape))


@pytest.mark.parametrize(
    ("row", "changes", "message"),
    [
        (
            "modules",
            {"trace": {}},
            r"--rows must be among truth, pred, diff, overlay, boxes for .* got modules; leave",
        ),
        ("schemata", {"trace": {"active": 0}}, "among truth, pred, diff, overlay, modules, boxes for .* got schemata"),
        ("attention", {"trace": {"masks": 0}}, "among truth, pred, diff, overlay, masks, boxes for .* got attention"),
        ("masks", {"trace": {"layer1.input_attention": 0}}, "diff, overlay, attention, boxes for .* got masks"),
        (
            "boxes",
            {"trace": {}, "masks": None},
            "pred, diff, overlay for this .* got boxes; leave it out, or use data with masks of objects",
        ),
        ("change", {}, "masks, boxes for this model and data, got change; give --without, --freeze"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(row, changes, message):
    with pytest.raises(ValueError, match=message):
        draw(row, view(**changes), SCALE)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("truth", "prd"), "--rows must be one of truth, pred, .*, got prd; did you mean pred?"),
        (("truth", "truth"), "--rows must name each once, got truth twice; leave one out"),
        ((), "--rows must name at least one, got none; choose among truth"),
    ],
)
def test_rows_that_are_not_there_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        check_rows(rows)


def test_pictures_without_rows_are_refused():
    for drawn in (strip, film_frames):
        with pytest.raises(ValueError, match=r"^--rows must name at least one, got none; choose among truth"):
            drawn(view(), [])


def test_the_help_names_every_row_and_figure():
    from videopred.rendering.settings import PictureConfig

    assert issubclass(PictureConfig, Settings)
    rows, figures = (" ".join(PictureConfig.model_fields[name].description.split()) for name in ("rows", "figure"))
    assert ", ".join(ROWS) in rows
    assert ", ".join(FIGURES) in figures.replace(" or ", ", ")
