"""Updates from recorded graphs: with stand-ins and on a pretended device; with a CUDA device, for true."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from pretended_device import pretended_device, records, waits
from slow_proofs import EACH_CORE, slow
from stand_in_cuda import StandIn
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_model, tiny_training
from torch import Tensor, nn
from training_runs import UNDRAWN, assert_same, equal, everything_of, learner, stop_after, weights

from videopred.check import FailedError
from videopred.models import CORES
from videopred.settings import ComputeConfig
from videopred.training import course, forecast, recording
from videopred.training.forecast import Forecast
from videopred.training.recording import Recorder, captured
from videopred.training.run import resume, train

GRADUAL = {
    "updates": 8, "validate_every": 4, "free_running": 4, "grow_over": 6, "sampling": "linear", "sampling_share": 0.5,
    "sampling_over": 4, "noise": 0.1, "clip_norm": 0.1,
}  # fmt: skip
"""Own frames and the share of samples grow: each replay has a share of its own, and some need a graph of theirs."""
GRAPHS = ComputeConfig(cuda_graphs=True)


@pytest.fixture
def recorded(monkeypatch) -> list[str]:
    """A stand-in for graphs, which does the work itself at every replay; notes what it is asked for.

    Whatever a pretended device refuses in a graph is refused in a replay, too.
    """
    done: list[str] = []

    def pretend(work: Callable[[], Any], side: Any) -> Callable[[], None]:
        work()  # as what warms up: its numbers must not be those that are learned from
        done.append("recorded")

        def replay() -> None:
            done.append("replayed")
            with records():
                work()

        return replay

    monkeypatch.setattr(recording, "captured", pretend)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    monkeypatch.setattr("videopred.training.run.check_compute", lambda *anything: None)  # on the CPU there are none
    return done


class Sum(nn.Module):
    """A model whose loss is a function of one weight; another has no part in it, and one may not be learned."""

    def __init__(self, loss_of: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.weight, self.unused, self.held = (nn.Parameter(torch.ones(2, 2)) for _ in range(3))
        self.held.requires_grad_(False)
        self.loss_of = loss_of

    def forward(self, *anything: Any) -> Tensor:
        return self.loss_of(self.weight)


def film(clips: int = 3, seed: int = 0) -> Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.randint(256, (clips, FRAMES, HEIGHT, WIDTH, 1), dtype=torch.uint8, generator=source)


@pytest.mark.parametrize("changes", [{}, *slow({"accumulate": 2}, {"precision": "bf16-mixed"})], ids=str)
@pytest.mark.parametrize("core", ["rims", *slow("scoff", "transformer")])
def test_a_recorded_model_learns_the_same(data, tmp_path, recorded, core, changes):
    settings = tiny_training(**GRADUAL | changes)
    eager, graphs = (
        train(data, tiny_model(core), settings, compute=compute, watch=UNDRAWN, out=tmp_path / name, device="cpu")
        for name, compute in (("eager", ComputeConfig()), ("graphs", GRAPHS))
    )
    assert equal(weights(eager), weights(graphs))
    assert recorded.count("replayed") == settings.updates * settings.accumulate
    assert 1 < recorded.count("recorded") < settings.updates


def test_a_recorded_run_is_resumed_to_the_bit(data, tmp_path, recorded, monkeypatch):
    """Though it records at another update than the run that never stopped."""
    settings, how = tiny_training(**GRADUAL), {"compute": GRAPHS, "watch": UNDRAWN, "device": "cpu"}
    whole = train(data, tiny_model("scoff"), settings, out=tmp_path / "whole", **how)
    stop_after(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model("scoff"), settings, out=tmp_path / "run", **how)
    stop_after(monkeypatch, 0)
    resume(tmp_path / "run", watch=UNDRAWN, device="cpu")
    assert_same(everything_of(whole), everything_of(tmp_path / "run"))


@pytest.mark.slow
def test_a_training_with_graphs_on_a_pretended_device(data, tmp_path, recorded, monkeypatch):
    """With its forecast, which has a graph of its own that goes before the training's comes."""
    settings, kept, plain = tiny_training(**GRADUAL), [], Forecast.__str__
    monkeypatch.setattr(course, "_FORESEEN", 1)
    monkeypatch.setattr(forecast, "_TIMED", 1)
    monkeypatch.setattr(Forecast, "__str__", lambda told: kept.append(len(recorded)) or plain(told))
    eager = train(data, tiny_model("scoff"), settings, watch=UNDRAWN, out=tmp_path / "eager", device="cpu")
    with pretended_device():
        out = tmp_path / "graphs"
        graphs = train(data, tiny_model("scoff"), settings, compute=GRAPHS, watch=UNDRAWN, out=out, device="cuda")
    torch.testing.assert_close(weights(graphs), weights(eager), rtol=1e-4, atol=1e-5)
    assert recorded[: kept[-1]].count("recorded") == 2  # to time replays, and to see what a recording takes


def test_nothing_recorded_outlives_a_training(data, tmp_path, recorded, monkeypatch):
    """A graph holds memory of the device, which the training from the next seed needs."""
    models, plain = [], Recorder.__call__
    monkeypatch.setattr(Recorder, "__call__", lambda self, *asked: models.append(asked[0]) or plain(self, *asked))
    train(data, tiny_model(), tiny_training(), compute=GRAPHS, watch=UNDRAWN, out=tmp_path / "run", device="cpu")
    assert models[-1]._recorder is None


def test_a_graph_is_kept_while_batches_are_of_its_kind(recorded):
    model = learner(free_running=4)
    recorder = Recorder(model)
    kinds = [(film(3), 0, 0.0), (film(3, 1), 0, 0.0), (film(2), 0, 0.0), (film(2), 1, 0.0), (film(2), 1, 0.5)]
    kinds += [(film(2, 1), 1, 0.25), (film(3), 0, 0.0)]
    made = []
    for batch in kinds:
        recorder(model, *batch)
        made.append(recorded.count("recorded"))
    assert made == [1, 1, 2, 3, 4, 4, 5]


