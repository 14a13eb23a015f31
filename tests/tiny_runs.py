"""The smallest clips, models and trainings that still are what they stand for. All sizes differ, no frame is square."""

import itertools
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from videopred.datasets.generation import generate
from videopred.datasets.settings import BallsConfig
from videopred.models import CORES
from videopred.models.codec_settings import RNEMConfig
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig


class OfEachCore(dict[str, Any]):
    """Something small for every core; who asks for a core that has no line is told where to add it."""

    def __missing__(self, core: str) -> Any:
        fix = "add it to SMALL in tests/models/core_checks.py and to CORE_SIZES in tests/tiny_runs.py"
        raise LookupError(f"core {core} must have small sizes for tests, got none; {fix}")


FRAMES, HEIGHT, WIDTH = 9, 24, 32
CLIPS = {"train": 12, "validation": 3, "test": 5}
RECIPE = BallsConfig(frames=FRAMES, height=HEIGHT, width=WIDTH, balls=(2,))
CODEC = RNEMConfig(channels=(2, 3), embedding=11)
COMM = {"comm_heads": 3, "comm_key": 8, "comm_value": 6}
CORE_SIZES = OfEachCore()
CORE_SIZES |= {
    "gru": {"units": 5},
    "lstm": {"units": 6},
    "lstm-h": {"units": (6, 5)},
    "lstm-ha": {"units": (6, 5), "input_heads": 2, "input_key": 7},
    "lstm-hab": {"units": (6, 5), "input_heads": 2, "input_key": 7},
    "lstm-hb": {"units": (6, 5)},
    "rims": {"modules": 4, "active": 2, "units": 5, "input_key": 7, **COMM},
    "brims": {"modules": (4, 3), "active": (2, 1), "units": (5, 9), "input_key": 7, **COMM},
    "hierarchical-rims": {"modules": (4, 3), "active": (2, 1), "units": (5, 9), "input_key": 7, **COMM},
    "mld-rims": {"modules": (4, 4), "active": (2, 2), "units": (5, 9), "input_key": 7, **COMM},
    "rmc": {"rows": 3, "heads": 2, "head_size": 5},
    "scoff": {"files": 3, "schemata": 2, "units": 5, "input_key": 7, "input_value": 6, "comm_heads": 2, "comm_key": 4},
    "transformer": {"layers": 1, "units": 6, "heads": 2, "hidden": 7, "window": 5},
}
"""Small sizes for each core; a new core gets a line."""


def tiny_data(folder: Path, clips: dict[str, int] | None = None, seed: int = 0) -> Path:
    """A file of small clips of two balls."""
    return generate("balls4", clips or CLIPS, recipe=RECIPE, out=folder, seed=seed)


def tiny_model(core: str = "gru", **changes: Any) -> PredictorConfig:
    return PredictorConfig(core=CORES[core][0](**CORE_SIZES[core], **changes), codec=CODEC)


def tiny_training(**changes: Any) -> TrainingConfig:
    return TrainingConfig(**({"updates": 2, "batch_size": 4, "validate_every": 1} | changes))


def files_of(folder: Path) -> dict[Path, bytes]:
    """Path of every file in a folder and in those inside it -> what is in it."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def no_more_files_than(count: int) -> Iterator[None]:
    """A system that lets this process open only that many files beside those that it has open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = (number for number in itertools.count() if not os.path.exists(f"/dev/fd/{number}"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(itertools.islice(free, count, None)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """A disk that is full: writing fails beyond that many bytes of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
