"""How a command ends that is stopped, that nobody reads, or that fails at what the machine lacks."""

import errno
import io
import os
import shlex
import signal
import subprocess
import sys
import tomllib
import warnings
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from command_line import LEARNING, core_flags, run

import videopred
from videopred import __main__ as entry
from videopred import cli, demo, interrupt, systems
from videopred.cli import COMMANDS, main
from videopred.commands import training
from videopred.files import whole_file, write_text
from videopred.systems import stop_signals


def test_an_interrupted_command_ends_with_130(monkeypatch, capfd):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(COMMANDS, "list", interrupted)
    assert run("list") == 130
    assert capfd.readouterr() == ("", "videopred: interrupted; what is saved is whole\n")


@pytest.mark.parametrize("number", stop_signals(), ids=lambda one: one.name)
def test_what_asks_to_stop_is_as_ctrl_c(monkeypatch, capfd, tmp_path, number):
    """So that what is half written goes away."""

    def stopped() -> None:
        with whole_file(tmp_path / "a.json") as partial:
            partial.write_text("{")
            signal.raise_signal(number)

    monkeypatch.setitem(COMMANDS, "list", stopped)
    passed_on, before = [], signal.signal(number, lambda *anything: passed_on.append(number))
    try:
        assert run("list") == 130
        signal.raise_signal(number)
    finally:
        signal.signal(number, before)
    assert passed_on == [number]
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "videopred: interrupted; what is saved is whole\n")


