"""Training: the objective by hand, the order of clips, what is read, what is kept, and what Ctrl-C leaves."""

import csv
import json
import math
import signal
import threading
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from tiny_runs import CLIPS, FRAMES, HEIGHT, WIDTH, tiny_data, tiny_model, tiny_training
from torch import Tensor

from videopred.checkpoint import CONFIG_KEY, RunConfig, load_run
from videopred.datasets.store import ClipFile
from videopred.frames import to_film
from videopred.interrupt import HeldInterrupt
from videopred.models import CORES, build
from videopred.models.codec_settings import RNEMConfig
from videopred.models.settings import PredictorConfig
from videopred.rollout import roll_out
from videopred.training import Learner, ShuffledBatches, share_of_step_size, train, training_clips


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tiny_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    """Five updates; looks at the validation clips, two and one, after the second and the fourth; there is dropout."""
    training = tiny_training(updates=5, validate_every=2, learning_rate=0.01, batch_size=2)
    return train(data, tiny_model("rims"), training, out=tmp_path_factory.mktemp("runs") / "rims", device="cpu")


def load(path: Path) -> dict[str, Any]:
    return torch.load(path, weights_only=True)


def weights(run: Path, name: str = "last") -> dict[str, Tensor]:
    return load(run / "checkpoints" / f"{name}.ckpt")["state_dict"]


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def learner(core: str = "gru", **training: Any) -> Learner:
    torch.manual_seed(0)
    config = RunConfig(model=tiny_model(core), film_shape=(1, HEIGHT, WIDTH), training=tiny_training(**training))
    return Learner(build(config.model, config.film_shape), config).eval()


# --- what a run leaves -------------------------------------------------------------------------------------


def test_a_run_folder_describes_itself(run, data):
    config = RunConfig.model_validate_json((run / "settings.json").read_text())
    assert config.model == tiny_model("rims")
    assert config.training == tiny_training(updates=5, validate_every=2, learning_rate=0.01, batch_size=2)
    assert config.film_shape == (1, HEIGHT, WIDTH)
    record = json.loads((run / "run.json").read_text())
    assert (record["state"], record["updates"], record["device"]) == ("finished", 5, "cpu")
    assert record["data"] == {"path": str(data), "name": "balls4", "sha256": ClipFile(data).fingerprint()}
    assert {"command", "started", "python", "machine", "versions"} < set(record)


def test_checkpoints_load_safely_and_hold_all_settings(run):
    settings = RunConfig.model_validate_json((run / "settings.json").read_text())
    for name, update in (("best", None), ("last", 5)):
        content = load(run / "checkpoints" / f"{name}.ckpt")
        assert RunConfig.model_validate_json(content[CONFIG_KEY]) == settings
        assert update is None or content["global_step"] == update
    assert [file.name for file in sorted((run / "checkpoints").iterdir())] == ["best.ckpt", "last.ckpt"]


def test_losses_are_logged(run):
    (path,) = run.glob("logs/*/metrics.csv")
    rows = list(csv.DictReader(path.open()))
    steps = {name: [int(row["step"]) for row in rows if row[name]] for name in ("train_bce", "validation_bce")}
    assert steps == {"train_bce": [1, 3], "validation_bce": [1, 3]}
    assert list(run.glob("tensorboard/*/events.out.tfevents.*"))


