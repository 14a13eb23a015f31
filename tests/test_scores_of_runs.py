"""Which scores the list of runs tells of which run."""

import json
import os

import pytest
from test_runs import look, make_run

from videopred.eval.file_names import ScoreFile, scores_in
from videopred.files import write_json
from videopred.report.found import find_run
from videopred.runs import run_stamp


def test_scores_are_those_of_the_model_on_each_file(tmp_path):
    make_run(tmp_path / "models" / "a")
    make_run(tmp_path / "models" / "sweep" / "seed-1")
    scores = tmp_path / "eval"
    for name, data, mse in (("a", "balls", 0.25), ("a", "curtain", 0.5), ("sweep/seed-1", "balls", 0.75)):
        rows = {"model": {"mse": {"mean": mse, "steps": [mse]}}, "blank": {"mse": {"mean": 9.0, "steps": [9.0]}}}
        write_json(scores / name / data / "scores.json", {"models": ["model"], "rows": rows})
    several = {"models": ["model", "rival"], "rows": {"model": {"mse": {"mean": 0.125}}}}
    write_json(scores / "a" / "compared" / "scores.json", several)
    write_json(scores / "a" / "other" / "scores.json", {"of": "another program"})
    (scores / "a" / "unreadable" / "scores.json").mkdir(parents=True)
    found = look(tmp_path / "models", scores)
    assert found["a"].scores == {"balls": {"mse": 0.25}, "curtain": {"mse": 0.5}}
    assert found["sweep/seed-1"].scores == {"balls": {"mse": 0.75}}


def test_a_run_without_a_record_has_no_scores_that_say_when_their_run_was_started(tmp_path):
    """Those are another's, who has its name."""
    for stamp in (None, "then"):
        file = ScoreFile(tmp_path, "a", {"a": "model"}, {"stamps": {"model": "then"}})
        assert file.rows_of({"a": stamp}) == ({"a": "model"} if stamp else {})
    assert ScoreFile(tmp_path, "a", {"a": "model"}, {"stamps": {}}).rows_of({"a": None}) == {"a": "model"}
    write_json(tmp_path / "a" / "two" / "scores.json", {"stamps": {"model": "then"}})
    write_json(tmp_path / "a" / "old" / "scores.json", {})
    found = {name: [path.parent.name for path in scores_in(tmp_path / "a", stamps)]
             for name, stamps in {"all": None, "mine": {"then"}, "none": set()}.items()}  # fmt: skip
    assert found == {"all": ["old", "two"], "mine": ["old", "two"], "none": ["old"]}


def test_scores_on_other_clips_of_the_same_name_stand_beside_each_other(tmp_path):
    make_run(tmp_path / "models" / "a")
    for folder, clips, mse in (("balls", "f00", 0.25), ("balls-new", "bee", 0.5), ("balls-too", "f00", 0.75)):
        content = {"models": ["model"], "rows": {"model": {"mse": {"mean": mse}}}, "file": "d/balls.h5"}
        write_json(tmp_path / "eval" / "a" / folder / "scores.json", content | {"fingerprint": clips})
    found = look(tmp_path / "models", tmp_path / "eval")["a"].scores
    assert {name: of["mse"] for name, of in found.items()} == {"balls": 0.25, "balls, in a/balls-new": 0.5}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_the_place_of_scores_is_not_waited_for(tmp_path):
    make_run(tmp_path / "models" / "a")
    for name in ("a/balls/scores.json", "b/balls/scores.json", "a/balls/plausibility.json"):
        (tmp_path / "eval" / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / "eval" / name)
    assert look(tmp_path / "models", tmp_path / "eval")["a"].scores == {}
    found = find_run(tmp_path / "models" / "a", tmp_path / "eval")
    assert (found.scores, found.plausibility) == ({}, {})


def test_scores_whose_stamps_are_no_dictionary_are_of_no_run(tmp_path):
    for stamps in (None, [], "then"):
        assert ScoreFile(tmp_path, "a", {"a": "model"}, {"stamps": stamps}).rows_of({"a": "then"}) == {}


def test_scores_that_are_not_finite_and_stamps_that_are_none_hide_no_others(tmp_path):
    make_run(tmp_path / "models" / "a")
    rows = {"model": {"mse": {"mean": float("inf")}, "f1": {"mean": 0.5}}}
    for data, content in (("balls", {"rows": rows}), ("curtain", {"rows": rows, "stamps": []})):
        path = tmp_path / "eval" / "a" / data / "scores.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"models": ["model"], **content}))
    (found,) = look(tmp_path / "models", tmp_path / "eval").values()
    assert (found.state, found.scores) == ("finished", {"balls": {"f1": 0.5}})


def test_a_metric_without_a_value_does_not_hide_the_others(tmp_path):
    """Such as survival where nothing was hidden."""
    make_run(tmp_path / "models" / "a")
    rows = {"model": {"mse": {"mean": 0.25}, "survival": {"mean": None}}}
    write_json(tmp_path / "eval" / "a" / "balls" / "scores.json", {"models": ["model"], "rows": rows})
    assert look(tmp_path / "models", tmp_path / "eval")["a"].scores == {"balls": {"mse": 0.25}}


