"""Exports: the same model from one small file, the same bytes again, and one line for whatever is wrong with it."""

import json
import platform
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save, save_file
from test_checkpoint import config_of, same_weights, write_run
from tiny_runs import no_file_longer_than

from videopred.check import FaultyFileError
from videopred.checkpoint import DataRecord, load_run, read_run
from videopred.command_lines import training_words
from videopred.export import export_run, gather, in_16_bits
from videopred.files import write_json
from videopred.models import CORES
from videopred.training.folder import RunFolder
from videopred.weights import export_bytes, read_export

RECORD = {
    "command": "videopred train /home/me/d.h5 --core.units 6 --out=/tmp/run --init-from ../first "
    "--data '/home/me/two balls.h5' --noise 0.2",
    "host": "my-laptop",
    "home": "0a1b2c3d",
    "process": 77,
    "data": {"path": "/home/me/d.h5", "name": "balls4", "sha256": "ab12"},
}


@pytest.fixture
def run(tmp_path) -> Path:
    write_run(tmp_path / "run", config_of("rims"))
    write_json(tmp_path / "run" / "run.json", RECORD)
    return tmp_path / "run"


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe{", b"[1]"])
def test_a_damaged_record_is_one_clear_line(run, content):
    (run / "run.json").write_bytes(content)
    with pytest.raises(FaultyFileError, match=r"run\.json must hold JSON, got something else; restore it, or delete"):
        export_run(run)


@pytest.mark.parametrize("core", CORES)
def test_an_export_is_the_model_of_the_run(tmp_path, core):
    saved = write_run(tmp_path / "run", config_of(core))
    file = export_run(tmp_path / "run")
    assert file == tmp_path / "run.safetensors"
    loaded = load_run(file)
    assert same_weights(saved, loaded)
    assert not loaded.training
    assert (loaded.config, loaded.film_shape) == (saved.config, saved.film_shape)
    assert read_run(file)[0] == read_run(tmp_path / "run")[0]


def test_it_holds_the_best_weights_by_their_own_names(run):
    last, best = (write_run(run, config_of("rims"), seed, f"{name}.ckpt") for seed, name in [(1, "last"), (2, "best")])
    held = load_file(export_run(run))
    assert held.keys() == best.state_dict().keys()
    assert all(torch.equal(held[name], value) for name, value in best.state_dict().items())
    assert not same_weights(best, last)


def test_weights_of_8_bits_by_another_program_are_read(run):
    """Of which torch does not say whether they are finite."""
    file = export_run(run)
    settings = {"videopred": json.dumps(read_export(file)._asdict() | {"weights": None})}
    rounded = {name: value.to(torch.float8_e4m3fn) for name, value in load_file(file).items()}
    save_file(rounded, file, settings)
    loaded = load_run(file).state_dict()
    assert all(torch.equal(loaded[name], value.float()) for name, value in rounded.items())
    name = next(iter(rounded))
    save_file(
        rounded | {name: torch.full_like(rounded[name].float(), torch.nan).to(torch.float8_e4m3fn)}, file, settings
    )
    with pytest.raises(FaultyFileError, match=rf"^RUN must have weights that are finite numbers, got others in {name}"):
        load_run(file)


def test_any_checkpoint_can_be_asked_for_by_name(run):
    names = ("best", "last", "update-0000002")
    saved = {name: write_run(run, config_of("rims"), seed, f"{name}.ckpt") for seed, name in enumerate(names)}
    for seed, name in enumerate(names[1:], 1):
        file = export_run(run, checkpoint=name)
        assert file == run.with_name(f"run-{name}.safetensors")
        assert same_weights(saved[name], load_run(file))
        assert (read_export(file).record["checkpoint"], read_export(file).record["updates"]) == (name, seed)
    assert export_run(run, run.with_name("x.safetensors"), checkpoint="last.ckpt").name == "x.safetensors"
    assert "checkpoint" not in read_export(export_run(run)).record
    message = r"^--checkpoint must be one of best, last, update-0000002, got update-2; did you mean update-0000002\?$"
    with pytest.raises(ValueError, match=message):
        export_run(run, checkpoint="update-2")
    assert len(list(run.parent.glob("*.safetensors"))) == 4


def test_a_best_checkpoint_that_is_asked_for_by_name_is_what_stands_for_the_run(run):
    write_run(run, config_of("rims"), 1, "last.ckpt")
    named, usual = (read_export(export_run(run, overwrite=True, checkpoint=one)).record for one in ("best", None))
    assert named == usual
    assert "weights" not in named


def test_weights_in_16_bits_leave_whole_numbers_alone(run):
    """And are told, as their scores are none of the run's."""
    rounded = in_16_bits({"weight": torch.tensor([1 / 3]), "count": torch.tensor([70_001])}, "RUN")
    assert (rounded["weight"].dtype, rounded["count"].tolist()) == (torch.float16, [70_001])
    write_run(run, config_of("rims"), 1, "last.ckpt")
    for checkpoint, weights in ((None, "16 bits"), ("last", "last, 16 bits")):
        path = export_run(run, run.with_name(f"{checkpoint}.safetensors"), checkpoint=checkpoint, half=True)
        assert read_export(path).record["weights"] == weights


def test_the_last_checkpoint_stands_for_a_run_without_a_best_one(run):
    """Then scores of the one are scores of the other."""
    for name in ("best.ckpt", "last.ckpt"):
        write_run(run, config_of("rims"), 1, name)
    beside = read_export(export_run(run, checkpoint="last")).record
    (run / "checkpoints" / "best.ckpt").unlink()
    alone = read_export(export_run(run)).record
    assert (beside["checkpoint"], beside["weights"]) == ("last", "last")
    assert (alone["checkpoint"], alone.get("weights")) == ("last", None)


def test_who_gives_a_checkpoint_as_a_run_is_told_how_to_make_one_of_it(run):
    fix = rf"make it one file with `videopred export {re.escape(str(run))} --checkpoint best`, and give that$"
    with pytest.raises(FileNotFoundError, match=rf"^RUN must be a run folder .*, got .*best\.ckpt; {fix}"):
        load_run(run / "checkpoints" / "best.ckpt")
    moved = (run / "checkpoints" / "best.ckpt").rename(run / "best.ckpt")
    with pytest.raises(FileNotFoundError, match=r"got .*best\.ckpt; give a folder that `videopred train` wrote"):
        load_run(moved)


@pytest.mark.parametrize("command", ["loop.py --token 5ecret http://me:pw@host/", "videopredict a", ""])
def test_it_does_not_say_what_a_program_of_one_s_own_was_given(run, command):
    write_json(run / "run.json", RECORD | {"command": command})
    assert "command" not in read_export(export_run(run)).record


def test_paths_of_windows_are_shortened_anywhere(run):
    data = DataRecord(path=r"C:\Users\me\d.h5", name="balls4", sha256="ab12")
    write_run(run, config_of("rims").model_copy(update={"init_from": r"D:\me\first", "data": data}))
    words = r"videopred train 'C:\Users\me\d.h5' --init-from 'D:\me\first' --data //me/d.h5"
    write_json(run / "run.json", RECORD | {"command": words})
    export = read_export(export_run(run))
    assert export.record["command"] == "videopred train d.h5 --init-from first --data d.h5"
    assert (export.settings["init_from"], export.settings["data"]["path"]) == ("first", "d.h5")


def test_it_says_where_it_came_from_but_nothing_of_the_machine(run):
    export = read_export(export_run(run))
    told = "videopred train d.h5 --core.units 6 --out=run --init-from first --data 'two balls.h5' --noise 0.2"
    assert export.record == {"command": told, "data": {"name": "balls4", "sha256": "ab12"}, "learned": 0}
    assert export.settings == json.loads((run / "settings.json").read_text())


def test_a_training_command_names_the_data_where_it_lies_however_it_was_typed():
    for typed in ("--data b.h5", "--data=b.h5"):
        words = training_words(f"videopred train rims-balls4 {typed}", "b.h5", "datasets/b.h5")
        assert " ".join(words).replace("=", " ") == "train rims-balls4 --data datasets/b.h5"


@pytest.mark.parametrize("form", ["--out 'my run' --init-from 'first run'", "'--out=my run' '--init-from=first run'"])
def test_a_training_command_names_runs_where_they_lie_however_they_were_typed(form):
    words = training_words(f"videopred train b.h5 {form}", "b.h5", "b.h5")
    assert words is not None
    assert " ".join(words).replace("=", " ") == "train b.h5 --out models/my run --init-from models/first run"


def test_it_says_nothing_of_folders_behind_backslashes_either(run):
    words = (
        "videopred",
        "train",
        r"C:\Users\me\two balls.h5",
        r"--out=models\run",
        "--init-from",
        r"..\a/b",
        "mine:Core",
    )
    write_json(run / "run.json", RECORD | {"command": shlex.join(words)})
    told = gather(run, half=False).record["command"]
    assert shlex.split(told) == ["videopred", "train", "two balls.h5", "--out=run", "--init-from", "b", "mine:Core"]
    expected = ("train", "sets/x.h5", "--out=models/run", "--init-from", "models/b", "mine:Core")
    assert training_words(told, "two balls.h5", "sets/x.h5") == expected


@pytest.mark.parametrize("typed", [".", "./", "..", "../", "--data=.", "--data=../", "--data ."])
def test_a_run_from_within_its_data_has_the_name_of_these_in_its_command(tmp_path, typed):
    """A folder of shards can be called by what is no name elsewhere."""
    run = tmp_path / "of-shards"
    data = DataRecord(path=f"{tmp_path}/shards-0.5", name="balls4", sha256="ab12")
    write_run(run, config_of("rims").model_copy(update={"data": data}))
    write_json(
        run / "run.json", RECORD | {"command": f"videopred train {typed} --out=../.. --init-from ../.. -o ../.."}
    )
    told = gather(run, half=False).record["command"]
    flag = typed.rstrip("./")
    assert told == f"videopred train {flag}shards-0.5 --out=of-shards --init-from .. -o of-shards"
    words = training_words(told, data.path, "here")
    assert words is not None
    assert " ".join(words).startswith(f"train {flag}here --out")


def test_of_several_seeds_the_folder_around_them_is_named(tmp_path):
    run = tmp_path / "sw" / "seed-1"
    write_run(run, config_of("rims"))
    write_json(run / "run.json", RECORD | {"command": "videopred train b.h5 --out . --seeds 0,1"})
    assert gather(run, half=False).record["command"] == "videopred train b.h5 --out sw --seeds 0,1"


def test_a_record_of_other_kinds_is_one_clear_line(run):
    path = export_run(run)
    export = read_export(path)
    path.write_bytes(export_bytes(export._replace(record=export.record | {"updates": "x"})))
    with pytest.raises(FaultyFileError, match=r"run\.safetensors must hold the record of a run, got updates 'x'; "):
        read_export(path)


@pytest.mark.parametrize("typed", ["seed-1", ".", "../seed-1"])
@pytest.mark.parametrize("form", ["--init-from {}", "--init-from={}"])
def test_a_run_whose_weights_were_first_is_called_as_its_limits_call_it(tmp_path, typed, form):
    run = tmp_path / "later"
    write_run(run, config_of("rims").model_copy(update={"init_from": f"{tmp_path}/sw/seed-1"}))
    write_json(run / "run.json", RECORD | {"command": f"videopred train b.h5 --overwrite {form.format(typed)}"})
    told = gather(run, half=False).record["command"]
    assert told == f"videopred train b.h5 --overwrite {form.format('sw/seed-1')}"


def test_no_place_and_no_name_of_this_machine_is_in_it(run, tmp_path, monkeypatch):
    """Of a record as a training writes it, resumed once, with everything in it that is known."""
    monkeypatch.setattr(platform, "node", lambda: "my-laptop")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(sys, "argv", [f"{tmp_path}/bin/videopred", "train", f"{tmp_path}/d.h5", f"--out={tmp_path}"])
    data = DataRecord(path=f"{tmp_path}/d.h5", name="balls4", sha256="ab12")
    folder = RunFolder(tmp_path / "other")
    config = config_of("rims").model_copy(update={"data": data, "init_from": f"{tmp_path}/models/first"})
    folder.begin(config, "cpu", overwrite=False)
    folder.end("interrupted", 3)
    folder.go_on(config, json.loads((tmp_path / "other" / "run.json").read_text()), "cpu", 3)
    folder.end("finished", 5)
    shutil.copytree(run / "checkpoints", tmp_path / "other" / "checkpoints", dirs_exist_ok=True)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "other").glob("*.json"))
    path = export_run(tmp_path / "other")
    shared = path.read_bytes()
    for name in (str(tmp_path).encode(), b"my-laptop", b"host"):
        assert name in kept
        assert name not in shared
    left_out = set(json.loads((tmp_path / "other" / "run.json").read_text())) - set(read_export(path).record)
    assert left_out == {"host", "process", "home", "job", "resumed"}


