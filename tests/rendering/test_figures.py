"""The papers' figures show the numbers they are drawn from."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from user_styles import in_style
from view_samples import CONTEXT, FRAMES, MODULES, trace, view

from videopred import palette
from videopred.palette import INK, PAGE, SCHEMA_COLORS, TRACK
from videopred.rendering import FIGURES
from videopred.rendering.canvas import figure_bytes, hue
from videopred.rendering.clip_view import ClipView
from videopred.rendering.encoding import draw_figure
from videopred.rendering.film import film_frames
from videopred.rendering.mask_out_figure import masked_out
from videopred.rendering.mask_out_figure import measure as masked_out_measure
from videopred.rendering.paper_figures import (
    activation,
    activation_and_positions,
    schema_use,
)
from videopred.rendering.strip import strip
from videopred.rendering.top_down_figure import _binned, measure, top_down

LAYERS = (3, 2)


def brims_view(seed: int = 0) -> ClipView:
    """Of two layers, the lower reading the upper; the more is hidden, the more."""
    chance = np.random.default_rng(seed)
    visible = chance.random((FRAMES, 2))
    happened = {}
    above = np.concatenate([[np.nan], 0.6 * (1 - visible.mean(1))[:-1]])
    happened["layer0.top_down"] = above[:, None] + np.array([-0.1, 0.0, 0.1])
    happened["layer0.null_attention"] = np.full((FRAMES, LAYERS[0]), 0.25)
    happened["layer1.null_attention"] = np.full((FRAMES, LAYERS[1]), 0.5)
    happened["layer0.active"], happened["layer1.active"] = (np.ones((FRAMES, size)) for size in LAYERS)
    truths = {"positions": chance.random((FRAMES, 2, 2)) * 10, "visibility/fraction": visible}
    return view(trace=happened, truths=truths)


def complete() -> ClipView:
    """A view that has what any figure takes."""
    other = brims_view()
    happened = trace() | dict(list(other.trace.items())[:2])
    happened["comm_attention"] = np.full((FRAMES, 2, MODULES, MODULES), 0.3)
    return view(trace=happened, truths=other.truths, strips=[(0, 5), (5, 8), (8, 12)])


def pictures() -> list[bytes]:
    """Every figure, a film and a strip."""
    named = [name for name in FIGURES if name != "mask-out"]
    path = Path("figure.png")
    figures = [draw_figure(name, [complete()], [path])[path] for name in named]
    return [*figures, film_frames(view()).tobytes(), strip(view()).tobytes()]


def test_figures_films_and_strips_look_the_same_whatever_style_a_user_has():
    assert in_style(pictures) == pictures()


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "mask-out"])
def test_every_figure_is_drawn_and_the_same_twice(name):
    paths = [Path("f.png"), Path("f.svg"), Path("f.pdf")]
    drawn, again = (draw_figure(name, [complete()], paths) for _ in range(2))
    assert drawn[paths[0]].startswith(b"\x89PNG")
    assert b"<svg" in drawn[paths[1]]
    assert drawn[paths[2]].startswith(b"%PDF")
    assert b"/Type3" not in drawn[paths[2]], "conferences refuse such fonts"
    assert drawn == again


def cells_of(plot) -> np.ndarray:
    (image,) = plot.images
    assert image.get_extent()[:2] == [0.5, FRAMES + 0.5]
    return image.get_array()


def test_activation_is_black_where_a_module_was_active():
    cells = cells_of(activation([view()]).axes[0])
    for t in range(1, FRAMES):
        for k in range(MODULES):
            assert (cells[k, t] == (0 if trace()["active"][t, k] else 255)).all()
    assert (cells[:, 0] == TRACK).all()


def test_a_line_parts_modules_that_rest_from_each_other():
    """They are white, as are the gaps between bands."""
    lines = [line.get_ydata()[0] for line in activation([view()]).axes[0].lines if line.get_color() == hue(TRACK)]
    assert lines == [module + 0.5 for module in range(MODULES - 1)]


def test_layers_are_parted_by_a_dark_line_and_all_their_modules_have_room():
    one, two = view(), view(trace={"layer0.active": trace()["active"], "layer1.active": trace()["active"]})
    single, both = (activation([there]) for there in (one, two))
    assert both.get_figheight() - single.get_figheight() == pytest.approx(0.24 * MODULES)
    parting = [line for line in both.axes[0].lines if line.get_ydata()[0] == MODULES - 0.5]
    assert parting[-1].get_color() == hue(INK)
    assert hue(INK) not in [line.get_color() for line in single.axes[0].lines if line.get_ydata()[0] % 1 == 0.5]


def test_positions_stand_above_the_modules_of_the_same_frame():
    there = complete()
    across, down, raster = activation_and_positions([there]).axes
    for axis, plot in enumerate((across, down)):
        for number in range(2):
            line = plot.lines[number]
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, FRAMES + 1))
            np.testing.assert_array_equal(line.get_ydata(), there.truths["positions"][:, number, axis])
        assert plot.get_xlim() == raster.get_xlim() == (0.5, FRAMES + 0.5)
        assert plot.lines[2].get_xdata()[0] == CONTEXT + 0.5
        assert plot.lines[0].get_linestyle() != plot.lines[1].get_linestyle(), "in grey, colours are alike"
    assert [line.get_label() for line in across.lines[:2]] == ["object 1", "object 2"]
    assert [plot.get_ylabel() for plot in (across, down)] == ["x, px", "y, px"]
    assert across.get_ylim() == (0, 20)
    assert down.get_ylim() == (12, 0)
    np.testing.assert_array_equal(cells_of(raster), cells_of(activation([there]).axes[0]))


def test_objects_that_are_absent_are_not_named():
    positions = np.full((FRAMES, 3, 2), 5.0)
    positions[:, 1] = np.nan
    positions[2:, 2] = np.nan  # leaves
    across, _, _ = activation_and_positions([view(truths={"positions": positions})]).axes
    assert [text.get_text() for text in across.figure.legends[0].get_texts()] == ["object 1", "object 3"]


def test_schemata_are_coloured_and_their_shares_add_up():
    raster, shares = schema_use([view()]).axes
    chosen = trace()["schema"][1:].astype(int)
    np.testing.assert_array_equal(cells_of(raster)[:, 1:], SCHEMA_COLORS[chosen].swapaxes(0, 1))
    widths, lefts = np.zeros((2, 4, MODULES))
    for bar in shares.patches:
        schema = [tuple(color / 255) for color in SCHEMA_COLORS].index(tuple(bar.get_facecolor()[:3]))
        place = schema, round(bar.get_y() + bar.get_height() / 2)
        widths[place], lefts[place] = bar.get_width(), bar.get_x()
    np.testing.assert_allclose(lefts, widths.cumsum(0) - widths, atol=1e-12)  # one bar begins where another ends
    for schema in range(4):
        np.testing.assert_allclose(widths[schema], (chosen == schema).mean(0))


def test_weights_of_schemata_are_drawn_line_by_line_and_the_chosen_is_framed():
    """Of five schemata, the last is never used."""
    weights = np.random.default_rng(2).dirichlet(np.ones(5), (FRAMES, MODULES)) * 0.5
    weights[0] = np.nan
    chosen = trace()["schema"]
    chosen[3, 1] = -1  # rests
    figure = schema_use([view(trace={"schema": chosen, "schema_weights": weights})])
    raster = figure.axes[0]
    painted = cells_of(raster).reshape(MODULES, 5, FRAMES, 3)
    mixed = weights[1:, ..., None] * SCHEMA_COLORS[:5] + (1 - weights[1:, ..., None]) * 255.0
    np.testing.assert_allclose(painted[:, :, 1:], mixed.transpose(1, 2, 0, 3), atol=0.5)
    assert (painted[:, :, 0] == TRACK).all()
    assert raster.get_ylim() == (MODULES - 0.5, -0.5)
    assert list(raster.get_yticks()) == [0, 1, 2]
    (framed,) = raster.collections
    corners = {tuple(path.vertices[0].round(6)) for path in framed.get_paths()}
    files = [(t, k) for t in range(1, FRAMES) for k in range(MODULES) if chosen[t, k] >= 0]
    assert len(files) == len(corners) == (FRAMES - 1) * MODULES - 1
    assert corners == {(round(t + 0.56, 6), round(k - 0.5 + (chosen[t, k] + 0.12) / 5, 6)) for t, k in files}
    for path, edge in zip(framed.get_paths(), framed.get_edgecolors(), strict=True):
        t, y = path.vertices[0]
        place = int(chosen[round(t - 0.56), int(y + 0.5)])
        np.testing.assert_allclose(edge[:3] * 255, SCHEMA_COLORS[place], err_msg="a frame has the colour of its schema")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [f"schema {k}" for k in range(5)]


def test_schemata_beyond_the_weights_have_lines_of_their_own_and_weights_end_at_0_and_1():
    """As of a core of one's own whose trace is not what it says."""
    weights = np.full((FRAMES, MODULES, 2), [1.9, -0.2])
    chosen = np.full((FRAMES, MODULES), 3.0)
    figure = schema_use([view(trace={"schema": chosen, "schema_weights": weights})])
    painted = cells_of(figure.axes[0]).reshape(MODULES, 4, FRAMES, 3)
    assert (painted[:, 0] == SCHEMA_COLORS[0]).all()
    assert (painted[:, 1:] == PAGE).all()
    (framed,) = figure.axes[0].collections
    assert {round(path.vertices[0][1] % 1, 6) for path in framed.get_paths()} == {0.28}
    figure = schema_use([view(trace={"schema": chosen}, schema_count=6)])
    assert len(figure.legends[0].get_texts()) == 6


