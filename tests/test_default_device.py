"""Where a program has torch make its tensors, such as on a GPU, changes nothing of what is of the CPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import tiny_data, tiny_model, tiny_training
from training_runs import UNDRAWN, assert_same, everything_of

from videopred.checkpoint import load_run
from videopred.datasets import open_dataset
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.loader import FilmDataset
from videopred.export.own_training import save_model
from videopred.judging.batches import read_film
from videopred.judging.evaluating import evaluate
from videopred.rollout import roll_out
from videopred.training.run import train


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> ClipFile:
    return open_dataset(tiny_data(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def run(file, tmp_path_factory) -> Path:
    return trained(file, tmp_path_factory.mktemp("runs") / "usual")


@pytest.fixture
def elsewhere() -> Iterator[torch.device]:
    """As `torch.set_default_device` of a GPU; nothing can be read back from this one."""
    torch.set_default_device("meta")
    yield torch.get_default_device()
    torch.set_default_device(None)


def trained(file: ClipFile, out: Path) -> Path:
    return train(file.path, tiny_model("gru"), tiny_training(updates=3), watch=UNDRAWN, out=out, device="cpu")


def test_a_training_is_the_same(file, run, tmp_path, elsewhere):
    moved = trained(file, tmp_path / "moved")
    assert torch.get_default_device() == elsewhere
    torch.set_default_device(None)
    assert_same(everything_of(moved), everything_of(run))


def test_clips_rollouts_and_scores_are_the_same(file, run, request):
    predictor, context = load_run(run), read_film(file, "test", 0, 2)[:, :4]

    def found() -> dict[str, Any]:
        scores = evaluate(predictor, file, metrics=("mse", "ssim", "ssim-uniform"))
        rolled = roll_out(predictor, context, 3, feedback="sample").prediction
        return {"clips": FilmDataset(file, "train", stack=2)[1], "rolled": rolled, "scores": scores.values}

    request.getfixturevalue("elsewhere")
    moved = found()  # first, as windows of similarities are kept once they are made
    torch.set_default_device(None)
    usual = found()
    assert torch.equal(moved["clips"], usual["clips"])
    assert torch.equal(moved["rolled"], usual["rolled"])
    assert repr(moved["scores"]) == repr(usual["scores"])


def test_a_model_is_saved_and_nothing_is_drawn_there(run, tmp_path, elsewhere, monkeypatch):
    predictor, drawn = load_run(run), []
    monkeypatch.setattr(torch.Tensor, "uniform_", lambda values, *_, **__: drawn.append(values.device.type))
    save_model(predictor, tmp_path / "mine.safetensors")
    assert set(drawn) == {"cpu"}
