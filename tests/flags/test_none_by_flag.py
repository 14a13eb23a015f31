"""A value that may be none is none by the word None, which help does not show."""

from typing import Any, Literal

import pytest

from videopred import flags

got: dict[str, Any] = {}


def play(
    *, size: int | None = 3, part: Literal["train", "test"] | None = "test", ends: tuple[float, float] | None = (0, 1)
) -> None:
    """Play."""
    got.update(size=size, part=part, ends=ends)


@pytest.mark.parametrize(
    ("words", "size", "part", "ends"),
    [
        ("", 3, "test", (0, 1)),
        ("--size None --part None --ends None", None, None, None),
        ("--size 4 --part train --ends 2 3", 4, "train", (2, 3)),
    ],
)
def test_the_word_none_and_values_are_read(words, size, part, ends):
    play(**flags.read(play, "play", words.split()))
    assert got == {"size": size, "part": part, "ends": ends}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--size nil", "--size must be a whole number, got nil; see --help"),
        ("--part nil", "--part must be one of test, train, got nil; choose one of these"),
        ("--ends None None", "--ends must be two numbers, got None None; see --help"),
        ("--ends 1", "--ends must be two numbers, got 1; see --help"),
    ],
)
def test_anything_else_is_refused(words, said):
    with pytest.raises(ValueError, match=said):
        flags.read(play, "play", words.split())
