"""From a path to the clips that are there."""

from pathlib import Path

from videopred.datasets.source import ClipSource
from videopred.datasets.store import ClipFile


def open_dataset(path: Path | str) -> ClipSource:
    """The clips at a path, open for reading.

    Raises:
        FileNotFoundError, ValueError: see `ClipFile`.
    """
    return ClipFile(path)
