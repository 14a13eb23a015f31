"""How a complaint to a user reads: `<argument> must …, got <value>; <what to do>`.

Other modules say what was wrong through these functions, so that all messages read alike.
"""

import errno
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

from videopred.printable import printable
from videopred.run_files import EXPORT, SETTINGS, SUMMARY, looks_like_run
from videopred.spelling import nearest, nearest_path, nearest_run

_NAME, _ADDED = 255, 33  # bytes of a name that disks take; of what files that come and go beside it add to it


def complaint(argument: str, must: str, got: Any, fix: str) -> str:
    """One line: what, what it must be, what it was, what to do.

    Args:
        argument: name as the user typed it, e.g. `--context`.
        must: what would have been right, e.g. `be at least 1`.
        got: the offending value; shown as it prints, in one line, cut at 300 characters. What in any part cannot be
            printed, as names of files may hold, is shown as an escape.
        fix: what the user can do now.
    """
    shown = re.sub(r"\s*\n\s*", " ", str(got))
    shown = shown if len(shown) <= 300 else shown[:297] + "..."
    return printable(f"{argument} must {must}, got {shown}; {fix}")


def require(condition: bool, argument: str, must: str, got: Any, fix: str) -> None:
    """Raise ValueError with a `complaint` unless the condition holds."""
    if not condition:
        raise ValueError(complaint(argument, must, got, fix))


def each_once(argument: str, values: Iterable[Any], must: str = "name each once", fix: str = "leave one out") -> None:
    """Raise ValueError that names what is there twice or more often, if anything is; values are told by their text."""
    often = [text for text, count in Counter(map(str, values)).items() if count > 1]
    require(not often, argument, must, f"{', '.join(often)} twice", fix)


def require_kind(condition: bool, argument: str, must: str, got: Any, fix: str) -> None:
    """Raise TypeError with a `complaint` unless the condition, which is about the kind of a thing, holds."""
    if not condition:
        raise TypeError(complaint(argument, must, got, fix))


def require_instance(argument: str, value: Any, kind: type) -> None:
    """Raise TypeError unless a value is an object of that class, one of the public ones."""
    shown, fix = f"{value!r}, of class {type(value).__name__}", f"make it with videopred.{kind.__name__}(…)"
    must = f"be {'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"
    require_kind(isinstance(value, kind), argument, must, shown, fix)


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


class FailedError(ValueError):
    """What was asked for did not succeed, though the words typed may be right: exit status 1, not 2."""


class FaultyFileError(FailedError):
    """A file is damaged, incomplete, or of another kind."""


def require_sound(condition: bool, argument: str, must: str, got: Any, fix: str) -> None:
    """Raise FaultyFileError with a `complaint` unless the condition, which is about a file's content, holds."""
    if not condition:
        raise FaultyFileError(complaint(argument, must, got, fix))


def require_access(error: Exception, path: Path) -> None:
    """Raise an OSError that names the path if a library's error is that it may not be opened: it may be sound."""
    if isinstance(error, PermissionError):
        raise PermissionError(error.errno, "Permission denied", str(path)) from None
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        must, fix = (
            "be opened within the system's limit of open files",
            "raise it with `ulimit -n`, or use fewer shards",
        )
        raise OSError(complaint(str(path), must, "one file more", fix)) from None


@contextmanager
def named(names: Mapping[str, str]) -> Iterator[None]:
    """Within it, complaints call arguments as the user does: SOURCE of a reader of files may be --pred of a command.

    The argument that a complaint raised within begins with is replaced, so that `SOURCE must …` is `--pred must …`.

    Args:
        names: what complaints call an argument -> what the user calls it.
    """
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        argument, must, rest = str(error).partition(" must ")
        if not must or argument not in names:
            raise
        raise type(error)(f"{names[argument]}{must}{rest}") from None


def one_of(argument: str, value: str, choices: Iterable[str]) -> str:
    """Return the value if it is one of the choices.

    Raises:
        ValueError: it is not; the message lists all choices and offers the nearest.
    """
    names = list(choices)
    if value in names:
        return value
    raise ValueError(choice_complaint(argument, value, names))


def choice_complaint(argument: str, value: str, names: list[str]) -> str:
    """The complaint about a value that is none of these names."""
    several = str(value).split(",")
    spaced = len(several) > 1 and set(several) <= set(names)
    fix = f"put spaces between them: {' '.join(several)}" if spaced else suggest(value, names, "choose one of these")
    if not names:
        return complaint(argument, "be one that is there", value, "there is none")
    return complaint(argument, f"be one of {', '.join(names)}", value, fix)


def suggest(value: str, names: list[str], otherwise: str, prefix: str = "") -> str:
    """What to do: a question for the name that is most like a value, with a prefix before it; or else `otherwise`."""
    near = "cuda" if value == "gpu" and "cuda" in names else nearest(str(value), names)
    return f"did you mean {prefix}{near}?" if near else otherwise


