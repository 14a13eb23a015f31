"""`videopred evaluate --pred` and `videopred compare`: what they print and write, and what they refuse."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import run, written

from videopred.datasets import open_dataset

ASKED = "--context 4 --horizon 3 --metrics mse psnr"


@pytest.fixture(scope="module")
def films(place, tmp_path_factory) -> Path:
    """A folder with the true last frames of the test clips as arrays, fair and foul."""
    folder = tmp_path_factory.mktemp("films")
    frames = open_dataset(place / "balls4.h5").read_frames("test", 0, 5).transpose(0, 1, 4, 2, 3) / 255
    np.save(folder / "true.npy", frames)
    np.save(folder / "fair.npy", 0.9 * frames[:, 4:7])
    np.save(folder / "perfect.npy", frames[:, 4:7])
    np.save(folder / "next.npy", frames[:, 1:])
    return folder


def test_films_made_elsewhere_are_scored_against_data_and_against_films(place, films, tmp_path, monkeypatch, capfd):
    """Nine tenths of the true intensity: an error of a hundredth of the share of lit pixels."""
    monkeypatch.chdir(tmp_path)
    words = f"--pred {films / 'fair.npy'} --range 0 1 --axes BTCHW {ASKED}"
    assert run(f"evaluate {place / 'balls4.h5'} {words}") == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.startswith(
        "balls4.h5: 5 clips of the test part, 4 frames of context, 3 predicted, films made elsewhere;"
    )
    assert [str(path) for path in written(out)] == [f"eval/fair/balls4/{name}" for name in
                                                    ("scores.json", "scores.csv", "measurements.npz")]  # fmt: skip
    told = json.loads(Path("eval/fair/balls4/scores.json").read_text())
    true = np.load(films / "true.npy")[:, 4:7]
    expected = 0.01 * (true**2).mean(axis=(0, 2, 3, 4))
    np.testing.assert_allclose(told["rows"]["prediction"]["mse"]["steps"], expected, rtol=1e-12)
    assert list(told["rows"])[-1] == "physics oracle"
    assert run(f"evaluate {words} --true {films / 'true.npy'} --json --out other --device cpu") == 0
    other = json.loads(capfd.readouterr().out)
    assert list(other["rows"]) == ["prediction", "blank", "copy last"]
    for row in other["rows"]:
        np.testing.assert_allclose(other["rows"][row]["mse"]["steps"], told["rows"][row]["mse"]["steps"], rtol=1e-6)


def test_several_films_made_elsewhere_stand_in_one_table(films, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("theirs").mkdir()
    np.save("theirs/fair.npy", 0.8 * np.load(films / "perfect.npy"))
    words = f"--true {films / 'true.npy'} --range 0 1 --axes BTCHW {ASKED}"
    alone = {}
    for name in ("fair", "perfect"):
        assert run(f"evaluate --pred {films / name}.npy {words}") == 0
        alone[name] = json.loads(Path(f"eval/{name}/true/scores.json").read_text())["rows"]
    assert run(f"evaluate --pred {films / 'perfect.npy'} {films / 'fair.npy'} {words}") == 0
    told = json.loads(Path("eval/perfect-and-1-more/true/scores.json").read_text())
    assert told["models"] == ["perfect", "fair"]
    for name, rows in alone.items():
        assert told["rows"][name] == rows["prediction"]
        assert told["rows"]["blank"] == rows["blank"]
    assert run(f"evaluate --pred {films / 'fair.npy'} theirs/fair.npy {words} --out here") == 0
    rows = json.loads(Path("here/scores.json").read_text())["rows"]
    ours = rows[f"{films.name}/fair"]["mse"]["mean"]
    assert rows["theirs/fair"]["mse"]["mean"] == pytest.approx(4 * ours)
    capfd.readouterr()
    Path("link.npy").symlink_to(films / "fair.npy")
    np.save("blank.npy", np.load(films / "fair.npy"))
    np.save("whole.npy", np.load(films / "true.npy")[:, :8])
    Path("nothing.npz").touch()
    for others, told in {
        "link.npy": f"--pred must be given once each, got {films / 'fair.npy'} twice",
        "blank.npy": "--pred must have other names than the trivial baselines, got blank; rename the file",
        "whole.npy": "--pred must begin with the first predicted frame, got whole.npy, which begins",
        "nothing.npz": "--pred must be a whole .npz file, got nothing.npz (damaged",
    }.items():
        assert run(f"evaluate --pred {films / 'fair.npy'} {others} {words}") in (1, 2)
        assert told in capfd.readouterr().err
    np.save("theirs/short.npy", np.load(films / "perfect.npy")[:, :2])
    assert run(f"evaluate --pred {films / 'fair.npy'} theirs/short.npy {words}") == 2
    assert "--pred must hold the 3 frames of the horizon, got 2 in theirs/short.npy;" in capfd.readouterr().err


def test_capped_frames_are_told_below_the_table_and_kept(place, films, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"--pred {films / 'perfect.npy'} --true {films / 'true.npy'} --range 0 1 --axes BTCHW {ASKED} --out here"
    assert run(f"evaluate {words}") == 0
    assert "\nPSNR of prediction: 15 of 15 frames above 100 dB, counted as 100\n" in capfd.readouterr().out
    assert json.loads(Path("here/scores.json").read_text())["remarks"] == [
        "PSNR of prediction: 15 of 15 frames above 100 dB, counted as 100"
    ]


def test_runs_tells_scores_of_the_first_clips_alone_from_those_of_all(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for clips in ("", "--first 3 --out eval/gru/quick"):
        assert run(f"evaluate {place / 'gru'} {place / 'balls4.h5'} {ASKED} {clips}") == 0
    capfd.readouterr()
    assert run(f"runs {place} --json") == 0
    (gru,) = (told for told in json.loads(capfd.readouterr().out)["runs"] if told["path"].endswith("gru"))
    assert set(gru["scores"]) == {"balls4 4+3", "balls4 4+3, first 3 clips"}


def test_of_films_made_elsewhere_all_frames_behind_the_context_are_predicted_ones(films, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"--pred {films / 'next.npy'} --true {films / 'true.npy'} --range 0 1 --axes BTCHW --metrics mse --json"
    assert run(f"evaluate {words} --context 1") == 0
    assert json.loads(capfd.readouterr().out)["protocol"]["horizon"] == 8


def test_of_films_made_one_step_ahead_the_trivial_rows_are_so_too(films, tmp_path, monkeypatch, capfd):
    """Each frame is copied from the true one before it, not from the first."""
    monkeypatch.chdir(tmp_path)
    words = (
        f"--pred {films / 'next.npy'} --true {films / 'true.npy'} --range 0 1 --axes BTCHW --metrics mse --context 1"
    )
    assert run(f"evaluate {words} --horizon 8 --feedback true --json") == 0
    told = json.loads(capfd.readouterr().out)
    true = np.load(films / "true.npy")
    expected = ((true[:, 1:] - true[:, :-1]) ** 2).mean(axis=(0, 2, 3, 4))
    np.testing.assert_allclose(told["rows"]["copy last"]["mse"]["steps"], expected, rtol=1e-12)
    assert told["protocol"]["feedback"] == "true"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--feedback soft", "--feedback must be true or left out with --pred, got soft; true says that each frame was"),
        ("--context -1 --horizon 2", "--context must be at least 0, got -1; 0 says that every frame was predicted"),
        ("--samples 3", "--samples must be left out with --pred, got 3; an N in --axes says which axis of an array is"),
        ("--device cuda:99", "--device must be a device of this machine, which has "),
        ("--context 0 --horizon 10", "--horizon must be at most 9, the frames of --true, got 10; lower it"),
        ("--part train", "--part must be one of test, got train"),
        ("--axes BTHWC", "--pred must have 1 or 3 channels, got 32 (BTHWC, (5, 3, 1, 24, 32)) in "),
        ("--pred {films}/perfect.npy", "--pred must be given once, got it twice; put all behind one"),
        ("--first 4", "--pred must hold the 4 clips asked for, got 5 in "),
        ("--true-range 0 0.5", "--true must hold numbers from 0 to 0.5, as its range says, got 0 to 1 in clip 0 of"),
        ("--range 0,1", "--range must be two numbers, got 0,1; put spaces between them: 0 1"),
        ("--range 1 0", "--range must be two numbers, black first, got 1 0; write e.g. --range 0 1, or --range -1 1"),
        ("--range black white", "--range must be two numbers, got black white; see --help"),
    ],
)
def test_what_does_not_go_with_films_made_elsewhere(films, tmp_path, monkeypatch, capfd, more, message):
    monkeypatch.chdir(tmp_path)
    words = f"evaluate --pred {films / 'fair.npy'} --true {films / 'true.npy'} --range 0 1 --axes BTCHW {ASKED} {more}"
    assert run(words.format(films=films)) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("videopred: ")
    assert message in err
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_the_command_shares_clips_with_processes_that_were_started_with_it(place, monkeypatch, capfd):
    for name, value in {"WORLD_SIZE": "2", "RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    assert run(f"evaluate {place / 'gru'} {place / 'balls4.h5'} --metrics mse --out elsewhere") == 2
    assert "MASTER_ADDR must say where the processes meet" in capfd.readouterr().err


def test_masks_made_elsewhere_come_with_metrics_of_them(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    file = open_dataset(place / "balls4.h5")
    np.save("p.npy", file.read_frames("test", 0, file.parts["test"])[:, 5:9])
    np.save("m.npy", file.read("test", "groups", 0, file.parts["test"])[:, 5:9])
    asked = "--pred p.npy --pred-masks m.npy --range 0 255 --axes BTHWC"
    assert run(f"evaluate {place / 'balls4.h5'} {asked} --context 5 --horizon 4 --json --out o") == 0
    told = json.loads(capfd.readouterr().out)["rows"]["prediction"]
    assert list(told) == ["bce", "mse", "ssim", "f1", "own-fg-ari", "own-miou"]
    assert told["own-miou"]["mean"] == 1
    assert run(f"evaluate {asked} --true p.npy --out q") == 2
    must = (
        "--pred-masks must be left out where the truth has no masks (groups), got p.npy; give a data file that has them"
    )
    assert must in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("{gru} {data} --pred p.npy", "RUN and DATA must be DATA alone with --pred, got "),
        ("--pred p.npy", "DATA or --true must be given with --pred, got neither; name the true films"),
        ("--pred p.npy {data}", "got neither; name the true films; DATA comes before the options"),
        ("{data} --pred p.npy --true t.npy", "RUN and DATA must be left out with --pred and --true, got "),
        ("{gru} {data} --range 0 1", "--pred must be given for films made elsewhere, got --range; name the predicted"),
        ("{data}", "RUN and DATA must be given, got "),
    ],
)
def test_runs_and_films_are_not_mixed(place, tmp_path, monkeypatch, capfd, words, message):
    monkeypatch.chdir(tmp_path)
    assert run(f"evaluate {words.format(gru=place / 'gru', data=place / 'balls4.h5')}") == 2
    assert message in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "crops --feedback soft",
            "--feedback must be true or left out with --protocol crops, got soft; leave --prot",
        ),
        ("rnem-balls --feedback true", "--feedback must not be true with --protocol rnem-balls, got true; leave --pro"),
    ],
)
def test_a_protocol_of_one_step_stays_one(place, tmp_path, monkeypatch, capfd, words, message):
    monkeypatch.chdir(tmp_path)
    assert run(f"evaluate {place / 'gru'} {place / 'balls4.h5'} --protocol {words}") == 2
    assert message in capfd.readouterr().err


@pytest.fixture(scope="module")
def judged(place, tmp_path_factory) -> Path:
    """A workspace in which two runs have scores; tests that write there say --out."""
    folder = tmp_path_factory.mktemp("judged")
    for name in ("gru", "rims"):
        assert run(f"evaluate {place / name} {place / 'balls4.h5'} {ASKED} --out {folder}/eval/{name}/balls4") == 0
    assert run(f"evaluate {place / 'gru'} {place / 'balls4.h5'} --context 3 --horizon 3 --metrics mse psnr "
               f"--out {folder}/eval/short/balls4") == 0  # fmt: skip
    return folder


def test_a_run_that_is_not_finished_is_judged_and_said_to_be_so(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "gru", "half")
    record = json.loads(Path("half/run.json").read_text())
    Path("half/run.json").write_text(json.dumps(record | {"state": "interrupted", "updates": 1}))
    data = place / "balls4.h5"
    assert run(f"evaluate half {place / 'rims'} {data} {ASKED}") == 0
    assert capfd.readouterr().err == "half is not finished: 1 of 2 updates\n"
    assert run(f"render half {data} --clips 1 --figure strip") == 0
    assert "half is not finished: 1 of 2 updates\n" in capfd.readouterr().err


def test_scores_of_runs_judged_together_are_offered(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"evaluate {place / 'gru'} {place / 'rims'} {place / 'balls4.h5'} {ASKED}") == 0
    capfd.readouterr()
    assert run(f"compare {place / 'rims'} {place / 'gru'}") == 2
    assert "or name eval/gru-and-1-more/balls4, where it was scored with others" in capfd.readouterr().err
    assert run(f"compare {place / 'rims'} --data balls4") == 2
    assert "or name eval/gru-and-1-more/balls4, where it was scored with others" in capfd.readouterr().err
    assert run(f"compare {place / 'rims'} --data curtain") == 2
    assert capfd.readouterr().err.endswith("or name the folder of its scores\n"), "those are of other data"
    assert run("compare eval/gru-and-1-more/balls4") == 0


def test_means_over_fewer_steps_are_told_of_scores_and_of_their_comparison(place, judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    words = f"--out {tmp_path}/of-two --means 2 1 --json"
    assert run(f"evaluate {place / 'gru'} {place / 'balls4.h5'} {ASKED} {words}") == 0
    told = json.loads(capfd.readouterr().out)["rows"]["model"]["mse"]
    assert told["means"] == pytest.approx({str(span): np.mean(told["steps"][:span]) for span in (1, 2, 3)})
    assert run(f"compare {place / 'gru'} {place / 'rims'} --means 2 --out {tmp_path}/compared") == 0
    printed = capfd.readouterr().out
    assert 0 < printed.find(" mean of 2 ") < printed.find(" mean of 3 ")
    lines = list(csv.DictReader((tmp_path / "compared/comparison.csv").open()))
    of_two = {line["row"]: line["value"] for line in lines if (line["metric"], line["steps"]) == ("mse", "2")}
    assert float(of_two["gru"]) == pytest.approx(told["means"]["2"])
    assert run(f"compare {tmp_path}/of-two eval/rims/balls4 --out {tmp_path}/again") == 0, "means are no protocol"
    assert " mean of 1 " in capfd.readouterr().out
    assert run(f"compare {place / 'gru'} {place / 'rims'} --means 4 --out {tmp_path}/longer") == 2
    told = "videopred: --means must be between 1 and 3, the frames predicted, got 4; choose one of these\n"
    assert capfd.readouterr().err == told


def test_runs_are_compared_by_name_of_run_or_of_folder(place, judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    out = tmp_path / "out"
    capfd.readouterr()
    assert run(f"compare {place / 'gru'} eval/rims/balls4 --out {out} --relative-to rims") == 0
    printed, err = capfd.readouterr()
    assert err == ""
    assert "4 frames of context, 3 predicted, feedback soft; relative to rims" in printed
    assert written(printed) == [
        out / f"comparison{suffix}" for suffix in (".md", ".tex", ".csv", ".png", ".svg", ".pdf")
    ]
    lines = list(csv.DictReader((out / "comparison.csv").open()))
    assert list(dict.fromkeys(line["row"] for line in lines))[:3] == ["gru", "rims", "blank"]
    means = {
        name: json.loads((judged / f"eval/{name}/balls4/scores.json").read_text())["rows"]["model"]["mse"]["mean"]
        for name in ("gru", "rims")
    }
    found = next(line for line in lines if (line["row"], line["metric"]) == ("gru", "mse"))
    assert float(found["difference"]) == pytest.approx(means["gru"] - means["rims"])
    assert float(found["relative error"]) == pytest.approx(means["gru"] / means["rims"])
    words = f"compare eval/gru/balls4 eval/rims/balls4 --out {out}"
    assert run(words) == 1
    assert f"--out must be a new path, got {out / 'comparison.md'} (already there)" in capfd.readouterr().err
    assert run(f"{words} --overwrite --json") == 0
    told = json.loads(capfd.readouterr().out)
    assert told["relative_to"] == "gru"
    assert told["rows"]["rims"]["mse"]["3"]["value"] == pytest.approx(means["rims"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare", "SCORES must be given, got nothing; name folders that `videopred evaluate` wrote"),
        ("compare eval/gru", "got eval/gru (no scores.json there); did you mean eval/gru/balls4?"),
        ("compare eval/gru/balls4 eval/short/balls4", "SCORES must be of the same protocol as gru, got short with "),
        ("compare eval/gru/balls4 eval/gru/balls4", "SCORES must be given once each, got "),
        ("compare eval/gru/balls4 --relative-to blnk", "got blnk; did you mean blank?"),
        ("compare {gru} --data digits", "SCORES must have scores of digits, got "),
        ("compare {gru} --data bals4", "of which balls4 is in eval/gru; did you mean --data balls4?"),
        (
            "compare eval/gru/balls4 --data balls4",
            "--data must be given with runs, got balls4; leave it out: a folder",
        ),
        (
            "compare eval/gru/balls4/o.json",
            "SCORES must be a folder of scores or a run, got eval/gru/balls4/o.json (not",
        ),
        (
            "compare eval/rms/balls4",
            "eval/rms/balls4 (nothing there); did you mean eval/rims/balls4? Or make them with",
        ),
        ("compare eval/gru/ball", "got eval/gru/ball (nothing there); did you mean eval/gru/balls4? Or make them with"),
        ("compare {place}/rmis", "got {place}/rmis (nothing there); did you mean {place}/rims? Or make them with `vi"),
        (
            "compare eval",
            "SCORES must be a folder of scores or a run, got eval (no scores.json there); did you mean eval/gru/bal",
        ),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(place, judged, monkeypatch, capfd, words, message):
    monkeypatch.chdir(judged)
    before = sorted(judged.rglob("*"))
    capfd.readouterr()
    missing = any(words in message for words in ("nothing there", "be a folder of scores", "no scores.json there"))
    assert run(words.format(gru=place / "gru", place=place)) == (1 if missing else 2)
    out, err = capfd.readouterr()
    assert out == ""
    assert message.format(place=place) in err
    assert err.count("\n") == 1
    assert sorted(judged.rglob("*")) == before
