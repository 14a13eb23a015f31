"""Comparisons as files and figures."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from user_styles import in_style

from videopred.eval import make_metric
from videopred.eval.comparison import compare
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.plots import curves
from videopred.plots.comparison import draw_comparison, save_comparison
from videopred.plots.curves import COLOURS, draw_curves, looks
from videopred.plots.score_panel import Curve, ScorePanel
from videopred.rendering.canvas import pixels


def scores_of(*rows: str, models: tuple[str, ...] = ("model",), feedback: str = "soft") -> Scores:
    """Six clips, four steps; each row one worse than the row before."""
    values = np.random.default_rng(0).random((6, 4))
    return Scores(
        measurements={row: {"mse": {"mse": values + worse}} for worse, row in enumerate(rows)},
        metrics={"mse": make_metric("mse")},
        file="folder/a.h5",
        fingerprint="1",
        reference=None,
        protocol=Protocol(context=1, horizon=4, metrics=("mse",), clips=6, feedback=feedback),
        models=models,
    )


def test_a_comparison_becomes_six_files_and_the_same_ones_again(tmp_path):
    compared = compare({"gru": scores_of("model", "copy last")})
    contents = []
    for folder in ("once", "again"):
        targets = {
            suffix: tmp_path / folder / f"c{suffix}" for suffix in (".md", ".csv", ".png", ".svg", ".pdf", ".tex")
        }
        save_comparison(compared, targets)
        contents.append([path.read_bytes() for path in targets.values()])
    assert contents[0] == contents[1]
    assert contents[0][0].decode() == compared.markdown()
    assert contents[0][1].decode() == compared.to_csv()
    assert b"<svg" in contents[0][3]
    assert contents[0][4].startswith(b"%PDF")
    assert contents[0][5].decode() == compared.latex()


def test_names_of_rows_and_data_that_cannot_be_printed_are_escapes_in_a_comparison(tmp_path):
    scores = replace(scores_of("model", "copy last"), file="folder/\u202ea.h5")
    path = tmp_path / "c.md"
    save_comparison(compare({"g\x1br\nu": scores}), {".md": path})
    text = path.read_text()
    assert "| g\\x1br\\nu |" in text
    assert "\\u202ea.h5" in text
    assert text.replace("\n", "").isprintable()


def test_a_comparison_looks_the_same_whatever_style_a_user_has(tmp_path):
    def drawn() -> list[bytes]:
        targets = {suffix: tmp_path / f"c{suffix}" for suffix in (".png", ".svg")}
        save_comparison(compare({"gru": scores_of("model", "copy last")}), targets, overwrite=True)
        return [path.read_bytes() for path in targets.values()]

    assert in_style(drawn) == drawn()


def test_where_one_file_cannot_be_made_none_is(tmp_path):
    taken = tmp_path / "file"
    taken.touch()
    targets = {".md": tmp_path / "new" / "c.md", ".png": taken / "c.png"}
    with pytest.raises(
        OSError, match=r"--out must be a path that can be written, got .*c\.png, but .*file is no folder; ch"
    ):
        save_comparison(compare({"gru": scores_of("model")}), targets)
    assert list(tmp_path.iterdir()) == [taken]


@pytest.mark.parametrize(("feedback", "steps"), [("soft", "rollout step"), ("true", "frame predicted")])
def test_a_figure_says_what_was_asked_and_its_models_differ_without_colour(feedback, steps):
    rows = ("gru", "rims", "copy last")
    scores = scores_of(*rows, models=("gru", "rims"), feedback=feedback)
    figure = draw_comparison(compare({"both": scores}))
    (plot,) = figure.axes
    asked, intervals = figure.get_suptitle().replace("\n", " ").rsplit("; ", 1)
    assert (asked in scores.table(), intervals) == (True, "shaded: 95 % intervals over clips")
    assert (plot.get_title(loc="left"), plot.get_xlabel()) == ("MSE ↓, mean over channels and pixels", steps)
    looks = {line.get_label(): line.get_marker() for line in plot.lines}
    assert list(looks) == list(rows)
    assert len(set(looks.values())) == 3
    assert [line.get_label() for line in plot.lines if line.get_color() == curves.FAINT] == ["copy last"]


def test_a_curve_is_shaded_from_its_lower_to_its_upper_end():
    middle, low, high = np.array([[0.4, 0.5, 0.7], [0.3, 0.2, 0.6], [0.6, 0.9, 0.8]])
    (plot,) = draw_curves({"MSE": ScorePanel({"gru": Curve(middle, low, high)}, False)}).axes
    [band] = [path for shaded in plot.collections for path in shaded.get_paths()]
    assert {*map(tuple, band.vertices)} == {(step, y) for ends in (low, high) for step, y in enumerate(ends, 1)}


def test_a_curve_is_where_its_values_are():
    """A rising blue line goes from the lower left to the upper right."""
    rising = np.arange(5.0)
    figure = draw_curves({"MSE": ScorePanel({"gru": Curve(rising, rising, rising)}, False)})
    picture = pixels(figure).astype(int)
    blue = (np.abs(picture - [0x00, 0x72, 0xB2]).sum(axis=-1) < 30)[:, : picture.shape[1] * 6 // 10]
    rows, columns = np.nonzero(blue)
    assert rows[columns.argmin()] > rows[columns.argmax()] + 100


@pytest.mark.parametrize(
    "name", ["rims-balls4-small-no-attention", "scoff-colored678-lstm-matched-exact-small-twice-as-wide"]
)
@pytest.mark.parametrize(("panels", "models"), [(1, 2), (2, 2), (3, 2), (1, 30)])
def test_title_and_legend_stand_whole_and_clear_of_each_other(panels, models, name):
    line = np.linspace(1, 2, 35)
    lines = {f"{name}-{model}": Curve(line, line, line) for model in range(models)}
    title = "balls4-rnem-small.h5: 200 clips of the test part, 15 frames of context, 35 predicted, feedback soft"
    figure = draw_curves({f"MSE {panel}": ScorePanel(lines, False) for panel in range(panels)}, title=title)
    figure.draw_without_rendering()
    (legend,) = [*figure.legends, *(plot.get_legend() for plot in figure.axes if plot.get_legend())]
    legend = legend.get_window_extent()
    assert not legend.overlaps(figure._suptitle.get_window_extent())
    assert legend.y0 >= 0
    assert legend.x1 <= figure.bbox.x1
    assert figure.axes[0].get_window_extent().width > 2.4 * figure.dpi


@pytest.mark.parametrize(("words", "lines"), [(0, 1), (2, 1), (12, 1), (13, 2), (27, 3)])
def test_a_title_has_lines_of_about_one_length(words, lines):
    """Each word takes 5 of the 61 letters of a line, with the space behind it."""
    line = np.ones(2)
    figure = draw_curves({"MSE": ScorePanel({"a": Curve(line, line, line)}, False)}, title=" ".join(["word"] * words))
    found = [len(part.split()) for part in figure.get_suptitle().split("\n")]
    assert (len(found), sum(found)) == (lines, words)
    assert max(found) - min(found) <= 1


def test_above_two_panels_a_line_is_as_long_as_both():
    line = np.ones(2)
    panels = {name: ScorePanel({"a": Curve(line, line, line)}, False) for name in ("MSE", "F1")}
    title = draw_curves(panels, title=" ".join(["word"] * 17)).get_suptitle()
    assert "\n" not in title, "88 letters are as wide as 6 inches"


def test_a_title_breaks_no_word_that_a_line_has_room_for():
    line, words = np.ones(2), ["hierarchical-rims-balls4-small-no-attention", "on", "colored678-rnem-small.h5"]
    figure = draw_curves({"MSE": ScorePanel({"a": Curve(line, line, line)}, False)}, title=" ".join(words))
    assert figure.get_suptitle().split() == words
    assert "\n" in figure.get_suptitle()
    name = "error relative to rims-balls4-lstm-hour, mean of 35 steps"
    title = draw_curves({name: ScorePanel({"a": Curve(line, line, line)}, False)}).axes[0].get_title("left")
    assert title.split()[: len(name.split())] == name.split()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_trivial_curve_leaves_the_panel_where_it_is_far_worse_and_is_named(sign):
    """Models reach from 1 to 3, so that up to 5 is near, and what is better always is."""
    heights = {"gru": (1, 2, 3), "blank": (4, 4, 4), "copy last": (2, 10, 20), "oracle": (-90, -90, -90)}
    rows = {name: Curve(*3 * [sign * np.array(at, float)], faint=name != "gru") for name, at in heights.items()}
    (plot,) = draw_curves({"MSE": ScorePanel(rows, sign < 0)}).axes
    ends = sorted(sign * end for end in plot.get_ylim())
    assert ends == pytest.approx([-90 - 4.7, 4 + 3 * 4.7])
    assert [words.get_text() for words in plot.texts] == ["↑ copy last" if sign > 0 else "↓ copy last"]


@pytest.mark.parametrize(("panels", "name", "inside"), [(2, "a", False), (3, "a", True), (3, 60 * "a", False)])
def test_the_legend_takes_a_free_place_if_it_fits(panels, name, inside):
    line = np.ones(2)
    panel = ScorePanel({name: Curve(line, line, line)}, False)
    figure = draw_curves({str(number): panel for number in range(panels)})
    assert (len(figure.axes), len(figure.legends)) == ((panels + 1, 0) if inside else (panels, 1))
    (legend,) = [figure.axes[-1].get_legend()] if inside else figure.legends
    assert [words.get_text() for words in legend.get_texts()] == [name]


def test_the_oracle_leaves_at_the_end_where_values_are_best():
    """Models reach from 1 to 3; names stand above and below."""
    heights = {"gru": (1, 2, 3), "blank": (-9, 1, 1), "physics oracle": (100, 100, 4)}
    rows = {name: Curve(*3 * [np.array(at, float)], faint=name != "gru") for name, at in heights.items()}
    (plot,) = draw_curves({"PSNR": ScorePanel(rows, True)}).axes
    assert plot.get_ylim() == pytest.approx((1 - 3 * 0.15, 4 + 3 * 0.15))
    assert [words.get_text() for words in plot.texts] == ["↑ physics oracle", "↓ blank"]


@pytest.mark.parametrize(("last", "named"), [(5.1, []), (5.5, []), (5.7, ["↑ copy last"])])
def test_a_trivial_curve_that_is_seen_to_its_end_is_not_said_to_leave(last, named):
    """Models reach from 1 to 3, so the axis to 5, with 0.2 to spare, and 0.6 where a name may stand."""
    heights = {"gru": (1, 2, 3), "copy last": (2, 5, last)}
    rows = {name: Curve(*3 * [np.array(at, float)], faint=name != "gru") for name, at in heights.items()}
    (plot,) = draw_curves({"MSE": ScorePanel(rows, False)}).axes
    assert [words.get_text() for words in plot.texts] == named


def test_a_lone_value_is_seen():
    """No line goes through the only step of a curve, or through one between steps without a value."""
    values = {"rims": [0.5], "blank": [0.4]}
    panels = {
        "a": ScorePanel({name: Curve(*[np.array(one)] * 3, name == "blank") for name, one in values.items()}, False)
    }
    gaps = np.array([0.5, np.nan, 0.4, np.nan, 0.3, 0.2])
    panels["b"] = ScorePanel({"blank": Curve(gaps, gaps, gaps, True)}, False)
    one, other = draw_curves(panels).axes[:2]
    model, level = (line for line in one.lines if line.get_label().startswith("_"))
    assert model.get_xdata().tolist() == [1]
    assert model.get_marker() == "o"
    assert level.get_xdata().tolist() == [0.6, 1.4]
    assert level.get_ydata().tolist() == [0.4, 0.4]
    assert one.get_xlim() == (0.5, 1.5)
    levels = [line.get_ydata()[0] for line in other.lines if line.get_label().startswith("_")]
    assert levels == [0.5, 0.4]
    among_many = np.full(50, np.nan)
    among_many[7] = 0.6
    (plot,) = draw_curves({"c": ScorePanel({"blank": Curve(*[among_many] * 3, True)}, False)}).axes
    (level,) = (line for line in plot.lines if line.get_label().startswith("_"))
    assert level.get_xdata().tolist() == [7, 9]


def test_the_intervals_of_a_single_step_are_bars_beside_each_other_and_so_called():
    scores = scores_of("gru", "rims", "copy last", models=("gru", "rims"))
    measured = {row: {"mse": {"mse": of["mse"]["mse"][:, :1] / 9}} for row, of in scores.measurements.items()}
    asked = scores.protocol.model_copy(update={"horizon": 1})
    scores = replace(scores, measurements=measured, protocol=asked)
    figure = draw_comparison(compare({"both": scores}))
    assert figure.get_suptitle().replace("\n", " ").endswith("; bars: 95 % intervals over clips")
    (plot,) = figure.axes
    drawn = [bar.get_segments() for bar in plot.collections if isinstance(bar, LineCollection)]
    bars = dict(zip(("gru", "rims"), drawn, strict=True))
    for (bar,), (row, place) in zip(bars.values(), {"gru": 0.875, "rims": 1.125}.items(), strict=True):
        (low,), (high,) = scores.intervals(row, "mse")
        np.testing.assert_allclose(bar, [[place, low], [place, high]])


def test_every_model_is_in_the_legend_whatever_it_is_called():
    """Matplotlib leaves out names that begin with _, and takes what is between dollars for a formula."""
    curve = Curve(*[np.array([0.1, 0.2])] * 3)
    figure = draw_curves({"MSE": ScorePanel({"_lstm": curve, "$rims$": curve, "gru": curve}, False)})
    pixels(figure)
    (legend,) = figure.legends
    assert [text.get_text().lstrip("\u200b") for text in legend.get_texts()] == ["_lstm", r"\$rims\$", "gru"]


def test_marks_of_many_models_differ_though_no_line_goes_through_them():
    rows = {str(number): Curve(*np.ones((3, 1))) for number in range(2 * len(COLOURS) + 1)}
    assert len({(look.color, look.marker) for look in looks(rows).values()}) == len(rows)


def test_a_panel_without_values_says_so():
    nothing = Curve(*[np.full(3, np.nan)] * 3)
    ones = Curve(*[np.ones(3)] * 3)
    one, other = draw_curves({"a": ScorePanel({"rims": nothing}, True), "b": ScorePanel({"rims": ones}, True)}).axes[:2]
    assert [text.get_text() for text in one.texts] == ["no value"]
    assert list(other.texts) == []


def test_titles_are_read_as_they_are_and_broken_where_their_panel_ends():
    name = r"four balls, $5 and $6 of $\frac$: balanced accuracy ↑, error relative to rims-balls4-lstm-matched-small"
    curve = Curve(*[np.array([0.1, 0.2])] * 3)
    figure = draw_curves({name: ScorePanel({"rims": curve}, True), "b": ScorePanel({"rims": curve}, True)})
    pixels(figure)  # which fails at a formula
    one, other = figure.axes[:2]
    assert "\n" in one.get_title("left")
    assert one._left_title.get_window_extent().x1 < other.get_window_extent().x0


def test_a_metric_may_count_something_else_along_its_panel():
    curve = Curve(*[np.array([0.1, 0.2])] * 3)
    figure = draw_curves(
        {"survival": ScorePanel({"rims": curve}, True, "hidden frames"), "bce": ScorePanel({"rims": curve}, False)}
    )
    assert [plot.get_xlabel() for plot in figure.axes[:2]] == ["hidden frames", "rollout step"]
