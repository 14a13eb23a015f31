"""Lightning's Trainer as our runs need it."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger
from lightning.pytorch.strategies import SingleDeviceStrategy, StrategyRegistry

from videopred import check
from videopred.checkpoint import RunConfig
from videopred.models.compiling import check_compiler
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.slurm import my_task
from videopred.systems import may_train_together
from videopred.training.keeping import AtomicIO
from videopred.training.loggers import Curves
from videopred.training.metrics_file import MetricsFile
from videopred.training.processes import check_first, check_reachable, environment, launched

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "0"
"""As Lightning is loaded, it has torch count GPUs by their driver alone, also those that are too old for this torch."""


def make_trainer(
    config: RunConfig,
    run: Path,
    device: torch.device,
    callbacks: Sequence[Callback],
    done: int,
    loggers: Sequence[Logger],
) -> lightning.Trainer:
    """A trainer that leaves batches, noise, step sizes, clipping and checkpoints to us.

    Args:
        config: settings of the run.
        run: its folder.
        device: the device, or the first of several.
        callbacks: ours.
        done: updates that a resumed run has done; curves go on from there.
        loggers: those besides CSV and TensorBoard.
    """
    training, compute = config.training, config.compute
    return lightning.Trainer(
        **_where(compute, device),
        precision=training.precision,
        max_steps=training.updates,
        max_epochs=-1,
        accumulate_grad_batches=training.accumulate,
        val_check_interval=min(training.validate_every, training.updates) * training.accumulate,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        logger=[
            MetricsFile(run / "logs" / "metrics.csv", done),
            Curves(run, name="tensorboard", version="", purge_step=done),
            *loggers,
        ],
        log_every_n_steps=min(10, training.validate_every, training.updates),
        callbacks=list(callbacks),
        plugins=[AtomicIO(), environment()],
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=run,
    )


def _where(compute: ComputeConfig, device: torch.device) -> dict[str, Any]:
    """The arguments of a Trainer that say where it computes."""
    return {
        "accelerator": {"cuda": "gpu"}.get(device.type, device.type),
        "devices": [device.index or 0] if device.type == "cuda" and compute.devices == 1 else compute.devices,
        "num_nodes": compute.nodes,
        "strategy": compute.strategy,
    }


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Within it, Lightning says nothing of itself (adverts, devices it looked for); its warnings and errors stay."""
    names = ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero")
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    try:
        for logger in levels:
            logger.setLevel(logging.WARNING)
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def check_compute(training: TrainingConfig, compute: ComputeConfig, device: torch.device) -> None:
    """Refuse devices, strategies, launchers and compilers that are not there, a precision that the device lacks, and
    batches that cannot be shared out evenly.

    Raises:
        ValueError: names the flag, or the variable.
    """
    check.one_of("--strategy", compute.strategy, ["auto", *_strategies()])
    lacking = device.type == "cpu" and training.precision == "16-mixed"  # Lightning would take bf16-mixed instead
    fix = "choose bf16-mixed, or a --device that can"
    check.require(not lacking, "--precision", "be one that a CPU can compute in", training.precision, fix)
    lacking = device.type == "mps" and training.precision == "64-true"
    fix = "leave it out, or give --device cpu"
    check.require(not lacking, "--precision", "be one that Apple's GPU can compute in", training.precision, fix)
    if compute.cuda_graphs:
        _check_recordable(training, compute, device)
    if compute.compile == "inductor" and device.type in ("cpu", "cuda"):
        check_compiler("--compile inductor", device.type)
    fix = "train on one here, or with WSL or on another machine on several"
    processes = compute.processes
    check.require(may_train_together() or processes == 1, "--devices", "be 1 on Windows, and --nodes", processes, fix)
    if device.type != "cpu":
        there = torch.cuda.device_count() if device.type == "cuda" else 1
        fix = "lower it, or add machines with --nodes"
        must = f"be at most {there}, the {device.type} devices of this machine"
        check.require(compute.devices <= there, "--devices", must, compute.devices, fix)
        alone = compute.devices == 1 or device.index is None
        must, fix = "be 1 with a --device that is one of several", "give --device cuda"
        check.require(alone, "--devices", must, compute.devices, fix)
    shares = processes * training.accumulate
    must = f"be a multiple of {shares}, devices times nodes times pieces"
    check.require(training.batch_size % shares == 0, "--batch-size", must, training.batch_size, "choose one that is")
    _check_launcher(compute)
    if compute.nodes > 1 and device.type == "cpu":
        check_reachable()
    _check_strategy(compute, device)


