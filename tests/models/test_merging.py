"""Sums of products become one product where that is worth it, and only where it is the same."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx

from videopred.models.merging import MergedProducts


def graph_after(function: Callable[..., Tensor], *inputs: Tensor) -> fx.Graph:
    """The changed function, which must still give the same."""
    module = make_fx(function, tracing_mode="fake")(*inputs)
    MergedProducts()(module.graph)
    module.graph.lint()
    changed = fx.GraphModule(module, module.graph)
    torch.testing.assert_close(changed(*inputs), function(*inputs), rtol=1e-12, atol=1e-12)
    return module.graph


def products_after(function: Callable[..., Tensor], *inputs: Tensor) -> int:
    """How many products the changed function has."""
    graph = graph_after(function, *inputs)
    return sum(node.target in (torch.ops.aten.mm.default, torch.ops.aten.bmm.default) for node in graph.nodes)


def factors(*batch: int, inner: tuple[int, ...] = (2, 3, 4)) -> list[Tensor]:
    """Left and right factors of products of 5 rows and 7 columns, and another summand."""
    torch.manual_seed(0)
    pairs = [torch.rand(*batch, *shape).double() for size in inner for shape in ((5, size), (size, 7))]
    return [*pairs, torch.rand(*batch, 5, 7).double()]


@pytest.mark.parametrize(("product", "batch"), [(torch.mm, ()), (torch.bmm, (6,))])
def test_summed_products_become_one(product, batch):
    def work(a, b, c, d, e, f, other):
        return torch.sigmoid(((product(a, b) + other) + product(c, d)) + (product(e, f) + 1.5))

    assert products_after(work, *factors(*batch)) == 1


def test_a_product_that_is_added_twice_counts_twice():
    def work(a, b, c, d, *_):
        product = a @ b
        return (product + product) + c @ d

    assert products_after(work, *factors()) == 1


def test_a_sum_that_is_needed_elsewhere_stays():
    """The sum of the first two is one product; the third is added to it, and does not do these two again."""

    def work(a, b, c, d, e, f, _):
        early = a @ b + c @ d
        return torch.tanh(early) * (early + e @ f)

    assert products_after(work, *factors()) == 2
    joined = [node for node in graph_after(work, *factors()).nodes if node.target is torch.ops.aten.cat.default]
    assert [len(node.args[0]) for node in joined] == [2, 2]


def test_a_product_that_is_needed_elsewhere_stays():
    """Merged as well, it would be done twice."""

    def work(a, b, c, d, *_):
        product = a @ b
        return product * (product + c @ d)

    assert products_after(work, *factors()) == 2
    assert torch.ops.aten.cat.default not in {node.target for node in graph_after(work, *factors()).nodes}


@pytest.mark.parametrize("inner", [(5, 6), (2, 9), (5, 5)])
def test_products_that_are_not_thin_stay(inner):
    assert products_after(lambda a, b, c, d, _: a @ b + c @ d, *factors(inner=inner)) == 2
    narrow = [part.transpose(0, 1) for part in factors(inner=inner)[:4]]
    assert products_after(lambda a, b, c, d: b @ a + d @ c, *narrow) == 2


def test_a_weighted_sum_and_a_product_that_is_spread_over_a_sum_stay():
    def weighted(a, b, c, d, *_):
        return torch.add(a @ b, c @ d, alpha=2)

    def spread(a, b, c, d, e, f, _):
        return (a @ b + e @ f[:, :1]) + c @ d

    def spread_over_a_batch(a, b, c, d, *_):
        return torch.bmm(a[:1], b[:1]) + torch.bmm(c, d)

    assert products_after(weighted, *factors()) == 2
    assert products_after(spread, *factors()) == 2
    assert products_after(spread_over_a_batch, *factors(6)) == 2


def test_a_product_of_lower_precision_stays():
    def work(a, b, c, d, e, f, _):
        return (a @ b + c.float() @ d.float()) + e @ f

    assert products_after(work, *factors()) == 2


def test_results_are_kept_under_the_text_of_the_pass():
    assert MergedProducts().uuid() == MergedProducts().uuid()
    assert MergedProducts().uuid()
