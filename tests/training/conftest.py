"""One file of tiny clips for all tests of training, and one run that was stopped."""

import shutil
import sys
from pathlib import Path

import pytest
from tiny_runs import tiny_data, tiny_model, tiny_training
from training_runs import UNDRAWN, stop_after

from videopred.training.run import train


@pytest.fixture(autouse=True)
def in_a_file(monkeypatch) -> None:
    """The program is a file that other processes could run; those that pytest-xdist starts are in none."""
    monkeypatch.setattr(sys, "argv", [__file__])


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    return tiny_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def once_stopped(data, tmp_path_factory) -> Path:
    """A run of five updates with looks after each, stopped after the third."""
    out = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            train(data, tiny_model(), tiny_training(updates=5), watch=UNDRAWN, out=out, device="cpu")
    return out


@pytest.fixture
def stopped(once_stopped, tmp_path) -> Path:
    """A copy of that run, to be gone on with."""
    return Path(shutil.copytree(once_stopped, tmp_path / "run"))
