"""`videopred plausibility`: what it prints and writes, and one clear line for whatever is wrong."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from command_line import loaded_by, run
from tiny_runs import tiny_model, tiny_training

from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.intphys_export import export_intphys
from videopred.datasets.settings import OcclusionConfig
from videopred.eval.file_names import COMPARED_FILES, OVER_SEEDS_FILES
from videopred.eval.plausibility_seeds import over_seeds, seeds_table
from videopred.report.found import find_run
from videopred.surprise import plausibility
from videopred.training.run import train
from videopred.training.seeds import train_seeds

RECIPE = OcclusionConfig(frames=30, height=24, width=32)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Films, the same as a folder, with labels and without, a run, and scores; tests only read it."""
    folder = tmp_path_factory.mktemp("place")
    data = generate("occlusion", {"train": 6, "test": 12}, recipe=RECIPE, out=folder / "films.h5")
    export_intphys(open_dataset(data), folder / "intphys")
    (folder / "intphys/dev_ids.txt").unlink()
    export_intphys(open_dataset(data), folder / "bare", part="test", unlabelled=True)
    (folder / "bare/test_ids.txt").rename(folder / "names.txt")
    small = RECIPE.model_copy(update={"width": 40})
    wide = generate("occlusion", {"train": 6, "test": 4}, recipe=small, out=folder / "wide.h5")
    train(wide, tiny_model(), tiny_training(), out=folder / "broad", device="cpu")
    train(data, tiny_model(), tiny_training(), out=folder / "gru", device="cpu")
    train_seeds(data, (2, 10), tiny_model(), tiny_training(), out=folder / "both", device="cpu")
    shutil.copytree(folder / "gru", folder / "twin/gru")
    names = (folder / "names.txt").read_text().splitlines()
    (folder / "answer.txt").write_text("".join(f"{name} 0.5\n" for name in names))
    return folder


def test_a_run_is_judged_and_its_answers_are_judged_alike(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"plausibility {place / 'gru'} {place / 'films.h5'} --draw 1 --answers answer.txt") == 0
    out, err = capfd.readouterr()
    assert err == ""
    wrote = [line.removeprefix("wrote ") for line in out.splitlines() if line.startswith("wrote ")]
    results = "eval/gru/films"
    assert wrote == [f"{results}/plausibility.json", f"{results}/plausibility.csv", f"{results}/films.csv",
                     "answer.txt", f"{results}/surprise.npz", f"{results}/scene-1.png",
                     f"{results}/scene-1.gif"]  # fmt: skip
    assert all(Path(path).is_file() for path in wrote)
    assert out.startswith("gru on films.h5: 3 scenes of four films; part test, surprise bce, burn-in 1, every 1")
    kept = json.loads(Path(f"{results}/plausibility.json").read_text())
    for scores in ("answer.txt", f"{results}/films.csv"):
        assert run(f"plausibility --scores {scores} {place / 'films.h5'} --json --overwrite") == 0
        told = json.loads(capfd.readouterr().out)
        assert next(iter(told["errors"].values())) == kept["errors"]["mean"]
        assert told["files"] == [f"eval/{Path(scores).stem}/films/{name}" for name in
                                 ("plausibility.json", "plausibility.csv", "films.csv")]  # fmt: skip


@pytest.mark.parametrize("another", [{"started": "2020-02-02T20:20:02+00:00"}, {"updates": 99}])
def test_a_run_does_not_take_the_plausibility_of_another_of_its_name_or_of_what_it_was(
    place, tmp_path, monkeypatch, capfd, another
):
    monkeypatch.chdir(tmp_path)
    assert run(f"plausibility {place / 'gru'} {place / 'films.h5'}") == 0
    other = shutil.copytree(place / "gru", tmp_path / "gru")
    record = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(record | another))
    assert list(find_run(place / "gru", Path("eval")).plausibility) == ["films"]
    assert find_run(other, Path("eval")).plausibility == {}
    assert run(f"plausibility {other} {place / 'films.h5'}") == 1
    taken = (
        "--out must hold no scores of other runs, or of earlier states of these, got eval/gru/films/plausibility.json"
    )
    assert taken in capfd.readouterr().err


