"""How much memory work takes, seen from outside: in a process of its own, so that nothing else counts."""

import contextlib
from pathlib import Path

import torch

from videopred import child_process
from videopred.bench.training_step import pair_of, training_step
from videopred.systems import peak_memory_bytes

_GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""With this, glibc gives every tensor of 64 KiB or more back to the system once it is freed. Otherwise it keeps a
varying number for later use, and the same small step is measured up to 30 MB apart."""


def peak_bytes(name: str, who: str, batch: int, frames: int) -> int:
    """Most bytes that a training step on a CPU takes at once, beside the model, its gradients and the clips.

    Args:
        name: one of MODELS.
        who: ours or plain.
        batch: number of clips.
        frames: of each clip, 64 x 64 px.

    Raises:
        ChildProcessError: the process failed, as where memory is short.
    """
    work = f"print(taken({name!r}, {who!r}, {batch}, {frames}))"
    return int(child_process.answer(f"from videopred.bench.memory import taken; {work}", _GIVEN_BACK))


def taken(name: str, who: str, batch: int, frames: int) -> int:
    """Bytes by which a training step raises what this process holds; a step before it does not count."""
    torch.set_num_threads(1)
    predictor = getattr(pair_of(name), who)
    step = training_step(predictor, torch.rand(batch, frames, 1, 64, 64))
    before = peak_memory_bytes()
    step()
    # Only Linux can forget a peak. Elsewhere the first step counts, which also makes the gradients and Adam's averages.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
        before = peak_memory_bytes()
        step()
    return peak_memory_bytes() - before
