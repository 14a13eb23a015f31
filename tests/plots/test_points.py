"""Figures with data sets along x: which marks there are, and where."""

from dataclasses import replace

import numpy as np
import pytest

from videopred.eval import make_metric
from videopred.eval.comparison_over_data import compare_over_data
from videopred.eval.data_names import by_data
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.plots.comparison import draw_comparison, save_comparison
from videopred.plots.points import draw_points
from videopred.plots.score_panel import Curve, ScorePanel
from videopred.rendering.canvas import pixels

SCENES = {"apart": [0, 0, 1, 1], "together": [2, 1, 1, 2], "alone": [3, 3, 3, 3]}
"""Name of a data set -> the scene of each of its clips."""
LEVELS = {"gru": 3.0, "rims": 1.0, "blank": 4.0, "copy last": 40.0}


def panel(data: int = 3, *, higher_is_better: bool = False) -> ScorePanel:
    """A value for each row on each data set, a tenth more on each that follows; half of one more or less is likely."""
    rows = {}
    for name, level in LEVELS.items():
        values = level + np.arange(data) / 10
        rows[name] = Curve(values, values - 0.5, values + 0.5, faint=name in ("blank", "copy last"))
    return ScorePanel(rows, higher_is_better)


def marks(plot) -> dict[str, np.ndarray]:
    """Name of a line -> the places of its points, (points, 2)."""
    return {line.get_label(): line.get_xydata() for line in plot.lines}


def test_a_model_has_a_point_and_a_line_on_each_data_set():
    figure = draw_points({"MSE ↓": panel()}, ["a", "b", "c"], title="what", along="data set")
    (plot,) = figure.axes
    assert list(marks(plot)) == list(LEVELS)
    assert len(plot.collections) == 2
    for name, lines in zip(("gru", "rims"), plot.collections, strict=True):
        places = marks(plot)[name]
        np.testing.assert_allclose(places[:, 1], LEVELS[name] + np.arange(3) / 10)
        assert np.abs(places[:, 0] - np.arange(3)).max() < 0.5
        ends = np.array(lines.get_segments())
        np.testing.assert_allclose(ends[:, :, 0], places[:, [0, 0]])
        np.testing.assert_allclose(ends[:, :, 1], places[:, [1, 1]] + [-0.5, 0.5])
    assert (marks(plot)["gru"][:, 0] < marks(plot)["rims"][:, 0]).all(), "beside each other"
    assert [label.get_text() for label in plot.get_xticklabels()] == ["a", "b", "c"]
    assert (plot.get_title(loc="left"), plot.get_xlabel(), figure.get_suptitle()) == ("MSE ↓", "data set", "what")


@pytest.mark.parametrize(("joined", "told"), [(False, "↑ blank on b and d, copy last"), (True, "↑ blank, copy last")])
def test_a_level_that_leaves_the_panel_on_some_data_is_named_with_these(joined, told):
    rows = dict(panel(4).rows)
    rows["blank"] = rows["blank"]._replace(values=np.array([2, 30, np.nan, 35.0]))
    (plot,) = draw_points({"MSE ↓": ScorePanel(rows, False)}, list("abcd"), joined=joined).axes
    assert [words.get_text() for words in plot.texts] == [told]


@pytest.mark.parametrize(("names", "angle"), [("a b c", 0), ("balls4-exact colored678-exact curtain-behind-all", 25)])
def test_long_names_of_data_sets_are_slanted(names, angle):
    """Side by side they would run into one another."""
    figure = draw_points({"MSE ↓": panel()}, names.split())
    assert {label.get_rotation() for label in figure.axes[0].get_xticklabels()} == {angle}


def test_points_are_joined_only_where_data_sets_are_in_an_order():
    figures = [draw_points({"MSE ↓": panel()}, ["1", "2", "3"], joined=joined) for joined in (False, True)]
    apart, together = ({line.get_label(): line for line in figure.axes[0].lines} for figure in figures)
    assert apart["gru"].get_linestyle() == "None"
    assert together["gru"].get_linestyle() == "-"
    aside = [[abs(lines[name].get_xdata()[0]) for name in ("gru", "rims")] for lines in (apart, together)]
    np.testing.assert_allclose(aside, [[0.15, 0.15], [0.05, 0.05]], err_msg="closer where lines join them")
    assert np.isnan(apart["blank"].get_xdata()).sum() == 3, "levels with gaps"
    assert apart["blank"].get_zorder() < min(apart["gru"].get_zorder(), apart["rims"].get_zorder()), "hides no mark"
    np.testing.assert_allclose(together["blank"].get_xydata(), [[0, 4.0], [1, 4.1], [2, 4.2]])