def test_it_is_hardly_larger_than_its_weights_and_the_same_bytes_again(run, tmp_path):
    file = export_run(run)
    again = export_run(run, tmp_path / "again.safetensors")
    assert file.read_bytes() == again.read_bytes()
    numbers = sum(value.numel() for value in load_run(run).state_dict().values())
    assert 4 * numbers < file.stat().st_size < 4 * numbers + 10_000


def test_weights_that_share_memory_are_written_as_well(run):
    path = run / "checkpoints" / "best.ckpt"
    content = torch.load(path, weights_only=True)
    names = [name for name, value in content["state_dict"].items() if value.dim() == 1]
    one, other = next((a, b) for a in names for b in names if a != b and _sizes_agree(content, a, b))
    content["state_dict"][other] = content["state_dict"][one]
    torch.save(content, path)
    assert same_weights(load_run(export_run(run)), load_run(run))


def test_weights_whose_memory_is_in_another_order_are_written_as_well(run):
    path = run / "checkpoints" / "best.ckpt"
    content = torch.load(path, weights_only=True)
    name, weight = next(item for item in content["state_dict"].items() if item[1].dim() == 2)
    content["state_dict"][name] = weight.t().contiguous().t()
    torch.save(content, path)
    assert not torch.load(path, weights_only=True)["state_dict"][name].is_contiguous()
    assert same_weights(load_run(export_run(run)), load_run(run))


