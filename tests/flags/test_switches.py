"""Switches can be said either way, whatever they are by default, and take no value."""

import pytest

from videopred import flags


def command(*, walls: bool = True, fast: bool = False) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("words", "walls", "fast"),
    [
        ("", True, False),
        ("--walls --no-fast", True, False),
        ("--no-walls --fast", False, True),
        ("--walls --no-walls --fast --no-fast", False, False),  # the last one counts, as of all flags
    ],
)
def test_a_switch_can_be_said_either_way(words, walls, fast):
    assert flags.read(command, "command", words.split()) == {"walls": walls, "fast": fast}


def test_help_shows_what_changes_a_switch(capsys):
    with pytest.raises(SystemExit):
        flags.read(command, "command", ["--help"])
    out = capsys.readouterr().out
    assert "--no-walls" in out
    assert "--walls" not in out.replace("--no-walls", "")
    assert "--no-fast" not in out


@pytest.mark.parametrize(
    ("words", "got", "fix"),
    [
        ("--walls False", "False", "write --no-walls, without a value"),
        ("--walls=true", "true", "write --walls, without a value"),
        ("--no-walls=False", "False", "write --walls, without a value"),
        ("--no-walls True", "True", "write --no-walls, without a value"),
        ("--fast=False", "False", "write --no-fast, without a value"),
        ("--fast 1", "1", "write --fast, without a value"),
        ("--walls=no", "no", "write --no-walls, without a value"),
        ("True --fast", "True", "see --help"),
    ],
)
def test_a_switch_takes_no_value(words, got, fix):
    with pytest.raises(ValueError, match=f"^arguments must be among those of --help, got {got}; {fix}$"):
        flags.read(command, "command", words.split())


def test_a_switch_that_is_nearly_spelled_is_offered():
    with pytest.raises(ValueError, match=r"got --wals; did you mean --walls\?$"):
        flags.read(command, "command", ["--wals"])


def command_with_numbers(*, walls: bool = True, fast: bool = False, seed: int = 0) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("--seed 1 --fast 1", "write --fast, without a value"),
        ("--fast 1 --seed 1", "write --fast, without a value"),
        ("--seed=0 --walls 0", "write --no-walls, without a value"),
        ("--seed 1 --fast=1", "write --fast, without a value"),
        ("--seed 1 1", "see --help"),
    ],
)
def test_a_value_of_another_flag_is_not_a_switchs(words, fix):
    with pytest.raises(ValueError, match=f"got .; {fix}$"):
        flags.read(command_with_numbers, "command", words.split())
