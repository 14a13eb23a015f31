"""Losses and what is fed, each against slow code of its own."""

import math
from typing import Any

import pytest
import torch
from tiny_runs import FRAMES, tiny_model, tiny_training
from torch import Tensor
from training_runs import equal, learner, weights

from videopred.datasets.clip_file import ClipFile
from videopred.frames import to_film
from videopred.models import CORES
from videopred.training.feeding import logits_of_next
from videopred.training.losses import LOSSES, as_logged, loss_between
from videopred.training.run import train


def by_hand(loss: str, said: float, truth: float, deviation: float) -> float:
    """The loss of one intensity, in plain Python."""
    if loss == "bce":
        return -(truth * math.log(said) + (1 - truth) * math.log(1 - said))
    if loss == "mse":
        return (said - truth) ** 2
    density = math.exp(-((said - truth) ** 2) / (2 * deviation**2)) / (deviation * math.sqrt(2 * math.pi))
    return -math.log(density)


def films(clips: int = 2, frames: int = 3) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(0)
    shape = (clips, frames, 3, 2, 4)
    return torch.randn(shape, generator=source, dtype=torch.float64), torch.rand(shape, generator=source).double()


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_by_hand(loss, reduction):
    logits, truth = films()
    deviation = {"deviation": 0.4} if loss == "gaussian" else {}
    training = tiny_training(loss=loss, reduction=reduction, **deviation)
    pairs = zip(torch.sigmoid(logits).flatten().tolist(), truth.flatten().tolist(), strict=True)
    each = [by_hand(loss, said, true, 0.4) for said, true in pairs]
    mean, pixels = sum(each) / len(each), 24
    found = loss_between(training, logits, truth)
    assert found.item() == pytest.approx(mean * (pixels if reduction == "sum" else 1))
    values = loss_between(training, logits, truth, "none")
    assert values.shape == logits.shape
    assert values.mean().item() == pytest.approx(found.item())
    logged = as_logged(training, found, pixels).item()
    assert logged == pytest.approx(mean if loss == "mse" else mean * pixels)


def test_the_gaussian_is_a_tenth_wide_unless_said():
    logits, truth = films()
    said = loss_between(tiny_training(loss="gaussian", deviation=0.1), logits, truth)
    assert torch.equal(loss_between(tiny_training(loss="gaussian"), logits, truth), said)


@pytest.mark.parametrize("core", CORES)
def test_what_is_fed_changes_nothing_where_all_is_true(data, core):
    """No noise and no samples, in whichever loop; all samples are a rollout from the first frame."""
    film = to_film(ClipFile(data).read_frames("train", 0, 3))
    predictor = learner(core).predictor
    plain = logits_of_next(predictor, film)
    torch.testing.assert_close(logits_of_next(predictor, film, sampling=1e-12), plain, atol=1e-5, rtol=1e-4)
    alone = logits_of_next(predictor, film, FRAMES - 2)
    torch.testing.assert_close(logits_of_next(predictor, film, sampling=1.0), alone, atol=1e-5, rtol=1e-4)
    tail = logits_of_next(predictor, film, 3)
    torch.testing.assert_close(logits_of_next(predictor, film, 3, sampling=1e-12), tail, atol=1e-5, rtol=1e-4)


def test_gradients_flow_through_samples_as_through_a_rollout(data):
    """Where samples were cut off, weights would have no part in what came of their earlier predictions."""
    film = to_film(ClipFile(data).read_frames("train", 0, 3))
    predictor = learner("gru").predictor
    found = []
    for own, sampling in ((FRAMES - 2, 0.0), (0, 1.0)):
        predictor.zero_grad()
        logits_of_next(predictor, film, own, sampling=sampling)[:, -1].sum().backward()
        found.append([weight.grad.clone() for weight in predictor.parameters()])
    for rollout, samples in zip(*found, strict=True):
        torch.testing.assert_close(samples, rollout, atol=1e-5, rtol=1e-4)


class Echo:
    """A predictor whose logit says what it was fed: the film, and how often it was called."""

    def __init__(self) -> None:
        self.fed: list[Tensor] = []

    def __call__(self, film: Tensor, state: Any = None, *, trace: bool = False) -> Any:
        self.fed.append(film)
        from videopred.models.predictor import Prediction

        return Prediction(torch.full_like(film, 2.0), state, {})


