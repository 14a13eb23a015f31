"""The watchers by themselves, without a training: what they are told, what they draw and when, and no chance."""

import inspect
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning.pytorch.loggers
import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_data, tiny_model, tiny_training
from training_runs import Terminal, learner
from user_styles import in_style

from videopred.datasets.clip_file import ClipFile
from videopred.models import CORES, build
from videopred.settings import WatchConfig
from videopred.training import watched_clips
from videopred.training.clips import TrainingClips
from videopred.training.loggers import LOGGERS
from videopred.training.profiling import Profile
from videopred.training.progress_bar import ProgressBar
from videopred.training.watched_clips import WatchClips
from videopred.training.watching import watchers

CONTEXT = 4


@pytest.fixture(scope="module")
def frames(data) -> np.ndarray:
    return ClipFile(data).read_frames("validation", 0, 3)


# --- who watches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("progress", [False, True])
@pytest.mark.parametrize("profile", [False, True])
def test_who_watches_and_how_much_passes(data, tmp_path, progress, profile):
    """A bar counts the frames of a piece of a batch, a profile those of an update."""
    training = tiny_training(updates=5, accumulate=2)
    clips, watch = TrainingClips(ClipFile(data), training), WatchConfig(profile=profile, pictures_every=7)
    clips_watched, *others = watchers(watch, tmp_path, clips, training, progress)
    assert isinstance(clips_watched, WatchClips)
    assert clips_watched.every == 7
    assert [type(one) for one in others] == [ProgressBar] * progress + [Profile] * profile
    for one in others:
        if isinstance(one, ProgressBar):
            assert (one.updates, one.frames) == (5, 2 * FRAMES)
        if isinstance(one, Profile):
            assert (one.path, one.frames, one.pieces) == (tmp_path / "profile.json", 4 * FRAMES, 2)


def test_the_first_16_validation_clips_are_watched(tmp_path):
    file, training = ClipFile(tiny_data(tmp_path / "many", {"train": 4, "validation": 19})), tiny_training()
    clips_watched, *_ = watchers(WatchConfig(), tmp_path, TrainingClips(file, training), training, progress=False)
    assert isinstance(clips_watched, WatchClips)
    np.testing.assert_array_equal(clips_watched.frames, file.read_frames("validation", 0, 16))


@pytest.mark.parametrize("name", LOGGERS)
def test_loggers_take_what_they_are_given(tmp_path, monkeypatch, name):
    """Comet's passes what it does not know on to Comet's own settings. MLflow's is sent where MLflow's own settings
    say, not where Lightning would send it: to files, which MLflow refuses by now."""
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(get_tracking_uri=lambda: "sqlite:///their.db"))
    given = LOGGERS[name].arguments(tmp_path / "mine")
    inspect.signature(getattr(lightning.pytorch.loggers, LOGGERS[name].kind)).bind(**given)
    assert {"videopred", "mine"} <= set(given.values())
    assert given.get("tracking_uri") == ("sqlite:///their.db" if name == "mlflow" else None)


# --- clips that are looked at closely ----------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch) -> list[tuple[str, int]]:
    """Names of pictures and the updates that they are of, in place of TensorBoard."""
    found: list[tuple[str, int]] = []
    monkeypatch.setattr(
        watched_clips, "show", lambda logger, tag, height, width, content, step: found.append((tag, step))
    )
    return found


def look(
    watch: WatchClips, model: Any, folder: Path, updates: int, first: bool = True, told: Any = lambda numbers: None
) -> None:
    model.log_dict = told
    logger = TensorBoardLogger(folder)
    trainer: Any = SimpleNamespace(loggers=[logger], is_global_zero=first, global_step=updates)
    watch.on_validation_epoch_end(trainer, model)


def test_a_resumed_run_draws_at_the_looks_of_one_that_never_stopped(frames, tmp_path, drawn):
    """Each third, of which the first look after the stop is the fourth."""
    model, watch = learner(), WatchClips(frames[:, : CONTEXT + 3], CONTEXT, 3)
    for number in range(1, 8):
        look(watch, model, tmp_path, 10 * number)
        if number == 4:
            kept = json.dumps(watch.state_dict())
            watch = WatchClips(frames[:, : CONTEXT + 3], CONTEXT, 3)
            watch.load_state_dict(json.loads(kept))
    assert sorted({step for _, step in drawn}) == [29, 59]


@pytest.mark.parametrize(("clips", "first", "shown"), [(3, True, {0, 1}), (1, True, {0}), (3, False, set())])
def test_pictures_are_of_two_clips_or_as_many_as_there_are(frames, tmp_path, drawn, clips, first, shown):
    """Only the first of several processes draws; a look before any update is as of step 0."""
    look(WatchClips(frames[:clips], CONTEXT, 1), learner("rims"), tmp_path, 0, first)
    assert {tag for tag, _ in drawn} == {
        f"clip {clip}/{name}" for clip in shown for name in ("film", "strip", "modules")
    }
    assert {step for _, step in drawn} <= {0}


