"""Products of float32 matrices by oneDNN, where it is faster than MKL, which torch uses for them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from videopred.settings import ComputeConfig, TrainingConfig
from videopred.systems import processor_name

_CLIPS = 16
"""Clips at a time from which on it pays off: oneDNN takes some ten microseconds longer to begin a product."""

_LIBRARIES = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
"""Of torch, that multiply matrices; each has a precision of its own, "none" where it follows torch's."""


@contextmanager
def fast_products(training: TrainingConfig, compute: ComputeConfig, device: torch.device) -> Iterator[bool]:
    """Within it, oneDNN multiplies float32 matrices if that is faster, in full precision; yields whether it does.

    It is faster on AMD's processors with AVX-512, of which MKL uses half (docs/speed.md). Torch leaves these products
    to oneDNN at the precision "medium", which permits bfloat16. On processors that multiply float32 matrices in
    bfloat16, as those with AMX do, nothing changes, and neither does it where somebody has chosen a precision.
    """
    if not (_pays_off(training, compute, device) and _is_free()):
        yield False
        return
    torch.set_float32_matmul_precision("medium")
    try:
        kept = keeps_float32()
        if not kept:
            torch.set_float32_matmul_precision("highest")
        yield kept
    finally:
        torch.set_float32_matmul_precision("highest")
        for library in _LIBRARIES:  # which would go a way of their own from now on
            library.fp32_precision = "none"


def _pays_off(training: TrainingConfig, compute: ComputeConfig, device: torch.device) -> bool:
    """Whether products of float32 matrices are large, on a processor of AMD's with AVX-512 and for oneDNN."""
    clips = training.batch_size // (compute.processes * training.accumulate)
    large = device.type == "cpu" and training.precision == "32-true" and clips >= _CLIPS
    by_amd = re.search(r"\bAMD\b|AuthenticAMD", processor_name()) is not None
    has_avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512"
    has_onednn = torch.backends.mkldnn.is_available() and bool(torch.backends.mkldnn.enabled)
    return large and by_amd and has_avx512 and has_onednn


def _is_free() -> bool:
    """Whether nobody has chosen how float32 matrices are multiplied, in all libraries or in one."""
    chosen = {library.fp32_precision for library in _LIBRARIES}
    try:
        return torch.get_float32_matmul_precision() == "highest" and chosen == {"none"}
    except RuntimeError:  # chosen for some of torch's libraries alone
        return False


def keeps_float32() -> bool:
    """Whether products now keep all 24 bits of their factors: of thin and of square matrices, and batches of them."""
    for rows in (_CLIPS, 512):
        full = 1 + torch.arange(rows * 512).view(rows, 512) * 2.0**-23  # what bfloat16 or TF32 would round
        ones = torch.eye(512)
        thrice = ones.expand(3, -1, -1)
        products = (
            torch.mm(full, ones),
            torch.mm(ones, full.T).T,
            torch.addmm(torch.zeros(512), full, ones),
            *torch.bmm(full.expand(3, -1, -1), thrice),
            *torch.baddbmm(torch.zeros(1, 512), full.expand(3, -1, -1), thrice),
        )
        if not all(torch.equal(product, full) for product in products):
            return False
    return True
