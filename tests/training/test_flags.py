"""No flag of training is read and then forgotten: each is shown to change what it says it changes."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from pretended_device import pretended_device
from tiny_runs import no_file_longer_than, tiny_data, tiny_model
from training_runs import UNDRAWN, equal, load, weights

from videopred.models import build
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.training.batches import Batches
from videopred.training.faults import first_fault
from videopred.training.keeping import KeepCheckpoints
from videopred.training.learner import Learner
from videopred.training.metrics_file import read_metrics
from videopred.training.run import train

BASE = {"updates": 4, "batch_size": 4, "validate_every": 2, "learning_rate": 0.01, "seed": 1}

CHANGES_WEIGHTS: dict[str, dict[str, Any]] = {
    "updates": {"updates": 3},
    "batch_size": {"batch_size": 3},
    "accumulate": {"accumulate": 2},  # to rounding, and in the draws of dropout
    "window": {"window": 6},
    "loss": {"loss": "mse"},
    "deviation": {"loss": "gaussian", "deviation": 0.7},
    "reduction": {"reduction": "sum", "clip_norm": None},
    "learning_rate": {"learning_rate": 0.02},
    "schedule": {"schedule": "cosine"},
    "decay": {"schedule": "step", "decay_every": 2, "decay": 0.1},
    "decay_every": {"schedule": "step", "decay_every": 1},
    "patience": {"schedule": "plateau", "improvement": 0.99, "patience": 1, "validate_every": 1},
    "improvement": {"schedule": "plateau", "improvement": 0.99, "patience": 1, "validate_every": 1},
    "stop_after": {"stop_after": 1, "improvement": 0.99, "validate_every": 1},
    "clip_norm": {"clip_norm": None},
    "free_running": {"free_running": 3},
    "grow_over": {"free_running": 3, "grow_over": 4},
    "sampling": {"sampling": "exponential"},
    "sampling_share": {"sampling": "linear", "sampling_share": 0.3},
    "sampling_over": {"sampling": "linear", "sampling_over": 2},
    "noise": {"noise": 0.2},
    "precision": {"precision": "bf16-mixed"},
    "seed": {"seed": 2},
}
"""Field -> settings whose last weights are not those of the same settings without the field."""

WITHOUT: dict[str, dict[str, Any]] = {
    "deviation": {"loss": "gaussian"},
    "reduction": {"clip_norm": None},
    "decay": {"schedule": "step", "decay_every": 2},
    "decay_every": {"schedule": "step", "decay_every": 3},
    "patience": {"schedule": "plateau", "improvement": 0.99, "validate_every": 1},
    "improvement": {"schedule": "plateau", "patience": 1, "validate_every": 1},
    "stop_after": {"validate_every": 1},
    "grow_over": {"free_running": 3},
    "sampling_share": {"sampling": "linear"},
    "sampling_over": {"sampling": "linear"},
}
"""What the other side is, where it is not the plain settings."""

CHANGES_ELSE = {"validate_every", "validation_share", "validation_clips", "save_every", "keep_every"}
"""Fields of which a test below shows what they change, which is not the weights."""


def settings(changes: dict[str, Any]) -> TrainingConfig:
    return TrainingConfig(**BASE | changes)


def test_every_setting_of_learning_is_in_this_file():
    assert set(CHANGES_WEIGHTS) | CHANGES_ELSE == set(TrainingConfig.model_fields)


@pytest.fixture(scope="module")
def learned(data, tmp_path_factory):
    """The last weights of settings, learned once for all fields that ask for them."""
    known: dict[str, dict[str, torch.Tensor]] = {}

    def weights_with(changes: dict[str, Any]) -> dict[str, torch.Tensor]:
        if str(changes) not in known:
            out = tmp_path_factory.mktemp("learned") / "run"
            run = train(data, tiny_model("rims"), settings(changes), watch=UNDRAWN, out=out, device="cpu")
            known[str(changes)] = weights(run)
        return known[str(changes)]

    return weights_with


@pytest.mark.parametrize("field", CHANGES_WEIGHTS)
def test_what_changes_the_weights(learned, field):
    assert not equal(learned(CHANGES_WEIGHTS[field]), learned(WITHOUT.get(field, {})))


def test_what_changes_looks_and_checkpoints(data, tmp_path):
    """Which checkpoints are kept is shown in test_keeping, and validation clips that are made in test_clips."""
    often = train(
        data, tiny_model(), settings({"validate_every": 1}), watch=UNDRAWN, out=tmp_path / "often", device="cpu"
    )
    seldom = train(data, tiny_model(), settings({"validate_every": 4}), out=tmp_path / "seldom", device="cpu")
    looks = [
        [row["update"] for row in read_metrics(run / "logs" / "metrics.csv") if "validation_bce" in row]
        for run in (often, seldom)
    ]
    assert looks == [["1", "2", "3", "4"], ["4"]]
    assert equal(weights(often), weights(seldom))
    kept = settings({"save_every": 1, "keep_every": 3})
    run = train(data, tiny_model(), kept, out=tmp_path / "kept", device="cpu")
    steps = {path.name: load(path)["global_step"] for path in (run / "checkpoints").iterdir()}
    assert (steps["previous.ckpt"], steps["update-0000003.ckpt"]) == (3, 3)


def test_what_changes_the_validation_clips(tmp_path):
    data = tiny_data(tmp_path, {"train": 12, "test": 1})
    losses = []
    for share in (None, 0.5):
        run = train(data, tiny_model(), settings({"validation_share": share}), out=tmp_path / str(share), device="cpu")
        losses.append(load(run / "checkpoints" / "last.ckpt")["videopred_looks"]["latest"])
    assert losses[0] != losses[1]


# --- where it computes ---------------------------------------------------------------------------------------


class Enough(Exception):
    pass


@contextmanager
def watched_trainer() -> Iterator[dict[str, Any]]:
    """What Lightning's Trainer is made with; it is not run."""
    told: dict[str, Any] = {}

    def make(**arguments: Any) -> Any:
        told.update(arguments)
        raise Enough

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lightning, "Trainer", make)
        yield told


