"""How fast and in how much memory a predictor learns, compared with a plain one: frame by frame, nothing folded."""

import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from videopred import check, child_process
from videopred.bench.memory import peak_bytes
from videopred.bench.on_device import WAYS, computing_milliseconds, in_all_ways, measured
from videopred.bench.operations import matrix_rate
from videopred.bench.timing import compare, cpu_seconds
from videopred.bench.training_step import MODELS, pair_of, training_step
from videopred.checkpoint import RunConfig
from videopred.datasets.generation import generate
from videopred.datasets.loader import FilmDataset
from videopred.datasets.settings import BallsConfig
from videopred.device import one_thread
from videopred.models import build
from videopred.models.codec_settings import RNEMConfig
from videopred.models.compiling import check_compiler, compile_predictor
from videopred.models.rival_settings import GRUConfig
from videopred.models.settings import PredictorConfig
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.training.float32_products import fast_products
from videopred.training.learner import Learner
from videopred.training.run import train

PAPER_CLIPS = 100 * 50_000
"""Clips that the papers' models see on bouncing balls: 100 epochs of 50,000, each of 51 frames."""


def bench_train(
    *,
    batch: int | None = None,
    frames: int | None = None,
    repeats: int = 3,
    cores: Sequence[str] = tuple(MODELS),
    updates: int | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Times and memory of training steps, on one thread, ready for JSON.

    Args:
        batch: clips at a time; None takes 32, and the papers' 64 on a CUDA device.
        frames: of a clip; None takes 21, and the papers' 51 on a CUDA device.
        repeats: turns of each comparison.
        cores: which of MODELS.
        updates: over how many the Trainer's own time is spread, on the CPU; None takes 100.
        device: what is measured: cpu or cuda alone; None measures the CPU, and a CUDA device where there is one.

    Returns:
        rates: floating point operations per second of a large matrix product, float32 and bfloat16.
        steps: one row for each core: images per second of ours and of the plain one, how many times faster, in
            float32 and with bfloat16; most bytes that a step takes at once beside model, gradients and clips, of both,
            and of ours with twice the clips or steps.
        trainer_ms: what Lightning's Trainer, the logs and our schedules add to an update, the median of the repeats.
        trainer_ms_spread: the least and the most of them; far apart, as over few updates, they are noise.
        loader: ms to bring a batch, from memory and from the file, and the share that is of the slowest core's step.
        device: one row for each core on a CUDA device: ms of a step in each of WAYS, the share of the eager one in
            which the device computes, and frames per second and hours of the papers' training in the best way.
        What is not measured is empty.

    Raises:
        ValueError: a number is too small, no such core, no compiler, no such device, or what it has no use for.
    """
    numbers = (("--batch", batch, 1), ("--frames", frames, 2), ("--repeats", repeats, 1), ("--updates", updates, 1))
    for name, value, least in numbers:
        if value is not None:
            check.whole_number(name, value, least, f"give at least {least}")
    check.require(len(cores) > 0, "--cores", "name at least one", "nothing", f"give some of {', '.join(MODELS)}")
    names = [check.one_of("--cores", name, MODELS) for name in cores]
    on_cpu, on_cuda = measured(device)
    if on_cuda:
        check_compiler("bench train", "cuda", "give --device cpu")
    check.require(
        on_cpu or updates is None, "--updates", "come without --device cuda", updates, "leave one of them out"
    )
    with one_thread():
        on_device = {name: _device_row(name, batch or 64, frames or 51, repeats) for name in names} if on_cuda else {}
        if not on_cpu:
            trainer = {"trainer_ms": None, "trainer_ms_spread": ()}
            return {"rates": {}, "steps": {}, **trainer, "loader": {}, "device": on_device}
        batch, frames = batch or 32, frames or 21
        steps = {name: _step_row(name, batch, frames, repeats) for name in names}
        slowest = max(row["ms"] for row in steps.values())
        with tempfile.TemporaryDirectory() as folder:
            added = _trainer_milliseconds(Path(folder), updates or 100, repeats)
            return {
                "rates": {"float32": matrix_rate(), "bfloat16": matrix_rate(torch.bfloat16)},
                "steps": steps,
                "trainer_ms": statistics.median(added),
                "trainer_ms_spread": (min(added), max(added)),
                "loader": _loader_rows(Path(folder), batch, frames, slowest),
                "device": on_device,
            }


def _step_row(name: str, batch: int, frames: int, repeats: int) -> dict[str, float]:
    """Times and memory of a training step, each from a process of its own: what another model leaves of memory changes
    them, those of a plain one by a tenth."""
    work = f"print(json.dumps(step_times({name!r}, {batch}, {frames}, {repeats})))"
    times = json.loads(child_process.answer(f"import json; from videopred.bench.train import step_times; {work}"))
    ours, beside = (peak_bytes(name, who, batch, frames) for who in ("ours", "plain"))
    return {
        **times,
        "peak_bytes": ours,
        "plain_peak_bytes": beside,
        "peak_bytes_twice_the_clips": peak_bytes(name, "ours", 2 * batch, frames),
        "peak_bytes_twice_the_steps": peak_bytes(name, "ours", batch, 2 * frames - 1),
    }


def step_times(name: str, batch: int, frames: int, repeats: int) -> dict[str, float]:
    """How long a training step takes, ours and the plain one in turns, on one thread."""
    torch.set_num_threads(1)
    pair, film = pair_of(name), torch.rand(batch, frames, 1, 64, 64)
    plain = training_step(pair.plain, film)
    with fast_products(TrainingConfig(batch_size=batch), ComputeConfig(), film.device):  # as `train` does
        single = compare(training_step(pair.ours, film), plain, repeats)
    half = compare(training_step(pair.ours, film, torch.bfloat16), plain, repeats)
    return {
        "ms": 1000 * single.own_seconds,
        "images_per_second": batch * (frames - 1) / single.own_seconds,
        "plain_images_per_second": batch * (frames - 1) / single.baseline_seconds,
        "times_faster_float32": single.ratio,
        "times_faster_bfloat16": half.ratio,
    }


def _trainer_milliseconds(folder: Path, updates: int, repeats: int) -> list[float]:
    """CPU time of an update of a run, beyond what loader, model, loss, clipping and Adam take in a bare loop.

    One number a repeat: each is a difference of times that are much larger, which may even come out negative.
    The model is tiny, so that little else is measured. What is done once a run, such as the validation at its end, is
    in a long and in a short run alike.
    """
    recipe = BallsConfig(frames=6, height=24, width=32, balls=(2,))
    data = generate("balls4", {"train": 8, "validation": 1}, recipe=recipe, out=folder / "tiny", seed=0)
    few, many = 5, 5 + updates
    model = PredictorConfig(core=GRUConfig(units=4), codec=RNEMConfig(channels=(2, 3), embedding=5))

    def run(count: int) -> float:
        training = TrainingConfig(updates=count, batch_size=2, validate_every=many)
        where = folder / f"run-{count}"
        return cpu_seconds(lambda: train(data, model, training, out=where, device="cpu", overwrite=True))

    config = RunConfig(model=model, film_shape=(1, 24, 32), training=TrainingConfig(batch_size=2))

    def run_barely() -> float:
        bare = _bare_loop(config, data, updates)
        next(bare)  # the first update sets things up
        return cpu_seconds(lambda: list(bare))

    run(few)
    return [1000 * (run(many) - run(few) - run_barely()) / updates for _ in range(repeats)]


def _bare_loop(config: RunConfig, data: Path, updates: int) -> Iterator[None]:
    """One more update than asked for, as the learner does them but without a Trainer; yields after each."""
    learner = Learner(build(config.model, config.film_shape), config)
    adam = learner.configure_optimizers()
    batches = DataLoader(FilmDataset(data, "train"), batch_size=2)
    limit = config.training.clip_norm
    for film in islice(chain.from_iterable(repeat(batches)), updates + 1):
        adam.zero_grad()
        learner.loss_of(film, 0).backward()
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(learner.parameters(), limit)
        adam.step()
        yield


def _loader_rows(folder: Path, batch: int, frames: int, step_ms: float) -> dict[str, float]:
    """Milliseconds to bring a batch of whole clips, and the share that those from memory are of a step."""
    data = generate("balls4", {"train": 2 * batch}, recipe=BallsConfig(frames=frames), out=folder / "whole", seed=0)
    rows: dict[str, float] = {}
    for where, limit in (("memory", 2**40), ("file", 0)):
        loader = DataLoader(FilmDataset(data, "train", memory_limit=limit), batch_size=batch, shuffle=True)
        list(loader)
        milliseconds = 1000 * min(cpu_seconds(partial(list, loader)) for _ in range(3)) / 2
        rows |= {f"{where}_ms": milliseconds, f"{where}_share": milliseconds / (milliseconds + step_ms)}
    return rows


def _device_row(name: str, batch: int, frames: int, repeats: int) -> dict[str, float]:
    """A training step on a CUDA device, with bfloat16."""
    film = torch.rand(batch, frames, 1, 64, 64, device="cuda")
    predictor, compiled = (pair_of(name).ours.cuda() for _ in range(2))
    compile_predictor(compiled, "inductor", "cuda")
    plain, faster = (training_step(one, film, torch.bfloat16) for one in (predictor, compiled))
    times = in_all_ways(plain, faster, repeats)
    best = min(times.values())
    return {
        "batch": batch,
        "frames": frames,
        **{f"{way}_ms": milliseconds for way, milliseconds in times.items()},
        "eager_busy": computing_milliseconds(plain) / times["eager"],
        "best_frames_per_second": 1000 * batch * (frames - 1) / best,
        "best_hours": PAPER_CLIPS / batch * best / 1000 / 3600,
    }


_TWICE = ("peak_bytes_twice_the_clips", "peak_bytes_twice_the_steps")


def table(rows: dict[str, Any]) -> str:
    """The rows of `bench_train` as people read them."""
    if not rows["steps"]:
        return "\n".join(_device_lines(rows["device"]))
    lines = [f"{'a training step':16}{'images per second':>20}{'times faster':>20}{'peak memory in MB':>36}"]
    names = f"{'ours':>10}{'plain':>10}{'float32':>11}{'bfloat16':>10}{'plain':>11}{'ours':>8}{'2 B':>8}{'2 T':>8}"
    lines.append(f"{'':16}{names}")
    for name, row in rows["steps"].items():
        peaks = [row[which] / 1e6 for which in ("plain_peak_bytes", "peak_bytes", *_TWICE)]
        lines.append(
            f"  {name:14}{row['images_per_second']:10.0f}{row['plain_images_per_second']:10.0f}"
            f"{row['times_faster_float32']:11.1f}{row['times_faster_bfloat16']:10.1f}"
            f"{peaks[0]:11.0f}{peaks[1]:8.0f}{peaks[2]:8.0f}{peaks[3]:8.0f}"
        )
    loader = rows["loader"]
    least, most = rows["trainer_ms_spread"]
    lines += ["", f"the Trainer adds to an update    {rows['trainer_ms']:8.2f} ms ({least:.1f} to {most:.1f})"]
    for where in ("memory", "file"):
        milliseconds, share = loader[f"{where}_ms"], loader[f"{where}_share"]
        lines.append(f"a batch from {where:20}{milliseconds:8.2f} ms, {share:.1%} of it and a step")
    return "\n".join([*lines, "", *_device_lines(rows["device"]), _NOTES.format(**_gigas(rows["rates"]))])


def _device_lines(rows: dict[str, dict[str, float]]) -> list[str]:
    if not rows:
        return ["on a CUDA device: not measured"]
    lines = []
    for name, row in rows.items():
        lines += [
            f"{name} on CUDA, {row['batch']} clips of {row['frames']} frames, bfloat16",
            "  ms a step: " + ", ".join(f"{way} {row[f'{way}_ms']:.1f}" for way in WAYS),
            f"  device busy: eager {row['eager_busy']:.0%}",
            f"  best: {row['best_frames_per_second']:.0f} frames/s, {row['best_hours']:.2f} hours"
            " for 100 epochs of 50,000 clips",
        ]
    return lines


def _gigas(rates: dict[str, float]) -> dict[str, float]:
    return {name: rate / 1e9 for name, rate in rates.items()}


_NOTES = """
CPU time of one thread; 64 x 64 pixels, R-NEM's encoder and decoder, Adam. Plain: each frame on its own through encoder,
core and decoder, enlarged before each convolution, a loop over modules. 2 B, 2 T: ours with twice the clips or steps.
In float32, both multiply matrices as `train` does on this processor.
What the Trainer adds is a small difference of large times: a median, and the least and the most of the repeats.
Large matrix products here: {float32:.0f} GFLOP/s in float32, {bfloat16:.0f} in bfloat16."""
