"""The objective by hand, what reaches the optimiser, and the noise of a step."""

import csv
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_model, tiny_training
from training_runs import UNDRAWN, learner, weights

from videopred.check import FailedError
from videopred.datasets.clip_file import ClipFile
from videopred.frames import to_film
from videopred.models import CORES, build
from videopred.rollout import roll_out
from videopred.training.batches import ShuffledBatches
from videopred.training.learner import _Piece
from videopred.training.run import train


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("own", [0, 2])
def test_the_loss_by_hand(data, core, own):
    """Teacher-forced up to the last `own` frames, which a rollout predicts."""
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 2, 5))
    model = learner(core, free_running=own)
    film = to_film(frames)
    given = film[:, : FRAMES - 1 - own]
    if own:
        rollout = roll_out(model.predictor, given, own + 1)
        said = torch.cat([rollout.one_step, rollout.prediction], 1)
    else:
        said = torch.sigmoid(model.predictor(given).logits)
    said, truth = said.detach().double(), film[:, 1:].double()
    nats = -(truth * said.log() + (1 - truth) * (1 - said).log())
    loss = model.loss_of(frames, own)
    assert loss.item() == pytest.approx(nats.mean().item(), rel=1e-5)


def test_the_first_update_is_adam_on_the_clipped_gradient_of_the_first_batch(data, tmp_path):
    """By hand with torch alone; the norm of the gradient is far above the limit."""
    training = tiny_training(updates=1, clip_norm=1e-3, learning_rate=0.02)
    trained = weights(train(data, tiny_model(), training, out=tmp_path / "run", device="cpu"))
    model = learner()
    torch.manual_seed(training.seed)
    model.predictor.load_state_dict(build(tiny_model(), (1, HEIGHT, WIDTH)).state_dict())
    batch = next(iter(ShuffledBatches(12, 4, training.seed)))
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 0, 12)[batch])
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    model.loss_of(frames, 0).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    assert norm > 0.01
    adam.step()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(trained[name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_gradients_are_clipped_to_the_norm_that_is_set(data, tmp_path, monkeypatch):
    """Adam forgets the scale of one gradient, so what reaches the optimiser is looked at."""
    norms, step = [], torch.optim.Adam.step

    def watched(self: Any, closure: Any = None) -> Any:
        result = step(self, closure)  # the closure computes and clips the gradients
        each = [weight.grad.norm() for group in self.param_groups for weight in group["params"]]
        norms.append(torch.stack(each).norm().item())
        return result

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    train(data, tiny_model(), tiny_training(clip_norm=1e-3), out=tmp_path / "run", device="cpu")
    assert norms == pytest.approx([1e-3, 1e-3], rel=1e-3)


def test_training_learns(data, tmp_path):
    """Thirty updates on twelve clips lower the loss on other clips: nothing is disconnected or upside down."""
    often = tiny_training(updates=30, validate_every=5, learning_rate=0.01)
    (path,) = train(data, tiny_model("lstm"), often, watch=UNDRAWN, out=tmp_path / "run", device="cpu").glob(
        "logs/metrics.csv"
    )
    losses = [float(row["validation_bce"]) for row in csv.DictReader(path.open()) if row["validation_bce"]]
    assert len(losses) == 6
    assert losses[-1] < 0.6 * losses[0]


def draws_of(monkeypatch: pytest.MonkeyPatch, seed: int, update: int, rank: int = 0, piece: int = 0) -> list[float]:
    """What is drawn in a piece of an update."""
    model = learner(seed=seed, accumulate=2)
    monkeypatch.setattr(type(model), "global_step", update)
    monkeypatch.setattr(type(model), "global_rank", rank)
    model._trainer = SimpleNamespace(optimizers=[SimpleNamespace(param_groups=[])])
    model._pieces = [torch.zeros(())] * piece
    model.on_train_batch_start(None, 0)
    return torch.rand(3).tolist()


def test_noise_depends_on_seed_update_and_share_alone(monkeypatch):
    first = draws_of(monkeypatch, 1, 2)
    torch.rand(5)
    assert draws_of(monkeypatch, 1, 2) == first
    others = [
        draws_of(monkeypatch, *where) for where in ((2, 2), (1, 3), (2, 1), (1, 2, 1), (1, 2, 0, 1), (1, 2, 1, 1))
    ]
    assert len({tuple(one) for one in [first, *others]}) == 7


def test_two_processes_draw_what_twice_as_many_pieces_of_one_would(monkeypatch):
    of_two = [draws_of(monkeypatch, 1, 2, rank, piece) for rank in range(2) for piece in range(2)]
    of_one = [draws_of(monkeypatch, 1, 2, 0, piece) for piece in range(4)]
    assert of_two == of_one


def test_each_update_has_its_own_step_size(monkeypatch):
    """Adam reads it where it is set: before the batch."""
    model = learner(updates=40, schedule="step", decay_every=3, decay=0.1, learning_rate=0.5)
    groups: list[dict[str, float]] = [{"lr": 9.0}, {"lr": 8.0}]
    model._trainer = SimpleNamespace(optimizers=[SimpleNamespace(param_groups=groups)])  # type: ignore[assignment]
    monkeypatch.setattr(type(model), "global_rank", 0)
    for update, size in ((2, 0.5), (3, 0.05), (7, 0.005)):
        monkeypatch.setattr(type(model), "global_step", update)
        model.on_train_batch_start(None, 0)
        assert [group["lr"] for group in groups] == pytest.approx([size, size])


def test_clips_that_only_fill_up_a_batch_do_not_count(data):
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 0, 3))
    model = learner()
    model.validation_step((frames, torch.tensor([1.0, 0.0, 1.0])), 0)
    each = [model.loss_of(frames[clip : clip + 1], 0).item() for clip in (0, 2)]
    assert model._sums.tolist() == pytest.approx([sum(each), 2.0])


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_looks_are_not_rounded_to_the_digits_of_the_weights(data, reduction):
    """Losses that bfloat16 cannot tell apart, of which it has 8 bits, would end a training by --stop-after."""
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 0, 3))
    model = learner(reduction=reduction).bfloat16()
    film = to_film(frames, torch.bfloat16)
    logits = model.predictor(film[:, :-1]).logits.double()
    exact = torch.nn.functional.binary_cross_entropy_with_logits(logits, film[:, 1:].double()).item()
    exact *= HEIGHT * WIDTH if reduction == "sum" else 1
    model.validation_step((frames, torch.ones(3)), 0)
    assert (model._sums[0] / model._sums[1]).item() == pytest.approx(exact, rel=1e-6)


