"""Judging shared out among processes: as torchrun starts them, the same numbers to the bit, every clip once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred.judging.sharing import sharing
from videopred.training.run import train

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node")


@pytest.mark.slow
def test_two_processes_give_what_one_gives(tmp_path):
    """Seven clips in batches of two: the last batch is short, and each process has two batches."""
    data = tiny_data(tmp_path, {"train": 5, "validation": 1, "test": 7})
    run = train(data, tiny_model("rims"), tiny_training(), out=tmp_path / "run", device="cpu")
    words = f"evaluate {run} {data} --context 3 --horizon 4 --batch-size 2 --device cpu --feedback sample --samples 3"
    asked = [*words.split(), "--metrics", "mse", "f1", "psnr", "position", "kept", "fg-ari"]
    for processes in (1, 2):
        told = subprocess.run(
            [*TORCHRUN, str(processes), "-m", "videopred", *asked, "--out", str(tmp_path / str(processes))],
            env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        assert told.stdout.count("wrote ") == 3  # one process prints and writes
    one, two = (measured(tmp_path / name) for name in ("1", "2"))
    assert set(one) == set(two)
    for name, values in one.items():
        assert len(values) == 7
        np.testing.assert_array_equal(values, two[name], err_msg=name)
    first, second = (json.loads((tmp_path / name / "scores.json").read_text()) for name in ("1", "2"))
    assert first == second
    assert len(np.unique(one["model/mse mean of 3/mse"].sum(1))) == 7  # no clip stands for another


MET = """
import signal
from pathlib import Path

import torch
from torch import distributed
from videopred.judging.sharing import sharing
from videopred.processes import my_place

distributed.init_process_group("cuda:gloo")  # as NCCL, for tensors on GPUs alone
place, processes = my_place()
with sharing() as share:
    total, all_places = share.total(torch.tensor([place + 1.0])), share.gather([place])
    assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL  # a handler of Python's would not be called while it waits
assert distributed.is_initialized()
Path(f"{place}.txt").write_text(f"{processes} {share.rank == place} {total.item()} {all_places}")
distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_processes_that_met_for_a_training_on_gpus_speak_through_the_cpu(tmp_path):
    (tmp_path / "met.py").write_text(MET)
    told = subprocess.run(
        [*TORCHRUN, "2", str(tmp_path / "met.py")], env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert [(tmp_path / f"{place}.txt").read_text() for place in range(2)] == 2 * ["2 True 3.0 [0, 1]"]


@pytest.mark.parametrize(
    ("told", "missing"),
    [
        ({}, "MASTER_ADDR"),
        ({"MASTER_PORT": "4567"}, "MASTER_ADDR"),
        ({"MASTER_ADDR": "first"}, "MASTER_PORT"),
    ],
)
def test_processes_that_are_not_told_where_to_meet_are_refused(monkeypatch, told, missing):
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"WORLD_SIZE": "4", "RANK": "0", **told}.items():
        monkeypatch.setenv(name, value)
    message = (
        f"^{missing} must say where the processes meet, got nothing; unset WORLD_SIZE to work alone, or start with "
        "torchrun, or set it$"
    )
    with pytest.raises(ValueError, match=message), sharing():
        pass


def measured(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "measurements.npz") as arrays:
        return dict(arrays)
