"""What tells a run by its files: a folder with its settings, one of runs from several seeds, or an export. Light."""

import re
from pathlib import Path, PurePath

SETTINGS, RECORD = "settings.json", "run.json"
"""In the folder of a run: its settings, and what happened to it."""
LOG, PROFILE = "log.txt", "profile.json"
"""In the folder of a run: what was said, and where the time went, if it was asked for."""
SUMMARY = "seeds.json"
"""In a folder of runs from several seeds: which seeds, and what they reached."""
LOCK = ".lock"
"""In the folder of a run, or of runs from several seeds: what the process holds that trains there."""
EXPORT = ".safetensors"
"""How the name of an export ends."""
_ENDINGS = {".h5", ".hdf5", ".npy", ".npz", ".gif", ".mp4", ".json"}
"""How names of files of clips, and of recipes, end; the dot in another name is part of it."""


def looks_like_run(path: Path) -> bool:
    """Whether a path is of a run, of runs from several seeds, or ends as an export's, which need not be there."""
    return path.suffix == EXPORT or any((path / name).is_file() for name in (SETTINGS, SUMMARY))


def run_of(out: Path, seed: int) -> Path:
    """The run from a seed, in the folder of those from several."""
    return out / f"seed-{seed}"


def export_of(run: Path, checkpoint: str | None = None) -> Path:
    """Where the export of a run, or of a checkpoint of that name, goes unless something else is asked for."""
    run = named_path(run)
    return run.with_name(f"{run.name}{'' if checkpoint is None else f'-{checkpoint}'}{EXPORT}")


def is_seed_folder(name: str) -> bool:
    """Whether the name of a folder is that of the run from a seed, such as seed-0."""
    return re.fullmatch(r"seed-\d+", name) is not None


def run_name(run: Path, others: int = 0) -> str:
    """What results of a run are filed under: its name, that of a seed behind that of its experiment.

    Args:
        run: run folder, or export.
        others: how many more runs were judged together with it.
    """
    return together(last_name(run.resolve()).removesuffix(EXPORT), others)


def together(name: str, others: int) -> str:
    """What results of several are filed under, of which the first has this name."""
    return f"{name}-and-{others}-more" if others else name


def last_name(path: PurePath) -> str:
    """The name of a file or run; that of a run from a seed, or of its export, behind that of its experiment."""
    above = path.parent.name if is_seed_folder(path.name.removesuffix(EXPORT)) else ""
    return f"{above}/{path.name}" if above else path.name


def data_name(path: Path) -> str:
    """What runs and results on clips are called after: the name of a folder, or of a file without its ending.

    It is told by the path alone, so that what a file of results says later, elsewhere, gives the same name.
    """
    named = named_path(path)
    return named.stem if named.suffix.lower() in _ENDINGS else named.name


def named_path(path: Path) -> Path:
    """The path as it was typed, or where `.` and `..` lead, which say nothing to who reads them later."""
    return path if path.name not in ("", "..") else path.resolve()


def aside(run: Path) -> Path:
    """Where a run waits, hidden, that another is to replace at its place, until that one has saved something."""
    place = run.resolve()  # `.` has no name, and a link stays where it is
    return place.parent / f".{place.name}.replaced"
