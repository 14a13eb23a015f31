"""`compare` over several data sets: of folders and of runs, under names of one's own, and what it says of the rest."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import CLIPS, SIZES, run, written
from tiny_runs import files_of

from videopred.report.found import find_run

ASKED = "--context 4 --horizon 3 --metrics mse"


@pytest.fixture(scope="module")
def judged(place, tmp_path_factory) -> Path:
    """A workspace with scores of a GRU on one to three balls, and of RIMs on two and three."""
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for balls in (1, 2, 3):
            assert run(f"generate balls{balls} {SIZES} {CLIPS} --seed {balls} --out datasets/balls{balls}.h5") == 0
            for core in ("gru", "rims") if balls > 1 else ("gru",):
                assert run(f"evaluate {place / core} datasets/balls{balls}.h5 {ASKED}") == 0
        assert (
            run(f"evaluate {place / 'rims'} datasets/balls1.h5 --context 3 --horizon 3 --metrics mse --out short") == 0
        )
    return folder


def mean(core: str, balls: int) -> float:
    """The mean of a model's scores on some balls."""
    told = json.loads(Path(f"eval/{core}/balls{balls}/scores.json").read_text())
    return told["rows"]["model"]["mse"]["mean"]


def test_runs_are_laid_side_by_side_on_all_data_that_they_were_scored_on(place, judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    capfd.readouterr()
    assert run(f"compare {place / 'gru'} {place / 'rims'} --relative-to gru --out {tmp_path}") == 0
    printed, err = capfd.readouterr()
    assert err == ""
    assert printed.startswith("3 data sets: 5 clips of the test part of each, 4 frames of context, 3 predicted,")
    assert "): rims on datasets/balls1.h5\n" in printed
    assert written(printed) == [
        tmp_path / f"comparison{suffix}" for suffix in (".md", ".tex", ".csv", ".png", ".svg", ".pdf")
    ]
    cells = {(line["row"], line["data"]): line for line in csv.DictReader((tmp_path / "comparison.csv").open())}
    assert ("rims", "balls1") not in cells
    for balls in (2, 3):
        cell = cells["rims", f"balls{balls}"]
        assert float(cell["value"]) == pytest.approx(mean("rims", balls))
        assert float(cell["relative error"]) == pytest.approx(mean("rims", balls) / mean("gru", balls))


def test_a_misspelt_folder_is_answered_with_what_lies_beside_it_and_a_word_with_a_run(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for folder in ("mine/first", "models/firsts"):
        Path(folder).mkdir(parents=True)
        Path(folder, "settings.json").touch()
    Path("first.h5").touch()
    for typed, near in (("mine/firsd", "mine/first"), ("first", "models/firsts")):
        assert run(f"compare {typed}") == 1
        assert f"got {typed} (nothing there); did you mean {near}?" in capfd.readouterr().err


def test_a_row_whose_name_holds_a_sign_can_be_named(judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    for core, name in (("gru", "a=1"), ("rims", "a=1=2")):
        shutil.copytree(f"eval/{core}/balls2", tmp_path / name)
    capfd.readouterr()
    assert run(f"compare {tmp_path}/a=1 {tmp_path}/a=1=2 --names a=1=Small a=1=2=x=2 --out {tmp_path}/out") == 0
    assert [line.split()[0] for line in capfd.readouterr().out.splitlines()[3:5]] == ["Small", "x=2"]


def test_clips_under_two_names_are_compared_once(place, judged, tmp_path, monkeypatch, capfd):
    """A copy of the data on another machine may have another name; there is no difference to itself to tell of."""
    monkeypatch.chdir(tmp_path)
    for name in ("balls2", "zwei"):
        shutil.copyfile(judged / "datasets" / "balls2.h5", f"{name}.h5")
        for core in ("gru", "rims"):
            assert run(f"evaluate {place / core} {name}.h5 {ASKED}") == 0
    joint = f"evaluate {place / 'rims'} {place / 'gru'} balls2.h5 {ASKED} --out both"
    assert run(joint) == 0
    capfd.readouterr()
    assert run(f"compare {place / 'gru'} {place / 'rims'}") == 0
    out, err = capfd.readouterr()
    assert [line.split()[0] for line in out.splitlines()[3:5]] == ["gru", "rims"]
    told = "is left out: its scores are those of the same runs on the same clips in another folder"
    assert err == "".join(f"videopred: eval/{core}/zwei {told}\n" for core in ("gru", "rims"))
    assert run(f"compare eval/gru/balls2 both --out {tmp_path}/with-another") == 0
    out, err = capfd.readouterr()
    assert [line.split()[0] for line in out.splitlines()[3:6]] == ["gru", "rims", "blank"]
    assert err == ""


def test_a_run_that_lacks_scores_is_to_be_scored_as_the_others_were(place, judged, tmp_path, monkeypatch, capfd):
    shutil.copytree(judged / "eval", tmp_path / "eval")
    shutil.copytree(judged / "datasets", tmp_path / "datasets")
    monkeypatch.chdir(tmp_path)
    compare = f"compare {place / 'gru'} {place / 'rims'} --data balls1"
    assert run(compare) == 2
    err = capfd.readouterr().err
    words = re.search(r"must have scores of balls1, got .*; score it with `videopred (.*?)`", err)[1]
    assert words == f"evaluate {place / 'rims'} datasets/balls1.h5 --context 4 --horizon 3 --metrics mse"
    assert run(words) == 0
    assert run(compare) == 0


def test_scores_in_a_folder_of_another_name_are_asked_for_there(place, judged, tmp_path, monkeypatch, capfd):
    """As the first was scored; and if nothing can be told of that, it is still said what is missing."""
    shutil.copytree(judged / "datasets", tmp_path / "datasets")
    monkeypatch.chdir(tmp_path)
    for core, context in (("gru", 4), ("rims", 3)):
        where = f"--context {context} --horizon 3 --metrics mse --out eval/{core}/mine"
        assert run(f"evaluate {place / core} datasets/balls2.h5 {where}") == 0
    shutil.copytree(place / "gru", "third")
    compare = f"compare {place / 'gru'} {place / 'rims'} third --data mine"
    assert run(compare) == 2
    words = "evaluate third datasets/balls2.h5 --context 4 --horizon 3 --metrics mse --out eval/third/mine"
    assert f"; score it with `videopred {words}`" in capfd.readouterr().err
    Path("eval/gru/mine/measurements.npz").write_bytes(b"")
    assert run(compare) == 2
    told = "must have scores of mine, got third, of which nothing is in eval/third; score it with `videopred evaluate"
    assert f"{told} third DATA`" in capfd.readouterr().err


def test_scores_of_an_earlier_state_are_to_be_made_again_as_the_others_were(
    place, judged, tmp_path, monkeypatch, capfd
):
    shutil.copytree(judged / "datasets", tmp_path / "datasets")
    monkeypatch.chdir(tmp_path)
    asked = f"datasets/balls2.h5 {ASKED} --first 3 --reference datasets/balls1.h5"
    for core in ("gru", "rims"):
        assert run(f"evaluate {place / core} {asked}") == 0
    kept = Path("eval/rims/balls2/scores.json")
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"stamps": {"model": "of another day"}}))
    compare = f"compare {place / 'gru'} {place / 'rims'}"
    assert run(compare) == 2
    words = re.search(r"; score it with `videopred (.*?)`, as what is in eval/rims is of", capfd.readouterr().err)[1]
    assert words.endswith(" --reference datasets/balls1.h5 --overwrite")
    assert run(words) == 0
    ours, theirs = (json.loads(Path(f"eval/{core}/balls2/scores.json").read_text()) for core in ("rims", "gru"))
    assert ours["protocol"] == theirs["protocol"]
    assert run(compare) == 0


