"""Scores in files: JSON, CSV and measurements, written and read."""

import csv
import json
import re
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from made_up_scores import made_up

from videopred.check import FaultyFileError
from videopred.eval.file_names import SCORE_FILES
from videopred.eval.saved_scores import load_scores
from videopred.eval.scores import Scores


@pytest.fixture
def scores() -> Scores:
    return made_up()


def test_saved_files_hold_every_value_exactly(scores, tmp_path):
    paths = scores.save(tmp_path / "eval" / "run")
    assert tuple(path.name for path in paths) == SCORE_FILES
    assert {path.name for path in paths[0].parent.iterdir()} == set(SCORE_FILES)

    stored = json.loads(paths[0].read_text())
    assert stored.pop("measurements") == sha256(paths[2].read_bytes()).hexdigest()
    assert stored == scores.to_dict()
    cell = stored["rows"]["model"]["f1"]
    np.testing.assert_allclose(cell["steps"], [1 / 3, 0.5, 0.25])
    assert cell["mean"] == pytest.approx(np.mean([1 / 3, 0.5, 0.25]))
    assert tuple(cell["interval"]) == scores.interval("model", "f1")
    assert cell["skill"] == pytest.approx((cell["mean"] - 0.25) / 0.75)
    assert all(low < value < high for (low, high), value in zip(cell["intervals"], cell["steps"], strict=True))
    assert stored["protocol"]["context"] == 4
    assert stored["metrics"]["f1"]["higher_is_better"] is True

    lines = list(csv.DictReader(paths[1].open()))
    assert len(lines) == 3 * 2 * 3
    for line in lines:
        assert float(line["value"]) == scores.values[line["row"]][line["metric"]][int(line["step"]) - 1]
        assert float(line["low"]) <= float(line["value"]) <= float(line["high"])


def test_what_was_saved_is_read_again(scores, tmp_path):
    paths = scores.save(tmp_path)
    for place in (tmp_path, paths[0]):
        again = load_scores(place)
        assert again.table() == scores.table()
        assert again.to_dict() == scores.to_dict()
        np.testing.assert_array_equal(again.measurements["model"]["f1"]["fn"], scores.measurements["model"]["f1"]["fn"])


def test_all_that_is_told_is_read_again(scores, tmp_path):
    """With rows that are called after folders, as those of several runs are."""
    ours, blank, last = scores.measurements.values()
    rows = {"runs/gru/seed-0": ours, "runs/gru/seed-1": last, "blank": blank}
    told = made_up(
        measurements=rows,
        models=("runs/gru/seed-0", "runs/gru/seed-1"),
        seeds={"gru": ("runs/gru/seed-0", "runs/gru/seed-1")},
        notes=("trained on other clips",),
        best_of={"runs/gru/seed-1": {"bce": {1: 7.5, 10: 6.25}}},
        predictable=19,
        stamps={"runs/gru/seed-0": "a5"},
    )
    told.save(tmp_path)
    again = load_scores(tmp_path)
    assert again != told, "arrays cannot be asked whether they are the same"
    for name in (
        "models",
        "seeds",
        "notes",
        "best_of",
        "predictable",
        "stamps",
        "file",
        "fingerprint",
        "reference",
        "protocol",
    ):
        assert getattr(again, name) == getattr(told, name), name
    assert {row: list(columns) for row, columns in again.measurements.items()} == {row: ["bce", "f1"] for row in rows}


