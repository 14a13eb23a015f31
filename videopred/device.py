"""Which device a command runs on, and on how many threads of the CPU."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

from videopred import check
from videopred.slurm import my_task


def pick_device(device: torch.device | str = "auto") -> torch.device:
    """The device of that name; `auto` is the first CUDA device if there is one, else the CPU.

    Raises:
        ValueError: the name is unknown, or this machine has no such device.
    """
    name = str(device)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, (_, colon, index) = check.device_kind(name), name.partition(":")
    there = {"cpu": 1, "cuda": cuda_devices(), "mps": int(torch.backends.mps.is_available())}[kind]
    numbered = not colon or (index.isdecimal() and index == str(int(index)))  # torch takes no other, such as 00
    check.require(numbered, "--device", "have a number behind its colon", name, "write e.g. cuda:0")
    must = f"be a device of this machine, which has {there} of kind {kind}"
    check.require(int(index or 0) < there, "--device", must, name, "use --device auto or --device cpu")
    return torch.device(name)


@contextmanager
def usual_numbers(dtype: torch.dtype = torch.float32) -> Iterator[None]:
    """Within it, torch makes numbers of this type on the CPU, whatever it makes by default."""
    moved = torch.get_default_device().type != "cpu"  # else not at the price of a look at every call of torch's
    before = torch.get_default_dtype()
    with torch.device("cpu") if moved else nullcontext():
        torch.set_default_dtype(dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def cuda_devices() -> int:
    """How many CUDA devices torch can use; one whose driver is too old is counted by the driver alone."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def my_device(name: str) -> str:
    """The device of this process: of several that work together, each takes a GPU of its own with auto or cuda."""
    task = my_task()
    place = os.environ.get("LOCAL_RANK", None if task is None else task.local_rank)
    if place is None or name not in ("auto", "cuda") or not torch.cuda.is_available():
        return name
    return f"cuda:{int(place) % torch.cuda.device_count()}"


def device_name(device: torch.device) -> str:
    """A device as records name it: a GPU of Nvidia's with what it is, as `cuda (NVIDIA H100 80GB HBM3)`."""
    return f"{device} ({torch.cuda.get_device_properties(device).name})" if device.type == "cuda" else str(device)


def device_of(model: torch.nn.Module) -> torch.device:
    """Where a model is, or a part of one."""
    return next(model.parameters()).device


def measuring_device(device: torch.device) -> torch.device:
    """Where scores of a model on that device are computed: there, or, as Apple's GPU has no float64, on the CPU."""
    return torch.device("cpu") if device.type == "mps" else device


def is_slow_in_bfloat16(device: torch.device) -> bool:
    """Whether a device lacks instructions for bfloat16, as an x86 CPU without AVX-512 does."""
    return device.type == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX2"


def seeded_devices(device: torch.device | None = None) -> range:
    """The CUDA devices whose random streams `torch.manual_seed` changes: all, once one was used, or if this is one.

    Asking one that was not used would start CUDA.
    """
    used = torch.cuda.is_initialized() or (device is not None and device.type == "cuda")
    return range(torch.cuda.device_count() if used else 0)


def seed_streams(seed: int) -> None:
    """Seed the random streams of the CPU and of the devices in use, as `torch.manual_seed` does.

    Which also notes who asks for it, for kinds of devices that are not in use: some milliseconds where calls are nested
    as deeply as in a training.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(seed)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, torch computes on one thread; afterwards on as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
