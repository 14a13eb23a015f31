"""Names that hold what steers a terminal or turns a line round, wherever they are shown."""

from xml.etree import ElementTree

import pytest

from videopred import check
from videopred.commands import terminal
from videopred.eval.text import Block, aligned_lines, markdown
from videopred.printable import printable, printable_lines
from videopred.rendering.canvas import dress, empty_figure, figure_bytes, literal

ODD = "a\x1b[2Jb\nc\u202ed\udce4"
SHOWN = r"a\x1b[2Jb\nc\u202ed\udce4"


def test_what_cannot_be_printed_is_an_escape_and_all_else_stays():
    assert printable(ODD) == SHOWN
    assert printable_lines(ODD) == SHOWN.replace(r"\n", "\n")
    for name in ("球 é\u0301 ± \\ 🎈", "👩\u200d🔬", "می\u200cخواهم", "データ\u30001", "run\xa01"):
        assert printable(name) == name


def test_complaints_show_names_in_escapes():
    said = check.complaint(f"{ODD}.h5", "be whole", "c\x07", f"read `{ODD}`")
    assert said == f"{SHOWN}.h5 must be whole, got c\\x07; read `{SHOWN}`"


def test_tables_show_names_in_escapes_and_in_line():
    assert aligned_lines([["run", "f1"], [ODD, "0.5"]]) == f"run{' ' * 25}f1\n{SHOWN}  0.5"
    table = Block("run", ["f1"], [ODD], [["0.5"]])
    assert markdown("one", [table], []).splitlines()[4:] == [f"| {SHOWN} | 0.5 |"]


def test_rows_files_and_tables_of_commands_show_names_in_escapes(capsys):
    terminal.print_rows({ODD: "b\x1bc"})
    terminal.print_found({}, [terminal.Path(ODD)], False, table=f"title \x1b\n{SHOWN}")
    assert capsys.readouterr().out == f"  {SHOWN}  b\\x1bc\ntitle \\x1b\n{SHOWN}\n\nwrote {SHOWN}\n"


def test_rows_stand_in_line_whatever_letters_they_have(capsys):
    """Chinese letters take two columns; a line break in a value is an escape."""
    terminal.print_rows({"球": "a\nb", "balls": "c"})
    assert capsys.readouterr().out == "  球     a\\nb\n  balls  c\n"


def test_rows_are_printed_on_a_terminal_narrower_than_their_names(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "8")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.print_rows({"learning_rate": "0.1 at first"})
    assert capsys.readouterr().out == "  learning_rate  0.1 at first\n"


def test_the_next_command_shows_names_in_escapes(capsys):
    terminal.print_next(("evaluate", "a\x1bb"))
    assert capsys.readouterr().out == "next: videopred evaluate 'a\\x1bb'\n"


def test_failures_of_the_system_show_names_in_escapes(capsys):
    from videopred.cli import _end

    with pytest.raises(SystemExit):
        _end("interrupted; continue with `videopred train --resume 'a\x1bb'`", 130)
    assert capsys.readouterr().err == "videopred: interrupted; continue with `videopred train --resume 'a\\x1bb'`\n"


def test_figures_with_such_names_are_well_formed():
    figure = empty_figure(3, 2)
    dress(figure.add_subplot(), literal(ODD))
    ElementTree.fromstring(figure_bytes(figure, "svg"))
