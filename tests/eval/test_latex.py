"""Tables as LaTeX: what stands in the file, sign by sign."""

import pytest

from videopred.eval.latex import latex
from videopred.eval.text import Block


def rows_of(text: str) -> list[str]:
    """The lines of a text that are rows of tables."""
    return [line for line in text.splitlines() if line.endswith(r"\\")]


def test_a_table_has_the_rules_of_booktabs_and_tells_above_what_its_numbers_mean():
    one = Block("MSE ↓", ["easy ", "hard "], ["gru", "rims"], [["2.0 ±0.1 ", "1.0 ±0.2*"], ["– ", "3.5 ±0.3!"]])
    other = Block("F1 ↑", ["easy "], ["gru"], [["0.5 "]])
    assert latex("2 data sets", [one, other], ["MSE: mean", "±: half"]).split("\n") == [
        "% 2 data sets",
        "% MSE: mean",
        "% ±: half",
        r"% This needs \usepackage{booktabs}.",
        "",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"MSE $\downarrow$ & easy & hard \\",
        r"\midrule",
        r"gru & 2.0 $\pm$0.1 & -- \\",
        r"rims & \textbf{1.0 $\pm$0.2} & 3.5 $\pm$0.3! \\",
        r"\bottomrule",
        r"\end{tabular}",
        "",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"F1 $\uparrow$ & easy \\",
        r"\midrule",
        r"gru & 0.5 \\",
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("-0.0019 to 0.0111", "$-$0.0019 to 0.0111"),
        ("-2.5 to -1.5", "$-$2.5 to $-$1.5"),
        ("-0.25*", r"\textbf{$-$0.25}"),
        ("1e-05 ", "1e-05"),
    ],
)
def test_numbers_below_zero_have_the_sign_of_formulas_and_the_best_are_bold(cell, written):
    assert rows_of(latex("", [Block("a", ["b"], ["c"], [[cell]])], []))[1] == rf"c & {written} \\"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("seed-0", "seed-0"),
        ("a_b & 50 %", r"a\_b \& 50 \%"),
        ("$x^2$ #1 {~}", r"\$x\textasciicircum{}2\$ \#1 \{\textasciitilde{}\}"),
        ("[a]*", r"{[}a]{*}"),
        ("P(a|b) <c>", "P(a$|$b) $<$c$>$"),
        ("back\\slash", r"back\textbackslash{}slash"),
        ("esc\x1b\nline", r"esc\textbackslash{}x1b\textbackslash{}nline"),
    ],
)
def test_names_stand_as_they_are_typed(name, written):
    table = Block(name, [f"{name} "], [name], [["1.0"]])
    assert rows_of(latex("", [table], [])) == [rf"{written} & {written} \\", rf"{written} & 1.0 \\"]


def test_a_comment_ends_with_its_line():
    assert latex("a\nb", [], ["c\rd"]).splitlines()[:2] == [r"% a\nb", r"% c\rd"]
