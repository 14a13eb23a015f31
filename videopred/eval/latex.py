"""Tables as LaTeX, for papers."""

import re
from collections.abc import Iterable, Sequence

from videopred.eval.text import Block
from videopred.printable import printable

_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[*"},  # at the start of a line they would belong to the end of the one before
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "|": "$|$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "±": r"$\pm$", "–": "--", "−": "$-$",
}  # fmt: skip
"""What LaTeX would take for an order, or its usual font lacks -> how it is written."""

_NEGATIVE = re.compile(r"(?<!\S)-(?=\d)")
"""The sign of a number, for which a hyphen is too short."""


def latex(title: str, blocks: Iterable[Block], notes: Sequence[str]) -> str:
    r"""Text to be read with \input: a tabular for each block, with the rules of booktabs.

    Cells that end in *, the best ones, are bold. What the numbers mean stands above, in comments.
    """
    comments = [title, *notes, r"This needs \usepackage{booktabs}."]
    head = "\n".join(f"% {printable(comment)}" for comment in comments)
    return "\n\n".join([head, *map(_tabular, blocks)]) + "\n"


def _tabular(block: Block) -> str:
    body = [[_text(name), *(_number(column[i]) for column in block.columns)] for i, name in enumerate(block.rows)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * len(block.heads)}}}",
            r"\toprule",
            _line(map(_text, [block.corner, *block.heads])),
            r"\midrule",
            *map(_line, body),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _line(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _number(cell: str) -> str:
    number = cell.strip()
    text = _text(_NEGATIVE.sub("−", number.removesuffix("*")))
    return rf"\textbf{{{text}}}" if number.endswith("*") else text


def _text(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in printable(text.strip()))
