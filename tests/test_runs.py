"""The list of runs: every state, whatever is in the folder, and nothing changed by looking."""

import json
import os
import shutil
import subprocess
import sys
from math import inf
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import run
from safetensors.torch import save_file
from test_checkpoint import config_of, write_run
from tiny_runs import files_of

from videopred import runs
from videopred.eval.text import aligned_lines
from videopred.export import export_run
from videopred.files import read_json, write_json
from videopred.runs import Run, how_far, list_runs, table
from videopred.systems import home_of_processes
from videopred.weights import Export, export_bytes

NOW = 2_000_000_000.0
"""When the tests look: seconds since 1970."""
HOUR = 3600.0
"""Seconds of silence after which docs/runs.md takes a run for dead."""

CURVES = """update,train_bce,validation_bce
10,300.5,
10,,280.25
20,250.5,
20,,260.75
30,180.5,
30,,270
40,190.25,
"""


def make_run(folder: Path, state: str = "finished", idle: float = 50.0, **record: Any) -> Path:
    """A run as training leaves it, whose youngest file is that many seconds old."""
    write_run(folder, config_of())
    told = {"state": state, "home": home_of_processes(), "process": os.getpid()} | record
    write_json(folder / "run.json", told)
    logs = folder / "logs"
    logs.mkdir(parents=True)
    (logs / "metrics.csv").write_text(CURVES)
    return aged(folder, idle)


def aged(folder: Path, idle: float) -> Path:
    for path in folder.rglob("*"):
        os.utime(path, (NOW - idle - 7, NOW - idle - 7))
    os.utime(folder / "run.json", (NOW - idle, NOW - idle))
    return folder


def look(folder: Path, scores: Path = Path("gone")) -> dict[str, Run]:
    """Name in the folder -> what the list says of it."""
    return {str(Path(run.path).relative_to(folder)): run for run in list_runs(folder, scores=scores, now=NOW)}


@pytest.mark.parametrize(
    ("state", "record", "far"),
    [
        ("finished", {"updates": 7}, None),
        ("finished", {"updates": 7, "checkpoint": "update-0000007"}, "7 of 20 updates"),
        ("finished", {"updates": 20, "checkpoint": "update-0000020"}, None),
        ("interrupted", {"updates": 7}, "7 of 20 updates"),
        ("running", {"saved": 6}, "6 of 20 updates"),
        ("running", {}, "0 of 20 updates"),
    ],
)
def test_a_run_that_is_not_finished_says_how_far_it_is(tmp_path, state, record, far):
    run = make_run(tmp_path / "one", state, **record)
    settings = json.loads((run / "settings.json").read_text())
    write_json(run / "settings.json", settings | {"training": settings["training"] | {"updates": 20}})
    assert how_far(run) == far


@pytest.mark.parametrize(
    ("record", "far"),
    [
        ({"state": "finished", "updates": 7}, None),  # it stopped early, and knows it
        ({"state": "finished", "updates": 7, "checkpoint": "update-0000007"}, "7 of 20 updates"),
        ({"state": "finished", "updates": 7, "checkpoint": "last"}, None),
        ({"state": "interrupted", "learned": 7}, "7 of 20 updates"),
    ],
)
def test_an_export_says_so_too(tmp_path, record, far):
    file = tmp_path / "x.safetensors"
    file.write_bytes(export_bytes(Export({"training": {"updates": 20}}, record, {})))
    assert how_far(file) == far


