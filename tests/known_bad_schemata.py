"""Cores that choose among schemata and say of these what is not so, with the words of the reason that must be given."""

from collections.abc import Mapping
from typing import Any

import torch
from known_bad import SoundCore
from torch import Tensor

from videopred.models import conformance
from videopred.models.core import State, Trace


class SoundSchemata(SoundCore):
    """A module that adds the likeliest of three numbers to its state: nothing is wrong with it."""

    trace_axes: Mapping[str, str] = {"schema": "K", "schema_weights": "K S"}
    schema_count = 3

    def with_schema(self, projected: Any, state: State, schema: int) -> tuple[Any, State]:
        return (projected, schema), state

    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        projected, wanted = projected if isinstance(projected, tuple) else (projected, None)
        weights = state[:, None, :3].softmax(-1)
        schema = weights.argmax(-1) if wanted is None else torch.full_like(state[:, :1], wanted).long()
        output, state, _ = super().advance(projected + schema, state)
        return output, state, {"schema": schema, "schema_weights": weights}


class OfOneLayer(SoundSchemata):
    """The same where what is traced is of a layer, and its module takes none at first; nothing is wrong with it."""

    trace_axes: Mapping[str, str] = {"layer0.schema": "K", "layer0.schema_weights": "K S"}

    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        first = (state == 0).all(-1, keepdim=True)
        output, state, trace = super().advance(projected, state)
        trace["schema"] = trace["schema"].where(~first, -1)
        return output, state, {f"layer0.{name}": values for name, values in trace.items()}


class WithoutACount(SoundSchemata):
    """Nor with one that does not say how many there are, and so cannot be told which to take."""

    schema_count = 0
    with_schema = property()  # type: ignore[assignment]


class NumbersThoseOfItsLayerFromOne(OfOneLayer):
    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().advance(projected, state)
        return output, state, trace | {"layer0.schema": 1 + trace["layer0.schema"]}


class TakesOneThatIsNotThere(SoundSchemata):
    """Of a single one."""

    schema_count = 1

    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().advance(projected, state)
        wanted = isinstance(projected, tuple)
        return (
            output,
            state,
            {"schema": trace["schema"] * 0 + wanted, "schema_weights": trace["schema_weights"][..., :1]},
        )


class NumbersThemByFractions(SoundSchemata):
    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().advance(projected, state)
        return output, state, trace | {"schema": trace["schema"] / 2}


class NumbersThemBelowNone(SoundSchemata):
    schema_count = 0  # which is no reason to take any number

    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().advance(projected, state)
        return output, state, trace | {"schema": -2 - trace["schema"]}


class NumbersThemFromOne(SoundSchemata):
    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().advance(projected, state)
        return output, state, trace | {"schema": 1 + trace["schema"]}


class WeighsOneLess(SoundSchemata):
    def advance(self, projected: Any, state: State) -> tuple[Tensor, State, Trace]:
        output, state, trace = super().advance(projected, state)
        return output, state, trace | {"schema_weights": trace["schema_weights"][..., 1:]}


class TakesWhatItLikes(SoundSchemata):
    def with_schema(self, projected: Any, state: State, schema: int) -> tuple[Any, State]:
        return projected, state


class CannotBeTold(SoundSchemata):
    with_schema = property()  # type: ignore[assignment]


CHECK = conformance.schemata_are_as_many_as_it_says
SOUND = [SoundSchemata, OfOneLayer, WithoutACount]
"""Those with which nothing is wrong."""
CORES = [
    (
        NumbersThoseOfItsLayerFromOne,
        CHECK,
        "trace layer0.schema must lie below schema_count, 3, got torch.int64 from 0 ",
    ),
    (TakesOneThatIsNotThere, CHECK, "with_schema must have every module take schema 0, got torch.int64 from 1 to 1 in"),
    (NumbersThemByFractions, CHECK, "trace schema must be of whole numbers, -1 for .*, got torch.float32 from 0 to 1$"),
    (NumbersThemBelowNone, CHECK, "trace schema must be of whole numbers, -1 for .*, got torch.int64 from -4 to -2$"),
    (NumbersThemFromOne, CHECK, "trace schema must lie below schema_count, 3, got torch.int64 from 1 to 3$"),
    (WeighsOneLess, CHECK, "the axis S of trace schema_weights must have the size of schema_count, 3, got 2$"),
    (CannotBeTold, CHECK, "a core with schema_count must have a method with_schema$"),
    (TakesWhatItLikes, CHECK, "with_schema must have every module take schema 1, got torch.int64 from 0 to 0 in trace"),
]
"""Each broken core, the check that must catch it, and words of the reason."""
