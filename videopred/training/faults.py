"""Where numbers stopped being finite."""

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as tree

from videopred.models.predictor import Predictor

LOSS_ITSELF = "the loss itself"


@torch.no_grad()
def first_fault(predictor: Predictor, film: Tensor) -> str:
    """Name of the first tensor that is not finite: a weight, or else the output of a part, when the film is read.

    Args:
        predictor: in the mode and on the device it is in.
        film: (B, T, C, H, W) float in [0, 1].
    """
    for name, weight in predictor.named_parameters():
        if not weight.isfinite().all():
            return f"the weight {name}"
    found: list[str] = []

    def watch(name: str) -> Any:
        def look(module: Any, inputs: Any, output: Any) -> None:
            tensors = [one for one in tree.tree_leaves(output) if isinstance(one, Tensor)]
            if any(not one.isfinite().all() for one in tensors):
                found.append(name)

        return look

    def look_behind_the_core(decoder: Any, inputs: Any) -> None:
        if not inputs[0].isfinite().all():
            found.append("core")

    hooks = [part.register_forward_hook(watch(name)) for name, part in predictor.named_modules() if name]
    # Cores, of which some give no `forward`, are walked through by their steps.
    hooks.append(predictor.decoder.register_forward_pre_hook(look_behind_the_core))
    try:
        predictor(film)
    finally:
        for hook in hooks:
            hook.remove()
    return f"the output of {found[0]}" if found else LOSS_ITSELF


def first_bad_gradient(predictor: Predictor) -> str:
    """Name of the first weight whose gradient is not finite."""
    gradients = ((name, weight.grad) for name, weight in predictor.named_parameters())
    bad = [name for name, gradient in gradients if gradient is not None and not gradient.isfinite().all()]
    return f"the gradient of {bad[0]}" if bad else "the norm itself"
