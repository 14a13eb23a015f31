"""Addresses, `module:name`. What is at one is imported when it is used, so that a listing loads no torch."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from videopred import check
from videopred.user_errors import error_told, note_own


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
        ValueError: there is no such module, it cannot be imported, or the program that asks does not define the name.
    """
    name, _, attribute = address.partition(":")
    if "" not in sys.path:  # only now: libraries that try to import what may be missing would find the user's files
        sys.path.append("")
    try:
        module = import_module(name)
    except (Exception, SystemExit) as error:  # the module is a stranger's, and may fail in any way, or leave
        fix = "mend it there"
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):  # it, or its package
            fix = "run where it lies, or put its folder on PYTHONPATH"
            fix = f"did you mean {name.removesuffix('.py')}:{attribute}?" if name.endswith(".py") else fix
        raise ValueError(check.complaint(argument, "be importable", error_told(error), fix)) from error
    note_own(module)
    if name == "__main__" and not hasattr(module, attribute):
        must = "be defined in the program or notebook that uses it"
        fix = "define it first, or move it into a file of its own, where every program finds it"
        raise ValueError(check.complaint(argument, must, "nothing of that name in this program", fix))
    return module, getattr(module, attribute, None)
