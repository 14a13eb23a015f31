"""A run that stopped and went on is the run that never stopped, bit for bit; and what is refused."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from slow_proofs import slow
from tiny_runs import CODEC, tiny_data, tiny_model, tiny_training
from training_runs import UNDRAWN, assert_same, equal, everything_of, load, stop_after, weights

from videopred.checkpoint import load_run
from videopred.eval.file_names import scores_in
from videopred.export import export_run
from videopred.files import write_json
from videopred.models.rival_settings import GRUConfig
from videopred.models.settings import PredictorConfig
from videopred.run_record import is_of_run, stamp_of
from videopred.runs import run_stamp
from videopred.settings import ComputeConfig
from videopred.training.course import Course
from videopred.training.learner import Learner
from videopred.training.resuming import check_data, read_settings
from videopred.training.run import foresee, resume, train

EVERYTHING = {
    "updates": 7,
    "validate_every": 3,
    "accumulate": 2,
    "window": 7,
    "schedule": "plateau",
    "patience": 1,
    "improvement": 0.9,
    "learning_rate": 0.01,
    "free_running": 4,
    "grow_over": 6,
    "sampling": "linear",
    "noise": 0.1,
}
"""Whatever changes from update to update, or is drawn."""


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory) -> dict[str, Any]:
    """What a run leaves that was never stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    return everything_of(train(data, tiny_model("rims"), tiny_training(**EVERYTHING), out=out, device="cpu"))


@pytest.mark.parametrize("workers", [0, *slow(2)])
@pytest.mark.parametrize("stops", [(2, 4, 6), *slow(((1, 3, 5),))], ids=str)
def test_a_resumed_run_is_the_run_that_never_stopped(data, whole, tmp_path, monkeypatch, stops, workers):
    """Stopped again and again: after every update in turn, before, after and at a look at the validation clips."""
    compute = ComputeConfig(workers=workers)
    settings = tiny_training(**EVERYTHING)
    stop_after(monkeypatch, stops[0])
    with pytest.raises(KeyboardInterrupt, match=rf"^stopped: {stops[0]} of 7 updates are done; continue with `vi"):
        train(data, tiny_model("rims"), settings, out=tmp_path / "run", compute=compute, device="cpu")
    for stop in (*stops[1:], 0):
        stop_after(monkeypatch, stop)
        torch.rand(5)
        if stop:
            with pytest.raises(KeyboardInterrupt):
                resume(tmp_path / "run", device="cpu")
        else:
            resume(tmp_path / "run", device="cpu")
    assert_same(whole, everything_of(tmp_path / "run"))


@pytest.mark.slow
def test_a_run_with_a_compiled_step_is_resumed_as_well(data, whole, tmp_path, monkeypatch):
    """Backend eager does the same operations in the same order, so it is the run without one, too."""
    stop_after(monkeypatch, 3)
    compute, settings = ComputeConfig(compile="eager"), tiny_training(**EVERYTHING)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model("rims"), settings, out=tmp_path / "run", compute=compute, device="cpu")
    stop_after(monkeypatch, 0)
    resume(tmp_path / "run", device="cpu")
    assert_same(whole, everything_of(tmp_path / "run"))


def test_a_run_in_64_bits_is_resumed_in_64_bits(data, tmp_path, monkeypatch):
    """Weights that are rounded on the way are no longer those of the checkpoint."""
    settings = tiny_training(updates=3, precision="64-true")
    how: dict[str, Any] = {"watch": UNDRAWN, "device": "cpu"}
    straight = train(data, tiny_model(), settings, out=tmp_path / "straight", **how)
    stop_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model(), settings, out=tmp_path / "run", **how)
    stop_after(monkeypatch, 0)
    resume(tmp_path / "run", **how)
    assert_same(everything_of(straight), everything_of(tmp_path / "run"))


