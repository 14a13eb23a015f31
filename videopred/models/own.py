"""Parts from elsewhere, given as MODULE:CLASS: cores, codecs and decoders.

Such a class is built as CLASS(…) from what its kind of part is given or, if it has a class attribute `settings` that is
a subclass of CoreSettings, CodecSettings or DecoderSettings with a default for every field, as CLASS(settings, …).
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, NamedTuple

from videopred import check
from videopred.addresses import find_own
from videopred.models.codec_settings import CodecSettings, DecoderSettings
from videopred.models.core_settings import CoreSettings
from videopred.models.own_settings import OwnPart
from videopred.settings import Settings
from videopred.user_errors import error_told


class _Kind(NamedTuple):
    """What a kind of part wants of a class."""

    methods: tuple[str, ...]
    settings: type[Settings]
    """What its settings derive from; those of a class that has none."""
    given: str
    """What its __init__ is given besides, in words."""
    keyword: tuple[str, str] = ("", "")
    """A keyword that the first method must take, if any, and how it is written."""


_KINDS = {
    "core": _Kind(
        ("initial_state", "step"),
        CoreSettings,
        "the width of its slots",
        ("generator", "def initial_state(self, batch, *, generator=None)"),
    ),
    "codec": _Kind(("shrink", "embed", "expand", "grow"), CodecSettings, "the shape of frames (C, H, W)"),
    "decoder": _Kind(
        ("forward",),
        DecoderSettings,
        "codec, core and the shape of frames (C, H, W)",
        ("trace", "def forward(self, outputs, *, trace=False)"),
    ),
}


def own_class(config: OwnPart) -> Any:
    """The class of a part, imported now; the current folder is the last where it is looked for.

    Raises:
        ValueError: there is no such module or class, the module cannot be imported, or the class is no such part.
    """
    part, source = config.part(), config.source
    kind, argument = _KINDS[part], f"{part} {source}"
    module, found = find_own(argument, source)
    classes = {key: value for key, value in vars(module).items() if isinstance(value, type) and _is_theirs(value)}
    parts = [key for key, value in classes.items() if hasattr(value, kind.methods[0]) and _takes_keyword(value, kind)]
    there = f"it has no class with {' and '.join(kind.methods)}"
    if parts:
        there = f"its {part}s are {', '.join(parts)}"
    got = "nothing of that name" if found is None else repr(found)
    fix = check.suggest(source.partition(":")[2], parts, there)
    must = f"be a class in {getattr(module, '__file__', None) or module.__name__}"
    check.require(isinstance(found, type), argument, must, got, fix)
    for method in kind.methods:
        fix = f"give it one, as videopred.models.{part} says"
        check.require(callable(getattr(found, method, None)), argument, f"have a method {method}", "none", fix)
    name, line = kind.keyword
    must = f"take {name} in {kind.methods[0]}"
    check.require(_takes_keyword(found, kind), argument, must, "no such argument", f"write {line}")
    if part != "codec":  # which lists modules
        fix = "derive it from torch.nn.Module"
        check.require(hasattr(found, "state_dict"), argument, "be a torch module", found.__mro__[1].__name__, fix)
    settings = getattr(found, "settings", kind.settings)
    fix = f"derive it from videopred.models.settings.{kind.settings.__name__}"
    fits = isinstance(settings, type) and issubclass(settings, kind.settings)
    check.require(fits, f"{argument}: settings", "be a class of settings", settings, fix)
    settings.check_defaults(f"{argument}: settings")
    return found


def _takes_keyword(found: type, kind: _Kind) -> bool:
    """Whether the first method of a class takes the keyword that it must, if there is one."""
    words = inspect.signature(getattr(found, kind.methods[0])).parameters.values()
    return not kind.keyword[0] or any(
        word.name == kind.keyword[0] or word.kind is inspect.Parameter.VAR_KEYWORD for word in words
    )


def _is_theirs(found: type) -> bool:
    """Whether a class is a user's own, not one that their module imported from torch or from here."""
    return found.__module__.partition(".")[0] not in ("torch", "videopred")


def settings_of(config: Any) -> Any:
    """What is set of a part: its settings or, of one's own, those that the class itself defines.

    Raises:
        ValueError: see `own_class`; or a setting that it does not define, or not with such values.
    """
    if not isinstance(config, OwnPart):
        return config
    part = config.part()
    kind = getattr(own_class(config), "settings", _KINDS[part].settings)
    known = [name for name in kind.model_fields if name != "kind"]  # which those have that are derived from ours
    for name in config.settings:
        must = f"be given settings that it has, {', '.join(known)}" if known else "be given none, as it has no settings"
        fix = check.suggest(name, known, "leave it out; a run that has it needs the module as it was")
        check.require(name in kind.model_fields, f"{part} {config.source}", must, name, fix)
    return kind(**config.settings)


def build_own(config: OwnPart, *given: Any) -> Any:
    """A part of one's own with fresh weights.

    Args:
        config: its address and settings.
        given: what its kind of part is given besides its settings.

    Raises:
        ValueError: see `own_class`; or settings that it does not have.
        FailedError: it raises another error.
    """
    found, chosen, part = own_class(config), settings_of(config), config.part()
    settings = [chosen] if hasattr(found, "settings") else []
    try:
        return found(*settings, *given)
    except ValueError:  # by which it may say itself what is wrong with its settings
        raise
    except Exception as error:
        fix = f"mend its __init__, which is given its settings, if it has any, and {_KINDS[part].given}"
        told = check.complaint(f"{part} {config.source}", "be built", error_told(error), fix)
        raise check.FailedError(told) from error


def is_size(value: Any) -> bool:
    """Whether it is a whole number of at least 1, of any library."""
    return isinstance(value, Integral) and int(value) > 0


@contextmanager
def in_evaluation(module: Any) -> Iterator[None]:
    """Within it, a torch module is in evaluation, as a norm that learns changes with what it sees."""
    learning = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in learning:
            part.training = True