def test_what_tells_nothing_of_its_end_is_not_said_to_be_unfinished(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    assert how_far(tmp_path) is None
    assert how_far(tmp_path / "an.safetensors") is None


@pytest.mark.parametrize(
    ("state", "idle", "record", "shown"),
    [
        ("finished", 9 * HOUR, {}, "finished"),
        ("interrupted", 5.0, {}, "interrupted"),
        ("failed", 5.0, {}, "failed"),
        ("running", HOUR - 1, {}, "running"),
        ("running", HOUR + 1, {}, "dead"),
        ("running", 5.0, {"process": "dead"}, "dead"),
        ("running", 5.0, {"process": "dead", "home": "elsewhere"}, "running"),
        ("running", HOUR + 1, {"home": "elsewhere"}, "dead"),
    ],
)
def test_states(tmp_path, dead, state, idle, record, shown):
    make_run(tmp_path / "a", state, idle, **record | ({"process": dead} if "process" in record else {}))
    assert look(tmp_path)["a"].state == shown


def test_what_is_said_of_a_run(tmp_path):
    make_run(tmp_path / "a", updates=2, seconds=4000.5, cpu_seconds=7000.0)
    times = (4000.5, 7000.0, 50.0)
    told = Run(
        str(tmp_path / "a"),
        "finished",
        2,
        2,
        190.25,
        260.75,
        *times,
        kind_of_loss="bce",
        settings=read_json(tmp_path / "a" / "settings.json"),
    )
    assert look(tmp_path)["a"] == told


def test_a_record_from_before_time_was_noted_has_none(tmp_path):
    make_run(tmp_path / "a", updates=2)
    run = look(tmp_path)["a"]
    assert (run.seconds, run.cpu_seconds, run.idle) == (None, None, 50.0)


def test_a_run_written_by_a_clock_that_is_ahead_is_not_idle(tmp_path):
    make_run(tmp_path / "a", idle=-20.0)
    assert look(tmp_path)["a"].idle == 0.0
    assert " 0.0 s" in table(list_runs(tmp_path, now=NOW))


def test_before_its_end_a_run_is_as_far_as_its_log(tmp_path):
    make_run(tmp_path / "a", "running")
    assert look(tmp_path)["a"].updates == 40
    shutil.rmtree(tmp_path / "a" / "logs")
    run = look(tmp_path)["a"]
    assert (run.updates, run.loss, run.validation) == (None, None, None)


def test_a_log_that_breaks_off_counts_as_far_as_it_goes(tmp_path):
    log = make_run(tmp_path / "a", "running") / "logs" / "metrics.csv"
    log.write_text(CURVES + "49,1")
    assert (look(tmp_path)["a"].loss, look(tmp_path)["a"].updates) == (190.25, 40)
    log.write_bytes(b"")
    assert look(tmp_path)["a"].loss is None


def test_seeds_exports_and_folders_of_runs_are_found(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path / "sweep" / f"seed-{seed}", updates=2)
    export_run(make_run(tmp_path / "b", updates=2), tmp_path / "shared" / "b.safetensors")
    (tmp_path / "README.md").write_text("")
    (tmp_path / ".b.77.partial").mkdir()
    found = look(tmp_path)
    assert list(found) == ["b", "shared/b.safetensors", "sweep/seed-0", "sweep/seed-1"]
    export = found["shared/b.safetensors"]
    assert (export.state, export.updates, export.asked, export.loss) == ("export", 2, 2, None)
    assert list(look(tmp_path / "b")) == ["."]


def test_runs_are_looked_for_three_folders_below_and_no_further(tmp_path):
    """Somebody may list a whole disk, or the clone that he is in; what holds no run is none of the answer."""
    make_run(tmp_path / "a" / "b" / "run", updates=2)
    make_run(tmp_path / "c" / "d" / "e" / "run", updates=2)
    assert {name: run.state for name, run in look(tmp_path).items()} == {"a/b/run": "finished"}


def test_hidden_folders_are_passed_over(tmp_path):
    """Such as that of a run set aside until the one that replaces it has saved something."""
    make_run(tmp_path / "gru")
    make_run(tmp_path / ".gru.replaced")
    make_run(tmp_path / ".cache" / "rims")
    assert list(look(tmp_path)) == ["gru"]


def test_folders_that_may_not_be_looked_into_hide_no_run(tmp_path, monkeypatch):
    """Such as those of other users in a shared one."""
    make_run(tmp_path / "a", updates=2)
    (tmp_path / "secret").mkdir()
    look_into = Path.iterdir

    def refused(folder: Path):
        if folder.name == "secret":
            raise PermissionError(13, "Permission denied")
        return look_into(folder)

    monkeypatch.setattr(Path, "iterdir", refused)
    assert list(look(tmp_path)) == ["a"]


def test_scores_of_a_run_that_goes_on_are_of_what_was_saved_then(tmp_path):
    """Also of one that was killed: nothing else tells its weights from those that it had before."""
    stamps = []
    for saved in (None, 100, 200):
        told = {"started": "then"} if saved is None else {"started": "then", "saved": saved}
        stamps.append(runs.run_stamp(make_run(tmp_path / f"at-{saved}", "running", **told)))
    assert stamps == ["then", "then after 100 updates", "then after 200 updates"]


def test_a_folder_that_may_not_be_looked_into_is_not_one_without_runs(tmp_path, monkeypatch):
    """Where it is the one that was asked for."""

    def refused(folder: Path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(PermissionError, match="Permission denied"):
        list_runs(tmp_path)


def test_a_run_that_goes_away_while_it_is_looked_at_hides_no_other(tmp_path, monkeypatch):
    for name in ("a", "b"):
        make_run(tmp_path / name, updates=2)
    look_at = runs._last_written

    def going(run: Path) -> float:
        if run.name == "a":
            raise FileNotFoundError(f"no {run}")
        return look_at(run)

    monkeypatch.setattr(runs, "_last_written", going)
    assert {name: run.state for name, run in look(tmp_path).items()} == {"a": "damaged", "b": "finished"}


def test_a_file_that_gets_its_last_name_while_it_is_looked_at_is_no_damage(tmp_path, monkeypatch):
    """As a checkpoint does, which a training writes to another name first."""
    newest = (make_run(tmp_path / "a", updates=2) / "settings.json").stat().st_mtime
    found = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda *words: [*found(*words), Renamed(tmp_path / "a" / "next.ckpt")])
    (run_found,) = look(tmp_path).values()
    assert run_found.state == "finished"
    assert runs._last_written(tmp_path / "a") >= newest


class Renamed(type(Path())):
    """A path to a file that is there, until it is looked at closely."""

    def is_file(self) -> bool:
        return True


def test_an_export_with_a_record_that_is_none_hides_no_other(tmp_path):
    text = json.dumps({"settings": {"training": {"updates": 2}}, "record": []})
    save_file({"a": torch.zeros(9)}, tmp_path / "a.safetensors", {"videopred": text})
    make_run(tmp_path / "b", updates=2)
    found = {name: run.state for name, run in look(tmp_path).items()}
    assert found == {"a.safetensors": "damaged", "b": "finished"}


RUNNING = json.dumps({"state": "running", "home": home_of_processes()})[:-1] + ', "process": %s}'
"""The record of a run that this machine trains, but for the number of its process."""


def _said_of_large_numbers() -> str:
    """What this Python says of a process of such a number."""
    with pytest.raises(OverflowError) as caught:
        os.kill(99999999999999, 0)
    return str(caught.value)


def _break(folder: Path, name: str, text: str | None) -> None:
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("settings.json", None, "no settings.json in it"),
        ("settings.json", "{", "settings.json is not what was written there"),
        ("settings.json", "[]", "settings.json is not what was written there"),
        ("settings.json", "{}", "no 'training'"),
        ("settings.json", '{"training": 3}', "'int' object is not subscriptable"),
        ("run.json", None, "no run.json in it"),
        ("run.json", "", "run.json is not what was written there"),
        ("run.json", "{}", "no 'state'"),
        ("run.json", '{"state": "finished", "seconds": "many"}', "run.json is not what was written there"),
        ("run.json", '{"state": "finished", "seconds": Infinity}', "seconds inf in it"),
        ("run.json", '{"state": "finished", "cpu_seconds": NaN}', "cpu_seconds nan in it"),
        ("run.json", '{"state": "finished", "updates": 1e999}', "inf updates in it"),
        ("run.json", RUNNING % "Infinity", "cannot convert float infinity to integer"),
        ("run.json", RUNNING % "99999999999999", _said_of_large_numbers()),
        ("settings.json", '{"training": {"updates": "many"}}', "'many' updates in it"),
    ],
)
def test_bad_folders_are_named_and_hide_no_other(tmp_path, name, text, problem):
    _break(make_run(tmp_path / "a"), name, text)
    make_run(tmp_path / "b", updates=2)
    (tmp_path / "photos" / "cats").mkdir(parents=True)
    (tmp_path / "c.safetensors").write_text("hello")
    found = look(tmp_path)
    assert {name: run.state for name, run in found.items()} == {
        "a": "damaged", "b": "finished", "c.safetensors": "damaged"
    }  # fmt: skip
    assert found["a"].problem == problem
    assert found["c.safetensors"].problem.startswith("RUN must be a whole export")


