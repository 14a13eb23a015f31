"""Cores from elsewhere: what such a class is built with, and what it must say of itself.

It is an nn.Module with `rows`, `units`, `initial_state` and `step` (see `videopred.models.core`), built from the width
of its slots. A class attribute or setting `reads = "map"` asks for the positions of a map instead of one vector per
frame; a setting `reads = "strips"` beside `modules`, as many strips.
"""

from collections.abc import Mapping
from typing import Any

from videopred import check
from videopred.models.core import Core
from videopred.models.own import build_own, is_size, own_class, settings_of
from videopred.models.settings import OwnConfig


def build_own_core(config: OwnConfig, features: int) -> Any:
    """A core of one's own with fresh weights.

    Raises:
        ValueError, FailedError: see `build_own`; or it says no `rows` and `units`, or wrong `trace_axes`, `state_rows`
            or `schema_count`.
    """
    core, argument = build_own(config, features), f"core {config.source}"
    for name in ("rows", "units"):
        value, fix = getattr(core, name, None), "set it in __init__: its output is (B, rows, units)"
        check.require(is_size(value), argument, f"have a whole number {name}", value, fix)
    for name in ("trace_axes", "state_rows", "schema_count"):
        if not hasattr(core, name):  # an nn.Module need not say that it traces nothing and has no modules or schemata
            setattr(core, name, getattr(Core, name))
    must, fix = "have a dict of axes by name as its trace_axes", "see videopred/models/core.py"
    check.require(isinstance(core.trace_axes, Mapping), argument, must, repr(core.trace_axes), fix)
    rows = core.state_rows
    fits = isinstance(rows, tuple | list) and all(map(is_size, rows))
    check.require(fits, argument, "have a tuple of whole numbers as its state_rows", repr(rows), fix)
    fits = type(core.schema_count) is int and core.schema_count >= 0
    check.require(fits, argument, "have a whole number as its schema_count", repr(core.schema_count), fix)
    return core


def own_reads(config: OwnConfig) -> Any:
    """What the core wants of a frame, see `videopred.models.reads`.

    Raises:
        ValueError: see `own_class`; or it wants something else.
    """
    settings = settings_of(config)
    wanted = getattr(settings, "reads", getattr(own_class(config), "reads", "vector"))
    kinds = ["vector", "map", "strips"] if hasattr(settings, "modules") else ["vector", "map"]  # one strip for each
    return check.one_of(f"core {config.source}: reads", wanted, kinds)