def test_a_run_that_is_not_finished_is_said_to_be_so(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "gru", "half")
    record = json.loads(Path("half/run.json").read_text())
    Path("half/run.json").write_text(json.dumps(record | {"state": "interrupted", "updates": 1}))
    assert run(f"plausibility half {place / 'films.h5'}") == 0
    out, err = capfd.readouterr()
    assert err == "half is not finished: 1 of 2 updates\n"
    note = "the run is not finished: 1 of 2 updates"
    assert f"read it beside the others\n{note}\n" in out
    assert json.loads(Path("eval/half/films/plausibility.json").read_text())["notes"] == [note]


def test_settings_reach_the_scores(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"plausibility {place / 'gru'} {place / 'intphys'} --json --out here --device cpu"
    assert run(f"{words} --aggregates max --surprise kl --burn-in 4 --every 3 --resamples 47 --seed 2") == 0
    told = json.loads(capfd.readouterr().out)
    assert [*told["settings"].pop("pixels")] == ["24 x 32"]
    assert told["settings"] == {
        "data": str(place / "intphys"), "run": str(place / "gru"), "part": "dev", "surprise": "kl", "burn_in": 4,
        "every": 3, "resamples": 47, "seed": 2,
    }  # fmt: skip
    assert list(told["errors"]) == ["max"]


def test_settings_of_the_intervals_reach_scores_made_elsewhere(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"plausibility --scores {place / 'answer.txt'} {place / 'films.h5'} --json --resamples 47 --seed 2"
    assert run(words) == 0
    settings = json.loads(capfd.readouterr().out)["settings"]
    assert (settings["resamples"], settings["seed"]) == (47, 2)


def test_runs_from_several_seeds_are_judged_each_and_told_together(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"plausibility {place / 'both'} {place / 'films.h5'} --resamples 43"
    assert run(f"{words} --json") == 0
    told = json.loads(capfd.readouterr().out)
    alone = {}
    for seed in ("seed-2", "seed-10"):
        kept = json.loads(Path(f"eval/both/{seed}/films/plausibility.json").read_text())
        assert kept == told["runs"][seed]
        assert run(f"plausibility {place / 'both' / seed} {place / 'films.h5'} --resamples 43 --json --out {seed}") == 0
        alone[seed] = json.loads(capfd.readouterr().out)["errors"]
        assert alone[seed] == kept["errors"]
    for aggregate, rows in told["over_seeds"].items():
        for row, first, second in zip(rows, *(of_run[aggregate] for of_run in alone.values()), strict=True):
            assert (row["where"], row["scenes"]) == (first["where"], first["scenes"])
            for error, pair in {
                "relative": (first["relative"]["value"], second["relative"]["value"]),
                "strict": (first["strict"], second["strict"]),
                "absolute": (first["absolute"]["value"], second["absolute"]["value"]),
            }.items():
                mean, deviation = sum(pair) / 2, abs(pair[0] - pair[1]) / 2**0.5  # of two, by hand
                assert row[error] == {"mean": pytest.approx(mean), "deviation": pytest.approx(deviation)}
    kept = json.loads(Path("eval/both/films/plausibility-over-seeds.json").read_text())
    assert kept["over_seeds"] == told["over_seeds"]
    of_one = told["runs"]["seed-2"]["settings"] | {"runs": [str(place / "both" / seed) for seed in alone]}
    assert kept["settings"] == {name: value for name, value in of_one.items() if name != "run"}
    table = Path("eval/both/films/plausibility-over-seeds.csv").read_text()
    lines = list(csv.DictReader(table.splitlines()))
    rows = [(aggregate, row) for aggregate, rows in told["over_seeds"].items() for row in rows]
    for line, (aggregate, row) in zip(lines, rows, strict=True):
        assert (line["aggregate"], line["scenes"]) == (aggregate, str(row["scenes"]))
        assert line["block"] == row["where"].get("block", "")
        assert float(line["relative"]) == row["relative"]["mean"]
        assert float(line["absolute_deviation"]) == row["absolute"]["deviation"]
    Path("eval/both/seed-2/films").rename("elsewhere")
    Path("eval/both/seed-10/films").rename("elsewhere too")
    assert run(words) == 1
    assert "--out must be a new path, got eval/both/films/plausibility-over-seeds.json (al" in capfd.readouterr().err
    assert not Path("eval/both/seed-2/films").exists()  # no run was judged for nothing
    assert run(f"{words} --out here --draw 1") == 0
    out = capfd.readouterr().out
    assert out.endswith("wrote here/plausibility-over-seeds.json\nwrote here/plausibility-over-seeds.csv\n")
    asked = "part test, surprise bce, burn-in 1, every 1, resamples 43, seed 0"
    assert out.startswith(f"both on films.h5: 3 scenes of four films; {asked}; mean of 2 seeds\n")
    absolute = told["over_seeds"]["mean"][0]["absolute"]
    line = next(line for line in out.splitlines() if line.startswith("all "))
    assert line.endswith(f"{absolute['mean']:.3f}  {absolute['deviation']:.3f}")
    for seed in ("seed-2", "seed-10"):
        assert f"wrote here/{seed}/plausibility.json\n" in out
        assert Path(f"here/{seed}/scene-1.gif").is_file()


@pytest.mark.slow
def test_several_models_are_judged_each_and_held_against_the_first(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"plausibility {place / 'gru'} {place / 'both'} {place / 'films.h5'} --resamples 43"
    assert run(f"{words} --json") == 0
    told = json.loads(capfd.readouterr().out)
    alone = {}
    for name in ("gru", "both"):
        assert run(f"plausibility {place / name} {place / 'films.h5'} --resamples 43 --json --out alone/{name}") == 0
        alone[name] = json.loads(capfd.readouterr().out)
        alone[name].pop("files")
    assert told["models"] == alone
    compared = Path("eval/gru-and-1-more/films")
    assert json.loads((compared / "plausibility-compared.json").read_text()) == told["comparison"]
    ends = [f"eval/{place}/films/plausibility.json" for place in ("gru", "both/seed-2", "both/seed-10")]
    ends += ["eval/both/films/plausibility-over-seeds.csv", f"{compared}/plausibility-compared.csv"]
    assert set(ends) <= set(told["files"])
    assert all(Path(path).is_file() for path in told["files"])
    for aggregate, kinds in told["comparison"]["compared"].items():
        pairs = zip(kinds, alone["gru"]["errors"][aggregate], alone["both"]["over_seeds"][aggregate], strict=True)
        for kind, gru, both in pairs:
            assert kind["models"]["gru"]["relative"] == pytest.approx(gru["relative"]["value"])
            assert kind["models"]["both"]["relative"] == pytest.approx(both["relative"]["mean"])
            assert kind["models"]["both"]["deviation"] == pytest.approx(both["relative"]["deviation"])
    assert run(words) == 1
    assert "--out must hold no scores" not in (err := capfd.readouterr().err)  # they are of these runs
    assert "--out must be a new path, got eval/gru/films/plausibility.json (already there)" in err
    assert run(f"{words} --out here --draw 1 --names both=BOTH") == 0
    assert capfd.readouterr().out.startswith("gru, BOTH on films.h5: 3 scenes of four films; part test, surprise bce")
    made = ("gru/scene-1.png", "gru/films.csv", "both/seed-10/scene-1.gif", "both/plausibility-over-seeds.csv",
            "plausibility-compared.csv", "plausibility-compared.tex")  # fmt: skip
    assert all(Path("here", name).is_file() for name in made)
    for name in ("gru", "both"):
        shutil.rmtree(Path("here", name))
    assert run(f"{words} --out here --names both=BOTH") == 1
    assert "--out must be a new path, got here/plausibility-compared.json (already there)" in capfd.readouterr().err
    assert not Path("here/gru").exists()  # no model was judged for nothing


def test_runs_of_one_name_are_told_apart_by_their_folders(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    folder = place.name
    assert run(f"plausibility {place / 'gru'} {place / 'twin/gru'} {place / 'films.h5'} --out here --json") == 0
    told = json.loads(capfd.readouterr().out)
    assert list(told["models"]) == [f"{folder}/gru", "twin/gru"]
    assert Path(f"here/{folder}/gru/plausibility.json").is_file()
    assert Path("here/twin/gru/plausibility.json").is_file()


def test_a_single_seed_has_no_deviation(place):
    scores = plausibility(place / "gru", place / "films.h5", device="cpu")
    assert over_seeds([scores])["max"][0]["relative"] == {
        "mean": scores.errors["max"][0].relative.value,
        "deviation": None,
    }
    assert seeds_table([scores]).count("  –") >= 3
    assert "max is low also for who counts bright pixels" in seeds_table([scores])
    assert "; mean of 1 seed\n" in seeds_table([scores])


def test_films_without_labels_can_be_answered(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    names = place / "names.txt"
    assert run(f"plausibility {place / 'gru'} {place / 'bare'} --film-names {names} --answers here/answer.txt") == 0
    assert "no labels say which films are possible, so there are no errors" in capfd.readouterr().out
    lines = Path("here/answer.txt").read_text().splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(names.read_text().splitlines())
    assert run(f"plausibility {place / 'gru'} {place / 'both'} {place / 'bare'} --out two") == 0
    out = capfd.readouterr().out
    assert out.count("no labels say which films are possible, so there are no errors") == 1
    assert not list(Path("two").glob("plausibility-compared.*"))


@pytest.mark.parametrize("path", ["eval/gru/films/films.csv", "eval/gru/films/scene-0.gif", "answer.txt"])
def test_nothing_is_overwritten_unasked(place, tmp_path, monkeypatch, capfd, path):
    monkeypatch.chdir(tmp_path)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("mine")
    drawn = "--draw 0" if path.endswith(".gif") else ""
    words = f"plausibility {place / 'gru'} {place / 'films.h5'} --answers answer.txt {drawn}"
    assert run(words) == 1
    flag = "--answers" if path == "answer.txt" else "--out"
    assert f"{flag} must be a new path, got {path} (already there)" in capfd.readouterr().err
    assert [file for file in Path().rglob("*") if file.is_file()] == [Path(path)]
    assert run(f"{words} --overwrite") == 0
    assert Path(path).read_bytes() != b"mine"


def test_who_stops_between_runs_is_not_left_with_what_older_scores_gave_together(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"plausibility {place / 'both'} {place / 'gru'} {place / 'films.h5'} --out here --overwrite"
    assert run(words) == 0
    together, compared = Path("here/both") / OVER_SEEDS_FILES[0], Path("here") / COMPARED_FILES[0]
    assert together.is_file()
    assert compared.is_file()
    judged = []

    def stopping(path, *args, **others):
        if judged:
            raise KeyboardInterrupt
        judged.append(path)
        return plausibility(path, *args, **others)

    monkeypatch.setattr("videopred.surprise.plausibility", stopping)
    assert run(words) == 130
    assert not together.exists()
    assert not compared.exists()
    assert len(list(Path("here").rglob("plausibility.json"))) == 3


BAD = {
    "{gru}": "RUN and DATA must be given, got {gru}; put both before the options, as in `videopred plausibility mod",
    "{films} {gru}": "DATA must be the last path, got {gru}, a run; put the data behind all runs",
    "{gru} {both} {films} --names both=gru": "--names must tell all runs apart, got gru twice; choose another name",
    "{gru} {twin}/gru {films}": "RUN must have results in folders of their own, got eval/gru/films twice; give --out",
    "": "RUN and DATA must be given, got nothing; put both before the options",
    "{gru} {films} --scores {answer}": "DATA must be one path with --scores, got {gru} {films}; leave out RUN",
    "{films} --scores {answer} --burn-in 3": "--burn-in must be left out with --scores, got both; it is about a run",
    "{films} --scores {answer} --every 3": "--every must be left out with --scores, got both; it is about a run",
    "{films} --scores {answer} --draw 0": "--draw must be left out with --scores, got both; it is about a run's",
    "{films} --scores gone.csv": "--scores must be an existing file, got gone.csv (nothing there); give a table or",
    "{gru} {films} --draw 0 0": "--draw must name each once, got 0 twice; leave one out",
    "{gru} {films} --draw 3": "--draw must lie in 0 to 2, the scenes of {films}, got 3; choose one of these",
    "{gru} {films} --draw -1": "--draw must lie in 0 to 2, the scenes of {films}, got -1; choose one of these",
    "{gru} {films} --aggregates mean mean": "--aggregates must name each once, got mean twice; leave one out",
    "{gru} {films} --burn-in 30": "--burn-in must be below 30, the frames of a film as it is shown, got 30; lower it",
    "{gru} {films} --every 30": "--every must leave two frames or more of 30, got 30, which leaves 1; lower it",
    "{gru} {films} --device tpu": "--device must be one of auto, cpu, cuda, mps, got tpu",
    "{gru} {films} --part train": "DATA must hold four films of each scene, got 1 of scene 0 in train of {films}",
    "{gru} {intphys} --part validation": "--part must be left out for folders of IntPhys, got validation; dev is",
    "{films} --scores {answer} --device cpu": "--device must be left out with --scores, got both; it is about a run",
    "{gru} {wide}": "{wide} must hold frames of 3 x 24 x 32 (channels x height x width), which {gru} was built for",
    "{both} {films} --answers a.txt": "--answers must be left out with several runs, got a.txt; name one of them: a",
    "{gru} {both} {films} --answers a.txt": "--answers must be left out with several runs, got a.txt; name one of",
    "{gru} {gru} {films}": "RUN must be given once each, got {gru} twice; leave one out",
    "{both} {both}/seed-2 {films}": "RUN must name each run once, got {both}/seed-2 twice; leave out what is in a",
    "{gru} {broad} {films}": "{films} must hold frames of 3 x 24 x 40 (channels x height x width), which {broad} was b",
    "{gru} gone {films}": "RUN must be a run folder with a settings.json, got gone (nothing there); give a folder",
    "{gru} {films} --answers answer.zip": "--answers must end in .txt, got answer.zip; rename it; zip the text if",
    "{gru} {films} --answers answer.csv": "--answers must end in .txt, got answer.csv; rename it",
    "{gru} {bare} --answers a.txt": "DATA must have names with O1, O2 or O3 and occluded or visible, which the benchm",
    "gone {films}": "RUN must be a run folder with a settings.json, got gone (nothing there); give a folder",
    "{gru} gone": "DATA must be an existing file or folder, got gone (nothing there); look at its spelling",
}
"""Words -> part of the one line that says what is wrong."""


@pytest.mark.parametrize("words", BAD)
def test_what_is_wrong_is_one_clear_line(place, tmp_path, monkeypatch, capfd, words):
    monkeypatch.chdir(tmp_path)
    places = {name: place / name for name in ("gru", "both", "broad", "twin", "bare", "intphys")} | {
        name: place / f"{name}.h5" for name in ("films", "wide")
    }
    places["answer"] = place / "answer.txt"
    status = run(f"plausibility {words.format(**places)}")
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("videopred: ")
    assert BAD[words].format(**places) in err
    assert err.count("\n") == 1
    assert status == (1 if "gone" in words else 2)
    assert list(tmp_path.iterdir()) == []


def test_usage_errors_load_nothing_heavy(place, tmp_path):
    (tmp_path / "films.csv").write_text("mine")
    there = f"{place / 'gru'} {place / 'films.h5'}"
    asked = ["", "x", "x y --scores z", "x y --device gpu", "x y --burn-in 0", "x y --draw 1 1", "x y"]
    asked += [f"{there} --out {tmp_path}", f"{place / 'films.h5'} --scores {tmp_path}/gone.csv"]
    assert loaded(asked) == {words: [] for words in asked}


def test_what_the_films_refuse_loads_no_torch(place):
    there = f"{place / 'gru'} {place / 'films.h5'}"
    asked = [f"{there} {words}" for words in ("--burn-in 30", "--every 30", "--draw 3")]
    asked.append(f"{place / 'gru'} {place / 'bare'} --answers a.txt")
    for words, modules in loaded(asked).items():
        assert not {"torch", "lightning", "matplotlib"} & set(modules), words


def loaded(asked: list[str]) -> dict[str, list[str]]:
    """Words, one after another -> the heavy modules that have been loaded when they are refused."""
    told = loaded_by([f"plausibility {words}" for words in asked])
    return {words.removeprefix("plausibility "): modules for words, (_, modules) in told.items()}
