"""Files written whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from videopred import check


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; what stands there becomes `path` if the block ends well, else it goes away.

    The folder is made, and what was at `path` is replaced at the very end. A killed process leaves the temporary file,
    `.<name>.<process>.partial`, and never half a file under the final name.

    Args:
        path: the file to make.

    Raises:
        OSError: the disk is full, or the folder cannot be written to; one line that names `path`.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        fix = "free some space or choose another disk" if full else "choose another place"
        raise OSError(
            check.complaint(str(path), "be a file that can be written", error.strerror or error, fix)
        ) from error
    finally:
        with suppress(OSError):  # nothing there: renamed, or never made
            partial.unlink()
