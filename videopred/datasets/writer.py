"""Writes data files: HDF5, as `record` lays them out. One of the two doors of h5py.

One chunk holds one clip, gzipped and checksummed. Equal records give equal bytes, on any day.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from videopred import check
from videopred.datasets.clip import PARTS
from videopred.datasets.patient_file import PatientFile
from videopred.datasets.record import CONTACTS, FORMAT, Record, has_time
from videopred.datasets.settings import DatasetSettings, dump_recipe
from videopred.files import whole_file
from videopred.interrupt import HeldInterrupt

_CLIPS_AT_ONCE = 16  # what fits in cache: drawing 500 at a time takes four times as long per clip
_FILTERS = {"compression": "gzip", "compression_opts": 1, "fletcher32": True}


class FileWriter:
    """Writes the parts of a data file, one after the other. Made by `new_file`."""

    def __init__(self, file: h5py.File, disk: PatientFile, held: HeldInterrupt) -> None:
        self._file, self._disk, self._held = file, disk, held

    def write_part(self, part: str, records: Iterable[Record], count: int) -> None:
        """Write the `count` clips of a part, block by block as they come.

        Args:
            part: train, validation or test.
            records: one of each clip; all with the same names, dtypes and, `contacts` apart, shapes.
            count: how many they are.

        Raises:
            ValueError: a record is unlike the first, or there are more or fewer than `count`.
            OSError: the disk is full or fails.
            KeyboardInterrupt: somebody pressed Ctrl-C.
        """
        group, queue, start = self._file.create_group(PARTS[part]), iter(records), 0
        tables: dict[str, list[np.ndarray]] = defaultdict(list)
        form: dict[str, Any] = {}
        while block := list(islice(queue, _CLIPS_AT_ONCE)):
            self._held.stop_if_asked()
            form = form or _form(block[0])
            for at, record in enumerate(block, start=start):
                got, fix = _form(record), "give clips of one shape and kind"
                check.require(got == form, f"clip {at} of {part}", f"hold what the first does, {form}", got, fix)
            check.require(start + len(block) <= count, "clips", f"be {count}", "more", "ask for as many as there are")
            for name in form:
                rows = [record[name] for record in block]
                if has_time(name):
                    _write_frames(group, name, np.stack(rows, axis=1), start, count)
                else:
                    tables[name] += rows
            start += len(block)
            if self._disk.failure:
                raise self._disk.failure
        check.require(start == count, "clips", f"be {count}", start, "ask for as many as there are")
        for name, rows in tables.items():
            if name == CONTACTS:
                _write_table(group, name, np.concatenate(rows))
                _write_table(group, "contact_offsets", np.cumsum([0, *map(len, rows)]))
            else:
                _write_table(group, name, np.stack(rows))


def _form(record: Record) -> dict[str, Any]:
    """What records of one part have in common: name -> dtype and shape."""
    return {name: f"{values.dtype} {values.shape[name == CONTACTS :]}" for name, values in record.items()}


def _write_frames(group: h5py.Group, name: str, rows: np.ndarray, start: int, count: int) -> None:
    """Write what a block of clips has by frame, (T, clips, ...), at clip `start` of `count`."""
    if name not in group:
        frames, _, *rest = rows.shape
        shape, chunk = (frames, count, *rest), (frames, 1, *rest)
        group.create_dataset(name, shape, rows.dtype, chunks=chunk, track_times=False, **_FILTERS)
    group[name][:, start : start + rows.shape[1]] = rows


def _write_table(group: h5py.Group, name: str, rows: np.ndarray) -> None:
    """Write a small array as a whole; HDF5 allows no filters on an empty one."""
    filters = {"chunks": rows.shape, **_FILTERS} if len(rows) else {}
    group.create_dataset(name, data=rows, track_times=False, **filters)


@contextmanager
def new_file(path: Path, attributes: Mapping[str, Any]) -> Iterator[FileWriter]:
    """A writer for a file that appears under its name only when it is complete.

    Args:
        path: the file to make, or to replace.
        attributes: what the file says of itself, beside its format: at least its `name`.

    Raises:
        OSError: the folder cannot be written to, or the disk is full.
        KeyboardInterrupt: somebody pressed Ctrl-C; raised between two blocks of clips.
    """
    # An interrupt inside HDF5's calls back to our file would make it write for ever, so it waits for the block's end.
    with HeldInterrupt() as held, whole_file(path) as partial, PatientFile(partial) as disk:
        with h5py.File(disk, "w") as file:
            file.attrs.update(
                {"format": FORMAT, "axes": "TNHWC", "software": f"videopred {version('videopred')}", **attributes}
            )
            yield FileWriter(file, disk, held)
        held.stop_if_asked()
        if disk.failure:
            raise disk.failure
        os.fsync(disk.fileno())  # some disks tell only now that they are full


def attributes_of(name: str, recipe: DatasetSettings, seed: int) -> dict[str, Any]:
    """What a file of our own clips says of itself; no date, so that equal clips are equal bytes.

    Args:
        name: what the data set is called.
        recipe: what its clips were made by.
        seed: seed of the whole data set.
    """
    return {
        "name": name,
        "units": "px, frames; x right, y down, centre of the top left pixel at (0.5, 0.5)",
        "recipe": dump_recipe(recipe),
        "seed": np.uint64(seed),
        "context": recipe.context,
        "horizon": recipe.horizon,
    }
