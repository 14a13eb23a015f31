"""How fast films are scored: against loops over frames, and with how much memory as clips go by."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from videopred import check
from videopred.amounts import counted
from videopred.bench.plain_scores import plain_fg_ari, plain_pixel_scores, plain_ssim
from videopred.bench.timing import compare
from videopred.device import one_thread
from videopred.eval import make_metric
from videopred.eval.frame_metric import measure_all
from videopred.eval.metric import Metric
from videopred.eval.objects import Objects
from videopred.systems import peak_memory_bytes

LIGHT = ("mse", "psnr", "bce", "f1")
_CLIPS = 32  # at a time, as `evaluate` takes them
_OBJECTS = 4


def bench_scores(*, clips: int = 10_000, frames: int = 35, size: int = 64, repeats: int = 5) -> dict[str, Any]:
    """Times of scoring, ready for JSON.

    Args:
        clips: clips of the pass with all five metrics.
        frames: T of a clip.
        size: height and width of its frames, px.
        repeats: turns of each comparison.

    Returns:
        scoring: what is scored -> µs per frame of ours and of the loop, ratio (median, smallest, largest), and the
            largest difference between the two.
        whole: clips, frames, seconds on the clock, µs per frame, threads; in MB, the peak of the process's memory after
            a tenth of the clips and after all, and how much of it the numbers take that are kept of every clip; and the
            scores, means over steps.

    Raises:
        ValueError: a number is too small.
    """
    for name, value in {"--clips": clips, "--frames": frames, "--repeats": repeats}.items():
        check.whole_number(name, value, 1, "give at least 1")
    check.whole_number("--size", size, 11, "SSIM's window needs 11 px")
    passed = _whole(clips, frames, size)  # first, so that the peak of memory is its own
    with one_thread():
        films = _films(_CLIPS, frames, size)
        scoring = {
            "MSE, PSNR, BCE, F1": _row(*_light(films), frames, repeats),
            "SSIM": _row(*_ssim(films), frames, repeats),
            "FG-ARI, by frame": _row(*_fg_ari(frames, size, whole=False), frames, repeats),
            "FG-ARI, by clip": _row(*_fg_ari(frames, size, whole=True), frames, repeats),
        }
    return {"scoring": scoring, "whole": passed}


def _films(clips: int, frames: int, size: int) -> tuple[Tensor, Tensor]:
    """A soft prediction and the black and white film that it resembles: (clips, frames, 1, size, size)."""
    chance = torch.Generator().manual_seed(0)
    truth = (torch.rand(clips, frames, 1, size, size, generator=chance) < 0.1).float()
    return 0.6 * truth + 0.4 * torch.rand(truth.shape, generator=chance), truth


Work = tuple[Callable[[], Any], Callable[[], Any], float]
"""Ours, the loop on the same clips, and the largest difference of their numbers."""


def _light(films: tuple[Tensor, Tensor]) -> Work:
    metrics = [make_metric(name) for name in LIGHT]
    flat = [film.flatten(0, 2).numpy() for film in films]
    ours = {key: values for of in measure_all(metrics, *films) for key, values in of.items()}
    plain = plain_pixel_scores(*flat)
    difference = max(
        float((ours[key].flatten() / torch.from_numpy(plain[key]) - 1).abs().max())
        for key in ("mse", "psnr", "bce", "tn")
    )
    return lambda: measure_all(metrics, *films), lambda: plain_pixel_scores(*flat), difference


def _ssim(films: tuple[Tensor, Tensor]) -> Work:
    metric = make_metric("ssim")
    flat = [film.flatten(0, 2).numpy() for film in films]
    ours = metric.measure(*films)["ssim"].flatten()
    # In double precision, so that the difference is ours.
    exact = torch.from_numpy(plain_ssim(*(film.astype("float64") for film in flat)))
    return lambda: metric.measure(*films), lambda: plain_ssim(*flat), float((ours - exact).abs().max())


def _fg_ari(frames: int, size: int, *, whole: bool) -> Work:
    """Frame by frame, or over the pixels of a clip at once."""
    true = _discs(frames + 1, size)
    predicted = true.roll(size // 32, -1)
    metric = make_metric("fg-ari-clip" if whole else "fg-ari")
    nowhere = torch.zeros(_CLIPS, frames + 1, _OBJECTS, 2, dtype=torch.float64)
    pair = Objects(positions=nowhere, masks=predicted), Objects(positions=nowhere, masks=true)
    rows = _CLIPS if whole else _CLIPS * frames
    pixels = [masks[:, 1:].reshape(rows, -1) for masks in (predicted, true)]
    ours = metric.measure(*pair)["total"]
    plain = torch.tensor(plain_fg_ari(*pixels))
    difference = float(((ours[:, -1] if whole else ours.flatten()) - plain).abs().max())
    return lambda: metric.measure(*pair), lambda: plain_fg_ari(*pixels), difference


def _discs(frames: int, size: int) -> Tensor:
    """Masks (clips, frames, size, size) uint8 of discs, a fifth of a frame wide, that cross it."""
    chance = torch.Generator().manual_seed(0)
    first, last = torch.rand(2, _CLIPS, 1, _OBJECTS, 2, generator=chance) * size
    places = first + (last - first) * torch.linspace(0, 1, frames)[:, None, None]  # (clips, frames, objects, 2)
    down, across = ((torch.arange(size) - place.unsqueeze(-1)) ** 2 for place in places.unbind(-1))
    inside = down.unsqueeze(-1) + across.unsqueeze(-2) < (size / 10) ** 2
    numbers = torch.arange(1, _OBJECTS + 1, dtype=torch.uint8)[:, None, None]
    return (inside * numbers).amax(2)


def _row(
    ours: Callable[[], Any], plain: Callable[[], Any], difference: float, frames: int, repeats: int
) -> dict[str, float]:
    times = compare(ours, plain, repeats)
    low, high = times.spread
    return {
        "us_per_frame": 1e6 * times.own_seconds / _CLIPS / frames,
        "plain_us_per_frame": 1e6 * times.baseline_seconds / _CLIPS / frames,
        "ratio": times.ratio,
        "ratio_lowest": low,
        "ratio_highest": high,
        "largest_difference": difference,
    }


def _whole(clips: int, frames: int, size: int) -> dict[str, Any]:
    """All five metrics on many clips, batch after batch, as `evaluate` does: films go, numbers stay."""
    metrics = [make_metric(name) for name in (*LIGHT, "ssim")]
    kept: list[list[dict[str, Tensor]]] = []
    films = _films(_CLIPS, frames, size)
    start, early = time.perf_counter(), 0.0
    for first in range(0, clips, _CLIPS):
        batch = (film[: clips - first].clone() for film in films)
        kept.append(measure_all(metrics, *batch))
        if not early and 10 * (first + _CLIPS) >= clips:
            early = peak_memory_bytes() / 1e6
    seconds = time.perf_counter() - start
    return {
        "clips": clips,
        "frames": frames,
        "seconds": seconds,
        "us_per_frame": 1e6 * seconds / clips / frames,
        "threads": torch.get_num_threads(),
        "peak_MB_after_a_tenth": early,
        "peak_MB": peak_memory_bytes() / 1e6,
        "kept_MB": sum(values.nbytes for batch in kept for of in batch for values in of.values()) / 1e6,
        "scores": _scores(metrics, kept),
    }


def _scores(metrics: list[Metric], kept: list[list[dict[str, Tensor]]]) -> dict[str, float]:
    """The pooled score of each metric, mean over steps."""
    joined = [{key: torch.cat([batch[i][key] for batch in kept]) for key in kept[0][i]} for i in range(len(metrics))]
    return {
        metric.name: float(metric.reduce(measured).mean()) for metric, measured in zip(metrics, joined, strict=True)
    }


def table(rows: dict[str, Any]) -> str:
    """The rows of `bench_scores` as people read them."""
    lines = ["scoring                     ours      loop  times faster         largest difference"]
    for name, row in rows["scoring"].items():
        times = f"{row['ratio']:5.1f} ({row['ratio_lowest']:.1f} to {row['ratio_highest']:.1f})"
        each = f"{row['us_per_frame']:8.1f} us{row['plain_us_per_frame']:7.0f} us"
        lines.append(f"  {name:20}{each}  {times:21}{row['largest_difference']:.0e}")
    row = rows["whole"]
    lines += ["", "all five together, films in batches, by the clock"]
    amount = f"{counted(row['clips'], 'clip')} of {counted(row['frames'], 'frame')}"
    lines.append(f"  {amount}, {counted(row['threads'], 'thread')}: {row['seconds']:.1f} s")
    early, late = row["peak_MB_after_a_tenth"], row["peak_MB"]
    lines.append(f"  peak memory {early:.0f} MB after a tenth of the clips, {late:.0f} MB after all;")
    lines.append(f"  the numbers kept of every clip are {row['kept_MB']:.1f} MB")
    lines += ["", "Times are per frame, CPU time of one thread. Loops: one frame at a time in NumPy, scikit-image and"]
    lines.append("torchmetrics. Differences are relative for the first row.")
    return "\n".join(lines)
