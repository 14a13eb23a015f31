"""ELU beside torch's."""

import pytest
import torch
from torch import nn

from videopred.models.elu import ELU

ENDS = [-torch.inf, -200.0, -20.0, -1e-3, -1e-7, -0.0, 0.0, 1e-7, 3.0, torch.inf]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_it_is_torchs_function(dtype):
    given = torch.cat([torch.tensor(ENDS), torch.linspace(-9, 4, 977)]).to(dtype).requires_grad_()
    said, expected = ELU()(given), nn.ELU(inplace=True)(given.clone())  # which learns from its output, too
    assert said.dtype == dtype
    spacing = {torch.float64: 2e-16, torch.float32: 1e-7}.get(dtype, 0)
    torch.testing.assert_close(said, expected, rtol=0, atol=spacing)
    with torch.no_grad():
        assert torch.equal(ELU()(given), said)
    weights = torch.rand(said.shape, dtype=dtype)
    ours, theirs = (torch.autograd.grad(values, given, weights)[0] for values in (said, expected))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=spacing)


def test_what_is_no_number_stays_so_and_the_input_is_left_alone():
    given = torch.tensor([[-1.0, torch.nan, 2.0]])
    before = given.clone()
    assert ELU()(given).isnan().tolist() == [[False, True, False]]
    torch.testing.assert_close(given, before, equal_nan=True)


def test_its_first_and_second_derivatives_are_right():
    given = torch.tensor([[-2.5, -0.3, 0.4], [1.5, -1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ELU(), given)
    assert torch.autograd.gradgradcheck(ELU(), given)


def test_it_can_be_mapped_compiled_and_traced(tmp_path):
    given = torch.linspace(-3, 2, 24).view(2, 3, 4)
    expected = ELU()(given)
    assert torch.equal(torch.func.vmap(ELU())(given), expected)
    assert torch.equal(torch.compile(ELU(), backend="eager", fullgraph=True)(given), expected)
    torch.jit.trace(ELU(), given.clone()).save(tmp_path / "elu.pt")
    torch.testing.assert_close(torch.jit.load(tmp_path / "elu.pt")(given), expected)