def _sizes_agree(content: dict, one: str, other: str) -> bool:
    return content["state_dict"][one].shape == content["state_dict"][other].shape


def test_the_run_that_one_is_in_is_exported_beside_it(run, monkeypatch):
    monkeypatch.chdir(run)
    assert export_run(Path(".")) == run.with_name("run.safetensors")


def test_the_export_of_a_relative_path_has_one(run, monkeypatch):
    monkeypatch.chdir(run.parent)
    assert export_run(Path("run")) == Path("run.safetensors")


def test_only_a_run_folder_is_exported(run, tmp_path):
    file = export_run(run)
    message = r"^--out must be a new path, got .*run\.safetensors \(already there\); choose another name, or give --o"
    with pytest.raises(FileExistsError, match=message):
        export_run(run)
    export_run(run, overwrite=True)
    with pytest.raises(ValueError, match=r"^RUN must be a run folder, got .*run\.safetensors, an export; copy"):
        export_run(file, tmp_path / "copy.safetensors")
    with pytest.raises(ValueError, match=r"^--out must end in \.safetensors, got .*weights\.pt; rename it"):
        export_run(run, tmp_path / "weights.pt")
    with pytest.raises(
        FileNotFoundError,
        match=r"^RUN must be a run folder with a settings\.json, got .*gone \(nothing there\)",
    ):
        export_run(tmp_path / "gone")


