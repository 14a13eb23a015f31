"""Charts of the page."""

import re
from importlib import resources
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from videopred.palette import OBJECT_COLORS, SCHEMA_COLORS
from videopred.report.charts import COLOURS, HEIGHT, WIDTH, Line, line_chart, raster, styles


def paths(svg: str) -> list[list[tuple[float, float]]]:
    """Points of each curve."""
    found = re.findall(r'class="curve" d="([^"]+)"', svg)
    return [[(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)] for path in found]


def labels(svg: str) -> list[str]:
    return re.findall(r'class="tick"[^>]*>([^<]+)<', svg)


def test_curves_lie_where_their_values_do():
    svg = line_chart("a & b", {"<model>": Line((1, 2, 3), (0.0, 5.0, 10.0), (0, 4, 9), (1, 6, 10))}, "step")
    ElementTree.fromstring(svg)
    ((first, middle, last),) = paths(svg)
    assert first[0] < middle[0] < last[0]
    assert first[1] > middle[1] > last[1]  # SVG counts from the top
    assert middle == pytest.approx(((first[0] + last[0]) / 2, (first[1] + last[1]) / 2), abs=0.11)
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in (first, middle, last))
    assert "a &amp; b over the step: &lt;model&gt; from 0 to 10" in svg


@pytest.mark.parametrize(
    ("values", "lowest", "highest"),
    [((1.0, 9.0), "0", "10"), ((90.0, 99.0), "90", "100"), ((-3.0, 3.0), "-4", "4"), ((7.0, 7.0), "6", "14")],
)
def test_round_numbers_hold_the_values_between_them(values, lowest, highest):
    svg = line_chart("a", {"b": Line((0, 1), values)}, "step")
    up = [label for label in labels(svg) if label != "step"]
    assert up[0] == lowest
    assert highest in up


def test_an_axis_ends_at_a_round_number_that_is_reached_but_for_rounding():
    svg = line_chart("a", {"b": Line((0, 1), (0.1, 0.1 + 0.2))}, "step")  # 0.30000000000000004
    assert [label for label in labels(svg) if label != "step"][:4] == ["0", "0.1", "0.2", "0.3"]
    assert "0.4" not in labels(svg)


def test_a_chart_of_nothing_but_0_has_a_height():
    svg = line_chart("a", {"b": Line((0, 1), (0.0, 0.0))}, "step")
    ((left, right),) = paths(svg)
    assert left[1] == right[1] == HEIGHT - 40.0  # at the bottom


def test_steps_are_whole_and_none_stands_beside_the_curve():
    svg = line_chart("a", {"b": Line((1, 2, 3), (1.0, 2.0, 3.0))}, "step")
    across = re.findall(r'text-anchor="middle">(\d[^<]*)<', svg)
    assert across == ["1", "2", "3"]
    svg = line_chart("a", {"b": Line(range(3, 18), range(3, 18))}, "step")
    assert re.findall(r'text-anchor="middle">(\d[^<]*)<', svg) == ["5", "10", "15"]


def test_an_axis_has_some_five_ticks():
    """A rollout of ten steps had ticks at 5 and 10 alone."""
    svg = line_chart("a", {"b": Line(range(1, 11), np.linspace(0, 1, 10).tolist())}, "step")
    assert labels(svg) == ["0", "0.2", "0.4", "0.6", "0.8", "1", "2", "4", "6", "8", "10", "step"]


def test_ticks_between_large_numbers_differ():
    """Of a loss between 1663 and 1665 three were 1,664."""
    up = labels(line_chart("a", {"b": Line((0, 1), (1663.2, 1664.9))}, "step"))[:5]
    assert up == ["1,663", "1,663.5", "1,664", "1,664.5", "1,665"]
    up = labels(line_chart("a", {"b": Line((0, 1), (164.0001, 164.0002))}, "step"))[:6]
    assert len({*up}) == 6


def test_long_numbers_are_set_closer():
    """As the place to the left of a chart would cut off their first digits."""
    short, long = (line_chart("a", {"b": Line((0, 1), (high / 1.4, high))}, "step") for high in (1500, 1_500_000))
    assert "textLength" not in short
    assert long.count('textLength="48"') >= 4


def test_values_that_differ_in_their_last_digit_alone_can_be_drawn():
    assert "<svg" in line_chart("a", {"b": Line((0, 1), (-1.0, -0.9999999999999999))}, "step")


def test_thousands_are_parted():
    assert "15,000" in labels(line_chart("a", {"b": Line((0, 1), (0.0, 15_000.0))}, "step"))


def test_a_band_goes_forth_below_and_back_above_within_the_chart():
    """It reaches from 0 to 40, where the curve itself stays between 19 and 21."""
    svg = line_chart("a", {"b": Line((1, 2, 3), (19, 20, 21), (0, 2, 4), (30, 35, 40))}, "step")
    (found,) = re.findall(r'class="band" points="([^"]+)"', svg)
    points = [tuple(map(float, point.split(","))) for point in found.split()]
    ((first, middle, last),) = paths(svg)
    assert [x for x, _ in points] == [x for x, _ in (first, middle, last, last, middle, first)]
    assert all(0 < y < HEIGHT for _, y in points)
    assert points[0][1] > points[1][1] > first[1] > points[5][1]
    assert points[2][1] > last[1] > points[3][1] == min(y for _, y in points)


