"""What commands say: rows, paths and JSON on stdout; and whether somebody watches."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


def watched() -> bool:
    """Whether somebody sees the progress bars."""
    return sys.stderr.isatty()


def first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0]


def print_rows(rows: Mapping[str, Any]) -> None:
    flat = dict(_flat(rows))
    width = max(map(len, flat))
    for name, value in flat.items():
        print(f"  {name.ljust(width)}  {value}")


def _flat(rows: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested rows as one level, names joined by points, numbers as people read them."""
    for name, value in rows.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield f"{prefix}{name}", " ".join(map(str, value))
        else:
            yield f"{prefix}{name}", f"{value:.6g}" if isinstance(value, float) else str(value)


def print_files(paths: Sequence[Path], as_json: bool) -> None:
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        print(f"wrote {path}")


def print_json(content: Mapping[str, Any]) -> None:
    print(json.dumps(content, indent=2, allow_nan=False))