def test_the_best_checkpoint_has_the_lowest_validation_loss_by_hand(run, data):
    """The loss in the log is that of the validation clips, per frame, at the update whose weights were kept."""
    (path,) = run.glob("logs/*/metrics.csv")
    logged = {
        int(row["step"]) + 1: float(row["validation_bce"])
        for row in csv.DictReader(path.open())
        if row["validation_bce"]
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


@pytest.mark.parametrize("core", CORES)
def test_a_run_depends_on_its_seed_alone(data, tmp_path, core):
    """Dropout included; whatever was drawn before does not count."""
    runs = []
    for number, seed in enumerate((3, 3, 4)):
        torch.manual_seed(number)
        np.random.seed(number)  # noqa: NPY002 -- the global generator is what must not count
        out = tmp_path / str(number)
        runs.append(weights(train(data, tiny_model(core), tiny_training(seed=seed), out=out, device="cpu")))
    assert equal(runs[0], runs[1])
    assert not equal(runs[0], runs[2])


def test_loader_processes_change_nothing(data, tmp_path):
    runs = [train(data, tiny_model(), tiny_training(workers=n), out=tmp_path / str(n), device="cpu") for n in (0, 2)]
    assert equal(*map(weights, runs))


# --- what is read ------------------------------------------------------------------------------------------


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
    read, read_frames = set(), ClipFile.read_frames

    def watched(self: ClipFile, part: str, start: int, stop: int) -> np.ndarray:
        read.add(part)
        return read_frames(self, part, start, stop)

    monkeypatch.setattr(ClipFile, "read_frames", watched)
    train(damaged, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    assert read == {"train", "validation"}


def frames_of(dataset: Any) -> np.ndarray:
    return np.stack([dataset[i].numpy() for i in range(len(dataset))])


def test_the_validation_part_is_used_where_there_is_one(data):
    learn, validate = training_clips(ClipFile(data), tiny_training())
    np.testing.assert_array_equal(frames_of(learn), ClipFile(data).read_frames("train", 0, 12))
    np.testing.assert_array_equal(frames_of(validate), ClipFile(data).read_frames("validation", 0, 3))


@pytest.mark.parametrize(("share", "aside"), [(0.25, 3), (0.01, 1), (0.6, 7)])
def test_without_one_the_last_clips_are_kept_aside(tmp_path, share, aside):
    path = tiny_data(tmp_path, {"train": 12, "test": 5})
    learn, validate = training_clips(ClipFile(path), tiny_training(validation_share=share))
    every = ClipFile(path).read_frames("train", 0, 12)
    np.testing.assert_array_equal(frames_of(learn), every[: 12 - aside])
    np.testing.assert_array_equal(frames_of(validate), every[12 - aside :])


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
        ({"train": 6}, {"free_running": 8}, "^--free-running must be at most 7, .* of 9 frames one is given .*, got 8"),
    ],
)
def test_data_that_does_not_do(tmp_path, clips, training, message):
    path = tiny_data(tmp_path, clips)
    with pytest.raises(ValueError, match=message):
        train(path, tiny_model(), tiny_training(**training), out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_the_whole_length_may_be_free_running(data, tmp_path):
    most = tiny_training(free_running=FRAMES - 2)
    train(data, tiny_model("rims"), most, out=tmp_path / "run", device="cpu")


# --- the objective -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("own", [0, 2])
def test_the_loss_by_hand(data, core, own):
    """Teacher-forced up to the last `own` frames, which a rollout predicts."""
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 2, 5))
    model = learner(core, free_running=own)
    film = to_film(frames)
    given = film[:, : FRAMES - 1 - own]
    if own:
        rollout = roll_out(model.predictor, given, own + 1)
        said = torch.cat([rollout.one_step, rollout.prediction], 1)
    else:
        said = torch.sigmoid(model.predictor(given).logits)
    said, truth = said.detach().double(), film[:, 1:].double()
    nats = -(truth * said.log() + (1 - truth) * (1 - said).log())
    loss, pixels = model._loss(frames)
    assert pixels == HEIGHT * WIDTH
    assert loss.item() == pytest.approx(nats.mean().item(), rel=1e-5)