SCORES = {"x": {"mse": 0.2, "f1": 0.5}, "y": {"mse": 1.0}}


def test_the_table():
    found = [
        Run("models/a", "finished", 20, 20, 190.25, 260.75, 75.0, 9000.0, 45.0, SCORES, kind_of_loss="bce"),
        Run("models/long", "running", None, 5000, idle=3700.0),
        Run("models/b", "damaged", problem="no run.json in it"),
    ]
    assert table(found).splitlines() == [
        "run          state     updates        loss  validation        time    CPU time       idle  scores",
        "models/a     finished    20/20  bce 190.25      260.75  1 min 15 s  2 h 30 min       45 s  x: mse 0.2, f1 0.5",
        "                                                                                           y: mse 1",
        "models/long  running    ?/5000                                                  1 h 1 min",
        "models/b     damaged                                                                       no run.json in it",
    ]
    assert table([]) == "no runs"


def test_names_of_other_scripts_leave_the_columns_in_place():
    """In a terminal, each of these letters takes two columns; the accent, which is a letter of its own, takes none."""
    table = aligned_lines([["run", "state"], ["球の模Ｂ", "finished"], ["e\u0301t\u00e9", "failed"]], left=(0, 1))
    assert table == "run       state\n球の模Ｂ  finished\ne\u0301t\u00e9       failed"


