"""Runs judged together: which differ in nothing but their seed, and what they are called."""

import shutil
from pathlib import Path

import pytest
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred.checkpoint import ExperimentRecord
from videopred.datasets.opening import open_dataset
from videopred.eval.settings import Protocol
from videopred.export import export_run
from videopred.judging.runs import evaluate_runs
from videopred.training import train

ASKED = Protocol(context=3, horizon=2, metrics=("mse",), clips=3)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    data = tiny_data(folder)
    shutil.copy(data, folder / "moved.h5")
    for seed, where in ((0, data), (1, data), (2, folder / "moved.h5")):
        changed = {"training.seed": seed} if seed else {}
        experiment = ExperimentRecord(name="mine", scale="tiny", changed=changed)
        train(where, tiny_model(), tiny_training(seed=seed), out=folder / f"seed-{seed}", device="cpu",
              experiment=experiment)  # fmt: skip
    train(data, tiny_model(), tiny_training(seed=3, learning_rate=0.01), out=folder / "other", device="cpu")
    export_run(folder / "seed-0", folder / "small.safetensors")
    return folder


def judged(place: Path, *names: str):
    return evaluate_runs([place / name for name in names], open_dataset(place / "balls4.h5"), ASKED, device="cpu")


def test_runs_that_differ_in_their_seed_alone_are_one_group(place):
    """Also where a flag gave the seed of an experiment, and where the data lay elsewhere."""
    scores = judged(place, "seed-0", "seed-1", "other", "seed-2")
    assert list(scores.seeds.values()) == [("seed-0", "seed-1", "seed-2")]
    mean, half = scores.over_seeds("gru, 3 seeds (seed-0, seed-1, seed-2)", "mse")
    assert mean == pytest.approx(sum(scores.mean(f"seed-{seed}", "mse") for seed in range(3)) / 3)
    assert half > 0
    assert "gru, 3 seeds (seed-0, seed-1, seed-2)" in scores.table()


def test_a_run_and_its_export_are_one_seed(place):
    assert judged(place, "seed-0", "small.safetensors").seeds == {}
    assert list(judged(place, "seed-0", "small.safetensors", "seed-1").seeds.values()) == [("seed-0", "seed-1")]
    assert judged(place, "seed-0").seeds == {}


def test_a_run_may_not_be_called_as_a_trivial_row(place, tmp_path):
    shutil.copytree(place / "seed-0", tmp_path / "blank")
    with pytest.raises(ValueError, match="RUN must be runs of other names than the trivial rows, got blank; rename"):
        evaluate_runs([tmp_path / "blank", place / "seed-1"], open_dataset(place / "balls4.h5"), ASKED)
