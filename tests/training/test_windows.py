"""Windows of clips: which frames an update learns from, and that nothing else of a long clip is in its way."""

from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_runs import CLIPS, FRAMES, HEIGHT, RECIPE, WIDTH, tiny_model, tiny_training
from training_runs import UNDRAWN, assert_same, everything_of, learner, load

from videopred.datasets.clip_file import ClipFile
from videopred.datasets.generation import generate
from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.datasets.settings import BallsConfig
from videopred.settings import ComputeConfig
from videopred.training import forecast as forecasting
from videopred.training.batches import Batches, MadeBatches, Shares, ShuffledBatches, starts_of
from videopred.training.chance import ORDER, source_of
from videopred.training.clips import TrainingClips, open_clips
from videopred.training.run import foresee, train
from videopred.training.watched_clips import WatchClips

WINDOW = 6


def batches_of(data: Any, hold: str = "memory", workers: int = 0, rank: int = 0, world: int = 1, **training: Any):
    """The first batches that a run learns from."""
    config, compute = learner(window=WINDOW, **training).config, ComputeConfig(hold=hold, workers=workers)
    config = config.model_copy(update={"compute": compute})
    clips = TrainingClips(open_clips(data, config.training), config.training, compute)
    batches = Batches(clips, config, torch.device("cpu"))
    batches.trainer = SimpleNamespace(global_step=0, world_size=world, global_rank=rank)  # type: ignore[assignment]
    return list(islice(batches.train_dataloader(), 5))


def places_of(batch: torch.Tensor, clips: np.ndarray) -> list[tuple[int, int]]:
    """The clip and the first frame of each window of a batch, by looking for it in all clips."""
    places = []
    for window in batch.numpy():
        found = [
            (clip, start)
            for clip in range(len(clips))
            for start in range(clips.shape[1] - len(window) + 1)
            if (clips[clip, start:][: len(window)] == window).all()
        ]
        [place] = found
        places.append(place)
    return places


def test_an_update_sees_one_window_of_each_of_its_clips(data):
    """Three updates pass the twelve clips once, and what they see of a clip the next time begins elsewhere."""
    clips = ClipFile(data).read_frames("train", 0, CLIPS["train"])
    seen = [places_of(batch, clips) for batch in batches_of(data)]
    assert sorted(clip for places in seen[:3] for clip, _ in places) == list(range(12))
    first, again = (dict(place for places in some for place in places) for some in (seen[:3], seen[3:]))
    assert any(first[clip] != again[clip] for clip in again)
    assert len({start for places in seen for _, start in places}) == FRAMES - WINDOW + 1


@pytest.mark.parametrize("how", [{"hold": "disk"}, {"hold": "device"}, {"workers": 2}, {"hold": "disk", "workers": 2}])
def test_windows_are_the_same_wherever_clips_wait_and_whoever_reads_them(data, how):
    for batch, usual in zip(batches_of(data, **how), batches_of(data), strict=True):
        assert torch.equal(batch, usual)


@pytest.mark.parametrize("hold", ["memory", "device"])
def test_pieces_and_processes_share_the_windows_of_a_batch_out(data, hold):
    [whole, *_] = batches_of(data, hold)
    pieces = [piece for rank in (0, 1) for piece in batches_of(data, hold, rank=rank, world=2, accumulate=2)[:2]]
    assert torch.equal(torch.cat(pieces), whole)


