"""Which rows get a star, and how numbers are written."""

import numpy as np
import pytest

from videopred.eval import make_metric
from videopred.eval.tables import CEILING, best_rows, value_with_half, written
from videopred.eval.text import Block, markdown

NAN = np.nan


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ({"a": [3, 2], "b": [2, 2], "c": [2, 2]}, {"b", "c"}),
        ({"a": [3, 2], "b": [3, 2]}, set()),
        ({"a": [3, 2, NAN], "b": [2, 9, NAN]}, {"a"}),
        ({"a": [3, 2], "b": [1, NAN]}, set()),
        ({"a": [3, 2], "b": [1, NAN], "c": [4, 2]}, {"a"}),
        ({"a": [3, 2, NAN], "b": [NAN, 2, 1], "c": [9, NAN, NAN]}, set()),
        ({"a": [0.4, 0.4], "b": [0.4, 0.4000002], "c": [0.5, 0.5]}, {"a", "b"}),
        ({"a": [0.4, 0.4], "b": [0.4, 0.4000002]}, set()),
        ({"a": [0.4, 0.4], "b": [0.4, 0.400002]}, {"a"}),
        ({"a": [NAN], "b": [NAN]}, set()),
        ({CEILING: [0, 0], "a": [1, NAN], "b": [2, NAN]}, {"a"}),
        ({CEILING: [0]}, set()),
    ],
)
def test_a_star_is_for_the_best_of_those_that_have_most_values_at_the_same_steps(values, best):
    rows = {row: np.array(of_row, float) for row, of_row in values.items()}
    assert best_rows(rows, make_metric("mse")) == best


def test_what_is_nearly_0_has_no_sign():
    assert written(-1e-9, make_metric("mse")) == "0.0000"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("mse", 0.00123, "0.0012 ±0.0001"),
        ("mse", 0.000789, "0.00079 ±0.00007"),
        ("mse", -0.0000345, "-0.000034 ±0.000068"),
        ("mse", 0.00000234, "0.000002 ±0.000068"),
        ("mse", 0.0000001, "0.0000 ±0.0001"),
        ("mse", 0, "0.0000 ±0.0001"),
        ("mse", np.inf, "inf ±0.0001"),
        ("mse-sum", 0.0567, "0.057 ±0.000"),
        ("f1", 0.000789, "0.001 ±0.000"),
    ],
)
def test_small_errors_keep_two_digits(name, value, told):
    assert value_with_half(value, 0.0000678, make_metric(name)) == told
    assert written(value, make_metric(name)) == told.split()[0]


def test_in_markdown_names_stand_left_and_numbers_right():
    block = Block("run", ["f1 ", "mse"], ["a", "b"], [["0.5 ", "0.6*"], ["1", "2"]])
    table = "| run | f1 | mse |\n| --- | ---: | ---: |\n| a | 0.5 | 1 |\n| b | 0.6* | 2 |"
    assert markdown("two runs", [block], ["first", "last"]) == f"two runs\n\n{table}\n\nfirst\n\nlast\n"


def test_a_name_in_markdown_is_no_html_and_no_line_of_its_own():
    told = markdown("of <b>", [Block("x&y", ["f"], ["a\nb"], [["<script>"]])], ["<i>\nd"])
    assert told == "of &lt;b>\n\n| x&amp;y | f |\n| --- | ---: |\n| a\\nb | &lt;script> |\n\n&lt;i>\nd\n"
