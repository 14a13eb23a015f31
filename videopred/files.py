"""Files written whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from videopred import check


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; what stands there becomes `path` if the block ends well, else it goes away.

    The folder is made, and what was at `path` is replaced at the very end. A killed process leaves the temporary file,
    `.<name>.<process>.partial`, and never half a file under the final name; whoever writes the same file next clears
    it away.

    Args:
        path: the file to make.

    Raises:
        OSError: the disk is full, or the folder cannot be written to; one line that names `path`.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with told_of(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _clear(path)
            yield partial
            partial.replace(path)
        finally:
            with suppress(OSError):  # nothing there: renamed, or never made
                partial.unlink()


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """What the system says of writing becomes one line that names `path`.

    Raises:
        OSError: that line.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of our own lines
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        fix = "free some space or choose another disk" if full else "choose another place"
        raise OSError(
            check.complaint(str(path), "be a file that can be written", error.strerror or error, fix)
        ) from error


def _clear(path: Path) -> None:
    """Remove what dead processes left of the same file."""
    for partial in path.parent.glob(f".{escape(path.name)}.*.partial"):
        process = partial.name.removesuffix(".partial").rpartition(".")[2]
        if process.isdecimal() and not _lives(int(process)):
            partial.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        pass
    return True
