"""What `videopred train` takes from other runs, and what it says at the end."""

import json
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import LEARNING, core_flags, loaded_by, run, unasked, written
from tiny_runs import HEIGHT, RECIPE, WIDTH, tiny_data

from videopred.checkpoint import load_run, read_run
from videopred.commands.experiments import next_command
from videopred.datasets import find_recipe
from videopred.datasets.generation import generate
from videopred.training import seeds
from videopred.training.places import spread
from videopred.training.run import train


@pytest.mark.parametrize("kind", ["folder", "export"])
def test_a_run_that_gives_its_weights_gives_its_model(place, tmp_path, monkeypatch, capfd, kind):
    monkeypatch.chdir(tmp_path)
    first = place / "gru"
    if kind == "export":
        assert run(f"export {first} --out gru.safetensors") == 0
        first = Path("gru.safetensors")
    assert run(f"train {place / 'balls4.h5'} {LEARNING} --init-from {first} --out new") == 0
    assert read_run(Path("new"))[0].model == read_run(place / "gru")[0].model
    capfd.readouterr()
    assert run(f"train {place / 'balls4.h5'} {LEARNING} --init-from {first} --core lstm --out other") == 2
    told = "videopred: --init-from must hold the same model, with core lstm, got core gru; give a run of this model, "
    assert capfd.readouterr().err.startswith(told)
    assert not Path("other").exists()


OF_NEW_RUNS = ("init-from {gru}", "seeds 0,1", "scale tiny", "data x.h5", "write x.json", "out new", "overwrite")


@pytest.mark.parametrize("words", OF_NEW_RUNS)
def test_what_is_of_new_runs_is_refused_for_one_that_is_resumed(place, capfd, words):
    words = words.format(gru=place / "gru")
    assert run(f"train --resume {place / 'rims'} --{words} --device cpu") == 2
    flag, _, word = words.partition(" ")
    told = f"videopred: --{flag} must be left out with --resume, got {word or True}; the run is resumed as it is\n"
    assert capfd.readouterr().err == told


def test_first_weights_are_no_part_of_an_experiment_that_is_written(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"train rims-balls4 --write x.json --init-from {place / 'gru'}") == 2
    assert "--init-from must be left out with --write, got " in capfd.readouterr().err


@pytest.mark.parametrize("again", ["--core rmc --core=lstm", "--core=rmc --core lstm"])
def test_a_flag_that_comes_twice_counts_where_it_stands_last(place, tmp_path, monkeypatch, again):
    """As in scripts that put their own words behind usual ones; the core did not, as all other flags do."""
    monkeypatch.chdir(tmp_path)
    sizes = "--core.units 9 --core.units 7 --codec.channels 2 3 --codec.embedding 11"
    assert run(f"train {place / 'balls4.h5'} {LEARNING} --core gru {again} {sizes} --out new") == 0
    core = read_run(Path("new"))[0].model.core
    assert (core.kind, core.units) == ("lstm", 7)


def test_an_empty_folder_is_taken_for_a_run(place, tmp_path):
    assert run(f"train {place / 'balls4.h5'} {LEARNING} --core gru --core.units 7 --out {tmp_path}") == 0
    assert (tmp_path / "settings.json").is_file()


def test_a_folder_that_one_stands_in_gives_nothing_unasked(place, monkeypatch, tmp_path):
    (tmp_path / "settings.json").write_text((place / "gru" / "settings.json").read_text())
    monkeypatch.chdir(tmp_path)
    assert run(f"train {place / 'balls4.h5'} {LEARNING} --codec.channels 2 3 --codec.embedding 11 --out new") == 0
    assert load_run("new").core.config.kind == "rims"


