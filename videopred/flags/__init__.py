"""From the words of a command to a call, on top of tyro: whatever is wrong with them ends in one line.

Light, like everything that runs before torch is loaded.
"""

import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from inspect import Parameter, signature
from itertools import pairwise
from types import FunctionType
from typing import Annotated, Any, get_args

import tyro
from tyro.conf import DisallowNone, FlagCreatePairsOff
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from videopred import check, check_path
from videopred.flags.unboxing import unboxed
from videopred.settings import NO_DEFAULT_SHOWN, Settings

VALUES = ConstructorRegistry()
"""How words become values, where tyro's own ways are not ours."""


@VALUES.primitive_rule
def _value_or_none(kind: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    """Take the word None for a value that may be none, as tyro does, but leave `{None}` out of help."""
    if type(None) not in get_args(kind.type) or DisallowNone in kind.markers:
        return None
    value = ConstructorRegistry.get_primitive_spec(replace(kind, markers=kind.markers | {DisallowNone}))
    if not isinstance(value, PrimitiveConstructorSpec):
        return None
    read = value.instance_from_str
    return replace(value, instance_from_str=lambda words: None if words == ["None"] else read(words))


def read(command: Callable[..., None], name: str, words: list[str]) -> dict[str, Any]:
    """The values of the flags of a command.

    Raises:
        ValueError: the words do not fit the flags; tyro's complaint in the words of `check`.
    """
    complaint = io.StringIO()
    kwargs: dict[str, Any] = {}

    # tyro calls the function whose flags it reads; what the command itself writes to stderr must not be held back here.
    def keep(**values: Any) -> None:
        kwargs.update(values)

    keep.__signature__ = signature(command)  # type: ignore[attr-defined]
    keep.__annotations__, keep.__doc__ = {**command.__annotations__, **_without_default_shown(command)}, command.__doc__
    _check_words(words)
    parse = partial(tyro.cli, keep, prog=f"videopred {name}", registry=VALUES)
    for_help = (FlagCreatePairsOff,)  # a switch can be said either way, but what changes it is all that help shows
    asked_for_help = not {"-h", "--help"}.isdisjoint(words)
    try:
        with redirect_stderr(complaint), _printing(plainly=not asked_for_help):
            if asked_for_help:
                parse(args=["--help"], config=for_help)  # without the words: what they give would be left out of it
            parse(args=words)
    except SystemExit as stopped:
        if not stopped.code:
            raise
        help_text = io.StringIO()
        with redirect_stdout(help_text), _printing(), suppress(SystemExit):
            parse(args=["--help"], config=for_help)
        raise ValueError(unboxed(complaint.getvalue(), words, help_text.getvalue())) from None
    _check_once(kwargs, words)
    _check_used(kwargs, words)
    if name != "train":  # whose flags may take away what a file or a run says
        _check_given(command, kwargs, words)
    return kwargs


def _check_words(words: Sequence[str]) -> None:
    """Refuse ~ where a shell leaves it, as behind `--out=`: libraries differ in whether it is a folder's name. And what
    a variable leaves that is empty, as the path of no name is the folder that one is in."""
    for before, word in pairwise(["", *words]):
        flag, equals, value = word.partition("=") if word.startswith("--") else (before, "=", word)
        argument = flag if flag.startswith("-") else "a path"
        check_path.no_tilde(argument, value)
        check.require(bool(value) or not equals, argument, "have a value", "an empty one", "give one, or leave it out")


def _check_once(given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse a flag of several values that is given twice, as all but the last would be lost."""
    values = dict(given)
    for name, settings in given.items():
        if isinstance(settings, Settings):
            values |= dict(settings)
            values |= {f"{name}.{field}": value for field, value in settings}
    several = [check.flag(name) for name, value in values.items() if isinstance(value, tuple)]
    said = [word.partition("=")[0].replace("_", "-") for word in words]
    for flag in several:
        check.require(said.count(flag) <= 1, flag, "be given once", "it twice", f"put all behind one: {flag} A B")


def _check_used(given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse a flag that changes nothing beside others, whatever its value."""
    for settings in (value for value in given.values() if isinstance(value, Settings)):
        settings.check_used(given_names(settings.flag_prefix, words))


def _check_given(command: Callable[..., None], given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse a flag that has no values by default and was given none, as a shell does where a variable is empty."""
    for name, parameter in signature(command).parameters.items():
        usual, chosen = {name: parameter.default}, {name: given[name]}
        if isinstance(parameter.default, Settings):
            usual, chosen = dict(parameter.default), dict(given[name])
        for field, value in usual.items():
            flag, fix = check.flag(field), "give one, or leave it out"
            in_vain = flag in words and value == chosen.get(field) == ()
            check.require(not in_vain, flag, "have a value", "none", fix)


@contextmanager
def _printing(plainly: bool = True) -> Iterator[None]:
    """Have tyro print text that we read plainly, in no colors and no broken lines, as it would break long paths.

    Text for the user gets the columns that there are, but never fewer than tyro can, and no colors if NO_COLOR is set.
    """
    columns = 1_000_000 if plainly else max(40, shutil.get_terminal_size().columns)
    changes = {"COLUMNS": str(columns)}
    if plainly or os.environ.get("NO_COLOR"):
        changes["TERM"] = "dumb"
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})


def _without_default_shown(command: Callable[..., None]) -> dict[str, Any]:
    """The types of the flags whose default is none, for help that does not say so."""
    flags = signature(command).parameters
    empty = [name for name, flag in flags.items() if flag.default in (None, (), Parameter.empty)]
    return {name: Annotated[command.__annotations__[name], NO_DEFAULT_SHOWN] for name in empty}


def with_default(command: Callable[..., None], name: str, default: Any, annotation: Any) -> Callable[..., None]:
    """The command with another default for one keyword, whose type gives the flags: presets and cores have their own.

    tyro reads flags off a signature, so the copy differs in its signature only.
    """
    code, space = command.__code__, command.__globals__
    copy = FunctionType(code, space, command.__name__, command.__defaults__, command.__closure__)
    copy.__kwdefaults__ = {**(command.__kwdefaults__ or {}), name: default}
    copy.__annotations__ = {**command.__annotations__, name: annotation}
    return copy


def given_names(prefix: str, words: Sequence[str]) -> set[str]:
    """The settings whose flags, which begin with the prefix, are among the words; of a switch, `--no-` or not."""
    flags = (word.partition("=")[0] for word in words if word.startswith(prefix))
    names = {flag.removeprefix(prefix).replace("-", "_") for flag in flags}
    return names | {name.removeprefix("no_") for name in names}


def value_of(flag: str, words: Sequence[str], default: str) -> str:
    """The value that follows a flag, in either way to write it; the last one, as tyro reads flags that come twice."""
    value = default
    for word, following in pairwise([*words, ""]):
        if word == flag:
            value = following
        elif word.startswith(f"{flag}="):
            value = word.removeprefix(f"{flag}=")
    return value


def counts(words: Iterable[str]) -> dict[str, int]:
    """`train=96 test=8` as a dict."""
    found = {}
    for word in words:
        part, _, number = word.partition("=")
        fix = "write e.g. --clips train=1000 test=100"
        check.require(number.isdecimal(), "--clips", "be PART=COUNT with a whole number", word, fix)
        check.require(part not in found, "--clips", "name each part once", word, "leave one of them out")
        found[part] = int(number)
    return found


def seeds(text: str) -> tuple[int, ...]:
    """`0,1,2` as numbers."""
    words = text.split(",")
    for word in words:
        must, fix = "be whole numbers with commas between them", "write e.g. --seeds 0,1,2"
        check.require(word.isdecimal(), "--seeds", must, text, fix)
    return tuple(map(int, words))
