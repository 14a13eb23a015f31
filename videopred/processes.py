"""Which of several processes this is that were started to work together. Light."""

import os
import sys

from videopred import check
from videopred.slurm import my_task


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
        return task.place, task.tasks
    names = ("RANK", "WORLD_SIZE")
    processes = os.environ.get(names[1], "1")
    place = os.environ.get(names[0], "nothing" if names[1] in os.environ else "0")
    sensible = place.isdecimal() and processes.isdecimal() and int(place) < int(processes)
    must, fix = f"be a number below {names[1]}", "start the processes with torchrun or srun"
    check.require(sensible, names[0], must, f"{place} of {processes}", fix)
    return int(place), int(processes)
