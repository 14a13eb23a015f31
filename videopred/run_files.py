"""What tells a run by its files: a folder with its settings, one of runs from several seeds, or an export. Light."""

from pathlib import Path

SETTINGS, RECORD = "settings.json", "run.json"
"""In the folder of a run: its settings, and what happened to it."""
SUMMARY = "seeds.json"
"""In a folder of runs from several seeds: which seeds, and what they reached."""
LOCK = ".lock"
"""In the folder of a run: what the process holds that trains it."""
EXPORT = ".safetensors"
"""How the name of an export ends."""


def looks_like_run(path: Path) -> bool:
    """Whether a path is of a run, of runs from several seeds, or ends as an export's, which need not be there."""
    return path.suffix == EXPORT or any((path / name).is_file() for name in (SETTINGS, SUMMARY))


def aside(run: Path) -> Path:
    """Where a run waits, hidden, that another is to replace at its place, until that one has saved something."""
    place = run.resolve()  # `.` has no name, and a link stays where it is
    return place.parent / f".{place.name}.replaced"