def test_an_interrupt_that_a_library_takes_for_its_own_fault_is_one(monkeypatch, capfd):
    """As NumPy does while it is loaded."""

    def loading() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("cannot load module more than once per process") from None

    monkeypatch.setitem(COMMANDS, "list", loading)
    assert run("list") == 130
    assert capfd.readouterr() == ("", "videopred: interrupted; what is saved is whole\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_signal_that_is_ignored_stays_so(monkeypatch, number):
    """As Ctrl-C is, by shells, for what runs in the background."""
    monkeypatch.setitem(COMMANDS, "list", lambda: signal.raise_signal(number))
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert run("list") == 0
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("words", ["list", "list --help"])
def test_who_reads_no_further_is_told_nothing(words):
    """As by `| head -1`, before which unix tools end with 141 in the eyes of a shell."""
    command = [sys.executable, "-m", "videopred", *words.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate()
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize("sign", ["SIGTERM", "SIGUSR1"])
@pytest.mark.parametrize(("words", "status"), [("list cores", 0), ("list frobnicate", 2)])
def test_a_signal_while_python_ends_changes_nothing(words, status, sign):
    """As of a batch system that sends one again and again."""
    late = "import atexit, os, signal, sys; from videopred.__main__ import main; "
    late += f"sys.argv = ['videopred', *{words.split()}]; atexit.register(os.kill, os.getpid(), signal.{sign}); main()"
    done = subprocess.run([sys.executable, "-c", late], capture_output=True, check=False)
    assert done.returncode == status


@pytest.mark.parametrize(
    ("program", "status"), [("cli.main(['frobnicate'])", 2), ("cli._end('interrupted', 130)", 130)]
)
def test_a_complaint_that_nobody_reads_ends_as_it_would(program, status):
    """As of a training behind `2>&1 | tee log`, where Ctrl-C ends tee first."""
    command = [sys.executable, "-c", f"from videopred import cli; {program}"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=buffered) as process:
        assert process.stderr is not None
        process.stderr.close()
        assert process.wait() == status


def test_help_that_nobody_reads_may_have_failed_in_silence(monkeypatch):
    """As it does since Python 3.14, whose argparse passes over an output that is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        monkeypatch.setitem(COMMANDS, "list", lambda: sys.exit(print("usage:")))
        assert run("list") == 141


ACCESS = "check who owns it, and the permissions on it and on the folders that it is in"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "run/settings.json"),
            f"run/settings.json must be accessible, got Permission denied; {ACCESS}",
        ),
        (
            OSError(errno.EIO, "Input/output error", "run/best.ckpt"),
            "run/best.ckpt must be accessible, got Input/output error; look after its disk, and whether it was moved "
            "or deleted meanwhile; then give the command again",
        ),
        (
            MemoryError("Unable to allocate 78 MiB"),
            "memory must be enough for what is held at once, got Unable to allocate 78 MiB; ask for less at a time",
        ),
        (
            ImportError("libtorch_cpu.so: failed to map segment", name="torch._C"),
            "libraries must be such that Python can load them, got libtorch_cpu.so: failed to map segment; allow more "
            "memory if `ulimit -v` limits it; else install videopred in a new environment",
        ),
        (
            PackageNotFoundError("videopred"),
            "videopred must be installed, got its files alone; run `pip install .` beside them",
        ),
        (
            PackageNotFoundError("lightning"),
            "libraries must be such that Python can load them, got No package metadata was found for lightning; allow "
            "more memory if `ulimit -v` limits it; else install videopred in a new environment",
        ),
        (
            RuntimeError("operator torchvision::nms does not exist"),
            "torchvision must be made for the torch that is installed, got operator torchvision::nms does not exist; "
            "install both anew, from one place, as with `pip install --force-reinstall torch torchvision`",
        ),
        (
            OSError(errno.ENAMETOOLONG, "File name too long", "run/long"),
            "run/long must have short names, got File name too long; choose shorter ones",
        ),
    ],
)
def test_what_the_system_refuses_is_one_clear_line(monkeypatch, capfd, error, said):
    def refused() -> None:
        raise error

    monkeypatch.setitem(COMMANDS, "list", refused)
    assert run("list") == 1
    assert capfd.readouterr() == ("", f"videopred: {said}\n")


def test_a_module_of_ours_that_a_command_misses_is_shown_as_the_fault_that_it_is(monkeypatch):
    def broken() -> None:
        raise ModuleNotFoundError("No module named 'videopred.flogs'", name="videopred.flogs")

    monkeypatch.setitem(COMMANDS, "list", broken)
    with pytest.raises(ModuleNotFoundError, match="flogs"):
        main(["list"])


def test_on_windows_a_refusal_may_be_of_what_is_open(monkeypatch, capfd):
    def refused() -> None:
        raise PermissionError(errno.EACCES, "Access is denied", "run/last.ckpt", None, "run/previous.ckpt")

    monkeypatch.setitem(COMMANDS, "list", refused)
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(interrupt, "stop_signals", lambda: ())  # Windows has others
    assert run("list") == 1
    said = "run/last.ckpt -> run/previous.ckpt must be accessible, got Access is denied; close what has it open, or "
    assert capfd.readouterr().err == f"videopred: {said}{ACCESS}\n"


def test_a_warning_of_ours_is_one_line_and_one_of_a_library_says_where_it_arose(monkeypatch):
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # which the command line replaces
    assert run("list") == 0
    ours = warnings.formatwarning(UserWarning("--a must be b"), UserWarning, cli.__file__, 3)
    assert ours == "videopred: warning: --a must be b\n"
    theirs = warnings.formatwarning(UserWarning("new"), UserWarning, "torch/old.py", 3, "call()")
    assert theirs == "torch/old.py:3: UserWarning: new\n  call()\n"


def test_a_refusal_that_names_no_file_is_told_as_it_is(monkeypatch, capfd):
    def refused() -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setitem(COMMANDS, "list", refused)
    assert run("list") == 1
    assert capfd.readouterr() == ("", f"videopred: [Errno {errno.EPERM}] Operation not permitted\n")


@pytest.mark.parametrize(("words", "status"), [("list --help", 0), ("list", 0), ("frobnicate", 2)])
def test_a_command_may_have_no_output_at_all(words, status):
    """As with `>&-` in a shell, where Python has None in its place."""
    command = f"exec {shlex.join([sys.executable, '-m', 'videopred', *words.split()])} >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.count(b"\n")) == (status, 0 if status == 0 else 1)


NOISY = """
import subprocess, sys
from videopred import cli

PRINT = "import os; os.write(1, b'out'); os.write(2, b'err')"

def write_file():
    with open(sys.argv[1], "wb"):
        exec(PRINT, {})
        subprocess.run([sys.executable, "-c", PRINT], check=True)

cli.COMMANDS["list"] = write_file
cli.main(["list"])
"""


@pytest.mark.parametrize(
    ("closed", "said"),
    [
        (">&-", (b"", b"errerr")),
        ("2>&-", (b"outout", b"")),
        ("<&- 2>&-", (b"outout", b"")),
        ("<&- >&-", (b"", b"errerr")),
        ("<&- >&- 2>&-", (b"", b"")),
    ],
)
def test_no_file_takes_the_place_of_a_closed_stream(tmp_path, closed, said):
    """Libraries of C would print into it, also those of processes that are started meanwhile."""
    script, file = tmp_path / "noisy.py", tmp_path / "file"
    script.write_text(NOISY)
    command = f"exec {shlex.join([sys.executable, str(script), str(file)])} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, *said)
    assert file.read_bytes() == b""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_letters_that_the_output_lacks_have_stand_ins_that_mean_the_same(monkeypatch, stream):
    """As the arrows of a table of scores in a batch job without UTF-8; it failed when all was scored."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, stream, output)
    monkeypatch.setitem(COMMANDS, "list", lambda: print("BCE ↓ 3 ± 1 of Bälle …", file=output, flush=True))
    assert run("list") == 0
    assert output.buffer.getvalue() == rb"BCE v 3 +- 1 of B\xe4lle ..." + b"\n"  # type: ignore[attr-defined]


@pytest.fixture
def unloadable(monkeypatch):
    """Make loading the commands lead to an error."""

    def make(error: BaseException) -> None:
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "videopred.cli":
                    raise error

        monkeypatch.delattr(videopred, "cli")
        monkeypatch.delitem(sys.modules, "videopred.cli")
        monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])

    return make


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted; nothing had begun"),
        (
            ModuleNotFoundError("No module named 'tyro'", name="tyro"),
            1,
            "libraries must be installed, got No module named 'tyro'; run `pip install .` in the clone",
        ),
    ],
)
def test_what_keeps_commands_from_loading_is_one_line_as_well(unloadable, capfd, error, status, said):
    unloadable(error)
    with pytest.raises(SystemExit, match=f"^{status}$"):
        entry.main()
    assert capfd.readouterr() == ("", f"videopred: {said}\n")