def as_torchrun_would(monkeypatch: pytest.MonkeyPatch, processes: int) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", str(processes))


@pytest.mark.parametrize(
    ("changes", "argument", "value"),
    [
        ({"devices": 2}, "devices", 2),
        ({"nodes": 2}, "num_nodes", 2),
        ({"strategy": "ddp"}, "strategy", "ddp"),
    ],
)
def test_what_the_trainer_is_told(data, tmp_path, monkeypatch, changes, argument, value):
    if "nodes" in changes:
        as_torchrun_would(monkeypatch, 2)
    with watched_trainer() as told, pytest.raises(Enough):
        train(data, tiny_model(), settings({}), compute=ComputeConfig(**changes), out=tmp_path / "run", device="cpu")
    assert told[argument] == value


def test_every_setting_of_computing_is_shown_somewhere():
    """Three of them above, workers below; time_limit: test_stopping; hold: test_clips; compile: test_starting;
    cuda_graphs: test_recording."""
    shown = {"devices", "nodes", "strategy", "time_limit", "hold", "compile", "cuda_graphs", "workers"}
    assert shown == set(ComputeConfig.model_fields)


def test_loader_processes_are_as_many_as_asked_for(data, tmp_path, monkeypatch):
    made, plain = [], Batches.train_dataloader

    def watched(self: Batches) -> Any:
        made.append(plain(self))
        return made[-1]

    monkeypatch.setattr(Batches, "train_dataloader", watched)
    train(data, tiny_model(), settings({}), compute=ComputeConfig(workers=2), out=tmp_path / "run", device="cpu")
    assert made[0].num_workers == 2


@pytest.mark.parametrize(
    ("changes", "compute", "message"),
    [
        ({}, {"strategy": "dpp"}, r"^--strategy must be one of auto, .*ddp, .*, got dpp; did you mean ddp\?"),
        (
            {"precision": "16-mixed"},
            {},
            "^--precision must be one that a CPU can compute in, got 16-mixed; choose bf16",
        ),
        (
            {},
            {"strategy": "fsdp"},
            r"^--strategy must be one that can compute here, on cpu, got fsdp \(.* requires a GPU .*; choose another",
        ),
        (
            {},
            {"strategy": "single_device", "devices": 2},
            "^--strategy must be one for 2 processes, got single_device; leave it out",
        ),
        ({}, {"strategy": "xla"}, r"^--strategy must be .*, got xla \(.*torch_xla.*\); choose another"),
        ({}, {"compile": "inductor"}, r"^--compile inductor must find the C\+\+ compiler no-such-compiler, got none"),
    ],
)
def test_what_would_fail_late_or_be_replaced(data, tmp_path, changes, compute, message, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ValueError, match=message):
        train(
            data, tiny_model(), settings(changes), compute=ComputeConfig(**compute), out=tmp_path / "run", device="cpu"
        )
    assert not (tmp_path / "run").exists()


