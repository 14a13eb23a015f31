from pathlib import Path

import pytest

from videopred.spelling import nearest, nearest_path, nearest_run


def test_the_nearest_word_is_found_if_any_is_near():
    assert nearest("rimz", ["gru", "rims", "brims"]) == "rims"
    assert nearest("transformer", ["gru", "rims"]) is None
    assert nearest("rims", []) is None
    assert nearest("bf16", ["32-true", "bf16-mixed", "bf16-true"]) == "bf16-mixed"
    assert nearest("ball", ["ball-old", "balls"]) == "balls"


def test_capitals_are_like_small_letters():
    assert nearest("SCOFF", ["gru", "scoff"]) == "scoff"
    assert nearest("mine", ["Yours", "MINE"]) == "MINE"


def test_of_several_as_near_the_first_is_offered():
    assert nearest("ball", ["crops", "balls4", "balls1", "balls8"]) == "balls4"


def test_a_beginning_stands_for_the_only_name_that_has_it():
    assert nearest("val", ["train", "validation"]) == "validation"
    assert nearest("tra", ["transformer", "transformer-balls", "gru"]) is None
    assert nearest("va", ["train", "validation"]) is None


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("two.h5", "two.gif", ".twos.h5", "threes.json"):
        Path(name).touch()
    Path("datasets").mkdir()
    for name in ("far.h5", "two.h5"):  # the second is right here as well
        Path("datasets", name).touch()
    for run in ("models/three-gru/settings.json", "models/two-gru/seeds.json", "runs/two-rims/settings.json"):
        Path(run).parent.mkdir(parents=True)
        Path(run).touch()
    Path("models/two-rims").mkdir()  # holds no run
    Path("models/far.safetensors").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "names", "near"),
    [
        ("tow.h5", [], "two.h5"),
        ("tow.gif", [], "two.gif"),
        ("twos.h5", [], "two.h5"),  # hidden files are none of anybody's business
        ("three.h5", [], None),  # an ending alone makes nothing alike
        ("three", [], "threes.json"),
        ("balls5", ["balls4", "rims"], "balls4"),
        ("two", ["tow"], "two.h5"),
        ("gone/two.h5", [], "two.h5"),
        ("gone/two.gif", [], None),
        ("far.h5", [], "datasets/far.h5"),
        ("far", ["fair"], "datasets/far.h5"),  # as a preset is called, of whose clips is asked
        ("fra.h5", [], "datasets/far.h5"),
        ("models/two-gur", [], "models/two-gru"),
        ("model/two-gru", [], "models/two-gru"),
        ("model/two-gur/settings.json", [], None),  # its folder holds nothing of that name
        ("model/two-rms/settings.json", [], None),
        ("gone/balls5", ["balls4"], "balls4"),
    ],
)
def test_a_path_to_nothing_is_like_a_file_of_its_kind_or_a_name(folder, path, names, near):
    assert nearest_path(Path(path), names) == near


def test_a_path_in_a_misspelt_folder_is_that_and_not_one_like_it(folder):
    Path("models/two-gru.safetensors").touch()
    assert nearest_path(Path("model/two-gru")) == "models/two-gru"
    assert nearest_path(Path("model/two-gru.safetensors")) == "models/two-gru.safetensors"


def test_no_file_in_a_misspelt_folder_is_offered_for_a_folder(folder):
    Path("models/two-gru.h5").touch()
    assert nearest_path(Path("model/two-gru.h5"), folder=True) != "models/two-gru.h5"
    assert nearest_path(Path("model/two-gru"), folder=True) == "models/two-gru"


def test_a_folder_is_offered_with_its_whole_path(folder):
    assert nearest_path(folder / "tow.h5") == str(folder / "two.h5")


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("models/three-gur", "models/three-gru"),
        ("three-gru", "models/three-gru"),
        ("models/two-rims", "models/two-gru"),
        ("runs/two-rms", "runs/two-rims"),
        ("fra", "models/far.safetensors"),
        ("runs/three-gru", "models/three-gru"),
        ("nothing-like-it", None),
    ],
)
def test_a_path_to_no_run_is_like_a_run_beside_it_or_in_models(folder, path, near):
    assert nearest_run(Path(path)) == near


def test_whoever_is_in_the_folder_already_is_told_the_name_alone(folder, monkeypatch):
    monkeypatch.chdir("models")
    assert nearest_run(Path("models/two-gru")) == "two-gru"
    monkeypatch.chdir("../datasets")
    assert nearest_path(Path("datasets/far.h5")) == "far.h5"
