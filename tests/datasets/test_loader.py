"""Clips for training: the same from memory and from disk, here and in workers."""

import pickle

import pytest
import torch
from small_worlds import SMALL, small
from torch.utils.data import DataLoader

from videopred.datasets.generation import generate
from videopred.datasets.loader import FilmDataset
from videopred.datasets.store import ClipFile

T, H, W = SMALL.values()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return generate(
        "sm-mnist", {"train": 11, "test": 2}, out=tmp_path_factory.mktemp("loader"), recipe=small("sm-mnist")
    )


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_items_are_the_clips_of_the_range(path, memory_limit):
    films = FilmDataset(path, "train", start=3, stop=9, memory_limit=memory_limit)
    frames = ClipFile(path).read_frames("train", 3, 9)
    assert len(films) == 6
    for item in range(6):
        assert films[item].dtype == torch.uint8
        assert films[item].shape == (T, H, W, 1)
        assert (films[item].numpy() == frames[item]).all()


def test_without_a_range_it_is_the_whole_part(path):
    assert len(FilmDataset(path, "train")) == 11
    assert len(FilmDataset(path, "train", start=4)) == 7


def test_memory_is_used_up_to_the_limit(path, monkeypatch):
    size = 11 * T * H * W
    reads = []
    read_frames = ClipFile.read_frames
    monkeypatch.setattr(ClipFile, "read_frames", lambda *args: reads.append(args) or read_frames(*args))
    held = FilmDataset(path, "train", memory_limit=size)
    held[0], held[10]
    assert len(reads) == 1
    reread = FilmDataset(path, "train", memory_limit=size - 1)
    reread[0], reread[10]
    assert len(reads) == 3


@pytest.mark.parametrize("item", [-1, 6])
def test_items_out_of_range_end_iteration(path, item):
    with pytest.raises(IndexError, match=rf"^clip must be between 0 and 5, got {item}$"):
        FilmDataset(path, "train", start=3, stop=9)[item]


def test_wrong_ranges_and_parts(path):
    with pytest.raises(ValueError, match="clips must be at least one, between 0 and 11"):
        FilmDataset(path, "train", stop=12)
    with pytest.raises(ValueError, match="must be one of train, test, got validation"):
        FilmDataset(path, "validation")


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_a_pickled_copy_gives_the_same(path, memory_limit):
    films = FilmDataset(path, "train", memory_limit=memory_limit)
    copy = pickle.loads(pickle.dumps(films))
    assert (copy[10] == films[10]).all()


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_forked_workers_give_the_same(path, memory_limit):
    films = FilmDataset(path, "train", memory_limit=memory_limit)
    here = torch.stack(list(films))
    batches = DataLoader(films, batch_size=4, num_workers=2, multiprocessing_context="fork")
    assert (torch.cat(list(batches)) == here).all()


@pytest.mark.slow
@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_spawned_workers_give_the_same(path, memory_limit):
    films = FilmDataset(path, "train", memory_limit=memory_limit)
    here = torch.stack(list(films))
    batches = DataLoader(films, batch_size=4, num_workers=2, multiprocessing_context="spawn")
    assert (torch.cat(list(batches)) == here).all()
