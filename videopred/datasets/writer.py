"""Writes data files: HDF5 as file_layout.py lays it out. One of the three doors of h5py.

Everything is gzipped, and its checksum finds flipped bits; one chunk holds one clip's pixels, or some frames of a long
clip's, or small things of several clips. Equal records give equal bytes, on any day, however they were cut into pieces.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from videopred import check
from videopred.datasets.clip import PARTS
from videopred.datasets.file_layout import CONTACTS, FORMAT, Record, has_time
from videopred.datasets.piece import (
    Forms,
    Piece,
    clips_at_once,
    clips_per_chunk,
    frames_per_chunk,
    make_pieces,
    pack,
    require_forms,
)
from videopred.datasets.unfailing_file import UnfailingFile
from videopred.files import whole_file
from videopred.interrupt import HeldInterrupt
from videopred.software import SOFTWARE

_ROWS_PER_CHUNK = 4096  # of a table: few enough to read one clip's quickly
_GZIP = {"compression": "gzip", "compression_opts": 1, "track_times": False}


class _Frames:
    """A data set (T, N, ...), whose chunks come compressed."""

    def __init__(self, group: h5py.Group, name: str, form: np.ndarray, count: int) -> None:
        frames, *rest = form.shape[1:]
        self._clips, self._next = clips_per_chunk(name, form, count), 0
        at_once = frames_per_chunk(name, form)
        self._times = range(0, frames, at_once)
        chunk, self._rest = (at_once, self._clips, *rest), [0] * len(rest)
        self._data = group.create_dataset(name, (frames, count, *rest), form.dtype, chunks=chunk, **_GZIP)

    def add(self, chunks: list[bytes]) -> None:
        times = len(self._times)
        for place, chunk in enumerate(chunks):
            clips = self._next + place // times * self._clips
            self._data.id.write_direct_chunk((self._times[place % times], clips, *self._rest), chunk)
        self._next += len(chunks) // times * self._clips

    def chunks_of(self, start: int, stop: int) -> slice:
        """Where in a piece the chunks of its clips from `start` up to `stop` are."""
        times = len(self._times)
        return slice(start // self._clips * times, -(-stop // self._clips) * times)


class _Table:
    """A data set (rows, ...), written chunk by chunk as its rows come together; it grows if their number is unknown.

    Args:
        group: where it is made.
        name: what it is called there.
        form: dtype and shape of the rows; rows that it holds already are written first.
        count: how many rows there will be; None if that is unknown.
    """

    def __init__(self, group: h5py.Group, name: str, form: np.ndarray, count: int | None) -> None:
        self._rows = _ROWS_PER_CHUNK if count is None else min(_ROWS_PER_CHUNK, count)
        self._name, self._held, self._next, self._grows = name, [form], 0, count is None
        most = (None, *form.shape[1:]) if count is None else None
        shape, chunk = (count or 0, *form.shape[1:]), (self._rows, *form.shape[1:])
        self._data = group.create_dataset(name, shape, form.dtype, maxshape=most, chunks=chunk, **_GZIP)

    def add(self, rows: np.ndarray) -> None:
        self._held.append(rows)
        if sum(map(len, self._held)) >= self._rows:
            rows = np.concatenate(self._held)
            while len(rows) >= self._rows:
                self._write(rows[: self._rows])
                rows = rows[self._rows :]
            self._held = [rows]

    def close(self) -> None:
        """Write the last rows."""
        rows = np.concatenate(self._held)
        if len(rows):
            self._write(rows)

    def _write(self, rows: np.ndarray) -> None:
        if self._grows:
            self._data.resize(self._next + len(rows), axis=0)
        whole = np.zeros((self._rows, *rows.shape[1:]), rows.dtype)
        whole[: len(rows)] = rows
        self._data.id.write_direct_chunk((self._next, *[0] * (rows.ndim - 1)), pack(self._name, whole))
        self._next += len(rows)


class _Part:
    """A part of a file: all its data sets, filled clip by clip."""

    def __init__(self, group: h5py.Group, forms: Mapping[str, np.ndarray], count: int) -> None:
        self._frames = {name: _Frames(group, name, form, count) for name, form in forms.items() if has_time(name)}
        self._tables = {
            name: _Table(group, name, form, None if name == CONTACTS else count)
            for name, form in forms.items()
            if not has_time(name)
        }
        first = np.zeros(1, np.int64)  # the first clip's contacts begin at 0
        self._offsets = _Table(group, "contact_offsets", first, count + 1) if CONTACTS in forms else None
        self._contacts = 0

    def add(self, piece: Piece, start: int, stop: int) -> None:
        """Write the clips of a piece from `start` up to `stop`."""
        for name, frames in self._frames.items():
            frames.add(piece.chunks[name][frames.chunks_of(start, stop)])
        ends = np.cumsum([0, *piece.contact_counts])
        for name, table in self._tables.items():
            rows = slice(ends[start], ends[stop]) if name == CONTACTS else slice(start, stop)
            table.add(piece.tables[name][rows])
        if self._offsets:
            self._offsets.add(self._contacts + ends[start + 1 : stop + 1] - ends[start])
            self._contacts += ends[stop] - ends[start]

    def close(self) -> None:
        """Write what is left."""
        for table in (*self._tables.values(), *filter(None, [self._offsets])):
            table.close()


class FileWriter:
    """Writes the parts of a data file, one after the other. Made by `new_file`."""

    def __init__(self, file: h5py.File, disk: UnfailingFile) -> None:
        self._file, self._disk = file, disk

    def write_part(self, part: str, records: Iterable[Record], count: int) -> None:
        """Write the `count` clips of a part as they come.

        Args:
            part: train, validation or test.
            records: one of each clip; all with the same names, dtypes and, `contacts` apart, shapes.
            count: how many they are.

        Raises:
            ValueError: a record is unlike the first, or there are more or fewer than `count`.
            OSError: the disk is full or fails.
            KeyboardInterrupt: somebody pressed Ctrl-C.
        """
        self.write_pieces(part, make_pieces(records, part, count), count)

    def write_pieces(self, part: str, pieces: Iterable[Piece], count: int) -> None:
        """Write the `count` clips of a part, given as the pieces that they make up, in order.

        Raises: as `write_part`.
        """
        done, step, columns = 0, 1, None
        forms: Forms = {}
        for piece in pieces:
            if columns is None:
                forms, step = piece.forms, clips_at_once(piece.forms, count)
                with self._undisturbed():
                    columns = _Part(self._file.create_group(PARTS[part]), forms, count)
            require_forms(piece.forms, forms, f"clip {done} of {part}")
            done += piece.clips
            check.require(done <= count, "clips", f"be {count}", "more", "ask for as many as there are")
            for start in range(0, piece.clips, step):  # the same few at a time, so that equal clips are equal bytes
                with self._undisturbed():
                    columns.add(piece, start, min(start + step, piece.clips))
        check.require(done == count, "clips", f"be {count}", done, "ask for as many as there are")
        if columns is not None:
            with self._undisturbed():
                columns.close()

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Within it HDF5 works to the end; what happened meanwhile is raised then."""
        # An interrupt inside HDF5's calls back to our file would make it write for ever.
        with HeldInterrupt() as held:
            yield
        held.stop_if_asked()
        if self._disk.failure:
            raise self._disk.failure


@contextmanager
def new_file(path: Path, attributes: Mapping[str, Any]) -> Iterator[FileWriter]:
    """A writer for a file that appears under its name only when it is complete.

    Args:
        path: the file to make, or to replace.
        attributes: what the file says of itself, beside its format: at least its `name`.

    Raises:
        OSError: the folder cannot be written to, or the disk is full.
        KeyboardInterrupt: somebody pressed Ctrl-C.
    """
    with whole_file(path, "--out") as partial, UnfailingFile(partial) as disk:
        with HeldInterrupt() as held:
            # In the layout of HDF5 1.8, in which what is said of arrays has checksums, too, beside their values.
            file = h5py.File(disk, "w", libver=("v108", "v108"))
        try:
            file.attrs.update({"format": FORMAT, "axes": "TNHWC", "software": SOFTWARE, **attributes})
            held.stop_if_asked()
            yield FileWriter(file, disk)
        finally:
            with HeldInterrupt() as held:
                file.close()
        held.stop_if_asked()
        if disk.failure:
            raise disk.failure
        os.fsync(disk.fileno())  # some disks tell only now that they are full
