"""The folder of a run: made, gone on with, or put in the place of an older one."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from videopred import check
from videopred.checkpoint import RunConfig, write_json
from videopred.run_files import RECORD, SETTINGS
from videopred.training.locking import FolderLock
from videopred.training.processes import is_first
from videopred.training.provenance import TimeSpent, now, provenance


class RunFolder:
    """Writes what describes a run, and holds it against other trainings. In processes but the first it does nothing.

    A run that is replaced waits beside, under a hidden name, until the new one has saved its first checkpoint; should
    the new one fail before, the old one comes back.

    Attributes:
        path: the folder; `checkpoints` in it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.checkpoints = path, path / "checkpoints"
        named = path if path.name not in ("", "..") else path.resolve()  # `.` has no name
        self._old = named.with_name(f".{named.name}.replaced")
        self._lock = FolderLock(path)
        self._record: dict[str, Any] = {}
        self._time = TimeSpent()

    def begin(self, config: RunConfig, device: str, overwrite: bool) -> None:
        """Make the folder of a new run, with its settings; one that is empty is taken.

        Raises:
            FileExistsError: a run is there, and `overwrite` is false.
            ValueError: something else is there, or a run that another process trains.
            OSError: it cannot be made.
        """
        if not is_first():
            return
        self._lock.hold("--out", self._old)  # who sets a run aside holds it until there is a new one
        self._mend()
        check.free_folder("--out", self.path, overwrite)
        replaces = self.path.exists() and not check.empty_folder(self.path)
        if replaces:
            fix = "choose another --out; only run folders are replaced"
            check.require((self.path / SETTINGS).is_file(), "--out", "be a run folder or new", self.path, fix)
            self._lock.hold("--out", self.path)
        data = config.data.model_dump() if config.data else None
        record = provenance() | {"state": "running", "device": device, "data": data}  # while nothing is touched yet
        try:
            if replaces:
                with self._lock.lifted():
                    self.path.rename(self._old)
            self.checkpoints.mkdir(parents=True)
        except OSError as error:
            got, fix = f"{self.path} ({error.strerror})", "choose another place"
            raise OSError(check.complaint("--out", "be a folder that can be made", got, fix)) from error
        self._lock.hold("--out", self.path)
        write_json(self.path / SETTINGS, config.model_dump(mode="json"))
        self._write(record)

    def take_up(self) -> None:
        """Hold a run that is gone on with.

        Raises:
            ValueError: another process trains it.
        """
        if is_first():
            self._lock.hold("--resume", self.path)

    def go_on(self, config: RunConfig, record: dict[str, Any], device: str, done: int) -> None:
        """Note in the settings and the record of a run how it is resumed, and after how many updates."""
        if not is_first():
            return
        write_json(self.path / SETTINGS, config.model_dump(mode="json"))
        self._time.add(record)
        start = {"updates": done, **provenance()}
        starts = [*record.get("resumed", []), start]
        record = {name: value for name, value in record.items() if name not in ("updates", "finished", "job")}  # past
        here = {name: start[name] for name in ("host", "process", "job") if name in start}
        self._write(record | {"state": "running", "device": device, "resumed": starts} | here)

    def settle(self) -> None:
        """The run has saved something: what it replaces may go, and what it took so far is noted.

        A killed process notes nothing more.
        """
        if not is_first():
            return
        if self._old.exists():
            with self._lock.lifted():
                shutil.rmtree(self._old, ignore_errors=True)
        with suppress(OSError):  # no reason to end a training that has just saved
            self._write(self._record | self._time.so_far())

    def end(self, state: str, updates: int) -> None:
        """Note how it ended; a run that failed before it saved anything gives its place back to the one before."""
        if not is_first():
            return
        try:
            self._note_the_end(state, updates)
        finally:
            self._lock.let_go()

    def _note_the_end(self, state: str, updates: int) -> None:
        if state == "failed" and self._old.exists():
            self._mend()
            return
        ended = {"state": state, "finished": now(), **self._time.so_far(), "updates": updates}
        self._write(self._record | ended)

    def _mend(self) -> None:
        """Put things right after a process that ended between setting the old run aside and saving a new one."""
        if not self._old.exists():
            return
        with self._lock.lifted():
            if any(self.checkpoints.glob("*.ckpt")):
                shutil.rmtree(self._old)
            else:
                shutil.rmtree(self.path, ignore_errors=True)
                self._old.rename(self.path)

    def _write(self, record: dict[str, Any]) -> None:
        self._record = record
        write_json(self.path / RECORD, record)
