"""What is seen of a training: scalars, pictures, other loggers, the bar; and that being watched changes nothing."""

import io
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import imageio.v3 as iio
import lightning.pytorch.loggers
import pytest
import torch
from lightning.pytorch.loggers import Logger
from slow_proofs import slow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_runs import FRAMES, no_file_longer_than, tiny_model, tiny_training
from training_runs import Terminal, equal, weights

from videopred.check import FailedError
from videopred.settings import WatchConfig
from videopred.training.loggers import LOGGERS, Curves
from videopred.training.metrics_file import read_metrics
from videopred.training.progress_bar import ProgressBar
from videopred.training.run import resume, train

LEARNING = tiny_training(updates=4, validate_every=1)


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    """Four looks, with pictures at the second and the fourth."""
    out = tmp_path_factory.mktemp("runs") / "rims"
    return train(data, tiny_model("rims"), LEARNING, watch=WatchConfig(pictures_every=2), out=out, device="cpu")


def events(run: Path) -> EventAccumulator:
    (path,) = run.glob("tensorboard/events.out.tfevents.*")
    return EventAccumulator(str(path), size_guidance={"images": 0}).Reload()


def test_scalars_that_show_collapse_are_logged_at_each_look(run):
    rows = [row for row in read_metrics(run / "logs" / "metrics.csv") if "modules/dead" in row]
    assert [int(row["update"]) for row in rows] == [1, 2, 3, 4]
    for row in rows:
        assert 0 <= float(row["modules/usage_entropy"]) <= 1
        assert 0 < float(row["modules/null_attention"]) < 1
        assert float(row["modules/dead"]) in (0, 1, 2)
    curves = {"train_bce", "validation_bce", "learning_rate"}
    shown = {"modules/usage_entropy", "modules/dead", "modules/null_attention"}
    assert set(events(run).Tags()["scalars"]) == curves | shown


def test_a_disk_that_is_full_of_pictures_is_named(data, tmp_path, capfd):
    """The file is written by a thread of its own, whose failure is said once, and not by itself."""
    watch, hook = WatchConfig(pictures_every=1), threading.excepthook
    told = f"^{tmp_path}/run/tensorboard must be a folder that can be written, got File too large; free some space"
    with no_file_longer_than(200_000), pytest.raises(OSError, match=told):
        train(
            data,
            tiny_model(),
            tiny_training(updates=30, validate_every=1),
            watch=watch,
            out=tmp_path / "run",
            device="cpu",
        )
    assert capfd.readouterr().err == ""
    assert threading.excepthook is hook


def test_a_folder_of_curves_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "tensorboard").write_text("a file")
    with pytest.raises(
        OSError, match=f"^{tmp_path}/tensorboard/? must be a folder that can be written, got File exists"
    ):
        _ = Curves(tmp_path, name="tensorboard", version="").experiment


