"""Commands of ours as one types them, to be told to whoever is to give them. Light."""

from collections.abc import Sequence
from pathlib import Path

from videopred.systems import shell_quoted


def typed_command(words: Sequence[str]) -> str:
    """A command as it is typed.

    Args:
        words: what comes after `videopred`.
    """
    return shell_quoted(("videopred", *words))


def resume_command(run: Path, *flags: str) -> str:
    """The command that resumes a run, or runs from several seeds, as it is typed."""
    return typed_command(("train", "--resume", str(run), *flags))
