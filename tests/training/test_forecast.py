"""What a training will take: by hand on a clock of ours, against what it took, and without a trace in the run."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import run
from tiny_runs import CLIPS, FRAMES, HEIGHT, WIDTH, tiny_data, tiny_model, tiny_training
from training_runs import equal, learner, weights

from videopred.datasets import open_dataset
from videopred.datasets.recipe_clips import open_recipe
from videopred.models import CORES, build
from videopred.models.rival_settings import GRUConfig
from videopred.models.settings import PredictorConfig
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.training import course
from videopred.training import forecast as forecasting
from videopred.training.clips import TrainingClips
from videopred.training.forecast import Forecast
from videopred.training.learner import Learner
from videopred.training.run import foresee, resume, train
from videopred.training.stopping import StopSigns


@pytest.fixture
def slow(monkeypatch):
    """Whatever is timed takes half a second."""
    monkeypatch.setattr(forecasting, "_timed", lambda work, device: (0.5, work()))


def numbers_of(core: str = "gru") -> int:
    return sum(weight.numel() for weight in build(tiny_model(core), (1, HEIGHT, WIDTH)).parameters())


def test_by_hand(data, slow):
    """Twelve clips in batches of four, three validation clips, 70 updates with a look after 20, 40, 60 and the last."""
    training = tiny_training(updates=70, validate_every=20, keep_every=30)
    told = foresee(data, tiny_model(), training, device="cpu")
    assert (told.device, told.parameters, told.updates) == ("cpu", numbers_of(), 70)
    assert told.seconds_per_update == 0.5
    assert told.seconds_per_epoch == 3 * 0.5
    assert told.seconds == 70 * 0.5 + 4 * 0.5 * CLIPS["validation"] / 4
    assert told.disk == 6 * 3 * 4 * numbers_of()  # the last two, the best, two kept, and one being written
    held = CLIPS["train"] * FRAMES * HEIGHT * WIDTH
    assert told.memory > 4 * 4 * numbers_of() + held


@pytest.mark.parametrize(
    ("most", "asked"),
    [
        (2, {"validate_every": 20}),  # the best, and the last
        (3, {"validate_every": 20, "save_every": 7}),  # and the one before
        (4, {"validate_every": 3}),  # and one that is written while these are there
        (4, {"validate_every": 20, "keep_every": 7}),  # the best, the last, the one before, and one that stays
    ],
)
def test_few_saves_leave_few_checkpoints(data, slow, most, asked):
    told = foresee(data, tiny_model(), tiny_training(updates=9, **asked), device="cpu")
    assert told.disk == most * 3 * 4 * numbers_of()


def test_as_many_updates_as_are_allowed_do_not_fill_the_memory(data, slow):
    told = foresee(data, tiny_model(), tiny_training(updates=10**12, validate_every=1), device="cpu")
    assert told.disk == 4 * 3 * 4 * numbers_of()


def test_adam_has_no_numbers_of_weights_that_do_not_learn():
    model = learner()
    before = forecasting._bytes_of_checkpoints(model)
    frozen = model.predictor.encoder.requires_grad_(False)
    spared = 2 * 4 * sum(weight.numel() for weight in frozen.parameters())
    most = before // (3 * 4 * sum(weight.numel() for weight in model.parameters()))
    assert forecasting._bytes_of_checkpoints(model) == before - most * spared


def test_a_look_is_at_pieces_of_a_batch_at_a_time(data, slow):
    training = tiny_training(updates=70, validate_every=20, accumulate=2)
    told = foresee(data, tiny_model(), training, device="cpu")
    assert told.seconds == 70 * 2 * 0.5 + 4 * 0.5 * CLIPS["validation"] / 2


def test_of_windows_more_than_there_are_clips_are_read(data, slow):
    training, compute = tiny_training(batch_size=14, window=5), ComputeConfig(hold="disk")
    told = foresee(data, tiny_model(), training, compute=compute, device="cpu")
    assert told.seconds_per_update == pytest.approx(0.5 + 0.5 * 14 / CLIPS["train"])
    helped = foresee(data, tiny_model(), training, compute=compute.model_copy(update={"workers": 2}), device="cpu")
    assert helped.seconds_per_update == 0.5  # two read faster than one learns


def test_several_devices_share_a_look(data, slow):
    """As they share an update: in each half of the batch is half of the clips, so that both take as long."""
    one, two = (
        foresee(data, tiny_model(), tiny_training(), compute=ComputeConfig(devices=devices), device="cpu").seconds
        for devices in (1, 2)
    )
    assert one == two


def test_an_epoch_of_fewer_clips_than_a_batch_has_windows_is_one_update(data, slow):
    told = foresee(data, tiny_model(), tiny_training(batch_size=14, window=5), device="cpu")
    assert told.seconds_per_epoch == told.seconds_per_update == 0.5


def test_clips_that_stay_on_disk_take_no_memory(data, slow):
    held, put, left = (
        foresee(data, tiny_model(), tiny_training(), compute=ComputeConfig(hold=hold), device="cpu").memory
        for hold in ("memory", "device", "disk")
    )
    assert held - left == put - left == (CLIPS["train"] + CLIPS["validation"]) * FRAMES * HEIGHT * WIDTH


def test_clips_in_the_hosts_memory_take_none_of_another_devices(data):
    clips = TrainingClips(open_dataset(data), tiny_training(), ComputeConfig(hold="memory"))
    assert forecasting._bytes_held(clips, torch.device("mps")) == 0


def test_clips_that_are_kept_aside_take_memory_once(tmp_path):
    data = tiny_data(tmp_path / "aside", {"train": 11})
    held, left = (
        foresee(data, tiny_model(), tiny_training(), compute=ComputeConfig(hold=hold), device="cpu").memory
        for hold in ("memory", "disk")
    )
    assert held - left == 11 * FRAMES * HEIGHT * WIDTH


def test_weights_take_their_place_four_times(data, monkeypatch):
    """They, their gradients and Adam's two numbers; of the way back nothing is counted here."""
    monkeypatch.setattr(forecasting._Kept, "take", lambda self, tensor: forecasting._Ticket(tensor))
    told = foresee(data, tiny_model(), tiny_training(), compute=ComputeConfig(hold="disk"), device="cpu")
    assert told.memory == 4 * 4 * numbers_of()


