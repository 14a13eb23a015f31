"""What is no data is told apart: films of others, recipes, runs, and files that must be made again."""

import re
import shlex

import h5py
import numpy as np
import pytest

from videopred.datasets import find_recipe, open_dataset


@pytest.mark.parametrize("name", ["a film.npy", "f.NPZ", "f.gif", "f.mp4"])
def test_films_of_others_are_said_to_be_brought_in(tmp_path, name):
    (tmp_path / name).write_bytes(b"films")
    command = shlex.join(("videopred", "import", str(tmp_path / name), "--out", f"{(tmp_path / name).stem}.h5"))
    with pytest.raises(ValueError, match=re.escape(f"; bring it in with `{command}`")):
        open_dataset(tmp_path / name)


def test_a_folder_of_films_is_said_to_be_brought_in_and_a_run_to_be_one(tmp_path):
    (tmp_path / "films" / "first").mkdir(parents=True)
    (tmp_path / "films" / "first" / "0.png").write_bytes(b"")
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "settings.json").write_text("{}")
    (tmp_path / "seeds" / "seed-0").mkdir(parents=True)
    (tmp_path / "seeds" / "seeds.json").write_text("{}")
    (tmp_path / "seeds" / "seed-0" / "settings.json").write_text("{}")
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "curtain.h5").write_bytes(b"")
    (tmp_path / "sets" / "balls4.h5").write_bytes(b"")
    (tmp_path / "sets" / "preview.gif").write_bytes(b"")
    (tmp_path / "above" / "balls4").mkdir(parents=True)
    (tmp_path / "above" / "balls4" / "balls4-00000-of-00001.h5").write_bytes(b"")
    (tmp_path / "intphys" / "train" / "00001" / "scene").mkdir(parents=True)
    (tmp_path / "models" / "gru").mkdir(parents=True)
    (tmp_path / "models" / "gru" / "settings.json").write_text("{}")
    (tmp_path / "models" / "gru.gif").write_bytes(b"")
    (tmp_path / "eval" / "gru" / "balls4").mkdir(parents=True)
    (tmp_path / "eval" / "gru" / "balls4" / "scores.json").write_text("{}")
    (tmp_path / "eval" / "comparison.png").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    fixes = {
        "films": "bring it in with `videopred import ",
        "intphys": "bring it in with `videopred import ",
        "run": "it is a run: look at it with `videopred runs .*`, or go on with it by `videopred train --resume .*run`",
        "seeds": "it is a run: look at it with ",
        "sets": "name one of its files, such as .*sets/balls4.h5$",
        "above": "name a folder in it, such as .*above/balls4$",
        "models": "it holds runs: list them with `videopred runs .*models`$",
        "eval": "it holds scores: name the data that they are of$",
        "empty": "make it again",
    }
    for name, fix in fixes.items():
        with pytest.raises(ValueError, match=rf"{name} \(a folder without any\); {fix}"):
            open_dataset(tmp_path / name)


def test_an_export_is_said_to_be_a_run(tmp_path):
    (tmp_path / "mine.safetensors").write_bytes(b"weights")
    with pytest.raises(ValueError, match=r"; it is a run: look at it with `videopred runs \S+mine\.safetensors`$"):
        open_dataset(tmp_path / "mine.safetensors")


def test_clips_of_a_recipe_are_said_to_be_made_first(tmp_path):
    (tmp_path / "my balls.json").write_text(find_recipe("balls4").model_dump_json())
    command = shlex.join(("videopred", "generate", str(tmp_path / "my balls.json")))
    with pytest.raises(ValueError, match=re.escape(f"; if it is a recipe, make its clips with `{command}`")):
        open_dataset(tmp_path / "my balls.json")


def test_arrays_of_others_are_said_to_be_brought_in(tmp_path):
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["test/frames"] = np.zeros((2, 3, 4, 5))
    with pytest.raises(
        ValueError, match=r"or bring in arrays of others with `videopred import \S+ --out theirs-films\.h5`"
    ):
        open_dataset(tmp_path / "theirs.h5")


def test_a_file_of_films_is_named_after_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "films").mkdir()
    np.save(tmp_path / "films" / "a.npy", np.zeros((2, 3, 4), np.uint8))
    monkeypatch.chdir(tmp_path / "films")
    with pytest.raises(ValueError, match=r"bring it in with `videopred import \. --out films\.h5`"):
        open_dataset(".")
