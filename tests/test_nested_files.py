"""JSON of others that is nested deeper than Python reads is a damaged file like any other."""

from pathlib import Path

import numpy as np
import pytest
from command_line import run
from safetensors.numpy import save_file

from videopred.check import FaultyFileError
from videopred.datasets import read_recipe
from videopred.eval.file_names import score_files, stamps_in
from videopred.eval.saved_scores import load_scores
from videopred.files import write_text
from videopred.training.places import seeds_of
from videopred.weights import read_header

NESTED = '{"a":' * 100_000


def test_files_of_scores_are_passed_over_or_refused(tmp_path):
    path = write_text(tmp_path / "a" / "x" / "scores.json", NESTED)
    assert (score_files(tmp_path), stamps_in(path)) == ([], set())
    for other in ("scores.csv", "measurements.npz"):
        (path.parent / other).touch()
    with pytest.raises(FaultyFileError, match=r"^SCORES must hold the scores"):
        load_scores(path.parent)


def test_recipes_exports_and_summaries_of_seeds_are_refused(tmp_path):
    with pytest.raises(FaultyFileError, match=r"^DATA must be a recipe, got .*json"):
        read_recipe("DATA", "be a recipe", write_text(tmp_path / "a.json", NESTED))
    save_file({"a": np.zeros(3)}, tmp_path / "a.safetensors", {"videopred": NESTED})
    with pytest.raises(FaultyFileError, match=r"^RUN must be an export of videopred"):
        read_header(tmp_path / "a.safetensors")
    write_text(tmp_path / "seeds.json", NESTED)
    with pytest.raises(FaultyFileError, match=r"seeds\.json must name the seeds"):
        seeds_of(tmp_path)


def test_a_run_with_such_settings_is_not_resumed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    write_text(Path("a/settings.json"), NESTED)
    assert run("train --resume a") == 1
    assert capfd.readouterr().err.startswith("videopred: RUN must hold the settings of a run, got a/settings.json;")
