"""Pieces of a data file: all that it holds of some consecutive clips, compressed. Made anywhere, in any order.

The chunks of a piece are those of the file, byte by byte, so that whoever puts a file together only copies them.
"""

import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from zlib_ng import zlib_ng

from videopred import check
from videopred.datasets.file_layout import CONTACTS, Record, has_time
from videopred.systems import replace

STEP = 16
"""Clips that are packed at a time and, where they take little, share a chunk; pieces then begin at multiples of it."""

Forms = Mapping[str, np.ndarray]
"""Name in the file -> an array (0, ...) with the dtype of its values and the shape of one clip's."""

_PIXELS = ("features", "groups", "collisions")  # one clip a chunk, so that reading a clip unpacks no other
_LONG, _LARGE = 2**21, 2**18  # bytes of a clip from which on it is in several chunks, and of each of these
_CHECKSUM = 4  # bytes of the checksum that a saved piece begins with
_MOST_MEMORY = 9  # of 1 to 9, that zlib may use
_SMALL = 2**13  # bytes of a clip; what takes less shares chunks, or there would be more index than data


@dataclass(frozen=True)
class Piece:
    """What a data file holds of some consecutive clips of a part."""

    clips: int
    """How many clips these are."""
    forms: Forms
    """What is the same in every clip of the part."""
    chunks: Mapping[str, list[bytes]]
    """Names with time -> their chunks, compressed, in the order of clips, and of frames in each."""
    tables: Mapping[str, np.ndarray]
    """Names without time -> (clips, ...), and the contacts of all clips (E,)."""
    contact_counts: np.ndarray
    """(clips,) int64: how many of the contacts are each clip's; empty if there is no such table."""

    def save(self, path: Path) -> None:
        """Write the piece to a file, a checksum and an .npz file in one, which appears under its name whole."""
        arrays: dict[str, Any] = {f"form:{name}": form for name, form in self.forms.items()}
        for name, chunks in self.chunks.items():
            arrays[f"sizes:{name}"] = np.array([len(chunk) for chunk in chunks])
            arrays[f"chunks:{name}"] = np.frombuffer(b"".join(chunks), np.uint8)
        arrays |= {f"rows:{name}": rows for name, rows in self.tables.items()}
        content = io.BytesIO()
        np.savez(content, clips=self.clips, contact_counts=self.contact_counts, **arrays)
        # `whole_file` would look through the folder, where more and more pieces stand, for what dead processes left.
        # Here that goes away with the folder.
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        with partial.open("wb") as file:
            file.write(_checksum(content.getbuffer()))
            file.write(content.getbuffer())
        replace(partial, path)


