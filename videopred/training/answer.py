"""An answer of a device to the host, which has other things to do until it comes."""

import torch
from torch import Tensor


class Answer:
    """A bool being copied from a device. `bool()` waits for that copy alone, not for work queued after it.

    Args:
        value: one bool.
    """

    def __init__(self, value: Tensor) -> None:
        self._value = value.to("cpu", non_blocking=value.is_cuda)
        self._arrival: torch.cuda.Event | None = None
        if value.is_cuda:
            self._arrival = torch.cuda.Event()
            self._arrival.record(torch.cuda.current_stream(value.device))

    def __bool__(self) -> bool:
        if self._arrival is not None:
            self._arrival.synchronize()
        return bool(self._value)
