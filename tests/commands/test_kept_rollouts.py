"""`videopred rollout`, and its files as films for `videopred evaluate --pred`: they have the scores of their run."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import CLIPS, SIZES, SMALL, run


@pytest.fixture(scope="module")
def rolled(place, tmp_path_factory) -> Path:
    """Rollouts of a run, `test` of the test part and `train` of the first clips of the training part."""
    folder = tmp_path_factory.mktemp("rolled")
    for part in ("test", "train"):
        words = f"--part {part} --first 5 --context 5 --horizon 4 --out {folder / part}.npz"
        assert run(f"rollout {place / 'gru'} {place / 'balls4.h5'} {words}") == 0
    for name, words in {"short": "--context 3 --first 5", "fewer": "--context 5 --first 4"}.items():
        words += f" --horizon 4 --out {folder / name}.npz"
        assert run(f"rollout {place / 'gru'} {place / 'balls4.h5'} {words}") == 0
    return folder


def test_a_rollout_that_was_kept_has_the_scores_of_its_run(place, rolled, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    data, asked = place / "balls4.h5", "--context 5 --horizon 4 --metrics mse --json"
    assert run(f"evaluate {place / 'gru'} {data} {asked} --out run") == 0
    of_run = json.loads(capfd.readouterr().out)
    kept = f"--pred {rolled / 'test.npz'} --pred-array prediction --range 0 1 --axes BTCHW"
    assert run(f"evaluate {data} {kept} {asked} --out films") == 0
    of_films = json.loads(capfd.readouterr().out)
    assert f"{rolled / 'test.npz'} is of {place / 'gru'}" in of_films["notes"]
    expected = of_run["rows"]["model"]["mse"]["steps"]
    np.testing.assert_allclose(of_films["rows"]["prediction"]["mse"]["steps"], expected, rtol=1e-6)
    assert run(f"evaluate {kept} --true {rolled / 'test.npz'} --true-array truth --metrics mse --json --out both") == 0
    of_both = json.loads(capfd.readouterr().out)
    for films, told in {f"{data}": asked, "": "--metrics mse --json"}.items():
        true = "" if films else f"--true {rolled / 'test.npz'}"
        assert run(f"evaluate {films} --pred {rolled / 'test.npz'} {true} {told} --out unsaid --overwrite") == 0
        unsaid = json.loads(capfd.readouterr().out)
        for one in (unsaid, of_films, of_both):
            one.pop("files", None)
        assert unsaid == (of_films if films else of_both), "what the file says need not be said"
    np.testing.assert_allclose(of_both["rows"]["prediction"]["mse"]["steps"], expected, rtol=1e-6)


def test_samples_that_were_kept_have_the_scores_of_their_run(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    asked = f"{place / 'gru'} {place / 'balls4.h5'} --context 5 --horizon 4 --feedback sample --samples 3"
    assert run(f"rollout {asked} --first 99 --out few.npz") == 2
    assert "--first must be at most" in capfd.readouterr().err
    assert run(f"rollout {asked} --out kept.npz") == 0
    with np.load("kept.npz") as kept:
        assert len(kept["prediction"]) == 3
        assert kept["prediction"].shape[2:] == kept["truth"].shape[1:]
    assert run(f"evaluate {asked} --metrics mse --json --out run") == 0
    capfd.readouterr()
    words = f"{place / 'balls4.h5'} --pred kept.npz --context 5 --horizon 4 --metrics mse"
    assert run(f"evaluate {words} --json --out films") == 0
    of_films, of_run = (json.loads((tmp_path / name / "scores.json").read_text()) for name in ("films", "run"))
    for column in ("mse best of 3", "mse mean of 3"):
        steps = of_run["rows"]["model"][column]["steps"]
        np.testing.assert_allclose(of_films["rows"]["prediction"][column]["steps"], steps, rtol=1e-6)
    assert any("kept.npz is of" in note and "--samples 3" in note for note in of_films["notes"])


def test_samples_without_chance_are_said_to_be_the_same(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    asked = f"{place / 'gru'} {place / 'balls4.h5'} --context 5 --horizon 4 --first 2"
    for words, told in (("--samples 2", True), ("--samples 2 --feedback sample", False), ("", False)):
        assert run(f"rollout {asked} {words} --overwrite --out kept.npz") == 0
        assert ("all samples are the same; --feedback sample draws them" in capfd.readouterr().out) == told
    assert run(f"rollout {asked} --samples 0") == 2
    assert "--samples must be at least 1, got 0; ask for at least one film" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("kept", "clips", "more", "message"),
    [
        ("test", "{data}", "--context 4", "--context must be 5, as {rolled}/test.npz says, got 4; give what it"),
        ("train", "{data}", "--context 5", "--part must be train, as {rolled}/train.npz says, got test; give what"),
        ("train", "--true {data}", "--context 5", "--part must be train, as {rolled}/train.npz says, got test; give"),
        ("test", "--true {data}", "--context 3", "--context must be 5, as {rolled}/test.npz says, got 3; give what"),
        (
            "test",
            "{data}",
            "--context 5 --pred-array one_step",
            "--context must be 1, as {rolled}/test.npz says, got 5",
        ),
        ("test", "{data}", "--axes BTHWC", "--axes must be left out where no array is given, got BTHWC; pictures and "),
        (
            "test",
            "--true {rolled}/test.npz",
            "--true-range 0 9",
            "--true-range must be left out where no array is given",
        ),
        (
            "train",
            "--true {rolled}/test.npz",
            "",
            "--pred must be of the clips and the context of {rolled}/test.npz, got",
        ),
        ("test short", "--true {rolled}/test.npz", "", "{rolled}/short.npz, of the context 3 in the place of 5; give"),
        ("fewer", "--true {rolled}/test.npz", "--first 4", "{rolled}/fewer.npz, of other clips of {data}; give what"),
        (
            "test",
            "{other}",
            "--context 5",
            "DATA must hold the clips of {data} that {rolled}/test.npz is of, got ",
        ),
    ],
)
def test_a_rollout_is_not_scored_on_other_clips_or_behind_another_context(
    place, rolled, tmp_path, monkeypatch, capfd, kept, clips, more, message
):
    monkeypatch.chdir(tmp_path)
    names = {"data": place / "balls4.h5", "rolled": rolled, "other": tmp_path / "other.h5"}
    assert run(f"generate balls4 {SIZES} {SMALL['balls4']} {CLIPS} --seed 8 --out other.h5") == 0
    films = f"--pred {' '.join(f'{rolled / one}.npz' for one in kept.split())} --metrics mse"
    assert run(f"evaluate {clips.format(**names)} {films} --horizon 4 {more}") == 2
    assert message.format(**names) in capfd.readouterr().err
