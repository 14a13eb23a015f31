"""Charts of the page."""

import re
from importlib import resources
from xml.etree import ElementTree

import numpy as np
import pytest

from videopred.palette import OBJECT_COLORS, SCHEMA_COLORS
from videopred.report.charts import HEIGHT, WIDTH, Line, line_chart, raster, styles


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


def test_what_is_no_number_leaves_a_gap():
    svg = line_chart("a", {"b": Line((1, 2, 3, 4), (1.0, float("nan"), 2.0, 3.0))}, "step")
    assert re.search(r'class="curve" d="M[\d. ]+ M[\d. ]+ L[\d. ]+"', svg)


def test_a_single_value_is_a_dot_and_none_is_no_chart():
    assert "<circle" in line_chart("a", {"b": Line((3,), (1.0,))}, "step")
    assert line_chart("a", {"b": Line((3,), (float("nan"),))}, "step") == line_chart("a", {}, "step") == ""


def test_a_raster_has_a_cell_for_every_active_module_and_step():
    shares = np.array([[1, 0, 0.5], [0, 0, 1], [1, 1, np.nan], [0.25, 0, 0]])  # (T, K)
    svg = raster("active", shares, 3, chosen=False)
    ElementTree.fromstring(svg)
    cells = re.findall(r'class="cell-(\d)" x="([\d.]+)"[^>]*fill-opacity="([\d.]+)"', svg)
    columns = sorted({float(x) for _, x, _ in cells})
    assert len(columns) == 4
    found = {(columns.index(float(x)), int(k)): float(share) for k, x, share in cells}
    assert found == {(t, k): shares[t, k] for t in range(4) for k in range(3) if shares[t, k] > 0}
    assert "active: 3 modules over frames 2 to 5; the rollout begins after frame 3" in svg
    assert labels(svg) == ["0", "1", "2", "2", "3", "4", "5", "frame"]
    (line,) = re.findall(r'class="turn" x1="([\d.]+)"', svg)
    assert columns[1] < float(line) == columns[2]  # between frames 3 and 4


def test_a_choice_has_the_colour_of_what_was_chosen():
    svg = raster("schema", np.array([[0, 2], [1, 2]]), 1, chosen=True)
    assert sorted(re.findall(r"schema-(\d)", svg)) == ["0", "1", "2", "2"]


def test_modules_and_schemata_have_the_colours_of_all_pictures():
    style = resources.files("videopred.report").joinpath("style.css").read_text()
    for name, colours in (("cell", OBJECT_COLORS), ("schema", SCHEMA_COLORS)):
        found = dict(re.findall(rf"\.{name}-(\d) {{ fill: #(\w+); }}", style))
        assert found == {str(k): bytes(colour).hex() for k, colour in enumerate(colours)}


def test_a_name_has_one_style_whatever_else_there_is():
    assert styles(["a", "b"], ["blank"]) == {"a": "line-0", "b": "line-1", "blank": "faint-0"}
