"""Clips for training, from any source, whole or in windows. With crops.py the only door of torch on this shelf."""

from collections.abc import Iterable
from numbers import Integral, Real
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from videopred import check
from videopred.amounts import counted
from videopred.datasets import open_dataset
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.file_layout import has_time
from videopred.frames import to_film

MEMORY_LIMIT = 2 * 2**30
"""Bytes up to which a part is held in memory; a larger one is read clip by clip."""
_CLIPS_AT_ONCE = 32  # read into memory in blocks, so that reading needs hardly more room than what is kept


class FilmDataset(Dataset[Tensor | dict[str, Tensor]]):
    """Clips `start` to `stop` of a part, or all windows of them.

    An item is (T, H, W, C) uint8, 0 to 255: a quarter of float32, until the model's device turns it into a film
    (`frames.to_film`). With a floating `dtype` it is that film, (T, C, H, W) in [0, 1]. With `truth` it is a dict:
    `frames` has what the item would be without it, and each name its truth in the same window; objects/… and labels/…
    have no time axis, and come whole. What is held in memory is shared with workers; an item is a copy of its own.

    Items are counted clip by clip, and window by window in each: a clip of T frames has (T - window) // stride + 1.

    Args:
        data: a data file, or clips of another source, such as a recipe.
        part: train, validation or test.
        start: first clip.
        stop: one beyond the last clip; all that there are when None.
        memory_limit: bytes up to which the clips are held in memory, with their truth; else they are read one by one.
        window: frames of an item; whole clips when None.
        stride: frames from the start of a window to the start of the next.
        stack: frames that each frame carries on its channel axis, the oldest first and itself last. Before the clip's
            beginning stands its first frame; a window looks back at the frames before it.
        dtype: uint8, or the floating type of films.
        truth: kinds of truth that come along, such as positions, groups, objects/mass.

    Raises:
        FileNotFoundError, ValueError: see `open_dataset`; there is no such part, clips or truth; a number is too small,
            or a window or stack longer than a clip.
        TypeError: `dtype` is neither uint8 nor floating.
    """

    def __init__(
        self,
        data: Path | str | ClipSource,
        part: str,
        start: int = 0,
        stop: int | None = None,
        memory_limit: int = MEMORY_LIMIT,
        *,
        window: int | None = None,
        stride: int = 1,
        stack: int = 1,
        dtype: torch.dtype = torch.uint8,
        truth: Iterable[str] = (),
    ) -> None:
        self.file = file = data if isinstance(data, ClipSource) else open_dataset(data)
        self.part, self.truth = part, check.as_names("truth", truth)
        stop = file.count(part) if stop is None else stop
        file.check_clips(part, start, stop)
        self.start, self.stop = index(start), index(stop)
        self.window = file.frames if window is None else window
        self.stride, self.stack, self.dtype = stride, stack, dtype
        self._check_options()
        self.windows_per_clip = (file.frames - self.window) // self.stride + 1
        known, fix = isinstance(memory_limit, Real), "0 holds nothing in memory"
        check.require_kind(known, "memory_limit", "be a number of bytes", repr(memory_limit), fix)
        size = (self.stop - self.start) * self._bytes_of_clip()
        self._held = self._read_all() if size <= memory_limit else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {counted(len(self), 'item')} of {self.part} in {self.file!r}>"

    @property
    def held(self) -> bool:
        """Whether all clips are in memory; else each is read when it is asked for."""
        return self._held is not None

    def __len__(self) -> int:
        return (self.stop - self.start) * self.windows_per_clip

    def __getitem__(self, item: int) -> Any:  # of both kinds, type checkers would allow neither's methods
        clip, first = self.address(item)
        begin, end = max(0, first + 1 - self.stack), first + self.window
        if self._held is not None:
            whole = {name: values[clip - self.start] for name, values in self._held.items()}
            frames = whole["frames"][begin:end]
        else:
            whole = {name: torch.from_numpy(values)[0] for name, values in self._read_truth(clip, clip + 1).items()}
            frames = torch.from_numpy(self.file.read_window(self.part, clip, begin, end))
        seen = self._seen(frames, first - begin)
        if not self.truth:
            return seen
        truth = {name: whole[name][first:end] if has_time(name) else whole[name] for name in self.truth}
        return {"frames": seen} | {name: values.clone() for name, values in truth.items()}

    def address(self, item: int) -> tuple[int, int]:
        """The clip of an item, counted from the beginning of the part, and the frame at which its window starts.

        Raises:
            IndexError: there is no such item. TypeError: it is no whole number.
        """
        fix = "take several with torch.utils.data.Subset"
        check.require_kind(isinstance(item, Integral), "item", "be a whole number", repr(item), fix)
        if not 0 <= item < len(self):
            raise IndexError(f"item must be between 0 and {len(self) - 1}, got {item}")
        clip, number = divmod(int(item), self.windows_per_clip)
        return self.start + clip, number * self.stride

    def _seen(self, frames: Tensor, first: int) -> Tensor:
        """What an item shows, given frames (T, H, W, C), of which `first` is the first of its window."""
        seen = frames[first : first + self.window]
        if self.stack > 1:
            back = torch.arange(1 - self.stack, 1, device=frames.device)
            at = torch.arange(first, first + self.window, device=frames.device)
            sources = (at[:, None] + back).clamp(min=0)
            seen = frames[sources].movedim(1, -2).flatten(-2)  # (window, H, W, stack C)
        if self.dtype != torch.uint8:
            return to_film(seen, self.dtype)
        return seen if self.stack > 1 else seen.clone()

    def _read_truth(self, start: int, stop: int) -> dict[str, np.ndarray]:
        return {name: self.file.read(self.part, name, start, stop) for name in self.truth}

    def _bytes_of_clip(self) -> int:
        """Bytes that one clip takes, with its truth."""
        file, size = self.file, 0
        for name in self.truth:
            values = file.read(self.part, name, self.start, self.start + 1)
            fix = "leave it out, and ask the source for it"
            fits = values.dtype.kind in "biuf" and values.dtype.itemsize <= 8  # torch has no longer ones
            check.require(fits, "truth", "be numbers of at most 64 bits", f"{name}, {values.dtype}", fix)
            size += values.nbytes
        return size + file.bytes_per_clip

    def _read_all(self) -> dict[str, Tensor]:
        held: dict[str, Tensor] = {}
        at_once = self.file.at_once(_CLIPS_AT_ONCE)
        for start in range(self.start, self.stop, at_once):
            stop = min(start + at_once, self.stop)
            read = {"frames": self.file.read_frames(self.part, start, stop)} | self._read_truth(start, stop)
            for name, values in read.items():
                block = torch.from_numpy(values)
                if name not in held:
                    held[name] = block.new_empty((self.stop - self.start, *block.shape[1:]))
                held[name][start - self.start : stop - self.start] = block
        return held

    def _check_options(self) -> None:
        frames = self.file.frames
        self.window = check.whole_number("window", self.window, 1, "give at least one frame")
        must, fix = f"be at most {frames}, the frames of a clip", "choose a shorter one"
        check.require(self.window <= frames, "window", must, self.window, fix)
        self.stride = check.whole_number("stride", self.stride, 1, "give at least one frame")
        self.stack = check.whole_number("stack", self.stack, 1, "1 is the frame alone")
        check.require(self.stack <= frames, "stack", must, self.stack, "choose a smaller one")
        known = self.dtype == torch.uint8 or (isinstance(self.dtype, torch.dtype) and self.dtype.is_floating_point)
        fix = "choose torch.uint8 for frames, torch.float32 for films"
        check.require_kind(known, "dtype", "be torch.uint8 or floating", repr(self.dtype), fix)
        for name in self.truth:
            check.one_of("truth", name, self.file.truth)
