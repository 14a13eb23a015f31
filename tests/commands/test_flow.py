"""The commands, one after the other: what they make, and what is printed where."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
from command_line import CLIPS, LEARNING, SIZES, SMALL, core_flags, run, unasked, written
from slow_proofs import EACH_CORE
from tiny_runs import CORE_SIZES, FRAMES, HEIGHT, WIDTH, files_of, tiny_data

from videopred.datasets import DATASETS, open_dataset
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.eval.file_names import SCORE_FILES
from videopred.eval.protocols import PROTOCOLS
from videopred.experiments import experiment_summaries
from videopred.experiments.figures import PAPER_FIGURES
from videopred.judging import BASELINES
from videopred.models import CODECS, CORES, DECODERS
from videopred.models.presets import PRESETS


@pytest.mark.parametrize(("preset", "core"), [("balls4", "rims"), ("sm-mnist", "gru")])
def test_the_whole_flow(tmp_path, monkeypatch, capfd, preset, core):
    """From nothing, in the usual folders: only what was asked for stands on stdout, and nothing on stderr."""
    monkeypatch.chdir(tmp_path)
    data, folder = Path(f"datasets/{preset}.h5"), Path(f"models/{preset}-{core}")
    results = Path(f"eval/{preset}-{core}/{preset}")
    steps = {
        f"generate {preset} {SIZES} {SMALL[preset]} {CLIPS}": [data],
        f"train {data} {core_flags(core)} {LEARNING}": [folder],
        f"rollout {folder} {data} --first 3": [results / "rollout.npz"],
        f"render {folder} {data} --clips 0 4": [
            results / f"test-{i}.{kind}" for i in (0, 4) for kind in ("gif", "png")
        ],
    }
    for words, paths in steps.items():
        assert run(words) == 0, words
        out, err = capfd.readouterr()
        following = f"next: videopred evaluate {folder} {data}\n" if words.startswith("train ") else ""
        assert out == "".join(f"wrote {path}\n" for path in paths) + following
        assert unasked(err) == ""
        assert written(out) == paths
    assert run(f"evaluate {folder} {data} --batch-size 2") == 0
    out, err = capfd.readouterr()
    assert written(out) == [results / name for name in SCORE_FILES]
    shown = ["model", *(name for name, row in BASELINES.items() if preset == "balls4" or not row.needs_physics)]
    assert [row for row in ("model", *BASELINES) if f"\n{row} " in out] == shown
    assert err == ""

    file = open_dataset(data)
    assert (file.frames, file.height, file.width) == (FRAMES, HEIGHT, WIDTH)
    assert file.parts == {"train": 12, "validation": 3, "test": 5}
    with np.load(results / "rollout.npz") as kept:
        assert kept["prediction"].shape == (3, file.horizon, 1, HEIGHT, WIDTH)
        assert kept["context"].shape == (3, file.context, 1, HEIGHT, WIDTH)
        np.testing.assert_array_equal(
            kept["truth"][:, 0, 0] * 255, file.read_frames("test", 0, 3)[:, file.context, ..., 0]
        )
    scores = json.loads((results / "scores.json").read_text())
    assert scores["protocol"]["clips"] == 5
    assert set(scores["rows"]) == set(shown)
    assert len(scores["rows"]["model"]["bce"]["steps"]) == file.horizon
    settings = json.loads((folder / "settings.json").read_text())
    sizes = json.loads(json.dumps(CORE_SIZES[core]))
    assert settings["model"]["core"] == {**settings["model"]["core"], "kind": core, **sizes}
    assert len(iio.imread(results / "test-4.gif")) <= FRAMES


@pytest.mark.parametrize("core", EACH_CORE[1:])
def test_every_other_core_learns_and_is_judged_too(place, tmp_path, monkeypatch, capfd, core):
    """By one metric and in one picture: what is printed does not depend on the core."""
    monkeypatch.chdir(tmp_path)
    data = place / "balls4.h5"
    for words, names in {
        f"train {data} {core_flags(core)} {LEARNING} --out run": ["run"],
        f"rollout run {data} --first 3 --out r.npz": ["r.npz"],
        f"render run {data} --clips 4 --format png --out p": ["p/test-4.png"],
        f"evaluate run {data} --metrics mse --out e": [f"e/{name}" for name in SCORE_FILES],
    }.items():
        assert run(words) == 0, words
        out, err = capfd.readouterr()
        assert written(out) == list(map(Path, names))
        assert unasked(err) == ""
    settings = json.loads(Path("run/settings.json").read_text())["model"]["core"]
    assert settings == {**settings, "kind": core, **json.loads(json.dumps(CORE_SIZES[core]))}


@pytest.mark.parametrize("preset", [preset for preset in DATASETS if preset not in ("balls4", "sm-mnist")])
def test_every_other_preset_is_made_too(tmp_path, monkeypatch, capfd, preset):
    monkeypatch.chdir(tmp_path)
    scene = DATASETS[preset].recipe.clips_per_scene("test")
    assert run(f"generate {preset} {SIZES} {SMALL.get(preset, '')} --clips test={2 * scene}") == 0
    assert capfd.readouterr() == (f"wrote datasets/{preset}.h5\n", "")
    assert open_dataset(f"datasets/{preset}.h5").parts == {"test": 2 * scene}


@pytest.mark.parametrize("decoder", DECODERS)
def test_other_codecs_and_decoders_are_trained_and_loaded_again(place, tmp_path, monkeypatch, capfd, decoder):
    monkeypatch.chdir(tmp_path)
    data, flags = place / "balls4.h5", core_flags("rims").partition("--codec")[0]
    codec = f"--codec mila --codec.channels 2 3 4 --codec.embedding 13 --decoder {decoder}"
    assert run(f"train {data} {flags} {codec} {LEARNING} --out mine") == 0
    saved = json.loads(Path("mine/settings.json").read_text())["model"]
    assert (saved["codec"]["kind"], saved["codec"]["embedding"], saved["decoder"]["kind"]) == ("mila", 13, decoder)
    assert run(f"evaluate mine {data} --metrics bce") == 0
    assert "model" in capfd.readouterr().out


def test_export_writes_the_folders_of_intphys(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = "generate occlusion --frames 30 --height 24 --width 32 --clips train=2 test=4"
    assert run(words) == 0
    capfd.readouterr()
    assert run("export intphys datasets/occlusion.h5 --out films --part test --unlabelled --random-levels") == 0
    assert capfd.readouterr() == ("wrote films\n", "")
    assert sorted(path.name for path in Path("films").iterdir()) == ["test", "test_ids.txt"]
    assert run("export intphys datasets/occlusion.h5 --out films --overwrite --json") == 0
    assert json.loads(capfd.readouterr().out) == {"files": ["films"]}
    assert sorted(path.name for path in Path("films").iterdir()) == ["dev", "dev_ids.txt", "train"]
    status = json.loads(Path("films/dev/O1/0001/4/status.json").read_text())
    assert status["frames"][0]["masks"]["floor"] == 1
    with open_dataset("datasets/occlusion.h5") as file:
        np.testing.assert_array_equal(
            iio.imread("films/train/00002/scene/scene_30.png"), file.clip("train", 1).frames[29]
        )


def test_an_export_stands_for_its_run(place, tmp_path, monkeypatch, capfd):
    """Results go to a folder of the run's name, and the scores are those of the run."""
    monkeypatch.chdir(tmp_path)
    assert run(f"export {place / 'rims'} --out shared/rims.safetensors") == 0
    assert capfd.readouterr() == ("wrote shared/rims.safetensors\n", "")
    scores = []
    for model in ("shared/rims.safetensors", place / "rims"):
        words = f"{model} {place / 'balls4.h5'} --overwrite"
        assert run(f"evaluate {words} --metrics mse") == 0
        scores.append(Path("eval/rims/balls4/scores.csv").read_text())
        assert run(f"rollout {words} --first 2") == 0
        assert run(f"render {words} --clips 1") == 0
    assert scores[0] == scores[1]
    assert [path.name for path in Path("eval").iterdir()] == ["rims"]


