"""Small cores for the shared checks, which are in videopred.models.conformance."""

from typing import Any

import torch
from tiny_runs import OfEachCore
from torch import Tensor

from videopred.bench.operations import operations
from videopred.models import CORES, build_core
from videopred.models.conformance import CHECKS
from videopred.models.conformance_ground import BATCH, FEATURES, STEPS, prepared, shaken, slots
from videopred.models.core import unroll

__all__ = [
    "BATCH",
    "CHECKS",
    "FEATURES",
    "SMALL",
    "STEPS",
    "close",
    "make",
    "operations_of_a_step",
    "prepared",
    "shaken",
    "slots",
]

PARTS: dict[str, Any] = {"input_heads": 2, "input_key": 4, "comm_heads": 3, "comm_key": 7, "comm_value": 8}
"""Sizes that layers of modules share."""

SMALL = OfEachCore()
SMALL |= {
    "gru": CORES["gru"][0](units=13),
    "lstm": CORES["lstm"][0](units=13),
    "lstm-h": CORES["lstm-h"][0](units=(13, 6, 8)),
    "lstm-ha": CORES["lstm-ha"][0](units=(13, 6), input_heads=2, input_key=5),
    "lstm-hab": CORES["lstm-hab"][0](units=(6, 8, 13), input_heads=4, input_key=5),
    "lstm-hb": CORES["lstm-hb"][0](units=(13, 6, 8)),
    "rims": CORES["rims"][0](modules=5, active=2, units=6, input_key=4, comm_heads=2, comm_key=3, comm_value=8),
    "rmc": CORES["rmc"][0](rows=5, heads=2, head_size=4, key_size=6, blocks=2, mlp_layers=3),
    "scoff": CORES["scoff"][0](
        files=4, schemata=3, units=6, input_key=7, input_value=10, schema_key=9, comm_heads=2, comm_key=8, comm_value=5
    ),
    "transformer": CORES["transformer"][0](layers=2, units=6, heads=3, hidden=10, window=4),
    "brims": CORES["brims"][0](modules=(5, 4), active=(2, 3), units=(6, 9), **PARTS),
    "hierarchical-rims": CORES["hierarchical-rims"][0](modules=(5, 4), active=(2, 3), units=(6, 9), **PARTS),
    "mld-rims": CORES["mld-rims"][0](modules=(4, 4), active=(2, 2), units=(6, 5), **PARTS),
}
"""A small version of every core."""


def make(name: str, seed: int = 0) -> Any:
    """A small core in float64 and evaluation mode, its weights large enough that all it does shows."""
    torch.manual_seed(seed)
    return prepared(build_core(SMALL[name], FEATURES))


def operations_of_a_step(core: Any, inputs: Tensor) -> tuple[float, float]:
    """Operations that one more step of an unroll in training costs, forward and backward; none may wait for a device.

    Args:
        core: in training mode.
        inputs: slots of some steps, twice as many at least as a step's share may be rounded to.
    """

    def counts(steps: int) -> tuple[int, int]:
        core.zero_grad()  # or the second time would add to the gradients of the first
        state, outputs = core.initial_state(len(inputs)), []
        slots = inputs[:, :steps].detach().requires_grad_()
        forward = operations(lambda: outputs.append(unroll(core, slots, state).output))
        backward = operations(lambda: outputs[0].sum().backward())
        assert forward.host_waits == backward.host_waits == 0
        return forward.total, backward.total

    steps = inputs.shape[1]
    first, last = counts(steps // 2), counts(steps)
    forward, backward = ((b - a) / (steps - steps // 2) for a, b in zip(first, last, strict=True))
    return forward, backward


def close(left: Any, right: Any) -> None:
    """Raise AssertionError unless both trees hold the same numbers."""
    torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)
