"""The share of one process where several judge together, as launchers start them; and everything gathered again."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import torch
from torch import distributed

from videopred.interrupt import HeldInterrupt
from videopred.processes import check_meeting_place, my_place
from videopred.slurm import my_task

Item = TypeVar("Item")


class Share(NamedTuple):
    """Which of several processes this is."""

    rank: int = 0
    processes: int = 1
    group: Any = None
    """Through which they speak; none where there is one."""

    @property
    def writes(self) -> bool:
        """Whether this process is the one that writes files and prints."""
        return self.rank == 0

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """This process's share of a list of work; each item is in the share of exactly one process."""
        return items[self.rank :: self.processes]

    def gather(self, mine: list[Item]) -> list[Item]:
        """What all processes have found, process by process; the same list in each."""
        if self.processes == 1:
            return mine
        lists: list[list[Item]] = [[] for _ in range(self.processes)]
        distributed.all_gather_object(lists, mine, group=self.group)
        return [item for one in lists for item in one]

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """The sum of a tensor over all processes, on the CPU; the same in each."""
        values = values.to("cpu", copy=True)  # all_reduce adds up in place
        if self.processes > 1:
            distributed.all_reduce(values, group=self.group)
        return values


@contextmanager
def sharing() -> Iterator[Share]:
    """This process's share: all of the work unless it was started with others.

    Processes speak through gloo on the CPU, whatever device they compute on and however they spoke before, as in a
    training: what they exchange is a few numbers per clip and frame. Each must come here, as all wait for one another.

    Raises:
        ValueError: the environment's RANK and WORLD_SIZE make no sense, or it does not say where processes meet.
    """
    rank, processes = my_place()
    if processes == 1:
        yield Share()
        return
    with HeldInterrupt(at_first="system"):  # who waits for others does so where no handler of Python's is called
        group = _group(rank, processes)
        try:
            yield Share(rank, processes, group)
        finally:
            distributed.destroy_process_group(group)


def _group(rank: int, processes: int) -> Any:
    """What several processes speak through."""
    if distributed.is_initialized():
        return distributed.new_group(backend="gloo")
    check_meeting_place()
    task = my_task()
    meet = None if task is None or "MASTER_ADDR" in os.environ else f"tcp://{task.main_address}:{task.main_port}"
    distributed.init_process_group("gloo", init_method=meet, rank=rank, world_size=processes)
    return distributed.group.WORLD