def test_what_modules_do_has_a_line_where_the_rollout_begins(frames, tmp_path, drawn, monkeypatch):
    contexts, plain = [], watched_clips.activity_figure
    monkeypatch.setattr(watched_clips, "activity_figure", lambda *told: contexts.append(told[1]) or plain(*told))
    look(WatchClips(frames[:1], CONTEXT, 1), learner("rims"), tmp_path, 0)
    assert contexts == [CONTEXT]


def test_what_a_user_has_set_for_figures_ends_no_training(frames, tmp_path, drawn):
    in_style(lambda: look(WatchClips(frames, CONTEXT, 1), learner("rims"), tmp_path, 0))
    assert len(drawn) == 6


def test_a_schema_that_nobody_uses_counts_as_dead(frames, tmp_path, monkeypatch):
    """There are two, and all files take the first."""
    model, told, plain = learner("scoff"), [], watched_clips.roll_out

    def all_the_first(*arguments: Any, **more: Any) -> Any:
        rollout = plain(*arguments, **more)
        return rollout._replace(trace=rollout.trace | {"schema": torch.zeros_like(rollout.trace["schema"])})

    monkeypatch.setattr(watched_clips, "roll_out", all_the_first)
    look(WatchClips(frames, CONTEXT, 0), model, tmp_path, 10, told=told.append)
    assert {name: value for name, value in told[0].items() if name.startswith("schemata/")} == {
        "schemata/usage_entropy": 0.0,
        "schemata/dead": 1.0,
        "schemata/usage_0": 1.0,
        "schemata/usage_1": 0.0,
    }


@pytest.mark.parametrize("core", CORES)
def test_nothing_is_drawn_for_it(frames, core):
    """The same rollout each time, and whoever draws next draws what he would have drawn."""
    drawing = {"frozen_schema": True} if core == "scoff" else {}
    watch, predictor = WatchClips(frames, CONTEXT, 0), build(tiny_model(core, **drawing), (1, HEIGHT, WIDTH)).train()
    rollouts = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        rollout, truth = watch._roll_out(predictor)
        assert torch.equal(torch.get_rng_state(), before)
        rollouts.append(rollout)
    assert torch.equal(rollouts[0].prediction, rollouts[1].prediction)
    film = torch.from_numpy(frames).permute(0, 1, 4, 2, 3) / 255
    torch.testing.assert_close(rollouts[0].context, film[:, :CONTEXT])
    torch.testing.assert_close(truth, film[:, CONTEXT:])


def test_a_compiled_model_is_not_compiled_for_these_few_films(frames, monkeypatch):
    compiled: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(1)
        return graph.forward

    twice = torch.compile(lambda film: film * 2, backend=backend)
    monkeypatch.setattr(watched_clips, "roll_out", lambda predictor, given, *others, **more: twice(given))
    doubled, _ = WatchClips(frames, CONTEXT, 0)._roll_out(learner().predictor)
    assert doubled.shape[1] == CONTEXT
    assert compiled == []


# --- the bar -----------------------------------------------------------------------------------------------------


def test_the_bar_of_a_resumed_run_counts_updates_and_not_their_pieces(monkeypatch):
    """From update 3 on, in two pieces each; a slow piece among even ones moves the pace by a tenth."""
    terminal, times = Terminal(), iter([0.0, 1.0, 2.0, 3.0, 14.0])
    monkeypatch.setattr(sys, "stderr", terminal)
    bar, trainer = ProgressBar(5, 10, lambda: next(times)), SimpleNamespace(global_step=3, callback_metrics={})
    bar.on_train_start(trainer, None)  # type: ignore[arg-type]
    for trainer.global_step in (3, 4, 4, 5):
        bar.on_train_batch_end(trainer)  # type: ignore[arg-type]
    assert (bar.bar.n, bar.bar.initial, bar.bar.total) == (5, 3, 5)
    assert bar.pace == pytest.approx(2.0)
    bar.on_exception(trainer, None, None)
    assert bar.bar.disable  # as tqdm marks bars that are closed
    assert "5/5" in terminal.getvalue()


def test_a_clock_too_coarse_for_the_bar(monkeypatch):
    terminal, trainer = Terminal(), SimpleNamespace(global_step=0, callback_metrics={})
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = ProgressBar(1, 10, lambda: 7.0)
    bar.on_train_start(trainer, None)  # type: ignore[arg-type]
    trainer.global_step = 1
    bar.on_train_batch_end(trainer)  # type: ignore[arg-type]
    bar.on_train_end(trainer, None)
    assert "1/1" in terminal.getvalue()


def test_a_bar_that_is_not_shown_asks_for_no_losses(monkeypatch):
    """They are on the device, which would have to be waited for."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar, trainer = ProgressBar(1, 10), SimpleNamespace(global_step=0)  # without losses
    bar.on_train_start(trainer, None)  # type: ignore[arg-type]
    trainer.global_step = 1
    bar.on_train_batch_end(trainer)  # type: ignore[arg-type]
    bar.on_train_end(trainer)  # type: ignore[arg-type]


def test_a_failure_before_the_bar_began_is_not_hidden_by_it():
    ProgressBar(5, 10).on_exception(None, None, None)