def test_what_is_no_scores_is_refused(scores, tmp_path):
    must = r"^SCORES must hold the scores that `videopred evaluate` wrote, got .*scores\.json \(.*\); make them again"
    with pytest.raises(FileNotFoundError, match=r"SCORES must be an existing file, got .*scores.json"):
        load_scores(tmp_path)
    scores.save(tmp_path)
    kept = json.loads((tmp_path / "scores.json").read_text())
    asked = kept["protocol"]
    for other in (
        {},
        kept | {"file": ["two.h5"]},
        kept | {"file": None},
        kept | {"reference": 5},
        kept | {"fingerprint": {}},
        kept | {"metrics": {"bce": kept["metrics"]["bce"]}},
        kept | {"metrics": list(kept["metrics"].values())},
        kept | {"metrics": {name: said | {"convention": "another"} for name, said in kept["metrics"].items()}},
        kept | {"models": ["other"]},
        kept | {"models": ["model", "model"]},
        kept | {"seeds": {"model, 2 seeds": ["model", "model"]}},
        kept | {"seeds": {"blank, a seed": ["blank"]}},
        kept | {"protocol": {name: value for name, value in asked.items() if name != "clips"}},
        kept | {"protocol": asked | {"horizon": asked["horizon"] - 1}},
    ):
        (tmp_path / "scores.json").write_text(json.dumps(other))
        with pytest.raises(FaultyFileError, match=must):
            load_scores(tmp_path)
    scores.save(tmp_path, overwrite=True)
    whole = (tmp_path / "measurements.npz").read_bytes()
    for broken in (b"broken", whole[:-9], whole[:99] + bytes(9) + whole[108:]):
        (tmp_path / "measurements.npz").write_bytes(broken)
        with pytest.raises(
            FaultyFileError, match=r"SCORES must be a whole .npz file, got .*s\.npz \(.*\); make them again"
        ):
            load_scores(tmp_path)


def test_what_is_wrong_with_scores_is_said(scores, tmp_path):
    """One array of many with a clip less, as no evaluation leaves it; what is missing; and another convention."""
    scores.save(tmp_path)
    kept, file = json.loads((tmp_path / "scores.json").read_text()), tmp_path / "measurements.npz"
    with np.load(file) as arrays:
        others = {**arrays} | {"blank/f1/fn": arrays["blank/f1/fn"][1:]}
    np.savez(file, **others)
    f1 = kept["metrics"]["f1"]
    for other, told in (
        (kept | {"measurements": sha256(file.read_bytes()).hexdigest()}, "(other clips or steps of blank)"),
        ({name: value for name, value in kept.items() if name != "metrics"}, "(no 'metrics')"),
        (
            kept | {"metrics": kept["metrics"] | {"f1": f1 | {"convention": "mine"}}},
            f"(f1 by another convention, mine; here it is {f1['convention']})",
        ),
    ):
        (tmp_path / "scores.json").write_text(json.dumps(other))
        with pytest.raises(FaultyFileError, match=re.escape(f"scores.json {told}; make them again")):
            load_scores(tmp_path)
    file.unlink()
    with pytest.raises(
        FileNotFoundError, match=r"^SCORES must be an existing file, got .*measurements\.npz \(nothing there\); "
    ):
        load_scores(tmp_path)


def test_scores_and_measurements_of_two_evaluations_are_refused(scores, tmp_path):
    """Also of the same rows by the same metrics."""
    other = {"model": scores.measurements["blank"], "blank": scores.measurements["model"]}
    scores.save(tmp_path)
    kept = (tmp_path / "scores.json").read_bytes()
    replace(scores, measurements=scores.measurements | other).save(tmp_path, overwrite=True)
    (tmp_path / "scores.json").write_bytes(kept)
    got = rf"{re.escape(str(tmp_path))}, where they are of another"
    must = rf"^SCORES must hold scores\.json and measurements of one evaluation, got {got}"
    with pytest.raises(FaultyFileError, match=rf"{must}; make them again with `videopred evaluate --overwrite`$"):
        load_scores(tmp_path)


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
    assert len(list(tmp_path.iterdir())) == 3


def test_every_column_tells_its_convention_and_its_label(scores):
    for column, told in scores.to_dict()["metrics"].items():
        metric = scores.metrics[column]
        assert told.keys() == {"metric", "label", "settings", "convention", "higher_is_better"}
        assert (told["label"], told["convention"]) == (scores.label(column), metric.convention)