def test_work_since_the_last_checkpoint_is_done_again(data, whole, tmp_path, monkeypatch):
    """As after kill -9 or a failure: nothing is saved at that moment, and the log has gone on."""
    step = Learner.training_step

    def failing(self: Learner, frames: torch.Tensor, batch: int) -> torch.Tensor:
        if self.global_step == 5:
            raise RuntimeError("the machine caught fire")
        return step(self, frames, batch)

    monkeypatch.setattr(Learner, "training_step", failing)
    with pytest.raises(RuntimeError, match="caught fire"):
        train(data, tiny_model("rims"), tiny_training(**EVERYTHING), out=tmp_path / "run", device="cpu")
    assert load(tmp_path / "run" / "checkpoints" / "last.ckpt")["global_step"] == 3
    monkeypatch.undo()
    (tmp_path / "run" / "logs" / "metrics.csv").open("a").write("4,0.5,")  # half a line, as a killed process leaves
    resume(tmp_path / "run", device="cpu")
    assert_same(whole, everything_of(tmp_path / "run"))


def test_a_run_killed_before_its_first_checkpoint_begins_again(data, tmp_path, monkeypatch):
    settings = tiny_training(updates=3, validate_every=3)
    monkeypatch.setattr(Learner, "training_step", lambda *anything: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    monkeypatch.undo()
    resume(tmp_path / "run", device="cpu")
    straight = train(data, tiny_model(), settings, out=tmp_path / "straight", device="cpu")
    assert equal(weights(tmp_path / "run"), weights(straight))


@pytest.mark.parametrize("ends", [{"updates": 2}, {"updates": 20, "stop_after": 2, "improvement": 0.99}], ids=str)
def test_killed_right_after_the_last_look_it_is_at_its_end(data, tmp_path, ends):
    """All is saved then, but the record says that it runs."""
    run = train(data, tiny_model(), tiny_training(**ends), out=tmp_path / "run", device="cpu")
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"state": "running"}))
    before = everything_of(run)
    resume(run, device="cpu")
    assert_same(before, everything_of(run))
    assert json.loads((run / "run.json").read_text())["state"] == "finished"


@pytest.mark.parametrize("left", ["previous.ckpt", None])
def test_killed_between_saving_the_best_and_the_last_it_has_both(data, tmp_path, left):
    """At the last look, after which nothing is learned and so nothing saved; the last then is still the one before."""
    run = train(data, tiny_model(), tiny_training(), watch=UNDRAWN, out=tmp_path / "run", device="cpu")
    before, checkpoints = everything_of(run), run / "checkpoints"
    assert before["best.ckpt"]["global_step"] == 2
    (checkpoints / "last.ckpt").unlink()
    if left:
        (checkpoints / left).rename(checkpoints / "last.ckpt")
    write_json(run / "run.json", json.loads((run / "run.json").read_text()) | {"state": "running"})
    resume(run, watch=UNDRAWN, device="cpu")
    assert_same(before, everything_of(run))
    assert load(checkpoints / "previous.ckpt")["global_step"] == 1


def test_where_it_computes_from_now_on_is_in_its_settings(stopped):
    resume(stopped, compute=ComputeConfig(hold="disk"), device="cpu")
    settings = json.loads((stopped / "settings.json").read_text())
    assert settings["compute"]["hold"] == "disk"
    assert settings["training"]["updates"] == 5


def test_a_finished_run_with_other_data_says_so(data, tmp_path):
    run = train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    other = tiny_data(tmp_path / "other", seed=8)
    with pytest.raises(ValueError, match=r"^DATA must hold the clips that the run has learned from, got .*whose"):
        resume(run, data=other)
    assert resume(run, data=data) == run


def test_a_finished_run_is_left_as_it_is(data, tmp_path):
    run = train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert resume(run) == run
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_the_record_says_where_a_run_was_resumed(stopped):
    first = json.loads((stopped / "run.json").read_text())
    assert (first["state"], first["updates"]) == ("interrupted", 3)
    resume(stopped, watch=UNDRAWN, device="cpu")
    then = json.loads((stopped / "run.json").read_text())
    assert (then["state"], then["updates"], then["started"]) == ("finished", 5, first["started"])
    assert [start["updates"] for start in then["resumed"]] == [3]
    assert then["resumed"][0]["process"] == os.getpid()
    assert then["seconds"] >= first["seconds"]


