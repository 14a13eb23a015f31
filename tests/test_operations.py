"""Counting operations."""

import torch

from videopred.bench.operations import flops, matrix_rate, operations


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
    assert operations(lambda: numbers.sum().item()).host_waits == 1
    assert operations(lambda: numbers[numbers > 0.5]).host_waits == 1


def test_flops_of_a_product_are_twice_its_multiplications():
    assert flops(lambda: torch.rand(3, 4) @ torch.rand(4, 5)) == 2 * 3 * 4 * 5


def test_the_rate_of_the_machine_is_a_rate():
    assert matrix_rate(64, repeats=2) > 0
