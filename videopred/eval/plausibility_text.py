"""Errors of plausibility as text for a terminal: a line for each kind of scenes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

from videopred.eval.text import Block, aligned_lines

RELATIVE = "share of scenes whose impossible films are more plausible than the possible ones; a tie counts one half"
"""What a relative error is, in a legend's words."""

ABSOLUTE = "1 - AUC over the films of all scenes"
"""What an absolute error is."""

LEGEND = f"""\
relative  {RELATIVE}
strict    the same, but a tie is no error, as in the benchmark's script
absolute  {ABSOLUTE}
0 is best, 0.5 is chance"""

UNSOUND = "max is low also for who counts bright pixels: read it beside the others"
"""What is said where errors by the aggregate max are shown."""

NO_LABELS = "no labels say which films are possible, so there are no errors"


class Line(NamedTuple):
    """What is said of scenes of one kind."""

    where: Mapping[str, str]
    """Condition -> value that the scenes share; empty for all."""
    scenes: int
    """How many they are."""
    cells: Sequence[str]


def kinds_table(aggregate: str, heads: Sequence[str], lines: Sequence[Line]) -> str:
    """Lines with the kind of scenes flush left and the columns flush right.

    Of kinds that share two conditions, only blocks seen and hidden are shown.
    """
    return aligned_lines(_rows(aggregate, heads, lines))


def kinds_block(aggregate: str, heads: Sequence[str], lines: Sequence[Line]) -> Block:
    """The same for documents."""
    (corner, *heads), *rows = _rows(aggregate, heads, lines)
    names, *columns = map(list, zip(*rows, strict=True))
    return Block(corner, heads, names, columns)


def _rows(aggregate: str, heads: Sequence[str], lines: Sequence[Line]) -> list[list[str]]:
    """The head line, and those of the kinds that are shown."""
    shown = [line for line in lines if is_shown(line.where)]
    return [[aggregate, "scenes", *heads], *([_kind(line.where), str(line.scenes), *line.cells] for line in shown)]


def legend_of(aggregates: Collection[str], more: str, notes: Iterable[str]) -> str:
    """What stands below the errors by some aggregates, with more that is to be said of their columns, and notes."""
    return "\n".join([f"{LEGEND}; {more}", *([UNSOUND] if "max" in aggregates else []), *notes])


def is_shown(where: Mapping[str, str]) -> bool:
    """Whether scenes of a kind have a line: of kinds that share two conditions, blocks seen and hidden alone do."""
    return len(where) < 2 or set(where) == {"block", "occlusion"}


def cell(number: float | None) -> str:
    """A number, or a dash for none and for NaN."""
    return "–" if number is None or isnan(number) else f"{number:.3f}"


def _kind(where: Mapping[str, str]) -> str:
    """What scenes share, in words."""
    words = dict(where)
    if "objects" in words:
        words["objects"] += " object" if words["objects"] == "1" else " objects"
    return " ".join(words.values()) or "all"
