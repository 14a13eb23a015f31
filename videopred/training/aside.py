"""A run that another is to replace waits aside, and comes back if that one has saved nothing. Light."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from videopred.run_files import aside, run_of
from videopred.systems import replace
from videopred.training.locking import FolderLock, held
from videopred.training.places import foreign_files


def bring_back(out: Path) -> None:
    """Put things right at a place of runs after a process that ended between setting a run aside and saving a new one.

    Raises:
        ValueError: another process trains there.
    """
    if not os.path.lexists(aside(out)):  # which knows no name that is too long
        return
    lock = FolderLock(out)
    try:
        lock.hold("--out", aside(out))
        lock.hold("--out", out)
        settle_place(out, lock)
    finally:
        lock.let_go()


def bring_back_seeds(out: Path, seeds: Sequence[int]) -> None:
    """Do so for the runs from several seeds, of which one may wait while others are trained.

    Raises:
        ValueError: another process trains any of them.
    """
    runs = [run_of(out, seed) for seed in seeds]
    if not any(os.path.lexists(aside(run)) for run in runs):
        return
    with held("--out", out):
        for run in runs:
            bring_back(run)


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
