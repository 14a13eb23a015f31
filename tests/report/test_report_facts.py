"""What a page says of a run, from files made up by hand: its facts, its curves and what is damaged."""

import json
import re
from pathlib import Path

import pytest
from report_samples import LOG, made_up_run, scored

from videopred.check import FaultyFileError
from videopred.report.facts import data_card, first_facts, learning_charts, provenance, settings_by_part, thinned
from videopred.report.found import find_run
from videopred.training.metrics_rows import curves


def test_curves_are_over_updates_done_and_leave_out_what_is_no_number(tmp_path):
    found = curves(find_run(made_up_run(tmp_path / "mine", LOG), tmp_path).log)
    assert found == {
        "train_bce": ([1, 2, 3], [9, 8, 6]),
        "validation_bce": ([2, 3], [7.25, 7.75]),
        "learning_rate": ([1, 2, 3], [0.1, 0.1, 0.1]),
        "gradient_norm": ([1, 2], [3, 2]),
    }


def test_losses_share_a_chart_and_what_does_not_move_has_none(tmp_path):
    charts = learning_charts(find_run(made_up_run(tmp_path / "mine", LOG), tmp_path))
    said = [re.findall(r'aria-label="([^"]*)"', chart)[0] for chart in charts]
    assert len(said) == 2
    assert said[0].startswith("loss over the updates: train bce from 9 to 6; validation bce from 7.25 to 7.75")
    assert said[1].startswith("gradient norm over the updates")


def test_a_long_curve_is_drawn_as_means_of_neighbours():
    line = thinned(range(600), [2 * step for step in range(600)], "line-3")
    assert (len(line.x), line.x[:2], line.x[-1], line.y[:2]) == (300, [0.5, 2.5], 598.5, [1, 5])
    assert line.style == "line-3"
    assert thinned([4, 9], [1, 3], "line-0").x == [4, 9]


def test_first_are_the_core_the_frames_and_the_lowest_loss(tmp_path):
    record = {"updates": 12345, "state": "done"}
    run = find_run(made_up_run(tmp_path / "mine", LOG, record), tmp_path)
    scores = scored(model=([0.1, 0.2, 0.3], [10, 11, 12]), blank=([0.5] * 3, [1, 1, 1]))
    assert first_facts(run, scores) == {
        "core": "gru",
        "frames": "24 × 32",
        "updates": "12,345",
        "state": "done",
        "lowest validation loss (bce)": "7.25",
        "MSE ↓": "0.2000",
    }
    bare = find_run(made_up_run(tmp_path / "bare", film_shape=[3, 24, 32]), tmp_path)
    assert first_facts(bare, None) == {"core": "gru", "frames": "24 × 32 in color"}


def test_a_loss_that_is_not_a_number_is_never_lowest(tmp_path):
    log = [{"update": "2", "validation_bce": "nan"}, {"update": "3", "validation_bce": "7.25"}]
    run = find_run(made_up_run(tmp_path / "mine", log), tmp_path)
    assert first_facts(run, None)["lowest validation loss (bce)"] == "7.25"


@pytest.mark.parametrize(
    ("trained", "said"),
    [("a1", "the data it was trained on"), ("b2", "not the data it was trained on"), (None, None)],
)
def test_data_is_known_again_by_its_fingerprint(tmp_path, trained, said):
    run = find_run(
        made_up_run(tmp_path / "mine", data={"path": "p.h5", "sha256": trained} if trained else None), tmp_path
    )
    facts = {
        "name": "mine",
        "parts": {"train": {"clips": 7, "mean_intensity": 0.123456789}, "test": {"clips": 0}},
        "recipe": {"balls": [2, 3], "walls": True},
    }
    card = data_card(facts, "a1", run)
    assert card.pop("") == {"name": "mine", "fingerprint": "a1"} | ({"this is": said} if said else {})
    assert card == {
        "train": {"clips": "7", "mean intensity": "0.123457"},
        "recipe": {"balls": "2 3", "walls": "yes"},
    }
    assert "recipe" not in data_card(facts | {"recipe": None}, "a1", run)


def test_settings_stand_by_their_part_and_the_machine_is_nobodys_matter(tmp_path):
    settings = {
        "training": {"updates": 2, "clip": None, "balls": []},
        "compute": {"workers": 0},
        "init_from": "models/first",
    }
    record = {
        "host": "secret",
        "commit": "c0ffee",
        "cpu_seconds": 1234.5678,
        "device": None,
        "versions": {"torch": "2.9"},
    }
    run = find_run(made_up_run(tmp_path / "mine", record=record, **settings), tmp_path)
    assert settings_by_part(run) == {
        "core": {"kind": "gru", "units": "5"},
        "films": {"own": "yes", "film shape": "1 24 32", "init from": "models/first"},
        "training": {"updates": "2", "clip": "–", "balls": "–"},
        "compute": {"workers": "0"},
    }
    assert provenance(run) == {"CPU time": "20 min 35 s", "commit": "c0ffee", "torch": "2.9"}
    assert provenance(run._replace(record={"seconds": float("nan")})) == {"seconds": "nan"}, "as a damaged one says"