def test_pictures_are_of_the_same_clips_at_every_nth_look(run):
    told = events(run)
    assert set(told.Tags()["images"]) == {
        f"clip {clip}/{name}" for clip in (0, 1) for name in ("film", "strip", "modules")
    }
    films = told.Images("clip 0/film")
    assert [film.step for film in films] == [1, 3]
    one, other = (iio.imread(film.encoded_image_string, extension=".gif") for film in films)
    assert one.shape[1:] == (films[0].height, films[0].width, 3)
    assert len(one) > 2
    truth = slice(0, one.shape[2] // 3)
    assert (one[0, :, truth] == other[0, :, truth]).all(), "another clip"
    assert told.Images("clip 0/strip")[0].encoded_image_string.startswith(b"\x89PNG")


def test_no_pictures_on_request(data, tmp_path):
    run = train(data, tiny_model(), LEARNING, watch=WatchConfig(pictures_every=0), out=tmp_path / "run", device="cpu")
    assert events(run).Tags()["images"] == []


@pytest.mark.parametrize("core", ["gru", *slow("scoff", "brims")])
def test_other_cores_are_drawn_as_far_as_they_have_something_to_show(data, tmp_path, core):
    watch = WatchConfig(pictures_every=1)
    run = train(data, tiny_model(core), tiny_training(updates=1), watch=watch, out=tmp_path / "run", device="cpu")
    assert ("clip 0/modules" in events(run).Tags()["images"]) == (core != "gru")


@pytest.mark.parametrize("core", ["rims", *slow("scoff")])
def test_being_watched_changes_nothing(data, tmp_path, core):
    """Dropout and drawn schemata included."""
    learned = []
    for number, watch in enumerate((WatchConfig(pictures_every=0), WatchConfig(pictures_every=4, profile=True))):
        out = tmp_path / str(number)
        learned.append(weights(train(data, tiny_model(core), LEARNING, watch=watch, out=out, device="cpu")))
    assert equal(*learned)


# --- other loggers -----------------------------------------------------------------------------------------


class Recorded(Logger):
    """Stands for a logger of a service: keeps what it was made with and what it was told."""

    name, version = "service", 0
    made: ClassVar[list[dict[str, Any]]] = []
    settings: ClassVar[list[dict[str, Any]]] = []
    told: ClassVar[list[dict[str, float]]] = []
    ended: ClassVar[list[int]] = []

    def __init__(self, **arguments: Any):
        self.made.append(arguments)
        self.experiment = sys.modules["wandb"].run or SimpleNamespace(
            finish=lambda exit_code: self.ended.append(exit_code)
        )

    def log_hyperparams(self, params: dict[str, Any]) -> None:
        self.settings.append(params)

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.told.append(metrics)


@pytest.fixture
def recorded(monkeypatch) -> type[Recorded]:
    """In the place of Lightning's logger for wandb, of which no run is open."""
    for kept in (Recorded.made, Recorded.settings, Recorded.told, Recorded.ended):
        kept.clear()
    monkeypatch.setattr(lightning.pytorch.loggers, "WandbLogger", Recorded)
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=None))
    return Recorded


def test_a_logger_is_named_once():
    with pytest.raises(ValueError, match="--logger must name each once, got wandb twice"):
        WatchConfig(logger=("wandb", "mlflow", "wandb"))


def test_other_loggers_hear_settings_and_what_is_logged_and_end_with_the_training(data, tmp_path, recorded):
    watch = WatchConfig(logger=("wandb",))
    for seed in (0, 1):
        out, training = tmp_path / "mine" / f"seed-{seed}", LEARNING.model_copy(update={"seed": seed})
        train(data, tiny_model(), training, watch=watch, out=out, device="cpu")
    assert recorded.made == [
        {"project": "videopred", "name": f"mine/seed-{seed}", "save_dir": tmp_path / "mine" / f"seed-{seed}"}
        for seed in (0, 1)
    ]
    assert [(told["training"]["seed"], told["model"]["core"]["kind"]) for told in recorded.settings] == [
        (seed, tiny_model().core.kind) for seed in (0, 1)
    ]
    assert {"train_bce", "validation_bce"} <= {name for metrics in recorded.told for name in metrics}
    assert recorded.ended == [0, 0], "else the second would go on with the curve of the first"


def test_what_a_program_has_opened_at_a_service_stays_open(data, tmp_path, recorded):
    sys.modules["wandb"].run = SimpleNamespace(finish=lambda exit_code: pytest.fail("it was ended"))
    train(data, tiny_model(), LEARNING, watch=WatchConfig(logger=("wandb",)), out=tmp_path / "run", device="cpu")
    assert recorded.told


@pytest.mark.parametrize("fails", [(), ("log_metrics",)])
def test_what_a_service_says_at_its_end_is_one_line_and_hides_nothing(data, tmp_path, recorded, monkeypatch, fails):
    def fail(*_: Any, **__: Any) -> None:
        raise Missing("no network")

    monkeypatch.setattr(recorded, "experiment", SimpleNamespace(finish=fail), raising=False)
    monkeypatch.setattr(recorded, "__init__", lambda self, **arguments: None)
    for method in fails:
        monkeypatch.setattr(recorded, method, fail)
    must = "take what it is told" if fails else "end"
    with pytest.raises(FailedError, match=rf"^--logger must {must}, got wandb, which says: no network; what was saved"):
        train(data, tiny_model(), LEARNING, watch=WatchConfig(logger=("wandb",)), out=tmp_path / "run", device="cpu")


