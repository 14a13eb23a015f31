"""Several processes and pieces share a batch out, and learn what one learns."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import tiny_data, tiny_model, tiny_training
from training_runs import load, weights

from videopred.settings import ComputeConfig
from videopred.training.batches import Shares, equal_numbers
from videopred.training.metrics_file import read_metrics
from videopred.training.run import train

EXACT = {"updates": 5, "validate_every": 2, "batch_size": 4, "precision": "64-true", "learning_rate": 0.01}


def close(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], within: float) -> bool:
    return one.keys() == other.keys() and all((one[name] - other[name]).abs().max() < within for name in one)


@pytest.mark.parametrize(("pieces", "world"), [(1, 1), (3, 1), (1, 2), (2, 3)])
def test_every_clip_of_a_batch_is_in_one_share(pieces, world):
    shares = [Shares(12, pieces, world, rank) for rank in range(world)]
    passed = [list(range(12))[share.slice_of(piece)] for share in shares for piece in range(pieces)]
    assert [clip for part in passed for clip in part] == list(range(12))
    assert {len(part) for part in passed} == {12 // pieces // world}


@pytest.mark.parametrize(("clips", "world"), [(7, 1), (7, 2), (8, 3), (1, 4)])
def test_every_validation_clip_is_looked_at_once(clips, world):
    numbers = [equal_numbers(clips, world, rank) for rank in range(world)]
    assert len({len(one) for one in numbers}) == 1
    assert sorted(number for one in numbers for number in one if number < clips) == list(range(clips))


def test_pieces_learn_what_the_whole_learns(data, tmp_path):
    """Without dropout, whose draws are those of each piece."""
    runs = []
    for pieces in (1, 2):
        settings = tiny_training(**EXACT, accumulate=pieces)
        runs.append(train(data, tiny_model(), settings, out=tmp_path / str(pieces), device="cpu"))
    assert close(*map(weights, runs), within=1e-10)
    assert_same_curves(*runs)


def assert_same_curves(one: Path, other: Path) -> None:
    """Training losses to 1e-10; Lightning rounds those of validation to 32 bits."""
    curves = [read_metrics(run / "logs" / "metrics.csv") for run in (one, other)]
    assert len(curves[0]) > 3
    for row, again in zip(*curves, strict=True):
        assert row.keys() == again.keys()
        for name in row:
            within = 1e-6 if name.startswith("validation") else 1e-10
            assert float(row[name]) == pytest.approx(float(again[name]), rel=within), name


def launch(data: Path, out: Path, *more: str) -> dict[str, Any]:
    """Train as a user does, with a core that draws nothing, and read the last checkpoint."""
    command = [sys.executable, "-m", "videopred", "train", str(data), "--core", "gru", "--core.units", "5"]
    command += ["--codec.channels", "2", "3", "--codec.embedding", "11", "--device", "cpu", "--out", str(out)]
    for name, value in EXACT.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    done = subprocess.run([*command, *more], capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {out}\n"
    return load(out / "checkpoints" / "last.ckpt")


@pytest.mark.slow
@pytest.mark.parametrize("clips", [{"train": 12, "validation": 3}, {"train": 13, "validation": 4}], ids=str)
def test_two_processes_learn_what_one_learns(tmp_path, clips):
    """The same loss curve and weights, in float64 and without dropout; validation clips odd and even in number."""
    path = tiny_data(tmp_path, clips)
    one, two = launch(path, tmp_path / "one"), launch(path, tmp_path / "two", "--devices", "2")
    assert close(one["state_dict"], two["state_dict"], within=1e-10)
    assert two["videopred_looks"]["latest"] == pytest.approx(one["videopred_looks"]["latest"], rel=1e-10)
    assert_same_curves(tmp_path / "one", tmp_path / "two")


@pytest.mark.parametrize(
    ("compute", "settings", "message"),
    [
        ({"devices": 3}, {}, r"^--batch-size must be a multiple of 3, devices times nodes times pieces, got 4; choose"),
        ({"nodes": 3}, {"accumulate": 2}, r"^--batch-size must be a multiple of 6, devices times nodes times pieces"),
    ],
)
def test_batches_that_cannot_be_shared_out(data, tmp_path, compute, settings, message):
    with pytest.raises(ValueError, match=message):
        train(
            data,
            tiny_model(),
            tiny_training(**settings),
            compute=ComputeConfig(**compute),
            out=tmp_path / "run",
            device="cpu",
        )
    assert not (tmp_path / "run").exists()
