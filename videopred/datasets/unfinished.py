"""A file on its way: the hidden folder where its pieces wait, so that a stopped generation goes on where it was."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO

import numpy as np

from videopred import check
from videopred.datasets.plan import Block, Target
from videopred.datasets.record import FORMAT
from videopred.datasets.shards import shard_name
from videopred.files import told_of
from videopred.systems import open_files_move, take_lock


class Unfinished:
    """The folder `.<file>.<key>.pieces` beside a file to be made; what it holds fits that file and no other.

    The key says what is to be made and by which code: pieces of another recipe, or of another version of the program,
    are never mixed in. Within it no other process can be at the same file, whatever that was asked to make, or at a
    shard of another set in the same folder. It goes away when the file is there, with what else was left behind of
    such files; if making fails, it stays.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        told = FORMAT, _code(), sorted(target.attributes.items()), list(target.ranges.items())
        key = hashlib.sha256(repr(told).encode()).hexdigest()[:12]
        self.folder = target.path.with_name(f".{target.path.name}.{key}.pieces")

    def path_of(self, block: Block) -> Path:
        """Where the piece of a block stands, if it is there."""
        return self.folder / f"{block.part}-{block.start:08}-{block.stop:08}.piece"

    def missing(self) -> list[Block]:
        """The blocks whose pieces are not there; one that is may still prove to be damaged."""
        return [block for block in self._target.blocks() if not self.path_of(block).exists()]

    @contextmanager
    def open(self) -> Iterator[None]:
        """Within it the folder is there, and this process's own.

        Raises:
            OSError: the folder cannot be made, or another process is at the same file or another set's.
        """
        with told_of(self._target.path, argument="--out"):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("ab")
        with lock:
            if not take_lock(lock, for_children=True):
                raise _busy(self.folder)
            try:
                for rival in self._rivals():  # of two that begin at once, both may find that the other has
                    if _is_held(rival):
                        raise _busy(rival)
                yield
            except BaseException:
                if not any(self.folder.glob("*.piece")):
                    with suppress(OSError):
                        _remove(self.folder, lock)
                raise
            _remove(self.folder, lock)
            self._sweep()

    def others(self) -> list[Path]:
        """Folders of pieces that these do not fit, because they are of another recipe, version or number of shards."""
        return [folder for folder in self._rivals() if any(folder.glob("*.piece"))]

    def _rivals(self) -> list[Path]:
        """Folders of pieces that other requests made: of the same file, or of shards that cannot stand beside it."""
        folders = self.folder.parent.glob(".*.pieces")
        return sorted(folder for folder in folders if folder != self.folder and self._excludes(_file_of(folder)))

    def _excludes(self, file: str) -> bool:
        """Whether a file is this one, or a shard of another set than the one that this is of."""
        if file == self._target.path.name:
            return True
        own, other = shard_name(self._target.path.name), shard_name(file)
        return own is not None and other is not None and (own.name, own.shards) != (other.name, other.shards)

    def _sweep(self) -> None:
        """Remove what rivals left behind and nobody is at."""
        for folder in self._rivals():
            with suppress(OSError), (folder / "lock").open("ab") as lock:
                if take_lock(lock, for_children=True):
                    _remove(folder, lock)


def _remove(folder: Path, lock: IO[bytes]) -> None:
    """Remove a folder of pieces, with its lock, which is held until then if the system allows that."""
    if not open_files_move():
        lock.close()
    shutil.rmtree(folder)


def _file_of(folder: Path) -> str:
    """The name of the file whose pieces are in a folder `.<file>.<key>.pieces`."""
    return folder.name.removeprefix(".").rsplit(".", 2)[0]


def _busy(folder: Path) -> OSError:
    """The complaint that another process is at the pieces in a folder."""
    file, must = folder.with_name(_file_of(folder)), "be a file that no other process is making"
    return OSError(check.complaint("--out", must, f"{file}, which is being made", "wait for it, or choose another"))


def _is_held(folder: Path) -> bool:
    """Whether another process is at the pieces in a folder."""
    with suppress(OSError), (folder / "lock").open("ab") as lock:
        return not take_lock(lock, for_children=True)
    return False


@cache
def _code() -> str:
    """A hash of all that decides the bytes of a piece: this package's code, and the libraries below it."""
    digest = hashlib.sha256(f"{np.__version__} {version('zlib-ng')}".encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
