"""Updates from a recorded graph: with a stand-in for it, what they learn; with a CUDA device, for true."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from pretended_device import pretended_device, waits
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_model, tiny_training
from torch import Tensor, nn
from training_runs import UNDRAWN, equal, learner, weights

from videopred.settings import ComputeConfig
from videopred.training import recording
from videopred.training.recording import Recorder
from videopred.training.run import train

GRADUAL = {
    "updates": 8, "validate_every": 4, "free_running": 4, "grow_over": 6, "sampling": "linear", "sampling_share": 0.5,
    "sampling_over": 4, "noise": 0.1, "clip_norm": 0.1,
}  # fmt: skip
"""Own frames and the share of samples grow: each replay has a share of its own, and some need a graph of theirs."""


@pytest.fixture
def recorded(monkeypatch) -> list[str]:
    """A stand-in for graphs, which does the work itself at every replay; notes what it is asked for."""
    done: list[str] = []

    def captured(work: Callable[[], Any]) -> Callable[[], None]:
        work()  # as what warms up: its numbers must not be those that are learned from
        done.append("recorded")
        return lambda: (done.append("replayed"), work())  # type: ignore[func-returns-value]

    monkeypatch.setattr(recording, "captured", captured)
    monkeypatch.setattr("videopred.training.course.forecast", lambda *anything: "")
    monkeypatch.setattr("videopred.training.run.check_compute", lambda *anything: None)
    return done


class Sum(nn.Module):
    """A model whose loss is a function of one weight; another has no part in it, and one may not be learned."""

    def __init__(self, loss_of: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.weight, self.unused, self.held = (nn.Parameter(torch.ones(2)) for _ in range(3))
        self.loss_of = loss_of

    def forward(self, *anything: Any) -> Tensor:
        return self.loss_of(self.weight)


def film(clips: int = 3, seed: int = 0) -> Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.randint(256, (clips, FRAMES, HEIGHT, WIDTH, 1), dtype=torch.uint8, generator=source)


@pytest.mark.parametrize("changes", [{}, {"accumulate": 2}, {"precision": "bf16-mixed"}], ids=str)
@pytest.mark.parametrize("core", ["rims", "scoff", "transformer"])
def test_a_recorded_model_learns_the_same(data, tmp_path, recorded, core, changes):
    settings = tiny_training(**GRADUAL | changes)
    found = []
    for graphs in (False, True):
        out, compute = tmp_path / f"{graphs}", ComputeConfig(cuda_graphs=graphs)
        found.append(
            weights(train(data, tiny_model(core), settings, compute=compute, watch=UNDRAWN, out=out, device="cpu"))
        )
    assert equal(*found)
    assert recorded.count("replayed") == settings.updates * settings.accumulate
    assert 1 < recorded.count("recorded") < settings.updates


def test_a_graph_is_kept_while_batches_are_of_its_kind(recorded):
    model = learner(free_running=4)
    recorder = Recorder(model)
    kinds = [(film(3), 0, 0.0), (film(3, 1), 0, 0.0), (film(2), 0, 0.0), (film(2), 1, 0.0), (film(2), 1, 0.5)]
    kinds += [(film(2, 1), 1, 0.25), (film(3), 0, 0.0)]
    made = []
    for batch in kinds:
        recorder(*batch)
        made.append(recorded.count("recorded"))
    assert made == [1, 1, 2, 3, 4, 4, 5]


def test_what_a_replay_gave_outlives_the_next(recorded):
    model = learner()
    recorder = Recorder(model)
    first = recorder(film(), 0, 0.0)
    before = first.item()
    (3 * first).backward()
    tripled = [weight.grad.clone() for weight in model.parameters()]
    second = recorder(film(seed=1), 0, 0.0)
    assert first.item() == before != second.item()
    model.zero_grad()
    recorder(film(), 0, 0.0).backward()
    for weight, gradient in zip(model.parameters(), tripled, strict=True):
        torch.testing.assert_close(gradient, 3 * weight.grad)


def test_weights_without_a_part_in_the_loss_have_no_gradient(recorded):
    model = Sum(lambda weight: weight.sum())
    model.held.requires_grad_(False)
    Recorder(model)(film(), 0, 0.0).backward()
    assert model.weight.grad is not None
    assert model.unused.grad is None
    assert model.held.grad is None


def test_recording_draws_nothing(recorded):
    """So that a resumed run, which records at another update, draws what it would have."""
    drawn: list[Tensor] = []

    def loss_of(weight: Tensor) -> Tensor:
        drawn.append(torch.rand(1))
        return (drawn[-1] * weight).sum()

    torch.manual_seed(5)
    Recorder(Sum(loss_of))(film(), 0, 0.0)
    assert torch.equal(drawn[0], drawn[1])


def test_what_is_recorded_meets_no_gradient_of_what_is_not(recorded):
    """A CUDA graph may not join a stream that is not recorded; autograd has nodes of a weight on the first it was used.

    So with DDP, which keeps these nodes, as with a loss that is still there when the next graph is recorded.
    """
    model, met = learner(), []
    for weight in model.parameters():
        weight.register_hook(met.append)
    loss = Recorder(model)(film(), 0, 0.0)
    assert not met
    loss.backward()
    assert len(met) == len(list(model.parameters()))


@pytest.mark.parametrize("sampling", [0.0, 0.5])
@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize("core", ["rims", "scoff", "brims", "lstm", "gru", "rmc", "transformer"])
def test_what_is_to_be_recorded_does_not_wait_for_the_device(core, own, sampling):
    with pretended_device() as device:
        model = learner(core, free_running=2, noise=0.1).train().to(device)
        frames, share = film().to(device), torch.full((), sampling, device=device) if sampling else 0.0
        model(frames, own, share).backward()  # some numbers are made for ever
        waits.clear()
        model(frames, own, share).backward()
        assert waits == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize("core", ["rims", "scoff", "brims", "lstm", "gru", "rmc", "transformer"])
def test_a_cuda_device_learns_the_same_from_a_graph(data, tmp_path, core, precision):
    settings = tiny_training(**GRADUAL, precision=precision)
    eager, graphs = (
        weights(
            train(
                data, tiny_model(core), settings, compute=ComputeConfig(cuda_graphs=graphs), watch=UNDRAWN,
                out=tmp_path / f"{graphs}", device="cuda",
            )
        )
        for graphs in (False, True)
    )  # fmt: skip
    for name, weight in eager.items():
        torch.testing.assert_close(graphs[name], weight, rtol=1e-2, atol=1e-4, msg=name)
