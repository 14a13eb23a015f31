"""The loss of frames painted in blocks is that of all at once, with its gradients, in the memory of one block."""

from functools import partial
from typing import Any

import pytest
import torch
from tiny_runs import CODEC, CORE_SIZES, tiny_model, tiny_training
from torch import Tensor, nn

from videopred.checkpoint import RunConfig
from videopred.models import CORES, DECODERS, build, predictor
from videopred.models.settings import PredictorConfig
from videopred.settings import ComputeConfig
from videopred.training.feeding import logits_of_next, loss_of_next
from videopred.training.forecast import _Kept
from videopred.training.learner import Learner
from videopred.training.losses import LOSSES, loss_between
from videopred.training.painted_loss import painted_loss

CLIPS, FRAMES, SHAPE = 3, 8, (2, 12, 16)


def model_with(decoder: str, core: str = "rims") -> predictor.Predictor:
    config = PredictorConfig(core=CORES[core][0](**CORE_SIZES[core]), codec=CODEC, decoder=DECODERS[decoder][0]())
    torch.manual_seed(3)
    return build(config, SHAPE).double().eval()


def film_of(frames: int = FRAMES) -> Tensor:
    source = torch.Generator().manual_seed(1)
    return torch.rand(CLIPS, frames, *SHAPE, generator=source, dtype=torch.float64)


def with_gradients(model: nn.Module, loss: Tensor) -> list[Tensor]:
    """The loss, and the gradients of all weights, which are forgotten."""
    loss.backward()
    found = [loss.detach(), *(weight.grad for weight in model.parameters() if weight.grad is not None)]
    model.zero_grad(set_to_none=True)
    return found


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("own", [0, 2, FRAMES - 2])
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_lose_what_all_at_once_does(monkeypatch, loss, decoder, own, reduction):
    monkeypatch.setattr(predictor, "_BLOCK", 8)  # which divides neither the frames of all clips nor those of one
    model, film = model_with(decoder), film_of()
    between = partial(loss_between, tiny_training(loss=loss, reduction=reduction))
    whole = with_gradients(model, 0.7 * between(logits_of_next(model, film, own), film[:, 1:]))
    found = with_gradients(model, 0.7 * loss_of_next(model, film, between, own))
    assert len(found) == len(whole) == 1 + len(list(model.parameters()))
    for one, other in zip(found, whole, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_noise_and_samples_are_those_of_all_at_once():
    model, film = model_with("shared"), film_of()
    between = partial(loss_between, tiny_training())
    for chance in ({"noise": 0.3}, {"sampling": 0.5}, {"noise": 0.3, "sampling": 0.5}):
        torch.manual_seed(5)
        whole = between(logits_of_next(model, film, 2, **chance), film[:, 1:])
        torch.manual_seed(5)
        torch.testing.assert_close(loss_of_next(model, film, between, 2, **chance), whole)
        assert (whole - between(logits_of_next(model, film, 2), film[:, 1:])).abs() > 1e-6


def test_weights_that_are_held_have_no_gradient():
    model, film = model_with("shared"), film_of()
    held, *others = model.decoder.parameters()
    held.requires_grad_(False)
    loss_of_next(model, film, partial(loss_between, tiny_training())).backward()
    assert held.grad is None
    assert all(weight.grad is not None for weight in others)


def test_a_second_derivative_is_refused():
    """It would be that of a constant gradient."""
    model = model_with("shared")
    loss = loss_of_next(model, film_of(), partial(loss_between, tiny_training()))
    with pytest.raises(RuntimeError, match=r"^the loss of painted frames can be differentiated only once$"):
        torch.autograd.grad(loss, list(model.parameters()), create_graph=True)


def kept_by(work: Any, truth: Tensor) -> int:
    """Most bytes that work keeps for the way back, besides the truth, which is there anyway."""
    kept = _Kept([truth])
    with torch.autograd.graph.saved_tensors_hooks(kept.take, lambda ticket: ticket.tensor):
        work().backward()
    return kept.most


def test_memory_does_not_grow_with_the_number_of_blocks(monkeypatch):
    """But for the gradient of each of the core's outputs."""
    monkeypatch.setattr(predictor, "_BLOCK", 6)
    model, between = model_with("shared"), partial(loss_between, tiny_training())
    sizes = {}
    for frames in (4, 16):
        outputs = torch.rand(CLIPS, frames, 4, 5, dtype=torch.float64, requires_grad=True)
        truth = film_of(frames)
        sizes[frames] = kept_by(partial(painted_loss, model, outputs, truth, between), truth)
        whole = kept_by(lambda: between(model.paint(outputs)[0], truth), truth)  # noqa: B023
    grown = CLIPS * (16 - 4) * 4 * 5 * 8
    assert sizes[16] - sizes[4] <= grown
    assert whole > 4 * sizes[16]


def test_mixed_precision_gives_weights_gradients_of_their_own_kind():
    model = model_with("files").float()
    film, between = film_of().float(), partial(loss_between, tiny_training())
    found = []
    for loss in (lambda: loss_of_next(model, film, between), lambda: between(logits_of_next(model, film), film[:, 1:])):
        with torch.autocast("cpu", torch.bfloat16):
            lost = loss()
        found.append(with_gradients(model, lost))
    assert all(one.dtype == torch.float32 for one in found[0])
    blocks, whole = (torch.cat([one.flatten() for one in ones]) for ones in found)
    assert (blocks - whole).norm() < 0.02 * whole.norm()


@pytest.mark.parametrize(
    ("changes", "compute", "core", "expected"),
    [
        ({}, {}, "gru", True),
        ({"precision": "bf16-mixed"}, {"devices": 2, "strategy": "ddp", "compile": "inductor"}, "gru", True),
        ({"precision": "16-mixed"}, {}, "gru", False),
        ({}, {"strategy": "fsdp"}, "gru", False),
        ({}, {"cuda_graphs": True}, "gru", True),
        ({}, {"compile": "eager"}, "transformer", False),
        ({}, {}, "transformer", True),
    ],
)
def test_all_at_once_where_blocks_cannot_be(monkeypatch, changes, compute, core, expected):
    """Scaled losses, weights that are cut apart, and graphs of the whole predictor."""
    config = RunConfig(
        model=tiny_model(core), film_shape=SHAPE, training=tiny_training(**changes), compute=ComputeConfig(**compute)
    )
    model = Learner(build(config.model, SHAPE), config)
    used = []
    monkeypatch.setattr("videopred.training.learner.loss_of_next", lambda *all, **others: used.append("blocks"))
    monkeypatch.setattr("videopred.training.learner.logits_of_next", lambda *all, **others: film_of()[:, 1:])
    model.loss_of((255 * film_of()).to(torch.uint8).movedim(2, -1), 0)
    assert bool(used) == expected