def test_validation_clips_of_a_recipe_take_memory(slow):
    few, many = (
        foresee("motion3", tiny_model(), tiny_training(updates=1, validation_clips=clips), device="cpu").memory
        for clips in (2, 5)
    )
    assert many - few == 3 * open_recipe("motion3", {"test": 1}).bytes_per_clip


def test_pieces_are_timed_one_by_one_and_need_less_memory(data, slow):
    whole = foresee(data, tiny_model(), tiny_training(), device="cpu")
    pieces = foresee(data, tiny_model(), tiny_training(accumulate=2), device="cpu")
    assert pieces.seconds_per_update == 2 * whole.seconds_per_update
    assert pieces.memory < whole.memory
    read = foresee(data, tiny_model(), tiny_training(accumulate=2), compute=ComputeConfig(hold="disk"), device="cpu")
    assert read.seconds_per_update == 2 * (0.5 + 0.5)


def test_endless_clips_take_the_time_to_make_them_unless_others_make_them(slow):
    training = TrainingConfig(updates=10, batch_size=2, validation_clips=4)
    told = foresee("motion3", tiny_model(), training, device="cpu")
    assert (told.seconds_per_epoch, told.seconds_per_update) == (None, 1.0)
    helped = foresee("motion3", tiny_model(), training, compute=ComputeConfig(workers=2), device="cpu")
    assert helped.seconds_per_update == 0.5


@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true", "64-true"])
def test_every_precision_can_be_foreseen(data, precision):
    """And weights take their place on disk as they are in training."""
    told = foresee(data, tiny_model("rims"), tiny_training(precision=precision), device="cpu")
    assert told.parameters == numbers_of("rims")
    assert told.disk == 3 * 3 * {"64-true": 8, "bf16-true": 2}.get(precision, 4) * numbers_of("rims")


@pytest.mark.parametrize(("precision", "kind"), [("bf16-mixed", torch.bfloat16), ("32-true", None)])
def test_mixed_precision_is_timed_and_measured_as_it_learns_and_looks(data, monkeypatch, precision, kind):
    seen = set()

    def noting(name: str, plain: Any) -> None:
        def noted(self: Learner, *asked: Any) -> Any:
            mixed = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
            seen.add((name, mixed, torch.is_grad_enabled()))
            return plain(self, *asked)

        monkeypatch.setattr(Learner, name, noted)

    for name in ("loss_to_learn", "losses_of"):
        noting(name, getattr(Learner, name))
    foresee(data, tiny_model(), tiny_training(precision=precision), device="cpu")
    assert seen == {("loss_to_learn", kind, True), ("losses_of", kind, False)}


