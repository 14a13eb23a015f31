"""Files of experiments that somebody spoilt: each is refused in one line that names the key as it stands there."""

import json
import re
from pathlib import Path

import pytest
from command_line import run

from videopred.check import FaultyFileError
from videopred.experiments import read_experiment
from videopred.experiments.asking import ask


@pytest.fixture
def content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ask("rims-balls4", "tiny")
    assert asked is not None
    return json.loads(asked.scaled.model_dump_json())


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("colour", 1, "colour in my.json must be a known setting, got 1; remove it"),
        ("data", "../x", "data in my.json must be a name of letters, digits, - and _, got '../x'; its clips go to "),
        ("protocols", "crops", "protocols in my.json must be a list, got 'crops'"),
        ("stated", [], "stated in my.json must be an object or a dict, got ()"),
        ("clips", {}, "clips in my.json must have train in it, got nothing; say how many clips"),
        ("clips", {"test": 1}, "clips in my.json must have train in it, got test; say how many clips"),
        ("clips.train", 0, "clips.train in my.json must be greater than 0, got 0"),
        ("model", "rims", "model in my.json must be settings, got 'rims'; give an object"),
        ("model.cores", 1, "model.cores in my.json must be a known setting, got 1; did you mean model.core?"),
        ("model.core.kind", "rimz", "model.core in my.json must be one of gru, lstm, "),
        ("model.core.active", "3", "model.core.active in my.json must be a valid integer, got '3'"),
        ("model.core.active", 9, "must be at most 6, got 9; lower model.core.active or raise model.core.modules"),
        (
            "model.core.comm_head",
            9,
            "model.core.comm_head in my.json must be a known setting, got 9; did you mean model",
        ),
        (
            "recipe.radii",
            [1.0],
            "recipe.masses in my.json must be 1 number, one for each of recipe.radii, got 1 6",
        ),
        ("recipe.speed", float("nan"), "recipe.speed in my.json must be a finite number, got nan"),
        ("recipe.ball", 1, "recipe.ball in my.json must be a known setting, got 1; did you mean recipe.balls?"),
        ("training.grow_over", 7, "training.grow_over in my.json must come with training.free_running, got 7 without"),
        ("training.learnin_rate", 1, "training.learnin_rate in my.json must be a known setting, got 1; did you mean t"),
    ],
)
def test_a_fault_is_told_with_its_key_and_file(key, value, told, content, capfd):
    *sections, name = key.split(".")
    inside = content
    for section in sections:
        inside = inside[section]
    inside[name] = value
    Path("my.json").write_text(json.dumps(content))
    assert run("train my.json") == 1  # the words are right, what is in the file is not
    err = capfd.readouterr().err
    assert told in err
    assert err.count("\n") == 1
    assert "--" not in err


def test_a_section_that_is_misspelt_is_not_said_to_be_missing(content, capfd):
    content["trainin"] = content.pop("training")
    Path("my.json").write_text(json.dumps(content))
    assert run("train my.json") == 1
    told = "trainin in my.json must be a known setting, got settings; did you mean training?"
    assert told in capfd.readouterr().err


def test_the_settings_of_a_run_are_no_experiment(content):
    Path("models/gru").mkdir(parents=True)
    Path("models/gru/settings.json").write_text(json.dumps({"film_shape": [1, 24, 32], "model": content["model"]}))
    message = (
        r"got models/gru/settings\.json, the settings of a run; start from its weights with --init-from models/gru"
    )
    with pytest.raises(FaultyFileError, match=message):
        read_experiment(Path("models/gru/settings.json"))


def test_settings_of_no_kind_are_told_that_it_is_missing(content):
    del content["model"]["core"]["kind"]
    Path("my.json").write_text(json.dumps(content))
    with pytest.raises(FaultyFileError, match=r"^model\.core\.kind in my\.json must be given, got nothing; say what"):
        read_experiment(Path("my.json"))


def test_a_flag_beside_a_file_is_told_as_a_flag(content, capfd):
    Path("my.json").write_text(json.dumps(content))
    assert run("train my.json --core.active 9") == 2
    assert capfd.readouterr().err.startswith("videopred: --core.active must be at most 6, got 9; lower --core.active")


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "Expecting value: line 1 column 1"),
        ('{"summary": "half', "Unterminated string starting at: line 1 column 13"),
        ('{"data": "a", "data": "b"}', "'data' twice in one object"),
        ('{"model": {"core": {"units": 3, "units": 3}}}', "'units' twice in one object"),
        ("[" * 100_000, "(maximum recursion depth exceeded|Stack overflow)"),  # as older and newer Pythons say
        ('"Bälle"'.encode("latin1"), "'utf-8' codec can't decode byte 0xe4"),
    ],
)
def test_what_is_no_json_is_told_to_be_none(text, got, tmp_path):
    path = tmp_path / "my.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FaultyFileError, match=rf"^{re.escape(str(path))} must be JSON, got {got}") as caught:
        ask(str(path), None)
    assert str(caught.value).endswith(
        "; mend it there, or write another with `videopred train rims-balls4 --write my.json`"
    )


def test_a_file_of_windows_may_begin_with_its_mark(content):
    Path("my.json").write_text(json.dumps(content), encoding="utf-8-sig")
    assert read_experiment(Path("my.json")).data == "balls4-rnem-tiny"


@pytest.mark.parametrize(
    ("key", "value", "flags", "told"),
    [
        ("recipe.height", 23, "", "frame height must be a multiple of 4 for 2 halvings, got 23; "),
        ("clips.train", 3, "", "--batch-size must be at most 3, the clips left to learn from, got 4; "),
        ("summary", "As it was.", "--device cuda:99", "--device must be a device of this machine, which has "),
    ],
)
def test_what_does_not_fit_is_told_before_the_clips_are_made(key, value, flags, told, content, capfd):
    *sections, name = key.split(".")
    (content[sections[0]] if sections else content)[name] = value
    Path("my.json").write_text(json.dumps(content))
    assert run(f"train my.json {flags}") == 2
    assert capfd.readouterr().err.startswith(f"videopred: {told}")
    assert not Path("datasets").exists()
