"""Who started a process, whether all that were asked for were started, and that none waits for one that is gone."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from lightning.fabric.utilities import rank_zero
from lightning.pytorch.plugins.environments import LightningEnvironment, TorchElasticEnvironment
from lightning.pytorch.utilities import rank_zero_only
from tiny_runs import files_of, tiny_model, tiny_training
from torch.distributed import DistNetworkError

from videopred.processes import is_first_of_training
from videopred.settings import ComputeConfig
from videopred.training import processes
from videopred.training.engine import check_compute
from videopred.training.learner import Learner
from videopred.training.processes import (
    StepEnvironment,
    check_reachable,
    end_together,
    environment,
    launched,
    lost_another,
)
from videopred.training.run import resume, train
from videopred.training.seeds import train_seeds

TORCHRUN = {"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "2"}
SCRIPT = {"SLURM_NTASKS": "2", "SLURM_PROCID": "0", "SLURM_JOB_ID": "12", "SLURM_JOB_NAME": "job"}
SHELL = SCRIPT | {"SLURM_STEP_ID": "4294967290", "SLURM_STEP_NUM_TASKS": "1", "SLURM_JOB_NAME": "interactive"}
SRUN = SCRIPT | {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2"}
SRUN |= {"SLURM_PROCID": "1", "SLURM_NODEID": "0", "SLURM_LOCALID": "1", "SLURM_STEP_NODELIST": "gpu[07-08]"}


@pytest.mark.parametrize("value", ["0", "3"])
@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK", "ANOTHER"])
@pytest.mark.parametrize("more", [{}, {"SLURM_PROCID": "1"}, {"LOCAL_RANK": "0", "SLURM_PROCID": "1"}], ids=str)
def test_the_first_is_known_before_lightning_is_loaded(monkeypatch, name, value, more):
    """As it will say itself, also where several variables do."""
    for variable, said in {**more, name: value}.items():
        monkeypatch.setenv(variable, said)
    assert is_first_of_training() == ((rank_zero._get_rank() or 0) == 0)


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "JSM_NAMESPACE_RANK"])
def test_a_place_that_is_no_number_is_told_of_before_lightning_is_loaded(monkeypatch, name):
    monkeypatch.setenv(name, "first")
    with pytest.raises(ValueError, match=f"^{name} must be the number of this process among others, got first; unset"):
        is_first_of_training()


@pytest.mark.parametrize(
    ("told", "launcher", "kind"),
    [
        ({}, None, LightningEnvironment),
        (TORCHRUN, ("torchrun", 2), TorchElasticEnvironment),
        (SRUN, ("srun", 2), StepEnvironment),
        (SRUN | {"SLURM_JOB_NAME": "interactive"}, ("srun", 2), StepEnvironment),  # srun in a shell of salloc's
        (SCRIPT, None, LightningEnvironment),  # starts the processes by itself
        (SHELL, None, LightningEnvironment),
        (SRUN | TORCHRUN, ("torchrun", 2), TorchElasticEnvironment),  # torchrun on each machine of a job
    ],
)
def test_who_started_a_process(monkeypatch, told, launcher, kind):
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert launched() == launcher
    assert type(environment()) is kind
    assert StepEnvironment.detect() == ("SLURM_STEP_NODELIST" in told)


def test_lightning_is_told_of_a_step_what_slurm_says(monkeypatch):
    for name, value in (SRUN | {"SLURM_NODEID": "3", "SLURM_LOCALID": "2"}).items():
        monkeypatch.setenv(name, value)
    found = environment()
    found.set_world_size(7)
    found.set_global_rank(7)
    assert (found.world_size(), found.global_rank(), found.node_rank(), found.local_rank()) == (2, 1, 3, 2)
    assert found.creates_processes_externally
    assert (found.main_address, found.main_port) == ("gpu07", 15000 + 17 * 12)
    monkeypatch.setenv("MASTER_ADDR", "elsewhere")
    monkeypatch.setenv("MASTER_PORT", "4567")
    assert (found.main_address, found.main_port) == ("elsewhere", 4567)


GLOO = (
    "[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:545] Read error [10.77.0.3]:62599: Connection "
    "reset by peer. This is typically caused by a remote worker hanging or bugs in the application.\nMore of it."
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError(GLOO), "Read error [10.77.0.3]:62599: Connection reset by peer"),
        (DistNetworkError("no answer from first\nat all"), "no answer from first"),
        (RuntimeError("the machine caught fire"), ""),
    ],
)
def test_errors_that_are_of_another_process(error, said):
    assert lost_another(error) == said


def test_a_lost_process_is_a_complaint_and_no_bug(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Learner, "training_step", raises(RuntimeError(GLOO)))
    out = tmp_path / "run"
    message = (
        r"^another process must work along to the end, got nothing more of it \(Read error \[10.77.0.3\]:62599: .*"
        r" peer\); what was saved before is kept: see what it said last, and continue with"
        rf" `videopred train --resume {out}`$"
    )
    with pytest.raises(ConnectionError, match=message):
        train(data, tiny_model(), tiny_training(), out=out, device="cpu")
    assert json.loads((out / "run.json").read_text())["state"] == "failed"


def raises(error: Exception) -> Callable[..., None]:
    def step(*anything: Any) -> None:
        raise error

    return step


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
            {"TORCHELASTIC_RUN_ID": "1"},
            {},
            "WORLD_SIZE must be a number beside TORCHELASTIC_RUN_ID, got nothing; unset TORCHELASTIC_RUN_ID, or start "
            "with torchrun",
        ),
        (TORCHRUN | {"WORLD_SIZE": "x"}, {}, "WORLD_SIZE must be a number beside TORCHELASTIC_RUN_ID, got x; unset"),
        (
            SRUN,
            {},
            "--devices must make 2 with --nodes, the processes that srun has started, got 1 with --nodes 1; give "
            "srun's --ntasks-per-node as --devices, and its --nodes as --nodes",
        ),
        (
            SRUN | {"SLURM_STEP_TASKS_PER_NODE": "1(x2)"},
            {"devices": 2},
            "--nodes must be the machines that srun's 2 tasks are on, with --devices on each: they are 1(x2), got 1 "
            "with --devices 2; give srun --nodes and --ntasks-per-node, and the same numbers as --nodes and --devices",
        ),
        (
            SRUN | {"SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_TASKS_PER_NODE": "3,1"},
            {"devices": 2, "nodes": 2},
            "--nodes must be the machines that srun's 4 tasks are on, with --devices on each: they are 3,1, got 2 with",
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


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"RANK": "3"}, "RANK {}, got 3"),
        ({"LOCAL_RANK": "1"}, "LOCAL_RANK {}, got 1"),
        ({"SLURM_PROCID": "3"}, "SLURM_PROCID {}, got 3"),
        ({"WORLD_SIZE": "4", "RANK": "2", "LOCAL_RANK": "0"}, "RANK {}, got 2"),
    ],
    ids=str,
)
def test_a_place_that_no_launcher_gave_is_refused_before_anything_is_touched(data, stopped, monkeypatch, told, said):
    """A process that takes itself for another than the first writes nothing."""
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    before = files_of(stopped.parent)
    message = said.format("must be unset, or 0 for one device, when neither torchrun nor srun starts Python")
    message = re.escape(f"{message}; unset it and start Python again, or start it with torchrun or srun")
    for begin in (
        lambda: train(data, tiny_model(), tiny_training(), out=stopped.with_name("new"), device="cpu"),
        lambda: train(data, tiny_model(), tiny_training(), out=stopped, overwrite=True, device="cpu"),
        lambda: resume(stopped, device="cpu"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            begin()
    assert files_of(stopped.parent) == before


def test_seeds_in_a_place_that_no_launcher_gave_leave_nothing(data, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(ValueError, match=r"^LOCAL_RANK must be unset, or 0 for one device, when .*, got 1; unset it"):
        train_seeds(data, [3, 5], tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("told", "name"),
    [({"RANK": "0"}, "RANK"), ({"RANK": "0", "LOCAL_RANK": "0"}, "RANK"), (SCRIPT | {"LOCAL_RANK": "0"}, "LOCAL_RANK")],
)
def test_the_first_of_several_devices_takes_no_place(monkeypatch, told, name):
    """It would wait for the others in vain, or start ones that take themselves for the first."""
    for variable, value in told.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=rf"^{name} must be unset, or 0 for one device, .*, got 0; unset it"):
        check_compute(tiny_training(), ComputeConfig(devices=2), torch.device("cpu"))


def test_a_place_that_lightning_has_read_counts_until_python_ends(monkeypatch):
    monkeypatch.setattr(rank_zero_only, "rank", 1, raising=False)
    with pytest.raises(ValueError, match=r"^RANK must be unset, .*; unset it and start Python again, or"):
        check_compute(tiny_training(), ComputeConfig(), torch.device("cpu"))


@pytest.mark.parametrize(
    ("told", "devices"),
    [
        ({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}, 1),
        (SCRIPT, 2),
        (SHELL, 2),
        ({"LOCAL_RANK": "1", "VIDEOPRED_STARTED_BY": "7"}, 2),  # as Lightning starts it for us
    ],
)
def test_places_that_a_training_may_have(monkeypatch, told, devices):
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    check_compute(tiny_training(), ComputeConfig(devices=devices), torch.device("cpu"))


@pytest.mark.parametrize("address", ["127.0.1.1", "::1", None])
def test_a_machine_whose_name_leads_the_others_to_themselves(monkeypatch, address):
    """They would wait for half an hour."""
    for name, value in SRUN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setattr(processes.socket, "gethostname", lambda: "gpu07")
    monkeypatch.setattr(processes.socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth0"), (3, "ib0")])

    def addresses(name: str, port: None) -> list[Any]:
        if address is None:
            raise socket.gaierror
        return [(0, 0, 0, "", (address, 0)), (0, 0, 0, "", ("10.0.0.7", 0))]

    monkeypatch.setattr(processes.socket, "getaddrinfo", addresses)
    message = (
        f"^GLOO_SOCKET_IFNAME must be the network card that leads to the other machines, as the name gpu07 means "
        f"{address or 'nothing'} here, got nothing; set this variable; there are eth0, ib0$"
    )
    compute, settings = ComputeConfig(nodes=2), tiny_training()
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)")
    with pytest.raises(ValueError, match=message):
        check_compute(settings, compute, torch.device("cpu"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    check_compute(settings, compute, torch.device("cuda"))  # whose processes meet in another way
    with monkeypatch.context() as one:  # where none is asked for its address
        one.setenv("SLURM_STEP_TASKS_PER_NODE", "2")
        check_compute(settings, ComputeConfig(devices=2), torch.device("cpu"))
    with monkeypatch.context() as at_home:
        at_home.setenv("MASTER_ADDR", "localhost")
        check_compute(settings, compute, torch.device("cpu"))
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth0")
    check_compute(settings, compute, torch.device("cpu"))


def test_a_machine_that_the_others_find_by_its_name(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setattr(processes.socket, "getaddrinfo", lambda *asked: [(0, 0, 0, "", ("10.0.0.7", 0))])
    monkeypatch.setattr(processes, "environment", lambda: SimpleNamespace(main_address="gpu07"))
    check_reachable()


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
    parents, waited, ended = iter([7, 7, 1]), [], []
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(processes.time, "sleep", waited.append)
    monkeypatch.setattr(os, "_exit", lambda status: ended.append((len(waited), status)))
    processes._end_after(7)
    assert ended == [(2, 1)]


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
