"""Which clips a page shows, how large, and what it says instead where they cannot be shown; without any training."""

import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence
from report_samples import ONE, made_up_run, scored
from tiny_runs import RECIPE, tiny_data

from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.rendering.clip_view import ClipView
from videopred.report import clips, page, section
from videopred.report.clips import Chosen, PredictedClips, bytes_of, choose_clips
from videopred.report.found import find_run
from videopred.report.page import set_page
from videopred.report.section import Section, tell_run

CPU = torch.device("cpu")
SIZES = clips.SIZES
FRAMES, CONTEXT = 7, 4


def scores_of(column: str, of_clips: list[float]) -> Scores:
    """Scores of clips whose means are known, rising over three steps."""
    measured = np.array(of_clips)[:, None] + np.array([-0.01, 0, 0.01])
    whole = scored(**ONE)
    more = {"psnr": {"capped": np.zeros_like(measured)}}.get(column, {})
    return replace(whole, measurements={"model": {column: {column: measured} | more}})


@pytest.mark.parametrize(
    ("column", "of_clips", "count", "chosen"),
    [
        ("mse", [0.3, 0.1, 0.5, 0.2, 0.4], 5, {"Worst": 2, "Median": 0, "Best": 1}),
        ("psnr", [13, 11, 15, 12, 14], 5, {"Worst": 1, "Median": 0, "Best": 2}),
        ("mse", [0.3, np.nan, 0.5, 0.2], 3, {"Worst": 2, "Median": 0, "Best": 3}),
        ("mse", [0.3, 0.5], 2, {"Worst": 1, "Best": 0}),
        ("mse", [np.nan, np.nan], 0, {}),
    ],
    ids=["low is good", "high is good", "one says nothing", "two", "none"],
)
def test_the_worst_the_median_and_the_best_are_chosen(column, of_clips, count, chosen):
    said = {"mse": "MSE {:.4f}", "psnr": "PSNR {:.2f}"}[column]
    assert choose_clips(scores_of(column, of_clips), column) == [
        Chosen(clip, f"{name} of {count}: {said.format(of_clips[clip])}") for name, clip in chosen.items()
    ]


@pytest.fixture
def predicted(monkeypatch) -> PredictedClips:
    """Three clips of the same noise, with what two modules did in them."""
    chance = np.random.default_rng(0)

    truth, made = chance.integers(0, 255, (2, FRAMES, 6, 8, 1), dtype=np.uint8)
    view = ClipView(CONTEXT, truth, made, {"active": chance.random((FRAMES, 2)), "states": np.zeros((FRAMES, 2, 5))})
    monkeypatch.setattr(clips, "SIZES", ((80, 1), (40, 1), (40, 8)))  # quickly drawn
    monkeypatch.setattr(clips, "views_of", lambda *asked: [view for _ in asked[3]])
    model: Any = SimpleNamespace(core=SimpleNamespace(trace_axes={"active": "K", "states": "KD", "gone": "K"}))
    chosen = [Chosen(clip, f"Clip {clip}") for clip in (5, 0, 2)]
    return PredictedClips(model, SimpleNamespace(), "test", chosen, CONTEXT, FRAMES - CONTEXT)  # type: ignore[arg-type]


@pytest.mark.slow
def test_clips_are_as_large_as_fit_to_the_byte(predicted):
    largest = predicted.draw(10**9)
    assert predicted.draw(bytes_of(largest)) == largest
    smaller = predicted.draw(bytes_of(largest) - 1)
    assert bytes_of(smaller) < bytes_of(largest)
    assert [one.title for one in smaller] == ["Clip 5", "Clip 0", "Clip 2"]
    smallest = predicted.draw(0)
    assert bytes_of(smallest) < bytes_of(smaller)
    assert "the film shows one in 8" in smallest[0].alt


