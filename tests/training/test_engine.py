"""What Lightning's Trainer is told, on machines that are not here, too; and what is refused before."""

import logging
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning
import pytest
import torch
from lightning.pytorch.plugins.environments import LightningEnvironment
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_runs import tiny_training
from training_runs import learner

from videopred.settings import ComputeConfig
from videopred.training.engine import check_compute, make_trainer, quiet_lightning
from videopred.training.keeping import AtomicIO
from videopred.training.metrics_file import read_metrics


def told(
    monkeypatch: pytest.MonkeyPatch, run: Path, device: str = "cpu", done: int = 0, devices: int = 1, **training: Any
) -> dict[str, Any]:
    """What the Trainer is made with."""
    monkeypatch.setattr(lightning, "Trainer", dict)
    config = learner(**training).config.model_copy(update={"compute": ComputeConfig(devices=devices)})
    return make_trainer(config, run, torch.device(device), [], done, [])  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("device", "devices", "kind", "which"),
    [
        ("cpu", 1, "cpu", 1),
        ("cpu", 2, "cpu", 2),
        ("mps", 1, "mps", 1),
        ("cuda", 1, "gpu", [0]),
        ("cuda:3", 1, "gpu", [3]),
        ("cuda", 2, "gpu", 2),
    ],
)
def test_it_is_the_device_that_was_asked_for(monkeypatch, tmp_path, device, devices, kind, which):
    """Lightning takes a number for how many, and a list for which."""
    made = told(monkeypatch, tmp_path, device, devices=devices)
    assert (made["accelerator"], made["devices"]) == (kind, which)


@pytest.mark.parametrize(
    ("every", "updates", "pieces", "logged"), [(3, 7, 6, 3), (100, 7, 14, 7), (100, 50, 100, 10), (20, 50, 40, 10)]
)
def test_looks_and_the_log_come_at_the_end_at_the_latest(monkeypatch, tmp_path, every, updates, pieces, logged):
    """Lightning counts pieces of a batch up to a look, and updates up to a row of the log."""
    made = told(monkeypatch, tmp_path, updates=updates, validate_every=every, accumulate=2)
    assert (made["val_check_interval"], made["log_every_n_steps"]) == (pieces, logged)


def test_settings_reach_it_and_what_is_ours_is_left_to_us(monkeypatch, tmp_path):
    """A look before the first update, or shares of batches of its own, would change what is learned or saved."""
    made = told(monkeypatch, tmp_path, updates=7, accumulate=2, precision="bf16-mixed")
    assert (made["max_steps"], made["accumulate_grad_batches"], made["precision"]) == (7, 2, "bf16-mixed")
    assert (made["num_sanity_val_steps"], made["check_val_every_n_epoch"]) == (0, None)
    assert not made["use_distributed_sampler"]


def test_checkpoints_are_written_whole_or_not_at_all(monkeypatch, tmp_path):
    assert [type(plugin) for plugin in told(monkeypatch, tmp_path)["plugins"]] == [AtomicIO, LightningEnvironment]


@pytest.mark.parametrize("saved", [0, 2])
def test_both_curves_of_a_resumed_run_go_on_where_its_checkpoint_ends(monkeypatch, tmp_path, saved):
    """Of a run that came to update 4, and goes on from its checkpoint, or from nothing."""
    for done, last, loss in ((0, 4, 1.5), (saved, 3, 2.5)):
        for file in (tmp_path / "tensorboard").glob("events.*"):  # which are read in the order of the seconds in names
            file.rename(file.with_name("events.out.tfevents.0000000001"))
        for logger in told(monkeypatch, tmp_path, done=done)["logger"]:
            for step in range(done, last):
                logger.log_metrics({"loss": loss, "epoch": 0.0}, step)
            logger.finalize("success")
    rows = [(int(row["update"]), float(row["loss"])) for row in read_metrics(tmp_path / "logs" / "metrics.csv")]
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert rows == [(update, 1.5 if update <= saved else 2.5) for update in (1, 2, 3)]
    assert [(event.step + 1, event.value) for event in events.Scalars("loss")] == rows
    assert events.Tags()["scalars"] == ["loss"]


def test_lightning_is_heard_where_it_warns():
    """And afterwards as before: a program may train models of its own with it."""
    loggers = [logging.getLogger(f"lightning.{name}") for name in ("pytorch", "fabric", "pytorch.utilities.rank_zero")]
    before = [logger.level for logger in loggers]
    for logger, level in zip(loggers, (logging.INFO, logging.ERROR, logging.DEBUG), strict=True):
        logger.setLevel(level)
    with quiet_lightning():
        for name in ("pytorch.trainer", "fabric.strategies", "pytorch.utilities.rank_zero"):
            assert logging.getLogger(f"lightning.{name}").isEnabledFor(logging.WARNING)
            assert not logging.getLogger(f"lightning.{name}").isEnabledFor(logging.INFO)
    assert [logger.level for logger in loggers] == [logging.INFO, logging.ERROR, logging.DEBUG]
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CXX", "no-such-compiler")


@pytest.mark.parametrize(
    ("device", "devices", "message"),
    [
        (
            "cuda",
            3,
            "--devices must be at most 2, the cuda devices of this machine, got 3; lower it, or add machines with",
        ),
        ("mps", 2, "--devices must be at most 1, the mps devices of this machine, got 2; lower it"),
        ("cuda:1", 2, "--devices must be 1 with a --device that is one of several, got 2; give --device cuda"),
        ("cuda:0", 2, "--devices must be 1 with a --device that is one of several, got 2; give --device cuda"),
    ],
)
def test_devices_that_are_not_there_are_refused(two_gpus, device, devices, message):
    training = tiny_training(batch_size=6)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check_compute(training, ComputeConfig(devices=devices), torch.device(device))


