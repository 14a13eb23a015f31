"""Clips that are made as a run goes, and where those of a file wait: neither changes what is learned."""

import json
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest
import torch
from tiny_runs import RECIPE, tiny_model, tiny_training
from training_runs import UNDRAWN, equal, weights

from videopred.check import FaultyFileError
from videopred.datasets.clip_file import ClipFile
from videopred.datasets.generation import generate
from videopred.datasets.loader import FilmDataset
from videopred.experiments import holds_experiment
from videopred.settings import ComputeConfig
from videopred.training.batches import Batches, MadeBatches, Shares
from videopred.training.clips import TrainingClips, open_clips
from videopred.training.run import resume, train
from videopred.training.stopping import StopSigns

# --- made as it goes -----------------------------------------------------------------------------------------


@pytest.fixture
def recipe(tmp_path) -> Path:
    path = tmp_path / "two.json"
    path.write_text(RECIPE.model_dump_json())
    return path


def test_endless_clips_are_those_that_a_file_would_hold_each_seen_once(recipe, tmp_path):
    settings = tiny_training(updates=3, validation_clips=2, seed=6)
    clips = TrainingClips(open_clips(recipe, settings), settings)
    made = MadeBatches(clips, Shares(4, 1, 1, 0), settings.seed)
    seen = torch.cat([made[k] for k in range(3)])
    file = generate("balls4", {"train": 12, "validation": 2}, recipe=RECIPE, out=tmp_path / "file.h5", seed=6)
    assert torch.equal(seen, torch.from_numpy(ClipFile(file).read_frames("train", 0, 12)))
    assert len(clips.validate) == 2


@pytest.mark.parametrize("window", [None, 5])
def test_shares_of_endless_batches(recipe, window):
    settings = tiny_training(updates=3, accumulate=2, window=window)
    clips = TrainingClips(open_clips(recipe, settings), settings)
    whole, pieces = (MadeBatches(clips, Shares(4, count, 1, 0), settings.seed) for count in (1, 2))
    assert torch.equal(torch.cat([pieces[4], pieces[5]]), whole[2])


def test_training_on_a_recipe_with_workers_and_resumed(recipe, tmp_path, monkeypatch):
    settings = tiny_training(updates=3, validation_clips=2, accumulate=2, window=6)
    straight = train(recipe, tiny_model(), settings, out=tmp_path / "straight", device="cpu")
    two = ComputeConfig(workers=2)
    monkeypatch.setattr(StopSigns, "reason", lambda self, trainer: "stopped" if trainer.global_step == 1 else "")
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tiny_model(), settings, out=tmp_path / "run", compute=two, device="cpu")
    monkeypatch.undo()
    file = generate("balls4", {"train": 12, "validation": 2}, recipe=RECIPE, out=tmp_path / "file.h5", seed=5)
    with pytest.raises(ValueError, match=f"^DATA must hold the clips that the run has learned from, got {file}, "):
        resume(tmp_path / "run", data=file, device="cpu")
    assert equal(weights(resume(tmp_path / "run", device="cpu")), weights(straight))

    recipe.write_text(RECIPE.model_copy(update={"speed": 0.3}).model_dump_json())
    monkeypatch.setattr("videopred.training.run.is_finished", lambda run: False)
    with pytest.raises(ValueError, match=r"^DATA must hold the clips .*, got \S+/two\.json, whose fingerprint"):
        resume(tmp_path / "run", device="cpu")


def test_validation_clips_are_made_of_recipes_alone(data, tmp_path):
    with pytest.raises(ValueError, match=f"^--validation-clips must come with a preset or a .*, got 2 with {data}"):
        train(data, tiny_model(), tiny_training(validation_clips=2), out=tmp_path / "run", device="cpu")


def test_a_recipe_may_stand_in_a_card_or_a_description(recipe):
    kept = json.loads(recipe.read_text())
    recipe.write_text(json.dumps({"name": "two", "summary": "Two balls.", "recipe": kept, "seed": 3}))
    assert not holds_experiment(recipe)
    assert open_clips(recipe, tiny_training()).recipe == RECIPE


def test_a_recipe_of_windows_may_begin_with_its_mark(recipe):
    recipe.write_text(recipe.read_text(), encoding="utf-8-sig")
    assert open_clips(recipe, tiny_training()).recipe == RECIPE


