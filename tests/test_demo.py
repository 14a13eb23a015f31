"""The demo: all that it writes is there, and its verdict is what the scores say."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from videopred import demo
from videopred.checkpoint import load_run
from videopred.datasets import open_dataset
from videopred.demo import CONTEXT, HORIZON, MODEL, RECIPE, TINY_CLIPS, run_demo, verdict
from videopred.interrupt import as_ctrl_c
from videopred.judging import BASELINES

NAMES = [
    "balls.h5",
    "run",
    *(f"scores/run/balls/{name}" for name in ("scores.json", "scores.csv", "measurements.npz")),
    *(f"clip-{i}.{end}" for i in range(3) for end in ("gif", "png")),
]


@pytest.mark.slow
def test_the_smallest_demo_writes_all_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, threads = tmp_path / "eval" / "demo", torch.get_num_threads()
    outcome = run_demo(out, tiny=True, device="cpu")
    assert outcome.files == [out / name for name in NAMES]
    assert all(path.exists() for path in outcome.files)
    assert {path.name for path in out.iterdir()} == {name.partition("/")[0] for name in NAMES}
    assert [path.name for path in tmp_path.iterdir()] == ["eval"]
    assert open_dataset(out / "balls.h5").parts == TINY_CLIPS
    assert open_dataset(out / "balls.h5").recipe == RECIPE
    assert load_run(out / "run").config == MODEL
    assert tuple(outcome.scores.values) == ("model", *BASELINES)
    asked = outcome.scores.protocol
    assert (asked.context, asked.horizon, asked.part, asked.clips) == (CONTEXT, HORIZON, "test", TINY_CLIPS["test"])
    told = json.loads(json.dumps(outcome.to_dict()))
    assert told["files"] == [str(path) for path in outcome.files]
    assert told["verdict"] == outcome.verdict == verdict(outcome.scores)
    assert told["rows"] == json.loads((out / "scores/run/balls/scores.json").read_text())["rows"]
    assert torch.get_num_threads() == threads

    before = (out / "balls.h5").read_bytes()
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*balls\.h5 .*, or give --overwrite"):
        run_demo(out, tiny=True, device="cpu")
    again = run_demo(out, tiny=True, device="cpu", overwrite=True)
    assert (out / "balls.h5").read_bytes() == before
    for row in BASELINES:
        for name, values in outcome.scores.values[row].items():
            np.testing.assert_array_equal(again.scores.values[row][name], values, err_msg=f"{row} {name}")


def test_from_within_its_run_nothing_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    for name in ("balls.h5", "run/settings.json", "run/run.json"):
        (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path / "run")
    with pytest.raises(
        ValueError, match=r"^--out must be no folder that one is in, to be replaced, got \.\./run; go to"
    ):
        run_demo(Path(".."), tiny=True, device="cpu", overwrite=True)
    assert (tmp_path / "balls.h5").read_text() == "{}"


def test_with_a_folder_of_others_in_the_place_of_its_run_nothing_is_replaced(tmp_path):
    (tmp_path / "run").mkdir()
    for name in ("balls.h5", "run/mine"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match=r"^--out must be a run folder or new, got \S+/run; choose another --out"):
        run_demo(tmp_path, tiny=True, device="cpu", overwrite=True)
    assert (tmp_path / "balls.h5").read_text() == "mine"


@pytest.mark.parametrize("name", NAMES)
def test_no_file_that_is_there_is_replaced_unasked(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match=re.escape(f"--out must be a new path, got {tmp_path / name} ")):
        run_demo(tmp_path, tiny=True, device="cpu")
    assert [path.name for path in tmp_path.iterdir()] == [name.partition("/")[0]]
    assert (tmp_path / name).read_text() == "mine"


def test_who_stops_it_as_the_training_ends_gets_no_scores(tmp_path, monkeypatch):
    with as_ctrl_c() as around:

        def too_late(*asked, out, **how):
            around.asked = True
            return out

        monkeypatch.setattr(demo, "train", too_late)
        with pytest.raises(KeyboardInterrupt):
            run_demo(tmp_path, tiny=True, device="cpu")
    assert [path.name for path in tmp_path.iterdir()] == ["balls.h5"]


@pytest.mark.slow
def test_the_demo_learns(tmp_path):
    """By both of its claims, and with room to spare, as sums are rounded otherwise on other machines."""
    outcome = run_demo(tmp_path / "demo", device="cpu")
    assert outcome.verdict.count(": yes (") == 2, outcome.verdict


def scores_of(bce: list[float], f1: list[float]) -> SimpleNamespace:
    """Scores of a model beside trivial baselines whose lowest BCE is 40, and a copy-last of F1 0.5, over ten steps.

    The physics oracle, which nobody has to beat, stands among them.
    """
    others = {
        "blank": (60, 0.0),
        "mean frame": (50, 0.9),
        "copy last": (90, 0.5),
        "copy last calibrated": (40, 0.95),
        "physics oracle": (0, 1.0),
    }
    rows = {row: {"bce": np.full(10, float(b)), "f1": np.full(10, f)} for row, (b, f) in others.items()}
    return SimpleNamespace(values={"model": {"bce": np.array(bce), "f1": np.array(f1)}} | rows)


GOOD_BCE, GOOD_F1 = [39.0] * 5 + [99.0] * 5, [0.1] + [0.6] * 7 + [0.1] * 2
BCE = "  BCE below that of every trivial baseline at rollout steps 1 to 5"
F1 = "  F1 above copy last's at rollout steps 2 to 8"


@pytest.mark.parametrize(
    ("bce", "f1", "said"),
    [
        (GOOD_BCE, GOOD_F1, [f"{BCE}: yes (5 of 5 steps)", f"{F1}: yes (7 of 7 steps)"]),
        ([40.0, *GOOD_BCE[1:]], GOOD_F1, [f"{BCE}: no (4 of 5 steps)", f"{F1}: yes (7 of 7 steps)"]),
        ([*GOOD_BCE[:4], 45.0, *GOOD_BCE[5:]], GOOD_F1, [f"{BCE}: no (4 of 5 steps)", f"{F1}: yes (7 of 7 steps)"]),
        (GOOD_BCE, [0.1, 0.5, *GOOD_F1[2:]], [f"{BCE}: yes (5 of 5 steps)", f"{F1}: no (6 of 7 steps)"]),
        (GOOD_BCE, [*GOOD_F1[:7], 0.2, 0.9, 0.9], [f"{BCE}: yes (5 of 5 steps)", f"{F1}: no (6 of 7 steps)"]),
        ([float("nan")] * 10, [0.0] * 10, [f"{BCE}: no (0 of 5 steps)", f"{F1}: no (0 of 7 steps)"]),
    ],
)
def test_the_verdict_is_what_the_scores_say(bce, f1, said):
    """Either way, and equal is not better; each claim looks at its own steps only."""
    lines = verdict(scores_of(bce, f1)).split("\n")
    assert lines == ["Did the model learn? On clips it never saw:", *said]


@pytest.mark.slow
def test_the_demo_runs_from_an_empty_folder(tmp_path):
    command = [sys.executable, "-m", "videopred", "demo", "--tiny", "--device", "cpu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[0] == f"{Path('eval/demo/run')} on cpu: 4 updates"
    assert "\r" not in done.stderr
    for name in NAMES:
        assert f"wrote eval/demo/{name}\n" in done.stdout
        assert (tmp_path / "eval" / "demo" / name).exists()
    assert "Did the model learn?" in done.stdout
    assert done.stdout.endswith("\nnext: videopred report eval/demo/run --scores eval/demo/scores\n")
    assert all(row in done.stdout for row in BASELINES)
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (1, "")
    assert "--out must be a new path, got eval/demo/balls.h5 (already there)" in again.stderr
