"""Benchmarks: how many times faster than a named baseline; both are timed alternately in one process, medians count.

Times are CPU seconds of this process, so that a busy machine blurs them less. What differs between two machines is
the seconds; what is promised is the ratio.
"""

import cProfile
import pstats
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = str(Path(__file__).parents[1])


class PairedTimes(NamedTuple):
    """CPU times of one thing done in two ways."""

    ours: Sequence[float]
    """Seconds, one number a repeat."""
    baseline: Sequence[float]
    """Seconds of the repeats of the baseline, each taken just before ours."""

    @property
    def own_seconds(self) -> float:
        """Median time of ours."""
        return statistics.median(self.ours)

    @property
    def baseline_seconds(self) -> float:
        """Median time of the baseline."""
        return statistics.median(self.baseline)

    @property
    def ratio(self) -> float:
        """Median of the ratios baseline / ours: how many times faster ours is."""
        return statistics.median(self._ratios())

    @property
    def spread(self) -> tuple[float, float]:
        """Smallest and largest of the ratios."""
        return min(self._ratios()), max(self._ratios())

    def _ratios(self) -> list[float]:
        return [baseline / ours for baseline, ours in zip(self.baseline, self.ours, strict=True)]


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU time that this process spends on the work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compare(ours: Callable[[], Any], baseline: Callable[[], Any], repeats: int) -> PairedTimes:
    """CPU times of both, run alternately, after one run of each that does not count."""
    ours(), baseline()
    times = [(cpu_seconds(baseline), cpu_seconds(ours)) for _ in range(repeats)]
    return PairedTimes([own for _, own in times], [other for other, _ in times])


def shares(work: Callable[[], Any], apart_from: Collection[str] = ()) -> dict[str, float]:
    """Functions of this package -> share in [0, 1] of the work's time, largest first.

    A function's time is its own and that of the libraries it calls, without the functions of this package under it.

    Args:
        work: what is done.
        apart_from: names of functions that only call the others; their own time is left out.
    """
    profile = cProfile.Profile()
    profile.runcall(work)
    stats: Mapping[tuple, tuple] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    own: dict[str, float] = {}
    for place, (_, _, _, cumulative, _) in stats.items():
        if place[0].startswith(_PACKAGE):
            under = sum(
                callers[place][3]
                for callee, (_, _, _, _, callers) in stats.items()
                if place in callers and callee[0].startswith(_PACKAGE) and callee != place
            )
            name = f"an expression in {Path(place[0]).name}" if place[2].endswith("expr>") else place[2]
            own[name] = own.get(name, 0) + max(cumulative - under, 0)
    own = {name: seconds for name, seconds in own.items() if name not in apart_from}
    whole = sum(own.values())
    return {name: seconds / whole for name, seconds in sorted(own.items(), key=lambda row: -row[1])}
