"""A file whose writes always succeed; whether the disk failed is asked afterwards.

HDF5 cannot give up a file: once a write has failed it tries again at every close, fills the screen with complaints
and at exit brings the process down.
"""

import io
from pathlib import Path
from typing import Any


class UnfailingFile(io.FileIO):
    """A new binary file, for reading and writing. After its first failure, what is written stays in memory.

    Attributes:
        failure: the first error of the disk, or None; whoever writes a lot looks here now and then.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self.failure: OSError | None = None
        self._held: list[tuple[int, bytes]] = []

    def write(self, data: Any) -> int:
        """Write all of `data` at the current place, or keep it; return its length."""
        rest, start = memoryview(data).cast("B"), self.tell()
        size = len(rest)
        while self.failure is None and rest:
            try:
                rest = rest[super().write(rest) :]
            except OSError as error:
                self.failure = error
        if self.failure is not None:
            self._held.append((start, bytes(data)))
            self.seek(start + size)
        return size

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the current place, as if nothing had failed; beyond the end lie zeros."""
        start, view = self.tell(), memoryview(buffer).cast("B")
        count = super().readinto(view) or 0
        view[count:] = bytes(len(view) - count)
        for at, data in self._held:
            low, high = max(start, at), min(start + len(view), at + len(data))
            if low < high:
                view[low - start : high - start] = data[low - at : high - at]
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Set the file's length, or keep the failure to do so."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return self.tell() if size is None else size
