"""What commands say: rows, paths and JSON on stdout; and whether somebody watches."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

from videopred.command_lines import Words
from videopred.differing import setting_told
from videopred.files import json_text
from videopred.printable import printable, printable_lines, width_of
from videopred.typed_commands import typed_command

_GOES_ON = ContextVar("_GOES_ON", default=False)
"""Whether this command is run by another one, which goes on by itself."""
_RESULTS: ContextVar[TextIO | None] = ContextVar("_RESULTS", default=None)
"""Where JSON goes if all else that is printed goes to stderr; None: to stdout, as all else."""


def watched() -> bool:
    """Whether stderr is a terminal, where somebody sees progress bars."""
    return sys.stderr.isatty()


def say_that_it_takes(time: str) -> None:
    """Say to whoever watches that there is something to wait for."""
    if watched():
        print(f"this takes {time}", file=sys.stderr)


def first_line(thing: Any) -> str:
    """The first line of the docstring of a class or function."""
    return (thing.__doc__ or "").strip().split("\n")[0]


def print_rows(rows: Mapping[str, Any]) -> None:
    """A line for each row, names in one column and values in another; there must be a row.

    On a terminal, values that are too long for it go on in their column; elsewhere a row is one line.
    """
    flat = {printable(name): value for name, value in _flat(rows)}
    width = max(map(width_of, flat))
    columns = shutil.get_terminal_size().columns - width - 4 if sys.stdout.isatty() else sys.maxsize
    for name, value in flat.items():
        value = printable(value)
        lines = textwrap.wrap(value, max(columns, 20), break_long_words=False, break_on_hyphens=False) or [""]
        print(f"  {name}{' ' * (width - width_of(name))}  " + f"\n{' ' * (width + 4)}".join(lines))


def _flat(rows: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested rows as one level, names joined by points, numbers as people read them."""
    for name, value in rows.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", setting_told(value)


def print_files(paths: Sequence[Path], as_json: bool) -> None:
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        print(f"wrote {printable(str(path))}")


def print_found(content: Mapping[str, Any], paths: Sequence[Path], as_json: bool, table: str | None = None) -> None:
    """What was found, as JSON, or else as a table or, without one, as rows; and the files that were written, if any."""
    if as_json:
        print_json({**content, "files": [str(path) for path in paths]} if paths else content)
        return
    print_rows(content) if table is None else print(printable_lines(table), end="\n\n")
    print_files(paths, False)


def print_next(command: Words) -> None:
    """Offer the command that a user may want to type next, unless another one is running this one."""
    if not _GOES_ON.get():
        print(f"next: {printable(typed_command(command))}")


@contextmanager
def going_on() -> Iterator[None]:
    """Within it, commands do not offer what to do next: for a command that runs others."""
    token = _GOES_ON.set(True)
    try:
        yield
    finally:
        _GOES_ON.reset(token)


@contextmanager
def only_json() -> Iterator[None]:
    """Within it, stdout gets nothing but JSON: what the user's own modules print goes to stderr."""
    token = _RESULTS.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _RESULTS.reset(token)


def print_json(content: Mapping[str, Any]) -> None:
    print(json_text(content), end="", file=_RESULTS.get())
