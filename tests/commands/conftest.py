"""A place with data and runs, for tests of commands."""

from pathlib import Path

import numpy as np
import pytest
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred.datasets import open_dataset
from videopred.training.run import train


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """A folder with data, and runs of two cores; tests only read it."""
    folder = tmp_path_factory.mktemp("place")
    data = tiny_data(folder)
    for core in ("gru", "rims"):
        train(data, tiny_model(core), tiny_training(), out=folder / core, device="cpu")
    np.save(folder / "films.npy", open_dataset(data).read_frames("test", 0, 1)[0, ..., 0])
    return folder
