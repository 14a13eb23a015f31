"""The command line: the whole flow, what is printed where, and one clear line for whatever is wrong."""

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
from tiny_runs import (
    CODEC,
    CORE_SIZES,
    FRAMES,
    HEIGHT,
    WIDTH,
    no_file_longer_than,
    tiny_data,
    tiny_model,
    tiny_training,
)

from videopred.cli import COMMANDS, main
from videopred.datasets import DATASETS
from videopred.datasets.generation import generate
from videopred.datasets.opening import open_dataset
from videopred.datasets.settings import BallsConfig
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.eval.protocols import PROTOCOLS
from videopred.eval.scores import FILES
from videopred.experiments import experiment_summaries
from videopred.judging import ROWS
from videopred.models import CODECS, CORES, DECODERS
from videopred.models.presets import PRESETS
from videopred.training import train

SIZES = f"--frames {FRAMES} --height {HEIGHT} --width {WIDTH}"
CLIPS = "--clips train=12 validation=3 test=5"
SMALL = {
    "balls4": "--balls 2",
    "curtain": "--curtain 9 11",
    "sm-mnist": "--digit-size 14 --digits 1 2",
    "sm-mnist-svg": "--digit-size 12 --digits 3",
    "srivastava": "--digit-size 11 --speed 2.5",
    "motion3": "--radius 1.5",
    "switching": "--radius 1.5",
    "occlusion": "--frames 30",
}
"""Flags that fit a preset into small frames; a new preset gets a line if it needs one."""
LEARNING = "--updates 2 --batch-size 4 --validate-every 1 --device cpu"


def run(words: str) -> int:
    """The exit status of `videopred` with these words."""
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    return caught.value.code


def written(out: str) -> list[Path]:
    """The files that a command said it wrote; they are there."""
    paths = [Path(line.removeprefix("wrote ")) for line in out.splitlines() if line.startswith("wrote ")]
    for path in paths:
        assert path.exists(), path
    return paths


