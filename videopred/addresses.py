"""Addresses, `module:name`. What is at one is imported when it is used, so that a listing loads no torch.

What a user has at one may raise any error, of which is told here.
"""

import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from videopred import check


def find(address: str) -> Any:
    """What is at an address in one of our tables, its module imported now."""
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)


def find_own(argument: str, address: str) -> tuple[ModuleType, Any]:
    """The module of an address that a user gave, imported now, and what the address names in it, None if nothing.

    The current folder is the last place where the module is looked for.

    Args:
        argument: what messages call the address.
        address: `module:name`.

    Raises:
        ValueError: there is no such module, or it cannot be imported.
    """
    name, _, attribute = address.partition(":")
    if "" not in sys.path:  # only now: libraries that try to import what may be missing would find the user's files
        sys.path.append("")
    try:
        module = import_module(name)
    except Exception as error:  # the module is a stranger's, and may fail in any way
        got, fix = f"{type(error).__name__}: {error}", "run where it lies, or put its folder on PYTHONPATH"
        fix = f"did you mean {name.removesuffix('.py')}:{attribute}?" if name.endswith(".py") else fix
        raise ValueError(check.complaint(argument, "be importable", got, fix)) from error
    return module, getattr(module, attribute, None)


_OURS, _PYTHONS = Path(__file__).parent, Path(os.__file__).parent


def said(error: Exception) -> str:
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
