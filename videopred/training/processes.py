"""Several processes of one training: which this is, who started it, and that none is left alone."""

import os
import signal
import threading
import time

from lightning.pytorch.plugins.environments import (
    ClusterEnvironment,
    LightningEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)
from lightning.pytorch.utilities import rank_zero_only

_STARTER = "VIDEOPRED_STARTED_BY"


def is_first() -> bool:
    """Whether this process is the one that writes and speaks; known before Lightning has started the others."""
    return getattr(rank_zero_only, "rank", 0) == 0


def launched() -> tuple[str, int] | None:
    """The launcher that started this process, and how many it started; None if it was none."""
    if TorchElasticEnvironment.detect():
        return "torchrun", int(os.environ["WORLD_SIZE"])
    if "SLURM_STEP_ID" in os.environ and SLURMEnvironment.detect():  # a batch script alone has the others as well
        return "srun", int(os.environ["SLURM_NTASKS"])
    return None


def environment() -> list[ClusterEnvironment]:
    """What Lightning must be told of this cluster, where it would be mistaken."""
    if TorchElasticEnvironment.detect() or not SLURMEnvironment.detect():
        return []
    # It takes a batch script for srun, and would start the job again by itself, with a checkpoint of its own.
    return [SLURMEnvironment(auto_requeue=False) if launched() else LightningEnvironment()]


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
    os.kill(os.getpid(), signal.SIGKILL)
