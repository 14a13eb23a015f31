"""ELU, the activation of the codecs: x above 0, exp(x) − 1 below."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from videopred.models.precision import widened


class ELU(nn.Module):
    """torch.nn.ELU's function, but for rounding: in float32 a subtraction from exp(x) leaves an error below 1e-7.

    torch takes expm1 for that, which on some CPUs takes ten times as long as exp (docs/speed.md).
    """

    def forward(self, inputs: Tensor) -> Tensor:
        """Any axes, floating point; it is written over its input, except on a CPU that does not trace."""
        if inputs.device.type != "cpu" or torch.jit.is_tracing():  # whose programs hold no function of Python's
            return functional.elu(inputs, inplace=True)
        if not torch.is_grad_enabled():  # without a function of Python's, a call of which takes as long as exp
            return _elu(inputs)
        output: Tensor = _ELU.apply(inputs)
        return output


def _elu(inputs: Tensor) -> Tensor:
    below = widened(inputs.clamp(max=0)).exp_().sub_(1).to(inputs.dtype)
    return torch.maximum(inputs, below)  # as exp(x) − 1 is at least x, and 0 where x is above 0


class _ELU(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(inputs: Tensor) -> Tensor:
        return _elu(inputs)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        context.save_for_backward(output)

    @staticmethod
    def backward(context: Any, upstream: Tensor) -> Tensor:
        (output,) = context.saved_tensors
        return torch.ops.aten.elu_backward(upstream, 1.0, 1.0, 1.0, True, output)
