"""Work on a CUDA device: timed there, compiled, and captured as a graph that is replayed without the host."""

import copy
import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import cuda
from torch.autograd import DeviceType

from videopred.models.compiling import compile_step


def device_rows(
    core: Any, work_of: Callable[[Any], Callable[[], None]], repeats: int, device: str = "cuda"
) -> dict[str, float]:
    """Milliseconds of the same work done eagerly, with compiled steps, and as a replayed CUDA graph.

    Args:
        core: the core inside the work, on the CPU; it stays as it is.
        work_of: makes the work, forward and backward, with a core on the device.
        repeats: how often each is timed; the median counts.
        device: where the work is done, the current CUDA device.

    Returns:
        eager, compiled, captured; empty where there is no CUDA device.
    """
    if not cuda.is_available():
        return {}
    core = copy.deepcopy(core).to(device)
    work, faster = work_of(core), work_of(with_compiled_step(core))
    return {
        "eager": device_milliseconds(work, repeats),
        "compiled": device_milliseconds(faster, repeats),
        "captured": device_milliseconds(captured(work), repeats),
    }


def with_compiled_step(core: Any, backend: str = "inductor") -> Any:
    """A core with the same weights whose steps are compiled where it learns."""
    compiled = copy.copy(core)
    compile_step(compiled, backend)
    return compiled


def captured(work: Callable[[], Any]) -> Callable[[], None]:
    """The work as a CUDA graph. It must always use the same tensors; what it draws is drawn anew at each replay."""
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _ in range(3):  # libraries set themselves up, which cannot be captured
            work()
    cuda.current_stream().wait_stream(side)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        work()
    return graph.replay


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
