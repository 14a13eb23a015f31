"""A run folder, or one of runs from several seeds, belongs to one training at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import fstat
from os.path import samestat
from pathlib import Path
from typing import IO

from videopred import check
from videopred.files import told_of
from videopred.processes import is_first_of_training
from videopred.run_files import LOCK
from videopred.systems import open_files_move, take_lock


class FolderLock:
    """Holds a run against other processes, until it is let go or the process ends in any way, kill -9 too.

    The system keeps such locks, not the file: one that a dead process left locks nobody out. They are those of POSIX,
    which NFS knows and which no child inherits, so that a loader process that outlives a killed training holds none;
    on Windows, its own. Where a file system has no locks, nothing is held. One process cannot lock itself out.

    Args:
        run: its folder, for complaints.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._held: list[IO[bytes]] = []
        self._asked: dict[Path, str] = {}

    def hold(self, argument: str, folder: Path) -> None:
        """Hold a folder, if it is there.

        Args:
            argument: what the user gave the run as, such as `--out`.
            folder: that of the run, or where its files wait meanwhile.

        Raises:
            FailedError: another process trains it. OSError: it cannot be written to.
        """
        self._asked[folder] = argument
        if not folder.is_dir():
            return
        lock = folder / LOCK
        if lock.exists() and any(samestat(fstat(file.fileno()), lock.stat()) for file in self._held):
            return  # a second lock on it would be another's on some systems
        fix = "copy it to where you can write, and name the copy" if argument == "--resume" else "choose another place"
        with told_of(self._run, "folder", argument, fix):
            file = lock.open("ab")
        self._held.append(file)
        if not take_lock(file):
            self.let_go()
            must, fix = "be a run that nobody trains now", "wait for it, or stop it with Ctrl-C or SIGTERM"
            got = f"{self._run}, which another process trains"
            raise check.FailedError(check.complaint(argument, must, got, fix))

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Within it the folders can be renamed and removed. Windows does that to none with a file open in it, so there
        they are let go meanwhile.
        """
        if not open_files_move():
            self.let_go()
        yield
        if not open_files_move():
            for folder, argument in self._asked.items():
                self.hold(argument, folder)

    def let_go(self) -> None:
        """Leave the folders to others."""
        for file in self._held:
            file.close()
        self._held.clear()


@contextmanager
def held(argument: str, folder: Path) -> Iterator[FolderLock]:
    """Within it a folder is held against other processes, if it is there; in processes but the first it is not.

    Args:
        argument: what the user gave it as.
        folder: that of a run, or of runs from several seeds, which are held as a whole.

    Raises:
        FailedError: another process trains there. OSError: it cannot be written to.
    """
    lock = FolderLock(folder)
    try:
        if is_first_of_training():
            lock.hold(argument, folder)
        yield lock
    finally:
        lock.let_go()