@pytest.mark.parametrize("core", [core for core in CORES if "dropout" in CORES[core][0].model_fields])
def test_a_forecast_leaves_no_trace(data, monkeypatch, core):
    """Dropout and samples included: weights and random stream are what they were."""
    monkeypatch.setattr(forecasting, "_TIMED", 1)
    model = learner(core, free_running=2, noise=0.1)
    before, stream, seeded = deepcopy(model.state_dict()), torch.get_rng_state(), list[int]()
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    clips = TrainingClips(open_dataset(data), model.config.training)
    forecasting.forecast(model, clips, torch.device("cpu"))
    assert equal(model.state_dict(), before)
    assert all(weight.grad is None for weight in model.parameters())
    assert torch.equal(torch.get_rng_state(), stream)
    assert not seeded  # GPUs, of which only the one that is tried would be put back


def test_what_a_device_was_asked_for_before_is_not_timed(monkeypatch):
    """It only notes down what it is asked for; the first time would else include what went before."""
    asked, model = [], learner()
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda device: asked.append("wait"))
    trial = forecasting._Trial(model, torch.device("cpu"))
    trial.device = torch.device("mps")
    trial.seconds_of(lambda: asked.append("work"))
    assert asked == 4 * ["work", "wait"]


@pytest.mark.parametrize(("times", "told"), [((9.0, 2.0, 2.5, 0.4), 2.0), ((9.0, 6.0, 1.0, 0.4), 6.0)])
def test_a_time_is_the_middle_one_of_a_few_unless_one_is_long(monkeypatch, times, told):
    """The first, which builds what is built once, is none of them."""
    clock = iter(times)
    monkeypatch.setattr(forecasting, "_timed", lambda work, device: (next(clock), work()))
    assert forecasting._Trial(learner(), torch.device("cpu")).seconds_of(lambda: None) == told


def test_what_is_kept_for_the_way_back_counts_once_and_while_it_is_kept():
    """Two views of one place in memory are kept twice, and let go of one after the other."""
    weight, values, others = torch.zeros(3, 2), torch.zeros(5, 7), torch.zeros(11)
    kept = forecasting._Kept([weight])
    tickets = [kept.take(tensor) for tensor in (weight.T, values, values[1:])]
    assert kept.most == 5 * 7 * 4
    tickets.pop()
    tickets.append(kept.take(others))
    assert kept.most == (5 * 7 + 11) * 4
    tickets.clear()
    kept.take(torch.zeros(13))
    assert kept.most == (5 * 7 + 11) * 4


def test_a_run_that_was_foreseen_is_the_same_run(data, tmp_path, monkeypatch):
    training = tiny_training(free_running=2, noise=0.1)
    monkeypatch.setattr(forecasting, "_TIMED", 1)
    learned = []
    for least in (1, 1000):
        monkeypatch.setattr(course, "_FORESEEN", least)
        learned.append(weights(train(data, tiny_model("rims"), training, out=tmp_path / str(least), device="cpu")))
    assert "parameters" in (tmp_path / "1" / "log.txt").read_text()
    assert "parameters" not in (tmp_path / "1000" / "log.txt").read_text()
    assert equal(*learned)


def test_a_run_that_is_resumed_is_not_foreseen_again(data, tmp_path, monkeypatch):
    """What all updates take is no longer what is left."""
    monkeypatch.setattr(course, "_FORESEEN", 1)
    with monkeypatch.context() as patch:
        patch.setattr(StopSigns, "reason", lambda self, trainer: "told to" if trainer.global_step == 1 else "")
        with pytest.raises(KeyboardInterrupt):
            train(data, tiny_model(), tiny_training(updates=2), out=tmp_path / "run", device="cpu")
    resume(tmp_path / "run", device="cpu")
    log = (tmp_path / "run/log.txt").read_text()
    assert (log.count("resumes after 1 of"), log.count("parameters")) == (1, 1)


def test_checkpoints_take_what_was_told(data, tmp_path):
    training = tiny_training(updates=4, keep_every=2)
    told = foresee(data, tiny_model("rims"), training, device="cpu")
    run = train(data, tiny_model("rims"), training, out=tmp_path / "run", device="cpu")
    sizes = [path.stat().st_size for path in (run / "checkpoints").iterdir()]
    assert len(sizes) == 5
    weights_of_all = 5 * 3 * 4 * numbers_of("rims")
    assert told.disk == weights_of_all * 6 / 5
    assert weights_of_all <= sum(sizes) < weights_of_all + 5 * 60_000  # names and settings


