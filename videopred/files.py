"""Files written whole or not at all, and what is said of arrays that are not."""

import errno
import json
import os
import secrets
import shutil
import time
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from io import BytesIO
from pathlib import Path
from stat import S_IMODE, S_IWUSR
from typing import Any

from videopred import check, check_path
from videopred.interrupt import HeldInterrupt
from videopred.systems import home_of_processes, is_alive, replace, with_closing

DAMAGED_ARRAY = (ValueError, TypeError, KeyError, EOFError, SyntaxError, tokenize.TokenError)
"""What NumPy raises where the head of an array is damaged, which it reads as Python."""

_DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
"""What zipfile raises where an archive is damaged; the last two of methods and keys that a changed byte speaks of."""
_DAY = 86400  # s


@contextmanager
def whole_file(path: Path, argument: str | None = None) -> Iterator[Path]:
    """A name beside `path` to write to; what stands there becomes `path` if the block ends well, else it goes away.

    The folder is made, and goes away again if nothing comes of it; what was at `path` is replaced at the very end. A
    link stays, and the file comes to where it leads, such as another disk. A killed process leaves the temporary file,
    `.<name>.<machine>-<process>-<random>.partial`, and never half a file under the final name; whoever writes the same
    file next on that machine clears it away, or a day later on another. A file that replaces another has its rights.

    Args:
        path: the file to make.
        argument: what the user gave it as, such as `--out`; None if it was not given by name.

    Raises:
        OSError: the disk is full, or the folder cannot be written to; one line that names `path`.
    """
    target = _led_to(path)
    partial = _beside(target, "partial")
    with told_of(path, argument=argument), folders_of(target):
        try:
            _clear(target, "partial")
            yield partial
            _let_the_same_in(target, partial)
            replace(partial, target)
        finally:
            with suppress(OSError):  # nothing there: renamed, or never made
                partial.unlink()


def write_text(path: Path, text: str) -> Path:
    """Write a text as a whole file, see `whole_file`, and return its path."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> Path:
    """Write a whole file, see `whole_file`, and return its path."""
    with whole_file(path) as partial:
        partial.write_bytes(content)
    return path


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> Path:
    """Write arrays as a whole .npz file, see `whole_file`, and return its path."""
    import numpy as np

    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return path


def write_all(contents: Mapping[Path, bytes | str], *, overwrite: bool, obsolete: Iterable[Path] = ()) -> list[Path]:
    """Write several whole files below --out, all of them or none, and return their paths; see `write_each`."""
    return write_each(contents.items(), overwrite=overwrite, obsolete=obsolete)


def write_each(
    contents: Iterable[tuple[Path, bytes | str]], *, overwrite: bool, obsolete: Iterable[Path] = ()
) -> list[Path]:
    """Write several whole files below --out, all of them or none, see `whole_file`, and return their paths.

    What was there comes back, from a copy, if one of them cannot take its name. Signals wait until all have theirs.

    Args:
        contents: path and content of each. They may be made as they are asked for, if all together would fill the
            memory: each waits on the disk until the last is there.
        overwrite: replace files that are there.
        obsolete: files or links beside them that say nothing of the new ones, and go just before these come.

    Raises:
        FileExistsError: one is there and `overwrite` is false, also if it came while contents were made.
    """
    paths: list[Path] = []
    interrupt = HeldInterrupt()
    with ExitStack() as folders, ExitStack() as held, ExitStack() as copies, ExitStack() as undo:
        with ExitStack() as files:
            for path, content in contents:
                paths.append(check_path.absent("--out", path, overwrite))
                with told_of(path):
                    folders.enter_context(folders_of(_led_to(path)))
                file = files.enter_context(whole_file(path))
                file.write_bytes(content.encode() if isinstance(content, str) else content)
            held.enter_context(interrupt)
            for path in paths:
                check_path.absent("--out", path, overwrite)
            for path in paths:
                with told_of(path):
                    _keep(_led_to(path), copies, undo)
            for path in obsolete:
                with told_of(path), suppress(FileNotFoundError):
                    copy = _beside(path, "replaced")
                    replace(path, copy)
                    copies.callback(_remove, copy)
                    undo.callback(_bring_back, copy, path)
        undo.pop_all()
    interrupt.stop_if_asked()
    return paths


def _keep(target: Path, copies: ExitStack, undo: ExitStack) -> None:
    """Copy what is at a path, if anything is; to `copies` comes how the copy goes away, to `undo` how it comes back."""
    if not target.exists():
        undo.callback(target.unlink, missing_ok=True)
        return
    copy = _beside(target, "replaced")
    copies.callback(_remove, copy)
    _clear(target, "replaced")
    shutil.copy(target, copy)
    undo.callback(_bring_back, copy, target)


def _remove(path: Path) -> None:
    with suppress(OSError):  # nothing there, or somebody reads it
        path.unlink()


def _bring_back(copy: Path, target: Path) -> None:
    with suppress(OSError):  # on Windows, of what is held open: it was not replaced either
        replace(copy, target)


def _led_to(path: Path) -> Path:
    """Where a file comes to that is written at a path: if a link is there, to where it leads, such as another disk."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def json_text(content: Mapping[str, Any]) -> str:
    """The text of a JSON file; ValueError for NaN, which JSON does not know."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def write_json(path: Path, content: Mapping[str, Any]) -> Path:
    """Write a JSON file as a whole file, see `whole_file`, and return its path; ValueError as for `json_text`."""
    return write_text(path, json_text(content))


def read_json(path: Path, fix: str = "make it again") -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        FaultyFileError: the file is damaged or holds something else; `fix` says what to do.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # the latter of what is nested too deeply
        content = None
    check.require_sound(isinstance(content, dict), str(path), "hold JSON", "something else", fix)
    return content


def keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a JSON file that people write, for `json.loads` to make; ValueError if it gives a key twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in content if names.count(name) > 1)!r} twice in one object")
    return content


def array_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Arrays as the content of an .npz file."""
    import numpy as np

    content = BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