def _strategies() -> list[str]:
    """Those whose processes run the program again, or are started by a launcher.

    Others copy a training under way: what it writes and says in the end is that of a process that has learned nothing.
    """
    known = StrategyRegistry.items()
    return [name for name, how in known if how["init_params"].get("start_method") not in ("spawn", "fork")]


def _check_recordable(training: TrainingConfig, compute: ComputeConfig, device: torch.device) -> None:
    """Refuse CUDA graphs where there are none, where losses are scaled first, and where weights move in memory."""
    fix = "leave it out, or give --device cuda"
    check.require(device.type == "cuda", "--cuda-graphs", "come with a CUDA device", device.type, fix)
    fix = "give --precision bf16-mixed, or leave it out"
    check.require(
        training.precision != "16-mixed", "--cuda-graphs", "come without scaled losses", "--precision 16-mixed", fix
    )
    must, fix = "come with a strategy that leaves weights whole, such as ddp", "leave one of them out"
    check.require(compute.keeps_weights_whole, "--cuda-graphs", must, f"--strategy {compute.strategy}", fix)


def _check_strategy(compute: ComputeConfig, device: torch.device) -> None:
    """Refuse a strategy without its library or its devices, or for fewer of them; a Trainer is made to find out."""
    if compute.strategy == "auto":
        return
    try:
        with warnings.catch_warnings(), quiet_lightning():
            warnings.filterwarnings("ignore", module=r"lightning\.")  # that there is a GPU as well
            trainer = lightning.Trainer(
                **_where(compute, device), plugins=[environment()], logger=False, barebones=True
            )
    except (MisconfigurationException, ImportError, RuntimeError, TypeError, ValueError) as error:
        must, got = f"be one that can compute here, on {device.type}", f"{compute.strategy} ({error})"
        raise ValueError(check.complaint("--strategy", must, got, "choose another, or leave it out")) from error
    fits = compute.processes == 1 or not isinstance(trainer.strategy, SingleDeviceStrategy)
    check.require(fits, "--strategy", f"be one for {compute.processes} processes", compute.strategy, "leave it out")


def _check_launcher(compute: ComputeConfig) -> None:
    """Refuse numbers of machines and devices that do not match the processes that a launcher has started, and a place
    among others where none has.

    Without a launcher, the first of several machines would wait for the others, deaf to signals. With another number of
    processes, each would train by itself, or some would be missing.
    """
    launcher = launched()
    must = "come with the same command on each machine, started by torchrun or srun"
    fix = (
        f"run `torchrun --nnodes {compute.nodes} --node-rank 0 --master-addr FIRST --nproc-per-node {compute.devices} "
        "--no-python videopred train …` on machine FIRST, and the same with --node-rank 1 and so on"
    )
    check.require(compute.nodes == 1 or launcher is not None, "--nodes", must, f"{compute.nodes} without", fix)
    if launcher is None:
        check_first(compute.devices)
        _check_runs_again(compute)
        return
    name, started = launcher
    options = {"torchrun": ("--nproc-per-node", "--nnodes"), "srun": ("--ntasks-per-node", "--nodes")}[name]
    got = f"{compute.devices} with --nodes {compute.nodes}"
    must = f"make {started} with --nodes, the processes that {name} has started"
    fix = f"give {name}'s {options[0]} as --devices, and its {options[1]} as --nodes"
    check.require(started == compute.processes, "--devices", must, got, fix)
    task = my_task()
    if name == "srun" and task is not None:  # Slurm may put them elsewhere than Lightning counts them
        asked = f"{compute.devices}(x{compute.nodes})" if compute.nodes > 1 else str(compute.devices)
        must = f"be the machines that srun's {started} tasks are on, with --devices on each: they are {task.layout}"
        fix = "give srun --nodes and --ntasks-per-node, and the same numbers as --nodes and --devices"
        check.require(task.layout == asked, "--nodes", must, f"{compute.nodes} with --devices {compute.devices}", fix)


def _check_runs_again(compute: ComputeConfig) -> None:
    """Refuse several devices where Lightning would run a file that is not there, or copy an interpreter as it runs."""
    typed_in = hasattr(sys, "ps1") or sys.flags.interactive or not Path(sys.argv[0]).is_file()
    must = "be 1 where other processes cannot run the same file, as in a notebook"
    fix = f"write a script, or run `videopred train … --devices {compute.devices}`"
    check.require(compute.devices == 1 or not typed_in, "--devices", must, compute.devices, fix)