@pytest.mark.parametrize(("device", "devices"), [("cuda", 1), ("cuda", 2), ("cuda:1", 1), ("mps", 1), ("cpu", 3)])
def test_devices_that_are_there_are_taken(two_gpus, device, devices):
    check_compute(tiny_training(batch_size=6), ComputeConfig(devices=devices), torch.device(device))


def test_what_a_cpu_cannot_or_needs_is_no_matter_on_a_gpu(two_gpus):
    training = tiny_training(precision="16-mixed")
    check_compute(training, ComputeConfig(compile="inductor"), torch.device("cuda"))


def test_apples_gpu_is_not_asked_for_what_it_lacks(two_gpus):
    with pytest.raises(ValueError, match=r"^--precision must be one that Apple's GPU can compute in, got 64-true; "):
        check_compute(tiny_training(precision="64-true"), ComputeConfig(), torch.device("mps"))


@pytest.mark.parametrize(
    ("device", "precision", "strategy", "message"),
    [
        ("cuda", "bf16-mixed", "ddp_find_unused_parameters_true", None),
        ("cpu", "32-true", "auto", "come with a CUDA device, got cpu; leave it out, or give --device cuda"),
        ("cuda", "16-mixed", "auto", "come without scaled losses, got --precision 16-mixed; give --precision bf16-"),
        (
            "cuda",
            "32-true",
            "fsdp",
            "come with a strategy that leaves weights whole, such as ddp, got --strategy fsdp; ",
        ),
    ],
)
def test_graphs_are_recorded_where_they_can_be(two_gpus, device, precision, strategy, message):
    training, compute = tiny_training(precision=precision), ComputeConfig(cuda_graphs=True, strategy=strategy)
    refused = nullcontext() if message is None else pytest.raises(ValueError, match=rf"^--cuda-graphs must {message}")
    with refused:
        check_compute(training, compute, torch.device(device))


NO_FILE = [
    {"ps1": ">>> "},
    {"flags": SimpleNamespace(interactive=1)},
    {"argv": ["-c"]},
    {"argv": ["-"]},
    {"argv": [""]},
    {"argv": ["elsewhere.py"]},
]


@pytest.mark.parametrize("program", NO_FILE, ids=str)
def test_a_program_that_cannot_be_run_again_has_one_device(monkeypatch, program):
    """As in a notebook, after python -i, -c, - and <, and of a script that has left the folder that it was found in."""
    for name, value in program.items():
        monkeypatch.setattr(sys, name, value, raising=False)
    message = (
        "--devices must be 1 where other processes cannot run the same file, as in a notebook, got 3; write a script"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}, or run `videopred train … --devices 3`$"):
        check_compute(tiny_training(batch_size=6), ComputeConfig(devices=3), torch.device("cpu"))
    check_compute(tiny_training(batch_size=6), ComputeConfig(), torch.device("cpu"))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")  # it has started the others already
    monkeypatch.setenv("WORLD_SIZE", "3")
    check_compute(tiny_training(batch_size=6), ComputeConfig(devices=3), torch.device("cpu"))


@pytest.mark.parametrize("strategy", ["ddp_spawn", "ddp_fork", "ddp_notebook_find_unused_parameters_true"])
@pytest.mark.parametrize("devices", [1, 3])
def test_a_training_under_way_is_not_copied(strategy, devices):
    """Its record would be that of the process that was copied, which learns nothing, also where there is one copy."""
    compute = ComputeConfig(devices=devices, strategy=strategy)
    with pytest.raises(ValueError, match=f"^--strategy must be one of auto, ddp, .*, got {strategy}; "):
        check_compute(tiny_training(batch_size=6), compute, torch.device("cpu"))


@pytest.mark.parametrize("devices", [1, 3])
def test_one_task_of_srun_is_a_process_as_at_home(monkeypatch, devices):
    """And starts others by itself."""
    for name, value in {"JOB_ID": "7", "NTASKS": "1", "PROCID": "0", "STEP_ID": "0", "STEP_NUM_TASKS": "1"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    check_compute(tiny_training(batch_size=6), ComputeConfig(devices=devices), torch.device("cpu"))


@pytest.mark.parametrize(("layout", "devices", "nodes"), [("2", 2, 1), ("1(x2)", 1, 2), ("3(x2)", 3, 2)])
def test_tasks_of_srun_that_were_asked_for(monkeypatch, layout, devices, nodes):
    told = {"JOB_ID": "7", "STEP_ID": "0", "STEP_NUM_TASKS": str(devices * nodes), "STEP_TASKS_PER_NODE": layout}
    told |= {"PROCID": "0", "NODEID": "0", "LOCALID": "0", "STEP_NODELIST": "gpu[1-2]"}
    for name, value in told.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth0")  # this machine need not have a name that others know
    check_compute(tiny_training(batch_size=6), ComputeConfig(devices=devices, nodes=nodes), torch.device("cpu"))


@pytest.mark.parametrize(
    ("strategy", "whole"),
    [("auto", True), ("ddp", True), ("ddp_find_unused_parameters_true", True), ("fsdp", False), ("deepspeed", False)],
)
def test_strategies_of_ddp_keep_weights_whole(strategy, whole):
    assert ComputeConfig(strategy=strategy).keeps_weights_whole is whole
