"""How fast data is made: against generators as one writes them first, into files, and as data sets grow."""

import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check
from videopred.amounts import counted
from videopred.bench.plain_worlds import plain_balls, plain_digits
from videopred.bench.timing import PairedTimes, compare, cpu_seconds, shares
from videopred.datasets import make_world
from videopred.datasets.digits import read_digits
from videopred.datasets.generation import generate
from videopred.datasets.settings import BallsConfig, MovingMNISTConfig

_NAMES = ("balls4", "balls678", "sm-mnist")
_PLAIN_CLIPS = 8  # of the slow baselines, per repeat


def bench_generate(
    *,
    clips: int = 256,
    repeats: int = 5,
    growth: Sequence[int] = (100, 1000, 10_000, 100_000),
    whole: int = 0,
    workers: int | None = None,
) -> dict[str, Any]:
    """Times of making data, ready for JSON.

    Args:
        clips: clips made per repeat.
        repeats: how often each comparison is made.
        growth: numbers of clips of balls4 that are made one after the other, to see the time per clip stay.
        whole: clips of balls4 to generate into a file from beginning to end; none when 0.
        workers: processes for that; 2 unless said.

    Returns:
        making: preset -> ms per clip of ours and of the baseline, ratio (median, smallest, largest), and what bounds
            ours: its functions and their shares of the time.
        writing: preset -> ms of CPU per clip that a file costs beyond making, and kB per clip.
        growth: number of clips -> ms per clip.
        whole: clips, workers, seconds on the clock, MB; only if asked for.

    Raises:
        ValueError: a number is below 1.
    """
    check.require(workers is None or whole != 0, "--workers", "come with --whole", workers, "leave it out")
    workers = 2 if workers is None else workers
    for name, value in {"--clips": clips, "--repeats": repeats, "--workers": workers}.items():
        check.whole_number(name, value, 1, "give at least 1")
    check.require(len(growth) > 0, "--growth", "be given", "nothing", "give numbers of clips such as 100 1000")
    for value in growth:
        check.whole_number("--growth", value, 1, "give numbers of clips such as 100 1000")
    check.whole_number("--whole", whole, 0, "give a number of clips such as 50000, or 0")
    rows: dict[str, Any] = {
        "making": {name: _making(name, clips, repeats) for name in _NAMES},
        "writing": {name: _writing(name, clips, repeats) for name in _NAMES},
        "growth": {str(number): 1000 * cpu_seconds(_make("balls4", number)) / number for number in growth},
    }
    return rows | ({"whole": _whole(whole, workers)} if whole else {})


def _making(name: str, clips: int, repeats: int) -> dict[str, Any]:
    """A preset against its plain generator, both without files."""
    ours = _make(name, clips)
    times = compare(ours, _plain(name), repeats)
    # The baseline makes fewer clips, so both are compared by the clip.
    each = PairedTimes([t / clips for t in times.ours], [t / _PLAIN_CLIPS for t in times.baseline])
    low, high = each.spread
    return {
        "ms_per_clip": 1000 * each.own_seconds,
        "plain_ms_per_clip": 1000 * each.baseline_seconds,
        "ratio": each.ratio,
        "ratio_lowest": low,
        "ratio_highest": high,
        "bound_by": dict(islice(shares(ours, apart_from=["make"]).items(), 5)),
    }


def _make(name: str, clips: int) -> Callable[[], None]:
    """Work that makes the first clips of a preset and keeps none."""
    world = make_world(name)

    def make() -> None:
        deque(world.clips(0, "train", range(clips)), maxlen=0)

    return make


def _plain(name: str) -> Callable[[], None]:
    """Work that makes other clips of the same kind at each call, with the plain generator."""
    recipe, chances = make_world(name).recipe, (np.random.default_rng(seed) for seed in count())
    images = read_digits().images

    def make_some() -> None:
        for chance in islice(chances, _PLAIN_CLIPS):
            if isinstance(recipe, MovingMNISTConfig):
                chosen = images[chance.integers(len(images), size=recipe.digits[0])]
                plain_digits(recipe.frames, recipe.height, chosen, recipe.digit_size, int(recipe.speed), chance)
            elif isinstance(recipe, BallsConfig):
                size = chance.integers(len(recipe.radii), size=recipe.balls[len(recipe.balls) // 2])
                radii, masses = np.array(recipe.radii)[size].tolist(), np.array(recipe.masses)[size].tolist()
                plain_balls(recipe.frames, recipe.height, radii, masses, recipe.speed, chance)

    return make_some


def _writing(name: str, clips: int, repeats: int) -> dict[str, float]:
    """What a file costs beyond the clips in it: compressing and writing, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.h5"
        times = compare(
            lambda: _make(name, clips)(),  # as generation does, with a world and digits of its own
            lambda: generate(name, {"train": clips}, out=path, overwrite=True),
            repeats,
        )
        beyond = [whole - made for whole, made in zip(times.baseline, times.ours, strict=True)]
        return {
            "ms_per_clip": 1000 * statistics.median(beyond) / clips,
            "kB_per_clip": path.stat().st_size / clips / 1000,
        }


def _whole(clips: int, workers: int) -> dict[str, float]:
    """A file of balls4 from beginning to end, by the clock."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        path = generate("balls4", {"train": clips}, out=Path(folder), workers=workers)
        seconds = time.perf_counter() - start
        return {"clips": clips, "workers": workers, "seconds": seconds, "MB": path.stat().st_size / 1e6}


def table(rows: dict[str, Any]) -> str:
    """The rows of `bench_generate` as people read them."""
    lines = ["making, without a file        ours    plain  times faster           bound by"]
    for name, row in rows["making"].items():
        times = f"{row['ratio']:5.1f} ({row['ratio_lowest']:.1f} to {row['ratio_highest']:.1f})"
        bound = ", ".join(f"{function} {share:.0%}" for function, share in row["bound_by"].items())
        lines.append(f"  {name:20}{row['ms_per_clip']:8.2f} ms{row['plain_ms_per_clip']:6.1f} ms  {times:24}{bound}")
    lines += ["", "compressing and writing, beyond making"]
    lines += [f"  {name:20}{r['ms_per_clip']:8.2f} ms{r['kB_per_clip']:6.1f} kB" for name, r in rows["writing"].items()]
    lines += ["", "making balls4, by number of clips"]
    lines += [f"  {number:20}{each:8.2f} ms" for number, each in rows["growth"].items()]
    if "whole" in rows:
        row = rows["whole"]
        lines += ["", "balls4 from the recipe to the file, by the clock"]
        made = f"{counted(row['clips'], 'clip')}, {counted(row['workers'], 'worker')}"
        lines.append(f"  {made}: {row['seconds']:.1f} s, {row['MB']:.0f} MB")
    lines += ["", "Times are per clip, CPU time of one process. Plain: one clip, object and frame at a time; for balls"]
    lines.append("Sutskever's generator, which draws no instance masks, for digits the law of sm-mnist, with masks.")
    return "\n".join(lines)
