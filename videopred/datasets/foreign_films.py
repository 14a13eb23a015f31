"""Films of another origin: as others keep them, and as they come into our files."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check
from videopred.systems import PERMISSIONS, with_closing


@dataclass(frozen=True)
class RawFilms:
    """Films as others keep them, whatever their numbers mean."""

    path: Path
    """Where they are, as the user gave it."""
    found: Mapping[str, Any]
    """What is said of how they are kept."""
    names: Sequence[str]
    """What each clip is called when something is wrong with it."""
    frames: Callable[[int], Iterator[np.ndarray]]
    """Clip -> its frames (H, W, C), one after the other."""
    frame_name: Callable[[int, int], str] | None = None
    """(clip, frame) -> what a frame is called, if it has a name of its own."""
    parts: Mapping[str, int] | None = None
    """Part -> number of its clips, which come part after part; None: all are of the part that is asked for."""
    grey_in_color: bool = False
    """Whether the format has three channels for grey films, too, so that grey is known by looking only."""

    def called(self, clip: int, frame: int) -> str:
        """How to call a frame of a clip, both counted from 0."""
        return self.frame_name(clip, frame) if self.frame_name else f"frame {frame} of {self.names[clip]}"


@dataclass(frozen=True)
class ConvertedFilms:
    """Films in the form that our files have, read clip by clip when they are asked for."""

    found: Mapping[str, Any]
    """What was found out about them, to be said to the user: layout, range, sizes, …"""
    parts: Mapping[str, int]
    """train, validation, test -> number of clips; those that are there."""
    record: Callable[[str, int], Mapping[str, np.ndarray]]
    """(part, index) -> the arrays of one clip by their names in our files, `features` (T, H, W, C) first of all."""


@contextmanager
def whole_source(path: Path, damage: tuple[type[Exception], ...], must: str, fix: str) -> Iterator[None]:
    """Within it, what a library raises of a damaged file becomes a FaultyFileError in one line.

    Args:
        path: the file.
        damage: what the library raises.
        must: what would have been right.
        fix: what the user can do.
    """
    try:
        yield
    except check.FailedError:  # one of our own lines
        raise
    except damage as error:
        if isinstance(error, PermissionError):  # a line of ours, or whoever is writing takes it for refused there
            advice = with_closing(PERMISSIONS, error)
            raise PermissionError(check.complaint(str(path), "be accessible", "Permission denied", advice)) from None
        check.require_access(error, path)
        raise check.FaultyFileError(check.complaint("SOURCE", must, f"{path} ({error})", fix)) from None


def visible(folder: Path) -> list[Path]:
    """The files and folders in a folder, but for hidden ones, by name; numbers in names by their value: 2 before 10."""
    there = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(there, key=lambda path: (by_number(path.name), path.name))  # or 2 and 02 come as systems list them


def by_number(name: str) -> list[tuple[int, str]]:
    """A sort key for names, which orders the numbers in them by their value."""
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"(\d+)", name)]
