"""What a path that a user gives must be: text or a path, there, free, or that of a run. See also `check`."""

import os
import shutil
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from videopred.amounts import size
from videopred.check import complaint, require, require_kind
from videopred.run_files import EXPORT, SETTINGS, SUMMARY, aside, is_seed_folder, looks_like_run
from videopred.spelling import nearest_path, nearest_run
from videopred.systems import shell_quoted
from videopred.typed_commands import typed_command

_OF_PAGES = (".html", ".pdf", ".tex")  # endings that make the name of a folder one that was meant for a file
_NAME, _ADDED = 255, 34  # bytes of a name that disks take; of what files that come and go beside it add to it


def as_path(argument: str, value: Any, fix: str = "give it as text or as a pathlib.Path") -> Path:
    """The path that a text or a path means.

    Raises:
        TypeError: it is neither. ValueError: it is a text that begins with ~.
    """
    got = f"{value!r}, of class {type(value).__name__}"
    require_kind(isinstance(value, str | PathLike), argument, "be a path", got, fix)
    if isinstance(value, str):
        no_tilde(argument, value)
    return Path(value)


def no_tilde(argument: str, value: str) -> None:
    """Refuse a path with the ~ that a shell or `Path.expanduser` replaces: libraries differ in what it means."""
    fix = f"write the home folder in its place, such as $HOME, or ./{value} if that is the name"
    require(not value.startswith("~"), argument, "begin with no ~, which nothing has replaced", value, fix)


def not_a_path(argument: str, value: Any, must: str, opener: str) -> None:
    """Raise TypeError for a path where what is in it is wanted; the message has the call that opens it."""
    require_kind(not isinstance(value, str | Path), argument, must, value, f"give videopred.{opener}({str(value)!r})")


def existing_file(argument: str, path: Path, fix: str) -> Path:
    """Return the path if a file is there.

    Raises:
        FileNotFoundError: nothing, or no file, is there; `fix` names the command that makes the file.
    """
    if path.is_file():
        return path
    must = "be an existing file"
    if not path.exists():
        raise not_found_error(argument, must, path, fix, nearest_path(path))
    raise FileNotFoundError(complaint(argument, must, f"{path} ({_no_file(path)})", fix))


def _no_file(path: Path) -> str:
    """What is at a path where no file is."""
    return "a folder" if path.is_dir() else "a device or a pipe"


def not_found_error(argument: str, must: str, path: Path, fix: str, near: str | None) -> FileNotFoundError:
    """The complaint about a path to nothing; `near`, a path that was likely meant, is offered before the fix."""
    offered = fix if near is None else f"did you mean {shell_quoted([near])}? Or {fix}"
    return FileNotFoundError(complaint(argument, must, f"{path} (nothing there)", offered))


def existing(argument: str, path: Path) -> Path:
    """Return the path if a file or folder is there.

    Raises:
        FileNotFoundError: nothing is there.
    """
    if not path.exists():
        fix = "look at its spelling and at the folder you are in"
        raise not_found_error(argument, "be an existing file or folder", path, fix, nearest_path(path))
    return path


def _require_short_names(argument: str, path: Path, added: int = 0) -> None:
    """Raise ValueError if no disk takes such a name, to which so much is added for files that come and go beside it."""
    most = _NAME - added
    fits = _length(path.name) <= most and all(_length(part) <= _NAME for part in path.parts)
    require(fits, argument, f"have names of at most {most} bytes", path, "choose a shorter one")


def _length(name: str) -> int:
    """How much of what disks take a name is: bytes, or units of UTF-16 on Windows, whose Python has no pathconf."""
    return len(os.fsencode(name)) if hasattr(os, "pathconf") else len(name.encode("utf-16-le", "surrogatepass")) // 2


def absent(argument: str, path: Path, overwrite: bool, *, folder: bool = False) -> Path:
    """Return the path if nothing is there, or if overwriting was asked for; and if the folder above takes new files.

    Args:
        argument: what the user gave the path as.
        path: where something is to come.
        overwrite: whether it may replace what is there.
        folder: whether it is a folder; where a file is to come, no folder and no device is ever replaced.

    Raises:
        FileExistsError: something is there and `overwrite` is false, or a file is to come and there is something else.
        TypeError: `overwrite` is neither true nor false.
        ValueError: a name in it is too long for a disk.
        OSError: what is above it is no folder, or may not be written into.
    """
    require_kind(isinstance(overwrite, bool), "overwrite", "be True or False", repr(overwrite), "choose one of these")
    _require_short_names(argument, path, _ADDED)
    if not folder and path.exists() and not path.is_file():
        raise FileExistsError(complaint(argument, "be a file", f"{path} ({_no_file(path)})", "choose another name"))
    if path.exists() and not overwrite:
        fix = "choose another name, or give --overwrite to replace it"
        raise FileExistsError(complaint(argument, "be a new path", f"{path} (already there)", fix))
    place = _place(path)
    for link in (one for one in (path, *path.parents) if one.is_symlink()):
        target = Path(os.path.realpath(link))
        if not target.parent.is_dir():  # as of a disk that is not there now
            got = f"{path}, {'a' if link == path else f'where {link} is a'} link to {target}"
            fix = f"make {target.parent}, or choose another place"
            raise FileNotFoundError(complaint(argument, "lead into a folder that is there", got, fix))
    above = next((parent for parent in place.parents if os.path.exists(parent)), None)
    if above is None or not (above.is_dir() and os.access(above, os.W_OK)):
        lacks = (
            "it has no drive" if above is None else f"{above} is {'write-protected' if above.is_dir() else 'no folder'}"
        )
        got = f"{path}, but {lacks}"
        raise OSError(complaint(argument, "be a path that can be written", got, "choose another place"))
    return path


