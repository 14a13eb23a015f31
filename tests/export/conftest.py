"""A run to export, with its clips and scores."""

import shutil
from pathlib import Path

import pytest
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred.checkpoint import load_run
from videopred.datasets import open_dataset
from videopred.judging import evaluate
from videopred.training.run import train


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A workplace with clips, a run and its scores."""
    place = tmp_path_factory.mktemp("cards")
    data = tiny_data(place / "datasets")
    run = train(data, tiny_model("rims"), tiny_training(free_running=3), out=place / "models" / "mine", device="cpu")
    scores = evaluate(load_run(run), open_dataset(data), context=4, horizon=5)
    scores.save(place / "eval" / "mine" / "balls4")
    return place


@pytest.fixture
def place(trained, tmp_path, monkeypatch) -> Path:
    """A copy to spoil; its run names the clips where they were first."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
