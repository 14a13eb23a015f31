"""A stand-in for torch.cuda, where there is no such device: in which order it is asked for what."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class StandIn:
    """As much of torch.cuda as the benchmarks use, which notes what it is asked for and has a clock of its own."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.clock = 0.0
        self.there = True
        self.end_fails = False

    def is_available(self) -> bool:
        return self.there

    def current_stream(self, device: Any) -> Any:
        assert device == "here"
        return SimpleNamespace(wait_stream=lambda other: self.done.append(f"main waits for {other.name}"))

    def Stream(self) -> Any:
        return SimpleNamespace(name="side", device="here", wait_stream=lambda other: self.done.append("side waits"))

    @contextmanager
    def stream(self, stream: Any) -> Any:
        self.done.append(f"on {stream.name}")
        yield
        self.done.append(f"off {stream.name}")

    def CUDAGraph(self) -> Any:
        return SimpleNamespace(replay=lambda: self.done.append("replay"))

    @contextmanager
    def graph(self, graph: Any, *, stream: Any, capture_error_mode: str) -> Any:
        assert capture_error_mode == "thread_local"
        self.done.append(f"capture on {stream.name}")
        try:
            yield
        finally:
            if self.end_fails:
                raise RuntimeError("operation failed due to a previous error during capture")
        self.done.append("captured")

    def synchronize(self) -> None:
        self.done.append("wait for all")

    def Event(self, *, enable_timing: bool) -> Any:
        assert enable_timing
        event = SimpleNamespace(time=None, synchronize=lambda: self.done.append("wait for the end"))
        event.record = lambda: setattr(event, "time", self.clock)
        event.elapsed_time = lambda end: end.time - event.time
        return event
