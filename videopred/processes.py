"""Which of several processes this is that were started to work together, and whether they can meet. Light."""

import os
import sys

from videopred import check
from videopred.slurm import my_task

_LIGHTNING = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
"""Where Lightning looks for the place of a process, in its order."""


def is_first_of_training() -> bool:
    """Whether Lightning, which need not be loaded, will take this process for the first of a training.

    `my_place` does not know that: processes that Lightning starts have their place in LOCAL_RANK alone until they have
    met. So this follows Lightning, from which `training.processes.is_first` has it.
    """
    return told_place()[1] == "0"


def told_place() -> tuple[str, str]:
    """The variable from which Lightning has the place of this process in a training, and what it says.

    Raises:
        ValueError: that is no number, which Lightning cannot be loaded with.
    """
    name, place = next(((name, os.environ[name]) for name in _LIGHTNING if name in os.environ), (_LIGHTNING[0], "0"))
    fix = "unset it, or start the processes with torchrun or srun"
    check.require(place.isdecimal(), name, "be the number of this process among others", place, fix)
    return name, place


def my_place() -> tuple[int, int]:
    """Which of the processes that were started together this is, and how many they are; 0 and 1 if it is alone.

    Processes that have met, as those of a training do that Lightning started, know it best. torchrun says it in RANK
    and WORLD_SIZE, which go before what Slurm's srun says.

    Raises:
        ValueError: RANK is no number below WORLD_SIZE.
    """
    met = sys.modules.get("torch.distributed")  # who has not imported torch has met nobody
    if met is not None and met.is_available() and met.is_initialized():
        return met.get_rank(), met.get_world_size()
    task = my_task()
    if task is not None and "RANK" not in os.environ:
        return task.rank, task.world_size
    names = ("RANK", "WORLD_SIZE")
    processes = os.environ.get(names[1], "1")
    place = os.environ.get(names[0], "nothing" if names[1] in os.environ else "0")
    sensible = place.isdecimal() and processes.isdecimal() and int(place) < int(processes)
    must, fix = f"be a number below {names[1]}", "start the processes with torchrun or srun"
    check.require(sensible, names[0], must, f"{place} of {processes}", fix)
    return int(place), int(processes)


def check_meeting_place() -> None:
    """Refuse to look for other processes where nothing says where they meet; the tasks of srun know a place.

    Raises:
        ValueError: names the variable that is missing.
    """
    if my_task() is not None and "MASTER_ADDR" not in os.environ:
        return
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        must, fix = "say where the processes meet", "unset WORLD_SIZE to work alone, or start with torchrun, or set it"
        check.require(name in os.environ, name, must, "nothing", fix)