def test_a_rollout_of_fewer_clips_than_there_are_says_so_unless_they_were_counted(place, tmp_path, monkeypatch, capfd):
    """Else whoever sets it beside scores, which are of all clips, finds other numbers."""
    monkeypatch.chdir(tmp_path)
    data = tiny_data("many.h5", clips={"train": 1, "test": 17})
    told = "the first 16 of 17 clips of the test part; --first 17 takes all\nwrote some.npz\n"
    assert run(f"rollout {place / 'gru'} {data} --out some.npz") == 0
    assert capfd.readouterr() == (told, "")
    with np.load("some.npz") as kept:
        assert len(kept["prediction"]) == 16
    for words in (f"{data} --first 3", f"{place / 'balls4.h5'}"):
        assert run(f"rollout {place / 'gru'} {words} --out some.npz --overwrite") == 0
        assert capfd.readouterr() == ("wrote some.npz\n", "")
    assert run(f"rollout {place / 'gru'} {data} --out some.npz --overwrite --json") == 0
    assert json.loads(capfd.readouterr().out) == {"files": ["some.npz"]}


def test_a_rollout_feeds_back_what_is_asked_and_shows_interventions(place, tmp_path, monkeypatch, capfd):
    """Samples are those that scores are of; without a module other frames follow. All is of the part that is asked."""
    monkeypatch.chdir(tmp_path)
    asked = f"{place / 'rims'} {place / 'balls4.h5'} --part validation --context 4 --horizon 3 --device cpu"
    films, positions = {}, open_dataset(place / "balls4.h5").read("validation", "positions", 0, 3)[:, :7]
    for name, words in {"soft": "", "sample": "--feedback sample", "without": "--without 1"}.items():
        assert run(f"rollout {asked} {words} --first 3 --out {name}.npz --trace {name}-trace.npz") == 0
        with np.load(f"{name}.npz") as kept, np.load(f"{name}-trace.npz") as trace:
            films[name], truth, made = kept["prediction"], kept["truth"], json.loads(str(kept["made"]))
            np.testing.assert_array_equal(trace["truth/positions"], positions)
        told = (made["feedback"], made["intervention"], made["clips"])
        assert told == ("sample" if name == "sample" else "soft", ["without 1"] * (name == "without"), [0, 1, 2])
    assert all(np.abs(films[name] - films["soft"]).max() > 1e-6 for name in ("sample", "without"))
    assert np.abs(films["without"][:, 0] - films["soft"][:, 0]).max() > 1e-6, "from the first imagined frame on"
    assert run(f"evaluate {asked} --feedback sample --metrics mse --first 3 --out scores") == 0
    scored = json.loads(Path("scores/scores.json").read_text())["rows"]["model"]["mse"]["mean"]
    assert scored == pytest.approx(((films["sample"] - truth) ** 2).mean(), rel=1e-5)