def test_samples_are_drawn_for_each_clip_and_frame():
    film = torch.zeros(200, 7, 1, 2, 3)
    echo = Echo()
    logits_of_next(echo, film, sampling=0.3)  # type: ignore[arg-type]
    fed = torch.cat(echo.fed, 1)
    own = torch.sigmoid(torch.tensor(2.0))
    assert (fed[:, 0] == 0).all()
    replaced = fed[:, 1:] == own
    assert (replaced.flatten(2).all(2) == replaced.flatten(2).any(2)).all()  # whole frames
    assert replaced.float().mean().item() == pytest.approx(0.3, abs=0.03)
    assert replaced[:, :, 0, 0, 0].float().mean(0).min() > 0.2
    assert 0 < (replaced[:, 1, 0, 0, 0] & replaced[:, 2, 0, 0, 0]).float().mean() < 0.2  # drawn apart


def test_noise_flips_pixels_of_what_is_given_and_not_of_what_is_asked(data):
    film = torch.cat([torch.zeros(50, 6, 1, 4, 5), torch.full((50, 6, 1, 4, 5), 0.25)])
    echo = Echo()
    logits_of_next(echo, film, 2, noise=0.2)  # type: ignore[arg-type]
    given = echo.fed[0]
    assert given.shape[1] == 3
    flipped = given != film[:, :3]
    assert flipped.float().mean().item() == pytest.approx(0.2, abs=0.02)
    assert set(given[:50].unique().tolist()) == {0.0, 1.0}
    assert set(given[50:].unique().tolist()) == {0.25, 0.75}
    assert all((fed == torch.sigmoid(torch.tensor(2.0))).all() for fed in echo.fed[1:])
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 0, 4))
    assert not torch.equal(learner().loss_of(frames, 0), learner(noise=0.2).loss_of(frames, 0))


def test_noise_flips_each_true_frame_that_is_left_beside_samples():
    film, echo = torch.zeros(50, 7, 1, 5, 8), Echo()
    logits_of_next(echo, film, 2, noise=0.2, sampling=0.3)  # type: ignore[arg-type]
    fed = torch.cat(echo.fed, 1)
    for t in range(4):  # the other two are its own
        given = fed[:, t][fed[:, t] != torch.sigmoid(torch.tensor(2.0))]
        assert given.mean().item() == pytest.approx(0.2, abs=0.04), t


@pytest.mark.parametrize("what", ["noise", "sampling"])
def test_a_small_share_is_as_small_in_bf16(what):
    """In which Lightning has torch make all numbers; random ones are then multiples of 1 / 256."""
    film, echo = torch.zeros(9000, 4, 1, 2, 3, dtype=torch.bfloat16), Echo()
    torch.set_default_dtype(torch.bfloat16)
    try:
        logits_of_next(echo, film, **{what: 0.001})  # type: ignore[arg-type]
    finally:
        torch.set_default_dtype(torch.float32)
    changed = torch.cat(echo.fed, 1).float() != 0
    assert 0.0005 < changed[:, 1:].float().mean() < 0.002


def test_validation_is_of_the_full_task_whatever_is_trained(data, tmp_path):
    """At a step size of almost 0 the model stays as it is: so does the loss, though training frames are noisy."""
    looks = []
    settings: list[dict[str, Any]] = [{"grow_over": 99, "noise": 0.4}, {"sampling": "linear"}, {"accumulate": 2}]
    for number, changes in enumerate(settings):
        training = tiny_training(updates=1, free_running=3, learning_rate=1e-30, **changes)
        run = train(data, tiny_model(), training, out=tmp_path / str(number), device="cpu")
        looks.append(torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["videopred_looks"]["latest"])
    assert looks == pytest.approx([looks[0]] * 3, rel=1e-6)


def test_gradients_are_left_alone_without_a_norm(data, tmp_path):
    norms = {}
    for limit in (None, 1e9, 1e-3):
        run = train(data, tiny_model(), tiny_training(clip_norm=limit), out=tmp_path / str(limit), device="cpu")
        norms[limit] = weights(run)
    assert equal(norms[None], norms[1e9])
    assert not equal(norms[None], norms[1e-3])
