"""Who started a process, whether all that were asked for were started, and that none waits for one that is gone."""

import os
import re
import signal
import subprocess
import sys
from typing import Any, ClassVar

import pytest
from lightning.pytorch.plugins.environments import LightningEnvironment, SLURMEnvironment
from lightning.pytorch.utilities import rank_zero_only
from tiny_runs import tiny_model, tiny_training

from videopred.settings import ComputeConfig
from videopred.training import processes
from videopred.training.processes import end_together, environment, launched
from videopred.training.run import train

TORCHRUN = {"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "2"}
SCRIPT = {"SLURM_NTASKS": "2", "SLURM_PROCID": "0", "SLURM_JOB_NAME": "job"}
SRUN = SCRIPT | {"SLURM_STEP_ID": "0", "SLURM_NTASKS_PER_NODE": "2"}
SHELL = SRUN | {"SLURM_JOB_NAME": "bash"}


@pytest.mark.parametrize(
    ("told", "launcher", "kinds"),
    [
        ({}, None, []),
        (TORCHRUN, ("torchrun", 2), []),
        (SRUN, ("srun", 2), [SLURMEnvironment]),
        (SCRIPT, None, [LightningEnvironment]),  # starts the processes by itself
        (SHELL, None, []),
        (SRUN | TORCHRUN, ("torchrun", 2), []),  # torchrun on each machine of a job
    ],
)
def test_who_started_a_process(monkeypatch, told, launcher, kinds):
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert launched() == launcher
    found = environment()
    assert [type(one) for one in found] == kinds
    assert not any(getattr(one, "auto_requeue", False) for one in found)


@pytest.mark.parametrize(
    ("told", "compute", "message"),
    [
        (
            {},
            {"nodes": 2, "devices": 2},
            "--nodes must come with the same command on each machine, started by torchrun or srun, got 2 without; run "
            "`torchrun --nnodes 2 --node-rank 0 --master-addr FIRST --nproc-per-node 2 --no-python videopred train …`",
        ),
        (SCRIPT, {"nodes": 2}, "--nodes must come with the same command on each machine, started by torchrun or srun"),
        (
            TORCHRUN,
            {"nodes": 2, "devices": 2},
            "--devices must make 2 with --nodes, the processes that torchrun has started, got 2 with --nodes 2; give "
            "torchrun's --nproc-per-node as --devices, and its --nnodes as --nodes",
        ),
        (
            SRUN,
            {},
            "--devices must make 2 with --nodes, the processes that srun has started, got 1 with --nodes 1; give "
            "srun's --ntasks-per-node as --devices, and its --nodes as --nodes",
        ),
        (
            {name: value for name, value in SRUN.items() if not name.endswith("PER_NODE")},
            {"devices": 2},
            "--ntasks-per-node must be 2, got none; give it to srun in the place of --ntasks",
        ),
    ],
)
def test_processes_that_nobody_has_started_are_refused(data, tmp_path, monkeypatch, told, compute, message):
    """Else those that were would wait for the others, or each train by itself."""
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    how = {"compute": ComputeConfig(**compute), "out": tmp_path / "run", "device": "cpu"}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        train(data, tiny_model(), tiny_training(), **how)
    assert not (tmp_path / "run").exists()


class Thread:
    """Says how it was made, once it is started."""

    started: ClassVar[list[dict[str, Any]]]

    def __init__(self, **how: Any) -> None:
        self.how = how

    def start(self) -> None:
        self.started.append(self.how)


def test_a_process_watches_the_one_that_has_started_it(monkeypatch):
    """In a thread that does not keep it alive; those that somebody else has started watch nobody."""
    monkeypatch.setattr(Thread, "started", [], raising=False)
    monkeypatch.setattr(processes.threading, "Thread", Thread)
    monkeypatch.setenv("VIDEOPRED_STARTED_BY", "7")  # of a training before
    end_together()
    assert os.environ["VIDEOPRED_STARTED_BY"] == str(os.getpid())
    assert Thread.started == []
    monkeypatch.setattr(rank_zero_only, "rank", 1, raising=False)
    end_together()
    assert Thread.started == [{"target": processes._end_after, "args": (os.getpid(),), "daemon": True}]
    with monkeypatch.context() as launcher:  # whose processes it started, and not the training before
        launcher.setattr(processes, "launched", lambda: ("torchrun", 2))
        end_together()
    monkeypatch.delenv("VIDEOPRED_STARTED_BY")
    end_together()
    assert len(Thread.started) == 1


def test_it_ends_once_that_one_is_gone_and_not_before(monkeypatch):
    """Whose children then are those of process 1."""
    parents, waited, killed = iter([7, 7, 1]), [], []
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(processes.time, "sleep", waited.append)
    monkeypatch.setattr(os, "kill", lambda *who: killed.append((len(waited), *who)))
    processes._end_after(7)
    assert killed == [(2, os.getpid(), signal.SIGKILL)]


KILLED = """
import os, signal
from lightning.pytorch.strategies.launchers import subprocess_script
from videopred.cli import main

def killed(processes):
    print(len(processes), "started", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

subprocess_script._launch_process_observer = killed
main()
"""


@pytest.mark.slow
def test_a_process_does_not_wait_for_one_that_was_killed(data, tmp_path):
    """Killed once the other was started: which keeps the pipe that is read here open for as long as it lives."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    words = f"train {data} --core gru --updates 2 --batch-size 4 --device cpu --devices 2 --out {tmp_path / 'run'}"
    command = [sys.executable, str(script), *words.split()]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (-9, "1 started\n")