def test_a_module_of_ours_that_is_missing_is_shown_as_the_fault_that_it_is(unloadable):
    unloadable(ModuleNotFoundError("No module named 'videopred.flogs'", name="videopred.flogs"))
    with pytest.raises(ModuleNotFoundError, match="flogs"):
        entry.main()


def test_the_installed_command_is_that_entry():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"videopred": f"{entry.__name__}:main"}


def test_on_request_a_failure_shows_where_it_arose(monkeypatch):
    monkeypatch.setenv("VIDEOPRED_TRACEBACK", "1")
    with pytest.raises(ValueError, match="COMMAND must be one of"):
        main(["frobnicate"])


def _greedy() -> None:
    torch.empty(10**15)  # floats: no address space has room for them


def _greedy_without_words() -> None:
    raise MemoryError


def _greedy_on_a_device() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 2 GiB")


@pytest.mark.parametrize(("greedy", "amount"), [(_greedy, "4000 TB"), (_greedy_on_a_device, "2.50 GiB")])
def test_memory_that_does_not_do_is_one_clear_line(monkeypatch, capfd, greedy, amount):
    monkeypatch.setitem(COMMANDS, "list", greedy)
    assert run("list") == 1
    must, fix = "be enough for the model and what it reads at once", "take a smaller model or --batch-size"
    assert capfd.readouterr() == ("", f"videopred: memory must {must}, got no {amount} more; {fix}\n")


