"""Several processes and pieces share a batch out, and learn what one learns."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_runs import CLIPS, tiny_data, tiny_model, tiny_training
from training_runs import learner, load, weights

from videopred.datasets.clip_file import ClipFile
from videopred.settings import ComputeConfig
from videopred.training.batches import Batches, Shares, equal_numbers
from videopred.training.clips import TrainingClips
from videopred.training.metrics_file import read_metrics
from videopred.training.run import train

EXACT = {"updates": 5, "validate_every": 2, "batch_size": 4, "precision": "64-true", "learning_rate": 0.01, "window": 7}


def close(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], within: float) -> bool:
    return one.keys() == other.keys() and all((one[name] - other[name]).abs().max() < within for name in one)


@pytest.mark.parametrize(("pieces", "world"), [(1, 1), (3, 1), (1, 2), (2, 3)])
def test_every_clip_of_a_batch_is_in_one_share(pieces, world):
    shares = [Shares(12, pieces, world, rank) for rank in range(world)]
    passed = [list(range(12))[share.slice_of(piece)] for share in shares for piece in range(pieces)]
    assert [clip for part in passed for clip in part] == list(range(12))
    assert {len(part) for part in passed} == {12 // pieces // world}


@pytest.mark.parametrize(("clips", "world"), [(7, 1), (7, 2), (8, 3), (1, 4)])
def test_every_validation_clip_is_looked_at_once(clips, world):
    numbers = [equal_numbers(clips, world, rank) for rank in range(world)]
    assert len({len(one) for one in numbers}) == 1
    assert sorted(number for one in numbers for number in one if number < clips) == list(range(clips))


@pytest.mark.parametrize(("pieces", "world"), [(1, 1), (3, 1), (1, 2), (3, 2)])
def test_looks_count_each_clip_once_and_take_no_more_at_once_than_a_piece(data, pieces, world):
    config = learner(batch_size=6, accumulate=pieces).config
    clips = TrainingClips(ClipFile(data), config.training)
    counted: list[torch.Tensor] = []
    for rank in range(world):
        batches = Batches(clips, config, torch.device("cpu"))
        batches.trainer = SimpleNamespace(world_size=world, global_rank=rank)  # type: ignore[assignment]
        loader = batches.val_dataloader()
        assert loader.batch_size == 6 // (pieces * world)
        counted += [weight for _, weight in loader]
    assert torch.cat(counted).sum() == len(clips.validate) == CLIPS["validation"]


def test_pieces_learn_what_the_whole_learns(data, tmp_path):
    """Without dropout, whose draws are those of each piece."""
    runs = []
    for pieces in (1, 2):
        settings = tiny_training(**EXACT, accumulate=pieces)
        runs.append(train(data, tiny_model(), settings, out=tmp_path / str(pieces), device="cpu"))
    assert close(*map(weights, runs), within=1e-10)
    assert_same_curves(*runs)


def assert_same_curves(one: Path, other: Path) -> None:
    """Training losses to 1e-10; Lightning rounds those of validation to 32 bits."""
    curves = [read_metrics(run / "logs" / "metrics.csv") for run in (one, other)]
    assert len(curves[0]) > 3
    for row, again in zip(*curves, strict=True):
        assert row.keys() == again.keys()
        for name in row:
            within = 1e-6 if name.startswith("validation") else 1e-10
            assert float(row[name]) == pytest.approx(float(again[name]), rel=within), name


def words(data: Path, out: Path, *more: str) -> list[str]:
    """A training as a user types it, with a core that draws nothing."""
    found = ["-m", "videopred", "train", str(data), "--core", "gru", "--core.units", "5", "--device", "cpu"]
    found += ["--codec.channels", "2", "3", "--codec.embedding", "11", "--out", str(out), *more]
    return found + [f"--{name.replace('_', '-')}={value}" for name, value in EXACT.items()]


def launch(data: Path, out: Path, *more: str) -> dict[str, Any]:
    """Train, and read the last checkpoint."""
    command = [sys.executable, *words(data, out, *more)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    part = "" if ClipFile(data).parts.get("test") else " --part validation"
    assert done.stdout == f"wrote {out}\nnext: videopred evaluate {out} {data}{part}\n"
    return load(out / "checkpoints" / "last.ckpt")


def by_torchrun(rank: int, port: str, asked: list[str]) -> tuple[list[str], dict[str, str]]:
    """What somebody types on machine `rank` of two, and the environment there."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--node-rank", str(rank)]
    return [*torchrun, "--master-addr", "localhost", "--master-port", port, "--nproc-per-node", "1", *asked], {}


