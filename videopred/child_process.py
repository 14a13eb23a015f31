"""Runs statements in another Python process, which finds the same modules as this one.

`python -m` and `python -c` look in the current folder first, where a file of the user's may be named like a module of
some library, or of one that Python itself loads before the statement (linecache, since 3.14); with -P they do not.
"""

import os
import subprocess
import sys
from collections.abc import Mapping

from videopred import check


def python(statement: str) -> list[str]:
    """The command that executes a statement in another Python, with this one's sys.path."""
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {list(map(str, sys.path))!r}; {statement}"]


def answer(statement: str, environment: Mapping[str, str] | None = None) -> str:
    """The last line that a statement prints in another Python.

    Args:
        statement: its program.
        environment: variables that it has beside, or instead of, those of this process.

    Raises:
        ChildProcessError: it failed, or printed nothing; with the last line of its complaint.
    """
    surroundings = {**os.environ, **(environment or {})}
    done = subprocess.run(python(statement), env=surroundings, capture_output=True, text=True)
    if done.returncode or not done.stdout.strip():
        said = (done.stderr.strip() or "nothing said").splitlines()[-1]
        got, fix = f"one that ended with status {done.returncode} ({said})", "see to what it says, and start again"
        raise ChildProcessError(check.complaint("a process beside this one", "do its work", got, fix))
    return done.stdout.strip().splitlines()[-1]