def test_commands_print_json_instead_of_tables(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    data, gru = place / "balls4.h5", place / "gru"
    answers = {}
    for name, words in {
        "list": "",
        "generate": f"balls4 {SIZES} --balls 2 --clips test=2 --out my/folder",
        "import": f"{place / 'films.npy'} --out their.h5 --height 11 --width 13",
        "inspect": f"{data} --preview p.gif",
        "verify": f"{data} --sample 2",
        "train": f"{data} {core_flags('gru')} {LEARNING}",
        "rollout": f"{gru} {data} --first 2 --trace states.npz",
        "probe": "states.npz",
        "evaluate": f"{gru} {data} --metrics mse f1 --first 4 --context 2 --horizon 3 --part train",
        "render": f"{gru} {data} --clips 1 --part validation",
        "export": f"{gru} --out gru.safetensors",
    }.items():
        assert run(f"{name} {words} --json") == 0, name
        answers[name] = json.loads(capfd.readouterr().out)
    listed = {shelf: list(rows) for shelf, rows in answers["list"].items()}
    shelves = {"datasets": DATASETS, "cores": CORES, "presets": PRESETS, "codecs": CODECS}
    shelves |= {"decoders": DECODERS, "metrics": METRICS, "object-metrics": OBJECT_METRICS, "protocols": PROTOCOLS}
    shelves |= {"experiments": experiment_summaries(), "figures": PAPER_FIGURES}
    assert listed == {shelf: list(table) for shelf, table in shelves.items()}
    assert answers["generate"] == {"files": ["my/folder/balls4.h5"]}
    assert answers["import"]["files"] == ["their.h5"]
    assert [answers["import"][fact] for fact in ("clips", "frames", "height", "width")] == [1, FRAMES, 11, 13]
    assert answers["inspect"]["parts"]["validation"]["clips"] == 3
    assert list(answers["verify"]["proved"]) == ["whole", "recipe", "addresses", "parts", "masks"]
    assert answers["verify"]["not_proved"] == {}
    assert answers["train"] == {"files": ["models/balls4-gru"]}
    assert answers["export"] == {"files": ["gru.safetensors"]}
    assert answers["rollout"] == {"files": ["eval/gru/balls4/rollout.npz", "states.npz"]}
    assert answers["probe"]["clips"] == 2
    assert set(answers["probe"]["positions"]) == {"error_px", "mean_error_px", "r2", "modules"}
    assert answers["render"] == {"files": ["eval/gru/balls4/validation-1.gif", "eval/gru/balls4/validation-1.png"]}
    scores = answers["evaluate"]
    assert scores["protocol"] == {
        "name": None, "context": 2, "horizon": 3, "part": "train", "metrics": ["mse", "f1"], "clips": 4,
        "feedback": "soft", "samples": 1, "means": [], "metric_settings": [], "changed": [],
    }  # fmt: skip
    assert list(scores["metrics"]) == ["mse", "f1"]
    assert all(Path(path).exists() for name in answers for path in answers[name].get("files", []))


def test_inspect_says_what_is_in_a_file(place, tmp_path, capfd):
    assert run(f"inspect {place / 'balls4.h5'} --preview {tmp_path / 'p.gif'}") == 0
    out, err = capfd.readouterr()
    assert written(out) == [tmp_path / "p.gif"]
    for fact in ("balls4", "height", str(HEIGHT), "width", str(WIDTH), "binary", "validation"):
        assert fact in out
    assert re.search(r"recipe\.walls +yes\n", out)
    assert err == ""
    assert iio.imread(tmp_path / "p.gif").shape[-1] == 3


def test_a_described_file_can_be_made_again(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"inspect {place / 'balls4.h5'} --json") == 0
    Path("again.json").write_text(capfd.readouterr().out)
    assert run("generate again.json --clips test=2 --shards 2") == 2
    assert "--shards must be 1 for a recipe that is not called after a preset, got 2; rename" in capfd.readouterr().err
    assert run("generate again.json --width 40 --clips test=2") == 0
    made, from_ = open_dataset("datasets/again.h5"), open_dataset(place / "balls4.h5")
    assert made.name == "again"
    assert made.recipe == from_.recipe.model_copy(update={"width": 40})


def test_a_preview_shows_how_long_films_begin(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    films = np.random.default_rng(0).integers(0, 256, (207, 9, 11), np.uint8)
    np.save("long.npy", films)
    assert run("import long.npy --out long.h5") == 0
    assert run("inspect long.h5 --preview p.gif") == 0
    shown = iio.imread("p.gif")
    assert len(shown) == 200
    assert (shown[-1, 20, 20] == films[199, 0, 0]).all()


def test_files_of_others_can_be_used(place, tmp_path, capfd):
    """A file with the frames of R-NEM's original files; the model's own data calibrates the trivial baselines."""
    frames = open_dataset(place / "balls4.h5").read_frames("test", 0, 5).swapaxes(0, 1) > 0
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["test/features"] = frames
    words = f"evaluate {place / 'gru'} {tmp_path / 'theirs.h5'} --context 3 --horizon 4 --out {tmp_path}"
    assert run(words) == 0
    assert "has no train part to learn from" in capfd.readouterr().out
    assert run(f"{words} --reference {place / 'balls4.h5'} --overwrite") == 0
    assert "copy last calibrated  " in capfd.readouterr().out
    assert run(f"inspect {tmp_path / 'theirs.h5'}") == 0


def test_films_of_others_can_be_brought_in_and_used(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    np.save("films.npy", open_dataset(place / "balls4.h5").read_frames("train", 0, 12)[..., 0].swapaxes(0, 1))
    for part in ("train", "test"):
        assert run(f"import films.npy --out {part}.h5 --axes TBHW --part {part}") == 0
        out, err = capfd.readouterr()
        assert written(out) == [Path(f"{part}.h5")]
        for fact, value in {"axes": "TBHW", "clips": "12", "height": HEIGHT, "width": WIDTH, "resized": "no"}.items():
            assert re.search(rf"^  {fact} +{value}$", out, re.MULTILINE), fact
        assert err == ""
    assert run(f"train train.h5 {core_flags('gru')} {LEARNING} --out run") == 0
    assert run("rollout run test.h5 --first 2") == 0
    assert run("evaluate run test.h5 --reference train.h5 --metrics mse") == 0
    assert run("render run test.h5 --clips 11") == 0
    written(capfd.readouterr().out)
    assert run("inspect test.h5 --preview p.gif --json") == 0
    facts = json.loads(capfd.readouterr().out)
    assert (facts["recipe"], facts["context"], facts["horizon"]) == (None, 4, 5)
    assert facts["parts"]["test"]["clips"] == 12


def test_a_dry_run_says_what_it_would_take_and_makes_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"generate balls4 {SIZES} --balls 2 --clips train=12 --workers 2 --dry-run"
    assert run(words) == 0
    out, err = capfd.readouterr()
    assert re.fullmatch(r"making 12 clips in 1 file of \d+ kB takes about [\d.]+ s with 2 workers\n", out)
    assert err == ""
    assert run(f"{words} --json") == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["clips"], told["files"], told["workers"]) == (12, ["datasets/balls4.h5"], 2)
    assert list(told) == ["clips", "files", "bytes", "seconds", "workers", "lacking"]
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_tells_of_a_disk_that_is_too_small_as_well(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(total=1000, free=1000))
    assert run(f"generate balls4 {SIZES} --balls 2 --clips train=12 --dry-run") == 1
    out, err = capfd.readouterr()
    assert re.match(r"making 12 clips in 1 file of \d+ kB takes about ", out)
    assert re.match(r"videopred: --out must be on a disk with \d+ kB free, for files .*, got 1 kB at /", err)


def test_a_folder_of_shards_is_data_as_well(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"generate balls4 {SIZES} --balls 2 {CLIPS} --shards 2 --workers 2") == 0
    assert capfd.readouterr() == ("wrote datasets/balls4\n", "")
    assert run("inspect datasets/balls4 --json") == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["bytes"] == sum(path.stat().st_size for path in Path("datasets/balls4").iterdir())
    assert {part: there["clips"] for part, there in facts["parts"].items()} == {"train": 12, "validation": 3, "test": 5}
    assert run(f"evaluate {place / 'gru'} datasets/balls4 --metrics mse") == 0
    assert written(capfd.readouterr().out)[0] == Path("eval/gru/balls4/scores.json")


def test_what_lacks_or_breaks_among_files_is_a_failure_and_no_misuse(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"generate balls4 {SIZES} --balls 2 --clips test=4 --shards 2 --out .") == 0
    Path("balls4/balls4-00001-of-00002.h5").unlink()
    assert run("generate occlusion --frames 30 --height 24 --width 32 --clips test=4 --out o.h5") == 0
    assert run("export intphys o.h5 --out intphys") == 0
    sorted(Path("intphys").rglob("scene_*.png"))[1].unlink()
    capfd.readouterr()
    for words, message in {
        "inspect balls4": "DATA must hold all 2 shards, got none called balls4-00001-of-00002.h5 in balls4; make it",
        "import intphys --out x.h5": "SOURCE must hold every frame, counted from 1, got none of number 2 in intphys/",
    }.items():
        assert run(words) == 1
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert message in err


def test_verify_says_what_is_proved_and_what_is_wrong(place, tmp_path, capfd):
    assert run(f"verify {place / 'balls4.h5'}") == 0
    out, err = capfd.readouterr()
    rows = [line.split(maxsplit=1) for line in out.splitlines()]
    assert [name for name, _ in rows] == ["fingerprint", "whole", "recipe", "addresses", "parts", "masks"]
    assert rows[0][1] == open_dataset(place / "balls4.h5").fingerprint()
    assert err == ""
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["test/features"] = np.eye(9, dtype=bool).reshape(9, 1, 9, 1, 1)
    assert run(f"verify {tmp_path / 'theirs.h5'}") == 0
    assert (
        "  not checked: recipe     these films come from elsewhere: nothing says how they were made"
        in capfd.readouterr().out
    )
    shutil.copy(place / "balls4.h5", tmp_path / "changed.h5")
    with h5py.File(tmp_path / "changed.h5", "r+") as file:
        file["test/positions"][:, 4] = 0
    assert run(f"verify {tmp_path / 'changed.h5'}") == 1
    wrong = f"got another positions in clip 4 of test in {tmp_path / 'changed.h5'}"
    assert capfd.readouterr().err.startswith(f"videopred: DATA must hold what its recipe makes, {wrong}; make it again")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (f"generate balls4 {SIZES} --balls 2 --clips test=2 --out there.h5", "there.h5"),
        ("import {films} --axes THW --out there.h5", "there.h5"),
        ("inspect {data} --preview there.gif", "there.gif"),
        (f"train {{data}} {core_flags('gru')} {LEARNING} --out there", "there"),
        ("rollout {gru} {data} --first 2 --out there.npz", "there.npz"),
        ("evaluate {gru} {data} --out there", "there/scores.json"),
        ("evaluate {gru} {data} --out there", "there/scores.csv"),
        ("render {gru} {data} --clips 2 --out there", "there/test-2.gif"),
        ("render {gru} {data} --clips 2 --out there", "there/test-2.png"),
    ],
)
def test_nothing_is_overwritten_unasked(place, tmp_path, monkeypatch, capfd, words, path):
    monkeypatch.chdir(tmp_path)
    words = words.format(data=place / "balls4.h5", gru=place / "gru", films=place / "films.npy")
    if Path(path).suffix:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text("mine")
    else:
        shutil.copytree(place / "rims", path)
    before = files_of(tmp_path)
    assert run(words) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith(f"must be a new path, got {path} (already there); choose another name, or give --overwrite "
                        "to replace it\n")  # fmt: skip
    assert files_of(tmp_path) == before
    assert run(f"{words} --overwrite") == 0
    target = Path(path) / "settings.json" if Path(path).is_dir() else Path(path)
    assert target.read_bytes() != before[tmp_path / target]
