"""Killed by -9, with nobody left to save anything: slow proofs, in processes of their own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_runs import tiny_model, tiny_training
from training_runs import assert_same, everything_of

from videopred.training.run import train

KILLED = """
import os, signal, sys
import torch
from videopred import cli
from videopred.training.keeping import AtomicIO
from videopred.training.learner import Learner

torch.set_num_threads(1)
place, at = sys.argv.pop(1), int(sys.argv.pop(1))
step, save = Learner.training_step, AtomicIO.save_checkpoint

def killed_in_step(self, frames, batch):
    if self.global_step == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, frames, batch)

def killed_in_save(self, checkpoint, path, storage_options=None):
    if checkpoint["global_step"] == at and str(path).endswith("next.ckpt"):
        with open(path, "wb") as file:
            file.write(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, checkpoint, path, storage_options)

if place == "step":
    Learner.training_step = killed_in_step
if place == "save":
    AtomicIO.save_checkpoint = killed_in_save
cli.main(sys.argv[1:])
"""


def start(words: list[str], place: str = "nowhere", at: int = 0) -> int:
    """Run the command line, killed in a step or in a save; returns its exit status."""
    command = [sys.executable, "-c", KILLED, place, str(at), *words]
    return subprocess.run(command, env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}).returncode


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("kills", [[("step", 2)], [("step", 4), ("save", 6)]], ids=str)
def test_killed_and_resumed_is_never_killed(data: Path, tmp_path, kills, workers):
    """In a step before the first checkpoint, in one after it, and while a checkpoint is written."""
    settings = tiny_training(updates=8, validate_every=3, free_running=2)
    straight = train(data, tiny_model("rims"), settings, out=tmp_path / "straight", device="cpu")
    run = tmp_path / "run"
    core = ["--core", "rims", "--core.modules", "4", "--core.active", "2", "--core.units", "5", "--core.input-key", "7"]
    core += ["--core.comm-heads", "3", "--core.comm-key", "8", "--core.comm-value", "6"]
    core += ["--codec.channels", "2", "3", "--codec.embedding", "11"]
    learning = ["--updates", "8", "--batch-size", "4", "--validate-every", "3", "--free-running", "2"]
    how = ["--device", "cpu", "--workers", workers]
    words = ["train", str(data), *core, *learning, *how, "--out", str(run)]
    for place, at in kills:
        assert start(words, place, at) == -signal.SIGKILL
        words = ["train", "--resume", str(run), *how]
    assert start(words) == 0
    assert_same(everything_of(straight), everything_of(run))
