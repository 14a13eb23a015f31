"""How fast cores run, compared with plain implementations, an LSTM of equal width and the machine's limit."""

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from videopred import check
from videopred.bench.on_device import WAYS, device_rows, measured, with_compiled_step
from videopred.bench.operations import operations, product_seconds, times_the_limit
from videopred.bench.plain_cores import plain_brims, plain_rims
from videopred.bench.plain_scoff import PlainSCOFF
from videopred.bench.timing import compare
from videopred.bench.training_step import MODELS, pair_of, training_step
from videopred.device import device_of, one_thread
from videopred.models import build_core
from videopred.models.compiling import check_compiler
from videopred.models.core import unroll
from videopred.models.core_settings import CoreSettings
from videopred.models.modular_settings import BRIMsConfig
from videopred.rollout import roll_out


class Subject(NamedTuple):
    """A core as the papers have it on bouncing balls."""

    config: CoreSettings
    slots: int
    features: int
    plain: Callable[[Any], nn.Module]
    """Our core -> the plain one with its weights."""


SUBJECTS = {
    "rims": Subject(MODELS["rims"].core, 1, 512, plain_rims),
    "brims": Subject(BRIMsConfig(modules=(5, 5), active=(3, 3), units=(60, 60)), 1, 512, plain_brims),
    "scoff": Subject(MODELS["scoff"].core, 64, 80, PlainSCOFF),
}
"""RIMs of 6 modules of 100; BRIMs of two layers of 5 modules of 60; SCOFF of 4 files of 100 that read 64 positions."""