def test_so_is_that_of_a_library_which_has_no_words_for_it(monkeypatch, capfd):
    monkeypatch.setitem(COMMANDS, "list", _greedy_without_words)
    assert run("list") == 1
    said = "videopred: memory must be enough for what is held at once, got no more; ask for less at a time\n"
    assert capfd.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("name", "shown"), [(b"l\xe4tin", "l\N{REPLACEMENT CHARACTER}tin"), ("zwei-bälle".encode(), "zwei-bälle")]
)
def test_a_path_that_no_file_can_tell_is_one_clear_line(monkeypatch, tmp_path, capfd, name, shown):
    path = f"models/{name.decode('ascii', 'surrogateescape')}/x"
    monkeypatch.setitem(COMMANDS, "list", lambda: write_text(tmp_path / "page.md", f"one two {path} three"))
    assert run("list") == 1
    must, fix = "be text in UTF-8", "set PYTHONUTF8=1 if they are, or rename them"
    complaint = f"videopred: names of files and folders must {must}, got models/{shown}/x; {fix}\n"
    assert capfd.readouterr() == ("", complaint)
    assert not list(tmp_path.iterdir())


def test_a_name_that_this_system_has_no_letters_for_is_one_clear_line(monkeypatch, capfd):
    """As those in a file of JSON may be where words are ASCII."""
    monkeypatch.setitem(COMMANDS, "list", lambda: "models/bälle".encode("ascii"))
    assert run("list") == 1
    assert capfd.readouterr().err.startswith(
        "videopred: names of files and folders must be text in UTF-8, got models/b"
    )


def test_a_training_that_diverges_ends_with_1(place, tmp_path, monkeypatch, capfd):
    """The words were right; whoever trains in a loop over step sizes must be able to tell."""
    words = f"train {place / 'balls4.h5'} {core_flags('gru')} {LEARNING} --learning-rate 1e30 --out {tmp_path / 'run'}"
    assert run(words) == 1
    assert "videopred: training must keep the loss finite, got " in capfd.readouterr().err


def test_a_training_stopped_before_it_begins_saved_nothing_and_says_so(place, tmp_path, monkeypatch, capfd):
    def stopped(*anything) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "open_dataset", stopped)
    words = f"train {place / 'balls4.h5'} {core_flags('gru')} {LEARNING} --out"
    assert run(f"{words} {tmp_path / 'run'}") == 130
    assert capfd.readouterr().err == "videopred: interrupted; the training had not begun\n"
    assert run(f"{words} {place / 'gru'} --overwrite") == 130  # which is still there
    assert capfd.readouterr().err == "videopred: interrupted; what is saved is whole\n"


@pytest.mark.slow
def test_a_demo_that_is_interrupted_says_how_to_have_the_whole_of_it(tmp_path, monkeypatch, capfd):
    def stopped(*anything, **more) -> None:
        raise KeyboardInterrupt("continue with `videopred train --resume`")  # which leaves scores and pictures out

    with monkeypatch.context() as patch:
        patch.setattr(demo, "train", stopped)
        assert run(f"demo --tiny --out {tmp_path}") == 130
    said = "videopred: interrupted; the same command with --overwrite begins the demo again\n"
    assert capfd.readouterr().err == said
    assert run(f"demo --tiny --out {tmp_path} --overwrite") == 0


def test_a_deleted_current_folder_is_one_clear_line(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run("list") == 1
    line = "videopred: the current folder must be there, got one that was deleted; go to another, as with cd\n"
    assert capsys.readouterr() == ("", line)


def test_an_unforeseen_error_is_not_hidden(monkeypatch):
    def broken() -> None:
        raise AssertionError("a mistake of ours")

    monkeypatch.setitem(COMMANDS, "list", broken)
    with pytest.raises(AssertionError, match="a mistake of ours"):
        main(["list"])
