"""The record of a run, run.json: what it says, how far the run is, and what tells it from others. Light.

A run can be used without its record, as settings and checkpoints make it; then nothing is told of its past. A damaged
record is refused by whatever tells of that past, which would otherwise be silently false or gone. Only a resume goes
on: it keeps the damaged file beside, says so, and begins a record with a stamp of its own.
"""

from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any

from videopred import check
from videopred.files import read_json
from videopred.run_files import RECORD

_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("command", "finished", "started", "state"), (str,)),
    **dict.fromkeys(("cpu_seconds", "seconds", "threads"), (int, float)),
    **dict.fromkeys(("learned", "saved", "updates"), (int, float, NoneType)),
    **{"code": (dict,), "data": (dict, NoneType), "resumed": (list,), "versions": (dict,)},
}
"""Name -> what stands under it, if anything does."""


def read_record(run: Path) -> dict[str, Any]:
    """What the record in a run folder says; nothing if there is none.

    Raises:
        FaultyFileError: it is damaged.
    """
    path = run / RECORD
    if not path.is_file():
        return {}
    fix = "restore it, or delete it, and nothing is told of how the run went"
    record = read_json(path, fix)
    check_record(record, path, fix)
    return record


def check_record(record: Mapping[str, Any], path: Path, fix: str) -> None:
    """Raise FaultyFileError unless what is known of a record is of its kind; `path` is where it stands."""
    known = {name: record[name] for name in _KINDS if name in record}
    odd = [f"{name} {value!r}" for name, value in known.items() if not isinstance(value, _KINDS[name])]
    check.require_sound(not odd, str(path), "hold the record of a run", ", ".join(odd), fix)


def written_by(record: Mapping[str, Any]) -> str | None:
    """Which version of videopred trained a run, such as `videopred 0.1.0`; None if its record does not say."""
    version = record.get("versions", {}).get("videopred")
    return None if version is None else f"videopred {version}"


def updates_saved(record: Mapping[str, Any]) -> int | None:
    """How many updates of a run are saved: `updates` if it has ended, else `saved`; None if nothing says."""
    return record.get("updates", record.get("saved"))


def updates_learned(record: Mapping[str, Any]) -> int | None:
    """Updates behind a run's result: `updates` once it has ended, else `learned`, which an export of an unfinished run
    notes; else None."""
    return record.get("updates", record.get("learned"))


def stamp_of(record: Mapping[str, Any]) -> str | None:
    """The stamp in the record of a run: when it was started, how many updates of it are saved, and of an export also
    how its weights differ from those that stand for the run; None if that is not known."""
    began, saved = _began(record), updates_saved(record)
    if began is None:
        return None
    after = "" if saved is None else f" after {saved} updates"
    return f"{began}{after}" + (f", {record['weights']}" if "weights" in record else "")


def is_of_run(stamp: str, record: Mapping[str, Any]) -> bool:
    """Whether a stamp is of the run with this record, also after more or fewer updates, or of other weights of it."""
    began = _began(record)
    return began is not None and stamp.startswith(began)


def _began(record: Mapping[str, Any]) -> str | None:
    """The time that tells a run from others of its name; of a model that was saved, when that was."""
    return record.get("started", record.get("finished"))