# --- flags that contradict one another -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"deviation": 0.2}, "--deviation must come with --loss gaussian, got 0.2 without; leave it out"),
        ({"decay": 0.2}, "--decay must come with --schedule step or plateau, got 0.2 without"),
        ({"schedule": "cosine", "decay_every": 3}, "--decay-every must come with --schedule step, got 3 without"),
        ({"schedule": "step"}, "--decay-every must come with --schedule step, got nothing; say after how many updates"),
        ({"patience": 3}, "--patience must come with --schedule plateau, got 3 without"),
        ({"improvement": 0.1}, "--improvement must come with --schedule plateau or --stop-after, got 0.1 without"),
        ({"grow_over": 9}, "--grow-over must come with --free-running, got 9 without"),
        ({"sampling_share": 0.5}, "--sampling-share must come with --sampling, got 0.5 without"),
        ({"sampling_over": 5}, "--sampling-over must come with --sampling, got 5 without"),
        (
            {"window": 6, "free_running": 5},
            "--free-running must be at most 4, so that of --window 6 one frame is given and one follows, got 5; lower",
        ),
        ({"window": 1}, "--window must be greater than or equal to 2, got 1"),
        ({"accumulate": 3}, "--batch-size must be a multiple of --accumulate 3, got 4; choose one that is"),
    ],
)
def test_contradictions_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        settings(changes)


def test_a_share_of_training_clips_is_refused_where_there_are_validation_clips(data, tmp_path):
    with pytest.raises(ValueError, match=r"^--validation-share must be left out where DATA has a validation part"):
        train(data, tiny_model(), settings({"validation_share": 0.3}), out=tmp_path / "run", device="cpu")


def test_a_share_that_leaves_no_clip_to_learn_from_is_named(tmp_path):
    data = tiny_data(tmp_path / "few.h5", {"train": 7, "validation": 0})
    message = "^--validation-share must leave some of the 7 training clips to learn from, got 0.99; lower it"
    with pytest.raises(ValueError, match=message):
        train(data, tiny_model(), settings({"validation_share": 0.99}), out=tmp_path / "run", device="cpu")


def test_of_one_clip_no_share_is_small_enough(tmp_path):
    data = tiny_data(tmp_path / "one.h5", {"train": 1, "validation": 0})
    message = "^DATA must hold more training clips than are kept aside for validation, got 1 and 1; add some"
    with pytest.raises(ValueError, match=message):
        train(data, tiny_model(), settings({"validation_share": 0.1}), out=tmp_path / "run", device="cpu")


# --- numbers that are not finite -----------------------------------------------------------------------------


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """The CPU, and a pretended device, which leaves out what is not finite and is asked about it later."""
    with pretended_device() if request.param == "cuda" else nullcontext():
        yield request.param


def test_a_loss_that_is_no_number_names_the_first_bad_tensor_and_keeps_what_was_saved(
    data, tmp_path, monkeypatch, device
):
    plain = Learner.on_train_batch_start

    model = train(data, tiny_model(), settings({}), out=tmp_path / "good", device="cpu")
    name = next(name for name in weights(model) if name.startswith("predictor.core"))

    def spoil_named(self: Learner, batch: Any, number: int) -> None:
        plain(self, batch, number)
        if self.global_step == 3:
            with torch.no_grad():
                dict(self.named_parameters())[name].view(-1)[2] = float("nan")

    monkeypatch.setattr(Learner, "on_train_batch_start", spoil_named)
    message = rf"^training must keep the loss finite, got nan at update 4, first in the weight {name[10:]}; lower"
    with pytest.raises(ValueError, match=message):
        train(data, tiny_model(), settings({}), out=tmp_path / "run", watch=UNDRAWN, device=device)
    assert load(tmp_path / "run" / "checkpoints" / "last.ckpt")["global_step"] == 2
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "failed"


def test_the_first_output_that_is_not_finite_is_named():
    predictor = build(tiny_model(), (1, 24, 32))
    film = torch.full((1, 2, 1, 24, 32), float("inf"))
    assert first_fault(predictor, film) == "the output of encoder.layers.0"
    assert first_fault(predictor, torch.zeros(1, 2, 1, 24, 32)) == "the loss itself"


def test_a_core_that_makes_something_that_is_not_finite_is_named(monkeypatch):
    predictor = build(tiny_model(), (1, 24, 32))
    advance = type(predictor.core).advance

    def broken(self: Any, projected: Any, state: Any) -> Any:
        output, state, trace = advance(self, projected, state)
        return output.log(), state, trace

    monkeypatch.setattr(type(predictor.core), "advance", broken)
    assert first_fault(predictor, torch.rand(1, 3, 1, 24, 32)) == "the output of core"