def test_seven_schemata_are_all_named_within_the_figure():
    figure = schema_use([view(trace={"schema": np.arange(FRAMES)[:, None] + np.zeros(MODULES)})])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == FRAMES == 7
    assert legend.get_window_extent().x1 <= figure.bbox.x1


def test_a_motion_is_named_over_its_frames_and_a_line_parts_it_from_the_next():
    known = {"motion": np.array(["horizontal"] * 4 + ["vertical"] * (FRAMES - 4))}
    raster = schema_use([view(truths=known)]).axes[0]
    assert [(text.get_text(), text.get_position()[0]) for text in raster.texts] == [
        ("motion: horizontal", (1 + 4) / 2),
        ("motion: vertical", (5 + FRAMES) / 2),
    ]
    assert raster.lines[-1].get_xdata()[0] == 4.5
    assert 0.5 not in {line.get_xdata()[0] for line in raster.lines}, "nothing stands before the first"
    assert raster.lines[-1].get_gapcolor() == "white", "a dark line alone is not seen on the darkest schema"
    assert not schema_use([view()]).axes[0].texts
    known["motion"][CONTEXT:] = "other"
    upright = [line.get_xdata()[0] for line in schema_use([view(truths=known)]).axes[0].lines]
    assert upright.count(CONTEXT + 0.5) == 1, "where the rollout begins, there is a line already"


