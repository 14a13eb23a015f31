"""Counting operations."""

import torch

from videopred.bench.operations import Products, flops, matrix_rate, operations, product_seconds


def test_views_are_free_and_computations_count():
    left, right = torch.rand(3, 4), torch.rand(4, 5)

    def work() -> None:
        product = left.view(4, 3).t().reshape(2, 6).view(3, 4) @ right
        product.transpose(0, 1)[1:].add_(1).relu()

    found = operations(work)
    assert dict(found.counts) == {"aten.clone": 1, "aten.mm": 1, "aten.add_.Tensor": 1, "aten.relu": 1}
    assert found.total == 4
    assert found.host_waits == 0


def test_backward_counts_too():
    weight = torch.rand(4, 5, requires_grad=True)
    assert operations(lambda: (torch.rand(3, 4) @ weight).sum().backward()).counts["aten.mm"] == 2


def test_waiting_for_a_value_is_noticed():
    numbers = torch.rand(3)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            assert operations(lambda: numbers.sum().item()).host_waits == 1
            assert operations(lambda: int(numbers.argmax())).host_waits == 1
    assert operations(lambda: numbers[numbers > 0.5]).host_waits == 1
    assert operations(lambda: numbers.index_put_((numbers > 0.5,), numbers[:1])).host_waits == 1
    assert operations(lambda: numbers.index_select(0, torch.tensor([2, 0]))).host_waits == 0


def test_flops_of_a_product_are_twice_its_multiplications():
    assert flops(lambda: torch.rand(3, 4) @ torch.rand(4, 5)) == 2 * 3 * 4 * 5


def test_the_rate_of_the_machine_is_a_rate():
    assert matrix_rate() > 0


def test_products_are_noted_with_their_layout():
    left, right = torch.rand(3, 4), torch.rand(5, 4)
    batched = torch.rand(2, 3, 4)
    with Products() as products:
        for _ in range(2):
            left @ right.T
        torch.baddbmm(torch.rand(2, 1, 5), batched, right.T.expand(2, 4, 5))
        left + left
    assert {str(call[0]): count for call, count in products.calls.items()} == {
        "aten.mm.default": 2,
        "aten.baddbmm.default": 1,
    }
    mm = next(call for call in products.calls if "aten.mm" in str(call[0]))
    assert mm[1:] == ((left.shape, (4, 1)), ((4, 5), (1, 4)))


def test_more_products_take_longer_than_none():
    weight = torch.rand(40, 50)
    assert product_seconds(lambda: torch.rand(30, 40) + 1, repeats=1) == 0
    assert product_seconds(lambda: torch.rand(30, 40) @ weight, repeats=2) > 0
