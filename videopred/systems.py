"""What differs between Linux, macOS and Windows; no other module asks which of them it is on. Light."""

import errno
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import IO, Any

from videopred import amounts, check

_PATIENCE, _PAUSE = 50, 0.1  # tries, and seconds between them
_HELD = (errno.EACCES, errno.EAGAIN)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)  # the last two are one on Linux only


def take_lock(file: IO[bytes], *, for_children: bool = False) -> bool:
    """Whether this process has the lock on an open file now, or its file system has no locks.

    The system keeps it until the file is closed or the process ends in any way, kill -9 too.

    Args:
        file: open for writing.
        for_children: whether it also locks out this very process, and stays with children that it is copied to.

    Raises:
        OSError: the disk fails.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            lock = fcntl.flock if for_children else fcntl.lockf
            lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _HELD + _NO_LOCKS:
            raise
        return error.errno in _NO_LOCKS
    return True


def open_files_move() -> bool:
    """Whether a folder can be renamed or removed while a file in it is open."""
    return sys.platform != "win32"


def replace(source: Path, target: Path) -> None:
    """Give a file or folder another name, as `os.replace` does.

    Windows refuses that while another program has a file in it, or the one of that name, open, if only to read or to
    look for viruses, so there it is tried again for some seconds.

    Raises:
        OSError: it cannot be done.
    """
    for _ in range(_PATIENCE if sys.platform == "win32" else 0):
        try:
            return os.replace(source, target)
        except PermissionError:
            sleep(_PAUSE)
    os.replace(source, target)


PERMISSIONS = "check who owns it, and the permissions on it and on the folders that it is in"
"""What to do about a path to which access is denied."""


def with_closing(fix: str, error: OSError) -> str:
    """What to do about an error: also to close what is open, where Windows denies access, which it says of that too."""
    held = sys.platform == "win32" and isinstance(error, PermissionError)
    return f"close what has it open, or {fix}" if held else fix


def is_broken_pipe(error: Exception) -> bool:
    """Whether an error says that a pipe has lost its reader, which Windows tells in its own way."""
    lost = isinstance(error, OSError) and error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and lost)


def is_system_error(error: Exception) -> bool:
    """Whether reading failed because of the system (memory, rights), so that nothing is known about the content."""
    # EINVAL is of a seek to a place before the first.
    refused = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
    return refused or isinstance(error, MemoryError) or lacking_memory(error) is not None


def lacking_memory(error: Exception) -> str | None:
    """How much memory torch, or C++ below it, asked for in vain; None if the error says something else."""
    if isinstance(error, RuntimeError) and "bad_alloc" in str(error):
        return "byte"  # nobody says how many
    lacking = isinstance(error, RuntimeError) and re.search(
        r"tried to allocate ([\d.]+) ?(\w+)", str(error), re.IGNORECASE
    )
    if not lacking:
        return None
    return amounts.size(int(lacking[1])) if lacking[2] == "bytes" else f"{lacking[1]} {lacking[2]}"


def is_alive(process: int) -> bool:
    """Whether this machine has a process of that number; true where that cannot be known."""
    if sys.platform == "win32":  # to ask with signal 0 would be to press Ctrl-C there
        import _winapi

        try:
            handle = _winapi.OpenProcess(0x1000, False, process)  # to be told what anybody may know
        except OSError as error:
            return error.winerror != 87  # which says that no process has the number
        try:
            return _winapi.GetExitCodeProcess(handle) == 259  # which is that of one that runs
        finally:
            _winapi.CloseHandle(handle)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        pass
    return True


def home_of_processes() -> str:
    """Eight digits that stand for where numbers of processes hold: this machine, or a container on it.

    Containers have processes of the same numbers, and may have the name of their machine.
    """
    name = platform.node()
    with suppress(OSError):  # of Linux alone
        name += os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(name.encode()):08x}"


def popen_without_ctrl_c() -> dict[str, Any]:
    """What `subprocess.Popen` must be told so that the terminal's Ctrl-C does not reach the process."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def may_train_together() -> bool:
    """Whether several processes can share a training: each must notice when the one that started it is gone."""
    return sys.platform != "win32"


def stop_signals() -> tuple[signal.Signals, ...]:
    """The signals, besides Ctrl-C, by which somebody asks to stop; batch systems send the second.

    SIGHUP comes when a terminal closes or the network fails, and is no such signal where it is ignored, as with nohup.
    """
    if sys.platform == "win32":
        return (signal.SIGTERM, signal.SIGBREAK)  # the second is Ctrl-Break
    heeded = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    return (signal.SIGTERM, signal.SIGUSR1, *[signal.SIGHUP] * heeded)


def shell_quoted(words: Sequence[str]) -> str:
    """Words as one types them into the system's shell."""
    return " ".join(map(_quoted_on_windows, words)) if sys.platform == "win32" else shlex.join(words)


def _quoted_on_windows(word: str) -> str:
    """A word in double quotes unless neither cmd nor PowerShell sees more in it; programs read backslashes before a
    quote in pairs."""
    if re.fullmatch(r"[\w\\/:.=+-]+", word):
        return word
    doubled = re.sub(r'(\\*)("|\Z)', r"\1\1\2", word)
    return '"' + doubled.replace('"', r"\"") + '"'


def compiler() -> tuple[str, str]:
    """The compiler of C++ that torch calls unless the environment variable CXX names another, and how to get it."""
    if sys.platform == "win32":
        return "cl", "install the C++ Build Tools of Visual Studio"
    if sys.platform == "darwin":
        return "clang++", "xcode-select --install"
    return "g++", "apt-get install g++"


def processors() -> int:
    """Logical CPUs that this process may use; only Linux tells if they are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """What the processor is called, with its maker's name where the system tells."""
    with suppress(OSError):
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def can_run(program: str) -> bool:
    """Whether a compiler that is there tells its version when asked to, as torch asks it; all do on Windows.

    One that is there and does not run is left behind by an environment that moved, say, or lacks a library.
    """
    try:
        return sys.platform == "win32" or not subprocess.run([program, "--version"], capture_output=True).returncode
    except OSError:
        return False


def total_memory_bytes() -> int | None:
    """Bytes of this machine's memory, if the system tells."""
    if sys.platform == "win32" or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def peak_memory_bytes() -> int:
    """Most bytes that this process ever held.

    Linux hands ru_maxrss on to the programs that a process starts, so there the peak of this program alone is read.

    Raises:
        OSError: Windows does not tell Python.
    """
    if sys.platform == "win32":
        must, fix = "be told by the system", "measure on Linux or macOS"
        raise OSError(check.complaint("the memory that a process took", must, "Windows", fix))
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
