"""How much memory work takes, seen from outside: in a process of its own, so that nothing else counts."""

import resource
import sys
from pathlib import Path

import torch

from videopred import child
from videopred.bench.training_step import pair_of, training_step


def peak_bytes(name: str, who: str, batch: int, frames: int) -> int:
    """Bytes by which a training step on a CPU raises the peak of its process.

    Args:
        name: one of MODELS.
        who: ours or plain.
        batch: clips. frames: of each, 64 x 64.

    Raises:
        ChildProcessError: the process failed, as where memory is short.
    """
    work = f"print(raised({name!r}, {who!r}, {batch}, {frames}))"
    return int(child.answer(f"from videopred.bench.memory import raised; {work}"))


def raised(name: str, who: str, batch: int, frames: int) -> int:
    """Bytes by which a training step raises the peak of this process."""
    torch.set_num_threads(1)
    predictor = getattr(pair_of(name), who)
    training_step(predictor, torch.rand(1, 2, 1, 64, 64))()  # weights' gradients and Adam's averages are there
    film = torch.rand(batch, frames, 1, 64, 64)
    before = most_bytes()
    training_step(predictor, film)()
    return most_bytes() - before


def most_bytes() -> int:
    """Most bytes that this process ever held.

    Linux hands ru_maxrss on to the programs that a process starts, so there the peak of this program alone is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
