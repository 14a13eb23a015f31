"""Experiments as commands: each runs, what follows runs, words and data that do not fit are refused."""

import json
import re
from pathlib import Path

import pytest
from command_line import defaults_of

from videopred import cli
from videopred.commands.training import _check_room
from videopred.datasets.generation import generate
from videopred.experiments import EXPERIMENTS, find_experiment, read_experiment
from videopred.experiments.clips import find_or_make_clips
from videopred.experiments.rivals import RIVALS
from videopred.experiments.scales import at_scale
from videopred.experiments.settings import ExperimentConfig
from videopred.models.presets import PRESETS


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """One folder for all runs, so that experiments with the same recipe share their data."""
    return tmp_path_factory.mktemp("experiments")


@pytest.mark.parametrize("name", [*EXPERIMENTS, *(f"scoff-switching-{rival}-matched" for rival in RIVALS)])
def test_an_experiment_runs(name, workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    cli.run(["train", name, "--scale", "tiny", "--device", "cpu"])
    written, following = capsys.readouterr().out.splitlines()
    assert written == f"wrote models/{name}-tiny"
    settings = json.loads(Path("models", f"{name}-tiny", "settings.json").read_text())
    assert settings["experiment"] == {"name": name, "own_file": False, "scale": "tiny", "changed": {}}
    assert Path(settings["data"]["path"]).name == f"{find_experiment(name).data}-tiny.h5"
    assert re.match(rf"next: videopred (evaluate|plausibility) models/{name}-tiny datasets/", following)


def test_what_follows_runs(workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    cli.run(["train", "rims-balls4", "--scale", "tiny", "--out", "models/judged", "--device", "cpu"])
    following = capsys.readouterr().out.splitlines()[-1]
    cli.run(following.removeprefix("next: videopred ").split())
    assert "mean of 6 steps" in capsys.readouterr().out


def test_a_copy_is_edited_and_run_with_flags(workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    cli.run(["train", "rims-balls4", "--scale", "tiny", "--write", "my.json", "--learning-rate", "0.002"])
    content = json.loads(Path("my.json").read_text())
    assert content["training"]["learning_rate"] == 0.002
    content["training"] |= {"updates": 2, "seed": 7}
    Path("my.json").write_text(json.dumps(content))
    flags = ["--core.active", "3", "--codec.channels", "3", "4"]  # a number, and several
    cli.run(["train", "my.json", *flags, "--seeds", "0,1", "--device", "cpu"])
    for seed in (0, 1):
        settings = json.loads(Path("models", "my", f"seed-{seed}", "settings.json").read_text())
        changed = {"core.active": 3, "codec.channels": [3, 4]}
        assert settings["experiment"] == {"name": "my", "own_file": True, "scale": "paper", "changed": changed}
        assert (settings["training"]["updates"], settings["training"]["learning_rate"]) == (2, 0.002)
        assert (settings["model"]["core"]["active"], settings["model"]["core"]["units"]) == (3, 5)
    assert "next: videopred evaluate models/my datasets/" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("there", "more"),
    [("models/rims-balls4-tiny", []), ("mine/seed-1", ["--seeds", "0,1", "--out", "mine"])],
)
def test_a_folder_that_is_in_use_is_said_before_clips_are_made(tmp_path, monkeypatch, there, more):
    monkeypatch.chdir(tmp_path)
    Path(there).mkdir(parents=True)
    Path(there, "settings.json").touch()
    with pytest.raises(FileExistsError) as caught:
        cli.run(["train", "rims-balls4", "--scale", "tiny", "--device", "cpu", *more])
    assert str(caught.value).startswith(f"--out must be a new path, got {there} (already there)")
    assert not Path("datasets").exists()


def test_clips_that_another_process_was_quicker_to_make_are_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = at_scale(find_experiment("rims-balls4"), "tiny")

    def late(*asked, **how):
        generate(*asked, **how)
        generate(*asked, **how)

    monkeypatch.setattr("videopred.experiments.clips.generate", late)
    assert find_or_make_clips(experiment) == experiment.data_file


def test_what_keeps_the_clips_of_an_experiment_from_being_made_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refuse(*asked, **how):
        raise FileExistsError("--out must hold no clips of another command that was stopped")

    monkeypatch.setattr("videopred.experiments.clips.generate", refuse)
    with pytest.raises(FileExistsError, match=r"^the experiment's clips must hold no clips of another command"):
        find_or_make_clips(at_scale(find_experiment("rims-balls4"), "tiny"))


def test_clips_that_another_process_is_making_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("videopred.datasets.resuming.take_lock", lambda *anything, **how: False)
    message = (
        r"^the experiment's clips must be a file that no other process is making, got datasets/balls4-rnem-tiny\.h5,"
    )
    with pytest.raises(OSError, match=message):
        find_or_make_clips(at_scale(find_experiment("rims-balls4"), "tiny"))


@pytest.mark.parametrize("rank", ["RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK"])
def test_a_second_process_finds_the_folder_that_the_first_made(tmp_path, monkeypatch, rank):
    (tmp_path / "settings.json").touch()
    monkeypatch.delenv("JSM_NAMESPACE_RANK", raising=False)  # as others, which conftest.py deletes
    monkeypatch.setenv(rank, "0")
    with pytest.raises(FileExistsError):
        _check_room(tmp_path, None, overwrite=False)
    monkeypatch.setenv(rank, "1")
    _check_room(tmp_path, None, overwrite=False)


def test_another_core_brings_its_own_decoder_and_leaves_the_learning(monkeypatch):
    seen = defaults_of("train scoff-switching --core lstm-balls", monkeypatch)
    paper = find_experiment("scoff-switching")
    assert (seen["core"], seen["decoder_name"]) == (PRESETS["lstm-balls"].core, "shared")
    assert (seen["training"], seen["stack"]) == (paper.training, 5)


SMALL_SCOFF = {"comm_gate": True, "start": "learned"}


@pytest.mark.parametrize(
    ("words", "core", "decoder", "learning_rate"),
    [
        ("scoff-balls4 --core rims --scale paper", {"kind": "rims", "units": 100}, "shared", 1e-4),
        ("scoff-balls4 --core rims --scale small", {"kind": "rims", "units": 100}, "shared", 3e-3),
        ("scoff-balls4 --core rims --scale tiny", {"kind": "rims", "units": 5, "input_key": 7}, "shared", 1e-4),
        ("rims-balls4 --core scoff --scale paper", {"comm_gate": False, "start": "drawn"}, "files", 7e-4),
        ("rims-balls4 --core scoff --scale small", SMALL_SCOFF, "shared", 1e-3),
        ("rims-balls4 --core scoff-switching --scale small", SMALL_SCOFF | {"schemata": 2}, "shared", 1e-3),
        ("scoff-balls4 --core scoff-switching --scale small", SMALL_SCOFF | {"schemata": 2}, "shared", 1e-3),
        ("scoff-balls4-lstm-matched --core gru --scale small", {"kind": "gru", "units": 250}, "shared", 3e-3),
        ("scoff-balls4-lstm-matched --core lstm --scale small", {"kind": "lstm", "units": 227}, "shared", 3e-3),
        (
            "rims-balls4 --core scoff --scale small --core.start drawn --decoder files --learning-rate 0.007",
            {"comm_gate": True, "start": "drawn"},
            "files",
            7e-3,
        ),
    ],
)
def test_a_scale_is_that_of_the_core_that_was_asked_for(words, core, decoder, learning_rate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli.run(["train", *words.split(), "--write", "my.json"])
    written = read_experiment(Path("my.json"))
    settings = written.model.core.model_dump()
    assert {setting: settings[setting] for setting in core} == core
    assert (written.model.decoder.kind, written.training.learning_rate) == (decoder, learning_rate)


def test_what_a_scale_changes_is_told_of_the_core_that_was_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("videopred.training.run.foresee", lambda *anything, **how: "")
    told = []
    for words in ("scoff-balls4 --core rims", "rims-balls4 --core scoff --core.start drawn"):
        cli.run(["train", *words.split(), "--scale", "small", "--dry-run", "--device", "cpu"])
        lines = [line.split(maxsplit=1) for line in capsys.readouterr().err.splitlines()]
        told.append({words[0]: words[1] for words in lines if words[0].startswith(("core.", "dec", "training.lear"))})
    rims, scoff = told
    assert rims == {"training.learning_rate": "0.0001 -> 0.003"}
    assert scoff == {
        "core.comm_gate": "False -> True",
        "decoder.kind": "files -> shared",
        "decoder.queries": "4 -> None",
        "training.learning_rate": "0.0007 -> 0.001",
    }


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("rims-balls4 --scale tinny", r"--scale must be one of paper, small, tiny, got tinny; did you mean tiny\?"),
        ("--scale tiny rims-balls4", "DATA must come before the options where it is an experiment, got rims-balls4"),
        ("--core scoff-balls4 --out rims-balls4 no.h5", r"DATA must be .*, got no\.h5"),
        ("--init-from rims-crops no.h5", "--init-from must be a run folder with a settings.json, got rims-crops"),
        (
            "balls4 --scale tiny",
            "--scale must come with an experiment as DATA, got tiny with balls4; leave it out",
        ),
        ("balls4 --data x.h5", "--data must come with an experiment as DATA, got x.h5 with balls4"),
        ("balls4 --write x.json", "--write must come with an experiment as DATA, got x.json with balls4"),
        ("rims-balls4 --write x.json --seeds 0,1", "--seeds must be left out with --write, got 0,1; give it when you"),
        ("rims-balls4 --write x.json --dry-run", "--dry-run must be left out with --write, got True; give it when you"),
        (
            "rims-balls4 --write x.json --device cpu",
            "--device must be left out with --write, got cpu; give it when you",
        ),
        ("rims-balls4 --write x.json --workers 3", "--workers must be left out with --write, got 3; give it when you"),
        ("rims-balls4 --write x.json --profile", "--profile must be left out with --write, got True; give it when you"),
        (
            "rims-balls4 --write x.json --pictures-every 0",
            "--pictures-every must be left out with --write, got 0; give it when you",
        ),
        ("rims-balls4 --write x.json --data y.h5", "--data must be left out with --write, got y.h5; give it when you"),
        ("rims-balls4 --write x.json --out run", "--out must be left out with --write, got run; give it when you"),
        ("rims-balls4 --write x.txt", "--write must end in .json, got x.txt; rename it"),
        ("rims-balls4 --core.schemata 3", "--core.schemata must be a setting of rims"),
        ("bad.json", "^recipe in bad.json must be given, got nothing$"),
        ("no-model.json", "^model in no-model.json must be given, got nothing$"),
        ("unknown.json", "^protocols in unknown.json must be one of .*, got rnem-ball; did you mean rnem-balls"),
        ("part.json", "^clips in part.json must be one of train, validation, test, got training"),
    ],
)
def test_bad_words(words, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = json.loads(find_experiment("rims-balls4").model_dump_json())
    Path("bad.json").write_text(json.dumps({name: whole[name] for name in whole if name != "recipe"} | {"model": {}}))
    Path("no-model.json").write_text(json.dumps({name: whole[name] for name in whole if name != "model"}))
    Path("unknown.json").write_text(json.dumps(whole | {"protocols": ["rnem-ball"]}))
    Path("part.json").write_text(json.dumps(whole | {"clips": {"training": 3}}))
    with pytest.raises((ValueError, FileNotFoundError), match=complaint):
        cli.run(["train", *words.split()])
    assert not Path("datasets").exists()


def test_data_of_another_recipe_is_refused(workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    cli.run(["train", "rims-balls678", "--scale", "tiny", "--out", "models/first", "--device", "cpu"])
    Path("datasets/balls4-tiny.h5").write_bytes(Path("datasets/balls678-rnem-tiny.h5").read_bytes())
    refused = "datasets/balls4-tiny.h5 must be made by the experiment's recipe, got one made by another; move it away"
    with pytest.raises(ValueError, match=refused):
        cli.run(["train", "rims-balls4-exact", "--scale", "tiny"])


def test_a_dry_run_foretells_clips_and_training_and_makes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cli.run(["train", "rims-balls4", "--scale", "tiny", "--dry-run", "--json", "--device", "cpu"])
    assert not list(tmp_path.iterdir())
    said = capsys.readouterr()
    assert "datasets/balls4-rnem-tiny.h5 is not there; making 28 clips in 1 file" in said.err
    unmade = json.loads(said.out)
    assert unmade["seconds_per_epoch"] > 0  # as of a file, which has an end
    find_or_make_clips(at_scale(find_experiment("rims-balls4"), "tiny"))
    cli.run(["train", "rims-balls4", "--scale", "tiny", "--dry-run", "--json", "--device", "cpu"])
    said = capsys.readouterr()
    assert "is not there" not in said.err
    made = json.loads(said.out)
    sizes = ("parameters", "memory", "updates", "disk")
    assert [made[size] for size in sizes] == [unmade[size] for size in sizes]


def test_settings_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="scales must be a known setting"):
        ExperimentConfig(**find_experiment("rims-balls4").model_dump(), scales="tiny")


def test_data_of_other_numbers_of_clips_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny = at_scale(find_experiment("scoff-motion3"), "tiny")
    find_or_make_clips(tiny.model_copy(update={"clips": {"train": 3, "test": 2}}))
    message = r"^datasets/motion3-tiny\.h5 must hold train=12 validation=4 test=12, got train=3 test=2; move it away"
    with pytest.raises(ValueError, match=message):
        find_or_make_clips(tiny)


def test_clips_of_another_seed_are_not_the_experiments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = at_scale(find_experiment("rims-balls4"), "tiny")
    generate(experiment.data, experiment.clips, recipe=experiment.recipe, seed=5, out=experiment.data_file)
    with pytest.raises(ValueError, match=r"^datasets/balls4-rnem-tiny\.h5 must be made with seed 0, got seed 5; move"):
        find_or_make_clips(experiment)