def test_while_it_goes_on_its_record_does_not_say_how_far_it_once_was(stopped, monkeypatch):
    """Whoever lists runs would believe it and not the log."""
    seen: list[dict[str, Any]] = []
    record = stopped / "run.json"
    monkeypatch.setattr(Course, "to_the_end", lambda course: seen.append(json.loads(record.read_text())))
    resume(stopped, watch=UNDRAWN, device="cpu")
    assert seen[0]["state"] == "running"
    assert not {"updates", "finished"} & set(seen[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": tiny_training(updates=9)}, "--updates must be 5, as in the run that is resumed, got 9; leave it"),
        ({"training": tiny_training(updates=5, seed=4)}, "--seed must be 0, as in the run that is resumed, got 4"),
        (
            {"training": tiny_training(updates=5, window=6)},
            "--window must be None, as in the run that is resumed, got 6; leave it",
        ),
        (
            {"training": tiny_training(updates=5, save_every=2)},
            "--save-every must be None, as in the run that is resumed",
        ),
        ({"model": tiny_model("lstm")}, "--core must be gru, as in the run that is resumed, got lstm; leave it out"),
        (
            {"model": PredictorConfig(core=GRUConfig(units=7), codec=CODEC)},
            "--core.units must be 5, as in the run that",
        ),
    ],
)
def test_other_settings_are_refused(stopped, changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        resume(stopped, device="cpu", **changes)


def test_clips_of_another_size_are_refused_by_their_size(stopped):
    small: Any = SimpleNamespace(film_shape=(1, 8, 16))
    message = r"^DATA must hold the clips that .*, got small.h5 with frames 1×8×16 instead of 1×24×32; give that file"
    with pytest.raises(ValueError, match=message):
        check_data(read_settings(stopped)[0].model_copy(update={"data": None}), small, "small.h5")


def test_other_data_is_refused(stopped, data, tmp_path):
    other = tiny_data(tmp_path / "other", seed=8)
    with pytest.raises(ValueError, match=r"^DATA must hold the clips that the run has learned from, got .*whose"):
        resume(stopped, data=other, device="cpu")
    moved = shutil.copy(data, tmp_path / "moved.h5")
    assert resume(stopped, data=moved, device="cpu") == stopped


def test_data_that_was_moved_is_asked_for(stopped, data, tmp_path):
    config, _ = read_settings(stopped)
    assert config.data is not None
    gone = config.model_copy(update={"data": config.data.model_copy(update={"path": str(tmp_path / "gone.h5")})})
    write_json(stopped / "settings.json", gone.model_dump(mode="json"))
    message = (
        r"^DATA must be where it was, got .*gone\.h5 \(nothing there\); "
        r"say where it is now, as in `videopred train DATA --resume RUN`$"
    )
    with pytest.raises(FileNotFoundError, match=message):
        resume(stopped, device="cpu")


@pytest.mark.parametrize("record", [None, "", "{", "[]", "{}"])
def test_a_run_goes_on_without_its_record(stopped, tmp_path, record, capsys):
    """It tells only of the past, and what is left of it after a crash may be nothing. Earlier scores are then of
    another run, as far as can be told."""
    path, scores = stopped / "run.json", tmp_path / "eval" / stopped.name / "balls" / "scores.json"
    write_json(scores, {"models": ["model"], "rows": {"model": {}}, "stamps": {"model": run_stamp(stopped)}})
    before = run_stamp(stopped)
    path.unlink() if record is None else path.write_text(record)
    resume(stopped, watch=UNDRAWN, device="cpu")
    told = json.loads(path.read_text())
    assert (told["state"], told["updates"], [one["updates"] for one in told["resumed"]]) == ("finished", 5, [3])
    assert (told["started"], stamp_of(told)) == (told["resumed"][0]["started"], f"{told['started']} after 5 updates")
    assert not is_of_run(before, told)
    assert scores_in(scores.parent.parent, [run_stamp(stopped)]) == []
    kept = stopped / "run.json.damaged"
    assert (kept.read_text() if kept.exists() else None) == record
    got = "is not there" if record is None else "is damaged, and kept as run.json.damaged"
    so = "the run counts as started now, so earlier scores are not taken for its own"
    assert f"videopred: {path} {got}; {so}\n" in capsys.readouterr().err


def test_a_record_that_cannot_be_read_is_not_replaced(stopped, monkeypatch):
    """It may be whole."""
    before, read = (stopped / "run.json").read_bytes(), Path.read_text

    def refused(path: Path, *how: Any, **more: Any) -> str:
        if path.name == "run.json":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path, *how, **more)

    with monkeypatch.context() as system:
        system.setattr(Path, "read_text", refused)
        with pytest.raises(PermissionError, match=r"run\.json"):
            resume(stopped, watch=UNDRAWN, device="cpu")
    assert (stopped / "run.json").read_bytes() == before