def test_what_a_replay_gave_outlives_the_next(recorded):
    model = learner()
    recorder = Recorder(model)
    first = recorder(model, film(), 0, 0.0)
    before = first.item()
    (3 * first).backward()
    tripled = [weight.grad.clone() for weight in model.parameters()]
    second = recorder(model, film(seed=1), 0, 0.0)
    assert first.item() == before != second.item()
    model.zero_grad()
    recorder(model, film(), 0, 0.0).backward()
    for weight, gradient in zip(model.parameters(), tripled, strict=True):
        torch.testing.assert_close(gradient, 3 * weight.grad)


def test_weights_without_a_part_in_the_loss_have_no_gradient(recorded):
    model = Sum(lambda weight: weight.sum())
    Recorder(model)(model, film(), 0, 0.0).backward()
    assert model.weight.grad is not None
    assert model.unused.grad is None
    assert model.held.grad is None


def test_weights_are_rounded_anew_in_every_replay(recorded):
    """Mixed precision keeps what it has rounded for a while, which a graph would read for ever."""
    model = Sum(lambda weight: (weight @ weight).sum())
    recorder = Recorder(model)
    with torch.autocast("cpu", torch.bfloat16):
        assert recorder(model, film(), 0, 0.0).item() == 8
        with torch.no_grad():
            model.weight.mul_(2)
        assert recorder(model, film(), 0, 0.0).item() == 32


def test_recording_draws_nothing(recorded):
    """So that a resumed run, which records at another update, draws what it would have."""
    drawn: list[Tensor] = []

    def loss_of(weight: Tensor) -> Tensor:
        drawn.append(torch.rand(1))
        return (drawn[-1] * weight).sum()

    model = Sum(loss_of)
    Recorder(model)(model, film(), 0, 0.0)
    assert torch.equal(drawn[0], drawn[1])


def test_what_is_recorded_meets_no_gradient_of_what_is_not(recorded):
    """A CUDA graph may not join a stream that is not recorded; autograd has nodes of a weight on the first it was used.

    So with DDP, which keeps these nodes, as with a loss that is still there when the next graph is recorded.
    """
    model, met = learner(), []
    for weight in model.parameters():
        weight.register_hook(met.append)
    loss = Recorder(model)(model, film(), 0, 0.0)
    assert not met
    loss.backward()
    assert len(met) == len(list(model.parameters()))


def test_weights_that_move_are_refused(recorded):
    """As cuDNN's LSTM moves weights that it does not know: a graph would go on with those of its first update."""

    def moving(weight: Tensor) -> Tensor:
        with torch.no_grad():
            weight.set_(weight.clone())
        return weight.sum()

    model = Sum(moving)
    message = (
        "^--cuda-graphs must come with a core whose weights stay in place, got one that moves them, as nn.LSTM does; "
    )
    with pytest.raises(FailedError, match=message):
        Recorder(model)(model, film(), 0, 0.0)


@pytest.mark.parametrize(("own", "sampling"), [(2, 0.5), *slow((0, 0.0), (2, 0.0))])
@pytest.mark.parametrize("core", EACH_CORE)
def test_every_core_can_be_recorded(core, own, sampling):
    with pretended_device() as device:
        model = learner(core, free_running=2, noise=0.1).train().to(device)
        frames, share = film().to(device), torch.full((), sampling, device=device) if sampling else 0.0
        model(frames, own, share).backward()  # some numbers are made for ever
        waits.clear()
        with records():
            model(frames, own, share).backward()
        assert waits == []


# --- the graph itself ----------------------------------------------------------------------------------------


@pytest.fixture
def cuda(monkeypatch):
    stand_in = StandIn()
    monkeypatch.setattr(recording, "cuda", stand_in)
    return stand_in


def test_work_is_captured_once_after_it_ran_on_another_stream(cuda):
    replay = captured(lambda: cuda.done.append("work"))
    warm = ["side waits", "on side", *["work"] * 2, "off side", "main waits for side"]
    assert cuda.done == [*warm, "capture on side", "work", "captured"]
    replay()
    assert cuda.done[-1] == "replay"


@pytest.mark.parametrize("end_fails", [False, True])
def test_work_that_cannot_be_recorded_is_named(cuda, end_fails):
    """Where CUDA fails anew as the recording ends, the first error says why."""
    cuda.end_fails = end_fails

    def work() -> None:
        if cuda.done[-1] == "capture on side":
            raise RuntimeError("operation not permitted when stream is capturing\nSearch for it")

    message = (
        "^a CUDA graph must record loss and gradient, got operation not permitted when stream is capturing; see that"
    )
    with pytest.raises(FailedError, match=message):
        captured(work)


def test_a_device_that_is_full_is_no_work_that_cannot_be_recorded(cuda):
    def work() -> None:
        if cuda.done[-1] == "capture on side":
            raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        captured(work)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize("core", CORES)
def test_a_cuda_device_learns_the_same_from_a_graph(data, tmp_path, core, precision):
    settings = tiny_training(**GRADUAL, precision=precision)
    eager, graphs = (
        train(data, tiny_model(core), settings, compute=compute, watch=UNDRAWN, out=tmp_path / name, device="cuda")
        for name, compute in (("eager", ComputeConfig()), ("graphs", GRAPHS))
    )
    learned = weights(graphs)
    for name, weight in weights(eager).items():
        torch.testing.assert_close(learned[name], weight, rtol=1e-2, atol=1e-4, msg=name)
