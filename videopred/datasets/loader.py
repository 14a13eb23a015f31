"""Clips for training: uint8 films from a data file. The only door of torch on this shelf."""

from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import Dataset

from videopred.datasets.opening import open_dataset

MEMORY_LIMIT = 2 * 2**30
"""Bytes up to which a part is held in memory; a larger one is read clip by clip."""


class FilmDataset(Dataset[Tensor]):
    """Clips `start` to `stop` of a part; item i is (T, H, W, C) uint8, 0 to 255.

    Items stay uint8, a quarter of float32, until the model's device turns them into films (`frames.to_film`).
    What is held in memory is shared with workers, not copied.

    Args:
        path: a data file.
        part: train, validation or test.
        start: first clip.
        stop: one beyond the last clip; all that there are when None.
        memory_limit: bytes up to which the clips are held in memory.

    Raises:
        FileNotFoundError, ValueError: see `open_dataset`; there is no such part, or no such clips.
    """

    def __init__(
        self, path: Path | str, part: str, start: int = 0, stop: int | None = None, memory_limit: int = MEMORY_LIMIT
    ) -> None:
        self.file = open_dataset(path)
        self._part, self._start = part, start
        stop = self.file.count(part) if stop is None else stop
        self.file.check_clips(part, start, stop)
        self._length = stop - start
        file = self.file
        size = self._length * file.frames * file.height * file.width * file.channels
        self._held = torch.from_numpy(file.read_frames(part, start, stop)) if size <= memory_limit else None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, item: int) -> Tensor:
        if not 0 <= item < self._length:
            raise IndexError(f"clip must be between 0 and {self._length - 1}, got {item}")
        if self._held is not None:
            return self._held[item]
        clip = self._start + item
        return torch.from_numpy(self.file.read_frames(self._part, clip, clip + 1)[0])
