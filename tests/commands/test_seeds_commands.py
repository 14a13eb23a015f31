"""The folder of `train --seeds` as a run: scored whole, held against another, and what takes only one of it."""

import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import LEARNING, core_flags, run, written

from videopred.eval.saved_scores import load_scores
from videopred.runs import run_stamp


@pytest.fixture(scope="module")
def seeds(place, tmp_path_factory) -> Path:
    """A workspace with two models of two seeds each, and the scores of both."""
    folder = tmp_path_factory.mktemp("seeds")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        shutil.copy(place / "balls4.h5", "two.h5")
        for core in ("gru", "rims"):
            assert run(f"train two.h5 {LEARNING} {core_flags(core)} --seeds 0,1 --out models/{core}") == 0
            assert run(f"evaluate models/{core} two.h5 --context 4 --horizon 3 --metrics mse") == 0
    return folder


def test_a_folder_of_seeds_is_scored_as_its_runs(seeds, monkeypatch, capfd):
    monkeypatch.chdir(seeds)
    scores = load_scores(Path("eval/gru/two"))
    assert scores.models == ("seed-0", "seed-1")
    assert list(scores.seeds.values()) == [("seed-0", "seed-1")]
    assert run("evaluate models/gru models/rims two.h5 --context 4 --horizon 3 --metrics mse") == 0
    out = capfd.readouterr().out
    assert [str(path.parent) for path in written(out)] == ["eval/gru-and-1-more/two"] * 3
    together = load_scores(Path("eval/gru-and-1-more/two"))
    assert together.models == ("gru/seed-0", "gru/seed-1", "rims/seed-0", "rims/seed-1")
    assert together.mean("gru/seed-1", "mse") == pytest.approx(scores.mean("seed-1", "mse"))


