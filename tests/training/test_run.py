"""A run: what it leaves, what it depends on, and what stands in its way."""

import csv
import json
import shutil
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from slow_proofs import EACH_CORE
from tiny_runs import HEIGHT, WIDTH, files_of, tiny_model, tiny_training
from training_runs import equal, load, weights

from videopred.checkpoint import CONFIG_KEY, RunConfig, load_run
from videopred.datasets.clip_file import ClipFile
from videopred.frames import to_film
from videopred.models.codec_settings import RNEMConfig
from videopred.models.settings import PredictorConfig
from videopred.settings import ComputeConfig
from videopred.training.run import foresee, train


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    """Five updates; looks at the validation clips, two and one, after the second and the fourth; there is dropout."""
    training = tiny_training(updates=5, validate_every=2, learning_rate=0.01, batch_size=2)
    return train(data, tiny_model("rims"), training, out=tmp_path_factory.mktemp("runs") / "rims", device="cpu")


def test_a_run_folder_describes_itself(run, data):
    config = RunConfig.model_validate_json((run / "settings.json").read_text())
    assert config.model == tiny_model("rims")
    assert config.training == tiny_training(updates=5, validate_every=2, learning_rate=0.01, batch_size=2)
    assert config.film_shape == (1, HEIGHT, WIDTH)
    record = json.loads((run / "run.json").read_text())
    assert (record["state"], record["updates"], record["device"]) == ("finished", 5, "cpu")
    told = {"path": str(data), "name": "balls4", "sha256": ClipFile(data).fingerprint()}
    assert record["data"] == config.data.model_dump() == told
    assert {"started", "python", "machine", "host", "process", "commit", "versions"} < set(record)
    assert record["started"] <= record["finished"]
    assert 0 < record["seconds"] < 600
    assert 0 < record["cpu_seconds"] < 600


def test_checkpoints_load_safely_and_hold_all_settings(run):
    settings = RunConfig.model_validate_json((run / "settings.json").read_text())
    for name, update in (("best", None), ("last", 5)):
        content = load(run / "checkpoints" / f"{name}.ckpt")
        assert RunConfig.model_validate_json(content[CONFIG_KEY]) == settings
        assert update is None or content["global_step"] == update
    names = ["best.ckpt", "last.ckpt", "previous.ckpt"]
    assert [file.name for file in sorted((run / "checkpoints").iterdir())] == names


@pytest.mark.parametrize("switched_on", [True, False])
def test_gradients_are_as_the_caller_left_them(data, tmp_path, switched_on):
    with torch.set_grad_enabled(switched_on):
        foresee(data, tiny_model(), tiny_training(updates=1), device="cpu")
        assert torch.is_grad_enabled() == switched_on
        train(data, tiny_model(), tiny_training(updates=1), out=tmp_path / "run", device="cpu")
        assert torch.is_grad_enabled() == switched_on


def test_losses_are_logged(run):
    """The last update is looked at too, though it is no multiple of two."""
    (path,) = run.glob("logs/metrics.csv")
    rows = list(csv.DictReader(path.open()))
    updates = {name: [int(row["update"]) for row in rows if row[name]] for name in ("train_bce", "validation_bce")}
    assert updates == {"train_bce": [2, 4, 5], "validation_bce": [2, 4, 5]}
    assert len({row["train_bce"] for row in rows if row["train_bce"]}) == 3  # none is that of an update before
    assert list(run.glob("tensorboard/events.out.tfevents.*"))


def test_the_best_checkpoint_has_the_lowest_validation_loss_by_hand(run, data):
    """The loss in the log is that of the validation clips, per frame, at the update whose weights were kept."""
    (path,) = run.glob("logs/metrics.csv")
    logged = {
        int(row["update"]): float(row["validation_bce"]) for row in csv.DictReader(path.open()) if row["validation_bce"]
    }
    best = load(run / "checkpoints" / "best.ckpt")
    assert best["global_step"] == min(logged, key=logged.__getitem__)
    predictor, film = load_run(run), to_film(ClipFile(data).read_frames("validation", 0, 3))
    with torch.no_grad():
        said = torch.sigmoid(predictor(film[:, :-1]).logits).clamp(1e-7, 1 - 1e-7)
    truth = film[:, 1:]
    nats = -(truth * said.log() + (1 - truth) * (1 - said).log()).sum(dim=(2, 3, 4)).mean()
    assert nats.item() == pytest.approx(min(logged.values()), rel=1e-4)


