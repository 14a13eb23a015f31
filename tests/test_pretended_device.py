"""What the pretended device allows and refuses, which is what a CUDA device does."""

import copy
import io

import numpy as np
import pytest
import torch
from pretended_device import CUDA, Pretended, held, pretended_device, waits
from torch import nn


@pytest.fixture
def device():
    with pretended_device() as pretended:
        yield pretended


@pytest.fixture
def there(device):
    return torch.arange(6.0, device=device).view(2, 3)


HERE = torch.arange(6.0).view(2, 3) + 1

REFUSED = {
    "a sum": lambda there: there + HERE,
    "a product of matrices": lambda there: there @ HERE.T,
    "a range made without device": lambda there: there * torch.arange(3),
    "a table made without device": lambda there: torch.where(there > 2, torch.zeros(2, 3), there),
    "films side by side": lambda there: torch.cat([there, HERE]),
    "numbers stacked": lambda there: torch.stack([there.sum(), HERE.sum()]),
    "a number here that sums up there": lambda there: torch.zeros(()).add_(there.sum()),
    "indices there into what is here": lambda there: HERE[torch.zeros(2, dtype=torch.int64, device=CUDA)],
    "a mask here over what is there, gathered": lambda there: torch.masked_select(there, HERE > 2),
    "values here into what is there": lambda there: there.index_put_((torch.tensor([0]),), torch.ones(3)),
    "a result that is written here": lambda there: torch.mul(there, 2, out=torch.empty(2, 3)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_tensors_of_two_devices_do_not_meet(there, what):
    with pytest.raises(RuntimeError, match=r"must have all tensors on one device, got .*on (cpu|cuda:0)"):
        REFUSED[what](there)


@pytest.mark.parametrize("read", [np.asarray, lambda there: there.numpy()], ids=["asarray", "numpy"])
def test_numpy_cannot_read_the_device(there, read):
    with pytest.raises((TypeError, RuntimeError), match=r"numpy|meta"):
        read(there)


ALLOWED = {
    "a number": (lambda there: there * torch.tensor(2.0), HERE * 2 - 2),
    "indices": (lambda there: there[torch.tensor([1])], HERE[1:] - 1),
    "a list of indices": (lambda there: there[[1, 0]], HERE.flip(0) - 1),
    "a mask": (lambda there: there[HERE > 2], torch.arange(2.0, 6)),
    "a copy from here": (lambda there: there.clone().copy_(HERE), HERE),
    "what is like it": (lambda there: torch.ones_like(there) + there.new_zeros(3), torch.ones(2, 3)),
    "what was here": (lambda there: there + HERE.to(there), 2 * HERE - 1),
    "what was here, by name": (lambda there: there + HERE.cuda(), 2 * HERE - 1),
    "a view that is written": (lambda there: _with_ones_in_front(there), torch.tensor([[1.0, 1, 2], [1, 4, 5]])),
    "numbers brought there": (lambda there: torch.tensor([[3.0]], device=there.device) + there, HERE + 2),
}


def _with_ones_in_front(film: torch.Tensor) -> torch.Tensor:
    film[:, 0] = 1
    return film


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("what", ALLOWED)
def test_what_a_device_allows_gives_the_numbers_of_the_cpu(device, what, inference):
    work, expected = ALLOWED[what]
    with torch.inference_mode(inference):
        got = work(torch.arange(6.0, device=device).view(2, 3))
    assert isinstance(got, Pretended)
    assert (got.device, got.is_cuda, got.shape) == (CUDA, True, expected.shape)
    assert torch.equal(held(got), expected)


def test_what_comes_back_is_on_the_cpu_and_apart(there):
    back = there.cpu()
    assert type(back) is torch.Tensor
    assert back.device.type == "cpu"
    back += 1
    assert there.sum().item() == 15
    assert there.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (there > 4).any()


WAITS = {
    "a value": lambda there: there.sum().item(),
    "a film to the CPU": lambda there: there.cpu(),
    "a film from the CPU": lambda there: there.copy_(HERE),
    "places of values": lambda there: there.nonzero(),
    "indices on the CPU": lambda there: there[torch.tensor([1])],
}


@pytest.mark.parametrize("what", WAITS)
def test_what_waits_is_noted(there, what):
    waits.clear()
    assert (there + there * torch.tensor(2.0)).sum().dim() == 0
    assert waits == []
    WAITS[what](there)
    assert len(waits) == 1


def test_a_copy_goes_where_it_is_written(there):
    here = torch.empty(2, 3)
    assert type(here.copy_(there)) is torch.Tensor
    assert here.sum() == 15


def test_chance_is_that_of_the_cpu(device):
    torch.manual_seed(5)
    here = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(held(torch.rand(3, device=device)), here)
    assert torch.Generator(device).device == CUDA
    assert torch.Generator().device.type == "cpu"
    source = torch.Generator(device).manual_seed(5)
    assert torch.equal(held(torch.rand(3, device=device, generator=source)), here)


def test_a_network_learns_there_as_here(device):
    def learned(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(2)
        network = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Dropout(), nn.Linear(5, 2)).to(where)
        adam = torch.optim.Adam(network.parameters())
        for _ in range(2):
            adam.zero_grad()
            network(torch.rand(7, 3, device=where)).square().mean().backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.1)
            adam.step()
        return [*network.state_dict().values(), *(weight.grad for weight in network.parameters())]

    there = learned(device)
    assert all(isinstance(one, Pretended) for one in there)
    for ours, theirs in zip(held(there), learned(torch.device("cpu")), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)


def test_what_is_kept_or_copied_is_what_it_was(there):
    assert torch.equal(held(copy.deepcopy(there)), held(there))
    file = io.BytesIO()
    torch.save({"weight": there}, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=True)["weight"], held(there))


def test_afterwards_there_is_no_device_again():
    had = torch.cuda.is_available()
    with pretended_device():
        assert torch.cuda.is_available()
    assert torch.cuda.is_available() == had
    assert type(torch.Generator()) is torch.Generator
