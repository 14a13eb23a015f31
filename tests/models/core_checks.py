"""Small cores for the shared checks, which are in videopred.models.conformance."""

from typing import Any

import torch

from videopred.models import CORES, build_core
from videopred.models.conformance import BATCH, CHECKS, FEATURES, STEPS, prepared, shaken, slots
from videopred.settings import Settings

__all__ = ["BATCH", "CHECKS", "FEATURES", "SMALL", "STEPS", "close", "make", "shaken", "slots"]

SMALL: dict[str, Settings] = {
    "gru": CORES["gru"][0](units=13),
    "lstm": CORES["lstm"][0](units=13),
    "rims": CORES["rims"][0](modules=5, active=2, units=6, input_key=4, comm_heads=2, comm_key=3, comm_value=8),
}
"""A small version of every core, no two sizes alike."""


def make(name: str, seed: int = 0) -> Any:
    """A small core in float64 and evaluation mode, its weights large enough that all it does shows."""
    torch.manual_seed(seed)
    return prepared(build_core(SMALL[name], FEATURES))


def close(left: Any, right: Any) -> None:
    """Raise AssertionError unless both trees hold the same numbers."""
    torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)
