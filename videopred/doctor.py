"""What this machine has for us, what it lacks, and whether the whole flow works on it.

Libraries that may be missing are imported where they are used, as this is asked for where something is.
"""

import os
import platform
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from videopred import check
from videopred.amounts import size
from videopred.device import cuda_devices, pick_device
from videopred.systems import can_run, compiler, processor_name, processors, total_memory_bytes

LIBRARIES = ("videopred", "torch", "lightning", "numpy", "h5py", "kornia", "matplotlib")
"""The libraries whose versions one is asked for with a question or a bug report."""

FOLDERS = ("datasets", "models", "eval")
"""Where commands write unless told otherwise."""


class OptionalPart(NamedTuple):
    """A library that one feature needs and nothing else does."""

    library: str
    serves: str
    command: str


OPTIONAL_LIBRARIES = {
    "PyAV": OptionalPart("av", "`render --format mp4` and `import` of video", "pip install av"),
    "Weights & Biases": OptionalPart("wandb", "`train --logger wandb`", "pip install wandb"),
    "MLflow": OptionalPart("mlflow", "`train --logger mlflow`", "pip install mlflow"),
    "Comet": OptionalPart("comet_ml", "`train --logger comet`", "pip install comet-ml"),
}


class Examination(NamedTuple):
    """What was found."""

    rows: dict[str, dict[str, str]]
    """Section -> name -> what is to be said of it."""
    faults: list[str]
    """What must be mended, a line each; what is merely optional is none."""


def examine(*, device: str = "auto", self_test: bool = True) -> Examination:
    """What this machine has, and whether a tiny run of the whole flow works on a device.

    Args:
        device: where the self test runs; see `pick_device`.
        self_test: make tiny data, train, score and draw in a temporary folder: some seconds.

    Raises:
        ValueError: there is no such device.
    """
    chosen = pick_device(device)
    faults = _misfits()
    temporary = _temporary(faults)
    rows = {
        "versions": {"Python": platform.python_version(), **{name: _version(name) or "none" for name in LIBRARIES}},
        "machine": _machine(),
        "devices": _devices(),
        "folders": {name: _writable(name, Path(name), faults) for name in FOLDERS}
        | {"temporary": _writable("temporary", temporary, faults) if temporary else "none can be written"},
        "optional parts": _optional_parts(),
    }
    if self_test and temporary:
        with tempfile.TemporaryDirectory() as folder:
            rows[f"self test on {chosen}"] = _tried(Path(folder), str(chosen), faults)
    return Examination(rows, faults)


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _misfits() -> list[str]:
    """A line for each library that is missing, or of a version that we do not work with."""
    lines = []
    for requirement in map(Requirement, requires("videopred") or ()):
        there, optional = _version(requirement.name), requirement.marker is not None  # as `extra == "test"`
        if not (optional or _fits(there, requirement)):
            must, fix = f"be installed, {requirement.specifier}", "install it, as `pip install .` in the clone does"
            lines.append(check.complaint(requirement.name, must, there or "none", fix))
    return lines


def _fits(there: str | None, requirement: Requirement) -> bool:
    """Whether a version is one of those required; also of a build that a vendor made before the release of its name."""
    try:
        return there is not None and requirement.specifier.contains(Version(there).base_version)
    except InvalidVersion:
        return False


def _tried(folder: Path, device: str, faults: list[str]) -> dict[str, str]:
    """What came out of the self test."""
    try:
        from videopred.self_test import run_steps, tiny_flow
    except (ImportError, RuntimeError) as error:  # the latter of a torchvision that does not fit torch
        faults.append(check.complaint("the self test", "find its libraries", error, "mend them first, or install anew"))
        return {"libraries": f"failed: {error}"}
    return run_steps(tiny_flow(folder, device), faults)


def _machine() -> dict[str, str]:
    """System, CPUs, threads and memory."""
    said = os.environ.get("OMP_NUM_THREADS")
    rows = {
        "system": platform.platform(),
        "logical CPUs": f"{processors()} for this process",
        "threads": f"{torch.get_num_threads()} of torch (OMP_NUM_THREADS {said or 'is not set'})",
    }
    if (there := total_memory_bytes()) is not None:
        rows["memory"] = size(there)
    return rows


def _devices() -> dict[str, str]:
    """What --device can be."""
    rows = {"cpu": processor_name()}
    for index in range(cuda_devices()):
        card = torch.cuda.get_device_properties(index)
        rows[f"cuda:{index}"] = f"{card.name}, {size(card.total_memory)}"
    if "cuda:0" not in rows:
        built = torch.version.cuda
        rows["cuda"] = (
            f"none found by a PyTorch for CUDA {built}" if built else "none: this PyTorch was built for the CPU only"
        )
    if torch.backends.mps.is_available():
        rows["mps"] = "Apple's GPU"
    return rows


def _temporary(faults: list[str]) -> Path | None:
    """The folder for temporary files, which the self test takes; None if Python finds none that can be written to."""
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        fix = "free some space there, or set TMPDIR to a folder with room"
        faults.append(check.complaint("a folder for temporary files", "be there", str(error.strerror), fix))
        return None


def _writable(name: str, folder: Path, faults: list[str]) -> str:
    """Whether a folder, or the nearest above it that is there, can be written to, and how much fits."""
    there = folder.absolute()
    while not os.path.lexists(there):  # a link that leads nowhere is in the way
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            return f"can be written, {size(shutil.disk_usage(there).free)} free"
    except OSError as error:
        fix = "work in another folder, or ask who owns it"
        faults.append(check.complaint(f"the folder {name}", "be one to write to", f"{there} ({error.strerror})", fix))
        return f"cannot be written: {error.strerror}"


def _optional_parts() -> dict[str, str]:
    """What is there of the parts that single features need, and how to get the rest."""
    rows = {}
    for name, part in OPTIONAL_LIBRARIES.items():
        missing = f"missing, for {part.serves}: {part.command}"
        rows[name] = missing if find_spec(part.library) is None else f"found, for {part.serves}"
    rows["weights of LPIPS"] = _weights_of_lpips()
    usual, how_to_get = compiler()
    name = os.environ.get("CXX", usual)
    there, serves = shutil.which(name) is not None, "for `train --compile inductor`"
    lacking = f"{'does not run' if there else 'missing'}, {serves}: {how_to_get}"
    rows["C++ compiler"] = f"found, {serves}" if there and can_run(name) else lacking
    return rows


def _weights_of_lpips() -> str:
    try:
        from videopred.eval.perceptual import TRUNKS
    except (ImportError, RuntimeError) as error:
        return f"not looked for: {error}"
    trunk, serves = TRUNKS["alex"], "for `evaluate --metrics lpips`"
    there = (Path(torch.hub.get_dir()) / "checkpoints" / trunk.file).is_file()
    return f"found, {serves}" if there else f"missing, {serves}: {trunk.program}"
