"""Metrics from elsewhere, given as MODULE:CLASS.

Such a class derives from `videopred.eval.metric.Metric`, whose attributes and methods it has, but no `name`: that is
MODULE:CLASS itself. If it has a class attribute `settings`, a subclass of Settings with a default for every field, it
is built with these.
"""

import inspect
from typing import Any

from videopred import check
from videopred.addresses import find_own
from videopred.eval import make_metric
from videopred.eval.metric import Metric, naming
from videopred.settings import Settings


class NoSettings(Settings):
    """A metric of one's own that has nothing to set."""


def own_metric(address: str) -> Any:
    """The class at an address, which is its name from now on.

    Raises:
        ValueError: there is no such module or class, the module cannot be imported, or the class is no metric.
    """
    argument = f"metric {address}"
    module, found = find_own(argument, address)
    known = [(name, value) for name, value in vars(module).items() if _is_metric(value)]
    metrics = [name for name, value in known if not value.__module__.startswith("videopred.")]  # nor what it imports
    there = f"the metrics there are {', '.join(metrics)}" if metrics else "there is none in that module"
    got = "nothing of that name" if found is None else repr(found)
    fix = check.suggest(address.partition(":")[2], metrics, there)
    check.require(_is_metric(found), argument, "derive from videopred.eval.metric.Metric", got, fix)
    wanted = ("label", "decimals", "range", "higher_is_better")
    missing = sorted(found.__abstractmethods__) + [name for name in wanted if not hasattr(found, name)]
    fix = "give it these, as videopred.eval.metric says"
    check.require(not missing, argument, "say all that a metric must", f"none of {', '.join(missing)}", fix)
    kind = getattr(found, "settings", NoSettings)
    fits = isinstance(kind, type) and issubclass(kind, Settings)
    fix = "derive it from videopred.settings.Settings"
    check.require(fits, f"{argument}: settings", "be a class of settings", kind, fix)
    kind.check_defaults(f"{argument}: settings")
    named = {"name": address, "settings": kind, "__module__": found.__module__, "__reduce__": _made_again}
    return type(found.__name__, (found,), named)


def _made_again(metric: Metric) -> tuple[Any, ...]:
    """How a metric is pickled: its class is made anew at each use of the address, so that no name leads to it."""
    return make_metric, (metric.name, metric.config)


def made_own(kind: type[Metric], config: Settings) -> Metric:
    """A metric of one's own with these settings.

    Raises:
        FailedError: it raises an error. TypeError: its convention, which every table shows, is no sentence.
    """
    with naming(kind):
        metric = kind(config)
        told: Any = metric.convention
        label, decimals, ends, better = metric.label, metric.decimals, metric.range, metric.higher_is_better
    fix = "return one that says what the number means"
    check.require_kind(isinstance(told, str), f"metric {kind.name}: convention", "be a sentence", repr(told), fix)
    for name, value, fits, must in (
        ("label", label, isinstance(label, str), "be a text"),
        ("decimals", decimals, type(decimals) is int and decimals >= 0, "be a whole number of at least 0"),
        ("range", ends, _is_range(ends), "be two numbers, the lowest first"),
        ("higher_is_better", better, isinstance(better, bool), "be True or False"),
    ):
        check.require(fits, f"metric {kind.name}: {name}", must, repr(value), "mend it there")
    return metric


def _is_range(ends: Any) -> bool:
    """Whether it is a lowest and a highest number."""
    numbers = isinstance(ends, tuple | list) and len(ends) == 2 and all(isinstance(end, int | float) for end in ends)
    return numbers and ends[0] < ends[1]


def _is_metric(thing: Any) -> bool:
    """Whether it is a class of metrics, and not what they all derive from."""
    return inspect.isclass(thing) and issubclass(thing, Metric) and thing.__module__ != Metric.__module__
