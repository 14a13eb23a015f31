"""What is told of an error in code that is not ours: these tests are a user's code here."""

import pytest

from videopred.user_errors import error_told


def inner(program: str, file: str) -> None:
    exec(compile(program, file, "exec"))


def outer(program: str, file: str) -> None:
    inner(program, file)


@pytest.mark.parametrize("file", ["/opt/site-packages/theirs.py", "/opt/dist-packages/theirs.py", "<string>"])
def test_the_first_line_of_what_it_says_is_told_and_the_users_last_line_before_code_of_others(file):
    with pytest.raises(ValueError, match="what it is\nand more") as caught:
        outer(r"raise ValueError('what it is\nand more')", file)
    line = inner.__code__.co_firstlineno + 1
    assert error_told(caught.value) == f"ValueError: what it is (test_user_errors.py, line {line})"