@pytest.mark.parametrize("given", [lambda bad: {"bad": bad}, lambda bad: (3, (bad, None))])
def test_a_part_may_give_anything(given):
    predictor = build(tiny_model(), (1, 24, 32))

    class Part(torch.nn.Module):
        def forward(self, film: Any) -> Any:
            return given(film.log())

    predictor.encoder.part = Part()
    predictor.encoder.register_forward_pre_hook(lambda encoder, inputs: encoder.part(inputs[0]) and None)
    assert first_fault(predictor, torch.zeros(1, 2, 1, 24, 32)) == "the output of encoder.part"


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_gradients_that_are_not_finite_are_named(data, tmp_path, monkeypatch, device, bad):
    """And weights are as they were before."""
    plain, before = Learner.training_step, []

    def steep(self: Learner, frames: torch.Tensor, batch: int) -> torch.Tensor:
        loss = plain(self, frames, batch)
        if self.global_step == bad:
            before[:] = [(weight, weight.detach().cpu().clone()) for weight in self.parameters()]
            first = next(self.predictor.decoder.parameters())
            loss = loss + 0 * torch.sqrt(0 * first).sum()  # finite, with a slope that is not
        return loss

    monkeypatch.setattr(Learner, "training_step", steep)
    message = rf"^training must keep the loss finite, got a gradient of norm nan at update {bad + 1}, first in the grad"
    with pytest.raises(ValueError, match=rf"{message}ient of decoder"):
        train(data, tiny_model(), settings({"save_every": 1}), out=tmp_path / "run", watch=UNDRAWN, device=device)
    saved = [load(path)["global_step"] for path in (tmp_path / "run" / "checkpoints").glob("*.ckpt")]
    assert max(saved) == bad
    assert {row["update"] for row in read_metrics(tmp_path / "run" / "logs" / "metrics.csv")} <= set("123"[:bad])
    assert before
    for weight, was in before:
        assert torch.equal(weight.detach().cpu(), was)


@pytest.mark.parametrize(
    ("core", "clip_norm", "fix"),
    [
        ({"comm_gate": False}, 0.1, r"give --core\.comm-gate, or lower --learning-rate or --clip-norm"),
        ({"comm_gate": True}, 0.1, "lower --learning-rate or --clip-norm"),
        ({"comm": False}, None, "lower --learning-rate or give --clip-norm"),
    ],
    ids=str,
)
def test_messages_that_add_up_are_to_be_gated_and_steps_to_be_smaller(data, tmp_path, core, clip_norm, fix):
    training = settings({"learning_rate": 1e30, "clip_norm": clip_norm})
    with pytest.raises(ValueError, match=f"first in .*; {fix}; what was saved before is kept$"):
        train(data, tiny_model("scoff", **core), training, out=tmp_path / "run", device="cpu")


@pytest.mark.parametrize(
    ("changes", "spoiled", "advice"),
    [
        ({"loss": "gaussian", "deviation": 1e-30}, False, "first in the loss itself; raise --deviation$"),
        ({"loss": "gaussian"}, True, "first in the weight .*; choose other settings of the model$"),
        ({"precision": "64-true"}, True, "first in the weight .*; choose other settings of the model$"),
    ],
)
def test_advice_before_the_first_step_is_not_about_steps(data, tmp_path, monkeypatch, changes, spoiled, advice):
    plain = Learner.on_train_batch_start

    def spoil(self: Learner, batch: Any, number: int) -> None:
        plain(self, batch, number)
        if spoiled:
            with torch.no_grad():
                next(self.parameters()).fill_(float("nan"))

    monkeypatch.setattr(Learner, "on_train_batch_start", spoil)
    with pytest.raises(ValueError, match=f"at update 1, {advice}"):
        train(data, tiny_model(), settings(changes), out=tmp_path / "run", watch=UNDRAWN, device="cpu")


def test_a_disk_that_fills_up_keeps_the_last_good_checkpoint(data, tmp_path, monkeypatch):
    save = KeepCheckpoints._save

    def full_at_three(self: KeepCheckpoints, trainer: Any) -> None:
        if trainer.global_step < 3:
            save(self, trainer)
            return
        with no_file_longer_than(20000):
            save(self, trainer)

    monkeypatch.setattr(KeepCheckpoints, "_save", full_at_three)
    with pytest.raises(OSError, match=r"next\.ckpt must be a file that can be written, got File too large; free some"):
        train(data, tiny_model(), settings({"save_every": 1}), out=tmp_path / "run", device="cpu")
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == ["best.ckpt", "last.ckpt", "previous.ckpt"]
    assert load(tmp_path / "run" / "checkpoints" / "last.ckpt")["global_step"] == 2


def test_a_folder_that_cannot_be_made(data):
    with pytest.raises(OSError, match=r"^--out must be a folder that can be made, got /proc/nowhere/run \("):
        train(data, tiny_model(), settings({}), out=Path("/proc/nowhere/run"), device="cpu")