def test_recipes_that_do_not_do(recipe, tmp_path):
    recipe.write_text('{"kind": "balls", "bals": 3}')
    with pytest.raises(
        FaultyFileError, match=r"^DATA must be a recipe or an experiment if it is JSON, got .*two\.json \("
    ) as caught:
        open_clips(recipe, tiny_training())
    assert "\n" not in str(caught.value)
    for content in (b'{"kind": ', b"\xff\xfe"):
        recipe.write_bytes(content)
        with pytest.raises(ValueError, match=r"^DATA must be a recipe .*two\.json \(settings must be JSON, got "):
            open_clips(recipe, tiny_training())
    recipe.write_text("[]")
    with pytest.raises(FaultyFileError, match=r"two\.json \(settings must be an object, got \[\];"):
        open_clips(recipe, tiny_training())
    recipe.write_text('{"kind": "balls", "balls": [2], "balls": [3]}')
    with pytest.raises(FaultyFileError, match=r"two\.json \('balls' twice in one object\); write one, as"):
        open_clips(recipe, tiny_training())
    with pytest.raises(ValueError, match=r"^DATA must be one whose clips have addresses, got clips from one stream"):
        open_clips("sm-mnist-svg", tiny_training())
    with pytest.raises(FileNotFoundError, match=r"^DATA must be an existing file, got"):
        open_clips(tmp_path / "gone.json", tiny_training())
    with pytest.raises(FileNotFoundError, match=r"a preset, got bals4 \(nothing there\); did you mean balls4\?"):
        open_clips("bals4", tiny_training())


# --- where they wait -----------------------------------------------------------------------------------------


def test_clips_that_are_made_when_needed_do_not_wait_on_the_device(recipe, tmp_path):
    with pytest.raises(ValueError, match=r"^--hold must be auto, memory or disk where DATA is a preset or a rec"):
        train(recipe, tiny_model(), tiny_training(), compute=ComputeConfig(hold="device"), out=tmp_path / "run")


def test_loaders_of_clips_that_are_not_loaded_are_refused_or_named(data, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"^--workers must be left out with --hold device, got 2; leave one"):
        ComputeConfig(hold="device", workers=2)
    monkeypatch.setattr(TrainingClips, "_belongs_on", lambda *anything: True)
    for workers in (0, 1):
        compute, out = ComputeConfig(workers=workers), tmp_path / str(workers)
        train(data, tiny_model(), tiny_training(updates=1), compute=compute, out=out, device="cpu")
        assert ("--workers only read validation clips" in (out / "log.txt").read_text()) == bool(workers)


@pytest.mark.parametrize(("processors", "told"), [(1, True), (2, False)])
def test_more_loaders_than_processors_are_told_in_one_line(data, tmp_path, monkeypatch, recwarn, processors, told):
    """torch warns of each loader, in half a dozen lines."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(processors)), raising=False)
    run, compute = tmp_path / "run", ComputeConfig(workers=2, hold="memory")
    train(data, tiny_model(), tiny_training(updates=1), compute=compute, out=run, device="cpu")
    log = (run / "log.txt").read_text()
    assert ("--workers 2 are more than the 1 logical CPU of this process" in log) == ("are more than" in log) == told
    assert not [warning for warning in recwarn if "DataLoader" in str(warning.message)]


class Broken(FilmDataset):
    """Of a name, as processes get it that do not begin as copies of this one."""

    def __getitem__(self, item: int) -> None:
        raise ValueError("a bug")


def test_what_a_loader_complains_of_is_told_in_one_line(data, tmp_path, monkeypatch):
    """Without all that torch says of where in its process that was. An error that is no complaint is told whole."""
    file, load = shutil.copy(data, tmp_path), Batches.train_dataloader

    def replaced(self: Batches) -> object:
        os.utime(file, (3, 3))
        return load(self)

    monkeypatch.setattr(Batches, "train_dataloader", replaced)
    compute = ComputeConfig(workers=1, hold="disk")
    message = rf"^DATA must be the file that was opened, got {file}, which has been replaced or changed since; put that"
    with pytest.raises(FaultyFileError, match=message) as caught:
        train(file, tiny_model(), tiny_training(), compute=compute, out=tmp_path / "run", device="cpu")
    assert "\n" not in str(caught.value)
    for process in multiprocessing.active_children():  # torch waits for five seconds where one does not end by itself
        process.join(60)
        assert process.exitcode == 0
    monkeypatch.undo()

    def breaking(self: Batches) -> object:
        loader = load(self)
        loader.dataset.__class__ = Broken
        return loader

    monkeypatch.setattr(Batches, "train_dataloader", breaking)
    with pytest.raises(
        ValueError, match=r"^Caught ValueError in DataLoader worker process 0\.\n(.*\n)*ValueError: a bug"
    ):
        train(file, tiny_model(), tiny_training(), compute=compute, out=tmp_path / "other", device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("window", [6, None])
def test_where_clips_wait_changes_nothing(data, tmp_path, window):
    settings = tiny_training(window=window)
    usual = train(data, tiny_model(), settings, watch=UNDRAWN, out=tmp_path / "usual", device="cpu")
    for hold in ("device", "memory", "disk"):
        compute = ComputeConfig(hold=hold)
        run = train(data, tiny_model(), settings, watch=UNDRAWN, compute=compute, out=tmp_path / hold, device="cpu")
        assert equal(weights(run), weights(usual)), hold
        clips = TrainingClips(ClipFile(data), settings, compute)
        assert clips.held_on_device == (hold == "device")
        assert (clips.learn._held is not None) == (hold == "memory")
