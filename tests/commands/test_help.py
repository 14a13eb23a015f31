"""Help and lists name all that there is, and load nothing heavy."""

import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from textwrap import dedent

import pytest
from command_line import loaded_by, on_a_terminal, run

from videopred.cli import COMMANDS, GROUPS
from videopred.commands import terminal
from videopred.datasets import DATASETS
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.models import CODECS, CORES, DECODERS
from videopred.models.presets import PRESETS


@pytest.mark.parametrize("words", ["", "-h", "--help", "help"])
def test_help_names_every_command(capfd, words):
    assert run(words) == 0
    out, err = capfd.readouterr()
    for name, command in COMMANDS.items():
        assert f"  {name}" in out
        assert (command.__doc__ or "").split("\n")[0] in out
    assert "Start here: `videopred demo`" in out
    titles = [line for line in out.splitlines() if line in GROUPS]
    assert titles == list(GROUPS)
    places = {
        out[out.rindex("\n", 0, out.index(line)) :].index(line) for line in map(terminal.first_line, COMMANDS.values())
    }
    assert len(places) == 1  # all in one column
    flows = (Path(__file__).parents[2] / "README.md").read_text()
    assert all(" ".join(title.split()[1:]) in flows for title in titles if "->" in title)
    assert err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_long_rows_go_on_in_their_column_on_a_terminal(capfd):
    assert run("list datasets") == 0
    whole = capfd.readouterr().out
    narrow = on_a_terminal("list datasets", COLUMNS="57").replace("\r\n", "\n")
    assert max(map(len, narrow.splitlines())) <= 57
    column = whole.splitlines()[1].index(DATASETS["balls4"].summary)
    assert re.sub(rf"\n {{{column}}}", " ", narrow) == whole


@pytest.mark.parametrize("core", ["rims", "brims"])
def test_help_of_a_modular_core_begins_with_their_sizes(capfd, core):
    assert run(f"check-core {core} --help") == 0
    shown = re.findall(r"│ --core\.([a-z-]+)", capfd.readouterr().out)
    assert shown[:3] == ["modules", "active", "units"]


def test_help_of_a_preset_and_of_a_core_shows_its_own_flags(capfd):
    for words, own, other in (
        ("generate balls4 --help", "--radii", "--digits"),
        ("help generate sm-mnist", "--digits", "--radii"),
        ("generate sm-mnist -h", "--digits", "--radii"),
        ("generate --help", "--radii", "--recipe.radii"),
        ("train --core rims --help", "--core.comm-heads", "--recipe"),
        ("train --core gru --help", "--core.units", "--core.comm-heads"),
        ("train --help", "--core.active", "--core.kind"),
        ("train --codec mila --decoder files --help", "--decoder.queries", "--decoder.kind"),
        ("generate balls4 --help", "--clips", "--kind"),
        ("generate balls4 --help", "│ PRESET", "--kind"),
        ("train my.h5 --core gru --updates many -h", "│ DATA", "--core.comm-heads"),
        ("check-core --help", "--core.comm-heads", "core:gru-config"),
        ("check-core gru --help", "--core.units", "--core.comm-heads"),
    ):
        assert run(words) == 0, words
        out, err = capfd.readouterr()
        assert f"{own} " in out, words
        assert f"{other} " not in out, words
        assert err == ""


@pytest.mark.parametrize("words", COMMANDS)
def test_wherever_there_is_out_it_has_a_short_form(capfd, words):
    assert run(f"{words} --help") == 0
    out = capfd.readouterr().out
    assert ("-o " in out) == ("--out " in out) == ("out" in signature(COMMANDS[words]).parameters)


@pytest.mark.parametrize("words", ["generate balls4", *(f"train --core {core}" for core in CORES), *COMMANDS])
def test_help_of_a_flag_that_turns_something_off_says_that_it_is_on(capfd, words):
    """Else `--core.no-comm` has the default True, which can be read as no communication."""
    assert run(f"{words} --help") == 0
    out = " ".join(capfd.readouterr().out.replace("│", "").split())
    assert "(default: True)" not in out
    assert not re.search(r"\(default: (None)?\)", out)  # beside "default: all" it would contradict
    assert "{None" not in out
    if words == "train --core rims":
        assert "--core.no-comm Whether modules communicate. (default: on; this flag turns it off)" in out


