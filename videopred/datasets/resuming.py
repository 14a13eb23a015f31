"""What a stopped generation left: whole files, and hidden folders with the pieces of a file that is not whole yet."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO

import numpy as np

from videopred import check, check_path
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.file_layout import FORMAT
from videopred.datasets.plan import Block, Job, Target
from videopred.datasets.shards import shard_name, shard_names
from videopred.files import folders_of, told_of
from videopred.interrupt import HeldInterrupt
from videopred.software import SOFTWARE
from videopred.systems import open_files_move, take_lock


def still_to_make(job: Job, mine: Sequence[Target], overwrite: bool, alone: bool) -> list[Target]:
    """The files that are still to be made: those that are missing and, with `overwrite`, those with other content.

    A shard that seems to be just what was asked for is kept, but if all are there, `overwrite` has all made again:
    their content may be damaged. Pieces of an unfinished file stay until the file is made, or until `overwrite` lets
    another be made in its place.

    Args:
        job: the whole set.
        mine: those of its files that this process is to make.
        overwrite: whether what is there may be replaced.
        alone: whether no other process was started together with this one.

    Raises:
        FileExistsError: something else is there or half made, or all is there already, and `overwrite` is false.
        OSError: another process is making one of them otherwise.
    """
    missing = _missing(job, mine, overwrite, alone)
    others = [folder for target in missing for folder in PieceFolder(target).others()]
    for folder in filter(_is_held, others):
        raise _busy(folder)
    if others and not overwrite:
        must = "hold no clips of another command that was stopped"
        got = f"{others[0]}, made with other arguments or by another version"
        fix = "run that command again to finish it, choose another name, or give --overwrite to discard its clips"
        raise FileExistsError(check.complaint("--out", must, got, fix))
    return missing


def _missing(job: Job, mine: Sequence[Target], overwrite: bool, alone: bool) -> list[Target]:
    """As `still_to_make`, but pieces are not looked at."""
    if job.shards == 1:
        check_path.absent("--out", job.path, overwrite)
        return list(mine)
    for stray in strays(job):
        _refuse(overwrite, f"{stray}, of another set")
    missing = []
    for target in mine:
        if not target.path.exists():
            missing.append(target)
        elif not _is_it(target):
            _refuse(overwrite, f"{target.path}, with other content")
            missing.append(target)
    if alone and not missing:
        check_path.absent("--out", job.path, overwrite, folder=True)
        return list(mine)
    return missing


def strays(job: Job) -> list[Path]:
    """Shards in the job's folder that are not the job's; a folder with such shards cannot be read as a data set."""
    if job.shards == 1 or not job.path.is_dir():
        return []
    own = {target.path for target in job.targets()}
    return [path for path in (job.path / str(name) for name in shard_names(job.path)) if path not in own]


def _is_it(target: Target) -> bool:
    """Whether what stands at a target's path is the file asked for, made by this version."""
    try:
        file = ClipFile(target.path)
    except ValueError:  # damaged, or something else
        return False
    expected = {**target.attributes, "software": SOFTWARE}
    return all(file.attributes.get(name) == value for name, value in expected.items())


def _refuse(overwrite: bool, got: str) -> None:
    if not overwrite:
        fix = "choose another folder, or give --overwrite to replace it"
        raise FileExistsError(check.complaint("--out", "hold only the shards asked for", got, fix))


class PieceFolder:
    """The hidden folder `.<file>.<key>.pieces` beside a file to be made; what it holds fits that file and no other.

    The key says what is to be made and by which code: pieces of another recipe, or of another version of the program,
    are never mixed in. While `open()` holds it, no other process can make the same file, with whatever arguments, nor a
    shard of another set in the same folder. It goes away when the file is there, with what else was left behind of
    such files; if making fails, it stays.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        told = FORMAT, _code(), sorted(target.attributes.items()), list(target.ranges.items())
        key = hashlib.sha256(repr(told).encode()).hexdigest()[:12]
        self.path = target.path.with_name(f".{target.path.name}.{key}.pieces")

    def path_of(self, block: Block) -> Path:
        """Where the piece of a block stands, if it is there."""
        return self.path / f"{block.part}-{block.start:08}-{block.stop:08}.piece"

    def missing(self) -> list[Block]:
        """The blocks whose pieces are not there; one that is may still prove to be damaged."""
        return [block for block in self._target.blocks() if not self.path_of(block).exists()]

    @contextmanager
    def open(self) -> Iterator[None]:
        """Within it the folder is there, and this process's own.

        Raises:
            OSError: the folder cannot be made, or another process is at the same file or another set's.
        """
        lock_path = self.path / "lock"
        with ExitStack() as held:
            with told_of(self._target.path, argument="--out"):
                held.enter_context(folders_of(lock_path))
                lock = held.enter_context(lock_path.open("ab"))
            if not take_lock(lock, for_children=True):
                raise _busy(self.path)
            try:
                for rival in self._rivals():  # of two that begin at once, both may find that the other has
                    if _is_held(rival):
                        raise _busy(rival)
                yield
            except BaseException:
                if not any(self.path.glob("*.piece")):
                    _remove(self.path, lock)
                raise
            with HeldInterrupt(unignored=True) as interrupt:
                _remove(self.path, lock)
            if interrupt.asked:
                raise KeyboardInterrupt(f"{self._target.path} is made")
            self._sweep()

    def others(self) -> list[Path]:
        """Folders of pieces that these do not fit, because they are of another recipe, version or number of shards."""
        return [folder for folder in self._rivals() if any(folder.glob("*.piece"))]

    def _rivals(self) -> list[Path]:
        """Folders of pieces that other requests made: of the same file, or of shards that cannot stand beside it."""
        folders = self.path.parent.glob(".*.pieces")
        return sorted(folder for folder in folders if folder != self.path and self._excludes(_file_of(folder)))

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
    """Remove a folder of pieces, with its lock, which is held until then if the system allows that.

    What cannot be removed stays: nothing is lost by it.
    """
    if not open_files_move():
        lock.close()
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()
    with suppress(OSError):
        folder.rmdir()  # NFS keeps what is removed while it is open, under another name


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
