"""Cores from elsewhere, given as MODULE:CLASS.

Such a class is an nn.Module with `rows`, `units`, `initial_state` and `step` (see `videopred.models.core`). It is
built as CLASS(features) or, if it has a class attribute `settings` that is a subclass of CoreSettings with a default
for every field, as CLASS(settings, features). A class attribute or setting `reads = "map"` asks for the positions of a
map instead of one vector per frame; a setting `reads = "strips"` beside `modules`, as many strips.
"""

import inspect
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from videopred import check
from videopred.addresses import find_own
from videopred.models.core import Core
from videopred.models.core_settings import CoreSettings
from videopred.models.settings import OwnConfig
from videopred.user_errors import error_told


class NoSettings(CoreSettings):
    """A core of one's own that has nothing to set."""


def own_class(source: str) -> Any:
    """The class that MODULE:CLASS names, imported now; the current folder is the last where it is looked for.

    Raises:
        ValueError: there is no such module or class, the module cannot be imported, or the class is no core.
    """
    argument = f"core {source}"
    module, found = find_own(argument, source)
    classes = {key: value for key, value in vars(module).items() if isinstance(value, type) and value is not Core}
    cores = [key for key, value in classes.items() if hasattr(value, "initial_state")]
    there = f"its cores are {', '.join(cores)}" if cores else "it has no class with initial_state and step"
    got = "nothing of that name" if found is None else repr(found)
    fix = check.suggest(source.partition(":")[2], cores, there)
    check.require(
        isinstance(found, type),
        argument,
        f"be a class in {getattr(module, '__file__', None) or module.__name__}",
        got,
        fix,
    )
    for method in ("initial_state", "step"):
        fix = "give it one, as videopred.models.core says"
        check.require(callable(getattr(found, method, None)), argument, f"have a method {method}", "none", fix)
    words = inspect.signature(found.initial_state).parameters.values()
    takes = any(word.name == "generator" or word.kind is inspect.Parameter.VAR_KEYWORD for word in words)
    fix = "write def initial_state(self, batch, *, generator=None)"
    check.require(takes, argument, "have an initial_state that takes generator", "one without", fix)
    fix = "derive it from torch.nn.Module or videopred.models.core.Core"
    check.require(hasattr(found, "state_dict"), argument, "be a torch module", found.__mro__[1].__name__, fix)
    kind = getattr(found, "settings", NoSettings)
    fix = "derive it from videopred.models.settings.CoreSettings"
    fits = isinstance(kind, type) and issubclass(kind, CoreSettings)
    check.require(fits, f"{argument}: settings", "be a class of settings", kind, fix)
    kind.check_defaults(f"{argument}: settings")
    return found


def own_settings(config: OwnConfig) -> CoreSettings:
    """The settings that the class itself defines, with the values in `config`.

    Raises:
        ValueError: see `own_class`; or a setting that it does not define, or not with such values.
    """
    kind = getattr(own_class(config.source), "settings", NoSettings)
    known = list(kind.model_fields)
    for name in config.settings:
        must = f"be given settings that it has, {', '.join(known)}" if known else "be given none, as it has no settings"
        fix = check.suggest(name, known, "leave it out; a run that has it needs the module as it was")
        check.require(name in known, f"core {config.source}", must, name, fix)
    return kind(**config.settings)


def build_own(config: OwnConfig, features: int) -> Any:
    """A core of one's own with fresh weights.

    Raises:
        ValueError: see `own_class`; or settings that it does not have; or it says no `rows` and `units`.
        FailedError: it raises another error.
    """
    found, chosen = own_class(config.source), own_settings(config)
    settings = [chosen] if hasattr(found, "settings") else []
    try:
        core = found(*settings, features)
    except ValueError:  # by which it may say itself what is wrong with its settings
        raise
    except Exception as error:
        fix = "mend its __init__, which is given its settings, if it has any, and the width of its slots"
        raise check.FailedError(check.complaint(f"core {config.source}", "be built", error_told(error), fix)) from error
    for name in ("rows", "units"):
        value, fix = getattr(core, name, None), "set it in __init__: its output is (B, rows, units)"
        is_size = isinstance(value, Integral) and int(value) > 0
        check.require(is_size, f"core {config.source}", f"have a whole number {name}", value, fix)
    for name in ("trace_axes", "state_rows"):
        if not hasattr(core, name):  # an nn.Module need not say that it traces nothing and has no modules
            setattr(core, name, getattr(Core, name))
    axes = core.trace_axes
    must, fix = "have a dict of axes by name as its trace_axes", "see videopred/models/core.py"
    check.require(isinstance(axes, Mapping), f"core {config.source}", must, repr(axes), fix)
    return core


def own_reads(config: OwnConfig) -> Any:
    """What the core wants of a frame, see `videopred.models.reads`.

    Raises:
        ValueError: see `own_class`; or it wants something else.
    """
    settings = own_settings(config)
    wanted = getattr(settings, "reads", getattr(own_class(config.source), "reads", "vector"))
    kinds = ["vector", "map", "strips"] if hasattr(settings, "modules") else ["vector", "map"]  # one strip for each
    return check.one_of(f"core {config.source}: reads", wanted, kinds)