def test_two_models_are_held_against_each_other_over_their_seeds(seeds, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(seeds)
    assert run(f"compare models/gru models/rims --json --out {tmp_path}") == 0
    told = json.loads(capfd.readouterr().out)["rows"]
    assert list(told)[:2] == ["gru", "rims"]
    means = [load_scores(Path("eval/rims/two")).mean(f"seed-{seed}", "mse") for seed in (0, 1)]
    found = told["rims"]["mse"]["3"]
    assert found["value"] == pytest.approx(sum(means) / 2)
    assert found["deviation"] == pytest.approx(abs(means[0] - means[1]) / 2**0.5)
    assert found["seeds"] == 2
    assert told["blank"]["mse"]["3"]["deviation"] is None


def test_runs_of_single_seeds_are_called_after_model_and_seed(seeds, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(seeds)
    for core in ("gru", "rims"):
        assert run(f"evaluate models/{core}/seed-1 two.h5 --context 4 --horizon 3 --metrics mse") == 0
    capfd.readouterr()
    assert run(f"compare models/gru/seed-1 eval/rims/seed-1/two --json --out {tmp_path}") == 0
    told = json.loads(capfd.readouterr().out)
    assert list(told["rows"])[:2] == ["gru/seed-1", "rims/seed-1"]
    assert told["rows"]["rims/seed-1"]["mse"]["3"]["seeds"] == 1


def test_a_report_is_of_each_of_its_runs(seeds, tmp_path, monkeypatch):
    monkeypatch.chdir(seeds)
    assert run(f"report models/gru --device cpu --out {tmp_path}/report.html") == 0
    page = (tmp_path / "report.html").read_text()
    assert "gru/seed-0 and gru/seed-1" in page
    assert "gru, 2 seeds" in page


def test_runs_that_are_gone_on_with_keep_their_seeds(seeds, monkeypatch, capfd):
    monkeypatch.chdir(seeds)
    assert run("train --resume models/gru --seed 7") == 2
    told = (
        "videopred: --seed must be left out with runs from several seeds, as each keeps its own, got 7; leave it out\n"
    )
    assert capfd.readouterr().err == told


@pytest.mark.parametrize("words", ["render {} two.h5", "rollout {} two.h5"])
def test_what_takes_one_run_names_those_to_choose_from(seeds, monkeypatch, capfd, words):
    monkeypatch.chdir(seeds)
    assert run(words.format("models/gru")) == 1
    told = "which holds runs from several seeds; give one of them: models/gru/seed-0, models/gru/seed-1\n"
    assert capfd.readouterr().err.endswith(told)


def test_runs_of_seeds_are_exported_one_by_one_all_or_none(seeds, monkeypatch, tmp_path, capfd):
    shutil.copytree(seeds / "models/gru", tmp_path / "gru")
    monkeypatch.chdir(tmp_path)
    assert run("export gru --out two.safetensors") == 2
    told = "videopred: --out must be a folder for several runs, got two.safetensors; leave .safetensors out\n"
    assert capfd.readouterr().err == told
    shutil.copytree("gru", "other/gru")
    assert run("export gru other/gru --out share") == 2
    assert "RUN must differ in name with --out, got gru/seed-0, gru/seed-1 twice; export them apart" in (
        capfd.readouterr().err
    )
    assert run("export gru --checkpoint last --out share") == 0
    shared = [Path(f"share/gru/seed-{seed}-last.safetensors") for seed in (0, 1)]
    assert written(capfd.readouterr().out) == shared
    stamps = [f"{run_stamp(Path(f'gru/seed-{seed}'))}, last" for seed in (0, 1)]
    assert [run_stamp(file) for file in shared] == stamps
    assert run("export gru/seed-0 --out share") == 0
    assert written(capfd.readouterr().out) == [Path("share/gru/seed-0.safetensors")]
    shared[0].unlink()
    assert run("export gru --checkpoint last --out share") == 1
    assert "share/gru/seed-1-last.safetensors" in capfd.readouterr().err
    assert not shared[0].exists()
    assert run("export gru") == 0
    files = [Path(f"gru/seed-{seed}.safetensors") for seed in (0, 1)]
    assert written(capfd.readouterr().out) == files
    assert [run_stamp(file) for file in files] == [run_stamp(file.with_suffix("")) for file in files]
    files[0].unlink()
    assert run("export gru") == 1
    assert "--out must be a new path, got gru/seed-1.safetensors (already there)" in capfd.readouterr().err
    assert not files[0].exists()
    files[1].rename("gru/seed-1.md")
    assert run(f"export gru --card --data {seeds}/two.h5") == 1
    assert "--out must be a new path, got gru/seed-1.md (already there)" in capfd.readouterr().err
    assert not files[0].exists()


def test_an_export_that_fails_behind_others_tells_of_those(seeds, monkeypatch, tmp_path, capfd):
    shutil.copytree(seeds / "models/gru", tmp_path / "gru")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gru/seed-1/checkpoints/best.ckpt").write_bytes(b"nothing")
    assert run("export gru") == 1
    printed = capfd.readouterr()
    assert printed.out == "wrote gru/seed-0.safetensors\n"
    assert "seed-1/checkpoints/best.ckpt must be a whole checkpoint" in printed.err


def test_scores_of_seeds_of_which_one_was_trained_again_are_not_theirs(seeds, monkeypatch, tmp_path, capfd):
    """Exports beside the runs are still of the training that is gone."""
    for name in ("models", "eval"):
        shutil.copytree(seeds / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert run("export models/gru") == 0
    assert run("compare models/gru") == 0
    record = json.loads(Path("models/gru/seed-1/run.json").read_text())
    Path("models/gru/seed-1/run.json").write_text(json.dumps(record | {"started": "2026-01-02T03:04:05+00:00"}))
    capfd.readouterr()
    assert run("compare models/gru --overwrite") == 2
    said = capfd.readouterr().err
    assert (
        "SCORES must have scores, got models/gru, of which nothing is in eval/gru; score it with `videopred eval"
        in said
    )
    assert "DATA --overwrite`, as what is in eval/gru is of an earlier state of it, or of another run" in said


def test_exports_of_an_older_training_do_not_spoil_the_scores_of_a_newer_one(seeds, monkeypatch, tmp_path, capfd):
    for name in ("models", "two.h5"):
        (shutil.copy if name == "two.h5" else shutil.copytree)(seeds / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert run("export models/gru") == 0
    for seed in (0, 1):
        path = Path(f"models/gru/seed-{seed}/run.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | {"started": f"2026-01-02T03:04:0{seed}+00:00"}))
    assert run("evaluate models/gru two.h5 --context 4 --horizon 3 --metrics mse") == 0
    capfd.readouterr()
    assert run("compare models/gru") == 0


@pytest.mark.parametrize("words", ["evaluate {} two.h5", "plausibility {} two.h5", "report {}", "export {}"])
def test_a_seed_that_was_not_trained_is_named(seeds, tmp_path, monkeypatch, capfd, words):
    monkeypatch.chdir(seeds)
    shutil.copytree("models/gru", tmp_path / "cut")
    (tmp_path / "cut/seed-1/settings.json").unlink()
    assert run(words.format(tmp_path / "cut")) == 1
    message = r"RUN must hold a run from each of its seeds, got \S+/cut without seed-1; `videopred train --resume \S+`"
    assert re.search(message, capfd.readouterr().err)


def test_runs_of_seeds_that_the_summary_does_not_name_are_not_passed_over(seeds, tmp_path, monkeypatch, capfd):
    """As where two machines trained some each, and their folders were laid together."""
    monkeypatch.chdir(seeds)
    shutil.copytree("models/gru", tmp_path / "both")
    shutil.copytree("models/gru/seed-1", tmp_path / "both/seed-1-old")
    assert (
        run(f"evaluate {tmp_path / 'both'} two.h5 --context 4 --horizon 3 --metrics mse --out {tmp_path / 'out'}") == 0
    )
    shutil.copytree("models/gru/seed-1", tmp_path / "both/seed-7")
    assert run(f"evaluate {tmp_path / 'both'} two.h5") == 1
    message = r"RUN must hold only runs that seeds\.json names, got \S+/both with seed-7; "
    assert re.search(f"{message}move them away\n", capfd.readouterr().err), "as it is of another seed"
    settings = json.loads((tmp_path / "both/seed-7/settings.json").read_text())
    settings["training"]["seed"] = 7
    (tmp_path / "both/seed-7/settings.json").write_text(json.dumps(settings))
    assert run(f"evaluate {tmp_path / 'both'} two.h5") == 1
    assert re.search(f"{message}name their seeds in", capfd.readouterr().err)


def test_what_was_not_scored_says_how(seeds, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"compare {seeds / 'models/gru'}") == 2
    assert f"score it with `videopred evaluate {seeds / 'models/gru'} DATA`" in capfd.readouterr().err


def test_the_seed_of_an_experiment_is_not_taken_for_one_that_was_given(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run("train rims-balls4 --scale tiny --seed 4 --write mine.json") == 0
    for more, told in (("--dry-run", "--dry-run must come without"), ("--seed 5", "--seed must be left out")):
        assert run(f"train mine.json --seeds 0,1 {more}") == 2
        assert told in capfd.readouterr().err