def test_a_band_is_where_the_curve_is_and_a_lone_value_has_a_bar():
    gap = float("nan")
    values, low, high = (3.0, gap, 2, 3), (1.0, gap, 0, 2), (4.0, gap, 3, 4)
    svg = line_chart("a", {"b": Line((1, 2, 3, 4), values, low, high)}, "step")
    (band,) = re.findall(r'class="band" points="([^"]+)"', svg)
    assert len(band.split()) == 4
    bar, curve = paths(svg)
    assert bar[0][0] == bar[1][0] < curve[0][0]
    assert bar[0][1] > curve[1][1] > bar[1][1], "from 1 to 4, beside a curve that ends at 3"
    assert "nan" not in svg
    assert labels(svg)[:1] == ["0"]


def test_where_a_curve_has_no_interval_there_is_no_band():
    gap = float("nan")
    svg = line_chart("a", {"b": Line((1, 2), (2, 3), (gap, gap), (gap, gap)), "c": Line((1, 2), (2, 4))}, "step")
    assert "band" not in svg
    assert len(paths(svg)) == 2


def test_what_is_no_number_leaves_a_gap_and_a_value_between_gaps_is_a_dot():
    gap = float("nan")
    svg = line_chart("a", {"b": Line((1, 2, 3, 4, 5, 6), (1.0, 2.0, gap, 2.5, gap, 3.0))}, "step")
    assert len(re.findall(r'class="curve" d="M[\d. ]+ L[\d. ]+"', svg)) == 1
    assert svg.count("<circle") == 2


def test_a_single_value_is_a_dot_and_none_is_no_chart():
    svg = line_chart("a", {"b": Line((37,), (1.0,))}, "step")
    assert "<circle" in svg
    assert "37" in labels(svg)
    assert line_chart("a", {"b": Line((3,), (float("nan"),))}, "step") == line_chart("a", {}, "step") == ""


def test_a_curve_that_leaves_the_axis_is_cut_off_there_and_named():
    lines = {"<gru>": Line((1, 2, 3), (0, 2, 4)), "blank": Line((1, 2, 3), (2, 40, 50)), "odd": Line((1, 2), (-9, 3))}
    svg = line_chart("a", lines, "step", (0, 4))
    assert (labels(svg)[0], labels(svg)[6]) == ("-1", "5"), "with room for names beside what reaches from 0 to 4"
    assert re.findall(r'class="leaving"[^>]*>([^<]+)<', svg) == ["↑ blank", "↓ odd"]
    (inner,) = ElementTree.fromstring(svg).findall("svg")
    assert len(inner) == len(lines)
    left, top, width, height = (float(inner.get(name)) for name in ("x", "y", "width", "height"))
    assert inner.get("viewBox") == f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}"
    inside = [top <= y <= top + height for x, y in re.findall(r"[ML]([\d.]+) (-?[\d.]+)", svg) for y in [float(y)]]
    assert inside == [True, True, True, True, False, False, False, True]
    assert "leaving" not in line_chart("a", lines, "step")
    spare = labels(line_chart("a", lines, "step", (0.7, 3.3)))
    assert spare[:5] == ["0", "1", "2", "3", "4"], "names have room"
    assert "5" not in spare


def test_a_raster_has_a_cell_for_every_active_module_and_step():
    shares = np.array([[1, 0, 0.5], [0, 0, 1], [1, 1, np.nan], [0.25, 0, 0]])  # (T, K)
    svg = raster("active", shares, 3, chosen=False)
    ElementTree.fromstring(svg)
    cells = re.findall(r'class="cell-(\d)" x="([\d.]+)"[^>]*fill-opacity="([\d.]+)"', svg)
    columns = sorted({float(x) for _, x, _ in cells})
    assert len(columns) == 4
    found = {(columns.index(float(x)), int(k)): float(share) for k, x, share in cells}
    assert found == {(t, k): shares[t, k] for t in range(4) for k in range(3) if shares[t, k] > 0}
    assert "active over frames 2 to 5, where the rollout begins after frame 3. module 0: mean 0.56" in svg
    assert labels(svg) == ["0", "1", "2", "2", "3", "4", "5", "frame"]
    (middle,) = re.findall(r'x="([\d.]+)"[^>]*>frame<', svg)
    left, width = re.search(r'class="frame" x="(\d+)" y="\d+" width="(\d+)"', svg).groups()
    assert float(middle) == int(left) + int(width) / 2
    (line,) = re.findall(r'class="turn" x1="([\d.]+)"', svg)
    assert columns[1] < float(line) == columns[2]  # between frames 3 and 4