def test_a_film_of_which_few_frames_are_shown_takes_its_time(predicted):
    for every in (1, 4):
        film = base64.b64decode(predicted._draw(0, 40, every).film.partition(",")[2])
        with Image.open(io.BytesIO(film)) as gif:
            times = [frame.info["duration"] for frame in ImageSequence.Iterator(gif)]
        assert times == [100 * every] * -(-FRAMES // every)


def test_no_more_is_drawn_once_it_is_known_not_to_fit(predicted, monkeypatch):
    """To draw is slow: of clips that take the same, the first says that three of them are too many."""
    largest, draw, drawn = predicted.draw(10**9), PredictedClips._draw, []

    def counted(self: PredictedClips, place: int, panel_px: int, every: int) -> clips.Shown:
        drawn.append((place, panel_px))
        return draw(self, place, panel_px, every)

    monkeypatch.setattr(PredictedClips, "_draw", counted)
    predicted.draw(bytes_of(largest) // 2)
    assert drawn[:2] == [(0, 80), (0, 40)]


def test_runs_share_what_room_there_is(monkeypatch):
    """What one leaves goes to those after it."""
    rooms: list[int] = []

    class Drawn(SimpleNamespace):
        def _replace(self, **changes: Any) -> "Drawn":
            return Drawn(**{**vars(self), **changes})

    predicted = SimpleNamespace(draw=lambda room: rooms.append(room) or ("shown",))
    monkeypatch.setattr(page, "LARGEST", 1000)
    monkeypatch.setattr(page, "set_page", lambda *sections: "é" * 20)
    monkeypatch.setattr(page, "bytes_of", lambda shown: 100 * len(shown))
    runs: Any = [
        Drawn(predicted=predicted),
        Drawn(predicted=None),
        Drawn(predicted=predicted),
        Drawn(predicted=predicted),
    ]
    assert [one.clips for one in page._with_clips(runs, None)] == [("shown",), (), ("shown",), ("shown",)]
    assert rooms == [960 // 4, 860 // 2, 760]


def test_modules_are_shown_at_the_frames_that_a_step_led_to(predicted):
    for one in predicted.draw(10**9):
        (activity,) = one.activity
        assert (
            f"active over frames 2 to {FRAMES}, where the rollout begins after frame {CONTEXT}. module 0: " in activity
        )


def test_object_files_are_called_so_and_counted_on_from_layer_to_layer(monkeypatch):
    chosen, active = np.zeros((FRAMES, 2)), np.ones((FRAMES, 3))
    view = ClipView(
        CONTEXT, *np.zeros((2, FRAMES, 6, 8, 1), np.uint8), {"layer0.schema": chosen, "layer1.active": active}
    )
    monkeypatch.setattr(clips, "SIZES", ((40, 1),))
    monkeypatch.setattr(clips, "views_of", lambda *asked: [view])
    model: Any = SimpleNamespace(core=SimpleNamespace(trace_axes={"layer0.schema": "K", "layer1.active": "K"}))
    shown = PredictedClips(model, SimpleNamespace(), "test", [Chosen(3, "Clip 3")], CONTEXT, 3)  # type: ignore[arg-type]
    (one,) = shown.draw(10**9)
    assert [re.findall(r"object file (\d)", activity) for activity in one.activity] == [["0", "1"], ["2", "3", "4"]]
    painted = [set(re.findall(r'<rect class="(schema|cell)-', activity)) for activity in one.activity]
    assert painted == [{"schema"}, {"cell"}]


def test_clips_take_no_more_of_the_page_than_is_said(predicted, tmp_path):
    told = tell_run(find_run(made_up_run(tmp_path / "mine"), tmp_path), None, None, CPU)
    shown = predicted.draw(0)
    bare, full = (len(set_page([told._replace(clips=one)], None).encode()) for one in ((), shown[:1]))
    assert full - bare <= bytes_of(shown[:1]) + 1000  # the headings of the clips, once
    more = len(set_page([told._replace(clips=shown)], None).encode())
    assert 0 < more - full <= bytes_of(shown[1:])


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tiny_data(tmp_path_factory.mktemp("data") / "two.h5")


@pytest.fixture
def drawn(monkeypatch) -> list[tuple]:
    """What is asked to be predicted, in place of its prediction."""
    asked: list[tuple] = []
    monkeypatch.setattr(section, "load_run", lambda run, device: run.name)
    monkeypatch.setattr(section, "PredictedClips", lambda *words: asked.append((words[0], *words[2:6])))
    return asked


def told_of(place: Path, data: Path, *, checkpoint: bool = True, by: str | None = None, **more: Any) -> Section:
    run = place / "mine"
    if checkpoint:
        (run / "checkpoints").mkdir()
        (run / "checkpoints" / "last.ckpt").touch()
    return tell_run(find_run(run, place / "eval"), data, by, CPU, **more)


def test_of_clips_that_are_as_good_the_first_are_worse():
    assert [one.clip for one in choose_clips(scores_of("mse", [0.5, 0.25] * 20), "mse")] == [0, 1, 39]


def test_without_scores_the_first_test_clips_are_shown(tmp_path, data, drawn):
    made_up_run(tmp_path / "mine")
    told = told_of(tmp_path, data)
    with open_dataset(data) as file:
        assert drawn == [("mine", "test", [Chosen(i, f"Clip {i}") for i in range(3)], file.context, file.horizon)]
        assert told.span.startswith(f"{file.context} true frames (blue-grey border), then {file.horizon} of its own")
    assert any(one.what == "scores on two.h5" for one in told.missing)


def test_the_command_of_clips_in_shards_makes_as_many(tmp_path, drawn):
    made_up_run(tmp_path / "mine")
    data = generate("balls4", {"train": 2, "test": 5}, recipe=RECIPE, out=tmp_path / "data", shards=3)
    command = told_of(tmp_path, data).commands["the clips shown"]
    assert command.endswith(f"--clips train=2 test=5 --shards 3 --out {tmp_path / 'data'}")


def test_a_run_is_made_again_from_its_data_where_that_has_another_name_now(tmp_path, data, drawn):
    made_up_run(tmp_path / "mine")
    with open_dataset(data) as file:
        learned = {"path": "/there/old.h5", "name": "old", "sha256": file.fingerprint()}
    settings = json.loads((tmp_path / "mine" / "settings.json").read_text())
    (tmp_path / "mine" / "settings.json").write_text(json.dumps(settings | {"data": learned}))
    command = "videopred train data/old.h5 --core gru --out old"
    (tmp_path / "mine" / "run.json").write_text(json.dumps({"command": command}))
    assert told_of(tmp_path, data).commands["the run"] == command.replace("data/old.h5", str(data))
    others = tiny_data(tmp_path / "others.h5", {"train": 3, "test": 4})
    assert told_of(tmp_path, others, checkpoint=False).commands["the run"] == command


def test_a_part_with_few_clips_is_shown_whole(tmp_path, drawn):
    made_up_run(tmp_path / "mine")
    told_of(tmp_path, tiny_data(tmp_path / "few.h5", {"train": 3, "validation": 2}))
    assert [(part, len(chosen)) for _, part, chosen, *_ in drawn] == [("validation", 2)]


@pytest.mark.parametrize(("by", "worst"), [(None, 4), ("mse", 4), ("psnr", 0)])
def test_scores_of_these_clips_choose_and_say_what_was_asked(tmp_path, data, drawn, by, worst):
    made_up_run(tmp_path / "mine")
    with open_dataset(data) as file:
        scores = replace(scored(**ONE), fingerprint=file.fingerprint(), protocol=ASKED)
    scores.save(tmp_path / "eval" / "mine" / "two")
    told = told_of(tmp_path, data, by=by)
    ((_, part, chosen, context, horizon),) = drawn
    assert (part, chosen[0].clip, context, horizon) == ("validation", worst, 1, 3)
    assert "of other clips" not in told.span
    assert told.span.startswith("1 true frame (")
    (block,) = told.scores
    assert block.title == (
        "two: ours, 5 clips of the validation part, 1 frame of context, 3 predicted, feedback threshold:0.5"
    )
    assert "bootstrap, widened by Student's t" in block.legend["±"]


def test_of_a_run_that_has_none_alone_scores_with_others_choose(tmp_path, data, drawn):
    made_up_run(tmp_path / "mine")
    with open_dataset(data) as file:
        told_of(tmp_path, data, among=replace(scored(**ONE), fingerprint=file.fingerprint(), protocol=ASKED))
    ((_, part, chosen, *_),) = drawn
    assert (part, chosen[0].clip) == ("validation", 4)


ASKED = Protocol(
    name="ours", part="validation", context=1, horizon=3, metrics=("mse", "psnr"), clips=5, feedback="threshold:0.5"
)


def test_scores_of_a_single_clip_have_no_interval_to_explain_and_notes_are_told(tmp_path):
    one = {
        name: {key: values[:1] for key, values in of.items()}
        for name, of in scored(**ONE).measurements["model"].items()
    }
    asked = ASKED.model_copy(update={"clips": 1, "name": None})
    scores = replace(scored(**ONE), measurements={"model": one}, protocol=asked, notes=("a note",))
    made_up_run(tmp_path / "mine")
    scores.save(tmp_path / "eval" / "mine" / "two")
    (block,) = tell_run(find_run(tmp_path / "mine", tmp_path / "eval"), None, None, CPU).scores
    assert "±" not in block.legend
    assert block.title.startswith("two: 1 clip of the validation part")
    assert tuple(block.notes) == ("a note",)


def test_a_run_without_checkpoint_says_so_and_shows_the_data(tmp_path, data, drawn):
    made_up_run(tmp_path / "mine")
    told = told_of(tmp_path, data, checkpoint=False)
    assert (told.predicted, drawn) == (None, [])
    assert told.data[""]["name"] == "balls4"
    run = tmp_path / "mine"
    assert [one.command for one in told.missing if "no checkpoint" in one.what] == [f"videopred train --resume {run}"]
    assert all("DATA" not in one.command for one in told.missing if one.what.startswith("scores"))


def test_without_data_its_scores_are_still_shown_and_not_asked_for(tmp_path):
    made_up_run(tmp_path / "mine")
    bare = tell_run(find_run(tmp_path / "mine", tmp_path / "eval"), None, None, CPU)
    assert any(one.what == "scores" for one in bare.missing)
    scored(**ONE).save(tmp_path / "eval" / "mine" / "two")
    told = tell_run(find_run(tmp_path / "mine", tmp_path / "eval"), None, None, CPU)
    assert not any(one.what == "scores" for one in told.missing)


@pytest.mark.parametrize("kinds", [(), ("gif", "png")])
def test_films_of_plausibility_are_asked_for_until_they_are_drawn(tmp_path, kinds):
    folder = tmp_path / "eval" / "mine" / "films"
    folder.mkdir(parents=True)
    (folder / "plausibility.json").write_text('{"settings": {"data": "films.h5"}, "errors": {}}')
    for kind in kinds:
        (folder / f"scene-2.{kind}").write_bytes({"gif": b"GIF89a", "png": b"\x89PNG"}[kind])
    told = tell_run(find_run(made_up_run(tmp_path / "mine"), tmp_path / "eval"), None, None, CPU)
    assert any("--draw 0" in one.command for one in told.missing) == (not kinds)


def test_commands_say_the_first_clips_where_these_are_not_all_or_how_many_there_were_is_not_known(tmp_path, data):
    """Whatever data of that name holds now."""
    made_up_run(tmp_path / "mine")
    for name, held in (("two", 5), ("old", None), ("many", 9)):
        asked = ASKED.model_copy(update={"name": None, "part": "test"})
        scores = replace(scored(**ONE), protocol=asked, reference="first.h5", clips_in_part=held)
        scores.save(tmp_path / "eval" / "mine" / name)
    commands = told_of(tmp_path, data, checkpoint=False).commands
    assert "--first" not in commands["scores on two"]
    assert "--first 5" in commands["scores on old"]
    assert "--first 5" in commands["scores on many"]
    assert "--reference first.h5" in commands["scores on two"]


def test_a_command_names_the_clips_shown_as_the_run_is_named(tmp_path, data):
    """Scores may have been made in another folder, where both had other names."""
    made_up_run(tmp_path / "mine")
    with open_dataset(data) as file:
        same = file.fingerprint()
    for name, fingerprint in (("two", same), ("old", "other")):
        scores = replace(scored(**ONE), file="../there.h5", reference="../there.h5", fingerprint=fingerprint)
        scores.save(tmp_path / "eval" / "mine" / name)
    commands = told_of(tmp_path, data, checkpoint=False).commands
    assert commands["scores on two"].startswith(f"videopred evaluate {tmp_path / 'mine'} {data} ")
    assert commands["scores on old"].startswith(f"videopred evaluate {tmp_path / 'mine'} ../there.h5 ")
    assert "--reference" not in commands["scores on two"] + commands["scores on old"]


def test_films_become_smaller_down_to_64_px_and_then_show_one_frame_in_two_four_or_eight(predicted, monkeypatch):
    drawn: list[tuple[int, int]] = []
    monkeypatch.setattr(clips, "SIZES", SIZES)
    monkeypatch.setattr(clips, "bytes_of", lambda shown: 10**9)
    monkeypatch.setattr(PredictedClips, "_draw", lambda self, place, *size: drawn.append(size) or SimpleNamespace())
    predicted.draw(0)
    tried = list(dict.fromkeys(drawn))
    sides = [side for side, every in tried if every == 1]
    assert sides == sorted(set(sides), reverse=True)
    assert tried[len(sides) - 1 :] == [(64, 1), (64, 2), (64, 4), (64, 8)]
