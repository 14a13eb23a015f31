"""Where a run came from: command, versions, commit, machine and times, for its run.json."""

import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from videopred.slurm import my_job
from videopred.systems import home_of_processes

_PACKAGE = Path(__file__).parent.parent
_INTERACTIVE = ("ipykernel_launcher.py", "colab_kernel_launcher.py", "", "-c")
"""Programs of notebooks and of an interpreter: what they were started with says nothing of what was done there. Others
have a prompt."""
_LIBRARIES = ("videopred", "torch", "lightning", "numpy", "h5py")


def provenance() -> dict[str, Any]:
    """What is known before the first update; `command` if it can be typed again, `job`, Slurm's, if it is of one.

    `home` stands for where the number of the process holds, as containers may have the name of their host.
    """
    job, program = my_job(), _program(Path(sys.argv[0]))
    return {
        **({} if program in _INTERACTIVE or hasattr(sys, "ps1") else {"command": shlex.join([program, *sys.argv[1:]])}),
        "started": now(),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "host": platform.node(),
        "process": os.getpid(),
        "home": home_of_processes(),
        **({"job": job} if job else {}),
        "threads": torch.get_num_threads(),
        "commit": commit(_PACKAGE),
        "versions": {name: version(name) for name in _LIBRARIES},
    }


def _program(path: Path) -> str:
    """What a process was started as; `python -m videopred` is videopred."""
    return "videopred" if path == _PACKAGE / "__main__.py" else path.name


class TimeSpent:
    """Seconds since it was made, by the clock and of CPU time, with those that a record has from before.

    CPU time is that of this process, in all its threads, and of its loader processes once they have ended.
    """

    def __init__(self) -> None:
        self._began = _clocks()
        self._before = dict.fromkeys(self._began, 0.0)

    def add(self, record: Mapping[str, Any]) -> None:
        """Count what was spent before, as a record has it; that of a run which was killed before it saved has none."""
        self._before = {name: record.get(name, 0.0) for name in self._before}

    def so_far(self) -> dict[str, float]:
        """For the record: `seconds` and `cpu_seconds`, to a tenth."""
        return {name: round(now - self._began[name] + self._before[name], 1) for name, now in _clocks().items()}


def _clocks() -> dict[str, float]:
    times = os.times()
    worked = times.user + times.system + times.children_user + times.children_system
    return {"seconds": time.monotonic(), "cpu_seconds": worked}


def now() -> str:
    """The time in UTC, to the millisecond: when it was started tells a run from others of its name."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def commit(package: Path) -> str | None:
    """The git commit that a package is of, with `, changed` behind it if its files are others; None outside a checkout.

    Args:
        package: folder of the package; a checkout is a repository whose top folder holds it directly, so that an
            environment inside somebody's repository is not taken for one.
    """
    top = _git(package, "rev-parse", "--show-toplevel")
    if top is None or Path(top) != package.resolve().parent:
        return None
    head, changes = _git(package, "rev-parse", "HEAD"), _git(package, "status", "--porcelain", "--", ".")
    return f"{head}, changed" if head and changes else head


def _git(folder: Path, *words: str) -> str | None:
    """What git says there, or None if it is not installed, or finds nothing."""
    try:
        # Without the lock that `status` takes to note what it looked at: somebody may commit at the same time.
        command = ["git", "--no-optional-locks", "-C", str(folder), *words]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