def test_a_scene_is_one_that_has_its_film_and_its_picture(tmp_path):
    made_up_run(tmp_path / "mine")
    folder = tmp_path / "eval" / "mine" / "films"
    folder.mkdir(parents=True)
    (folder / "plausibility.json").write_text('{"settings": {"data": "films.h5"}, "errors": {}}')
    for name in ("scene-1.gif", "scene-2.gif", "scene-2.png", "scene-10.gif", "scene-10.png"):
        (folder / name).write_bytes({"gif": b"GIF89a", "png": b"\x89PNG"}[name[-3:]])
    (folder / "scene-0.png").write_bytes(b"\x89PNG")
    for kind, begins in (("gif", b"GIF89a"), ("png", b"\x89PNG")):
        (tmp_path / f"mine.{kind}").write_bytes(begins)
    (folder / "scene-0.gif").symlink_to(tmp_path / "mine.gif")
    found = find_run(tmp_path / "mine", tmp_path / "eval")
    assert found.surprise == {"films": [(folder / "scene-2.gif", folder / "scene-2.png")]}
    (folder / "scene-0.gif").unlink()
    (folder / "scene-0.gif").write_bytes(b"GIF89a")
    (folder / "scene-0.png").unlink()
    (folder / "scene-0.png").symlink_to(tmp_path / "mine.png")
    assert find_run(tmp_path / "mine", tmp_path / "eval").surprise == found.surprise
    (folder / "scene-0.png").unlink()
    (folder / "scene-0.png").write_text("no picture")
    found = find_run(tmp_path / "mine", tmp_path / "eval")
    assert found.surprise == {"films": [(folder / "scene-2.gif", folder / "scene-2.png")]}


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        (
            {"errors": {"max": [{"where": {}, "scenes": 7, "relative": {"value": 0.5, "low": 0.1, "hygh": 0.9}}]}},
            "errors.max.0.relative.high",
        ),
        ({"errors": {"max": {"where": {}}}}, "errors.max"),
        ({"settings": None}, "settings"),
        ({"settings": {"run": "models/mine"}}, "settings.data"),
    ],
)
def test_judgements_of_another_kind_are_one_line(tmp_path, changes, where):
    file = tmp_path / "eval" / "mine" / "films" / "plausibility.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"settings": {"data": "films.h5", "run": "models/mine"}, "errors": {}} | changes))
    must = rf"^{file} must hold what `videopred plausibility` wrote, got something else at {where}; judge it again$"
    with pytest.raises(FaultyFileError, match=must):
        find_run(made_up_run(tmp_path / "mine"), tmp_path / "eval")


def test_data_that_is_gone_is_none_and_data_below_the_current_folder_is_named_from_there(tmp_path, monkeypatch):
    gone = find_run(made_up_run(tmp_path / "mine", data={"path": str(tmp_path / "p.h5")}), tmp_path)
    assert gone.data is None
    (tmp_path / "p.h5").touch()
    assert gone.data == tmp_path / "p.h5"
    monkeypatch.chdir(tmp_path)
    assert gone.data == Path("p.h5")


_NO_SETTINGS = "^RUN must hold the settings of a run, got .*mine, with something else at {}; train again$"


def test_an_own_core_is_called_by_its_address(tmp_path):
    own = {"core": {"kind": "own", "source": "mine:Core"}}
    assert find_run(made_up_run(tmp_path / "mine", model=own), tmp_path).core == "mine:Core"
    assert find_run(made_up_run(tmp_path / "gru"), tmp_path).core == "gru"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("settings.json", '{"model": {}}', _NO_SETTINGS.format(r"model\.core")),
        ("settings.json", '{"model": null}', _NO_SETTINGS.format("model")),
        ("settings.json", '{"model": []}', _NO_SETTINGS.format("model")),
        ("settings.json", '{"model": {"core": 5}}', _NO_SETTINGS.format(r"model\.core")),
        ("settings.json", '{"model": {"core": {}}, "data": "x"}', _NO_SETTINGS.format("data")),
        ("settings.json", '{"model": {"core": {}}, "data": {"path": 3}}', _NO_SETTINGS.format(r"data\.path")),
        ("settings.json", '{"model": {"core": {}}, "film_shape": [1]}', _NO_SETTINGS.format("film_shape")),
        ("settings.json", '{"model": {"core": {}}, "training": 3}', _NO_SETTINGS.format("training")),
        ("settings.json", "[1]", r"settings\.json must hold JSON, got something else; make it again"),
        ("run.json", "{", r"run\.json must hold JSON, got something else"),
    ],
)
def test_a_damaged_file_of_a_run_is_named(tmp_path, name, text, message):
    run = made_up_run(tmp_path / "mine")
    (run / name).write_text(text)
    with pytest.raises(FaultyFileError, match=message):
        find_run(run, tmp_path)
