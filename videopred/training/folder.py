"""The folder of a run: made, gone on with, or put in the place of an older one."""

import os
import shutil
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from videopred import check
from videopred.checkpoint import RunConfig, folder_settings
from videopred.files import write_json
from videopred.own_code import code_record, say_changed_code
from videopred.run_files import LOCK, RECORD, SETTINGS, aside
from videopred.systems import replace, with_closing
from videopred.training.aside import bring_back, settle_place
from videopred.training.locking import FolderLock
from videopred.training.places import check_free, foreign_files, is_unbegun, require_run
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
        self._place, self._old = path.resolve(), aside(path)
        self._lock = FolderLock(path)
        self._record: dict[str, Any] = {}
        self._time = TimeSpent()

    def mend(self) -> None:
        """Bring back a run that was set aside by a process that ended before it saved anything.

        Raises:
            ValueError: another process trains there.
        """
        if is_first():
            bring_back(self.path)

    def whereabouts(self, run: Path) -> Path:
        """Where a run is that first weights are from: beside, if it is the one that is to be replaced."""
        return self._old if run.resolve() == self._place and self._old.exists() else run

    @property
    def replaces(self) -> str:
        """Where the run waits that is to be replaced, in words to put behind others; empty if there is none."""
        return f", and the run that it is to replace waits in {self._old}" if self._old.exists() else ""

    def begin(self, config: RunConfig, device: str, overwrite: bool) -> None:
        """Make the folder of a new run, with its settings; one that is empty is taken. If that fails, all is as before.

        Raises:
            FileExistsError: a run is there, and `overwrite` is false.
            ValueError: something else is there, or a run that another process trains, or one with other files in it.
            OSError: it cannot be made.
            UnicodeEncodeError: a name that it must tell is no text.
        """
        _check_text(self.path, config)
        if not is_first():
            return
        with ExitStack() as undo:
            undo.callback(self._lock.let_go)
            self._begin(config, device, overwrite, undo)
            undo.pop_all()

    def _begin(self, config: RunConfig, device: str, overwrite: bool, undo: ExitStack) -> None:
        """Do what `begin` says, and leave in `undo` how to take back each step."""
        self._lock.hold("--out", self._old)  # who sets a run aside holds it until there is a new one
        if self._old.exists():
            self._lock.hold("--out", self.path)  # which may be gone on with since
        settle_place(self.path, self._lock)
        check_free(self.path, overwrite)
        there = self._place.exists()
        if replaces := there and not is_unbegun(self.path):
            self.check_replaceable()
            self._lock.hold("--out", self.path)
        data = config.data.model_dump() if config.data else None
        record = provenance() | {"state": "running", "device": device, "data": data}  # while nothing is touched yet
        record |= code_record(config.own_code)
        try:
            if replaces:
                with self._lock.lifted():
                    replace(self._place, self._old)
                undo.callback(self._put_back)
            (self._place / "checkpoints").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            got, fix = f"{self.path} ({error.strerror})", with_closing("choose another place", error)
            raise OSError(check.complaint("--out", "be a folder that can be made", got, fix)) from error
        self._lock.hold("--out", self.path)
        check_free(self.path, overwrite=False)  # another process may have been faster, and have ended
        undo.callback(self._clear, there and not replaces)
        write_json(self.path / SETTINGS, config.model_dump(mode="json"))
        self._write(record)

    def check_replaceable(self) -> None:
        """Refuse to replace what is no run, and a run that holds something else, which would go with it.

        Raises:
            ValueError: such a folder is there.
        """
        if not self._place.exists() or is_unbegun(self.path):
            return
        require_run(self._is_run(), self.path)
        open_, fix = os.access(self._place, os.W_OK), "choose another --out, or allow to write into it"
        check.require(open_, "--out", "be a run that may be replaced", f"{self.path} (write-protected)", fix)
        foreign = foreign_files(self.path)
        named = f"{', '.join(foreign[:3])}{', …' if foreign[3:] else ''}"
        fix = "move that elsewhere, or choose another --out"
        must, got = "hold nothing but a run, as all in it would go", f"{self.path}, which holds {named}"
        check.require(not foreign, "--out", must, got, fix)

    def _is_run(self) -> bool:
        """Whether the folder has the settings of a run.

        Damaged ones count only beside a record, since other programs call theirs settings.json, too.
        """
        if not (self.path / SETTINGS).is_file():
            return False
        with suppress(check.FaultyFileError):
            folder_settings(self.path)
            return True
        return (self.path / RECORD).is_file()

    def _clear(self, keep: bool) -> None:
        """Take away what was begun; of a folder that was there before, keep it."""
        with self._lock.lifted(), suppress(OSError):
            for name in (SETTINGS, RECORD, LOCK):
                (self._place / name).unlink(missing_ok=True)
            self.checkpoints.rmdir()
            if not keep:
                self._place.rmdir()

    def _put_back(self) -> None:
        """Give the run that was set aside its place again, unless another process was faster there."""
        with self._lock.lifted(), suppress(OSError):
            replace(self._old, self._place)

    def take_up(self) -> None:
        """Hold a run that is gone on with.

        Raises:
            ValueError: another process trains it.
        """
        if is_first():
            self._lock.hold("--resume", self.path)

    def go_on(self, config: RunConfig, record: dict[str, Any], device: str, done: int) -> None:
        """Note in the settings and the record of a run how it is resumed, and after how many updates.

        A record that does not say when the run was started is kept under another name. The run then counts as started
        now: without a time, scores of any run of its name would pass for its own.

        Raises:
            UnicodeEncodeError: a name that it must tell is no text.
        """
        _check_text(self.path, config)
        if not is_first():
            return
        write_json(self.path / SETTINGS, config.model_dump(mode="json"))
        self._time.add(record)
        start = {"updates": done, **provenance()}
        if "started" not in record:
            record = {"started": start["started"], **record}
            self._set_record_aside()
        starts = [*record.get("resumed", []), start]
        record = {name: value for name, value in record.items() if name not in ("updates", "finished", "job")}  # past
        record |= {"data": config.data.model_dump()} if config.data else {}
        here = {name: start[name] for name in ("host", "process", "home", "job") if name in start}
        code = code_record(config.own_code)
        if done:
            say_changed_code(config.own_code, record, f"{self.path} learned")
        record = code | record if done else record | code  # that of the first updates stays
        self._write(record | {"state": "running", "device": device, "resumed": starts, "saved": done} | here)

    def _set_record_aside(self) -> None:
        """Keep a record that is of no use, and say what becomes of it."""
        path = self.path / RECORD
        kept, got = path.with_name(f"{RECORD}.damaged"), "is not there"
        if path.exists():
            replace(path, kept)
            got = f"is damaged, and kept as {kept.name}"
        result = "the run counts as started now, so earlier scores are not taken for its own"
        print(f"videopred: {path} {got}; {result}", file=sys.stderr)

    def settle(self, saved: int) -> None:
        """The run has saved something after so many updates: what it replaces may go, and what it took so far is noted.

        A killed process notes nothing more.
        """
        if not is_first():
            return
        if self._old.exists():
            with self._lock.lifted():
                shutil.rmtree(self._old, ignore_errors=True)
        with suppress(OSError):  # no reason to end a training that has just saved
            self._write(self._record | self._time.so_far() | {"saved": saved})

    def let_go(self) -> None:
        """Leave the run to others, as it is."""
        self._lock.let_go()

    def end(self, state: str, updates: int) -> None:
        """Note how it ended, and how many updates are saved; a run that failed before it saved anything gives its place
        back to the one before."""
        if not is_first():
            return
        try:
            self._note_the_end(state, updates)
        finally:
            self._lock.let_go()

    def _note_the_end(self, state: str, updates: int) -> None:
        if state == "failed" and self._old.exists():
            settle_place(self.path, self._lock)
            return
        ended = {"state": state, "finished": now(), **self._time.so_far(), "updates": updates}
        self._write({name: value for name, value in self._record.items() if name != "saved"} | ended)

    def _write(self, record: dict[str, Any]) -> None:
        self._record = record
        if (self.path / SETTINGS).exists():  # else the run was moved or deleted, and a record alone is none
            write_json(self.path / RECORD, record)


def _check_text(path: Path, config: RunConfig) -> None:
    """Raise UnicodeEncodeError for names that are no text: TensorBoard and the checkpoints, which tell them, fail."""
    for name in (path, config.data and config.data.path, config.init_from):
        str(name).encode()
