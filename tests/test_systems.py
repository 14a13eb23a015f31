"""What differs between systems: as it is here, and on Windows as far as that can be imitated."""

import errno
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import imitated_windows
import pytest
from tiny_runs import RECIPE, tiny_data, tiny_model, tiny_training

from videopred import doctor, systems
from videopred.datasets.generation import generate
from videopred.files import write_text
from videopred.models.compiling import check_compiler
from videopred.training.run import train

PACKAGE = Path(systems.__file__).parent
SYSTEM = r"\bsys\.platform\b|\bos\.name\b|\bplatform\.system\("
RENAMED = r"\bos\.re(?:place|name)\(|\.rename\(|\.replace\((?:[^,()]|\([^()]*\))*\)"  # a text's has two arguments
TEXT = r"\.(?:read|write)_text\((?!path\b)(?:(?!encoding=).)*$"


def left_to_the_system(source: str) -> list[str]:
    """Where a module asks on which system it is, or leaves to it how a text is encoded, or to replace what is open."""
    return re.findall(f"{SYSTEM}|{RENAMED}|{TEXT}", source, re.MULTILINE)


@pytest.mark.parametrize(
    "module", sorted(set(PACKAGE.rglob("*.py")) - {Path(systems.__file__)}), ids=lambda path: path.stem
)
def test_no_other_module_depends_on_the_system(module):
    assert left_to_the_system(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("if sys.platform == 'linux':", True),
        ("posix = os.name == 'posix'", True),
        ("path.write_text(text)", True),
        ("json.loads(path.read_text())\n", True),
        ("path.replace(path.with_name('new'))", True),
        ("os.replace(path, new)", True),
        ("path.rename(new)", True),
        ("path.write_text(text, encoding='utf-8')\nrename(path)", False),
        ("replace(path, new)\nname.replace('_', '-')", False),
        ("write_text(path, text)", False),
    ],
)
def test_a_module_that_does_is_found(source, found):
    assert bool(left_to_the_system(source)) is found


@pytest.fixture
def windows(monkeypatch):
    imitated_windows.imitate(monkeypatch)


def test_a_lock_is_held_by_one_file_at_a_time(tmp_path, windows):
    path = tmp_path / "lock"
    with path.open("ab") as one, path.open("ab") as other:
        assert systems.take_lock(one)
        assert not systems.take_lock(other)
    with path.open("ab") as again:
        assert systems.take_lock(again)


def test_nobody_is_interrupted_by_being_asked_whether_he_lives(windows):
    assert systems.is_alive(os.getpid())
    assert systems.is_alive(1), "another user's, that cannot be asked"


def test_the_dead_are_known_on_windows_too(windows):
    """Also while somebody still looks at them, as whoever started them may."""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not systems.is_alive(process.pid)
    assert not systems.is_alive(process.pid)


def test_where_numbers_of_processes_hold_is_told_by_the_machine_and_the_container(monkeypatch):
    homes = []
    for name, namespace in (("one", "pid:[3]"), ("two", "pid:[3]"), ("one", "pid:[4]")):
        monkeypatch.setattr("platform.node", lambda name=name: name)
        monkeypatch.setattr("os.readlink", lambda path, namespace=namespace: namespace)
        homes.append(systems.home_of_processes())
        assert systems.home_of_processes() == homes[-1]
    monkeypatch.setattr("os.readlink", lambda path: (_ for _ in ()).throw(FileNotFoundError(path)))  # not on Linux
    homes.append(systems.home_of_processes())
    assert len(set(homes)) == 4
    assert {len(home) for home in homes} == {8}


def test_what_another_program_has_open_is_replaced_once_it_is_closed(tmp_path, windows, monkeypatch):
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_text("new")
    old.write_text("old")
    waits = []
    with old.open() as reader:
        monkeypatch.setattr(systems, "sleep", lambda s: waits.append(s) if len(waits) < 3 else reader.close())
        systems.replace(new, old)
    assert (old.read_text(), new.exists(), len(waits)) == ("new", False, 3)


def test_what_stays_open_is_named_after_some_seconds(tmp_path, windows, monkeypatch):
    path, waits = tmp_path / "last.ckpt", []
    path.write_text("old")
    monkeypatch.setattr(systems, "sleep", waits.append)
    message = r"last\.ckpt must be a file that can be written, got .* is open; close what has it open, or choose"
    with path.open(), pytest.raises(OSError, match=message):
        write_text(path, "new")
    assert 3 < sum(waits) < 10
    assert path.read_text() == "old"


def test_elsewhere_nobody_waits_for_a_refusal(tmp_path, monkeypatch):
    def refuse(*paths: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(systems, "sleep", lambda seconds: pytest.fail("it waits"))
    with pytest.raises(PermissionError):
        systems.replace(tmp_path / "new", tmp_path / "old")


def test_only_what_windows_denies_may_be_open_elsewhere(monkeypatch):
    denied, others = PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EROFS, "Read-only file system")
    assert systems.with_closing("move it", denied) == "move it"
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform="win32"))
    assert systems.with_closing("move it", denied) == "close what has it open, or move it"
    assert systems.with_closing("move it", others) == "move it"


def test_windows_tells_of_a_reader_who_has_gone_in_its_own_way(monkeypatch):
    told, others = OSError(errno.EINVAL, "Invalid argument"), OSError(errno.EINVAL, "Invalid argument", "data.h5")
    assert systems.is_broken_pipe(BrokenPipeError())
    assert not systems.is_broken_pipe(told)
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform="win32"))
    assert systems.is_broken_pipe(told)
    assert systems.is_broken_pipe(BrokenPipeError())
    assert not systems.is_broken_pipe(others)
    assert not systems.is_broken_pipe(ValueError("of the output"))


