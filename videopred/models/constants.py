"""Tensors of a module that follow from its sizes alone, and so are in no state_dict."""

from typing import Any

import torch
from torch import Tensor


def keep_constants(module: Any) -> None:
    """Make buffers of what `module.constants()` gives, name -> tensor, and fill them anew after every load_state_dict.

    So they are right, too, in a module that was built on the device `meta`, where nothing has numbers.
    """
    for name, values in module.constants().items():
        module.register_buffer(name, values, persistent=False)
    module.register_load_state_dict_post_hook(_fill)


def _fill(module: Any, _: Any) -> None:
    """Fill the buffers; those that are not like the weights, which may just have been put there, are made anew."""
    weight = next(module.parameters(), None)
    with torch.device("cpu"), torch.no_grad():
        constants: dict[str, Tensor] = module.constants()
    for name, values in constants.items():
        buffer: Tensor = getattr(module, name)
        like = buffer if weight is None else weight
        if (buffer.device, buffer.dtype) == (like.device, like.dtype):
            buffer.copy_(values)
        else:
            setattr(module, name, values.to(like))