def _place(path: Path) -> Path:
    """Where something is written: a link stays, and leads there; `resolve` raises where it leads to itself."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path.absolute()


def lacking_room(argument: str, path: Path, needed: float, uses: str) -> str:
    """A complaint if there are fewer bytes free where a file or folder is to come than are needed; else empty."""
    folder = next(folder for folder in _place(path).parents if folder.is_dir())
    disk = shutil.disk_usage(folder)
    if disk.free >= needed or disk.total == 0:  # what is no disk, and some network drives, do not say their size
        return ""
    must, fix = f"be on a disk with {size(needed)} free, for {uses}", f"free some space, or choose another {argument}"
    return complaint(argument, must, f"{size(disk.free)} at {folder}", fix)


def folder_for(path: Path, names: Iterable[str]) -> Path:
    """Return the path of --out if it may be a folder for files of these names: no file, and without endings of files.

    Raises:
        ValueError: it is or does, or a name in it is too long for a disk.
    """
    _require_short_names("--out", path)
    names = list(names)
    like_a_file = path.is_file() or path.suffix in {*_OF_PAGES, *(Path(name).suffix for name in names)}
    fix = f"leave the ending out: the folder gets {', '.join(names)}"
    require(not like_a_file or path.is_dir(), "--out", "be a folder", path, fix)
    return path


def free_folder(path: Path, overwrite: bool) -> Path:
    """Return the path of --out if nothing is there, or an empty folder, or if overwriting was asked for.

    Raises:
        FileExistsError: something is there and `overwrite` is false.
    """
    empty = path.is_dir() and not any(path.iterdir())
    return path if empty else absent("--out", path, overwrite, folder=True)


def run_folder(run: Path, argument: str = "RUN") -> Path:
    """Return the path if it is a folder that `videopred train` wrote, or a file that `videopred export` wrote.

    What is in the file is `load_run`'s matter. `argument` is what the user gave it as.

    Raises:
        FileNotFoundError: a folder without settings.json, another file, or nothing.
    """
    if (run / SETTINGS).is_file() or (run.is_file() and run.suffix == EXPORT):
        return run
    must = "be a run folder with a settings.json"
    if (run / SUMMARY).is_file():
        there = [seed for seed in run.glob("seed-*") if is_seed_folder(seed.name)]
        there.sort(key=lambda seed: (len(seed.name), seed.name))  # seed-2 before seed-10
        fix = f"give one of them: {', '.join(map(str, there or [run / 'seed-0']))}"
        raise FileNotFoundError(complaint(argument, must, f"{run}, which holds runs from several seeds", fix))
    fix = "give a folder that `videopred train` wrote, as `videopred runs` lists them, or a file of `videopred export`"
    if waits := waiting_run(run):
        raise FileNotFoundError(complaint(argument, must, run, waits))
    if runs := [str(one.parent) for one in sorted(run.glob(f"*/{SETTINGS}"))]:
        more = ", …" if len(runs) > 3 else ""
        fix = f"give one of them: {', '.join(runs[:3])}{more}"
        raise FileNotFoundError(complaint(argument, must, f"{run}, which holds runs", fix))
    if exports := [str(one) for one in sorted(run.glob(f"*{EXPORT}"))]:
        more = ", …" if len(exports) > 3 else ""
        several = "; `evaluate` and `report` take several" if len(exports) > 1 else ""
        fix = f"give one of them: {', '.join(exports[:3])}{more}{several}"
        raise FileNotFoundError(complaint(argument, must, f"{run}, which holds exports", fix))
    if not run.exists():
        raise not_found_error(argument, must, run, fix, nearest_run(run))
    if run.suffix == ".ckpt" and (inside := run.resolve().parent).name == "checkpoints":
        place = run.parent.parent if run.parent.name == inside.name else inside.parent
        export = typed_command(("export", str(place), "--checkpoint", run.resolve().stem))
        fix = f"make it one file with `{export}`, and give that"
    got = f"{run}, a data file" if run.suffix == ".h5" else run
    raise FileNotFoundError(complaint(argument, must, got, fix))


def waiting_run(run: Path) -> str:
    """What to do where the run that another was to replace still waits beside their place; empty if none does."""
    old = aside(run)
    if not os.path.lexists(old):  # which knows no name that is too long
        return ""
    gone = f"delete {run} and " if run.exists() else ""
    return f"the run that was to be replaced waits in {old}: {gone}give that its name"


def export_name(out: Path) -> Path:
    """Return the path if its name is an export's.

    Raises:
        ValueError: it has another ending.
    """
    require(out.suffix == EXPORT, "--out", f"end in {EXPORT}", out, "rename it")
    return out


def run_or_runs(folder: Path) -> None:
    """Refuse a path of --resume unless it is a run folder, or one of runs from several seeds, or an export.

    Raises:
        FileNotFoundError: it is none of them.
    """
    if looks_like_run(folder):
        return
    must, fix = "be a folder that `videopred train` wrote", "`videopred runs` lists those in models/"
    if waits := waiting_run(folder):
        raise FileNotFoundError(complaint("--resume", must, folder, waits))
    if not folder.exists():
        raise not_found_error("--resume", must, folder, f"choose another: {fix}", nearest_run(folder))
    raise FileNotFoundError(complaint("--resume", must, folder, fix))
