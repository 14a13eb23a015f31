"""Windows, as far as a program of Python's can tell it from Linux. As a script: the whole flow of videopred there.

Modules of POSIX are not there. Files that are open, or mapped into memory, and folders that hold such files are neither
renamed, replaced nor removed. Signal 0 is Ctrl-C. The script also refuses texts of which nobody says how they are
encoded, and names that Windows refuses.

What it lacks beside, such as signals, `mypy --platform win32` finds.
"""

import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from videopred import systems

_NOT_THERE = ("fcntl", "grp", "pwd", "resource", "termios")
_REFUSED = re.compile(r'[<>:"|?*\\]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)


def imitate(patch: pytest.MonkeyPatch) -> None:
    """Make this process take itself for one on Windows, until the patch is undone."""
    import fcntl

    def locking(descriptor: int, mode: int, size: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PermissionError(13, "Permission denied") from error

    msvcrt: Any = ModuleType("msvcrt")
    msvcrt.LK_NBLCK, msvcrt.locking = 2, locking
    patch.setitem(sys.modules, "msvcrt", msvcrt)
    patch.setitem(sys.modules, "_winapi", _winapi())
    for name in _NOT_THERE:
        patch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    for name in ("fork", "sched_getaffinity", "sysconf", "sysconf_names"):
        patch.delattr(os, name)
    patch.setattr(signal, "SIGBREAK", signal.SIGUSR2, raising=False)
    patch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0, raising=False)  # no other number may be given here
    patch.setattr(os, "kill", _kill(os.kill))
    for name in ("rename", "replace", "unlink", "remove", "rmdir"):
        patch.setattr(os, name, _refusing_open(getattr(os, name)))
    patch.setattr(systems, "sys", SimpleNamespace(platform="win32"))
    patch.setattr(systems, "sleep", lambda seconds: None)


class _WindowsError(OSError):
    """As Windows says it, with a number of its own."""

    def __init__(self, winerror: int) -> None:
        super().__init__(13, "Access is denied")
        self.winerror = winerror


def _winapi() -> Any:
    """What tells of processes: as here, but that process 1 is another user's."""
    api: Any = ModuleType("_winapi")
    kill = os.kill

    def open_process(access: int, inherit: bool, process: int) -> int:
        try:
            kill(process, 0)
        except ProcessLookupError:
            raise _WindowsError(87) from None
        if process == 1:
            raise _WindowsError(5)
        return process

    def exit_code(process: int) -> int:
        """Of one that has ended, and somebody still looks at."""
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        return 3 if "\nState:\tZ" in status else 259

    api.OpenProcess, api.CloseHandle, api.GetExitCodeProcess = open_process, lambda handle: None, exit_code
    return api


def _kill(kill: Callable[[int, int], None]) -> Callable[[int, int], None]:
    def kill_on_windows(process: int, number: int) -> None:
        assert number != 0, "signal 0 is Ctrl-C on Windows"
        kill(process, number)

    return kill_on_windows


def _refusing_open(change: Callable[..., None]) -> Callable[..., None]:
    def change_on_windows(*paths: Any, dir_fd: int | None = None, **how: Any) -> None:
        folder = "" if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        for path in paths:
            whole = os.path.realpath(os.path.join(folder, path))
            held = [name for name in _open_files() if name == whole or name.startswith(f"{whole}/")]
            if held:
                raise PermissionError(13, f"{held[0]} is open", str(path))
        change(*paths, **({} if dir_fd is None else {"dir_fd": dir_fd}), **how)

    return change_on_windows


def _open_files() -> set[str]:
    """The files that this process has open, or mapped into its memory."""
    mapped = {line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()}
    handles = set()
    for handle in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the listing itself
            handles.add(os.readlink(f"/proc/self/fd/{handle}"))
    return {name for name in mapped | handles if os.path.isfile(name)}


def _look_at_names(event: str, what: tuple[Any, ...]) -> None:
    if event in ("open", "os.mkdir", "os.rename") and isinstance(what[0], str | Path):
        for path in what[: 1 + (event == "os.rename")]:
            inside = os.path.relpath(path)
            refused = [name for name in Path(inside).parts if name != ".." and _REFUSED.search(name)]
            assert inside.startswith("..") or not refused, f"Windows has no file {path}"


SIZE = "--balls 2 --frames 9 --height 24 --width 32 --clips train=12 validation=3 test=5"
MODEL = "--core gru --core.units 5 --codec.channels 2 3 --codec.embedding 11"
LEARN = "--batch-size 4 --validate-every 1 --device cpu --pictures-every 1"
FLOW = {
    f"generate balls4 {SIZE} --workers 2 --out data.h5": 0,
    f"generate balls4 {SIZE} --seed 1 --shards 2 --out shards --overwrite": 0,
    f"generate balls4 {SIZE} --overwrite --seed 2 --out data.h5": 0,
    f"train data.h5 {MODEL} {LEARN} --updates 3 --out models/gru": 130,
    "train --resume models/gru": 0,
    f"train data.h5 {MODEL} {LEARN} --updates 1 --out models/gru --overwrite --devices 2": 2,
    f"train data.h5 {MODEL} {LEARN} --updates 3 --out models/gru --overwrite": 0,
    f"train data.h5 {MODEL} {LEARN} --updates 1 --out models/seeds --seeds 3,5": 0,
    f"train data.h5 {MODEL} {LEARN} --updates 2 --out models/seeds --seeds 3,5 --overwrite": 0,
    f"train data.h5 {MODEL} {LEARN} --updates 2 --out models/none --seeds 3,5 --window 50": 2,
    "evaluate models/gru data.h5 --context 3 --horizon 4 --metrics bce f1 --device cpu": 0,
    "render models/gru data.h5 --context 3 --horizon 4 --clips 0 --device cpu": 0,
    "report models/gru -o report.html": 0,
    "export models/gru --out gru.safetensors": 0,
    "export models/gru --out gru.safetensors --overwrite": 0,
    "runs models": 0,
    "verify data.h5": 0,
    "doctor --device cpu": 0,
}
"""Words of a command -> its exit status."""


def _stop_once(reason: Callable[..., str]) -> Callable[..., str]:
    """As somebody who presses Ctrl-C in the first training, after its first update."""
    pressed: list[bool] = []

    def press(self: Any, trainer: Any) -> str:
        if trainer.global_step == 1 and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return reason(self, trainer)

    return press


def main() -> None:
    """Go through the flow in the current folder."""
    import lightning  # noqa: F401  what others do when they are loaded is not ours
    import matplotlib.pyplot  # noqa: F401
    import tensorboard.summary  # noqa: F401

    imitate(pytest.MonkeyPatch())
    sys.addaudithook(_look_at_names)
    warnings.filterwarnings("error", category=EncodingWarning, module="videopred")
    from videopred import cli
    from videopred.training.stopping import StopSigns

    StopSigns.reason = _stop_once(StopSigns.reason)  # type: ignore[method-assign]
    for words, expected in FLOW.items():
        print(f"> videopred {words}", flush=True)
        with pytest.raises(SystemExit) as end:
            cli.main(words.split())
        if end.value.code != expected:
            sys.exit(f"it ended with {end.value.code}, not with {expected}")


if __name__ == "__main__":
    main()