def core_flags(core: str) -> str:
    values = {name: value if isinstance(value, tuple) else (value,) for name, value in CORE_SIZES[core].items()}
    sizes = " ".join(f"--core.{name.replace('_', '-')} {' '.join(map(str, value))}" for name, value in values.items())
    codec = f"--codec.channels {' '.join(map(str, CODEC.channels))} --codec.embedding {CODEC.embedding}"
    return f"--core {core} {sizes} {codec}"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with data, and runs of two cores; tests only read it."""
    folder = tmp_path_factory.mktemp("place")
    data = tiny_data(folder)
    for core in ("gru", "rims"):
        train(data, tiny_model(core), tiny_training(), out=folder / core, device="cpu")
    np.save(folder / "films.npy", open_dataset(data).read_frames("test", 0, 1)[0, ..., 0])
    return folder


# --- the flow ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "core"), [("balls4", core) for core in CORES] + [("sm-mnist", "gru")])
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
        assert out == "".join(f"wrote {path}\n" for path in paths)
        assert err == ""
        assert written(out) == paths
    assert run(f"evaluate {folder} {data} --batch-size 2") == 0
    out, err = capfd.readouterr()
    assert written(out) == [results / name for name in FILES]
    shown = ["model", *(name for name, row in ROWS.items() if preset == "balls4" or not row.needs_physics)]
    assert [row for row in ("model", *ROWS) if f"\n{row} " in out] == shown
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


def test_rows_clips_and_files_of_pictures_can_be_chosen(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"render {place / 'rims'} {place / 'balls4.h5'} --context 3 --horizon 5"
    for more, names in {
        "--random 2 --seed 3 --rows modules,attention,boxes,overlay --format png --out a": 2,
        "--worst 1 --by f1 --first 4 --format gif mp4 --frame-ms 50 --out b": 2,
        "--clips 2 --out c/d.mp4 --rows pred": 1,
        "--best 1 --out c/e.png --rows truth": 1,
        "--clips 1 3 --figure activation --out f": 4,
        "--clips 1 --figure strip --out f/one.svg": 1,
        "--clips 1 2 --figure mask-out --out h": 2,
        "--clips 1 --without 0 --freeze 1 --swap 2,3 --from-step 2 --format png --out g": 1,
    }.items():
        assert run(f"{words} {more}") == 0, more
        out, err = capfd.readouterr()
        assert (len(written(out)), err) == (names, "")
    assert sorted(path.suffix for path in Path("b").iterdir()) == [".gif", ".mp4"]
    assert iio.immeta("c/d.mp4", plugin="pyav")["duration"] == pytest.approx(0.8)


def test_every_command_speaks_json(place, tmp_path, monkeypatch, capfd):
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
    shelves["experiments"] = experiment_summaries()
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
        "feedback": "soft", "samples": 1, "means": [],
    }  # fmt: skip
    assert list(scores["metrics"]) == ["mse", "f1"]
    assert all(Path(path).exists() for name in answers for path in answers[name].get("files", []))


def test_inspect_says_what_is_in_a_file(place, tmp_path, capfd):
    assert run(f"inspect {place / 'balls4.h5'} --preview {tmp_path / 'p.gif'}") == 0
    out, err = capfd.readouterr()
    assert written(out) == [tmp_path / "p.gif"]
    for fact in ("balls4", "height", str(HEIGHT), "width", str(WIDTH), "binary", "validation"):
        assert fact in out
    assert err == ""
    assert iio.imread(tmp_path / "p.gif").shape[-1] == 3


def test_files_of_others_can_be_used(place, tmp_path, capfd):
    """A file with the frames of R-NEM's original files; the model's own data calibrates the trivial rows."""
    frames = open_dataset(place / "balls4.h5").read_frames("test", 0, 5).swapaxes(0, 1) > 0
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["test/features"] = frames
    words = f"evaluate {place / 'gru'} {tmp_path / 'theirs.h5'} --context 3 --horizon 4 --out {tmp_path}"
    assert run(words) == 2
    assert "--reference must have a train part" in capfd.readouterr().err
    assert run(f"{words} --reference {place / 'balls4.h5'}") == 0
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
    assert re.fullmatch(r"making 12 clips in 1 file of 0\.00 GB takes about \d+ s with 2 workers\n", out)
    assert err == ""
    assert run(f"{words} --json") == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["clips"], told["files"], told["workers"]) == (12, ["datasets/balls4.h5"], 2)
    assert list(told) == ["clips", "files", "bytes", "seconds", "workers", "lacking"]
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_tells_of_a_disk_that_is_too_small_as_well(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    assert run(f"generate balls4 {SIZES} --balls 2 --clips train=12 --dry-run") == 1
    out, err = capfd.readouterr()
    assert out.startswith("making 12 clips in 1 file of 0.00 GB takes about ")
    assert err.startswith("videopred: --out must be on a disk with 0.00 GB free, for files and the pieces that")


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
        "import intphys --out x.h5": "SOURCE must hold every frame, got none of number 2 in intphys/dev/O1/",
    }.items():
        assert run(words) == 1
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert message in err


def test_verify_says_what_is_proved_and_what_is_wrong(place, tmp_path, capfd):
    assert run(f"verify {place / 'balls4.h5'}") == 0
    out, err = capfd.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["whole", "recipe", "addresses", "parts", "masks"]
    assert err == ""
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["test/features"] = np.eye(9, dtype=bool).reshape(9, 1, 9, 1, 1)
    assert run(f"verify {tmp_path / 'theirs.h5'}") == 0
    assert "  not proved: recipe     films of another origin: nothing says how they were made" in capfd.readouterr().out
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
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert run(words) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith(f"must be a new path, got {path} (already there); choose another name, or give --overwrite "
                        "to replace it\n")  # fmt: skip
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert run(f"{words} --overwrite") == 0
    target = Path(path) / "settings.json" if Path(path).is_dir() else Path(path)
    assert target.read_bytes() != before[tmp_path / target]


# --- what is wrong -----------------------------------------------------------------------------------------

BAD = {
    "frobnicate": f"COMMAND must be one of {', '.join(COMMANDS)}, got frobn",
    "generat": "got generat; did you mean generate?",
    "--verbose": f"COMMAND must be one of {', '.join(COMMANDS)}, got --verb",
    "generate ball4": f"PRESET must be one of {', '.join(DATASETS)}, got ball4; did you mean balls4?",
    "generate --seed 3 balls4": "PRESET must come before the options, got --seed; put PRESET first, as in",
    "generate balls4 --clips train": "--clips must be PART=COUNT with a whole number, got train; write e.g. --clips",
    "generate balls4 --clips train=-3": "--clips must be PART=COUNT with a whole number, got train=-3; write",
    "generate balls4 --clips train=²": "--clips must be PART=COUNT with a whole number, got train=²; write",
    "generate balls4 --clips training=3": "--clips must be one of train, validation, test, got training; did you mea",
    "generate balls4 --clips train=0": "--clips must ask for at least one clip, got 0; try --clips train=100 test=10",
    "generate balls4 --clips train=5 train=6": "--clips must name each part once, got train=6; leave one of them out",
    "generate balls4 --out clips.hdf5": "--out must be a folder, or a file that ends in .h5, got clips.hdf5; rename it",
    "evaluate {gru} {data} --metrics f1 f1": "--metrics must name each once, got f1 f1; leave one out",
    "render {gru} {data} --clips 1 1": "--clips must name each clip once, got (1, 1); leave one out",
    "generate balls4 --clips": "--clips must ask for at least one clip, got 0; try --clips train=100 test=10",
    "generate balls4 --seed 18446744073709551616": "--seed must be below 2**64, got 18446744073709551616; choose",
    "generate sm-mnist --mnist nowhere": "--mnist must hold train-images-idx3",
    "train {data} --core gruu": f"--core must be one of {', '.join([*CORES, *PRESETS])}, got gruu; did you mean gru?",
    "train {data} --core=gruu": f"--core must be one of {', '.join([*CORES, *PRESETS])}, got gruu; did you mean gru?",
    "train {data} --core gru --core.modules 3": "--core.modules must be a setting of gru, got one of rims",
    "train {data} --core lstm-balls --core.active=3": "--core.active must be a setting of lstm-balls, got one of rims",
    "train {data} --decoder.queries 3": "--decoder.queries must be a setting of shared, got one of files; leave it out",
    "train {data} --core gone:Core": "core gone:Core must be importable, got ModuleNotFoundError: No module named 'go",
    "check-core gruu": "got gruu; did you mean gru?",
    "check-core gru --core.modules 3": "--core.modules must be a setting of gru, got one of rims",
    "train {data} --codec vgg": "--codec must be one of rnem, mila, got vgg; choose one of these",
    "train {data} --decoder mask": "--decoder must be one of shared, files, masks, got mask; did you mean masks?",
    "train odd.h5 --codec mila": "frame height must be a multiple of 8 from 24 on for --codec mila, got 16; generate",
    "train gone.h5": "DATA must be an existing file, got gone.h5 (nothing there); make one with `videopred generate",
    "train balls4.h5": "got balls4.h5 (nothing there); make one with `videopred generate balls4`",
    "train .": "DATA must be a data file or a folder of shards, got . (a folder without any); make it with `video",
    "train cut.h5": "DATA must be a whole, undamaged HDF5 file, got cut.h5 (",
    "train foreign.h5": "DATA must be a whole, undamaged HDF5 file, got foreign.h5 (",
    "train other.h5": "DATA must hold some of the groups training, validation, test, got none of them in other.h5",
    "train odd.h5": "frame width must be a multiple of 8 for 3 halvings, got 20; generate frames of such a width, or",
    "train testonly.h5": "DATA must hold a training part, got testonly.h5 without one; generate some with",
    "train {data} --batch-size 13": "--batch-size must be at most 12, the clips left to learn from, got 13; lower it",
    "train {data}": "--batch-size must be at most 12, the clips left to learn from, got 64; lower it",
    "train {data} --device tpu": "--device must be one of auto, cpu, cuda, mps, got tpu; did you mean cpu?",
    "train {data} --device cuda:99": "--device must be a device of this machine, which has ",
    "train {data} --device cuda:": "--device must be a device of this machine, which has ",
    "train {data} --device auto:1": "--device must be one of auto, cpu, cuda, mps, got auto:1; did you mean auto?",
    "train {data} --batch-size 4 --free-running 8": "--free-running must be at most 7, so that of 9 frames one is gi",
    "evaluate {gru} {data} --metrics bce msse": "--metrics must be one of bce, bce-mean, mse, mse-sum, ",
    "evaluate {gru} {data} --context 5 --horizon 5": "--context plus --horizon must be at most 9, the frames of a c",
    "evaluate {gru} {data} --context 0": "--context must be at least 1, got 0; give at least one frame to start from",
    "evaluate {gru} {data} --first 6": "--first must be at most 5, the clips of the test part, got 6; lower it, or",
    "evaluate {gru} {data} --first 0": "--first must be at least 1, got 0; score at least one clip",
    "evaluate {gru} {data} --batch-size 0": "--batch-size must be at least 1, got 0; give at least one clip",
    "evaluate {gru} odd.h5": "odd.h5 must hold frames of 1 x 24 x 32 (channels x height x width), which the model was",
    "evaluate {gru} testonly.h5": "--reference must have a train part, got testonly.h5 (which has test); give with",
    "evaluate {gru} cut.h5": "DATA must be a whole, undamaged HDF5 file, got cut.h5 (",
    "evaluate gone {data}": "RUN must be a run folder with a settings.json, got gone; give a folder that `videopred tr",
    "evaluate mixed {data}": "best.ckpt must be of the model in settings.json, with core gru, got core rims; put back",
    "evaluate broken {data}": "best.ckpt must be a whole checkpoint, got something else; delete it to fall back on",
    "rollout {gru} {data} --context 9": "--context plus --horizon must be at most 9, the frames of a clip, got 9 + 5",
    "rollout {gru} {data} --first 6": "--first must be at most 5, the clips of the test part, got 6; lower it",
    "rollout {gru} odd.h5 --first 2": "odd.h5 must hold frames of 1 x 24 x 32 (channels x height x width), which",
    "rollout gone {data}": "RUN must be a run folder with a settings.json, got gone; give a folder that",
    "render {gru} {data} --clips 7": "--clips must lie in 0 to 4, the clips of the test part, got 7; choose one",
    "render {gru} {data} --rows truth,prd": "--rows must be one of truth, pred, diff, overlay, modules, attention",
    "render {gru} {data} --rows modules": "--rows must be among truth, pred, diff, overlay, boxes, what there",
    "render {gru} {data} --clips 1 --worst 2": "--worst must be left out with --clips, got 2; leave one out",
    "render {gru} {data} --worst 0": "--worst must be at least 1, got 0; ask for at least one clip",
    "render {gru} {data} --best 6": "--best must be at most 5, the clips that have a score, got 6; lower it",
    "render {gru} {data} --worst 1 --by msee": "--by must be one of bce, bce-mean, mse, mse-sum, mae, mae-sum, psnr,",
    "render {gru} {data} --random 3 --first 2": "--random must be at most 2, the clips there are, got 3; lower it",
    "render {gru} {data} --first 6": "--first must be at most 5, the clips of the part, got 6; lower it",
    "render {gru} {data} --out x.jpg": "--out must be a folder, or end in .gif or .mp4 for a film or .png for a strip",
    "render {gru} {data} --out x.gif": "--out must be a folder for several clips, got x.gif; give a folder, or",
    "render {gru} {data} --figure actvation": "strip, activation, activation-position, schemata, top-down, mask-out",
    "render {gru} {data} --figure schemata": "--figure must draw what this model has, which is states, got schemata",
    "render {gru} {data} --figure strip --rows pred": "--rows must be left out with --figure, got one; a figure has",
    "render {gru} {data} --figure strip --out a.gif": "--out must be a folder, or end in .png or .svg for a figure",
    "render {gru} {data} --figure strip --without 0": "--figure must be left out with an intervention, got strip",
    "render {gru} {data} --without 0": "RUN must have modules to silence, freeze or swap, got GRU; take a model",
    "render {gru} {data} --schema 0": "--schema must be left out without schemata, got 0 for GRU; take a model",
    "render {gru} {data} --swap 1": "--swap must be two different modules with a comma between them, got 1; write e.g",
    "render {gru} {data} --rows change": "got change; give --without, --freeze, --swap or --schema",
    "render {gru} {data} --frame-ms 33": "--frame-ms must be a multiple of 10, at least 20, for a GIF, got 33; try 100",
    "render {gru} {data} --clips -1": "--clips must lie in 0 to 4, the clips of the test part, got -1; choose one",
    "render {gru} {data} --device tpu": "--device must be one of auto, cpu, cuda, mps, got tpu; did you mean cpu?",
    "import {films} --out x.h5 --axes TBHW": "--axes must name each axis of the array, (9, 24, 32) in",
    "import {films} --out x.h5 --height 5": "--height and --width must be given together, got --height 5 --width None",
    "import {films} --out x.h5 --array a": "--array must be left out, got a for",
    "import {films} --out x.hdf5": "--out must end in .h5, got x.hdf5; rename it",
    "import gone.npy --out x.h5": "SOURCE must be an existing file or folder, got gone.npy (nothing there); look at",
    "import . --out x.h5": "SOURCE must be one of: .npy; .npz; PNG frames in a folder or in folders in it; GIF or a",
    "import cut.h5 --out x.h5": "SOURCE must be films in another format than HDF5, got cut.h5; give it to `videopred",
    "export intphys {data} --out films": "DATA must hold clips of the occlusion world, got those of balls4; make some",
    "export intphys gone.h5 --out films": "DATA must be an existing file, got gone.h5 (nothing there); make one with",
    "inspect cut.h5": "DATA must be a whole, undamaged HDF5 file, got cut.h5 (",
    "inspect gone.h5": "DATA must be an existing file, got gone.h5 (nothing there); make one with `videopred genera",
    "inspect {data} --preview p.png": "p.png must end in .gif, got '.png'; rename it",
}
"""Words -> part of the one line that says what is wrong."""


@pytest.fixture(scope="module")
def bad_place(place, tmp_path_factory) -> Path:
    """A folder with a file of each kind that will not do."""
    folder = tmp_path_factory.mktemp("bad")
    whole = (place / "balls4.h5").read_bytes()
    (folder / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (folder / "foreign.h5").write_text("time,x,y\n0,1,2\n")
    with h5py.File(folder / "other.h5", "w") as file:
        file["weights"] = np.zeros((3, 4))
    clips = {"train": 80, "test": 2}
    generate("odd", clips, recipe=BallsConfig(frames=FRAMES, height=16, width=20, balls=(2,)), out=folder / "odd.h5")
    tiny_data(folder / "testonly.h5", {"test": 2})
    shutil.copytree(place / "gru", folder / "mixed")
    shutil.copytree(place / "gru", folder / "broken")
    shutil.copy(place / "rims" / "checkpoints" / "best.ckpt", folder / "mixed" / "checkpoints")
    (folder / "broken" / "checkpoints" / "best.ckpt").write_text("hello\n")
    return folder


@pytest.mark.parametrize("words", BAD)
def test_what_is_wrong_is_one_clear_line(place, bad_place, monkeypatch, capfd, words):
    monkeypatch.chdir(bad_place)
    before = sorted(bad_place.rglob("*"))
    status = run(words.format(data=place / "balls4.h5", gru=place / "gru", films=place / "films.npy"))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("videopred: ")
    assert BAD[words] in err
    assert err.count("\n") == 1
    missing = any(sign in err for sign in ("nothing there", "a folder)", "RUN must be", "idx3"))
    faulty = any(
        sign in err
        for sign in ("undamaged", "best.ckpt", "SOURCE must", "must hold some", "must hold clips", "(a folder")
    )
    assert status == (1 if missing or faulty else 2)
    assert sorted(bad_place.rglob("*")) == before, "nothing may be left behind"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("generate balls4 --speedy 3", "options must be among those of --help, got --speedy 3; did you mean --speed?"),
        ("generate balls4 sm-mnist", "options must be among those of --help, got sm-mnist; see --help"),
        ("generate balls4 --digit-size 3", "options must be among those of --help, got --digit-size 3; "),
        ("train x.h5 --core.actve 3", "of --help, got --core.actve 3; did you mean --core.active?"),
        ("generate balls4 --height abc", "--height must be a whole number, got abc; see --help"),
        ("generate balls4 --height=1.5 --width 8", "--height must be a whole number, got 1.5; see --help"),
        ("generate balls4 --speed fast --width 8", "--speed must be a number, got fast; see --help"),
        ("generate balls4 --balls 2 1.5 --width 8", "--balls must be whole numbers, got 2 1.5; see --help"),
        ("import x --out y.h5 --values 1", "--values must be two numbers, got 1; see --help"),
        ("generate balls4 --height 4", "--height must be greater than or equal to 8, got 4; see --help"),
        ("generate balls4 --frames 1", "--frames must be greater than or equal to 2, got 1; see --help"),
        ("generate balls4 --radii", "--radii must have at least 1 item, got nothing; see --help"),
        ("generate sm-mnist --digit-size 63", "--digit-size must be at most 60"),
        ("generate balls4 --height", "--height must be followed by a value, got nothing; see --help"),
        ("generate balls4 --curtain 3", "--curtain must be followed by 2 values, got 3; see --help"),
        ("generate", "PRESET must be given, got nothing; see --help: One of `videopred list datasets`."),
        ("import x", "--out must be given, got nothing; see --help: Data file to make; ends in .h5."),
        ("train", "DATA must be given, got nothing; "),
        ("train x.h5 --core.active 9", "--core.active must be at most 6, got 9"),
        ("train x.h5 --core lstm --core.active 2", "--core.active must be a setting of lstm, got one of rims"),
        ("train x.h5 --updates 0", "--updates must be greater than 0, got 0"),
        ("train x.h5 --seed 18446744073709551616", "seed must be less than 18446744073709551616"),
        ("train x.h5 --core", "--core must be one of "),
        (
            "evaluate x y --part training",
            "--part must be one of test, train, validation, got training; did you mean t",
        ),
        (
            "generate balls4 --engine exakt",
            "--engine must be one of exact, rnem, sutskever, got exakt; did you mean e",
        ),
        ("list balls", "SHELF must be one of all, datasets, cores"),
        (
            "train x.h5 --core.active 7",
            "videopred: --core.active must be at most 6, got 7; lower --core.active or raise --core.modules\n",
        ),
    ],
)
@pytest.mark.parametrize("columns", ["80", "200"])
def test_wrong_flags_are_usage_errors(tmp_path, monkeypatch, capfd, words, message, columns):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    assert run(words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("videopred: ")
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_the_preset_is_the_first_word_whatever_follows(tmp_path, monkeypatch):
    """A folder may bear another preset's name."""
    monkeypatch.chdir(tmp_path)
    assert run(f"generate sm-mnist --out balls4 {SIZES} {SMALL['sm-mnist']} --clips test=1") == 0
    assert open_dataset("balls4/sm-mnist.h5").recipe.kind == "moving-mnist"