def test_data_are_chosen_by_name_and_a_single_one_is_compared_as_ever(place, judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    capfd.readouterr()
    both = f"compare {place / 'gru'} {place / 'rims'} --json --overwrite --out {tmp_path}"
    assert run(f"{both} --data balls3 balls2") == 0
    told = json.loads(capfd.readouterr().out)
    assert list(told["data"]) == ["balls2", "balls3"]
    assert told["rows"]["gru"]["balls3"]["mse"]["3"]["mean"]["value"] == pytest.approx(mean("gru", 3))
    assert len(told["files"]) == 6
    assert run(f"{both} --data balls2 --relative-to rims") == 0
    told = json.loads(capfd.readouterr().out)
    assert told["rows"]["gru"]["mse"]["3"]["difference"] == pytest.approx(mean("gru", 2) - mean("rims", 2))


def test_a_run_that_lacks_some_of_the_data_has_empty_cells_there(place, judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    capfd.readouterr()
    assert run(f"compare {place / 'rims'} {place / 'gru'} --data balls3 balls1 --out {tmp_path}") == 0
    printed = capfd.readouterr().out
    assert printed.startswith("2 data sets: ")
    assert "): rims on datasets/balls1.h5\n" in printed
    cells = {(line["row"], line["data"]) for line in csv.DictReader((tmp_path / "comparison.csv").open())}
    assert {("gru", "balls1"), ("gru", "balls3"), ("rims", "balls3")} <= cells
    assert ("rims", "balls1") not in cells


def test_rows_take_the_names_that_are_given(judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    capfd.readouterr()
    words = f"compare eval/gru/balls1 eval/rims/balls2 --names gru=Mine rims=Mine --json --out {tmp_path}"
    assert run(words) == 0
    told = json.loads(capfd.readouterr().out)["rows"]["Mine"]
    assert told["balls1"]["mse"]["3"]["mean"]["value"] == pytest.approx(mean("gru", 1))
    assert told["balls2"]["mse"]["3"]["mean"]["value"] == pytest.approx(mean("rims", 2))
    for name, of in (("RIMs", "RIMs"), ("rims", "RIMs"), ("gru", "gru")):  # as it is called now, or was before
        words = f"compare eval/gru/balls2 eval/rims/balls2 --names rims=RIMs --relative-to {name}"
        assert run(f"{words} --json --overwrite --out {tmp_path}") == 0
        told = json.loads(capfd.readouterr().out)
        assert (told["relative_to"], list(told["rows"])[:2]) == (of, ["gru", "RIMs"])
    words = "compare eval/gru/balls2 eval/rims/balls2 --names rims=gru gru=GRU --relative-to gru"
    assert run(f"{words} --json --overwrite --out {tmp_path}") == 0
    assert json.loads(capfd.readouterr().out)["relative_to"] == "gru", "which is what was called rims"


def test_scores_of_one_data_set_in_a_folder_of_its_own_are_called_after_their_folders(
    judged, tmp_path, monkeypatch, capfd
):
    """As eval/<data>/<run>: eval/<data> is then no run, of which there would be two tables."""
    for core in ("gru", "rims"):
        shutil.copytree(judged / "eval" / core / "balls2", tmp_path / "eval" / "balls2" / core)
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    assert run("compare eval/balls2/gru eval/balls2/rims/scores.json --json") == 0
    assert list(json.loads(capfd.readouterr().out)["rows"])[:2] == ["gru", "rims"]


def test_curves_are_drawn_where_they_are_asked_for(judged, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(judged)
    pictures = []
    for words in ("", "--curves"):
        assert run(f"compare eval/gru/balls2 eval/gru/balls3 {words} --overwrite --out {tmp_path}") == 0
        pictures.append((tmp_path / "comparison.png").read_bytes())
    assert pictures[0] != pictures[1]


@pytest.mark.parametrize("another", [{"started": "2020-02-02T20:20:02+00:00"}, {"updates": 99}])
def test_a_run_does_not_take_the_scores_of_another_of_its_name_or_of_what_it_was(
    place, judged, tmp_path, monkeypatch, capfd, another
):
    monkeypatch.chdir(judged)
    other = shutil.copytree(place / "gru", tmp_path / "gru")
    record = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(record | another))
    before = files_of(judged)
    capfd.readouterr()
    assert run(f"compare {place / 'gru'} {other}") == 2
    assert f"SCORES must have scores, got {other}, of which nothing is in eval/gru; score it" in capfd.readouterr().err
    for folder, has in ((place, True), (tmp_path, False)):
        assert run(f"runs {folder} --json") == 0
        (gru,) = (one for one in json.loads(capfd.readouterr().out)["runs"] if Path(one["path"]).name == "gru")
        assert bool(gru["scores"]) == bool(find_run(folder / "gru", Path("eval")).scores) == has
    assert run(f"evaluate {place / 'gru'} datasets/balls1.h5 {ASKED}") == 1
    assert "--out must be a new path, got eval/gru/balls1/scores.json" in capfd.readouterr().err
    assert run(f"evaluate {other} datasets/balls1.h5 {ASKED}") == 1
    taken = "--out must hold no scores of other runs, or of earlier states of these, got eval/gru/balls1/scores.json; "
    assert f"{taken}name another folder, rename a" in capfd.readouterr().err
    assert files_of(judged) == before


@pytest.mark.parametrize(
    ("above", "offered"),
    [
        ("eval/rims", "eval/rims/balls2 eval/rims/balls3"),
        ("eval", "eval/gru/balls1 eval/gru/balls2 eval/gru/balls3 …"),
    ],
)
def test_above_scores_is_said_what_lies_below(judged, monkeypatch, capfd, above, offered):
    monkeypatch.chdir(judged)
    capfd.readouterr()
    assert run(f"compare {above}") == 1
    assert capfd.readouterr().err.endswith(f"; did you mean {offered}?\n")


def test_names_with_spaces_are_offered_as_one_types_them(place, judged, tmp_path, monkeypatch, capfd):
    shutil.copytree(judged / "eval", tmp_path / "eval")
    (tmp_path / "eval/rims/balls2").rename(tmp_path / "eval/rims/two balls")
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    for words, offered in (
        (f"{place / 'rims'} --data two", "--data 'two balls'?"),
        ("eval/rims", "eval/rims/balls3 'eval/rims/two balls'?"),
        ("eval/rims/two", "'eval/rims/two balls'? Or make them with `videopred evaluate`"),
    ):
        assert run(f"compare {words}") in (1, 2)
        assert capfd.readouterr().err.endswith(f"; did you mean {offered}\n")


def test_plausibility_is_said_to_be_compared_elsewhere(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("plausibility.json").write_text("{}")
    assert run("compare .") == 1
    assert "; errors of plausibility are compared by `videopred plausibility RUN... DATA`" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "eval/gru/balls1 eval/rims/balls2",
            "SCORES must be of the same data, or have a model that is on several, got ",
        ),
        ("eval/gru/balls1 eval/gru/balls2 short", "SCORES must be of the same protocol as gru, got short with "),
        (
            "{gru} {rims} --data balls1",
            "SCORES must have scores of balls1, got {rims}, of which balls2, balls3 are in ",
        ),
        (
            "{rims} {gru} --data balls2 balls1 ball3",
            "have scores of ball3, got {rims}, of which balls2, balls3 are in eval/rims; did you mean --data balls3?",
        ),
        (
            "{rims} {gru} --data balls2 ball1",
            "have scores of ball1, got {rims}, of which balls2, balls3 are in eval/rims; did you mean --data balls1?",
        ),
        (
            "{rims} nowhere --data balls2 balls7",
            "SCORES must have scores of balls7, got {rims}, of which",
        ),
        (
            "eval/gru/balls1 --curves",
            "--curves must be given with scores on several data sets, got one; on one",
        ),
        (
            "{gru} --curves --relative-to gru",
            "--relative-to must be left out with --curves, got gru; relative",
        ),
        ("{gru} --names gru", "--names must be ROW=NAME, got gru; write e.g. scoff-balls4=SCOFF"),
        ("{gru} --names gru=A gru=B", "--names must name each row once, got gru twice; leave one out"),
        ("{gru} --names gur=A", "--names must be one of gru, got gur; did you mean gru?"),
        ("eval/gru/balls1 --names gur=A", "--names must be one of gru, got gur; did you mean gru?"),
        (
            "eval/gru/balls2 eval/rims/balls2 --names gru=rims",
            "for each row on the same data, got rims for gru and rims",
        ),
        ("eval/gru/balls1 eval/gru/balls1 eval/gru/balls2", "SCORES must be given once each, got gru on "),
        ("{gru} --relative-to blnk", "got blnk; did you mean blank?"),
    ],
)
def test_what_cannot_be_laid_side_by_side_is_one_clear_line(place, judged, monkeypatch, capfd, words, message):
    monkeypatch.chdir(judged)
    before = sorted(judged.rglob("*"))
    capfd.readouterr()
    runs = {core: place / core for core in ("gru", "rims")}
    assert run(f"compare {words.format(**runs)}") == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message.format(**runs) in err
    assert err.count("\n") == 1
    assert sorted(judged.rglob("*")) == before