def test_looks_are_at_the_full_task_from_the_first_on(data):
    """Also while the frames that are the model's own still grow, and without the noise."""
    frames = torch.from_numpy(ClipFile(data).read_frames("validation", 0, 2))
    model, plain = learner(free_running=3, grow_over=5, noise=0.2), learner()
    torch.testing.assert_close(model.losses_of(frames).mean(), plain.loss_of(frames, 3))
    assert not torch.allclose(plain.loss_of(frames, 3), plain.loss_of(frames, 0), rtol=1e-4)


@pytest.mark.parametrize("precision", ["16", "32", "64"])
def test_what_is_logged_is_of_32_bits_at_least(data, monkeypatch, precision):
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 0, 2))
    model = learner().to({"16": torch.bfloat16, "32": torch.float32, "64": torch.float64}[precision])
    logged: list[torch.Tensor] = []
    monkeypatch.setattr(type(model), "global_step", 0)
    monkeypatch.setattr(model, "_log_update", logged.append)
    learned = model.training_step(frames, 0)
    expected = torch.float64 if precision == "64" else torch.float32
    assert [model.losses_of(frames).dtype, logged[0].dtype] == [expected, expected]
    assert learned.dtype == (torch.bfloat16 if precision == "16" else expected)


@pytest.mark.parametrize(("precision", "refused"), [("16-mixed", False), ("32-true", True)])
def test_gradients_that_overflow_are_left_to_the_scaler_of_losses(data, monkeypatch, precision, refused):
    """Which skips the update and scales the next less; where nothing is scaled, they are refused."""
    model = learner(precision=precision)
    monkeypatch.setattr(type(model), "global_step", 3)
    model._pieces = [_Piece(torch.from_numpy(ClipFile(data).read_frames("train", 0, 2)), torch.tensor(0.5))]
    told = pytest.raises(FailedError, match="got a gradient of norm inf at update 4, first in the norm itself")
    with told if refused else nullcontext():
        model._check_finite(None, torch.tensor(torch.inf))
    assert model.between_updates


@pytest.mark.parametrize(("patience", "decays"), [(None, [0, 0, 0, 0, 0, 1]), (2, [0, 0, 1, 1, 2, 2])])
def test_the_plateau_waits_for_five_looks_unless_said(monkeypatch, patience, decays):
    model = learner(schedule="plateau", patience=patience)
    model._trainer = SimpleNamespace(world_size=1, should_stop=False)  # type: ignore[assignment]
    monkeypatch.setattr(type(model), "global_step", 7)
    monkeypatch.setattr(type(model), "log", lambda *anything: None)
    seen = []
    for _ in decays:
        model._sums = torch.tensor([3.0, 2.0], dtype=torch.float64)  # the same loss at each look
        model.on_validation_epoch_end()
        seen.append(model.validations.decays)
    assert seen == decays
