"""The clips of a run: which are read, which are kept aside, and their order."""

from itertools import islice
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from tiny_runs import CLIPS, FRAMES, tiny_data, tiny_model, tiny_training
from training_runs import UNDRAWN

from videopred.checkpoint import RunConfig
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.stored_arrays import StoredArrays
from videopred.settings import ComputeConfig
from videopred.training.batches import Batches, ShuffledBatches
from videopred.training.clips import TrainingClips
from videopred.training.run import train


def test_the_test_part_is_never_read(data, tmp_path, monkeypatch):
    """Neither by us nor by HDF5: its frames are damaged in the file that is trained on."""
    with h5py.File(data) as file:
        chunks = [file["test/features"].id.get_chunk_info(clip) for clip in range(CLIPS["test"])]
    content = bytearray(data.read_bytes())
    for chunk in chunks:
        content[chunk.byte_offset + chunk.size // 2] ^= 4
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(content)
    with pytest.raises(ValueError, match="undamaged"):
        ClipFile(damaged).read_frames("test", 0, 1)
    parts, read = set(), StoredArrays.read

    def watched(self: StoredArrays, part: str, *address: Any) -> np.ndarray:
        parts.add(part)
        return read(self, part, *address)

    monkeypatch.setattr(StoredArrays, "read", watched)
    train(damaged, tiny_model(), tiny_training(window=5), out=tmp_path / "run", device="cpu")
    assert parts == {"train", "validation"}


def frames_of(dataset: Any) -> np.ndarray:
    return np.stack([dataset[i].numpy() for i in range(len(dataset))])


def test_the_validation_part_is_used_where_there_is_one(data):
    clips = TrainingClips(ClipFile(data), tiny_training())
    learn, validate = clips.learn, clips.validate
    np.testing.assert_array_equal(frames_of(learn), ClipFile(data).read_frames("train", 0, 12))
    np.testing.assert_array_equal(frames_of(validate), ClipFile(data).read_frames("validation", 0, 3))


@pytest.mark.parametrize(("share", "aside"), [(None, 2), (0.25, 4), (0.01, 1), (0.6, 10)])
def test_without_one_the_last_clips_are_kept_aside(tmp_path, share, aside):
    path = tiny_data(tmp_path, {"train": 16, "test": 5})
    clips = TrainingClips(ClipFile(path), tiny_training(validation_share=share))
    learn, validate = clips.learn, clips.validate
    every = ClipFile(path).read_frames("train", 0, 16)
    np.testing.assert_array_equal(frames_of(learn), every[: 16 - aside])
    np.testing.assert_array_equal(frames_of(validate), every[16 - aside :])


@pytest.mark.parametrize(
    ("clips", "training", "message"),
    [
        (
            {"test": 5},
            {},
            "^DATA must hold a training part, got .* without one; generate some with `--clips train=1000`",
        ),
        (
            {"train": 6, "validation": 2},
            {"batch_size": 7},
            "^--batch-size must be at most 6, the clips left to learn fr",
        ),
        (
            {"train": 6},
            {"batch_size": 6},
            "^--batch-size must be at most 5, the clips left to learn from, got 6; lower",
        ),
        (
            {"train": 6},
            {"window": 10},
            "^--window must be at most 9, the frames of a clip, got 10; leave it out to",
        ),
        ({"train": 6}, {"batch_size": 6, "window": 9}, "^--batch-size must be at most 5, .* give a shorter --window$"),
        (
            {"train": 1},
            {"window": 5},
            "^DATA must hold more training clips than are kept aside .*, got 1 and 1; add .*, or cut long films .*`$",
        ),
        ({"train": 6}, {"free_running": 8}, "^--free-running must be at most 7, .* of 9 frames one is given .*, got 8"),
    ],
)
def test_data_that_does_not_do(tmp_path, clips, training, message):
    path = tiny_data(tmp_path, clips)
    with pytest.raises(ValueError, match=message):
        train(path, tiny_model(), tiny_training(**training), out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("window", "frames"), [(None, 9), (4, 4)])
def test_no_more_frames_are_stacked_than_are_read(tmp_path, window, frames):
    path = tiny_data(tmp_path, {"train": 6})
    message = f"^--stack must be at most {frames - 1}, as the last of {frames} frames .*, got {frames}; lower it$"
    too_many, most = (tiny_model().model_copy(update={"stack": stack}) for stack in (frames, frames - 1))
    with pytest.raises(ValueError, match=message):
        train(path, too_many, tiny_training(window=window), out=tmp_path / "run", device="cpu")
    train(path, most, tiny_training(window=window), out=tmp_path / "run", device="cpu")


def test_clips_of_one_frame_do_not_do():
    file: Any = SimpleNamespace(frames=1, parts={"train": 6})
    with pytest.raises(ValueError, match=r"^DATA must hold clips of two frames or more, got 1; there is nothing to"):
        TrainingClips(file, tiny_training())


def test_the_whole_length_may_be_free_running(data, tmp_path):
    most = tiny_training(free_running=FRAMES - 2)
    train(data, tiny_model("rims"), most, out=tmp_path / "run", device="cpu")


@pytest.mark.parametrize(("clips", "size"), [(12, 4), (11, 4), (7, 7), (5, 1)])
def test_a_shuffle_passes_each_clip_once(clips, size):
    per_shuffle = clips // size
    batches = list(islice(ShuffledBatches(clips, size, seed=0), 3 * per_shuffle))
    shuffles = np.array(batches).reshape(3, per_shuffle * size).tolist()
    for shuffle in shuffles:
        assert len(set(shuffle)) == per_shuffle * size
        assert set(shuffle) <= set(range(clips))
    assert shuffles[0] != shuffles[1]
    assert all(len(batch) == size for batch in batches)


def test_no_clip_is_always_left_out():
    seen = {clip for batch in islice(ShuffledBatches(11, 4, seed=0), 20) for clip in batch}
    assert seen == set(range(11))


@pytest.mark.parametrize("start", [1, 2, 3, 7])
def test_a_batch_depends_on_seed_and_number_alone(start):
    batches = list(islice(ShuffledBatches(11, 4, seed=5), 12))
    assert list(islice(ShuffledBatches(11, 4, seed=5, start=start), 12 - start)) == batches[start:]
    assert list(islice(ShuffledBatches(11, 4, seed=6), 12)) != batches


@pytest.mark.parametrize(("usual", "taken"), [("forkserver", "fork"), ("spawn", "spawn"), ("fork", "fork")])
def test_loader_processes_are_no_children_of_a_server(data, monkeypatch, usual, taken):
    """Which would keep them alive, and they it, when the training is killed."""
    monkeypatch.setattr("multiprocessing.get_start_method", lambda: usual)
    clips = TrainingClips(ClipFile(data), tiny_training())
    config = RunConfig(
        model=tiny_model(), film_shape=(1, 2, 3), training=tiny_training(), compute=ComputeConfig(workers=1)
    )
    batches = Batches(clips, config, torch.device("cpu"))
    batches.trainer = SimpleNamespace(world_size=1, global_rank=0)
    assert batches.val_dataloader().multiprocessing_context.get_start_method() == taken


def test_validation_takes_as_many_clips_at_once_as_training_does_in_a_piece(data):
    """More may not fit into the memory of a device."""
    training = tiny_training(batch_size=12, accumulate=2)
    config = RunConfig(model=tiny_model(), film_shape=(1, 2, 3), training=training)
    batches = Batches(TrainingClips(ClipFile(data), training), config, torch.device("cpu"))
    batches.trainer = SimpleNamespace(world_size=3, global_rank=1)
    assert batches.val_dataloader().batch_size == 12 / (2 * 3)


def test_parts_of_other_names_are_told(tmp_path, capsys):
    """As their clips are not looked at, and others are kept aside in their place."""
    path = tiny_data(tmp_path, {"train": 16, "validation": 3})
    with h5py.File(path, "a") as file:
        file.move("validation", "val")
    train(path, tiny_model(), tiny_training(updates=1), watch=UNDRAWN, out=tmp_path / "run", device="cpu")
    told = f"{path} has parts of other names, which are not read: the group val; call it validation"
    assert told in (tmp_path / "run" / "log.txt").read_text()
    with h5py.File(path, "a") as file:
        file.move("training", "train")
        file.move("val", "validation")
    told = "DATA must hold a training part, got .* without one, but with the group train; call it training; generate"
    with pytest.raises(ValueError, match=told):
        train(path, tiny_model(), tiny_training(updates=1), out=tmp_path / "other", device="cpu")