@pytest.mark.parametrize("method", ["log_metrics", "log_hyperparams"])
def test_a_logger_that_fails_later_is_one_clear_line_and_the_run_goes_on_without_it(
    data, tmp_path, recorded, monkeypatch, method
):
    def fail(*_: Any, **__: Any) -> None:
        raise Missing("no  network")

    run = tmp_path / "run"
    monkeypatch.setattr(recorded, method, fail)
    message = rf"^--logger must take .*, got wandb, which says: no network; .* --resume {run} --logger wandb`"
    with pytest.raises(FailedError, match=message):
        train(data, tiny_model(), LEARNING, watch=WatchConfig(logger=("wandb",)), out=run, device="cpu")
    assert recorded.ended == [1]
    resume(run, watch=WatchConfig(), device="cpu")
    assert equal(weights(run), weights(train(data, tiny_model(), LEARNING, out=tmp_path / "whole", device="cpu")))


@pytest.mark.parametrize("name", LOGGERS)
def test_a_missing_library_is_named_with_the_way_to_get_it(data, tmp_path, monkeypatch, name):
    kind, library = LOGGERS[name].kind, LOGGERS[name].library
    assert kind in lightning.pytorch.loggers.__all__
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    package = library.replace("_", "-")
    message = rf"^--logger must find {package} installed, got {name} \(.*\); `pip install {package}`, or leave --logger"
    with pytest.raises(ValueError, match=message):
        train(data, tiny_model(), LEARNING, watch=WatchConfig(logger=(name,)), out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


class Unwilling:
    """A logger that does not start."""

    def __init__(self, **arguments: Any):
        pass

    @property
    def experiment(self) -> None:
        raise Missing("no key;\n  set ONE")


class Missing(Exception):
    """An error of another library."""


def test_a_logger_that_does_not_start_is_one_clear_line_and_the_run_goes_on_when_it_does(
    data, tmp_path, recorded, monkeypatch
):
    monkeypatch.setattr(lightning.pytorch.loggers, "WandbLogger", Unwilling)
    run, watch = tmp_path / "run", WatchConfig(logger=("wandb",))
    message = (
        rf"^--logger must start, got wandb, which says: no key; set ONE; set what it asks for, and continue with "
        rf"`videopred train --resume {run} --logger wandb`$"
    )
    with pytest.raises(FailedError, match=message):
        train(data, tiny_model(), LEARNING, watch=watch, out=run, device="cpu")
    monkeypatch.setattr(lightning.pytorch.loggers, "WandbLogger", Recorded)
    resume(run, watch=watch, device="cpu")
    whole = train(data, tiny_model(), LEARNING, out=tmp_path / "whole", device="cpu")
    assert equal(weights(run), weights(whole))
    assert recorded.told


def test_an_unknown_logger():
    with pytest.raises(ValueError, match=r"^--logger must be .*'wandb', 'mlflow' or 'comet', got 'wandbb'; see --help"):
        WatchConfig(logger=("wandbb",))  # type: ignore[arg-type]


# --- the bar -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terminal", [Terminal(), io.StringIO()])
def test_the_bar_tells_losses_and_frames_per_second(monkeypatch, terminal):
    """Ten clips of FRAMES frames in each update of half a second; a look of a minute does not count."""
    monkeypatch.setattr(sys, "stderr", terminal)
    times = iter([0.0, 0.5, 60.5, 61.0])
    bar = ProgressBar(updates=2, frames=10 * FRAMES, clock=lambda: next(times))
    trainer: Any = SimpleNamespace(global_step=0, callback_metrics={})
    bar.on_train_start(trainer, None)
    trainer.global_step = 1
    bar.on_train_batch_end(trainer)
    bar.on_validation_end(trainer, None)
    trainer.global_step = 2
    trainer.callback_metrics = {"validation_bce": torch.tensor(123.456), "modules/dead": torch.tensor(3.0)}
    bar.on_train_batch_end(trainer)
    bar.on_train_end(trainer, None)
    shown = terminal.getvalue()
    assert bool(shown) == terminal.isatty()
    if not shown:
        return
    assert "2/2" in shown
    assert f", {20 * FRAMES} frames/s, validation 123.5]" in shown
    assert "dead" not in shown