def test_attention_is_set_against_what_is_hidden_in_the_frame_that_was_read():
    views = [brims_view(seed) for seed in range(4)]
    hidden, shares = measure(views)
    assert hidden.shape == (4, CONTEXT)
    assert list(shares) == ["layer0"]
    np.testing.assert_allclose(shares["layer0"]["above"], 0.6 * hidden)
    np.testing.assert_allclose(shares["layer0"]["null"], 0.25)
    np.testing.assert_allclose(shares["layer0"]["below"], 0.75 - 0.6 * hidden)
    drawn = {bars.get_label(): bars.lines[0] for bars in top_down(views).axes[0].containers}
    assert list(drawn) == ["below", "above", "null"]
    assert len({(line.get_linestyle(), line.get_marker()) for line in drawn.values()}) == 3
    assert drawn["above"].get_linestyle() == "--"
    assert drawn["above"].get_zorder() > drawn["null"].get_zorder()
    np.testing.assert_allclose(drawn["above"].get_ydata(), 0.6 * np.array(drawn["above"].get_xdata()))


def test_frames_without_any_object_hide_nothing_and_are_left_out():
    """As before an object comes into the frame, in films of occlusion."""
    views = [brims_view(seed) for seed in range(3)]
    views[1].truths["visibility/fraction"][:2] = np.nan
    hidden, shares = measure(views)
    assert np.isnan(hidden).sum() == np.isnan(hidden[1, :2]).sum() == 2
    drawn = {bars.get_label(): bars.lines[0] for bars in top_down(views).axes[0].containers}
    assert np.isfinite(np.array(drawn["above"].get_data())).all()
    there = ~np.isnan(hidden)
    assert shares["layer0"]["null"][there].mean() == pytest.approx(np.mean(drawn["null"].get_ydata()))


