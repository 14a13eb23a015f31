"""Marks of the files that a user's own code is in, by which models and scores say that it has changed since.

Light. Only what is imported already is looked at, and not what a program or notebook itself defines.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from videopred.printable import printable

_MARKED: dict[str, tuple[Any, str]] = {}
"""Address -> what is imported from there, and its mark: who edits a file during a sweep in one process does not change
what is imported."""


def code_record(addresses: Iterable[str]) -> dict[str, Any]:
    """What the record of a run, or of scores, tells of code at addresses, `module:name`; nothing if there is none."""
    marks = _marks(addresses)
    return {"code": marks} if marks else {}


def say_changed_code(addresses: Iterable[str], record: Mapping[str, Any], made: str) -> None:
    """Say on stderr which files differ from those that a record tells of; `made` is what was done then."""
    before, changed = record.get("code", {}), defaultdict(list)
    for address, mark in _marks(addresses).items():
        if before.get(address, mark) != mark:
            changed[_found(address)[1]].append(address)
    for file, there in changed.items():
        told = f"{file}, with {' and '.join(there)}, has changed since {made}; results may be others"
        print(f"videopred: {printable(told)}", file=sys.stderr)


def _marks(addresses: Iterable[str]) -> dict[str, str]:
    """Address -> mark of the file in which that is defined, as it was when first asked for what is imported."""
    marks = {}
    for address in addresses:
        found, file = _found(address)
        if file is None:
            continue
        with suppress(OSError):  # the file is gone: nothing can be told
            if address not in _MARKED or _MARKED[address][0] is not found:
                lines = file.read_bytes().replace(b"\r\n", b"\n")  # as git writes them on Windows
                _MARKED[address] = found, sha256(lines).hexdigest()
            marks[address] = _MARKED[address][1]
    return marks


def _found(address: str) -> tuple[Any, Path | None]:
    """What is at an address, and the file in which it is defined: another than the address says, if it is imported
    there."""
    module, _, name = address.partition(":")
    named = sys.modules.get(module)
    found = getattr(named, name, None)
    defined = sys.modules.get(getattr(found, "__module__", None) or "", named)
    if getattr(defined, getattr(found, "__name__", ""), None) is not found:  # a partial, or what another module made
        defined = named
    file = getattr(defined, "__file__", None)
    return found, Path(file) if file and getattr(defined, "__name__", "") != "__main__" else None