def by_srun(rank: int, port: str, asked: list[str]) -> tuple[list[str], dict[str, str]]:
    """What srun starts on machine `rank` of two, and what Slurm says there."""
    told = {"JOB_ID": "12345", "STEP_ID": "0", "STEP_NUM_TASKS": "2", "STEP_TASKS_PER_NODE": "1(x2)"}
    told |= {"PROCID": str(rank), "NODEID": str(rank), "LOCALID": "0", "STEP_NODELIST": "localhost"}
    return [sys.executable, *asked], {f"SLURM_{name}": value for name, value in told.items()} | {"MASTER_PORT": port}


def start_on_two_machines(start: Any, asked: list[str]) -> list["subprocess.Popen[str]"]:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    processes = []
    for rank in (0, 1):
        command, told = start(rank, port, asked)
        environment = os.environ | {"OMP_NUM_THREADS": "1"} | told
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True))
    return processes


@pytest.mark.slow
@pytest.mark.parametrize("start", [by_torchrun, by_srun])
def test_two_machines_learn_what_one_learns(data, tmp_path, start):
    """Both of them this one, each with a process."""
    one = launch(data, tmp_path / "one")
    out = tmp_path / "two"
    first, second = start_on_two_machines(start, words(data, out, "--nodes", "2"))
    said = [process.communicate() for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), said
    assert [told for told, _ in said] == [f"wrote {out}\nnext: videopred evaluate {out} {data}\n", ""]
    assert close(one["state_dict"], load(out / "checkpoints" / "last.ckpt")["state_dict"], within=1e-10)
    assert_same_curves(tmp_path / "one", out)


@pytest.mark.slow
def test_slurms_warning_stops_all_machines_and_the_run_goes_on(data, tmp_path):
    """As `srun --signal SIGUSR1@120` sends it: to every process. The job that is started again says --resume."""
    out = tmp_path / "run"
    asked = words(data, out, "--nodes", "2", "--pictures-every", "0")
    asked[asked.index("--updates=5")] = "--updates=100000"
    processes = start_on_two_machines(by_srun, asked)
    assert processes[0].stderr is not None
    for line in processes[0].stderr:
        if "update 4:" in line:
            break
    for process in processes:
        process.send_signal(signal.SIGUSR1)
    assert [process.wait() for process in processes] == [130, 0], processes[0].stderr.read()
    record = json.loads((out / "run.json").read_text())
    assert (record["state"], record["updates"] >= 4) == ("interrupted", True)
    again = ["-m", "videopred", "train", "--resume", str(out), "--nodes", "2", "--time-limit", "1s", "--device", "cpu"]
    processes = start_on_two_machines(by_srun, again)
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [130, 0], said
    assert f"resumes after {record['updates']:,} of 100,000 updates" in said[0]


@pytest.mark.slow
@pytest.mark.parametrize("clips", [{"train": 12, "validation": 3}, {"train": 13, "validation": 4}], ids=str)
def test_two_processes_learn_what_one_learns(tmp_path, clips):
    """The same loss curve and weights, in float64 and without dropout; validation clips odd and even in number."""
    path = tiny_data(tmp_path, clips)
    one, two = launch(path, tmp_path / "one"), launch(path, tmp_path / "two", "--devices", "2")
    assert close(one["state_dict"], two["state_dict"], within=1e-10)
    assert two["videopred_looks"]["latest"] == pytest.approx(one["videopred_looks"]["latest"], rel=1e-10)
    assert_same_curves(tmp_path / "one", tmp_path / "two")


SPOILED = """
import sys
from videopred import cli
from videopred.training.learner import Learner

plain = Learner.loss_of

def spoiled(self, *given, **named):
    second = self._trainer is not None and self.global_rank == 1 and self.global_step == 1
    return plain(self, *given, **named) * (float("nan") if second else 1)

Learner.loss_of = spoiled
cli.main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_loss_of_one_process_that_is_no_number_ends_both_in_words(data, tmp_path):
    """The first, which keeps the log, would else hear no more than that the other is gone."""
    program, out = tmp_path / "spoiled.py", tmp_path / "run"
    program.write_text(SPOILED)
    command = [sys.executable, str(program), *words(data, out, "--devices", "2")[2:]]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 1
    assert "got a gradient of norm nan at update 2, first in the gradient of encoder" in (out / "log.txt").read_text()


@pytest.mark.parametrize(
    ("compute", "settings", "message"),
    [
        ({"devices": 3}, {}, r"^--batch-size must be a multiple of 3, devices times nodes times pieces, got 4; choose"),
        ({"nodes": 3}, {"accumulate": 2}, r"^--batch-size must be a multiple of 6, devices times nodes times pieces"),
    ],
)
def test_batches_that_cannot_be_shared_out(data, tmp_path, compute, settings, message):
    with pytest.raises(ValueError, match=message):
        train(
            data,
            tiny_model(),
            tiny_training(**settings),
            compute=ComputeConfig(**compute),
            out=tmp_path / "run",
            device="cpu",
        )
    assert not (tmp_path / "run").exists()