def load_piece(path: Path) -> Piece | None:
    """The piece in a file; None if nothing is there, or not the whole and undamaged piece."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, content = content[:_CHECKSUM], content[_CHECKSUM:]
    if not content or _checksum(content) != checksum:
        return None
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    forms = {name.removeprefix("form:"): form for name, form in arrays.items() if name.startswith("form:")}
    chunks: dict[str, list[bytes]] = {}
    for name in filter(has_time, forms):
        joined, ends = arrays[f"chunks:{name}"].tobytes(), np.cumsum([0, *arrays[f"sizes:{name}"]])
        chunks[name] = [joined[start:end] for start, end in pairwise(ends)]
    tables = {name: arrays[f"rows:{name}"] for name in forms if not has_time(name)}
    return Piece(int(arrays["clips"]), forms, chunks, tables, arrays["contact_counts"])


def _checksum(content: bytes | memoryview) -> bytes:
    return zlib_ng.crc32(content).to_bytes(_CHECKSUM)


def make_pieces(records: Iterable[Record], part: str, count: int) -> Iterator[Piece]:
    """The pieces of all records of a part, made as they come: of a single clip where it is long and shares no chunk.

    So of long films of others hardly more than one is held in memory.
    """
    queue, start = iter(records), 0
    for record in queue:
        others = islice(queue, clips_at_once(_forms(record), count) - 1)
        piece = make_piece(chain([record], others), part, start, count)
        start += piece.clips
        yield piece


def make_piece(records: Iterable[Record], part: str, start: int, count: int) -> Piece:
    """The piece of some records.

    Args:
        records: of consecutive clips, all with the same names, dtypes and, `contacts` apart, shapes.
        part: train, validation or test.
        start: which clip of the file's part is the first.
        count: clips of the file's part in all.

    Raises:
        ValueError: a record is unlike the first.
    """
    clips = 0
    forms: Forms = {}
    first: list[tuple[Any, ...]] = []
    sizes: dict[str, int] = {}  # names with time -> clips of a chunk
    chunks: dict[str, list[bytes]] = {}
    held: dict[str, list[np.ndarray]] = {}
    for record in records:
        if not forms:
            forms, first = _forms(record), _kinds(record)
            held = {name: [] for name in forms}
            sizes = {name: clips_per_chunk(name, form, count) for name, form in forms.items() if has_time(name)}
            chunks = {name: [] for name in sizes}
        if _kinds(record) != first:
            require_forms(_forms(record), forms, f"clip {start + clips} of {part}")
        clips += 1
        for name, values in record.items():
            held[name].append(values)
            if len(held[name]) == sizes.get(name):  # at once: pixels that were just drawn are still in the cache
                chunks[name] += _chunks(name, held[name], sizes[name], forms[name])
                held[name] = []
    for name in filter(held.get, chunks):
        chunks[name] += _chunks(name, held[name], sizes[name], forms[name])
    tables = {
        name: np.concatenate(rows) if name == CONTACTS else np.stack(rows)
        for name, rows in held.items()
        if name not in chunks
    }
    return Piece(clips, forms, chunks, tables, np.array([len(own) for own in held.get(CONTACTS, [])], np.int64))


def clips_at_once(forms: Forms, count: int) -> int:
    """How many clips are packed and written together: one where it is long and shares no chunk, else STEP.

    Args:
        forms: as in `Piece.forms`.
        count: clips of the file's part in all.
    """
    shares = any(clips_per_chunk(name, form, count) > 1 for name, form in forms.items() if has_time(name))
    frames = forms["features"]
    return STEP if shares or math.prod(frames.shape[1:]) * frames.itemsize <= _LONG else 1


def clips_per_chunk(name: str, form: np.ndarray, count: int) -> int:
    """How many clips share a chunk of what stands under a name with time.

    Args:
        name: in the file.
        form: as in `Piece.forms`.
        count: clips of the file's part in all.
    """
    bytes_per_clip = math.prod(form.shape[1:]) * form.itemsize
    return 1 if name in _PIXELS or bytes_per_clip > _SMALL else min(STEP, count)


def frames_per_chunk(name: str, form: np.ndarray) -> int:
    """How many frames of a clip share a chunk of what stands under a name with time: all, unless they take much.

    A long film is cut, so that reading a few of its frames does not unpack them all.

    Args:
        name: in the file.
        form: as in `Piece.forms`.
    """
    frames, *rest = form.shape[1:]
    bytes_per_frame = math.prod(rest) * form.itemsize
    is_long = name in _PIXELS and frames * bytes_per_frame > _LONG
    return max(1, _LARGE // bytes_per_frame) if is_long else frames


def _kinds(record: Record) -> list[tuple[Any, ...]]:
    """What `_forms` tells of a record, in its order: quick to make and to compare."""
    return [(name, values.dtype, _shape(name, values)) for name, values in record.items()]


def _forms(record: Record) -> Forms:
    return {name: np.empty((0, *_shape(name, values)), values.dtype) for name, values in record.items()}


def _shape(name: str, values: np.ndarray) -> tuple[int, ...]:
    """What is the same in every clip of the shape of what stands under a name: not the number of its contacts."""
    return values.shape[1:] if name == CONTACTS else values.shape


def require_forms(got: Forms, expected: Forms, clip: str) -> None:
    """Raise ValueError unless a clip holds the same names, dtypes and shapes as the first."""
    mine, theirs = ({name: (form.dtype, form.shape) for name, form in forms.items()} for forms in (got, expected))
    if mine != theirs:
        odd = next(name for name in [*got, *expected] if mine.get(name) != theirs.get(name))
        must = f"hold what the first does, {_told(odd, expected)}"
        raise ValueError(check.complaint(clip, must, _told(odd, got), "give clips of one kind"))


def _told(name: str, forms: Forms) -> str:
    return f"{name} as {forms[name].dtype} {forms[name].shape[1:]}" if name in forms else f"no {name}"


def _chunks(name: str, arrays: list[np.ndarray], clips: int, form: np.ndarray) -> Iterator[bytes]:
    """The chunks of `clips` clips that begin with these arrays (T, ...), one of each clip; the last are filled up."""
    whole = arrays[0]
    if clips > 1:
        whole = np.zeros((len(arrays[0]), clips, *arrays[0].shape[1:]), arrays[0].dtype)
        np.stack(arrays, axis=1, out=whole[:, : len(arrays)])
    frames = frames_per_chunk(name, form)
    for start in range(0, len(whole), frames):
        some = whole[start : start + frames]
        if len(some) < frames:
            some = np.concatenate([some, np.zeros_like(some, shape=(frames - len(some), *some.shape[1:]))])
        yield pack(name, some)


def pack(name: str, values: np.ndarray) -> bytes:
    """The bytes of a chunk of what stands under a name, as HDF5's gzip filter may have written them.

    Masks, and frames of on and off, are runs of equal pixels: to look for nothing else is faster and smaller than level
    2 of zlib-ng. That serves grey levels and colors, twice as fast as level 1 of zlib, and smaller; numbers take so
    little that level 1 will do. (ISA-L is faster still, but once in some thousand times the same values become other
    bytes.)
    """
    content = np.ascontiguousarray(values).data
    if name not in _PIXELS:
        return zlib_ng.compress(content, 1)
    if name == "features" and values.dtype != bool:
        return zlib_ng.compress(content, 2)
    packer = zlib_ng.compressobj(1, zlib_ng.DEFLATED, zlib_ng.MAX_WBITS, _MOST_MEMORY, zlib_ng.Z_RLE)
    return packer.compress(content) + packer.flush()
