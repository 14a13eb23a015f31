"""What is left to the slow proofs, which `make check` runs, where the tests try one or two of many."""

from typing import Any

import pytest

from videopred.models import CORES


def slow(*cases: Any) -> list[Any]:
    """Cases for parametrize that are slow proofs; a tuple has the values of several arguments."""
    several = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*values, marks=pytest.mark.slow) for values in several]


FIRST = ("rims", "scoff", "brims", "rmc", "transformer")
EACH_CORE = [*FIRST, *slow(*(core for core in CORES if core not in FIRST))]
"""Names of all cores; the tests try one of each kind, RIMs first."""
