"""Where a run came from: command, versions, commit, machine and times, for its run.json."""

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

_PACKAGE = Path(__file__).parent
_LIBRARIES = ("videopred", "torch", "lightning", "numpy", "h5py")


def provenance() -> dict[str, Any]:
    """What is known before the first update."""
    return {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "started": now(),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "host": platform.node(),
        "process": os.getpid(),
        "threads": torch.get_num_threads(),
        "commit": commit(_PACKAGE),
        "versions": {name: version(name) for name in _LIBRARIES},
    }


def ending(record: dict[str, Any], state: str) -> dict[str, Any]:
    """What is known when the process of a run ends well or badly: state, time, and seconds since `started`."""
    finished = now()
    seconds = (datetime.fromisoformat(finished) - datetime.fromisoformat(record["started"])).total_seconds()
    return {"state": state, "finished": finished, "seconds": seconds}


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