def bench_cores(
    *,
    steps: int = 50,
    batches: Sequence[int] = (64, 8),
    repeats: int = 3,
    cores: Sequence[str] = tuple(SUBJECTS),
    clips: int = 32,
    horizon: int = 35,
    compiled: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Times of cores and of the whole model, on one thread, forward and backward, ready for JSON.

    Args:
        steps: T of a sequence.
        batches: numbers of clips at a time.
        repeats: turns of each comparison.
        cores: which of SUBJECTS.
        clips: of the whole model's training step, and of the larger of its rollouts.
        horizon: frames of its rollouts.
        compiled: also measure the cores with compiled steps on the CPU, as is done on a CUDA device anyway.
        device: what is measured: cpu or cuda alone; None measures the CPU, and a CUDA device where there is one.

    Returns:
        cores: one row for each core and batch. Ms per step of ours, of the plain one and of an LSTM of equal
            width, and how many times faster ours is than either. How many times longer ours takes than as many floating
            point operations in large matrix products, how many of those the machine does in a second, and how many
            times longer than its own matrix products alone. If asked for, how many times faster compiled steps are.
        operations: core -> operations per step forward and backward, and how often the host waits.
        device: one row for each core and batch: ms per step on a CUDA device, eager, with compiled steps, as a
            recorded graph that is replayed, and with both.
        model: with rims among the cores, how many times faster than the plain ones are a training step in float32 and
            with bfloat16, and rollouts of one clip and of all clips.
        What is not measured is empty.

    Raises:
        ValueError: a number is below 1, no such core, no compiler, or no such device.
    """
    numbers = {"--steps": [steps], "--repeats": [repeats], "--batches": batches, "clips": [clips], "horizon": [horizon]}
    check.require(len(cores) > 0, "--cores", "name at least one", "nothing", f"give some of {', '.join(SUBJECTS)}")
    for name, values in numbers.items():
        check.require(len(values) > 0, name, "be given", "nothing", "give numbers such as 64 8")
        for value in values:
            check.whole_number(name, value, 1, "give at least 1")
    subjects = {name: SUBJECTS[check.one_of("--cores", name, SUBJECTS)] for name in cores}
    on_cpu, on_cuda = measured(device)
    if compiled:
        must = "come without --device cuda, where steps are compiled anyway"
        check.require(on_cpu, "--compile", must, "both", "leave it out")
        check_compiler("--compile")
    if on_cuda:
        check_compiler("bench cores", "cuda", "give --device cpu")

    def rows(row_of: Callable[[Subject, int], dict[str, float]]) -> list[dict[str, Any]]:
        pairs = [(name, batch) for name in subjects for batch in batches]
        return [{"core": name, "batch": batch, **row_of(subjects[name], batch)} for name, batch in pairs]

    with one_thread():
        on_device = rows(lambda one, batch: _device_row(one, steps, batch, repeats)) if on_cuda else []
        if not on_cpu:
            return {"cores": [], "operations": {}, "device": on_device, "model": {}}
        return {
            "cores": rows(lambda one, batch: _core_row(one, steps, batch, repeats, compiled)),
            "operations": {name: _operations_per_step(subject) for name, subject in subjects.items()},
            "device": on_device,
            "model": _model_rows(clips, min(steps, 10) + 1, horizon, repeats) if "rims" in subjects else {},
        }


def _core_row(subject: Subject, steps: int, batch: int, repeats: int, compiled: bool) -> dict[str, float]:
    """A row of `cores` in what `bench_cores` returns."""
    core = build_core(subject.config, subject.features)
    slots = torch.randn(batch, steps, subject.slots, subject.features)
    ours = _learning_step(core, lambda: unroll(core, slots).output)
    plain = subject.plain(core)
    beside = _learning_step(plain, lambda: unroll(plain, slots).output)
    lstm = nn.LSTM(subject.features, core.rows * core.units, batch_first=True)
    rival = _learning_step(lstm, lambda: lstm(slots[:, :, 0])[0])
    to_plain, to_lstm = compare(ours, beside, repeats), compare(ours, rival, repeats)
    to_limit, rate = times_the_limit(ours, repeats)
    row = {
        "ms_per_step": 1000 * to_plain.own_seconds / steps,
        "plain_ms_per_step": 1000 * to_plain.baseline_seconds / steps,
        "lstm_ms_per_step": 1000 * to_lstm.baseline_seconds / steps,
        "times_faster_than_plain": to_plain.ratio,
        "times_faster_than_lstm": to_lstm.ratio,
        "times_the_limit": to_limit,
        "limit": rate,
        "times_own_products": to_plain.own_seconds / product_seconds(ours, repeats),
    }
    if compiled:
        quick = with_compiled_step(core)
        faster = _learning_step(core, lambda: unroll(quick, slots).output)
        row["times_faster_compiled"] = compare(faster, ours, repeats).ratio
    return row


def _device_row(subject: Subject, steps: int, batch: int, repeats: int) -> dict[str, float]:
    """Milliseconds per step on a CUDA device."""

    def work_of(core: Any) -> Callable[[], None]:
        slots = torch.randn(batch, steps, subject.slots, subject.features, device=device_of(core))
        return _learning_step(core, lambda: unroll(core, slots).output)

    found = device_rows(build_core(subject.config, subject.features), work_of, repeats)
    return {way: milliseconds / steps for way, milliseconds in found.items()}


def _learning_step(module: nn.Module, output: Callable[[], Tensor]) -> Callable[[], None]:
    """Work: forward, and backward into fresh gradients."""

    def work() -> None:
        module.zero_grad(set_to_none=True)
        output().square().mean().backward()

    return work


def _operations_per_step(subject: Subject) -> dict[str, float]:
    """Operations of a step, forward and backward, and how often the host waits in it.

    Counted as the difference between a longer and a shorter sequence, so that what is done once does not count.
    """
    core = build_core(subject.config, subject.features)
    short, long = 2, 12
    few, many = (_operations(core, torch.randn(3, steps, subject.slots, subject.features)) for steps in (short, long))
    return {name: (many[name] - few[name]) / (long - short) for name in many}


def _operations(core: Any, slots: Tensor) -> dict[str, int]:
    """Operations of an unroll on slots, forward and backward, and how often the host waits in both."""
    core.zero_grad()  # or the second backward would also add to the gradients of the first
    outputs: list[Tensor] = []
    forward = operations(lambda: outputs.append(unroll(core, slots).output))
    total = outputs[0].sum()
    backward = operations(total.backward)
    waits = forward.host_waits + backward.host_waits
    return {"forward": forward.total, "backward": backward.total, "host_waits": waits}


def _model_rows(clips: int, frames: int, horizon: int, repeats: int) -> dict[str, float]:
    """The whole model with `rims`: a training step on so many clips and frames, and rollouts."""
    pair, film = pair_of("rims"), torch.rand(clips, frames, 1, 64, 64)
    beside = training_step(pair.plain, film)
    rows = {
        "training_step_float32": compare(training_step(pair.ours, film), beside, repeats).ratio,
        "training_step_bfloat16": compare(training_step(pair.ours, film, torch.bfloat16), beside, repeats).ratio,
    }
    plain = pair.plain.eval()
    for batch in (1, clips):
        context = film[:batch, :1]

        def imagine(context: Tensor = context) -> None:
            with torch.no_grad():
                plain(context, own=horizon - 1)

        ours = compare(partial(roll_out, pair.ours, context, horizon), imagine, repeats)
        rows[f"rollout_{horizon}_frames_batch_{batch}"] = ours.ratio
    return rows


_NOTES = """
CPU time of one thread. Plain: a loop over modules and a dense recurrent matrix masked to blocks; for scoff, a loop
over files and schemata. LSTM: torch.nn.LSTM with as many units. Times the limit: the time divided by that of as many
floating point operations in products of 1024 x 1024 matrices, measured in turns; here {rate:.0f} GFLOP/s. Times its
products: the time divided by that of the core's own matrix products alone, which are small and therefore slower."""


def table(rows: dict[str, Any]) -> str:
    """The rows of `bench_cores` as people read them."""
    if not rows["cores"]:
        return "\n".join(_device_lines(rows["device"]))
    lines = ["forward and backward             ms per step            times faster than           times"]
    lines.append(
        f"{'':24}{'ours':>8}{'plain':>8}{'LSTM':>8}{'plain':>13}{'LSTM':>7}{'the limit':>13}{'its products':>14}"
    )
    for row in rows["cores"]:
        times = [row[f"{who}ms_per_step"] for who in ("", "plain_", "lstm_")]
        lines.append(
            f"  {_label(row):22}{times[0]:8.2f}{times[1]:8.2f}{times[2]:8.2f}"
            f"{row['times_faster_than_plain']:13.1f}{row['times_faster_than_lstm']:7.2f}{row['times_the_limit']:13.1f}"
            f"{row['times_own_products']:14.1f}"
        )
    lines += _compiled_lines(rows["cores"])
    lines += ["", f"{'operations per step':24}{'forward':>9}{'backward':>9}{'host waits':>12}"]
    for name, row in rows["operations"].items():
        lines.append(f"  {name:22}{row['forward']:9.1f}{row['backward']:9.1f}{row['host_waits']:12.1f}")
    lines += ["", *_device_lines(rows["device"])]
    if rows["model"]:
        lines += ["", "the whole model with rims: times faster than frame by frame"]
        lines += [f"  {name.replace('_', ' '):30}{ratio:6.1f}" for name, ratio in rows["model"].items()]
    return "\n".join([*lines, _NOTES.format(rate=statistics.median(row["limit"] for row in rows["cores"]) / 1e9)])


def _label(row: dict[str, Any]) -> str:
    return f"{row['core']}, batch {row['batch']}"


def _compiled_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How much faster compiled steps are; nothing where none was compiled."""
    lines = [
        f"  {_label(row):22}{row['times_faster_compiled']:8.2f}"
        f"{row['times_the_limit'] / row['times_faster_compiled']:18.1f}"
        for row in rows
        if "times_faster_compiled" in row
    ]
    return ["", f"{'with compiled steps':20}{'times faster':>12}{'times the limit':>18}", *lines] if lines else []


def _device_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["on a CUDA device: not measured"]
    lines = [f"{'CUDA, ms per step':24}" + "".join(f"{way:>10}" for way in WAYS)]
    for row in rows:
        lines.append(f"  {_label(row):22}" + "".join(f"{row[way]:10.3f}" for way in WAYS))
    return lines
