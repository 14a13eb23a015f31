"""Tensors of a module that follow from its sizes alone, and so are in no state_dict."""

from typing import Any

from torch import Tensor


def keep_constants(module: Any) -> None:
    """Make buffers of what `module.constants()` gives, name -> tensor, and make them anew after every load_state_dict.

    So they are right, too, in a module that was built on the device `meta`, where nothing has numbers.
    """
    for name, values in module.constants().items():
        module.register_buffer(name, values, persistent=False)
    module.register_load_state_dict_post_hook(_make_anew)


def _make_anew(module: Any, _: Any) -> None:
    weight = next(module.parameters(), None)  # which may only now have been put where it is
    for name, values in module.constants().items():
        buffer: Tensor = getattr(module, name)
        setattr(module, name, values.to(buffer.device if weight is None else weight.device, buffer.dtype))