def test_the_last_checkpoint_is_of_the_last_update(run, data, tmp_path):
    """Updates beyond the last look at the validation clips are in it."""
    fewer = tiny_training(updates=4, validate_every=2, learning_rate=0.01, batch_size=2)
    shorter = train(data, tiny_model("rims"), fewer, out=tmp_path / "run", device="cpu")
    assert not equal(weights(shorter), weights(run))


def test_scoring_more_often_changes_nothing(run, data, tmp_path):
    """Nor does how much is logged; the same run again is the same bit for bit."""
    often = tiny_training(updates=5, validate_every=1, learning_rate=0.01, batch_size=2)
    assert equal(weights(train(data, tiny_model("rims"), often, out=tmp_path / "run", device="cpu")), weights(run))


@pytest.mark.parametrize("core", EACH_CORE)
def test_a_run_depends_on_its_seed_alone(data, tmp_path, core):
    """Dropout included; whatever was drawn before does not count. That another seed counts is in test_flags."""
    runs = []
    for number in range(2):
        torch.manual_seed(number)
        np.random.seed(number)  # noqa: NPY002 -- the global generator is what must not count
        out = tmp_path / str(number)
        runs.append(weights(train(data, tiny_model(core), tiny_training(seed=3), out=out, device="cpu")))
    assert equal(*runs)


def test_loader_processes_change_nothing(data, tmp_path):
    runs = [
        train(
            data, tiny_model(), tiny_training(), compute=ComputeConfig(workers=n), out=tmp_path / str(n), device="cpu"
        )
        for n in (0, 2)
    ]
    assert equal(*map(weights, runs))


def test_a_run_is_replaced_only_on_request(data, run, tmp_path):
    settings = (run / "settings.json").read_bytes()
    with pytest.raises(
        FileExistsError, match=r"^--out must be a new path, got .*; choose another name, or give --overw"
    ):
        train(data, tiny_model("lstm"), tiny_training(), out=run, device="cpu")
    assert (run / "settings.json").read_bytes() == settings
    mine = tmp_path / "mine"
    train(data, tiny_model("lstm"), tiny_training(), out=mine, device="cpu")
    (mine / "profile.json").write_text("")
    train(data, tiny_model("gru"), tiny_training(), out=mine, device="cpu", overwrite=True)
    assert load_run(mine).config == tiny_model("gru")
    assert not (mine / "profile.json").exists()
    assert [path.name for path in mine.parent.iterdir()] == ["mine"]


