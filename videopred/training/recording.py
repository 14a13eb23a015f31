"""A piece of an update, forward and backward, recorded on a CUDA device once and replayed without the host."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, cuda, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call


class Recorder:
    """Gives losses, and the gradients with them, from a graph that is recorded for the first batch of its kind.

    A batch of another shape or with another number of own frames has another graph, in the place of the one before,
    whose memory it can take. What is drawn is drawn anew at each replay, from the device's random generator as it then
    is; recording leaves that generator as it was.

    Args:
        model: called with (frames, own, sampling), gives the loss, and does not wait for the device. Its weights may
            change between replays, but not their places in memory.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        # Gradients of weights meet on the stream on which a weight was first used, and may not leave a recorded one. So
        # what is recorded has weights of its own, in the same places.
        self._recorded: dict[str, Tensor] = {
            name: nn.Parameter(weight.detach()) for name, weight in self._weights.items()
        }
        self._graph: _Graph | None = None

    def __call__(self, frames: Tensor, own: int, sampling: float) -> Tensor:
        """The loss of frames (B, T, H, W, C) uint8 on a CUDA device, for one backward pass."""
        kind = (frames.shape, own, sampling > 0)
        if self._graph is None or self._graph.kind != kind:
            self._graph = None  # before the next is recorded, to give its memory back
            self._graph = _Graph(kind, self._model, self._recorded, frames)
        loss, gradients = self._graph.replay(frames, sampling)
        return _Recorded.apply(loss, gradients, *self._weights.values())


class _Graph:
    """A recorded graph, the places that it reads from and those that it writes to."""

    def __init__(
        self, kind: tuple[torch.Size, int, bool], model: nn.Module, weights: dict[str, Tensor], frames: Tensor
    ) -> None:
        self.kind = kind
        _, own, samples = kind
        self._frames = frames.clone()
        self._sampling = torch.zeros((), device=frames.device)

        def work() -> None:
            torch.clear_autocast_cache()  # weights are rounded anew in every replay
            loss = functional_call(model, weights, (self._frames, own, self._sampling if samples else 0.0))
            with torch.autocast(frames.device.type, enabled=False):  # as Lightning's way back has it
                self._gradients = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
            self._loss = loss.detach()

        with torch.random.fork_rng([frames.device] if frames.device.type == "cuda" else []):
            self._run = captured(work)
        torch.clear_autocast_cache()

    def replay(self, frames: Tensor, sampling: float) -> tuple[Tensor, Sequence[Tensor | None]]:
        """Loss and gradients, in places where the next replay writes its own."""
        self._frames.copy_(frames)
        self._sampling.fill_(sampling)
        self._run()
        return self._loss, self._gradients


class _Recorded(torch.autograd.Function):
    """A loss whose gradients are known."""

    @staticmethod
    def forward(context: Any, loss: Tensor, gradients: Sequence[Tensor | None], *weights: Tensor) -> Tensor:
        context.gradients = gradients
        return loss.clone()

    @staticmethod
    @once_differentiable
    def backward(context: Any, upstream: Tensor) -> Any:
        return None, None, *(None if one is None else upstream * one for one in context.gradients)


def captured(work: Callable[[], Any]) -> Callable[[], None]:
    """The work as a CUDA graph. It must always use the same tensors; what it draws is drawn anew at each replay."""
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _ in range(2):  # libraries set themselves up, which cannot be captured
            work()
    cuda.current_stream().wait_stream(side)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph, capture_error_mode="thread_local"):  # loaders and NCCL have threads of their own
        work()
    return graph.replay