@pytest.mark.parametrize(("higher_is_better", "shown"), [(False, {"blank"}), (True, {"blank", "copy last"})])
def test_trivial_rows_lie_outside_only_if_they_are_far_worse(higher_is_better, shown):
    (plot,) = draw_points({"a": panel(higher_is_better=higher_is_better)}, ["1", "2", "3"]).axes
    low, high = plot.get_ylim()
    assert low < 0.5
    assert {name for name in LEVELS if high > LEVELS[name] + 0.2} == {"gru", "rims", *shown}


def test_where_higher_is_better_far_worse_is_far_below():
    rows = {name: Curve(-row.values, -row.high, -row.low, row.faint) for name, row in panel().rows.items()}
    (plot,) = draw_points({"a": ScorePanel(rows, True)}, ["1", "2", "3"]).axes
    low, high = plot.get_ylim()
    assert -LEVELS["copy last"] < low < -LEVELS["blank"] - 0.2
    assert high > -0.5


def test_what_was_not_scored_has_no_mark():
    gap = np.array([1.0, np.nan, 3.0])
    nothing = np.full(3, np.nan)
    rows = {"gru": Curve(gap, gap - 0.1, gap + 0.1), "rims": Curve(nothing, nothing, nothing)}
    figure = draw_points({"a": ScorePanel(rows, False), "b": ScorePanel({"rims": rows["rims"]}, True)}, "abc")
    picture = pixels(figure).astype(int)
    blue = (np.abs(picture - [0x00, 0x72, 0xB2]).sum(axis=-1) < 30)[:, : picture.shape[1] * 3 // 4]
    columns = np.flatnonzero(blue.any(axis=0))
    assert (np.diff(columns) > 100).sum() == 1, "two marks, with nothing between them"


def scored(data: str, level: float, metric: str = "mse", lost_from: int = 2) -> Scores:
    """A model on a data set, which has no value from a step on, beside a row that is far worse on any of them."""
    values = level + np.zeros((4, 2))
    lost, far = np.where(np.arange(2) < lost_from, values, np.nan), np.full((4, 2), 1000 * np.sign(level))
    return Scores(
        measurements={"model": {metric: {metric: lost}}, "blank": {metric: {metric: far}}},
        metrics={metric: make_metric(metric)},
        file=f"{data}.h5",
        fingerprint=data,
        reference=None,
        protocol=Protocol(context=1, horizon=2, metrics=(metric,), clips=4),
    )


@pytest.mark.parametrize(
    ("names", "below", "along"),
    [
        (("balls2", "balls1"), ["1", "2"], "data set balls*"),
        (("curtain", "balls4"), ["curtain", "balls4"], "data set"),
    ],
)
@pytest.mark.parametrize("against", [None, "gru"])
def test_a_comparison_over_data_is_drawn(names, below, along, against):
    head = (
        "MSE ↓, mean over channels and pixels, mean of 2"
        if against is None
        else "MSE, error relative to gru ↓, mean of 2"
    )
    levels = {"balls1": (1, 3), "balls2": (2, 4), "curtain": (1, 3), "balls4": (2, 4)}
    rows = enumerate(("gru", "rims"))
    comparison = compare_over_data(
        by_data([(row, scored(name, levels[name][place])) for place, row in rows for name in names]), against
    )
    figure = draw_comparison(comparison)
    (plot,) = figure.axes
    assert (plot.get_title(loc="left").replace("\n", " "), plot.get_xlabel()) == (head, along)
    assert [label.get_text() for label in plot.get_xticklabels()] == below
    np.testing.assert_allclose(marks(plot)["rims"][:, 1], [3, 4] if against is None else [3, 2])
    asked, intervals = figure.get_suptitle().replace("\n", " ").rsplit("; ", 1)
    assert (asked in comparison.table(), intervals) == (True, "bars: 95 % intervals over clips")
    assert "blank" in marks(plot)
    assert plot.get_ylim()[1] < 10


def test_a_title_tells_what_intervals_are_over_on_any_of_the_data():
    """On the first there may be none, or others."""
    apart, together, alone = (replace(scored(name, 1.0), scenes=np.array(scenes)) for name, scenes in SCENES.items())
    for tables, told in (
        ([apart, replace(together, scenes=None)], "bars: 95 % intervals over clips or scenes"),
        ([alone, apart], "bars: 95 % intervals over scenes"),
        ([alone, replace(alone, file="b.h5", fingerprint="b")], "feedback soft"),
    ):
        title = draw_comparison(compare_over_data(by_data([("gru", table) for table in tables]))).get_suptitle()
        assert title.replace("\n", " ").endswith(told)


def test_relative_errors_are_errors_also_of_a_metric_of_which_higher_is_better():
    tables = [(row, scored(data, level, "ssim")) for data in ("a", "b") for row, level in (("gru", -1), ("rims", -2))]
    (plot,) = draw_comparison(compare_over_data(by_data(tables), "gru")).axes
    np.testing.assert_allclose(marks(plot)["rims"][:, 1], [1.5, 1.5])
    assert "blank" in marks(plot)
    assert plot.get_ylim()[1] < 10


def test_a_mean_over_fewer_steps_is_not_drawn_beside_others_but_named():
    tables = [("gru", scored("balls1", 3)), ("gru", scored("balls2", 4)), ("rims", scored("balls1", 1))]
    comparison = compare_over_data(by_data([*tables, ("rims", scored("balls2", 2, lost_from=1))]))
    (plot,) = draw_comparison(comparison).axes
    title = plot.get_title(loc="left").replace("\n", " ")
    assert title == "MSE ↓, mean over channels and pixels, mean of 2; of fewer, so not drawn: rims"
    np.testing.assert_allclose(marks(plot)["rims"][:, 1], [1, np.nan])
    np.testing.assert_allclose(marks(plot)["gru"][:, 1], [3, 4])
    nothing = compare_over_data(by_data([*tables, ("rims", scored("balls2", 2, lost_from=0))]))
    assert "not drawn" not in draw_comparison(nothing).axes[0].get_title(loc="left"), "there is no mean"


def test_a_mean_over_first_steps_is_drawn_whatever_lacks_later():
    tables = [("gru", scored("a", 3)), ("gru", scored("b", 4)), ("rims", scored("a", 1, lost_from=1))]
    asked = [(row, replace(one, protocol=one.protocol.model_copy(update={"means": (1,)}))) for row, one in tables]
    first, both = draw_comparison(compare_over_data(by_data(asked))).axes
    assert [plot.get_title(loc="left").partition("not drawn: ")[2] for plot in (first, both)] == ["", "rims"]
    np.testing.assert_allclose(marks(first)["rims"][:, 1], [1, np.nan])
    assert np.isnan(marks(both)["rims"][:, 1]).all()


def test_curves_over_data_have_a_panel_for_each_in_which_a_model_has_its_look():
    """RIMs, which are second, keep the second colour where they stand alone."""
    tables = [("gru", scored("a", 1)), ("rims", scored("a", 3)), ("rims", scored("b", 2))]
    one, other = draw_comparison(compare_over_data(by_data(tables)), curves=True).axes
    assert [plot.get_title(loc="left").partition(",")[0] for plot in (one, other)] == ["a: MSE ↓", "b: MSE ↓"]
    assert [plot.get_xlabel() for plot in (one, other)] == 2 * ["rollout step"]
    looks = [{line.get_label(): line.get_color() for line in plot.lines} for plot in (one, other)]
    assert looks[0] == looks[1]
    assert list(looks[0]) == ["gru", "rims", "blank"]
    np.testing.assert_allclose(marks(one)["rims"], [[1, 3], [2, 3]])
    np.testing.assert_allclose(marks(other)["rims"], [[1, 2], [2, 2]])
    assert np.isnan(marks(other)["gru"][:, 1]).all()


def test_the_files_of_a_comparison_over_data_are_its_document_and_its_table(tmp_path):
    comparison = compare_over_data(by_data([("gru", scored(name, 1)) for name in ("a", "b")]))
    targets = {suffix: tmp_path / f"c{suffix}" for suffix in (".md", ".tex", ".csv", ".png", ".svg")}
    save_comparison(comparison, targets)
    assert targets[".md"].read_text() == comparison.markdown()
    assert targets[".tex"].read_text() == comparison.latex()
    assert targets[".csv"].read_text() == comparison.to_csv()
    assert b"<svg" in targets[".svg"].read_bytes()
    of_curves = {".png": tmp_path / "curves.png"}
    save_comparison(comparison, of_curves, curves=True)
    assert of_curves[".png"].read_bytes() != targets[".png"].read_bytes()
    with pytest.raises(FileExistsError, match="--out must be a new path"):
        save_comparison(comparison, targets)