def test_a_full_disk_is_one_clear_line(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    afterwards: list[object] = []  # what would be printed when things that could not be written are cleared away
    monkeypatch.setattr(sys, "unraisablehook", afterwards.append)
    for words, name in (
        (f"generate balls4 {SIZES} --balls 2 --clips test=3 --out new.h5", "new.h5"),
        (f"import {place / 'films.npy'} --out new.h5", "new.h5"),
        (f"rollout {place / 'gru'} {place / 'balls4.h5'} --first 2 --out new.npz", "new.npz"),
        (f"evaluate {place / 'gru'} {place / 'balls4.h5'} --out .", "scores.json"),
        (f"render {place / 'gru'} {place / 'balls4.h5'} --out .", "test-0.gif"),
        (f"train {place / 'balls4.h5'} {core_flags('gru')} {LEARNING} --out run", "run/checkpoints/best.ckpt"),
    ):
        with no_file_longer_than(5000 if words.startswith("train") else 1200):
            assert run(words) == 1
        out, err = capfd.readouterr()
        fix = "free some space or choose another disk"
        by_flag = {"new.h5": "--out must be a file that can be written, got new.h5 (File too large)"}
        said = by_flag.get(name, f"{name} must be a file that can be written, got File too large")
        assert err == f"videopred: {said}; {fix}\n"
        assert out == ""
    gc.collect()
    assert afterwards == []
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert not [name for name in left if name.endswith((".h5", ".npz", ".gif", ".png", ".ckpt", ".partial"))]
    assert json.loads(Path("run/run.json").read_text())["state"] == "failed"


def test_an_interrupted_command_ends_with_130(monkeypatch, capfd):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(COMMANDS, "list", interrupted)
    assert run("list") == 130
    assert capfd.readouterr() == ("", "videopred: interrupted; what was saved before is whole\n")


def test_on_request_a_failure_shows_where_it_arose(monkeypatch):
    monkeypatch.setenv("VIDEOPRED_TRACEBACK", "1")
    with pytest.raises(ValueError, match="COMMAND must be one of"):
        main(["frobnicate"])


def test_an_unforeseen_error_is_not_hidden(monkeypatch):
    def broken() -> None:
        raise AssertionError("a mistake of ours")

    monkeypatch.setitem(COMMANDS, "list", broken)
    with pytest.raises(AssertionError, match="a mistake of ours"):
        main(["list"])


# --- help, and staying light -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["", "-h", "--help"])
def test_help_names_every_command(capfd, words):
    assert run(words) == 0
    out, err = capfd.readouterr()
    for name, command in COMMANDS.items():
        assert f"  {name}" in out
        assert (command.__doc__ or "").split("\n")[0] in out
    assert err == ""


def test_help_of_a_preset_and_of_a_core_shows_its_own_flags(capfd):
    for words, own, other in (
        ("generate balls4 --help", "--radii", "--digits"),
        ("generate sm-mnist -h", "--digits", "--radii"),
        ("generate --help", "--radii", "--recipe.radii"),
        ("train --core rims --help", "--core.comm-heads", "--recipe"),
        ("train --core gru --help", "--core.units", "--core.comm-heads"),
        ("train --help", "--core.active", "--core.kind"),
        ("train --codec mila --decoder files --help", "--decoder.queries", "--decoder.kind"),
        ("generate balls4 --help", "--clips", "--kind"),
    ):
        assert run(words) == 0, words
        out, err = capfd.readouterr()
        assert f"{own} " in out, words
        assert f"{other} " not in out, words
        assert err == ""


def test_list_shows_every_shelf_or_one(capfd):
    assert run("list") == 0
    out = capfd.readouterr().out
    for name in (*DATASETS, *CORES, *PRESETS, *CODECS, *DECODERS, *METRICS, *OBJECT_METRICS):
        assert f"  {name}" in out
    assert run("list cores") == 0
    out = capfd.readouterr().out
    assert "rims" in out
    assert "balls4" not in out


def test_the_version(capfd):
    assert run("--version") == 0
    assert capfd.readouterr().out.startswith("videopred 0.")


LIGHT = """
import contextlib, io, json, sys
from videopred.cli import main
told = {}
for words in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(words.split())
        except SystemExit as end:
            status = end.code
    heavy = sorted({"torch", "numpy", "h5py", "lightning", "matplotlib", "kornia", "imageio", "PIL"} & set(sys.modules))
    told[words] = [status, heavy]
print(json.dumps(told))
"""


def test_help_listings_and_usage_errors_load_nothing_heavy():
    asked = ["--help", "--version", "list", "list --json", *(f"{name} --help" for name in COMMANDS)]
    asked += [f"generate {preset} --help" for preset in DATASETS] + [f"train x --core {core} --help" for core in CORES]
    wrong = ["frobnicate", "generate ball4", "generate --seed 1 balls4", "generate balls4 --speedy 3", "generate"]
    wrong += ["generate balls4 --clips train", "generate balls4 --frames 1", "generate sm-mnist --digit-size 63"]
    wrong += ["train", "train x --core gruu", "train x --core.active 9", "train x --updates 0", "train x --core"]
    wrong += [
        "evaluate x y --context 0",
        "evaluate x y --batch-size 0",
        "evaluate x y --first 0",
        "rollout x y --first 0",
        "demo --device gpu",
    ]
    wrong += [
        "train x --device gpu",
        "evaluate x y --horizon 0",
        "rollout x y --out z.txt",
        "rollout x y --trace z.txt",
    ]
    wrong += ["import x --out y.npy", "import x", "import x --out y.h5 --axes TT", "import x --out y.h5 --values 1 0"]
    missing = ["probe gone.npz", "train gone.h5", "evaluate gone y", "import gone --out y.h5"]
    wrong += ["evaluate x y --metrics foo", "evaluate x y --part foo", "evaluate x", "list foo", "rollout", "inspect"]
    command = [sys.executable, "-c", LIGHT]
    done = subprocess.run(
        command, input=json.dumps(asked + wrong + missing), capture_output=True, text=True, check=True
    )
    expected = {words: [status, []] for status, words_of in enumerate([asked, missing, wrong]) for words in words_of}
    assert json.loads(done.stdout) == expected


def test_the_module_is_the_command():
    told = [
        subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
        for command in ([sys.executable, "-m", "videopred"], [Path(sys.executable).with_name("videopred")])
    ]
    assert told[0].stdout == told[1].stdout
    assert told[0].stdout.startswith("usage: videopred COMMAND")


# --- killed on the way: slow proofs ------------------------------------------------------------------------

BAR_SHOWN = """
import sys
from videopred import cli
from videopred.commands import terminal
terminal.watched = lambda: True
cli.main(sys.argv[1:])
"""


def kill_at(count: int, words: str, folder: Path, sign: signal.Signals = signal.SIGKILL) -> int:
    """Run a command with its progress bar, and kill it as soon as the bar has come to that count of 90000.

    Returns its exit status.
    """
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", BAR_SHOWN, *words.split()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder, env=environment) as process:
        seen, stderr = b"", process.stderr
        assert stderr is not None
        while not any(int(done) >= count for done in re.findall(rb"(\d+)/90000 \[", seen)):
            byte = stderr.read(1)
            assert byte, f"it ended before: {seen.decode()}"
            seen = seen[-40:] + byte
        process.send_signal(sign)
        stderr.read()
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 40, 500, 3000])
def test_generate_interrupted_ends_with_130_and_leaves_no_file(tmp_path, count):
    # In the middle of HDF5's calls an interrupt used to hang the writer, so several moments are tried.
    words = f"generate balls4 {SIZES} --balls 2 --clips train=90000 --out balls4.h5"
    assert kill_at(count, words, tmp_path, signal.SIGINT) == 130
    assert [path.name.endswith(".pieces") for path in tmp_path.iterdir()] == [True]


@pytest.mark.slow
def test_generate_killed_leaves_the_old_file_whole(tmp_path):
    path = tiny_data(tmp_path / "balls4.h5")
    before = path.read_bytes()
    words = f"generate balls4 {SIZES} --balls 2 --clips train=90000 --out balls4.h5 --overwrite"
    assert kill_at(40, words, tmp_path) == -signal.SIGKILL
    assert path.read_bytes() == before
    left = {file.name for file in tmp_path.iterdir()} - {"balls4.h5"}
    assert all(name.startswith(".balls4.h5.") and name.endswith((".partial", ".pieces")) for name in left)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 25])
def test_training_killed_leaves_checkpoints_that_work(tmp_path, count):
    data = tiny_data(tmp_path)
    learning = LEARNING.replace("--updates 2", "--updates 90000")
    assert kill_at(count, f"train {data} {core_flags('gru')} {learning} --out run", tmp_path) == -signal.SIGKILL
    for name in ("best.ckpt", "last.ckpt"):
        assert (tmp_path / "run" / "checkpoints" / name).is_file()
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "running"
    assert run(f"evaluate {tmp_path / 'run'} {data} --metrics mse --out {tmp_path / 'scores'}") == 0
