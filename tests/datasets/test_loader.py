"""Clips for training: the same from memory, disk and recipe, here and in workers; windows, stacks and truth."""

import pickle
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_proofs import slow
from small_worlds import SMALL, small
from told_clips import Told
from torch.utils.data import DataLoader, StackDataset

from videopred.datasets import open_dataset
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.crops import CropDataset
from videopred.datasets.generation import generate
from videopred.datasets.loader import FilmDataset
from videopred.datasets.recipe_clips import open_recipe
from videopred.datasets.stored_arrays import StoredArrays
from videopred.frames import to_film

T, H, W = SMALL.values()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return generate(
        "sm-mnist", {"train": 11, "test": 2}, out=tmp_path_factory.mktemp("loader"), recipe=small("sm-mnist")
    )


# --- whole clips -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_items_are_the_clips_of_the_range(path, memory_limit, monkeypatch):
    monkeypatch.setattr("videopred.datasets.loader._CLIPS_AT_ONCE", 4)
    films = FilmDataset(path, "train", start=3, stop=9, memory_limit=memory_limit)
    frames = ClipFile(path).read_frames("train", 3, 9)
    assert len(films) == 6
    for item in range(6):
        assert films[item].dtype == torch.uint8
        assert films[item].shape == (T, H, W, 1)
        assert (films[item].numpy() == frames[item]).all()


def test_large_clips_are_read_into_memory_one_by_one(path, monkeypatch):
    """Else reading would need twice the memory of what is kept, and more."""
    asked, read = [], ClipFile.read_frames
    monkeypatch.setattr(ClipFile, "read_frames", lambda *args: asked.append(args[2:]) or read(*args))
    monkeypatch.setattr("videopred.datasets.clip_source._BYTES_AT_ONCE", 2 * T * H * W - 1)
    assert FilmDataset(path, "train", stop=3).held
    assert asked == [(0, 1), (1, 2), (2, 3)]


def test_a_part_says_what_it_is(path):
    part = FilmDataset(path, "train")
    assert repr(part) == f"<FilmDataset: 11 items of train in {part.file!r}>"


def test_without_a_range_it_is_the_whole_part(path):
    assert len(FilmDataset(path, "train")) == 11
    assert len(FilmDataset(path, "train", start=4)) == 7


def test_clips_of_a_file_and_of_its_recipe_are_the_same(path):
    made = FilmDataset(open_recipe(small("sm-mnist"), {"train": 11}), "train", start=9)
    assert (torch.stack(list(made)) == torch.stack(list(FilmDataset(path, "train", start=9)))).all()


@pytest.mark.parametrize("memory_limit", [0, 10**9])
def test_what_is_done_to_an_item_changes_no_other(path, memory_limit):
    clips = FilmDataset(path, "train", memory_limit=memory_limit, window=3, truth=("groups", "objects/digit"))
    before = [{name: values.clone() for name, values in clips[item].items()} for item in (0, 1)]
    for values in clips[0].values():
        values.fill_(7)
    for item, expected in enumerate(before):
        assert all(torch.equal(values, expected[name]) for name, values in clips[item].items())


def test_memory_is_used_up_to_the_limit(path, monkeypatch):
    reads = []
    for name in ("read_frames", "read_window"):
        read = getattr(ClipFile, name)
        monkeypatch.setattr(ClipFile, name, lambda *args, read=read: reads.append(args) or read(*args))
    for truth, size in ((), 11 * T * H * W), (("groups", "events"), 11 * T * (2 * H * W + 1)):
        reads.clear()
        held = FilmDataset(path, "train", memory_limit=size, truth=truth)
        held[0], held[10]
        assert len(reads) == 1
        reread = FilmDataset(path, "train", memory_limit=size - 1, truth=truth)
        reread[0], reread[10]
        assert len(reads) == 3


@pytest.mark.parametrize("item", [-1, 6])
def test_items_out_of_range_end_iteration(path, item):
    with pytest.raises(IndexError, match=rf"^item must be between 0 and 5, got {item}$"):
        FilmDataset(path, "train", start=3, stop=9)[item]


@pytest.mark.parametrize("item", [slice(0, 3), 1.0, "a"])
def test_an_item_is_no_slice(path, item):
    message = f"item must be a whole number, got {item!r}; take several with torch.utils.data.Subset"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        FilmDataset(path, "train")[item]


def test_a_number_of_numpy_is_an_item(path):
    films = FilmDataset(path, "train")
    assert torch.equal(films[np.int64(2)], films[2])


