"""The table of scores: text, JSON and CSV."""

import csv
import json

import numpy as np
import pytest

from videopred.eval import make_metric
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol


@pytest.fixture
def scores():
    """Two rows of two metrics; each row is best in one of them, but not at every step."""
    return Scores(
        values={
            "model": {"bce": np.array([1.0, 20.0, 300.0]), "f1": np.array([1 / 3, 0.5, 0.25])},
            "blank": {"bce": np.array([2.0, 20.0, 400.0]), "f1": np.array([0.5, 0.5, 0.5])},
        },
        metrics={name: make_metric(name) for name in ("bce", "f1")},
        file="data/balls4.h5",
        fingerprint="1234abcd",
        reference="data/balls4.h5",
        protocol=Protocol(context=4, horizon=3, metrics=("bce", "f1"), clips=7),
    )


def test_table_shows_means_steps_and_the_best_of_each_column(scores):
    lines = scores.table(steps=[1, 3]).splitlines()
    assert lines[0].startswith("balls4.h5: 7 clips of the test part, 4 frames of context, 3 predicted")
    assert lines[2:5] == [
        "mean of 3 steps          BCE ↓      F1 ↑",
        "model                   107.0*    0.361",
        "blank                   140.7     0.500*",
    ]
    assert lines[6:9] == [
        "BCE ↓ at step               1         3",
        "model                     1.0*    300.0*",
        "blank                     2.0     400.0",
    ]
    assert lines[10:13] == [
        "F1 ↑ at step                1         3",
        "model                   0.333     0.250",
        "blank                   0.500*    0.500*",
    ]
    assert "nats per frame" in lines[14]


def test_equally_good_rows_are_both_marked(scores):
    assert scores.table(steps=[2]).count("20.0*") == 2


def test_steps_outside_the_rollout_are_refused(scores):
    with pytest.raises(ValueError, match="steps must lie in 1 to 3, got 0; step 1 is the first predicted frame"):
        scores.table(steps=[0])


def test_saved_files_hold_every_value_exactly(scores, tmp_path):
    paths = scores.save(tmp_path / "eval" / "run")
    assert [path.name for path in paths] == ["scores.json", "scores.csv"]
    assert {path.name for path in paths[0].parent.iterdir()} == {"scores.json", "scores.csv"}

    stored = json.loads(paths[0].read_text())
    assert stored == scores.to_dict()
    assert stored["rows"]["model"]["f1"] == {"mean": np.mean([1 / 3, 0.5, 0.25]), "steps": [1 / 3, 0.5, 0.25]}
    assert stored["protocol"]["context"] == 4
    assert stored["metrics"]["f1"]["higher_is_better"] is True

    lines = list(csv.DictReader(paths[1].open()))
    assert len(lines) == 2 * 2 * 3
    for line in lines:
        assert float(line["value"]) == scores.values[line["row"]][line["metric"]][int(line["step"]) - 1]


def test_nothing_is_overwritten_unasked(scores, tmp_path):
    (tmp_path / "scores.csv").write_text("precious")
    with pytest.raises(FileExistsError, match=r"--out must be a new path, got .*scores.csv \(already there\)"):
        scores.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]
    scores.save(tmp_path, overwrite=True)
    assert (tmp_path / "scores.csv").read_text().startswith("row,metric,step,value")


def test_a_failed_write_leaves_the_old_file(scores, tmp_path, monkeypatch):
    scores.save(tmp_path)
    before = (tmp_path / "scores.json").read_text()

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        scores.save(tmp_path, overwrite=True)
    assert (tmp_path / "scores.json").read_text() == before
    assert len(list(tmp_path.iterdir())) == 2