def test_what_cannot_be_resumed(stopped, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^RUN must be a run folder"):
        resume(tmp_path / "gone")
    export = export_run(stopped)
    with pytest.raises(
        ValueError, match=r"^--resume must be a run folder, got .*run\.safetensors; an export has no ch"
    ):
        resume(export)
    (stopped / "settings.json").write_text("{}")
    with pytest.raises(ValueError, match=r"^RUN must hold the settings of a run, got"):
        resume(stopped)


@pytest.mark.parametrize("core", ["gru", "scoff"])
def test_what_torch_makes_by_default_changes_nothing(data, tmp_path, monkeypatch, core):
    """Neither what is drawn and learned, also by a run that is gone on with, nor what the caller has set."""
    settings = tiny_training(updates=3)
    how: dict[str, Any] = {"watch": UNDRAWN, "device": "cpu"}
    straight = train(data, tiny_model(core), settings, out=tmp_path / "straight", **how)
    torch.set_default_dtype(torch.float64)
    try:
        stop_after(monkeypatch, 2)
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            with pytest.raises(KeyboardInterrupt):
                train(data, tiny_model(core), settings, out=tmp_path / "run", **how)
            stop_after(monkeypatch, 0)
            resume(tmp_path / "run", device="cpu")
        memory = foresee(data, tiny_model(core), settings, device="cpu").memory
        assert {weight.dtype for weight in load_run(tmp_path / "run").parameters()} == {torch.float32}
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert_same(everything_of(tmp_path / "run"), everything_of(straight))
    assert memory == foresee(data, tiny_model(core), settings, device="cpu").memory


def test_the_global_random_stream_is_left_alone(data, tmp_path, monkeypatch):
    """Or whoever repeats something over seeds of their own would draw the same after each training."""
    settings, how = tiny_training(updates=3), {"watch": UNDRAWN, "device": "cpu"}
    before = torch.get_rng_state()
    foresee(data, tiny_model("scoff"), settings, device="cpu")
    stop_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model("scoff"), settings, out=tmp_path / "run", **how)
    stop_after(monkeypatch, 0)
    load_run(resume(tmp_path / "run", device="cpu"))
    assert torch.equal(torch.get_rng_state(), before)


def test_trainings_in_several_threads_are_as_alone(data, tmp_path):
    """Their chance is that of the whole process."""
    settings, how = tiny_training(updates=3), {"watch": UNDRAWN, "device": "cpu"}

    def trained(place: str) -> Path:
        return train(data, tiny_model("scoff"), settings, out=tmp_path / place, **how)

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(trained, ("a", "b", "c")))
    alone = weights(trained("alone"))
    assert all(equal(weights(run), alone) for run in together)