def test_wrong_ranges_and_parts(path):
    with pytest.raises(ValueError, match="clips must be at least one, between 0 and 11"):
        FilmDataset(path, "train", stop=12)
    with pytest.raises(ValueError, match="must be one of train, test, got validation"):
        FilmDataset(path, "validation")


@pytest.mark.parametrize("kind", ["file", "shards", "recipe"])
def test_windows_are_frames_of_their_clips_from_every_source(tmp_path, kind):
    recipe, shards = small("sm-mnist"), 3 if kind == "shards" else 1
    clips = {"train": 5, "test": 3}
    if kind == "recipe":
        source: ClipSource = open_recipe(recipe, clips)
    else:
        source = open_dataset(generate("sm-mnist", clips, out=tmp_path / "of", recipe=recipe, shards=shards))
    for part, count in clips.items():
        whole = source.read_frames(part, 0, count)
        for clip, start, stop in ((0, 0, T), (count - 1, 2, 3), (1, 1, T)):
            window = source.read_window(part, clip, start, stop)
            assert window.dtype == np.uint8
            np.testing.assert_array_equal(window, whole[clip, start:stop])
    for start, stop in ((0, T + 1), (-1, 2), (3, 3)):
        message = f"frames must be at least one, between 0 and {T} (the frames of a clip in {source.path}), got {start}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)} to {stop}; ask for those that are there$"):
            source.read_window("train", 0, start, stop)
    with pytest.raises(ValueError, match=r"^clips must be at least one, between 0 and 5 \(the clips of train in"):
        source.read_window("train", 5, 0, 1)


def test_of_a_clip_on_disk_no_more_is_read_than_its_window_and_what_it_looks_back_at(path, monkeypatch):
    shapes, read = [], StoredArrays.read
    monkeypatch.setattr(StoredArrays, "read", lambda *args: shapes.append(read(*args).shape) or read(*args))
    films = FilmDataset(path, "train", memory_limit=0, window=3, stack=2)
    films[2], films[0]
    assert shapes == [(4, 1, H, W, 1), (3, 1, H, W, 1)]


# --- windows, stacks, films and truth ----------------------------------------------------------------------


@given(
    frames=st.integers(1, 9),
    window=st.integers(1, 9),
    stride=st.integers(1, 11),
    stack=st.integers(1, 6),
    memory_limit=st.sampled_from([0, 2**30]),
)
@settings(max_examples=60)
def test_windows_and_stacks_show_what_they_say(frames, window, stride, stack, memory_limit):
    window, stack = min(window, frames), min(stack, frames)
    options = {"window": window, "stride": stride, "stack": stack, "memory_limit": memory_limit}
    films = FilmDataset(Told(frames), "test", 1, 4, **options, truth=("positions", "series/bulb"))
    expected = [(clip, first) for clip in (1, 2, 3) for first in range(0, frames - window + 1, stride)]
    assert len(films) == len(expected)
    for item, (clip, first) in enumerate(expected):
        assert films.address(item) == (clip, first)
        times = np.arange(first, first + window)
        got = films[item]
        assert list(got) == ["frames", "positions", "series/bulb"]
        assert (got["positions"].numpy() == (20 * clip + times)[:, None, None]).all()
        assert (got["series/bulb"] == got["positions"]).all()
        assert got["frames"].shape == (window, 2, 3, 3 * stack)
        for back in range(stack):  # the oldest first, each with its three channels together
            shown = got["frames"][..., 3 * (stack - 1 - back) :][..., :3]
            seen = 20 * clip + np.maximum(times - back, 0)
            assert (shown.numpy() == seen[:, None, None, None] + [0, 80, 160]).all()