def test_help_breaks_no_line_where_the_source_does(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    assert run("train --help") == 0
    assert "step, lower every so many updates" in capfd.readouterr().out


@pytest.mark.parametrize("words", ["bench", "bench --help", "help bench"])
def test_commands_of_two_words_are_listed_for_the_first(words, capsys):
    assert run(words) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: videopred bench COMMAND [OPTIONS]\n\n  bench generate  Measure how fast data is made")
    assert [line.split()[1] for line in out.splitlines()[2:]] == ["generate", "cores", "scores", "train"]


@pytest.mark.parametrize(
    ("words", "page"), [("train", "cores"), ("check-core", "cores"), ("evaluate", "adding"), ("render", "adding")]
)
def test_help_says_where_to_read_of_a_class_of_ones_own(capfd, words, page):
    assert run(f"{words} --help") == 0
    out = " ".join(capfd.readouterr().out.replace("│", "").split())
    assert "MODULE:CLASS of your own" in out
    assert f"docs/{page}.md" in out
    assert "of your own" in (Path(__file__).parents[2] / f"docs/{page}.md").read_text()


def test_so_does_help_of_a_core_of_ones_own(tmp_path, monkeypatch, capfd):
    core = """
        from __future__ import annotations
        from torch import nn
        from videopred.models.settings import CoreSettings

        class LampSettings(CoreSettings):
            lit: bool = True
            warm: bool = False
            watts: int | None = None

        class Lamp(nn.Module):
            settings, initial_state, step = LampSettings, lambda *words, **more: None, print
    """
    (tmp_path / "mylamp.py").write_text(dedent(core))
    monkeypatch.syspath_prepend(tmp_path)
    assert run("train --core mylamp:Lamp --help") == 0
    out = " ".join(capfd.readouterr().out.replace("│", "").split())
    assert "--core.no-lit (default: on; this flag turns it off)" in out
    assert "--core.warm (default: False)" in out
    assert "--core.watts INT ╰" in out


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


def test_help_listings_and_usage_errors_load_nothing_heavy(tmp_path):
    (tmp_path / "models/balls4-gru").mkdir(parents=True)
    (tmp_path / "models/balls4-gru/settings.json").touch()
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
    wrong += ["import x --out y.npy", "import x", "import x --out y.h5 --axes TT", "import x --out y.h5 --range 1 0"]
    missing = ["probe gone.npz", "train gone.h5", "evaluate gone y", "import gone --out y.h5"]
    missing += ["train balls4 --core gru"]  # whose usual folder is in use
    wrong += ["train balls4 --out ."]
    wrong += ["evaluate x y --metrics foo", "evaluate x y --part foo", "evaluate x", "list foo", "rollout", "inspect"]
    expected = {words: [status, []] for status, words_of in enumerate([asked, missing, wrong]) for words in words_of}
    assert loaded_by(asked + wrong + missing, tmp_path) == expected


@pytest.mark.parametrize("status", [0, 2])
def test_at_its_end_python_looks_for_no_cycles(status):
    """What is registered first runs last."""
    told = f"""if True:
        import atexit, gc, sys
        atexit.register(lambda: print(gc.get_freeze_count() > 1000))
        sys.argv = ["videopred", *["list"] * {status == 0}, *["lists"] * {status == 2}]
        from videopred.__main__ import main
        main()"""
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (status, "True")


def test_the_module_is_the_command():
    told = [
        subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
        for command in ([sys.executable, "-m", "videopred"], [Path(sys.executable).with_name("videopred")])
    ]
    assert told[0].stdout == told[1].stdout
    assert told[0].stdout.startswith("usage: videopred COMMAND")