def test_scores_of_seeds_judged_together_are_those_of_each(tmp_path):
    """By the folder they lie in; what was said of one alone stands before it."""
    rows = {}
    for seed, mse in ((0, 0.5), (1, 0.25)):
        make_run(tmp_path / "models" / "sweep" / f"seed-{seed}")
        rows[f"seed-{seed}"] = {"mse": {"mean": mse, "steps": [mse]}}
    scores = tmp_path / "eval"
    for data in ("balls", "curtain"):
        write_json(scores / "sweep" / data / "scores.json", {"models": ["seed-0", "seed-1"], "rows": rows})
    alone = {"models": ["model"], "rows": {"model": {"mse": {"mean": 0.125, "steps": [0.125]}}}}
    write_json(scores / "sweep" / "seed-1" / "balls" / "scores.json", alone)
    found = look(tmp_path / "models", scores)
    assert found["sweep/seed-0"].scores == {"balls": {"mse": 0.5}, "curtain": {"mse": 0.5}}
    assert found["sweep/seed-1"].scores == {"balls": {"mse": 0.125}, "curtain": {"mse": 0.25}}


def test_scores_of_runs_judged_together_are_those_of_each(tmp_path):
    """Of a run that was judged alone as well, what was said of it alone; seeds of other folders are passed over."""
    make_run(tmp_path / "models" / "a")
    for seed in (0, 1):
        make_run(tmp_path / "models" / "sweep" / f"seed-{seed}")
    scores = tmp_path / "eval"
    for name, mses in {
        "a/balls": {"model": 0.125},
        "b-and-2-more/balls": {"b": 0.5, "a": 0.25, "sweep/seed-1": 0.75},
        "b-and-2-more/curtain": {"b": 0.5, "a": 0.375, "seed-0": 0.875},
        "sweep/seed-0-and-1-more/few": {"seed-0": 0.625, "seed-2": 0.5},
    }.items():
        rows = {row: {"mse": {"mean": mse, "steps": [mse]}} for row, mse in mses.items()}
        write_json(scores / name / "scores.json", {"models": list(mses), "rows": rows})
    found = look(tmp_path / "models", scores)
    assert found["a"].scores == {"balls": {"mse": 0.125}, "curtain": {"mse": 0.375}}
    assert found["sweep/seed-0"].scores == {"few": {"mse": 0.625}}
    assert found["sweep/seed-1"].scores == {"balls": {"mse": 0.75}}


def test_scores_of_other_parts_say_so(tmp_path):
    make_run(tmp_path / "models" / "a")
    for data, protocol in {"own": {"part": "train"}, "x": {"part": "test"}, "y": {}}.items():
        content = {"models": ["a"], "rows": {"a": {"mse": {"mean": 0.5}}}, "protocol": protocol}
        write_json(tmp_path / "eval" / "a" / data / "scores.json", content)
    assert set(look(tmp_path / "models", tmp_path / "eval")["a"].scores) == {"own, train part", "x", "y"}


def test_scores_of_few_clips_with_other_feedback_or_of_several_samples_are_told_apart(tmp_path):
    """One-step scores are no rollout's."""
    make_run(tmp_path / "models" / "a")
    usual = {"context": 4, "horizon": 6, "part": "test", "clips": None, "feedback": "soft", "samples": 1}
    for place, changes in {
        "one-step": {"feedback": "true"},
        "x": {},
        "y": {"feedback": "sample", "samples": 3, "clips": 9},
        "quick": {"clips": 7},
        "soft": {"metric_settings": ["f1.threshold=0.2"]},
        "older": {"clips": 8},
    }.items():
        rows = {"a": {"mse": {"mean": len(place) / 8}}}
        content = {"models": ["a"], "rows": rows, "protocol": usual | changes, "file": "x.h5"}
        content |= {"clips_in_part": 9} if place != "older" else {}
        write_json(tmp_path / "eval" / "a" / place / "scores.json", content)
    assert look(tmp_path / "models", tmp_path / "eval")["a"].scores == {
        "x 4+6, feedback true": {"mse": 1.0},
        "x 4+6": {"mse": 0.125},
        "x 4+6, feedback sample, 3 samples": {"mse": 0.125},
        "x 4+6, first 7 clips": {"mse": 0.625},
        "x 4+6, f1.threshold=0.2": {"mse": 0.5},
        "x 4+6, 8 clips": {"mse": 0.625},
    }


def test_scores_over_other_numbers_of_frames_are_told_apart(tmp_path):
    make_run(tmp_path / "models" / "a")
    for name, horizon in {"a": 6, "a-and-1-more": 3}.items():
        protocol = {"context": 4, "horizon": horizon, "part": "train" if horizon == 3 else "test"}
        rows = {row: {"mse": {"mean": horizon / 8}} for row in ("a", "b")[: len(name) // 5 + 1]}
        content = {"models": list(rows), "rows": rows, "protocol": protocol}
        write_json(tmp_path / "eval" / name / "x" / "scores.json", content)
    found = look(tmp_path / "models", tmp_path / "eval")["a"].scores
    assert found == {"x 4+6": {"mse": 0.75}, "x 4+3, train part": {"mse": 0.375}}


def test_scores_of_another_run_of_the_same_name_are_passed_over(tmp_path):
    """By its stamp, alone and among others."""
    stamps = {}
    for folder in ("x", "y"):
        path = make_run(tmp_path / folder / "a") / "run.json"
        record = json.loads(path.read_text()) | {"started": f"of {folder}"}
        path.write_text(json.dumps(record))
        stamps[folder] = run_stamp(path.parent)
    rows = {row: {"mse": {"mean": 0.5}} for row in ("a", "b")}
    alone = {"models": ["a"], "rows": rows, "stamps": {"a": stamps["x"]}}
    write_json(tmp_path / "eval" / "a" / "balls" / "scores.json", alone)
    both = {"models": ["a", "b"], "rows": rows, "stamps": {"a": stamps["y"]}}
    write_json(tmp_path / "eval" / "b-and-1-more" / "curtain" / "scores.json", both)
    found = {folder: look(tmp_path / folder, tmp_path / "eval")["a"].scores for folder in ("x", "y")}
    assert found == {"x": {"balls": {"mse": 0.5}}, "y": {"curtain": {"mse": 0.5}}}
