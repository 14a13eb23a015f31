"""Errors of a user's own core or metric, which may raise any: what is told of one, and from which line it came."""

import os
import traceback
from pathlib import Path

_OURS, _PYTHONS = Path(__file__).parent, Path(os.__file__).parent


def error_told(error: Exception | SystemExit) -> str:
    """The kind of an error, the first line of what it says, and the last line of the user's own code before it."""
    first_line = "".join(f": {line}" for line in str(error).splitlines()[:1])
    places = [place for place in traceback.extract_tb(error.__traceback__) if _is_users(place.filename)]
    where = f" ({Path(places[-1].filename).name}, line {places[-1].lineno})" if places else ""
    return f"{type(error).__name__}{first_line}{where}"


def is_complaint(error: Exception) -> bool:
    """Whether an error is a complaint of this package, not raised by what a user gave or by a library."""
    ours = Path(traceback.extract_tb(error.__traceback__)[-1].filename).is_relative_to(_OURS)
    return ours and " must " in str(error)  # ours is also the line that calls what takes other arguments


def _is_users(file: str) -> bool:
    """Whether a file is neither of this package, of another installed one, nor of Python, nor made up as `<eval>`."""
    path = Path(file)
    theirs = path.is_relative_to(_OURS) or path.is_relative_to(_PYTHONS) or "site-packages" in path.parts
    return not (theirs or file.startswith("<"))