def test_one_of_several_seeds_is_not_trained_apart_from_the_others(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    Path("runs/seeds.json").write_text('{"seeds": [3, 5]}')
    words = f"{place / 'balls4.h5'} {LEARNING} {core_flags('gru')}"
    assert run(f"train {words} --out runs/seed-5 --overwrite") == 2
    assert "--out must be no run of several seeds, got runs/seed-5; choose another --out; to" in capfd.readouterr().err
    assert run(f"train {words} --out runs/seed-4") == 2
    told = "got runs/seed-4; choose another --out; `evaluate` takes several runs that differ in their seeds as one"
    assert told in capfd.readouterr().err
    Path("runs/seed-5").mkdir()
    Path("link").symlink_to("runs/seed-5")
    assert run(f"train {words} --out link") == 2
    assert f"delete it and give --resume {tmp_path / 'runs'}" in capfd.readouterr().err
    with monkeypatch.context() as patch:
        patch.chdir("runs/seed-5")
        assert run(f"train {words} --out .") == 2
    assert capfd.readouterr().err.count("--out must be no run of several seeds") == 1
    Path("runs/seeds.json").write_text("{}")  # somebody else's
    assert run(f"train {words} --out runs/mine") == 0
    Path("fresh").mkdir()
    assert run(f"train {words} --out fresh/seed-4") == 0, "a name alone makes no folder of several seeds"


def test_runs_from_several_seeds_are_told_apart_and_summed_up(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"{place / 'balls4.h5'} {LEARNING} {core_flags('gru')} --seeds 3,5 --profile --out runs"
    assert run(f"train {words}") == 0
    out, err = capfd.readouterr()
    assert [line for line in err.splitlines() if " on cpu" in line] == [
        f"runs/seed-{n} on cpu: 2 updates" for n in (3, 5)
    ]
    assert unasked(err) == ""
    summary = json.loads(Path("runs/seeds.json").read_text())
    first, *others = out.splitlines()
    mean, deviation = f"{summary['mean']:.6g}", f"{summary['deviation']:.3g}"
    assert first == f"lowest validation loss, mean of 2 seeds: {mean} ± {deviation} (standard deviation)"
    assert [line.partition(":")[0] for line in others if "frames/s" in line] == ["runs/seed-3", "runs/seed-5"]
    assert written(out) == [Path("runs")]
    shutil.rmtree("runs/seed-5")
    kept = Path("runs/seed-3/settings.json")
    kept.write_text(kept.read_text().replace('"profile": true', '"profile": false'))
    assert run("train --resume runs --profile --device cpu") == 0
    out = capfd.readouterr().out
    assert [line.partition(":")[0] for line in out.splitlines() if "frames/s" in line] == ["runs/seed-5"]
    assert "seed-3" not in out
    Path("runs/seeds.json").write_text(json.dumps(summary | {"mean": None}))
    assert spread(Path("runs")) == "not every seed has seen a finite validation loss"
    Path("runs/seeds.json").write_text(json.dumps(summary | {"seeds": [3], "deviation": None}))
    assert spread(Path("runs")) == f"lowest validation loss: {mean}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1], ids=lambda one: one.name)
def test_what_batch_systems_send_between_two_seeds_is_as_ctrl_c(place, tmp_path, monkeypatch, capfd, number):
    """Where nothing but the command listens."""
    monkeypatch.chdir(tmp_path)
    passed_on, before = [], signal.signal(number, lambda *anything: passed_on.append(number))

    def begin(*args: Any, out: Path, **how: Any) -> Path:
        if out.name == "seed-5":
            signal.raise_signal(number)
        return train(*args, out=out, **how)

    monkeypatch.setattr(seeds, "train", begin)
    try:
        for words in (f"{place / 'balls4.h5'} {LEARNING} {core_flags('gru')} --seeds 3,5 --out runs", "--resume runs"):
            assert run(f"train {words}") == 130
            assert capfd.readouterr().err.endswith("interrupted; continue with `videopred train --resume runs`\n")
    finally:
        signal.signal(number, before)
    assert not passed_on


def test_a_run_that_is_finished_already_is_said_to_be(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    again = f"--resume {place / 'gru'}"
    for words in (again, f"{place / 'balls4.h5'} {again}", f"{again} --profile"):
        assert run(f"train {words} --device cpu") == 0
        out, err = capfd.readouterr()
        assert re.fullmatch(r".*/gru is finished, and left as it was\n", err)
        assert out == f"next: videopred evaluate {place}/gru {place}/balls4.h5\n"


def test_runs_of_seeds_that_are_finished_already_are_not_said_to_be_written(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(f"train {place / 'balls4.h5'} {LEARNING} {core_flags('gru')} --seeds 0,1 --out runs") == 0
    capfd.readouterr()
    assert run("train --resume runs --device cpu") == 0
    out, err = capfd.readouterr()
    assert err == "".join(f"runs/seed-{seed} is finished, and left as it was\n" for seed in (0, 1))
    spread_over, following = out.splitlines()
    assert (spread_over.partition(":")[0], following.partition(":")[0]) == (
        "lowest validation loss, mean of 2 seeds", "next",
    )  # fmt: skip
    shutil.rmtree("runs/seed-1")
    assert run("train --resume runs --device cpu") == 0
    assert written(capfd.readouterr().out) == [Path("runs")]


def test_a_run_on_a_recipe_in_a_file_offers_no_command_that_cannot_be_typed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("two.json").write_text(RECIPE.model_dump_json())
    words = f"{core_flags('gru')} {LEARNING} --updates 1 --validation-clips 2 --out run"
    assert run(f"train two.json {words}") == 0
    assert capfd.readouterr().out == "wrote run\n"


def test_the_next_command_names_the_data_as_it_may_be_typed(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    assert next_command(Path("gru")) == ("evaluate", "gru", "balls4.h5")
    copy = tmp_path / "a b"
    (copy / "checkpoints").mkdir(parents=True)
    (copy / "checkpoints" / "last.ckpt").touch()
    settings = json.loads(Path("gru/settings.json").read_text())
    recipe = copy / "recipe.json"
    recipe.touch()
    for path, command in {
        str(recipe): None,
        str(copy): ("evaluate", str(copy), str(copy)),
    }.items():  # last, other clips
        settings["data"]["path"] = path
        (copy / "settings.json").write_text(json.dumps(settings))
        assert next_command(copy) == command
    (copy / "checkpoints" / "last.ckpt").rename(copy / "checkpoints" / "update-3.ckpt")
    assert next_command(copy) is None, "nothing is left that a command takes by itself"
    (copy / "checkpoints" / "best.ckpt").touch()
    settings["data"]["path"] = "motion3"  # whose clips were made as they were needed
    (copy / "settings.json").write_text(json.dumps(settings))
    assert next_command(copy) == ("generate", "motion3", "--clips", "test=200", "--out", "datasets/motion3.h5")
    monkeypatch.chdir(tmp_path)
    for size, offered in (({"height": HEIGHT, "width": WIDTH}, True), ({"height": 30, "width": 40}, False)):
        recipe = find_recipe("motion3", frames=9, **size)
        kept = generate("motion3", {"test": 3}, recipe=recipe, out="datasets/motion3.h5", overwrite=True)
        assert next_command(copy) == (("evaluate", str(copy), str(kept)) if offered else None)


def test_the_next_command_of_an_experiment_is_its_own(place, tmp_path):
    """As far as its clips go: these have nine frames. Of a file of one's own it is not known any more what it asked."""
    settings = json.loads((place / "gru/settings.json").read_text())
    data = settings["data"]["path"]
    for seed in (0, 1):
        (tmp_path / f"seed-{seed}/checkpoints").mkdir(parents=True)
        (tmp_path / f"seed-{seed}/checkpoints/best.ckpt").touch()
    (tmp_path / "seeds.json").write_text('{"seeds": [0, 1]}')
    own = {"name": "rims-balls4", "own_file": True}
    for experiment, asked in (({"name": "rims-balls4"}, " --context 4 --horizon 5"), ({"name": "mine"}, ""), (own, "")):
        settings["experiment"] = {**experiment, "scale": "paper"}
        (tmp_path / "seed-0/settings.json").write_text(json.dumps(settings))
        assert next_command(tmp_path) == tuple(f"evaluate {tmp_path} {data}{asked}".split())


@pytest.mark.parametrize("experiment", [None, {"name": "rims-balls4", "scale": "paper"}])
def test_the_next_command_asks_for_a_part_that_is_there(place, tmp_path, monkeypatch, experiment):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "gru", "gru")
    settings = json.loads(Path("gru/settings.json").read_text()) | {"experiment": experiment}
    for validation, part in ((0, "train"), (3, "validation")):
        settings["data"]["path"] = str(tiny_data(tmp_path / f"{part}.h5", {"train": 12, "validation": validation}))
        Path("gru/settings.json").write_text(json.dumps(settings))
        command = next_command(Path("gru"))
        assert command == ("evaluate", "gru", f"{part}.h5", "--part", part)
        assert run(" ".join(command)) == 0


def test_what_does_not_fit_is_refused_before_lightning_is_loaded(place, tmp_path):
    """Which takes seconds."""
    asked = [f"train {place / 'balls4.h5'} {words}" for words in ("", "--window 99", "--batch-size 4 --device cuda:99")]
    asked += [f"train {place / 'balls4.h5'} --dry-run", f"train --resume {place / 'gru'} --core lstm"]
    for words, (status, modules) in loaded_by(asked, tmp_path).items():
        assert (status, "torch" in modules, "lightning" in modules) == (2, True, False), words
