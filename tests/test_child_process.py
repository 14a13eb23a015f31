"""Programs that are started beside ours, where the current folder holds files named like modules of libraries."""

import subprocess
import sys
from pathlib import Path

import pytest

from videopred import child_process
from videopred.bench.memory import peak_bytes

HOSTILE = "print('balls4 1 0.915')\nraise SystemExit('the file of a user')\n"
OPTIONAL = {"cuda", "google", "hydra", "yaml"}
"""What libraries try to import whether it is installed or not, or have only a part of."""


@pytest.fixture
def hostile(tmp_path, monkeypatch) -> Path:
    """A current folder with a file for everything that Python and our libraries import from elsewhere."""
    names = {name.partition(".")[0] for name in sys.modules} | OPTIONAL | {"bench", "typing_extensions"}
    names |= {name for name in sys.stdlib_module_names if not name.startswith("_")}
    for name in names - {"sys", "builtins", "videopred", "msvcrt", "winreg"}:
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])  # a core of one's own adds this folder
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)  # the command line sets it, also where a test calls it in here
    return tmp_path


def test_a_child_finds_what_we_find(hostile):
    assert child_process.answer("import random, grp, numpy; print(numpy.__file__)") == __import__("numpy").__file__
    told = subprocess.run([sys.executable, "-m", "grp"], capture_output=True, text=True)
    assert told.stderr.endswith("the file of a user\n")  # else this test would prove nothing


def test_a_child_looks_into_no_folder_of_its_own_accord():
    """Since 3.14 Python loads linecache before the statement, which would be a file of that name here."""
    assert child_process.answer("print(sys.flags.safe_path)") == "True"


def test_what_a_child_says_last_is_its_answer():
    assert child_process.answer("print('noise'); print(3)") == "3"


def test_a_child_has_what_its_parent_has_and_what_it_is_given(monkeypatch):
    monkeypatch.setenv("HAD", "1")
    monkeypatch.setenv("CHANGED", "3")
    look = "import os; print(*(os.environ[name] for name in ('HAD', 'GIVEN', 'CHANGED')))"
    assert child_process.answer(look, {"GIVEN": "2", "CHANGED": "4"}) == "1 2 4"


@pytest.mark.parametrize(
    ("statement", "got"),
    [
        ("print(3); raise MemoryError('no room')", r"one that ended with status 1 \(MemoryError: no room\)"),
        ("import os; os.kill(os.getpid(), 9)", r"one that ended with status -9 \(nothing said\)"),
        ("pass", r"one that ended with status 0 \(nothing said\)"),
    ],
)
def test_a_child_that_fails_is_one_clear_line(statement, got):
    with pytest.raises(ChildProcessError, match=rf"^a process beside this one must do its work, got {got}; see to wh"):
        child_process.answer(statement)


@pytest.mark.parametrize(("had", "has"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_are_told_to_wait_quietly_before_torch_reads_it_unless_the_user_says_otherwise(monkeypatch, had, has):
    """The command line tells them. In this process torch has read it long ago."""
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    look = "lambda: print(os.environ.get('OMP_WAIT_POLICY'), 'torch' in sys.modules)"
    program = f"import os; from videopred import cli; cli.COMMANDS['list'] = {look}; cli.main(['list'])"
    assert child_process.answer(program, {"OMP_WAIT_POLICY": had} if had else {}) == f"{has} False"


@pytest.mark.slow
def test_memory_is_measured_in_a_folder_of_other_modules(hostile):
    assert peak_bytes("scoff", "ours", 3, 4) > 0


@pytest.mark.slow
def test_a_training_hears_no_files_of_the_user(hostile, tmp_path_factory):
    """Makers of clips; a second process of the training; loaders that are started afresh, as on macOS."""
    script = tmp_path_factory.mktemp("bin") / "videopred"
    script.write_text(
        "import multiprocessing\nfrom videopred.cli import main\n"
        "if __name__ == '__main__':\n    multiprocessing.set_start_method('spawn')\n    main()\n"
    )
    size = "--balls 2 --frames 5 --height 24 --width 32 --clips train=8 validation=2"
    model = "--core gru --core.units 5 --codec.channels 2 3 --codec.embedding 7"
    how = "--updates 2 --batch-size 4 --validate-every 2 --device cpu --workers 1 --hold disk --devices 2"
    for words in (f"generate balls4 {size} --workers 2 --out two.h5", f"train two.h5 {model} {how} --out run"):
        done = subprocess.run([sys.executable, str(script), *words.split()], capture_output=True, text=True)
        assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "wrote"), done.stderr
