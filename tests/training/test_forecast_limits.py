"""Trainings that the memory or the disk has no room for: refused by what they are known to take, before they begin."""

import re
import shutil
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_model, tiny_training
from training_runs import learner

from videopred.datasets import open_dataset
from videopred.training import forecast as forecasting
from videopred.training.clips import TrainingClips
from videopred.training.run import foresee, train


def test_a_disk_without_room_for_the_checkpoints_is_an_error_at_once(data, tmp_path, monkeypatch):
    training = tiny_training(updates=9, validate_every=20)
    free = foresee(data, tiny_model(), training, device="cpu").disk
    out = tmp_path / "new" / "run"
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(total=free, free=free - 1))
    message = (
        r"^--out must be on a disk with \d+ kB free, for checkpoints, "
        rf"got \d+ kB at {re.escape(str(tmp_path))}; free some space, or choose another --out$"
    )
    with pytest.raises(OSError, match=message):
        train(data, tiny_model(), training, out=out, device="cpu")
    assert not out.parent.exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(OSError, match=message):
        train(data, tiny_model(), training, out=tmp_path / "empty", device="cpu")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(total=0, free=0))  # not known
    train(data, tiny_model(), training, out=tmp_path / "elsewhere", device="cpu")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(total=free, free=free))
    train(data, tiny_model(), training, out=out, device="cpu")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(total=free, free=0))
    train(data, tiny_model(), training, out=out, device="cpu", overwrite=True)  # the old run makes room


@pytest.mark.parametrize("core", ["gru", "rims", "scoff"])
def test_what_many_clips_take_is_known_from_a_few(data, core):
    """To a thousandth."""
    clips = TrainingClips(open_dataset(data), tiny_training())
    trial, share, few = forecasting._Trial(learner(core), torch.device("cpu")), 131, 1 + 2 * 128 // FRAMES
    takes = trial.bytes_taken(torch.from_numpy(np.repeat(clips.read_windows(0, np.zeros(1, int)), share, 0)))
    assert forecasting._bytes_expected(trial, clips, share, few) == pytest.approx(takes, rel=1e-3)


def test_a_batch_that_memory_cannot_hold_is_refused_before_anything_is_made(data, tmp_path, monkeypatch):
    """One that takes up to twice as much is not: that is how well it is known."""
    training, model = tiny_training(batch_size=107, window=5), tiny_model()
    takes = foresee(data, model, training, device="cpu").memory
    monkeypatch.setattr(forecasting, "total_memory_bytes", lambda: takes // 3)
    message = "^--batch-size must leave an update room in the .*B of memory of this machine, got 107, with which it t"
    for ask in (foresee, partial(train, out=tmp_path / "run")):
        with pytest.raises(ValueError, match=message):
            ask(data, model, training, device="cpu")
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(forecasting, "total_memory_bytes", lambda: takes // 1.8)
    train(data, model, training, out=tmp_path / "run", device="cpu")


def test_memory_is_looked_at_only_where_the_frames_of_a_batch_take_a_hundredth_of_it(data, monkeypatch):
    training, frames = tiny_training(batch_size=107, window=5), 107 * 5 * 4 * HEIGHT * WIDTH
    monkeypatch.setattr(forecasting, "_bytes_expected", lambda *asked: 10**15)
    monkeypatch.setattr(forecasting, "total_memory_bytes", lambda: 100 * frames + 1)
    foresee(data, tiny_model(), training, device="cpu")
    monkeypatch.setattr(forecasting, "total_memory_bytes", lambda: 100 * frames)
    with pytest.raises(ValueError, match=r"^--batch-size must leave an update room in the"):
        foresee(data, tiny_model(), training, device="cpu")


def test_memory_is_not_looked_at_for_batches_as_small_as_what_is_tried_nor_on_other_devices(data, monkeypatch):
    """Two blocks of 128 frames fill 52 windows, of which twice as many are tried, too."""
    monkeypatch.setattr(forecasting, "_bytes_expected", lambda *asked: 10**15)
    monkeypatch.setattr(forecasting, "total_memory_bytes", lambda: 1)
    for batch, device in ((104, "cpu"), (10**6, "mps"), (105, "cpu")):
        model = learner(batch_size=batch, window=5)
        clips = TrainingClips(open_dataset(data), model.config.training)
        refused = batch == 105
        message = r"^--batch-size must leave an update room in the 1 byte of memory"
        with pytest.raises(ValueError, match=message) if refused else nullcontext():
            forecasting.check_memory(model, clips, torch.device(device))