def test_commands_are_quoted_as_the_shell_wants_it(monkeypatch):
    words = ("videopred", "train", "--resume", r"my models\run")
    assert systems.shell_quoted(words) == r"videopred train --resume 'my models\run'"
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform="win32"))
    assert systems.shell_quoted(words) == r'videopred train --resume "my models\run"'


@pytest.mark.parametrize(
    "word", ["a&b", "it's", "run(1)", "a;b.h5", "x$y", "a^b", "a,b", "c:\\a&b\\", r"a\"b", "a b\\", ""]
)
def test_what_cmd_and_powershell_take_apart_is_quoted(monkeypatch, word):
    """As Python quotes what has a space in it."""
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform="win32"))
    quoted = systems.shell_quoted([word])
    assert quoted.startswith('"')
    beyond = subprocess.list2cmdline([" " + word])
    assert quoted == '"' + beyond[2:]


def test_what_no_shell_of_windows_takes_apart_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform="win32"))
    words = (r"C:\Müller\run_1-b", "--metrics=f1", "models/a+b", "0.5")
    assert systems.shell_quoted(words) == " ".join(words)


def test_ctrl_break_stops_as_sigterm_does(windows):
    assert systems.stop_signals() == (signal.SIGTERM, signal.SIGBREAK)


@pytest.mark.parametrize(
    ("system", "name", "how_to_get"),
    [("linux", "g++", "apt-get"), ("darwin", "clang++", "xcode-select"), ("win32", "cl", "Visual Studio")],
)
def test_a_compiler_is_asked_for_that_the_system_can_have(monkeypatch, tmp_path, system, name, how_to_get):
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform=system))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(ValueError, match=rf"find the C\+\+ compiler {re.escape(name)}, got none; .*{how_to_get}"):
        check_compiler("--compile")
    told = doctor.examine(device="cpu", self_test=False).rows["optional parts"]["C++ compiler"]
    assert how_to_get in told


def test_what_windows_does_not_tell_is_said(windows):
    assert systems.total_memory_bytes() is None
    with pytest.raises(OSError, match="must be told by the system, got Windows; measure on Linux or macOS"):
        systems.peak_memory_bytes()


@pytest.mark.parametrize(
    ("told", "processor", "name"),
    [
        ("vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9B45\nmodel name\t: another\n", "", "AMD EPYC 9B45"),
        ("processor\t: 0\nBogoMIPS\t: 243.75\n", "", "aarch64"),
        (None, "Intel64 Family 6, GenuineIntel", "Intel64 Family 6, GenuineIntel"),
    ],
    ids=["linux", "linux on arm", "windows"],
)
def test_the_processor_is_called_what_the_system_tells(monkeypatch, told, processor, name):
    def read(path: Path, **_: str) -> str:
        if told is None:
            raise FileNotFoundError(errno.ENOENT, "none", str(path))
        return told

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(platform, "processor", lambda: processor)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert systems.processor_name() == name


def test_macos_counts_the_peak_in_bytes_and_linux_in_kilobytes(monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda self: False)  # no /proc
    on_linux = systems.peak_memory_bytes()
    monkeypatch.setattr(systems, "sys", SimpleNamespace(platform="darwin"))
    assert systems.peak_memory_bytes() == pytest.approx(on_linux / 1024, rel=0.1)


def test_processors_are_those_that_this_process_may_use(monkeypatch):
    """Where the system tells; else those of the machine, or one."""
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 5, 6}, raising=False)
    assert systems.processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert systems.processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert systems.processors() == 1


def test_the_peak_stays_when_memory_is_given_back():
    held = b"x" * 60_000_000
    peak = systems.peak_memory_bytes()
    del held
    assert systems.peak_memory_bytes() > peak - 20_000_000


def test_memory_is_counted_in_pages_of_any_size(monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 3, "SC_PAGE_SIZE": 16384}.__getitem__)  # as on macOS
    assert systems.total_memory_bytes() == 49152


def test_data_is_made_and_made_anew_though_open_files_stay(tmp_path, windows):
    """By workers too; the pieces of another request go away as well."""
    out = tmp_path / "two.h5"
    for seed, workers in ((0, 1), (1, 2)):
        others = tmp_path / ".two.h5.0123456789ab.pieces"
        others.mkdir()
        (others / "train-00000000-00000008.piece").write_bytes(b"of another seed")
        generate("balls4", {"train": 8}, recipe=RECIPE, seed=seed, workers=workers, out=out, overwrite=True)
        assert [path.name for path in tmp_path.iterdir()] == ["two.h5"]


def test_a_run_is_replaced_and_given_back_though_open_files_stay(tmp_path, windows, monkeypatch):
    data, out = tiny_data(tmp_path / "two.h5"), tmp_path / "models" / "run"
    for updates in (1, 2):
        train(data, tiny_model(), tiny_training(updates=updates), out=out, device="cpu", overwrite=True)
    before = (out / "settings.json").read_bytes()
    monkeypatch.setattr("videopred.training.course.make_trainer", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(data, tiny_model(), tiny_training(updates=1), out=out, device="cpu", overwrite=True)
    assert (out / "settings.json").read_bytes() == before
    assert list(out.parent.iterdir()) == [out]


def test_a_folder_with_an_open_file_would_not_move(tmp_path, windows):
    with (tmp_path / "open").open("wb"), pytest.raises(PermissionError, match="is open"):
        tmp_path.rename(tmp_path.with_name("moved"))


@pytest.mark.slow
def test_the_whole_flow(tmp_path):
    """With texts that only are what they are said to be, and a screen that has few letters."""
    here = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-X", "warn_default_encoding", imitated_windows.__file__]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | here,
        encoding="cp1252",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    assert "videopred: --devices must be 1 on Windows, and --nodes, got 2; train on one here" in done.stdout
