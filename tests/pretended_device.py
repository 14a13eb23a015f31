"""A pretended CUDA device: it computes on the CPU, and refuses what a real one would refuse.

Tensors on it are wrappers around tensors on the CPU. Below autograd, each operation sees where its arguments are: those
of two devices meet nowhere but in copies, save that indices may be on the CPU, and so may numbers (tensors without
axes) that go with every value of another tensor. NumPy cannot read what is on the device. Chance comes from the CPU's
generators, so that all numbers are the CPU's.

To Python such a tensor is on `cuda:0`. To C++ it is on `meta`, the one device but the CPU that needs no driver; so what
is written for CUDA alone (kernels, cuDNN, fused and foreach steps, autocast, streams, captured graphs) is not proved.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

CUDA = torch.device("cuda:0")
_aten = torch.ops.aten
_COPIES = {_aten.copy_.default, _aten._to_copy.default}
_TAKES_INDICES = {_aten.index.Tensor, _aten.index_put_.default, _aten.index_put.default}
"""Their second argument may be on the CPU, if the first is on the device."""
waits: list[str] = []
"""Operations since the device began in which it and the CPU wait for one another."""
_records: list[bool] = []
"""As many as graphs are being recorded."""


@contextmanager
def records() -> Iterator[None]:
    """While it lasts, the device records a graph, and refuses what cannot be in one."""
    _records.append(True)
    try:
        yield
    finally:
        _records.pop()


def _refuse_in_graph(what: str) -> None:
    if _records:
        raise RuntimeError(f"{what} is not permitted when stream is capturing")


class Pretended(Tensor):
    """A tensor on the pretended device; `held` is the one on the CPU that it stands for."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl
    device: Any = property(lambda self: CUDA)
    is_cuda: Any = property(lambda self: True)
    is_meta: Any = property(lambda self: False)

    @staticmethod
    def __new__(cls, held: Tensor) -> "Pretended":
        size, strides, offset = held.size(), held.stride(), held.storage_offset()
        with torch.inference_mode(False):  # in which a view of what was there before is no inference tensor
            made = Tensor._make_wrapper_subclass(cls, size, strides, offset, dtype=held.dtype, device="meta")
        made.held = held
        return made

    def __repr__(self, **_: Any) -> str:
        waits.append("repr")
        _refuse_in_graph("repr")
        return f"Pretended({self.held})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.held.detach().__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _compute(operation, args, kwargs or {})


def held(tree: Any) -> Any:
    """A tree, with what is on the pretended device on the CPU."""
    return _mapped(lambda one: one.held if isinstance(one, Pretended) else one, tree)


def assert_same_there(work: Callable[[torch.device], Any]) -> None:
    """Raise AssertionError unless the work gives on the pretended device, and there alone, what it gives on the CPU.

    But for rounding: products of matrices depend on where in memory these begin.

    Args:
        work: given a device, makes a tree of tensors there.
    """
    here = work(torch.device("cpu"))
    with pretended_device() as device:
        there = work(device)
    left = [tuple(one.shape) for one in _tensors(there) if not isinstance(one, Pretended)]
    assert not left, f"left on the CPU: {left}"
    torch.testing.assert_close(held(there), here, rtol=1e-5, atol=1e-7, equal_nan=True)


class _Naming(TorchFunctionMode):
    """Calls `meta` for C++ what Python calls `cuda`."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is torch.device:  # a name keeps what it says
            return function(*args, **kwargs)
        if function is Tensor.cuda:
            return args[0].to("meta")
        if function is Tensor.tolist:  # which no subclass may be asked
            return args[0].cpu().tolist()
        if function in (torch.tensor, torch.as_tensor):  # which would make an empty one on meta
            device = kwargs.pop("device", None)
            made = function(*args, **kwargs)
            return made if device is None else made.to(_renamed(device))
        if function in (Tensor.__getitem__, Tensor.__setitem__):  # likewise, of lists
            parts = args[1] if isinstance(args[1], tuple) else (args[1],)
            parts = tuple(torch.tensor(part) if isinstance(part, list) else part for part in parts)
            return function(args[0], parts, *args[2:])
        return function(*map(_renamed, args), **{name: _renamed(value) for name, value in kwargs.items()})


def _renamed(value: Any) -> Any:
    ours = isinstance(value, str | torch.device) and str(value).partition(":")[0] == "cuda"
    return torch.device("meta") if ours else value


class _Making(TorchDispatchMode):
    """Sees the operations that have no tensor yet, and make one."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.is_inference_mode_enabled():
            with self:  # what is made of other operations, which autograd takes apart, comes whole
                found = operation.decompose(*args, **kwargs)
            if found is not NotImplemented:
                return found
        if Pretended not in types and kwargs.get("device") in (None, torch.device("cpu")):
            return operation(*args, **kwargs)  # as below, but at once
        return _compute(operation, args, kwargs)