def test_a_full_disk_leaves_the_old_export(run):
    before = export_run(run).read_bytes()
    message = r"run\.safetensors must be a file that can be written, got File too large; free some space"
    with pytest.raises(OSError, match=message), no_file_longer_than(1000):
        export_run(run, overwrite=True)
    assert run.with_name("run.safetensors").read_bytes() == before


ALIEN = r"^RUN must be an export of videopred, got .*x\.safetensors, weights without settings of ours; give a file that"
BROKEN = r"^RUN must be a whole export, got .*x\.safetensors \(.*\); give a file that `videopred export RUN` wrote"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", BROKEN),
        (b"hello", BROKEN),
        (save({"a": torch.zeros(9)})[:-5], BROKEN),
        (save({"a": torch.zeros(9)}), ALIEN),
        (save({"a": torch.zeros(9)}, {"format": "pt"}), ALIEN),
        (save({"a": torch.zeros(9)}, {"videopred": "{"}), ALIEN),
        (save({"a": torch.zeros(9)}, {"videopred": "[]"}), ALIEN),
        (save({"a": torch.zeros(9)}, {"videopred": '{"settings": {}}'}), ALIEN),
        (save({"a": torch.zeros(9)}, {"videopred": '{"settings": {}, "record": null}'}), ALIEN),
        (save({"a": torch.zeros(9)}, {"videopred": '{"settings": {}, "record": {"versions": "9.0"}}'}), ALIEN),
        (
            save(
                {"a": torch.zeros(9)},
                {"videopred": '{"format": "x/2", "settings": {}, "record": {"versions": {"videopred": "9.0"}}}'},
            ),
            r"^RUN must be of format videopred-export/1, got x/2 in .*; look at it with videopred 9\.0, which",
        ),
        (
            save(
                {"a": torch.zeros(9)}, {"videopred": '{"settings": {}, "record": {"versions": {"videopred": "9.0"}}}'}
            ),
            r"^RUN must hold the settings of a run, got .*; look at it with videopred 9\.0, which .*, or restore",
        ),
        (
            save({"a": torch.zeros(9)}, {"videopred": '{"settings": {}, "record": {}}'}),
            r"^RUN must hold the settings of a run, got .*x\.safetensors; restore the file, or train again",
        ),
    ],
)
def test_other_content_is_one_clear_line(tmp_path, content, message):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_run(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [torch.int32, torch.bool, torch.complex64])
def test_weights_of_another_kind_of_numbers_are_refused(run, kind):
    """Torch would take them for floats, and predict something else."""
    file = export_run(run)
    settings = {"videopred": json.dumps(read_export(file)._asdict() | {"weights": None})}
    weights = load_file(file)
    name = next(iter(weights))
    save_file(weights | {name: weights[name].to(kind)}, file, settings)
    got = "complex numbers" if kind == torch.complex64 else str(kind)[6:]
    must = (
        rf"^weights of {re.escape(str(file))} must be floats in {re.escape(name)}, as the model's are, got {got}; train"
    )
    with pytest.raises(FaultyFileError, match=must):
        load_run(file)


