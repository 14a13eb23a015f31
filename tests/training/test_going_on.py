"""What a run is begun or gone on with, seen where training would begin; nothing is learned here."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_locking import another_process_holds
from tiny_runs import files_of, tiny_model, tiny_training
from training_runs import equal, learner

from videopred.settings import ComputeConfig, WatchConfig
from videopred.training.clips import TrainingClips
from videopred.training.course import Course
from videopred.training.first_weights import first_predictor
from videopred.training.resuming import read_settings
from videopred.training.run import resume, train


@pytest.fixture
def courses(monkeypatch) -> list[Course]:
    """Those that would have been gone."""
    found: list[Course] = []

    def gone(course: Course) -> Path:
        found.append(course)
        course.folder.end("interrupted", 0)
        return course.folder.path

    monkeypatch.setattr(Course, "to_the_end", gone)
    return found


def begin(data: Path | str, out: Path, **how: Any) -> Path:
    return train(data, tiny_model(), tiny_training(seed=3), out=out, **{"device": "cpu", **how})


def test_the_first_weights_are_drawn_from_the_seed():
    """Else the spread of several seeds would leave out that of their beginnings."""
    one, again, other = (first_predictor(learner(seed=seed).config).state_dict() for seed in (1, 1, 2))
    assert equal(one, again)
    assert not equal(one, other)


def test_a_run_knows_its_data_from_wherever_it_is_gone_on_with(data, tmp_path, courses, monkeypatch):
    monkeypatch.chdir(data.parent)
    run = begin(data.name, tmp_path / "run")
    made = begin("motion3", tmp_path / "made")
    monkeypatch.chdir(tmp_path)
    resume(run, device="cpu")
    assert [course.clips.file.name for course in courses] == ["balls4", "motion3", "balls4"]
    for folder, path in ((run, str(data)), (made, "motion3")):
        assert json.loads((folder / "settings.json").read_text())["data"]["path"] == path


def test_a_run_goes_on_where_it_computed_unless_told_otherwise(data, tmp_path, courses):
    run = begin(data, tmp_path / "run", compute=ComputeConfig(hold="disk", time_limit="2h"))
    resume(run, device="cpu")
    resume(run, device="cpu", compute=ComputeConfig(hold="memory"))
    computed = [(course.learner.config.compute.hold, course.learner.config.compute.time_limit) for course in courses]
    assert computed == [("disk", "2h"), ("disk", "2h"), ("memory", None)]
    assert [course.clips.learn._held is None for course in courses] == [True, True, False]


def test_a_run_on_whatever_device_there_is_notes_which_it_was(data, tmp_path, courses, monkeypatch):
    """And its clips are told, which may wait there."""
    told: list[str] = []
    monkeypatch.setattr("videopred.training.run.pick_device", lambda asked: torch.device({"auto": "meta"}[asked]))
    monkeypatch.setattr(TrainingClips, "_belongs_on", lambda clips, device, compute: told.append(device) is not None)
    for go in (lambda: begin(data, tmp_path / "run", device="auto"), lambda: resume(tmp_path / "run")):
        assert json.loads((go() / "run.json").read_text())["device"] == "meta"
    assert told == ["meta", "meta"]


def test_what_is_recorded_stays_until_it_is_said_anew(data, tmp_path, courses):
    first, second = WatchConfig(pictures_every=0, profile=True), WatchConfig(pictures_every=2)
    run = begin(data, tmp_path / "run", watch=first, progress=True)
    resume(run, device="cpu")
    resume(run, device="cpu", watch=second, progress=True)
    resume(run, device="cpu")
    assert [course.learner.config.watch for course in courses] == [first, first, second, second]
    assert [course.progress for course in courses] == [True, False, True, False]


def test_a_folder_of_the_name_of_the_preset_is_not_its_clips(tmp_path, courses, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = begin("balls4", tmp_path / "run")
    (tmp_path / "balls4").mkdir()
    resume(run, device="cpu")
    assert [course.clips.endless for course in courses] == [True, True]


def test_where_the_clips_are_now_is_remembered(data, tmp_path, courses):
    here = tmp_path / "first.h5"
    here.write_bytes(data.read_bytes())
    run = begin(here, tmp_path / "run")
    there = here.rename(tmp_path / "moved.h5")
    resume(run, data=there, device="cpu")
    resume(run, device="cpu")
    settings, record = read_settings(run)
    assert settings.data.path == record["data"]["path"] == str(there)


def test_a_run_that_could_not_be_resumed_is_held_by_nobody(data, tmp_path, courses, monkeypatch):
    run = begin(data, tmp_path / "run")
    monkeypatch.setattr("videopred.training.run.find_start", lambda *anything: 1 / 0)
    with pytest.raises(ZeroDivisionError) as kept:
        resume(run, device="cpu")
    with another_process_holds(run):
        assert kept.value


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"device": "tpu"}, "--device must be one of auto, cpu, cuda, mps, got tpu"),
        ({"compute": ComputeConfig(devices=3)}, "--batch-size must be a multiple of 3, devices times nodes times"),
        (
            {"compute": ComputeConfig(compile="eager"), "watch": WatchConfig(profile=True)},
            "--profile must come without --compile",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_a_run_is_touched(data, tmp_path, courses, how, message):
    run = begin(data, tmp_path / "run")
    before = files_of(run)
    for again in (lambda: resume(run, **{"device": "cpu", **how}), lambda: begin(data, tmp_path / "new", **how)):
        with pytest.raises(ValueError, match=f"^{message}"):
            again()
    assert files_of(run) == before
    assert not (tmp_path / "new").exists()


def test_a_run_without_a_record_of_its_data_asks_for_it(data, tmp_path, courses):
    run = begin(data, tmp_path / "run")
    settings = json.loads((run / "settings.json").read_text())
    (run / "settings.json").write_text(json.dumps(settings | {"data": None}))
    message = r"^DATA must be known, got a run without a record of it; say where it is now, as in `vi"
    with pytest.raises(ValueError, match=message):
        resume(run, device="cpu")
    resume(run, data=data, device="cpu")
    assert len(courses) == 2


def test_a_finished_run_says_so_only_to_who_watches(data, tmp_path, courses, capfd):
    run = begin(data, tmp_path / "my\u202erun")
    noted = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(noted | {"state": "finished"}))
    assert resume(run) == run
    assert capfd.readouterr().err == ""
    with pytest.raises(ValueError, match=r"^--device must be one of auto, cpu, cuda, mps, got tpu; did you"):
        resume(run, device="tpu")
    assert resume(run, progress=True) == run
    assert capfd.readouterr().err == f"{tmp_path / 'my'}\\u202erun is finished, and left as it was\n"
    assert len(courses) == 1