@contextmanager
def whole_npz(argument: str, path: Path, fix: str) -> Iterator[None]:
    """Within it, what reading a damaged .npz file leads to becomes a FaultyFileError; one of another kind is one."""
    must, other = "be a whole .npz file", f"{path} (damaged, or of another kind)"
    with path.open("rb") as file:
        check.require_sound(zipfile.is_zipfile(file), argument, must, other, fix)
    try:
        yield
    except check.FailedError:
        raise
    except (*_DAMAGED_ZIP, *DAMAGED_ARRAY, OSError) as error:
        check.require_access(error, path)
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # as of places before the beginning
            raise
        raise check.FaultyFileError(check.complaint(argument, must, f"{path} ({error})", fix)) from None


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder beside `path` to fill; it becomes `path` if the block ends well, else it goes away.

    What was at `path` is replaced at the very end. A killed process leaves a hidden folder as `whole_file` does, and
    never half of the files under the final name.

    Args:
        path: the folder to make.

    Raises:
        OSError: the disk is full, or the folder cannot be written to; one line that names `path`.
    """
    target = Path(os.path.realpath(path))  # else x/../x would lead nowhere while there is no x
    partial, replaced = _beside(target, "partial"), _beside(target, "replaced")
    with told_of(path, "folder"), folders_of(target):
        try:
            _clear(target, "partial")
            partial.mkdir()
            _let_the_same_in(target, partial)
            yield partial
            with HeldInterrupt() as interrupt:  # between two names, the old folder has none that is known
                with suppress(FileNotFoundError):
                    replace(target, replaced)  # a folder that holds something gives its name to no other
                try:
                    replace(partial, target)
                except OSError:
                    with suppress(FileNotFoundError):
                        replace(replaced, target)
                    raise
                shutil.rmtree(replaced, ignore_errors=True)
                _clear(target, "replaced")  # not before, for what was there may be in one of them alone
            interrupt.stop_if_asked()
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def told_of(
    path: Path, kind: str = "file", argument: str | None = None, elsewhere: str = "choose another place"
) -> Iterator[None]:
    """What the system says of writing becomes one line that names `path`.

    Args:
        path: what is written.
        kind: what it is.
        argument: what the user gave it as; None if it was not given by name.
        elsewhere: what to do where nobody may write there.

    Raises:
        OSError: that line; PermissionError where it is of one.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of our own lines
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        fix = "free some space or choose another disk" if full else with_closing(elsewhere, error)
        why = error.strerror or error
        got = why if argument is None else f"{path} ({why})"
        line = check.complaint(argument or str(path), f"be a {kind} that can be written", got, fix)
        raise (PermissionError if isinstance(error, PermissionError) else OSError)(line) from error


@contextmanager
def folders_of(path: Path) -> Iterator[None]:
    """The folders that a path lies in, made if they are not there; those go away again if the block fails."""
    place = Path(os.path.realpath(path.parent))  # a link above may lead to a folder that is to be made, too
    made = [folder for folder in (place, *place.parents) if not folder.exists()]  # the innermost first
    try:
        place.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):  # never made, or others have put something there
                folder.rmdir()
        raise


def _let_the_same_in(old: Path, new: Path) -> None:
    """Give a file or folder the rights of what it replaces, if anything is there; its owner may always write there."""
    with suppress(OSError):  # nothing there, or a disk without rights
        new.chmod(S_IMODE(old.stat().st_mode) | S_IWUSR)


def _beside(path: Path, ending: str) -> Path:
    """A hidden name beside a path that no other process takes, here or on another machine with the same disk."""
    return path.with_name(f".{path.name}.{home_of_processes()}-{os.getpid()}-{secrets.token_hex(3)}.{ending}")


def _clear(path: Path, ending: str) -> None:
    """Remove what dead processes left of the same file.

    Those of another machine or container cannot be asked; what they have not touched for a day goes.
    """
    for left in path.parent.glob(f".{escape(path.name)}.*-*-*.{ending}"):
        with suppress(OSError, ValueError):  # another process may be at it; and other names are none of ours
            name, _, told = left.name.removesuffix(f".{ending}").rpartition(".")
            if name != f".{path.name}":  # as of run.v2 beside run
                continue
            home, process, _ = told.split("-")
            here, touched = home == home_of_processes(), left.stat().st_mtime
            if is_alive(int(process)) if here else time.time() - touched < _DAY:
                continue
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink()
