"""The tasks that Slurm's srun starts together, and the job they belong to, as its variables tell it."""

import os
import re
from typing import NamedTuple


class Task(NamedTuple):
    """One of several tasks of a step, which are to work together."""

    rank: int
    """Which it is of all, from 0."""
    world_size: int
    node_rank: int
    """Which of the step's machines it is on, from 0."""
    local_rank: int
    """Which it is of those on its machine, from 0."""
    layout: str
    """How many tasks each machine has, as Slurm writes it: 4, or 4(x2) for two machines."""
    main_address: str
    """The first machine."""
    main_port: int
    """Where the tasks of this step, and of no other at the time, may meet on it."""


def my_task() -> Task | None:
    """Which task this process is; None if srun has not started it, or it alone.

    Read off the variables of the step alone. Those of the job are there as well in a batch script and in a shell that
    salloc opens, which are one process, however many tasks the job may have; and srun within a larger job leaves them
    as they are.
    """
    world_size = int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))
    if world_size == 1:
        return None
    return Task(
        rank=int(os.environ["SLURM_PROCID"]),
        world_size=world_size,
        node_rank=int(os.environ["SLURM_NODEID"]),
        local_rank=int(os.environ["SLURM_LOCALID"]),
        layout=os.environ["SLURM_STEP_TASKS_PER_NODE"],
        main_address=_first_of(os.environ["SLURM_STEP_NODELIST"]),
        main_port=_port(int(os.environ["SLURM_JOB_ID"]), int(os.environ["SLURM_STEP_ID"])),
    )


def my_job() -> str | None:
    """The job as Slurm's commands take it: 1234, or 1234_5 in an array; None outside one."""
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        return f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    return os.environ.get("SLURM_JOB_ID")


def _first_of(machines: str) -> str:
    """The first of a list such as `gpu[03-05,12],big`."""
    return re.sub(r"\[(\d+)[^]]*\]", r"\1", machines).partition(",")[0]


def _port(job: int, step: int) -> int:
    """Another one for each step of a job, and for jobs that follow one another; none that Linux hands out by itself."""
    return 15000 + (17 * job + step) % 10000
