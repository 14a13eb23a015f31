"""What a piece of PyTorch work asks of the machine, counted without a clock."""

import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from videopred.bench.timing import compare, cpu_seconds

_PRODUCTS = ("aten.mm", "aten.bmm", "aten.addmm", "aten.baddbmm")
_WAITING = (
    "aten._local_scalar_dense",
    "aten.item",
    "aten.nonzero",
    "aten.masked_select",
    "aten.equal",
    "aten.is_nonzero",
)
_BY_INDEX = ("aten.index.Tensor", "aten.index_put", "aten.index_put_")


class OperationCount(TorchDispatchMode):
    """Within it, counts the operations that compute something: views, which only rename memory, are free.

    Attributes:
        counts: name of the operation -> how often.
        host_waits: how many of them make the host wait until a device is done with all before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.host_waits = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not operation.is_view and operation.namespace == "aten" and "view" not in operation.name():
            name = str(operation).removesuffix(".default")
            self.counts[name] += 1
            by_mask = name in _BY_INDEX and any(_is_mask(index) for index in args[1])
            self.host_waits += name.startswith(_WAITING) or by_mask
        return operation(*args, **(kwargs or {}))

    @property
    def total(self) -> int:
        """All operations."""
        return sum(self.counts.values())


def _is_mask(index: Any) -> bool:
    """Whether the size of what this index chooses depends on its values."""
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def operations(work: Callable[[], Any]) -> OperationCount:
    """The operations of some work."""
    with OperationCount() as count:
        work()
    return count


def flops(work: Callable[[], Any]) -> int:
    """Floating point operations of the work's matrix products and convolutions; a multiply-add is two."""
    with FlopCounterMode(display=False) as count:
        work()
    return count.get_total_flops()


LARGE_PRODUCT = 1024
"""Rows and columns of the matrices whose product is the machine's limit in practice."""


def matrix_rate(dtype: torch.dtype = torch.float32) -> float:
    """Floating point operations per CPU second of a large matrix product: the machine's limit in practice."""
    left, right = torch.rand(2, LARGE_PRODUCT, LARGE_PRODUCT).to(dtype)
    torch.mm(left, right)
    return 2 * LARGE_PRODUCT**3 / min(cpu_seconds(lambda: torch.mm(left, right)) for _ in range(5))


def times_the_limit(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """How many times longer some float32 work takes than as many floating point operations in large products.

    The two are timed alternately, so that whatever else runs on the machine slows both.

    Returns:
        The median of the ratios; and the floating point operations per CPU second of the large products.
    """
    needed, each = flops(work), 2 * LARGE_PRODUCT**3
    count = -(-needed // each)
    left, right = torch.rand(2, LARGE_PRODUCT, LARGE_PRODUCT)

    def products() -> None:
        for _ in range(count):
            torch.mm(left, right)

    found = compare(work, products, repeats)
    return count * each / needed / found.ratio, count * each / statistics.median(found.baseline)


class Products(TorchDispatchMode):
    """Within it, notes the matrix products.

    Attributes:
        calls: (operation, size and stride of each of its matrices) -> how often.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[tuple[Any, ...]] = Counter()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if str(operation).removesuffix(".default") in _PRODUCTS:
            self.calls[operation, *((part.shape, part.stride()) for part in args)] += 1
        return operation(*args, **(kwargs or {}))


def product_seconds(work: Callable[[], Any], repeats: int) -> float:
    """CPU time of the work's float32 matrix products alone, each done again on matrices laid out as they were.

    Small products are slower than large ones, so this is a nearer limit for work that is made of them.
    """
    with Products() as products:
        work()
    return sum(count * _alone(call, repeats) for call, count in products.calls.items())


def _alone(call: tuple[Any, ...], repeats: int) -> float:
    """CPU time of one such product: it is done in rounds of several, of which the shortest counts."""
    operation, *layouts = call
    parts = [torch.empty_strided(size, stride).normal_() for size, stride in layouts]
    rounds = 10

    def several() -> None:
        for _ in range(rounds):
            operation(*parts)

    several()
    return min(cpu_seconds(several) for _ in range(repeats)) / rounds