def whole_number(argument: str, value: int, at_least: int, fix: str) -> int:
    """Return the value as an int if it is a whole number, Python's or NumPy's (no bool), of at least `at_least`.

    Raises:
        TypeError: it is no whole number. ValueError: it is too small.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    require_kind(is_whole, argument, "be a whole number", repr(value), fix)
    require(value >= at_least, argument, f"be at least {at_least}", value, fix)
    return int(value)


def as_names(argument: str, value: Iterable[str]) -> tuple[str, ...]:
    """Return names that stand in a list, a tuple or the like.

    Raises:
        TypeError: they do not; a text, too, would be taken for its letters.
    """
    found = None if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    fix = f"write ({value!r},)" if isinstance(value, str) else "leave it out for none"
    fits = found is not None and all(isinstance(name, str) for name in found)
    require_kind(fits, argument, "be names in a list or tuple", repr(value), fix)
    return found or ()


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
    offered = fix if near is None else f"did you mean {near}? Or {fix}"
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
    above = next((parent for parent in path.absolute().parents if os.path.exists(parent)), None)
    if above is None or not (above.is_dir() and os.access(above, os.W_OK)):
        lacks = (
            "it has no drive" if above is None else f"{above} is {'write-protected' if above.is_dir() else 'no folder'}"
        )
        got = f"{path}, but {lacks}"
        raise OSError(complaint(argument, "be a path that can be written", got, "choose another place"))
    return path


def folder_for(path: Path, names: Iterable[str]) -> Path:
    """Return the path of --out if it may be a folder for files of these names: no file, and without their endings.

    Raises:
        ValueError: it is or does, or a name in it is too long for a disk.
    """
    _require_short_names("--out", path)
    names = list(names)
    like_a_file = path.is_file() or path.suffix in {Path(name).suffix for name in names}
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


def context_and_horizon(
    context: int, horizon: int, frames: int, longer: str = "generate longer clips with --frames"
) -> None:
    """Check that a rollout fits into clips of that many frames; `longer` says how to come by longer ones.

    Raises:
        ValueError: context or horizon is below 1, or their sum exceeds `frames`.
    """
    whole_number("--context", context, 1, "give at least one frame to start from")
    whole_number("--horizon", horizon, 1, "ask for at least one frame")
    lower = f"--horizon to {frames - context}" if context < frames else f"--context to {max(frames - horizon, 1)}"
    require(
        context + horizon <= frames,
        "--context plus --horizon",
        f"be at most {frames}, the frames of a clip",
        f"{context} + {horizon} = {context + horizon}",
        f"lower {lower}, or {longer}",
    )


def threshold_of(name: str, *, rolled: bool = False) -> float | None:
    """The threshold in a kind of feedback, such as 0.5 in `threshold:0.5`; None for kinds without one.

    Args:
        name: the kind.
        rolled: whether the model must be fed its own predictions, as in a rollout.

    Raises:
        ValueError: it is none of soft, threshold:NUMBER, sample and, unless rolled, true and elsewhere; or the number
            is not in (0, 1].
        TypeError: it is no text.
    """
    require_kind(isinstance(name, str), "--feedback", "be text", repr(name), "give soft, threshold:0.5 or sample")
    kind, _, number = name.partition(":")
    if kind == "threshold":
        fix = "write e.g. --feedback threshold:0.5"
        try:
            threshold = float(number)
        except ValueError:
            threshold = float("nan")
        require(0 < threshold <= 1, "--feedback", "have a threshold above 0 and at most 1", name, fix)
        return threshold
    if rolled or name != "elsewhere":  # said of films that were made elsewhere, never typed
        one_of("--feedback", name, ["soft", "threshold:0.5", "sample", *([] if rolled else ["true"])])
    return None


def device_kind(name: str) -> str:
    """The kind in a device's name, such as cuda in cuda:1; `pick_device` finds out whether this machine has it.

    Raises:
        ValueError: there is no such kind.
    """
    kind = name.partition(":")[0]
    return one_of("--device", name if kind == "auto" else kind, ["auto", "cpu", "cuda", "mps"])


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
        there = sorted(run.glob("seed-*"), key=lambda seed: (len(seed.name), seed.name))  # seed-2 before seed-10
        fix = f"give one of them: {', '.join(map(str, there or [run / 'seed-0']))}"
        raise FileNotFoundError(complaint(argument, must, f"{run}, which holds runs from several seeds", fix))
    fix = "give a folder that `videopred train` wrote, as `videopred runs` lists them, or a file of `videopred export`"
    if not run.exists():
        raise not_found_error(argument, must, run, fix, nearest_run(run))
    if run.suffix == ".ckpt" and run.parent.name == "checkpoints":
        from videopred.typed_commands import typed_command  # which itself complains through this module

        export = typed_command(("export", str(run.parent.parent), "--checkpoint", run.stem))
        fix = f"make it one file with `{export}`, and give that"
    got = f"{run}, a data file" if run.suffix == ".h5" else run
    raise FileNotFoundError(complaint(argument, must, got, fix))


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
    if not folder.exists():
        raise not_found_error("--resume", must, folder, f"choose another: {fix}", nearest_run(folder))
    raise FileNotFoundError(complaint("--resume", must, folder, fix))


def flag(setting: str) -> str:
    """How commands call a setting, such as --batch-size."""
    return f"--{setting.replace('_', '-')}"
