"""Errors of a user's own code, which may raise any: what is told, and from which line it came."""

import os
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from videopred.check import FailedError, complaint
from videopred.systems import lacking_memory

MEND = "mend it there; VIDEOPRED_TRACEBACK=1 shows every call"
"""What to do about an error in one's own code."""

_OURS, _PYTHONS = Path(__file__).parent, Path(os.__file__).parent

OWN_FOLDERS: set[Path] = set()
"""Where the code lies of which a user gave an address."""


def note_own(module: ModuleType) -> None:
    """Keep in mind that the folder of a module, or that of the package it is in, holds a user's own code."""
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    file = getattr(top, "__file__", None)
    OWN_FOLDERS.update(map(Path, getattr(top, "__path__", [Path(file).parent] if file else [])))


def with_place(error: Exception) -> Exception:
    """An error as a command is to tell it: with the line of a user's own code from which it came, if it did.

    A ValueError or TypeError of a `raise` in their own code keeps its words: so a core says what is wrong with its
    settings. Any other becomes a FailedError. Complaints of this package, and lack of memory, stay as they are.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_users(frame.filename) and OWN_FOLDERS & {*Path(frame.filename).parents}]
    if not own or is_complaint(error) or isinstance(error, MemoryError) or lacking_memory(error):
        return error
    file = Path(own[-1].filename).name
    on_purpose = own[-1] is frames[-1] and re.search(r"(^|[:;]\s*)raise\b", own[-1].line or "") is not None
    if on_purpose and isinstance(error, ValueError | TypeError):
        return ValueError(f"{error} ({file}, line {own[-1].lineno})")
    return FailedError(complaint(file, "raise no error", error_told(error), MEND))


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
    installed = {"site-packages", "dist-packages"} & {*path.parts}
    theirs = path.is_relative_to(_OURS) or path.is_relative_to(_PYTHONS) or installed
    return not (theirs or file.startswith("<"))