def _compute(operation: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What the operation gives, on the device where it gives it."""
    there = _meet_there(operation, args, kwargs)
    asked = kwargs.get("device")
    on_cpu = {} if asked is None else {"device": torch.device("cpu")}
    found = operation(*held(args), **held(kwargs | on_cpu))
    stays = there if asked is None else asked.type == "meta"
    if _waits(operation, args, kwargs, stays):
        waits.append(str(operation))
        _refuse_in_graph(str(operation))
    if not stays:
        return found
    found = _mapped(lambda one: Pretended(one) if isinstance(one, Tensor) else one, found)
    return return_and_correct_aliasing(operation, args, kwargs, found)


def _meet_there(operation: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the operation's tensors meet on the device; a copy goes where its first is.

    Raises:
        RuntimeError: they are on both, where a CUDA device would refuse that.
    """
    tensors = _tensors((args, kwargs))
    assert all(isinstance(one, Pretended) or one.device.type == "cpu" for one in tensors)
    if not tensors or operation in _COPIES:
        return bool(tensors) and isinstance(tensors[0], Pretended)
    here = [one for one in tensors if not isinstance(one, Pretended)]
    there = len(here) < len(tensors)
    if here and there:
        indices = operation in _TAKES_INDICES and isinstance(args[0], Pretended)
        may_be_here = {id(one) for one in _tensors(args[1])} if indices else set()
        if torch.Tag.pointwise in operation.tags or operation in _TAKES_INDICES:
            numbers = {id(one) for one in tensors if one.dim() == 0}
            may_be_here |= numbers - {id(one) for one in _written(operation, args, kwargs)}
        places = ", ".join(f"{tuple(one.shape)} on {one.device}" for one in tensors)
        if any(id(one) not in may_be_here for one in here):
            raise RuntimeError(f"{operation} must have all tensors on one device, got {places}")
    return there


def _waits(operation: Any, args: Any, kwargs: dict[str, Any], stays: bool) -> bool:
    """Whether the operation asks for values of the device, or takes some there but for single numbers."""
    crosses = any(isinstance(one, Pretended) != stays and one.dim() for one in _tensors((args, kwargs)))
    shapes_by_values = torch.Tag.dynamic_output_shape in operation.tags
    return crosses or (stays and shapes_by_values) or operation is _aten._local_scalar_dense.default


def _written(operation: Any, args: Any, kwargs: dict[str, Any]) -> list[Tensor]:
    """What the operation writes into."""
    given = {argument.name: value for argument, value in zip(operation._schema.arguments, args, strict=False)} | kwargs
    writes = (one.name for one in operation._schema.arguments if one.alias_info and one.alias_info.is_write)
    return _tensors([given.get(name) for name in writes])


def _mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """A tree of lists, tuples and dicts, each of its leaves changed."""
    if isinstance(tree, dict):
        return {name: _mapped(change, value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        parts = [_mapped(change, value) for value in tree]
        return tree._make(parts) if hasattr(tree, "_make") else type(tree)(parts)
    return change(tree)


def _tensors(tree: Any) -> list[Tensor]:
    found: list[Any] = []
    _mapped(lambda one: found.append(one) if isinstance(one, Tensor) else None, tree)
    return found


class _Generator(torch.Generator):
    """A generator of the CPU that says it is on the device it was made for."""

    def __new__(cls, device: Any = "cpu") -> Any:
        made = super().__new__(cls, "cpu")
        made.named = torch.device(device)
        if made.named.type == "cuda":
            _refuse_in_graph("a new generator")
        return made

    device: Any = property(lambda self: CUDA if self.named.type == "cuda" else self.named)


class _Event:
    """A point in what the device does: a host that wants to know whether it has come waits for it."""

    def record(self, stream: Any) -> None:
        _refuse_in_graph("an event")

    def synchronize(self) -> None:
        waits.append("event")


_STAND_INS: dict[str, Any] = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "set_device": lambda device: None,
    "current_stream": lambda device=None: None,
    "Event": _Event,
    "is_current_stream_capturing": lambda: bool(_records),
    "empty_cache": lambda: None,
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
    "mem_get_info": lambda device=None: (10**9, 10**9),
    "memory_allocated": lambda device=None: 0,
    "max_memory_allocated": lambda device=None: 10**6,
    "reset_peak_memory_stats": lambda device=None: None,
    "get_device_capability": lambda device=None: (7, 0),
    "get_device_properties": lambda device=None: SimpleNamespace(name="pretended", total_memory=10**9),
    "is_bf16_supported": lambda including_emulation=True: True,
}
"""What is asked of torch.cuda."""
_STREAM = SimpleNamespace(is_capturing=lambda: False)


@contextmanager
def pretended_device() -> Iterator[torch.device]:
    """While it lasts, this machine has one CUDA device."""
    with ExitStack() as stack:
        for name, stand_in in _STAND_INS.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, stand_in))
        stack.enter_context(mock.patch.object(torch, "Generator", _Generator))
        stack.enter_context(mock.patch.object(torch.accelerator, "current_stream", return_value=_STREAM))
        stack.enter_context(mock.patch.object(torch.accelerator, "synchronize"))
        stack.enter_context(_Naming())
        stack.enter_context(_Making())
        waits.clear()
        yield CUDA
