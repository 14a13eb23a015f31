"""Work on a CUDA device: timed there, compiled, and captured as a graph that is replayed without the host."""

import copy
import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import cuda
from torch.autograd import DeviceType

from videopred import check
from videopred.models.compiling import compile_step
from videopred.training.recording import captured

WAYS = ("eager", "compiled", "recorded", "both")
"""How work is done on a device: both are compiled steps in a recorded graph."""


def measured(device: str | None) -> tuple[bool, bool]:
    """Whether the CPU is to be measured, and whether a CUDA device is: both, where nothing else is asked for.

    Raises:
        ValueError: there is no such device.
    """
    if device is None:
        return True, cuda.is_available()
    on_cuda = check.one_of("--device", device, ("cpu", "cuda")) == "cuda"
    there = cuda.is_available() or not on_cuda
    check.require(there, "--device", "be cpu, as torch finds no CUDA device here", device, "leave it out")
    return not on_cuda, on_cuda


def device_rows(
    core: Any, work_of: Callable[[Any], Callable[[], None]], repeats: int, device: str = "cuda"
) -> dict[str, float]:
    """Milliseconds of the same work done in each of WAYS.

    Args:
        core: the core inside the work, on the CPU; it stays as it is.
        work_of: makes the work, forward and backward, with a core on the device.
        repeats: how often each is timed; the median counts.
        device: where the work is done, the current CUDA device.

    Returns:
        way -> milliseconds.
    """
    core = copy.deepcopy(core).to(device)
    plain, faster = work_of(core), work_of(with_compiled_step(core))
    return in_all_ways(plain, faster, repeats)


def in_all_ways(plain: Callable[[], None], faster: Callable[[], None], repeats: int) -> dict[str, float]:
    """Milliseconds of work in each of WAYS, given it without and with compiled steps."""
    return {
        "eager": device_milliseconds(plain, repeats),
        "compiled": device_milliseconds(faster, repeats),
        "recorded": device_milliseconds(captured(plain), repeats),
        "both": device_milliseconds(captured(faster), repeats),
    }


def with_compiled_step(core: Any, backend: str = "inductor") -> Any:
    """A core with the same weights whose steps are compiled where it learns."""
    compiled = copy.copy(core)
    compile_step(compiled, backend)
    return compiled


def device_milliseconds(work: Callable[[], Any], repeats: int) -> float:
    """Median time of the work on the current CUDA device, after three goes that do not count."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def computing_milliseconds(work: Callable[[], Any]) -> float:
    """How long the current CUDA device computes for the work, gaps left out."""
    goes = 3
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(goes):
            work()
        cuda.synchronize()
    # What the host does, and names for stretches of time, would count what runs on the device once more.
    kernels = [row for row in profile.key_averages() if row.device_type == DeviceType.CUDA]
    return sum(row.self_device_time_total for row in kernels if not row.is_user_annotation) / 1000 / goes
