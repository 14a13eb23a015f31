"""Several processes of one training: which this is, who started it, and that none is left alone."""

import ipaddress
import os
import re
import socket
import threading
import time

from lightning.pytorch.plugins.environments import ClusterEnvironment, LightningEnvironment, TorchElasticEnvironment
from lightning.pytorch.utilities import rank_zero_only
from torch.distributed import DistError

from videopred import check
from videopred.processes import told_place
from videopred.slurm import Task, my_task

_STARTER = "VIDEOPRED_STARTED_BY"


def is_first() -> bool:
    """Whether this process is the one that writes and speaks; known before Lightning has started the others."""
    return getattr(rank_zero_only, "rank", 0) == 0


def launched() -> tuple[str, int] | None:
    """The launcher that started this process together with others, and how many they are; None if it was none.

    A single task of srun is one process as any other; torchrun is taken at its word, also for one.

    Raises:
        ValueError: WORLD_SIZE is no number beside torchrun's TORCHELASTIC_RUN_ID.
    """
    if TorchElasticEnvironment.detect():
        processes = os.environ.get("WORLD_SIZE", "nothing")
        must, fix = "be a number beside TORCHELASTIC_RUN_ID", "unset TORCHELASTIC_RUN_ID, or start with torchrun"
        check.require(processes.isdecimal(), "WORLD_SIZE", must, processes, fix)
        return "torchrun", int(processes)
    task = my_task()
    return None if task is None else ("srun", task.world_size)


def environment() -> ClusterEnvironment:
    """What Lightning must be told of how processes were started.

    Asked itself, it takes a batch script and an interactive shell of Slurm's for tasks of srun or the other way round,
    going by the job's name and numbers, and wherever Slurm is installed it asks for srun.
    """
    if TorchElasticEnvironment.detect():
        return TorchElasticEnvironment()
    task = my_task()
    return LightningEnvironment() if task is None else StepEnvironment(task)


class StepEnvironment(ClusterEnvironment):
    """The tasks of one step of Slurm's. MASTER_ADDR and MASTER_PORT, where given, say otherwise where they meet."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._task = task

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return os.environ.get("MASTER_ADDR", self._task.main_address)

    @property
    def main_port(self) -> int:
        return int(os.environ.get("MASTER_PORT", self._task.main_port))

    @staticmethod
    def detect() -> bool:
        return my_task() is not None

    def world_size(self) -> int:
        return self._task.world_size

    def set_world_size(self, size: int) -> None:
        """Slurm has set it, and it was checked."""

    def global_rank(self) -> int:
        return self._task.rank

    def set_global_rank(self, rank: int) -> None:
        """Slurm has set it."""

    def local_rank(self) -> int:
        return self._task.local_rank

    def node_rank(self) -> int:
        return self._task.node_rank


def lost_another(error: RuntimeError) -> str:
    """What an error says of another process that is gone or cannot be reached; empty if it is about something else."""
    said = str(error).partition("\n")[0]
    if not isinstance(error, DistError) and "/gloo/" not in said:
        return ""
    return re.sub(r"^\[[^]]*\] |\. This is typically .*$", "", said)  # where in its source, and wishes


def check_first(devices: int) -> None:
    """Refuse a place among others where neither a launcher nor a training here has started this process.

    As another than the first it would train and write nothing. The first of several devices would wait for processes
    that it never starts, or start ones that take themselves for the first. Lightning keeps the place that it read as it
    was loaded.

    Raises:
        ValueError: names the variable that says it.
    """
    name, place = told_place()
    first = is_first() and place == "0" and (devices == 1 or not os.environ.keys() & {"RANK", "LOCAL_RANK"})
    must = "be unset, or 0 for one device, when neither torchrun nor srun starts Python"
    fix = "unset it and start Python again, or start it with torchrun or srun"
    check.require(first or _STARTER in os.environ, name, must, place, fix)


def check_reachable() -> None:
    """Refuse a machine of several whose name leads the others to themselves, as Debian's own /etc/hosts has it.

    Processes on CPUs tell one another the address that their machine's name has there, and would wait for an answer.
    Where all are on one machine, its name is no matter.

    Raises:
        ValueError: names the variable that says otherwise.
    """
    if "GLOO_SOCKET_IFNAME" in os.environ or environment().main_address in ("localhost", "127.0.0.1", "::1"):
        return
    name = socket.gethostname()
    try:
        address = socket.getaddrinfo(name, None)[0][4][0]
    except OSError:
        address = "nothing"
    alone = address == "nothing" or ipaddress.ip_address(address).is_loopback
    cards = ", ".join(card for _, card in socket.if_nameindex() if card != "lo")
    must = f"be the network card that leads to the other machines, as the name {name} means {address} here"
    check.require(not alone, "GLOO_SOCKET_IFNAME", must, "nothing", f"set this variable; there are {cards}")


def end_together() -> None:
    """Have processes that this one starts end when it is gone, however it went.

    They would wait for it for half an hour, in C++, where no handler of Python's is called.
    """
    if is_first():
        os.environ[_STARTER] = str(os.getpid())
    elif _STARTER in os.environ and launched() is None:  # else it is of a training before
        threading.Thread(target=_end_after, args=(int(os.environ[_STARTER]),), daemon=True).start()


def _end_after(starter: int) -> None:
    while os.getppid() == starter:
        time.sleep(1)
    os._exit(1)
