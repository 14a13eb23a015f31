"""Numbers as text: tables for a terminal, in Markdown and as CSV; and JSON, which knows no NaN."""

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from videopred.printable import printable, width_of


class Block(NamedTuple):
    """A table, of which `aligned` and `markdown` make text."""

    corner: str
    heads: list[str]
    rows: list[str]
    columns: list[list[str]]


def aligned(corner: str, heads: Sequence[str], rows: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """Lines with the names flush left and the columns flush right."""
    head = [corner.ljust(20), *(head.rjust(8) for head in heads)]  # tables below one another look alike
    return aligned_lines([head, *zip(rows, *columns, strict=True)])


def aligned_lines(lines: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Lines, of which the columns at these places, counted from 0, stand flush left and the others flush right."""
    columns = []
    lines = [[printable(cell) for cell in line] for line in lines]
    for place, column in enumerate(zip(*lines, strict=True)):
        width = max(map(width_of, column))
        gaps = [" " * (width - width_of(cell)) for cell in column]
        columns.append([cell + gap if place in left else gap + cell for cell, gap in zip(column, gaps, strict=True)])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def markdown(title: str, blocks: Iterable[Block], notes: Iterable[str]) -> str:
    """A document in Markdown: a table for each block, and what the numbers mean below."""
    told = ["\n".join(map(plain, note.split("\n"))) for note in notes]
    return "\n\n".join([plain(title), *map(_marked_table, blocks), *told]) + "\n"


def _marked_table(block: Block) -> str:
    lines = [[block.corner, *block.heads], ["---", *["---:"] * len(block.heads)]]
    lines += [[name, *(column[i] for column in block.columns)] for i, name in enumerate(block.rows)]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """A cell of a table of Markdown, in which a bar would begin the next one."""
    return plain(text.strip()).replace("|", r"\|")


def plain(text: str) -> str:
    """Text as it is in Markdown, where a name may look like HTML."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;")


def csv_text(heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """A head line and the others, numbers in full precision; empty where a number is NaN or None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(["" if cell != cell else cell for cell in line] for line in lines)
    return text.getvalue()


def without_nan(value: Any) -> Any:
    """A tree of dicts and lists for JSON, with null for each NaN."""
    if isinstance(value, dict):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and value != value else value
