"""From a path to the clips that are there."""

from pathlib import Path

from videopred import check
from videopred.datasets.folder import ClipFolder
from videopred.datasets.source import ClipSource
from videopred.datasets.store import ClipFile


def open_dataset(path: Path | str) -> ClipSource:
    """The clips at a path, open for reading: a data file, or a folder of shards.

    Raises:
        FileNotFoundError, ValueError: see `ClipFile` and `ClipFolder`.
        TypeError: it is no path.
    """
    path = check.as_path("DATA", path)
    return ClipFolder(path) if path.is_dir() else ClipFile(path)