def test_weights_of_another_model_are_one_clear_line(run, tmp_path):
    write_run(tmp_path / "other", config_of("lstm"))
    export, other = read_export(export_run(run)), read_export(export_run(tmp_path / "other"))
    text = json.dumps({"settings": export.settings, "record": {}})
    save_file(other.weights, tmp_path / "x.safetensors", {"videopred": text})
    message = r"^weights of .*x\.safetensors must fit the model in its settings, got .*Missing key.*; train again; the"
    with pytest.raises(ValueError, match=message) as caught:
        load_run(tmp_path / "x.safetensors")
    assert "\n" not in str(caught.value)


def test_a_file_of_another_kind_is_no_run(tmp_path):
    (tmp_path / "films.h5").write_bytes(b"")
    message = r"^RUN must be a run folder with a settings\.json, got .*films\.h5, a data file; give a folder"
    with pytest.raises(FileNotFoundError, match=message):
        load_run(tmp_path / "films.h5")


def test_paths_of_this_machine_are_left_out_of_settings(run, tmp_path):
    data = DataRecord(path="/home/me/d.h5", name="balls4", sha256="ab12")
    config = config_of("rims").model_copy(update={"data": data, "init_from": "/home/me/models/first"})
    write_run(run, config)
    settings = read_export(export_run(run)).settings
    assert settings["data"] == {"path": "d.h5", "name": "balls4", "sha256": "ab12"}
    assert settings["init_from"] == "first"
    load_run(run.with_name("run.safetensors"))


def test_a_run_from_a_seed_keeps_the_name_of_its_training(run):
    """By its own alone nobody would know it."""
    write_run(run, config_of("rims").model_copy(update={"init_from": "/home/me/models/sweep/seed-1"}))
    write_json(run / "run.json", RECORD | {"command": "videopred train d.h5 --init-from ../models/sweep/seed-1"})
    export = read_export(export_run(run))
    assert export.settings["init_from"] == "sweep/seed-1"
    assert export.record["command"] == "videopred train d.h5 --init-from sweep/seed-1"
    write_json(run / "run.json", RECORD | {"command": "videopred train d.h5 --init-from ./seed-1"})
    command = read_export(export_run(run, overwrite=True)).record["command"]
    assert command == "videopred train d.h5 --init-from sweep/seed-1"