def test_what_has_no_time_axis_comes_whole(path):
    films = FilmDataset(path, "train", window=3, truth=("objects/digit", "positions"))
    file = ClipFile(path)
    got = films[films.windows_per_clip + 2]  # clip 1, frames 2 to 4
    assert (got["objects/digit"].numpy() == file.read("train", "objects/digit", 1, 2)[0]).all()
    np.testing.assert_array_equal(got["positions"], file.read("train", "positions", 1, 2)[0, 2:5])


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_labels_of_clips_are_single_numbers(memory_limit):
    films = FilmDataset(Told(4), "test", truth=("labels/kind", "objects/mass"), memory_limit=memory_limit)
    batch = next(iter(DataLoader(films, batch_size=3)))
    assert batch["labels/kind"].tolist() == [0, 20, 40]
    assert batch["objects/mass"].shape == (3, 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_films_are_the_frames_converted(dtype):
    options = {"window": 5, "stride": 2, "stack": 3}
    films = FilmDataset(Told(8), "test", **options, dtype=dtype)
    frames = FilmDataset(Told(8), "test", **options)
    [batch] = DataLoader(films, batch_size=len(films))
    assert (batch.shape, batch.dtype) == ((10, 5, 9, 2, 3), dtype)
    assert (batch == to_film(torch.stack(list(frames)), dtype)).all()


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"window": 9}, ValueError, "window must be at most 8, the frames of a clip, got 9; choose a shorter one"),
        ({"window": 0}, ValueError, "window must be at least 1, got 0; give at least one frame"),
        ({"stride": 0}, ValueError, "stride must be at least 1, got 0; give at least one frame"),
        ({"stack": 0}, ValueError, "stack must be at least 1, got 0; 1 is the frame alone"),
        ({"stack": 9}, ValueError, "stack must be at most 8, the frames of a clip, got 9; choose a smaller one"),
        ({"stack": 2.0}, TypeError, "stack must be a whole number, got 2.0; 1 is the frame alone"),
        ({"truth": ["position"]}, ValueError, "bulb, got position; did you mean positions?"),
        ({"truth": "groups"}, TypeError, "truth must be names in a list or tuple, got 'groups'; write ('groups',)"),
        ({"truth": None}, TypeError, "truth must be names in a list or tuple, got None; give their names as text"),
        ({"memory_limit": None}, TypeError, "memory_limit must be a number of bytes, got None; 0 holds nothing in mem"),
        ({"start": 1.5}, TypeError, "clips must be whole numbers, got 1.5; count them from 0"),
        ({"stop": "5"}, TypeError, "clips must be whole numbers, got '5'; count them from 0"),
        (
            {"truth": ["labels/name"]},
            ValueError,
            "truth must be numbers of at most 64 bits, got labels/name, |S2; leave it",
        ),
        ({"dtype": torch.int16}, TypeError, "dtype must be torch.uint8 or floating, got torch.int16; choose torch.uin"),
    ],
)
def test_wrong_options_are_one_clear_line(options, error, complaint):
    with pytest.raises(error, match=re.escape(complaint)):
        FilmDataset(Told(8), "test", **options)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="numbers of the system are not longer")
def test_truth_that_torch_has_no_numbers_for_is_refused(monkeypatch):
    monkeypatch.setattr(Told, "read", lambda *what: np.zeros(3, np.longdouble))
    with pytest.raises(ValueError, match=r"truth must be numbers of at most 64 bits, got positions, float\d+; leave"):
        FilmDataset(Told(8), "test", truth=["positions"])


def test_small_numbers_of_numpys_do_not_wrap_around():
    films = FilmDataset(Told(250), "test", window=np.uint8(6), stride=np.int8(100), start=np.int8(1), stop=np.uint8(5))
    assert len(films) == 12
    assert films.address(np.uint8(11)) == FilmDataset(Told(250), "test", window=6, stride=100, start=1).address(11)
    assert FilmDataset(Told(600), "test", window=6, stride=100).address(np.uint8(5)) == (0, 500)


# --- copies and workers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_a_pickled_copy_gives_the_same(path, memory_limit):
    films = FilmDataset(path, "train", memory_limit=memory_limit)
    copy = pickle.loads(pickle.dumps(films))
    assert (copy[10] == films[10]).all()


@pytest.mark.parametrize("method", ["fork", *slow("spawn", "forkserver")])
def test_workers_give_the_same(path, method):
    """From memory, from a file, and from a recipe with crops; in the epoch that is set while they live."""
    made = open_recipe(small("sm-mnist"), {"train": 11})
    crops = CropDataset(FilmDataset(made, "train", memory_limit=0, dtype=torch.float32), crops=3, size=5)
    sets = StackDataset(
        held=FilmDataset(path, "train"),
        read=FilmDataset(path, "train", memory_limit=0, window=T, truth=("positions", "objects/digit")),
        crops=crops,
    )
    batches = DataLoader(sets, batch_size=4, num_workers=2, multiprocessing_context=method, persistent_workers=True)
    for epoch in range(2):
        crops.epoch = epoch
        for got, here in zip(batches, DataLoader(sets, batch_size=4), strict=True):
            assert (got["held"] == here["held"]).all()
            for name in ("read", "crops"):
                assert list(got[name]) == list(here[name])
                assert all(torch.equal(got[name][key], here[name][key]) for key in here[name])
            assert (got["held"] == got["read"]["frames"]).all()