def test_without_a_null_slot_all_other_attention_is_on_what_is_below():
    views = []
    for seed in range(3):
        one = brims_view(seed)
        kept = {name: values for name, values in one.trace.items() if not name.endswith("null_attention")}
        views.append(view(trace=kept, truths=one.truths))
    hidden, shares = measure(views)
    assert list(shares["layer0"]) == ["below", "above"]
    np.testing.assert_allclose(shares["layer0"]["below"], 1 - 0.6 * hidden)
    assert [bars.get_label() for bars in top_down(views).axes[0].containers] == ["below", "above"]


def test_each_module_silenced_has_a_row_of_shares_and_an_error():
    views = []
    for silenced in range(MODULES + 1):
        for clip in range(2):
            active = np.zeros((FRAMES, MODULES))
            active[CONTEXT:, 1] = active[:CONTEXT, 0] = 1
            active[CONTEXT : CONTEXT + silenced, 2] = clip
            dark = np.zeros((FRAMES, 12, 20, 1), np.uint8)
            wrong = dark.copy()
            wrong[CONTEXT:, : 3 * silenced] = 255 * clip
            error = ((wrong[CONTEXT:] / 255) ** 2).mean()
            views.append(ClipView(CONTEXT, dark, wrong, {"active": active}, error=error))
    shares, errors = masked_out_measure(views)
    np.testing.assert_allclose(shares, [[0, 1, k / 2 / (FRAMES - CONTEXT)] for k in range(MODULES + 1)])
    np.testing.assert_allclose(errors, [k / 8 for k in range(MODULES + 1)])
    figure = masked_out(views)
    assert figure.get_supxlabel() == f"over 2 clips; {CONTEXT} frames given, {FRAMES - CONTEXT} predicted"
    plot, dots = figure.axes
    assert [text.get_text() for text in dots.texts] == [f"{error:.4f}" for error in errors]
    assert [text.get_text() for text in plot.texts] == [f"{share:.2f}" for share in shares.flat]
    assert [label.get_text() for label in plot.get_yticklabels()] == ["none", "0", "1", "2"]
    untouched, drawn = dots.lines
    np.testing.assert_array_equal(untouched.get_xdata(), [0, 0])
    np.testing.assert_allclose(drawn.get_xydata(), list(zip(errors, range(4), strict=True)))
    (lines,) = dots.collections
    for row, (line, error) in enumerate(zip(lines.get_segments(), errors, strict=True)):
        np.testing.assert_allclose(line, [(errors[0], row), (error, row)])


def test_errors_that_are_close_are_written_out_below_their_axis():
    nearly = [view(error=0.2 + 1e-5 * (k == 1)) for k in range(MODULES + 1)]
    figure = masked_out(nearly)
    figure.draw_without_rendering()
    assert figure.axes[1].xaxis.get_offset_text().get_text() == ""


@pytest.mark.parametrize("modules", [1, 2, 3, 4, 6])
def test_titles_of_few_modules_stand_apart(modules):
    active = {"active": np.ones((FRAMES, modules))}
    figure = masked_out([view(trace=active, error=0.1 * k) for k in range(modules + 1)])
    figure.draw_without_rendering()
    left, right = (plot._left_title.get_window_extent() for plot in figure.axes)
    assert left.x1 + 10 < right.x0


def test_modules_that_never_rest_are_active_but_when_they_are_silenced():
    read = {"input_attention": np.full((FRAMES, 2, MODULES, 5), 0.25)}
    shares, _ = masked_out_measure([view(trace=read)] * (MODULES + 1))
    np.testing.assert_array_equal(shares, 1 - np.eye(MODULES + 1)[:, 1:])


def test_bins_hold_means_over_clips_and_their_error():
    hidden = np.array([[0, 0, 0.5], [0, 0.5, 0.5]])
    x, y, error = _binned(hidden, np.array([[1.0, 3, 7], [4, 0, 2]]), (hidden > 0).astype(int))
    np.testing.assert_allclose(x, [0, 0.5])
    np.testing.assert_allclose(y, [3, 4])  # as each clip counts once, however many of its frames are in the bin
    np.testing.assert_allclose(error, [1, 3])  # of clips' means 2 and 4, and 7 and 1: half their difference


