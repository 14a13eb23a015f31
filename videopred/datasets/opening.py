"""From a path to the clips that are there."""

from pathlib import Path

from videopred import check
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.clip_folder import ClipFolder
from videopred.datasets.clip_source import ClipSource


def open_dataset(path: Path | str) -> ClipSource:
    """The clips at a path, open for reading: a data file, or a folder of shards.

    Raises:
        FileNotFoundError, ValueError: see `ClipFile` and `ClipFolder`.
        TypeError: it is no path.
    """
    path = check.as_path("DATA", path)
    return ClipFolder(path) if path.is_dir() else ClipFile(path)


def kept_clips(learned_from: str) -> Path | None:
    """Where the clips are that a run learned from, as its settings name them; None if they are in no file, or gone."""
    path = Path(learned_from)
    return path if path.exists() and path.suffix != ".json" else None  # a recipe, which they were made from
