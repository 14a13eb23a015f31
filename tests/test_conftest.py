"""What tests draw does not depend on their order."""

import zlib

import pytest
import torch


def first_of(name: str) -> float:
    """The first number of the chance that a name has."""
    return torch.rand((), generator=torch.Generator().manual_seed(zlib.crc32(name.encode()))).item()


@pytest.fixture
def weight() -> float:
    return torch.rand(()).item()


@pytest.fixture
def frame() -> float:
    return torch.rand(()).item()


@pytest.mark.parametrize("drawn_before", [0, 3])
def test_a_fixture_draws_the_same_whatever_was_drawn_before(request, drawn_before):
    torch.rand(drawn_before)
    names = ("weight", "frame")
    assert [request.getfixturevalue(name) for name in names] == [first_of(name) for name in names]


def test_a_test_draws_the_same_whatever_its_fixtures_drew(weight, request):
    assert torch.rand(()).item() == first_of(request.node.name) != weight