def test_the_command(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run("runs") == 1
    message = "videopred: FOLDER must be an existing folder, got models (nothing there); train a run with `videopred tr"
    assert capfd.readouterr().err.startswith(message)
    Path("model.npy").touch()
    assert run("runs model") == 1
    assert "did you mean" not in capfd.readouterr().err, "a file is no folder of runs"
    make_run(Path("models/a"), updates=2)
    assert run("runs model") == 1
    assert "got model (nothing there); did you mean models? Or train a run with" in capfd.readouterr().err
    before = files_of(Path("models"))
    Path("none").mkdir()
    assert run("runs none --scores none") == 0
    assert capfd.readouterr() == ("no runs\n", "")
    write_json(Path("told/a/balls/scores.json"), {"models": ["model"], "rows": {"model": {"mse": {"mean": 0.25}}}})
    assert run("runs --scores told") == 0
    out, err = capfd.readouterr()
    assert "models/a  finished      2/2" in out
    assert "balls: mse 0.25" in out
    assert err == ""
    assert run("runs --scores told/a") == 0
    assert capfd.readouterr().err == "videopred: told/a holds no scores of these runs in folders RUN/DATA\n"
    assert run("runs models --json") == 0
    out, err = capfd.readouterr()
    assert err == "", "which are in eval if anywhere, and were not asked for"
    (told,) = json.loads(out)["runs"]
    assert (told["path"], told["state"], told["validation"], told["scores"]) == ("models/a", "finished", 260.75, {})
    assert told["settings"] == read_json(Path("models/a/settings.json"))
    assert files_of(Path("models")) == before


def test_settings_by_which_runs_differ_stand_beside_what_came_of_them(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    settings = read_json(make_run(Path("models/a")) / "settings.json")
    for name, updates in (("b", 30), ("damaged", 7)):
        run_folder, learning = make_run(Path("models") / name), settings["training"] | {"updates": updates}
        write_json(run_folder / "settings.json", settings | {"training": learning})
    (Path("models/damaged/run.json")).unlink()
    assert run("runs --settings") == 0
    assert capfd.readouterr().out.splitlines() == [
        "run       updates  validation",
        "models/a        2      260.75",
        "models/b       30      260.75",
        "models/damaged is damaged: no run.json in it",
    ]
    write_json(Path("models/b/settings.json"), settings)
    for words, told in (
        ("models", "all runs have the same settings\nmodels/damaged is damaged: no run.json in it\n"),
        ("models/a", "there are fewer than two sound runs\n"),
    ):
        assert run(f"runs {words} --settings") == 0
        assert capfd.readouterr().out == told
    assert run("runs --settings --json") == 2
    assert "--settings must be left out with --json, got both" in capfd.readouterr().err


def test_losses_that_are_not_finite_are_told_and_null_in_json(tmp_path, capfd):
    run_of_nan = make_run(tmp_path / "a", updates=2)
    (run_of_nan / "logs" / "metrics.csv").write_text("update,train_bce,validation_bce\n10,inf,\n10,,nan\n")
    assert run(f"runs {tmp_path}") == 0
    assert "2/2  bce inf         nan" in capfd.readouterr().out
    assert run(f"runs {tmp_path} --json") == 0
    (told,) = json.loads(capfd.readouterr().out)["runs"]
    assert (told["loss"], told["validation"], told["updates"]) == (None, None, 2)


@pytest.mark.parametrize(("looks", "lowest"), [("nan 3 2.5", 2.5), ("3 nan 2.5", 2.5), ("nan inf", inf)])
def test_a_loss_that_is_not_a_number_is_never_lowest(tmp_path, looks, lowest):
    rows = "".join(f"{update},{loss}\n" for update, loss in enumerate(looks.split(), start=10))
    (make_run(tmp_path / "a") / "logs" / "metrics.csv").write_text(f"update,validation_bce\n{rows}")
    assert look(tmp_path)["a"].validation == lowest


def test_looking_loads_no_torch(tmp_path):
    export_run(make_run(tmp_path / "a", updates=2))
    program = "import sys\nfrom videopred.cli import run\nrun(['runs', sys.argv[1]])\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 3
