"""Merges matrix products in what torch.compile makes of several steps: products that are summed become one product.

Σi Ai Bi is one product, of all Ai side by side and all Bi below one another. The gradient of a weight over several
steps is such a sum. With few clips its factors are thin, and most of the time goes into writing each product, which is
as large as the weight, and adding it to the others.
"""

from typing import Any, TypeGuard

import torch
from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch.fx.experimental.symbolic_shapes import statically_known_true

_ATEN = torch.ops.aten
_PRODUCTS = (_ATEN.mm.default, _ATEN.bmm.default)


class MergedProducts(CustomGraphPass):
    """The change to a graph of operations, in place, as an option of inductor."""

    def __call__(self, graph: fx.Graph) -> None:
        for node in reversed(list(graph.nodes)):
            if node.users and _is_sum(node):
                _merge(graph, node)
        graph.eliminate_dead_code()

    def uuid(self) -> bytes:
        """What inductor keeps its results under, besides the graph."""
        return get_hash_for_files((__file__,))


def _merge(graph: fx.Graph, total: fx.Node) -> None:
    """Make one product of all thin ones in a sum, if there are several."""
    summands = _summands(total)
    products = [part for part in summands if _is_thin(part, total)]
    if len(products) < 2:
        return
    with graph.inserting_before(total):
        left, right = ([product.args[side] for product in products] for side in (0, 1))
        axes = len(total.meta["val"].shape)
        merged = _call(graph, products[0].target, _joined(graph, left, axes - 1), _joined(graph, right, axes - 2))
        for part in summands:
            if part not in products:
                merged = _call(graph, _ATEN.add.Tensor, merged, part)
    total.replace_all_uses_with(merged)
    graph.erase_node(total)


def _joined(graph: fx.Graph, parts: list[Any], axis: int) -> fx.Node:
    return _call(graph, _ATEN.cat.default, parts, axis)


def _call(graph: fx.Graph, operation: Any, *args: Any) -> fx.Node:
    """A new node, with what inductor wants to know of its result."""
    node = graph.call_function(operation, args)
    node.meta["val"] = operation(*fx.map_arg(args, lambda one: one.meta["val"]))
    return node


def _is_sum(node: Any) -> TypeGuard[fx.Node]:
    return isinstance(node, fx.Node) and node.target is _ATEN.add.Tensor and not node.kwargs


def _summands(total: fx.Node) -> list[Any]:
    """What a sum adds up, sums that nobody else needs taken apart."""
    found: list[Any] = []
    for part in total.args:
        found += _summands(part) if _is_sum(part) and len(part.users) == 1 else [part]
    return found


def _is_thin(part: Any, total: fx.Node) -> bool:
    """Whether a summand is a product that nobody else needs, whose factors are smaller than itself."""
    if not isinstance(part, fx.Node) or part.target not in _PRODUCTS or len(part.users) > 1:
        return False
    left: Any = part.args[0]
    value, expected = part.meta["val"], total.meta["val"]
    rows, inner = left.meta["val"].shape[-2:]
    columns = value.shape[-1]
    return (
        value.shape == expected.shape
        and value.dtype == expected.dtype
        and statically_known_true(inner < rows)
        and statically_known_true(inner < columns)
    )
