"""What this machine has for us, what it lacks, and whether the whole flow works on it."""

import math
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import torch

from videopred import check
from videopred.amounts import size
from videopred.checkpoint import load_run
from videopred.datasets import find_recipe, open_dataset
from videopred.datasets.generation import generate
from videopred.device import pick_device
from videopred.eval.perceptual import TRUNKS
from videopred.judging.drawing import render
from videopred.judging.evaluating import evaluate
from videopred.models.codec_settings import RNEMConfig
from videopred.models.rival_settings import GRUConfig
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig, WatchConfig
from videopred.systems import can_run, compiler, processors, total_memory_bytes
from videopred.training.run import train

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
    faults: list[str] = []
    temporary = _temporary(faults)
    rows = {
        "versions": {"Python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}},
        "machine": _machine(),
        "devices": _devices(),
        "folders": {name: _writable(name, Path(name), faults) for name in FOLDERS}
        | {"temporary": _writable("temporary", temporary, faults) if temporary else "none can be written"},
        "optional parts": _optional_parts(),
    }
    if self_test and temporary:
        with tempfile.TemporaryDirectory() as folder:
            rows[f"self test on {chosen}"] = run_steps(tiny_flow(Path(folder), str(chosen)), faults)
    return Examination(rows, faults)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "of unknown version"


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
    rows = {"cpu": platform.processor() or platform.machine()}
    for index in range(torch.cuda.device_count()):
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
    while not there.exists():
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
    trunk = TRUNKS["alex"]
    there = (Path(torch.hub.get_dir()) / "checkpoints" / trunk.file).is_file()
    lpips = f"missing, for `evaluate --metrics lpips`: {trunk.program}"
    rows["weights of LPIPS"] = "found, for `evaluate --metrics lpips`" if there else lpips
    usual, how_to_get = compiler()
    name = os.environ.get("CXX", usual)
    serves = "for `train --compile inductor`"
    lacking = "missing" if shutil.which(name) is None else "does not run"
    works = lacking != "missing" and can_run(name)
    rows["C++ compiler"] = f"found, {serves}" if works else f"{lacking}, {serves}: {how_to_get}"
    return rows


Steps = dict[str, Callable[[], None]]
"""Name -> what is to work, each after the one before."""


def tiny_flow(folder: Path, device: str) -> Steps:
    """The whole flow at its smallest: data, training, scores, pictures. Learns nothing."""
    data, run = folder / "data.h5", folder / "run"

    def make_data() -> None:
        recipe = find_recipe("balls4", balls=(2,), frames=8, height=24, width=32)
        generate("data", {"train": 8, "validation": 2, "test": 3}, recipe=recipe, out=data)

    def learn() -> None:
        model = PredictorConfig(core=GRUConfig(units=8), codec=RNEMConfig(channels=(4, 8), embedding=16))
        training = TrainingConfig(updates=3, batch_size=4, validate_every=3)
        train(data, model, training, watch=WatchConfig(pictures_every=0), out=run, device=device)

    def score() -> None:
        with open_dataset(data) as file:
            value = evaluate(load_run(run, device), file, metrics=("mse",)).mean("model", "mse")
        check.require(math.isfinite(value), "the error of a rollout", "be a finite number", value, _REPORT)

    def draw() -> None:
        with open_dataset(data) as file:
            render(load_run(run, device), file, clips=[0], out=folder / "pictures")

    return {"data": make_data, "training": learn, "rollout and scores": score, "pictures": draw}


_REPORT = "set VIDEOPRED_TRACEBACK=1 to see where, and report it with all of this"


def run_steps(steps: Steps, faults: list[str]) -> dict[str, str]:
    """Whether each step works, and how long it took; none is tried after one that failed."""
    rows = {}
    for name, step in steps.items():
        start = perf_counter()
        try:
            step()
        except Exception as error:  # whatever a broken machine raises is what is to be told
            if os.environ.get("VIDEOPRED_TRACEBACK"):
                raise
            told = f"{type(error).__name__}: {error}"
            rows[name] = f"failed: {told}"
            faults.append(check.complaint(f"the self test's {name}", "work", told, _REPORT))
            break
        rows[name] = f"works, {perf_counter() - start:.1f} s"
    return rows