def test_the_first_update_is_adam_on_the_clipped_gradient_of_the_first_batch(data, tmp_path):
    """By hand with torch alone; the norm of the gradient is far above the limit."""
    training = tiny_training(updates=1, clip_norm=1e-3, learning_rate=0.02)
    trained = weights(train(data, tiny_model(), training, out=tmp_path / "run", device="cpu"))
    model = learner()
    torch.manual_seed(training.seed)
    model.predictor.load_state_dict(build(tiny_model(), (1, HEIGHT, WIDTH)).state_dict())
    batch = next(iter(ShuffledBatches(12, 4, training.seed)))
    frames = torch.from_numpy(ClipFile(data).read_frames("train", 0, 12)[batch])
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    model._loss(frames)[0].backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    assert norm > 0.01
    adam.step()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(trained[name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_gradients_are_clipped_to_the_norm_that_is_set(data, tmp_path, monkeypatch):
    """Adam forgets the scale of one gradient, so what reaches the optimiser is looked at."""
    norms, step = [], torch.optim.Adam.step

    def watched(self: Any, closure: Any = None) -> Any:
        result = step(self, closure)  # the closure computes and clips the gradients
        each = [weight.grad.norm() for group in self.param_groups for weight in group["params"]]
        norms.append(torch.stack(each).norm().item())
        return result

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    train(data, tiny_model(), tiny_training(clip_norm=1e-3), out=tmp_path / "run", device="cpu")
    assert norms == pytest.approx([1e-3, 1e-3], rel=1e-3)


def test_training_learns(data, tmp_path):
    """Thirty updates on twelve clips lower the loss on other clips: nothing is disconnected or upside down."""
    often = tiny_training(updates=30, validate_every=5, learning_rate=0.01)
    (path,) = train(data, tiny_model("lstm"), often, out=tmp_path / "run", device="cpu").glob("logs/*/metrics.csv")
    losses = [float(row["validation_bce"]) for row in csv.DictReader(path.open()) if row["validation_bce"]]
    assert len(losses) == 6
    assert losses[-1] < 0.6 * losses[0]


# --- order and step size -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("clips", "size"), [(12, 4), (11, 4), (7, 7), (5, 1)])
def test_a_shuffle_passes_each_clip_once(clips, size):
    per_shuffle = clips // size
    batches = list(islice(ShuffledBatches(clips, size, seed=0), 3 * per_shuffle))
    shuffles = np.array(batches).reshape(3, per_shuffle * size).tolist()
    for shuffle in shuffles:
        assert len(set(shuffle)) == per_shuffle * size
        assert set(shuffle) <= set(range(clips))
    assert clips < 5 or shuffles[0] != shuffles[1]
    assert all(len(batch) == size for batch in batches)


def test_no_clip_is_always_left_out():
    seen = {clip for batch in islice(ShuffledBatches(11, 4, seed=0), 20) for clip in batch}
    assert seen == set(range(11))


@pytest.mark.parametrize("start", [1, 2, 3, 7])
def test_a_batch_depends_on_seed_and_number_alone(start):
    batches = list(islice(ShuffledBatches(11, 4, seed=5), 12))
    assert list(islice(ShuffledBatches(11, 4, seed=5, start=start), 12 - start)) == batches[start:]
    assert list(islice(ShuffledBatches(11, 4, seed=6), 12)) != batches


def test_the_schedule():
    assert [share_of_step_size("constant", 40, update) for update in (0, 20, 39)] == [1, 1, 1]
    cosine = [share_of_step_size("cosine", 40, update) for update in range(40)]
    assert cosine[0] == pytest.approx(0.5)  # the first of two updates on the way up
    assert cosine[1] == pytest.approx((1 + math.cos(math.pi / 40)) / 2)
    assert cosine[20] == pytest.approx(0.5)
    assert cosine[30] == pytest.approx(0.5 - math.sqrt(0.125))
    assert cosine[1:] == sorted(cosine[1:], reverse=True)
    assert 0 < cosine[39] < 0.01
    assert share_of_step_size("cosine", 1, 0) == 1


def test_the_schedule_moves_the_step_size_at_each_update():
    (adam,), (entry,) = learner(updates=40, schedule="cosine", learning_rate=0.3).configure_optimizers()
    assert entry["interval"] == "step"
    sizes = []
    for _ in range(40):
        sizes.append(adam.param_groups[0]["lr"])
        adam.step()
        entry["scheduler"].step()
    assert sizes == pytest.approx([0.3 * share_of_step_size("cosine", 40, update) for update in range(40)])


def test_noise_depends_on_seed_and_update_alone(monkeypatch):
    def draw(seed: int, update: int) -> list[float]:
        model = learner(seed=seed)
        monkeypatch.setattr(type(model), "global_step", update)
        monkeypatch.setattr(type(model), "global_rank", 0)
        model.on_train_batch_start(None, 0)
        return torch.rand(3).tolist()

    first = draw(1, 2)
    torch.rand(5)
    assert draw(1, 2) == first
    assert first not in (draw(2, 2), draw(1, 3), draw(2, 1))


# --- Ctrl-C, failures and what is there already ------------------------------------------------------------


def interrupting(monkeypatch: pytest.MonkeyPatch, at: int, times: int = 1) -> list[int]:
    """Have SIGINT arrive in the middle of a training step; returns the updates that were begun."""
    begun, step = [], Learner.training_step

    def interrupted(self: Learner, frames: Tensor, batch: int) -> Tensor:
        begun.append(self.global_step)
        if self.global_step == at:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return step(self, frames, batch)

    monkeypatch.setattr(Learner, "training_step", interrupted)
    return begun


def test_ctrl_c_finishes_the_step_and_leaves_a_run_that_works(data, tmp_path, monkeypatch):
    begun = interrupting(monkeypatch, at=2)
    handler = signal.getsignal(signal.SIGINT)
    settings = tiny_training(updates=9, validate_every=7)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    assert signal.getsignal(signal.SIGINT) is handler
    assert begun == [0, 1, 2]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["state"], record["updates"]) == ("interrupted", 3)
    last = load(tmp_path / "run" / "checkpoints" / "last.ckpt")
    assert last["global_step"] == 3
    assert RunConfig.model_validate_json(last[CONFIG_KEY]).training == settings
    predictor = load_run(tmp_path / "run")
    roll_out(predictor, to_film(ClipFile(data).read_frames("test", 0, 2))[:, :3], 2)
    monkeypatch.undo()
    whole = train(data, tiny_model(), tiny_training(updates=3), out=tmp_path / "whole", device="cpu")
    assert equal(weights(tmp_path / "run"), weights(whole))


def test_a_second_ctrl_c_is_at_once(data, tmp_path, monkeypatch):
    begun = interrupting(monkeypatch, at=2, times=2)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model(), tiny_training(updates=9), out=tmp_path / "run", device="cpu")
    assert signal.getsignal(signal.SIGINT) is handler
    assert begun == [0, 1, 2]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["state"], record["updates"]) == ("interrupted", 2)
    load_run(tmp_path / "run")  # the look after the second update left a checkpoint


