"""Stopping training where nothing is lost: between two updates."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from videopred.interrupt import HeldInterrupt
from videopred.settings import seconds_of

if TYPE_CHECKING:
    from lightning.pytorch import Trainer


class Stopped(Exception):
    """Training ended before its last update, as it was asked to, and what was learned is saved."""


class TimeLimit:
    """How long a command may train, counted from when this is made.

    Args:
        limit: such as 4h; None is for ever.
        clock: seconds that pass.

    Attributes:
        over: why nothing more may be trained before the time is up; empty while it may.
    """

    def __init__(self, limit: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock, self.over = limit, clock, ""
        self._end = float("inf") if limit is None else clock() + seconds_of(limit)

    def reached(self) -> str:
        """What is said when the time is up; nothing before."""
        return self.over or (f"time limit of {self._limit} reached" if self._clock() >= self._end else "")


class StopSigns:
    """Hears Ctrl-C, SIGTERM, SIGHUP and SIGUSR1, by which batch systems announce the end; looks at the time limit.

    Until training begins there is nothing to save, and signals end everything at once. Several processes are then
    left to the system: one that waits for the others does so in C++, where no handler of Python's is called.

    Args:
        limit: the time limit.
        several: whether several processes train together.
    """

    def __init__(self, limit: TimeLimit, several: bool) -> None:
        self.held = HeldInterrupt(urgent=True, at_first="system" if several else "raise")
        self._limit = limit

    def reason(self, trainer: "Trainer") -> str:
        """Why to stop now, or nothing; the same in all processes."""
        found = f"{self.held.heard} received" if self.held.asked else self._limit.reached()
        if trainer.world_size > 1 and trainer.strategy.reduce_boolean_decision(bool(found), all=False):
            return found or "another process was asked to stop"
        return found