@pytest.mark.parametrize("start", [1, 3, 7])
def test_a_batch_of_windows_depends_on_seed_and_number_alone(start):
    batches = list(islice(ShuffledBatches(11, 4, seed=5, windows=6), 12))
    assert list(islice(ShuffledBatches(11, 4, seed=5, start=start, windows=6), 12 - start)) == batches[start:]
    assert len({tuple(item % 6 for item in batch) for batch in batches}) > 8


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 99))
@settings(max_examples=30)
def test_the_clips_of_a_batch_are_the_same_with_windows(clips, windows, seed):
    size = max(1, clips // 3)
    plain, cut = (islice(ShuffledBatches(clips, size, seed, windows=count), 7) for count in (1, windows))
    assert [[item // windows for item in batch] for batch in cut] == list(plain)


def test_starts_are_even_and_drawn_apart():
    """χ² with a fixed seed is within three deviations of its mean: of starts, and of two of one update or place."""
    drawn = np.array([starts_of(7, batch, 26, 13) for batch in range(200)])  # (updates, clips)
    for values, cells in (
        (drawn, 13),
        (drawn[:, 0], 13),
        (drawn[:, 1:] * 13 + drawn[:, :-1], 169),
        (drawn[1:] * 13 + drawn[:-1], 169),
    ):
        seen = np.bincount(values.ravel(), minlength=cells)
        assert len(seen) == cells
        mean = values.size / cells
        assert abs(((seen - mean) ** 2 / mean).sum() - (cells - 1)) < 3 * np.sqrt(2 * (cells - 1))
    shuffling = np.random.default_rng(source_of(7, ORDER, 0)).integers(13, size=26)
    for other in (starts_of(8, 0, 26, 13), shuffling):
        assert not np.array_equal(drawn[0], other)


def test_windows_of_endless_clips_are_of_those_that_a_file_would_hold(tmp_path):
    recipe = tmp_path / "two.json"
    recipe.write_text(RECIPE.model_dump_json())
    training = tiny_training(updates=3, validation_clips=2, seed=6, window=WINDOW)
    made = MadeBatches(TrainingClips(open_clips(recipe, training), training), Shares(4, 1, 1, 0), training.seed)
    file = generate("balls4", {"train": 12, "validation": 2}, recipe=RECIPE, out=tmp_path / "file.h5", seed=6)
    clips, starts = ClipFile(file).read_frames("train", 0, 12), set()
    for number, seen in zip(range(3), batches_of(recipe, updates=3, validation_clips=2, seed=6), strict=False):
        assert torch.equal(made[number], seen)
        places = places_of(made[number], clips)
        assert [clip for clip, _ in places] == list(range(4 * number, 4 * number + 4))
        starts |= {start for _, start in places}
    assert len(starts) > 1
    shared = {"world": 2, "accumulate": 2, "validation_clips": 2, "seed": 6}
    pieces = [piece for rank in (0, 1) for piece in batches_of(recipe, rank=rank, **shared)[:2]]
    assert torch.equal(torch.cat(pieces), made[0])


def test_a_window_of_the_whole_clip_is_no_window(data, tmp_path):
    runs = [
        everything_of(train(data, tiny_model("rims"), tiny_training(window=window), out=tmp_path / name, device="cpu"))
        for name, window in (("whole", None), ("window", FRAMES))
    ]
    assert_same(*runs)


@pytest.mark.parametrize(("clips", "size"), [(3, 7), (2, 5), (1, 4), (4, 8)])
def test_few_clips_fill_a_batch_by_several_windows(clips, size):
    """A few long films: each as often as the others, but for what is left of a shuffle."""
    most = -(-size // clips)
    for batch in islice(ShuffledBatches(clips, size, seed=3, windows=50), 9):
        times = np.bincount(np.array(batch) // 50, minlength=clips)
        assert len(times) == clips
        assert times.sum() == size
        assert times.max() <= most
        assert len(set(batch)) > 1


def test_a_run_learns_from_more_windows_at_once_than_there_are_clips(data, tmp_path, monkeypatch):
    training = tiny_training(batch_size=32, accumulate=2, window=4)
    run = train(data, tiny_model(), training, watch=UNDRAWN, out=tmp_path / "run", device="cpu")
    assert load(run / "checkpoints" / "last.ckpt")["global_step"] == 2
    monkeypatch.setattr(forecasting, "_timed", lambda work, device: (0.75, work()))
    told = foresee(data, tiny_model(), training, compute=ComputeConfig(hold="disk"), device="cpu")
    # To read 12 windows took three quarters of a second; an update reads 32.
    assert told.seconds_per_update == told.seconds_per_epoch == 2 * 0.75 + 32 * 0.75 / 12


# --- looks at validation clips -------------------------------------------------------------------------------


def test_looks_take_windows_side_by_side(data, tmp_path):
    """Of nine frames two windows of four; the loss is the mean over all of them."""
    training = tiny_training(updates=1, learning_rate=1e-30, window=4, free_running=1)
    clips = TrainingClips(ClipFile(data), training)
    frames = torch.from_numpy(ClipFile(data).read_frames("validation", 0, 3))
    expected = torch.stack([frames[clip, start : start + 4] for clip in range(3) for start in (0, 4)])
    assert torch.equal(torch.stack(list(clips.validate)), expected)
    run = train(data, tiny_model(), training, out=tmp_path / "run", device="cpu")
    ours = learner(**training.model_dump())
    ours.load_state_dict(load(run / "checkpoints" / "last.ckpt")["state_dict"])
    with torch.no_grad():
        loss = ours.losses_of(expected).mean() * HEIGHT * WIDTH
    seen = load(run / "checkpoints" / "last.ckpt")["videopred_looks"]["latest"]
    assert seen == pytest.approx(loss.item(), rel=1e-5)


def test_clips_are_watched_from_their_beginnings_however_short_the_window(data, tmp_path, monkeypatch):
    """As `evaluate` judges them."""
    watched: list[Any] = []
    plain = WatchClips._roll_out
    monkeypatch.setattr(WatchClips, "_roll_out", lambda self, model: watched.append(self) or plain(self, model))
    train(data, tiny_model(), tiny_training(updates=1, window=3), out=tmp_path / "run", device="cpu")
    frames = torch.from_numpy(ClipFile(data).read_frames("validation", 0, 3))
    assert torch.equal(watched[0].frames, frames)
    clips = TrainingClips(ClipFile(data), tiny_training(window=3))
    np.testing.assert_array_equal(clips.beginnings(2, 5), frames[:2, :5])
    aside = TrainingClips(ClipFile(data), tiny_training(window=3))
    aside.validate.part, aside.validate.start, aside.validate.stop = "train", 10, 12
    np.testing.assert_array_equal(aside.beginnings(5, 4), ClipFile(data).read_frames("train", 10, 12)[:, :4])


# --- what an update takes ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_and_short(tmp_path_factory):
    """Files of equal clips but for their length."""
    recipes = [BallsConfig(frames=frames, height=HEIGHT, width=WIDTH, balls=(2,)) for frames in (11, 60)]
    counts = {"train": 5, "validation": 2}
    folder = tmp_path_factory.mktemp("lengths")
    return [generate("balls4", counts, recipe=one, out=folder / f"{one.frames}.h5") for one in recipes]


def test_what_an_update_takes_does_not_grow_with_the_clips(long_and_short, monkeypatch):
    """Bytes of a batch, and all memory that is foreseen, where clips stay on disk."""
    monkeypatch.setattr(forecasting, "_timed", lambda work, device: (0.5, work()))
    for data in long_and_short:
        for batch in batches_of(data, "disk"):
            assert batch.shape == (4, WINDOW, HEIGHT, WIDTH, 1)
    training, disk = tiny_training(window=WINDOW), ComputeConfig(hold="disk")
    short, long = (foresee(data, tiny_model(), training, compute=disk, device="cpu") for data in long_and_short)
    assert short.memory == long.memory
    whole = [foresee(data, tiny_model(), tiny_training(), compute=disk, device="cpu") for data in long_and_short]
    assert short.memory < whole[0].memory < whole[1].memory / 2
    # Half a second an update, as much to read its clips, and a look at 2 windows of the short or 20 of the long clips.
    looks = [told.seconds - told.updates * 1.0 for told in (short, long)]
    assert looks == pytest.approx([training.updates * 0.5 * count / 4 for count in (2, 20)])


def test_clips_that_stay_on_disk_take_the_time_to_read_them_unless_others_read(data, monkeypatch):
    """Three seconds to read a piece of a batch, half a second to learn from it."""

    def timed(work: Any, device: Any) -> tuple[float, Any]:
        done = work()
        return (3.0 if isinstance(done, np.ndarray) else 0.5), done

    def seconds_of(clips: Any, accumulate: int = 1, **where: Any) -> float:
        training, compute = tiny_training(accumulate=accumulate), ComputeConfig(**where)
        return foresee(clips, tiny_model(), training, compute=compute, device="cpu").seconds_per_update

    monkeypatch.setattr(forecasting, "_timed", timed)
    assert seconds_of(data) == seconds_of(data, hold="device") == seconds_of(data, workers=2) == 0.5
    assert seconds_of(data, hold="disk") == 3.5
    assert seconds_of(data, accumulate=2, hold="disk") == 7.0
    assert seconds_of(data, hold="disk", workers=2) == 1.5
    assert seconds_of(data, hold="disk", workers=9) == 0.5
    to_be_written = open_recipe(RECIPE, CLIPS)
    assert seconds_of(to_be_written, hold="disk") == 0.5


def test_of_files_windows_are_read_and_clips_of_recipes_are_made_at_once(long_and_short, monkeypatch):
    whole = ClipFile(long_and_short[1]).read_frames("train", 0, 5)
    read: list[tuple[type, Any]] = []
    for kind in (ClipFile, RecipeClips):

        def watched(self: Any, *clips: Any, plain: Any = kind.read_frames) -> np.ndarray:
            read.append((type(self), clips))
            return plain(self, *clips)

        monkeypatch.setattr(kind, "read_frames", watched)
    training = tiny_training(window=WINDOW)
    clips = TrainingClips(ClipFile(long_and_short[1]), training, ComputeConfig(hold="disk"))
    windows = clips.read_windows(1, np.array([54, 0, 17]))
    np.testing.assert_array_equal(windows, np.stack([whole[1, 54:60], whole[2, :6], whole[3, 17:23]]))
    assert read == []
    TrainingClips(open_recipe(RECIPE, CLIPS), training, ComputeConfig(hold="disk")).read_windows(2, np.array([1, 0, 2]))
    assert read == [(RecipeClips, ("train", 2, 5))]