def test_only_run_folders_are_replaced(data, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("")
    with pytest.raises(
        ValueError, match=r"^--out must be a run folder or new, got .*photos; choose another --out; only"
    ):
        train(data, tiny_model(), tiny_training(), out=tmp_path / "photos", device="cpu", overwrite=True)
    assert (tmp_path / "photos" / "cat.jpg").exists()


def test_a_wrong_request_leaves_the_old_run(data, run, tmp_path):
    before = files_of(run)
    deep = PredictorConfig(codec=RNEMConfig(channels=(2, 3, 4, 5)))
    with pytest.raises(ValueError, match=r"^frame height must be a multiple of 16 for 4 halvings, got 24; generate"):
        train(data, deep, tiny_training(), out=run, device="cpu", overwrite=True)
    with pytest.raises(ValueError, match=r"^--device must be one of auto, cpu, cuda, mps, got tpu; did you mean"):
        train(data, tiny_model(), tiny_training(), out=run, device="tpu", overwrite=True)
    with pytest.raises(TypeError, match=r"^limit must be a TimeLimit, of several trainings, got '2s'; for one"):
        train(data, tiny_model(), tiny_training(), out=run, limit="2s", overwrite=True)
    assert files_of(run) == before


def test_data_is_known_by_where_it_is_and_not_by_the_way_to_it(data, tmp_path, monkeypatch):
    """A link on it stays, as whoever has put it there may have it lead elsewhere."""
    (tmp_path / "away").mkdir()
    (tmp_path / "linked.h5").symlink_to(data)
    monkeypatch.chdir(tmp_path / "away")
    for typed, known in (("../linked.h5", tmp_path / "linked.h5"), (tmp_path / "linked.h5", tmp_path / "linked.h5")):
        run = train(typed, tiny_model(), tiny_training(updates=1), out="run", device="cpu", overwrite=True)
        assert json.loads((run / "settings.json").read_text())["data"]["path"] == str(known)


def test_the_usual_run_folder(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train(data, tiny_model(), tiny_training(updates=1), device="cpu") == Path("models/balls4-gru")


def test_progress_goes_to_stderr_and_only_on_request(data, tmp_path, capfd):
    for progress in (False, True):
        out = tmp_path / str(progress)
        train(data, tiny_model(), tiny_training(updates=3), out=out, device="cpu", progress=progress)
        printed = capfd.readouterr()
        assert printed.out == ""
        assert ("validation_bce" in printed.err) == progress
        assert "3/3" not in printed.err  # the bar is for terminals
    assert not printed.err.count("it/s")


def test_lightning_is_quiet(data, tmp_path, capfd, caplog, monkeypatch):
    """Also on machines of a cluster, where it would have everything begun by srun."""
    (tmp_path / "srun").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    caplog.set_level("INFO")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    assert [record.name for record in caplog.records if record.name.startswith("lightning")] == []
    assert capfd.readouterr() == ("", "")
    assert [str(warning.message) for warning in caught] == []


def test_a_warning_raised_in_the_package_is_an_error():
    """The filter in pyproject.toml reaches every module in it, and no other."""
    code = compile("import warnings; warnings.warn('careful')", "somewhere.py", "exec")
    for name in ("videopred", "videopred.training", "videopred.datasets.clip_file"):
        with pytest.raises(UserWarning, match="careful"):
            exec(code, {"__name__": name})
    with pytest.warns(UserWarning, match="careful"):
        exec(code, {"__name__": "elsewhere"})


def test_a_diverged_training_stops_and_says_so(data, tmp_path):
    # Adam moves every weight by the step size, so the second loss overflows.
    with pytest.raises(ValueError, match=r"^training must keep the loss finite, got (nan|inf) at update \d"):
        train(data, tiny_model(), tiny_training(learning_rate=1e30, updates=9), out=tmp_path / "run", device="cpu")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "failed"


def test_clips_of_one_frame_leave_nothing_to_predict(tmp_path):
    path = tmp_path / "still.h5"
    with h5py.File(path, "w") as file:
        file["training/features"] = np.zeros((1, 9, 8, 16, 1), bool)
    with pytest.raises(ValueError, match=r"^DATA must hold clips of two frames or more, for there is nothing"):
        train(path, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")


def test_it_lets_go_of_the_data(data, tmp_path):
    """Windows lets nobody move or delete an open file."""
    copy = shutil.copy(data, tmp_path / "copy.h5")
    training = tiny_training(updates=1)
    foresee(copy, tiny_model(), training, device="cpu")
    assert str(copy) not in _open_h5_files()
    train(copy, tiny_model(), training, out=tmp_path / "run", device="cpu")
    assert str(copy) not in _open_h5_files()


def _open_h5_files() -> list[str]:
    return [h5py.h5f.get_name(file).decode() for file in h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)]


def test_the_last_update_is_logged_wherever_it_falls(data, tmp_path):
    """With a loss of its own, which is that of a run that is logged at each update."""
    losses = []
    for every in (1, 2):
        training = tiny_training(updates=3, validate_every=every)
        run = train(data, tiny_model(), training, out=tmp_path / f"{every}", device="cpu")
        with (run / "logs" / "metrics.csv").open() as file:
            losses.append({row["update"]: row["train_bce"] for row in csv.DictReader(file) if row["train_bce"]})
    assert losses[1] == {update: losses[0][update] for update in ("2", "3")}