def test_a_failure_is_recorded_and_passed_on(data, tmp_path, monkeypatch):
    def failing(self: Learner, frames: Tensor, batch: int) -> Tensor:
        raise RuntimeError("the machine caught fire")

    monkeypatch.setattr(Learner, "training_step", failing)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="caught fire"):
        train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    assert signal.getsignal(signal.SIGINT) is handler
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "failed"


def test_outside_the_main_thread_signals_are_left_alone():
    handler = signal.getsignal(signal.SIGINT)
    seen = []

    def listen() -> None:
        with HeldInterrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert seen == [handler]


def test_a_run_is_replaced_only_on_request(data, run, tmp_path):
    settings = (run / "settings.json").read_bytes()
    with pytest.raises(
        FileExistsError, match=r"^--out must be a new path, got .*; choose another name, or give --overw"
    ):
        train(data, tiny_model("lstm"), tiny_training(), out=run, device="cpu")
    assert (run / "settings.json").read_bytes() == settings
    mine = tmp_path / "mine"
    train(data, tiny_model("lstm"), tiny_training(), out=mine, device="cpu")
    (mine / "old notes.txt").write_text("")
    train(data, tiny_model("gru"), tiny_training(), out=mine, device="cpu", overwrite=True)
    assert load_run(mine).config == tiny_model("gru")
    assert len(list(mine.glob("logs/*"))) == 1


def test_only_run_folders_are_replaced(data, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("")
    with pytest.raises(
        ValueError, match=r"^--out must be a run folder or new, got .*photos; choose another --out; only"
    ):
        train(data, tiny_model(), tiny_training(), out=tmp_path / "photos", device="cpu", overwrite=True)
    assert (tmp_path / "photos" / "cat.jpg").exists()


def test_a_wrong_request_leaves_the_old_run(data, run, tmp_path):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    deep = PredictorConfig(codec=RNEMConfig(channels=(2, 3, 4, 5)))
    with pytest.raises(ValueError, match=r"^frame height must be a multiple of 16 for 4 halvings, got 24; generate"):
        train(data, deep, tiny_training(), out=run, device="cpu", overwrite=True)
    with pytest.raises(ValueError, match=r"^--device must be one of auto, cpu, cuda, mps, got tpu; did you mean"):
        train(data, tiny_model(), tiny_training(), out=run, device="tpu", overwrite=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_the_usual_run_folder(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train(data, tiny_model(), tiny_training(updates=1), device="cpu") == Path("models/balls4-gru")


def test_progress_goes_to_stderr_and_only_on_request(data, tmp_path, capfd):
    for progress in (False, True):
        out = tmp_path / str(progress)
        train(data, tiny_model(), tiny_training(updates=3), out=out, device="cpu", progress=progress)
        printed = capfd.readouterr()
        assert printed.out == ""
        assert ("3/3" in printed.err) == progress
        assert ("validation_bce" in printed.err) == progress
    assert not printed.err.count("it/s")


def test_lightning_is_quiet(data, tmp_path, capfd):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    assert capfd.readouterr() == ("", "")
    assert [str(warning.message) for warning in caught] == []


def test_a_warning_raised_in_the_package_is_an_error():
    """The filter in pyproject.toml reaches every module in it, and no other."""
    code = compile("import warnings; warnings.warn('careful')", "somewhere.py", "exec")
    for name in ("videopred", "videopred.training", "videopred.datasets.store"):
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
    with pytest.raises(ValueError, match=r"^DATA must hold clips of two frames or more, got 1; there is nothing"):
        train(path, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