def test_a_point_of_one_clip_has_no_bar_and_the_figure_says_so():
    several, alone = top_down([brims_view(seed) for seed in range(40)]), top_down([brims_view()])
    assert several.axes[0].get_ylabel() == "attention, ± standard error"
    assert alone.axes[0].get_ylabel() == "attention, ± standard error\n(no bar: one clip)"
    for bars in alone.axes[0].containers:
        assert not np.size(bars[2][0].get_segments())


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "activation",
            {"trace": {"schema": 0}},
            r"--figure must be among strip, schemata .* activation, which needs modules that may rest \(rims\); ask",
        ),
        (
            "top-down",
            {"trace": {}},
            r"got top-down, which needs layers that read those above \(brims\) and how much of .* is visible; ask",
        ),
        (
            "activation-position",
            {},
            "among strip, activation, schemata, mask-out for .* which needs the positions of objects; ask",
        ),
        (
            "mask-out",
            {"trace": {}},
            r"among strip for .* got mask-out, which needs modules or object files \(rims, scoff\); ask",
        ),
        (
            "schemata",
            {"trace": {"active": 0}},
            r"among strip, activation, mask-out for .* which needs schemata \(scoff\); ask",
        ),
        (
            "schemata",
            {"trace": {"layer0.input_attention": 0}},
            r"among strip, mask-out for .* which needs schemata \(scoff\); ask",
        ),
    ],
)
def test_what_a_figure_lacks_is_said(name, changes, message):
    with pytest.raises(ValueError, match=message):
        draw_figure(name, [view(**changes)], [Path("f.png")])


def test_without_anything_hidden_there_is_nothing_to_set_attention_against():
    seen = brims_view()
    seen = seen._replace(truths={"visibility/fraction": np.ones((FRAMES, 2))})
    with pytest.raises(
        ValueError, match="DATA must hide objects at some frames of the context, got none; use curtain, or more context"
    ):
        top_down([seen])


def test_a_figure_is_as_large_as_it_says():
    content = figure_bytes(activation([view()]), "png")
    width = int.from_bytes(content[16:20], "big")
    assert width == 7 * 150


def test_the_legend_of_schemata_has_their_colors():
    (legend,) = schema_use([view()]).legends
    found = {
        text.get_text(): to_rgb(patch.get_facecolor())
        for text, patch in zip(legend.get_texts(), legend.get_patches(), strict=True)
    }
    assert found == {f"schema {k}": hue(SCHEMA_COLORS[k]) for k in range(4)}


def test_errors_are_drawn_from_that_of_nothing_silenced():
    errors = (0.3, 0.5, 0.1, 0.3)
    dots = masked_out([view(error=error) for error in errors]).axes[1]
    assert set(dots.lines[0].get_xdata()) == {errors[0]}
    for row, (line, error) in enumerate(zip(dots.collections[0].get_segments(), errors, strict=True)):
        np.testing.assert_allclose(line, [(errors[0], row), (error, row)])


def test_what_is_silenced_is_called_what_it_is_in_letters_that_are_seen_on_its_shares():
    for happened, word in ((trace(), "object file"), ({"active": trace()["active"]}, "module")):
        plot = masked_out([view(trace=happened, error=0.1)] * (MODULES + 1)).axes[0]
        assert plot.get_xlabel() == word
    alone = masked_out([view(trace={"active": np.full((FRAMES, 1), share)}, error=0.1) for share in (0.8, 0.6)]).axes[0]
    assert [text.get_color() for text in alone.texts] == [hue(palette.PAGE), (0, 0, 0)]


def test_frames_along_are_whole_numbers_of_short_clips_too():
    short = view(trace={"active": trace()["active"][:3]})._replace(context=1)
    assert all(place % 1 == 0 for place in activation([short]).axes[0].get_xticks())


def test_each_layer_that_reads_the_one_above_has_a_panel_of_its_name():
    one = brims_view()
    happened = {
        name.replace("layer0", f"layer{layer}"): values
        for layer in (0, 1)
        for name, values in list(one.trace.items())[:2]
    }
    figure = top_down([one._replace(trace=happened)])
    assert figure.get_supxlabel().startswith("over 1 clip; ")
    plots = figure.axes
    assert [plot.get_title("left") for plot in plots] == ["layer 0", "layer 1"]
