"""The settings by which runs differ, as text. Light."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from videopred.run_files import data_name, last_name


def differing(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """What is not the same in all runs that have it, of data, model and learning: name of its flag, without hyphens in
    front -> its value in each run, a dash in those that do not have it.

    Args:
        settings: run -> what its settings.json says.
    """
    told = [{name: setting_told(value) for name, value in _flat(one)} for one in settings.values()]
    marks = [(one.get("data") or {}).get("sha256", "") for one in settings.values()]
    called = [one.get("data") for one in told]
    if len(set(zip(called, marks, strict=True))) > len(set(called)):  # of some name, there are other clips
        told = [one | {"data": f"{one.get('data')} ({mark[:8]}…)"} for one, mark in zip(told, marks, strict=True)]
    every = dict.fromkeys(name for one in told for name in one)
    names = [name for name in every if len({one[name] for one in told if name in one}) > 1]
    return {name: [one.get(name, "–") for one in told] for name in names}


def setting_told(value: Any) -> str:
    """A setting as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "–"
    return "–" if value is None else str(value)


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if path := (settings.get("data") or {}).get("path"):
        yield "data", data_name(Path(path))
    for name, value in (settings.get("model") or {}).items():
        if not isinstance(value, Mapping):
            yield name, value
            continue
        yield name, value.get("source", value.get("kind"))  # a part of one's own is told by its source
        own = value.get("settings", {})
        inner = {name: one for name, one in {**value, **own}.items() if name not in ("kind", "source", "settings")}
        yield from ((f"{name}.{one}".replace("_", "-"), value) for one, value in inner.items())
    for name, value in (settings.get("training") or {}).items():
        yield name.replace("_", "-"), value
    first = settings.get("init_from")
    yield "init-from", first and last_name(Path(first))
