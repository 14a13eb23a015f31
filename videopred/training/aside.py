"""A run that another is to replace waits aside, and comes back if that one has saved nothing. Light."""

import shutil
from pathlib import Path

from videopred.run_files import aside
from videopred.systems import replace
from videopred.training.locking import FolderLock
from videopred.training.places import foreign_files


def bring_back(out: Path) -> None:
    """Put things right at a place of runs after a process that ended between setting a run aside and saving a new one.

    Raises:
        ValueError: another process trains there.
    """
    if not aside(out).exists():
        return
    lock = FolderLock(out)
    try:
        lock.hold("--out", aside(out))
        lock.hold("--out", out)
        settle_place(out, lock)
    finally:
        lock.let_go()


def settle_place(out: Path, lock: FolderLock) -> None:
    """Leave one run of two: the new one if it has saved something, else the one that was set aside.

    Where something else has come to lie at their place, such as notes or runs from several seeds, nothing is changed.

    Args:
        out: their place.
        lock: holds them.
    """
    place, old = out.resolve(), aside(out)
    if not old.exists():
        return
    with lock.lifted():
        if any((place / "checkpoints").glob("*.ckpt")):
            shutil.rmtree(old)
        elif not place.is_file() and not foreign_files(place):
            shutil.rmtree(place, ignore_errors=True)
            replace(old, place)
