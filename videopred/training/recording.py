"""A piece of an update, forward and backward, recorded on a CUDA device once and replayed without the host."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, cuda, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call

from videopred import check


class Recorder:
    """Gives losses, and the gradients with them, from a graph that is recorded for the first batch of its kind.

    A batch of another shape or with another number of own frames has another graph, in the place of the one before,
    whose memory it can take. What is drawn is drawn anew at each replay, from the device's random generator as it then
    is; recording leaves that generator as it was.

    Args:
        model: the weights are its; they may change between replays, but not their places in memory.
    """

    def __init__(self, model: nn.Module) -> None:
        named = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self._weights = list(named.values())
        # Gradients of weights meet on the stream on which a weight was first used, and may not leave a recorded one. So
        # what is recorded has weights of its own, in the same places.
        self._recorded: dict[str, Tensor] = {name: nn.Parameter(weight) for name, weight in named.items()}
        self._side = cuda.Stream(self._weights[0].device)
        self._graph: _Graph | None = None

    def __call__(self, model: nn.Module, frames: Tensor, own: int, sampling: float) -> Tensor:
        """The loss that the model gives of (frames, own, sampling), for one backward pass.

        Args:
            model: that of the weights. It is not kept, as it keeps the recorder.
            frames: (B, T, H, W, C) uint8 on a CUDA device.
            own: frames at the end that are fed back.
            sampling: share of other frames that are.

        Raises:
            FailedError: the model does what cannot be recorded.
        """
        kind = (frames.shape, own, sampling > 0)
        if self._graph is None or self._graph.kind != kind:
            self._graph = None  # before the next is recorded, to give its memory back
            self._graph = _Graph(kind, model, self._recorded, frames, self._side)
            self._check_places()
        loss, gradients = self._graph.replay(frames, sampling)
        return _Recorded.apply(loss, gradients, *self._weights)

    def _check_places(self) -> None:
        """Refuse a model that moves its weights when it finds others in their places, as cuDNN's LSTM and GRU do."""
        own, recorded = ([one.data_ptr() for one in ones] for ones in (self._weights, self._recorded.values()))
        if own != recorded:
            must, got = "come with a core whose weights stay in place", "one that moves them, as nn.LSTM does"
            raise check.FailedError(check.complaint("--cuda-graphs", must, got, "leave it out, or use nn.LSTMCell"))


class _Graph:
    """A recorded graph, the places that it reads from and those that it writes to."""

    def __init__(
        self,
        kind: tuple[torch.Size, int, bool],
        model: nn.Module,
        weights: dict[str, Tensor],
        frames: Tensor,
        side: cuda.Stream,
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

        with torch.random.fork_rng([frames.device] if frames.is_cuda else []):
            self._run = captured(work, side)
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


def captured(work: Callable[[], Any], side: cuda.Stream | None = None) -> Callable[[], None]:
    """The work as a CUDA graph.

    Args:
        work: must always use the same tensors, of one device, which have to be kept as long as there are replays; what
            it draws is drawn anew at each replay.
        side: stream of that device on which it is recorded; None makes one on the current device.

    Raises:
        FailedError: the work cannot be recorded, as it waits for the device.
    """
    side = side or cuda.Stream()
    outer = cuda.current_stream(side.device)
    side.wait_stream(outer)
    with cuda.stream(side):
        for _ in range(2):  # libraries set themselves up, which cannot be recorded
            work()
    outer.wait_stream(side)
    graph = cuda.CUDAGraph()
    try:
        with cuda.graph(graph, stream=side, capture_error_mode="thread_local"):  # loaders and NCCL have other threads
            work()
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        first = str(error.__context__ or error).partition("\n")[0]  # the end of recording fails after it
        fix = "see that the core never waits for the device, as .item() and copies to the CPU do, or leave graphs out"
        raise check.FailedError(check.complaint("a CUDA graph", "record loss and gradient", first, fix)) from error
    return graph.replay
