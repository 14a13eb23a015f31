"""The loss of what a decoder paints, block after block, in the memory that one block takes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from videopred.models.predictor import Predictor

Loss = Callable[[Tensor, Tensor], Tensor]
"""(logits, truth), both (…, C, H, W), -> the mean over frames, one number."""


def painted_loss(predictor: Predictor, outputs: Tensor, truth: Tensor, loss: Loss) -> Tensor:
    """The loss of the frames that a decoder paints; its gradient flows as usual, but only once.

    A block's gradient is computed as soon as it is painted, while all that it takes is at hand, and waits to be
    multiplied by what comes on the way back. So nothing of the decoder's work outlives its block, and none is done
    twice. Where mixed precision scales losses, small gradients would be lost before the scale is known.

    Args:
        predictor: whose decoder paints.
        outputs: (B, T, K, D), of its core.
        truth: (B, T, C, H, W) float in [0, 1], the frames that are meant.
        loss: of a block, (N, C, H, W).
    """
    weights = [weight for weight in predictor.decoder.parameters() if weight.requires_grad]
    return _PaintedLoss.apply(predictor, truth, loss, outputs, *weights)


class _PaintedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, predictor: Predictor, truth: Tensor, loss: Loss, outputs: Tensor, *weights: Tensor
    ) -> Any:
        frames = truth.shape[0] * truth.shape[1]
        lost, sums = [], [torch.zeros_like(weight) for weight in weights]
        gradients = []
        for block, true in zip(predictor.blocks(outputs), predictor.blocks(truth), strict=True):
            block = block.detach().requires_grad_()
            with torch.enable_grad():
                share = loss(predictor.decoder(block)[0], true) * (len(block) / frames)
            with torch.autocast(outputs.device.type, enabled=False):  # as Lightning's way back has it
                found = torch.autograd.grad(share, [block, *weights], allow_unused=True, materialize_grads=True)
            gradients.append(found[0])
            for whole, part in zip(sums, found[1:], strict=True):
                whole += part
            lost.append(share.detach())
        context.save_for_backward(torch.cat(gradients).view_as(outputs), *sums)
        return torch.stack(lost).sum()

    @staticmethod
    def backward(context: Any, upstream: Tensor) -> Any:
        if torch.is_grad_enabled():  # what is kept would count as a constant, in silence
            raise RuntimeError("the loss of painted frames can be differentiated only once")
        return None, None, None, *(upstream * gradient for gradient in context.saved_tensors)