MEASURED = """
import ctypes, gc, sys
import torch
from pathlib import Path
from videopred.checkpoint import RunConfig
from videopred.models import build
from videopred.models.settings import PredictorConfig
from videopred.settings import TrainingConfig
from videopred.training.clips import TrainingClips, open_clips
from videopred.training import forecast as forecasting
from videopred.training.learner import Learner

def status(name):
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) * 1024

torch.set_num_threads(1)
training = TrainingConfig(batch_size=30)
clips = TrainingClips(open_clips(sys.argv[1], training), training)
learner = Learner(build(PredictorConfig(), (1, 24, 32)), RunConfig(
    model=PredictorConfig(), film_shape=(1, 24, 32), training=training))
adam = torch.optim.Adam(learner.parameters())
frames = torch.from_numpy(clips.file.read_frames("train", 0, 30))
learner.loss_of(frames[:2], 0).backward()  # what is done once for ever is done
learner.zero_grad()
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
for _ in range(2):
    adam.zero_grad()
    learner.loss_of(frames, 0).backward()
    adam.step()
grown = status("VmHWM") - before
weights = sum(weight.numel() * 4 for weight in learner.parameters())
held = clips.to_learn * 20 * 24 * 32
forecasting._TIMED = 1
told = forecasting.forecast(learner, clips, torch.device("cpu")).memory - weights - held  # both were there before
print(told / grown, grown)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="measured as Linux does")
def test_memory_is_what_it_takes(tmp_path):
    """The process's own peak, beyond what it had before the first update, where that is a few hundred megabytes."""
    from videopred.datasets.generation import generate
    from videopred.datasets.settings import BallsConfig

    recipe = BallsConfig(frames=20, height=24, width=32, balls=(2,))
    path = generate("balls4", {"train": 30, "validation": 1}, recipe=recipe, out=tmp_path)
    done = subprocess.run([sys.executable, "-c", MEASURED, path], capture_output=True, text=True, check=True)
    ratio, grown = map(float, done.stdout.split())
    assert grown > 5e7
    assert 0.6 < ratio < 1.5


def test_how_it_reads():
    told = Forecast("cpu", 1_234_567, 34_567, 56_000_000, 0.25, 1.5, 5000, 1300.0, 1_440_000_000)
    assert str(told) == (
        "1,234,567 parameters, 34,567 of them the core's; 5,000 updates take about 21 min 40 s (1.5 s an epoch) "
        "and 56 MB of memory on cpu, checkpoints 1.4 GB of disk"
    )
    assert "epoch" not in str(told._replace(seconds_per_epoch=None))
    assert "; 1 update takes about " in str(told._replace(updates=1))


def test_a_dry_run_writes_nothing(data, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for more in ("", "--json"):
        assert run(f"train {data} --core gru --core.units 5 --batch-size 4 --dry-run {more}") == 0
    lines = capfd.readouterr().out.splitlines()
    told = json.loads("".join(lines[1:]))
    predictor = build(PredictorConfig(core=GRUConfig(units=5)), (1, HEIGHT, WIDTH))
    core = sum(weight.numel() for weight in predictor.core.parameters())
    assert told["core_parameters"] == core < told["parameters"]
    assert f"{told['parameters']:,} parameters, {core:,} of them the core's; 5,000 updates take about " in lines[0]
    assert (told["device"], told["updates"]) == ("cpu" if not torch.cuda.is_available() else "cuda", 5000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--seeds 0,1 --dry-run", "--dry-run must come without --seeds, got --seeds 0,1; each takes as long"),
        ("--resume {run} --dry-run", "--dry-run must be left out with --resume, got True; the run is resumed as it is"),
    ],
)
def test_a_dry_run_of_something_else(data, tmp_path, capfd, words, message):
    assert run(f"train {data} {words.format(run=tmp_path)}") == 2
    assert capfd.readouterr().err == f"videopred: {message}\n"


def test_curricula_are_foreseen_as_they_end(data, monkeypatch):
    asked, plain = set(), Learner.loss_to_learn

    def noted(self: Learner, frames: Any, own: int, sampling: float) -> Any:
        asked.add((own, sampling))
        return plain(self, frames, own, sampling)

    monkeypatch.setattr(Learner, "loss_to_learn", noted)
    training = tiny_training(free_running=3, grow_over=2, sampling="linear", sampling_share=0.4)
    foresee(data, tiny_model(), training, device="cpu")
    assert asked == {(3, 0.4)}
