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
from pathlib import Path
from typing import Any

from videopred.printable import printable
from videopred.spelling import nearest


def complaint(argument: str, must: str, got: Any, fix: str) -> str:
    """One line: what, what it must be, what it was, what to do.

    Args:
        argument: name as the user typed it, e.g. `--context`.
        must: what would have been right, e.g. `be at least 1`.
        got: the offending value; shown as it prints, in one line, cut at 300 characters; an empty one as ''. What in
            any part cannot be printed, as names of files may hold, is shown as an escape.
        fix: what the user can do now.
    """
    shown = re.sub(r"\s*\n\s*", " ", str(got)) or "''"
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
        must = "be opened within the system's limit of open files"
        fix = "raise it with `ulimit -n`, or use fewer shards"
        raise OSError(complaint(str(path), must, "one file more", fix)) from None
    if isinstance(error, BlockingIOError):  # HDF5 locks what it writes
        must, fix = "be closed by other programs", "wait until they have, or close it there"
        raise OSError(complaint(str(path), must, "one that writes into it", fix)) from None
    if isinstance(error, OSError) and error.errno in (errno.EIO, errno.ESTALE):
        fix = "look after its disk, and give the command again"
        raise OSError(complaint(str(path), "be readable", os.strerror(error.errno), fix)) from None


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
    if not names:
        return complaint(argument, "be one that is there", value, "there is none")
    several = str(value).split(",")
    spaced = len(several) > 1 and set(several) <= set(names)
    fix = f"put spaces between them: {' '.join(several)}" if spaced else suggest(value, names, "choose one of these")
    return complaint(argument, f"be one of {', '.join(names)}", value, fix)


def suggest(value: str, names: list[str], otherwise: str, prefix: str = "") -> str:
    """What to do: a question for the name that is most like a value, with a prefix before it; or else `otherwise`."""
    near = "cuda" if value == "gpu" and "cuda" in names else nearest(str(value), names)
    return f"did you mean {prefix}{near}?" if near else otherwise


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, Python's or NumPy's (no bool)."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_number(argument: str, value: int, at_least: int, fix: str) -> int:
    """Return the value as an int if it is a whole number, Python's or NumPy's (no bool), of at least `at_least`.

    Raises:
        TypeError: it is no whole number. ValueError: it is too small.
    """
    require_kind(is_whole(value), argument, "be a whole number", repr(value), fix)
    require(value >= at_least, argument, f"be at least {at_least}", value, fix)
    return int(value)


def as_tuple(argument: str, value: Iterable[Any], must: str, fix: str) -> tuple[Any, ...]:
    """Return what stands in a list, a tuple, an array or the like; what can be read only once is read here.

    Raises:
        TypeError: it does not; a text would be taken for its letters, and of a dict what it says of each is lost.
    """
    listed = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    require_kind(listed, argument, must, repr(value), fix)
    return tuple(value)


def as_names(
    argument: str,
    value: Iterable[str],
    fix: str = "give their names as text",
    must: str = "be names in a list or tuple",
) -> tuple[str, ...]:
    """Return names, or other texts, that stand in a list, a tuple or the like; see `as_tuple`.

    Raises:
        TypeError: they do not.
    """
    fix = f"write ({value!r},)" if isinstance(value, str) else fix
    found = as_tuple(argument, value, must, fix)
    require_kind(all(isinstance(name, str) for name in found), argument, must, repr(value), fix)
    return found


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


def flag(setting: str) -> str:
    """How commands call a setting, such as --batch-size."""
    return f"--{setting.replace('_', '-')}"


def as_typed(values: Iterable[Any]) -> str:
    """Values as they are typed behind a flag, such as 0.7 5; `nothing` of none."""
    return " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values) or "nothing"