@pytest.mark.parametrize(("bands", "apart"), [(3, 1), (16, 1), (40, 2)])
def test_numbers_of_modules_stand_apart_however_many_there_are(bands, apart):
    svg = raster("active", np.ones((4, bands)), 2, chosen=False)
    places = [float(y) for y in re.findall(r'class="tick" x="50" y="([\d.]+)"', svg)]
    assert labels(svg)[:3] == [str(apart * k) for k in range(3)]
    assert all(below - above >= 12 for above, below in pairwise(places))
    if bands <= 16:
        assert len(places) == bands


def test_modules_of_a_higher_layer_go_on_where_the_lower_ends():
    svg = raster("layer1.active", np.ones((4, 2)), 2, chosen=False, first=6)
    assert labels(svg)[:2] == ["6", "7"]
    assert set(re.findall(r"cell-(\d)", svg)) == {"6", "0"}


def test_a_choice_has_the_colour_of_what_was_chosen():
    svg = raster("schema", np.array([[0, 2, -1], [1, 2, -1]]), 1, chosen=True)
    cells, legend = svg.split('class="frame"')[0], svg.split("<rect")[1:4]
    assert sorted(re.findall(r"schema-(\d)", cells)) == ["0", "0", "1", "1", "2", "2", "2"]
    assert [re.search(r"schema-(\d)", one)[1] for one in legend] == ["2", "1", "0"]
    named = re.findall(r'x="(\d+)" y="16" text-anchor="end">(\d)<', svg)
    swatches = [int(re.search(r'x="(\d+)"', one)[1]) for one in legend]
    assert [number for _, number in named] == ["2", "1", "0"]
    assert all(swatch < int(x) for (x, _), swatch in zip(named, swatches, strict=True))
    assert all(int(x) < swatch for (x, _), swatch in zip(named[1:], swatches, strict=False))  # nothing overlaps


def test_the_line_before_the_rollout_is_seen_on_dark_cells():
    svg = raster("schema", np.zeros((4, 2)), 2, chosen=True)
    halo, turn = (re.search(rf'class="{style}" (x1="[^>]*)/>', svg) for style in ("halo", "turn"))
    assert halo[1] == turn[1]
    assert halo.start() < turn.start()


def test_modules_and_schemata_have_the_colours_of_all_pictures():
    style = resources.files("videopred.report").joinpath("style.css").read_text()
    for name, colours in (("cell", OBJECT_COLORS), ("schema", SCHEMA_COLORS)):
        found = dict(re.findall(rf"\.{name}-(\d) {{ fill: #(\w+); }}", style))
        assert found == {str(k): bytes(colour).hex() for k, colour in enumerate(colours)}


def test_a_name_has_one_style_whatever_else_there_is():
    assert styles(["a", "b"], ["blank"]) == {"a": "line-0", "b": "line-1", "blank": "faint-0"}


def test_as_many_models_as_there_are_colours_and_dashes_look_different():
    found = list(styles([str(number) for number in range(COLOURS * COLOURS)], []).values())
    assert len(set(found)) == COLOURS * COLOURS
    style = resources.files("videopred.report").joinpath("style.css").read_text()
    for name in {word for one in found for word in one.split()}:
        assert f".{name} " in style


def test_lines_are_told_by_their_dashes_on_paper_without_colours():
    """Each colour has dashes of its own; a further line of that colour has others than all that colour had before."""
    style = resources.files("videopred.report").joinpath("style.css").read_text()
    rules = re.findall(r"\.((?:line|dash)-\d) \.curve { stroke-dasharray: ([^;]+); }", style)
    dashes = {"line-0": "none"} | dict(rules)
    assert len(dashes) == len(rules) + 1 == 2 * COLOURS
    assert len({dashes[f"line-{number}"] for number in range(COLOURS)}) == COLOURS
    looks = [one.split() for one in styles([str(number) for number in range(3 * COLOURS)], []).values()]
    assert len({(words[0], dashes[words[-1]]) for words in looks}) == 3 * COLOURS
    kinds = [name.partition("-")[0] for name, _ in rules]
    assert kinds == sorted(kinds, reverse=True), "the dashes of further lines come later, so that they hold"


@pytest.mark.parametrize(
    ("values", "chosen", "said"),
    [
        ([[0.25, np.nan], [0.5, np.nan], [0.0, np.nan]], False, "file 4: mean 0.25; file 5: unknown"),
        ([[2, -1], [1, -1], [2, 0]], True, "file 4: mostly 2, in 2 of 3; file 5: mostly none, in 2 of 3"),
    ],
)
def test_a_raster_is_read_aloud_band_by_band(values, chosen, said):
    svg = raster("active", np.array(values), 2, chosen=chosen, first=4, word="file")
    assert f'aria-label="active over frames 2 to 4, where the rollout begins after frame 2. {said}"' in svg


def test_steps_of_which_nothing_is_known_are_not_counted_aloud():
    chosen = np.array([[np.nan], [0], [0], [1]])
    assert 'module 0: mostly 0, in 2 of 3"' in raster("schema", chosen, 1, chosen=True)
