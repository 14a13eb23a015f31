"""What every set of clips can do, wherever it comes from: a file, a folder of shards, or a recipe."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from videopred import check
from videopred.amounts import parts_told
from videopred.datasets.clip import Clip
from videopred.datasets.settings import DatasetSettings

_BYTES_AT_ONCE = 2**27


class ClipSource(ABC):
    """Clips of one shape, in parts. May be sent to worker processes, by fork or by pickle.

    Attributes:
        path: where it is; for clips made from a recipe, the name they would be written under.
        name: what the data set is called.
        recipe: what made it; None if it is not ours.
        seed: seed of the data set; None if it is not ours.
        context, horizon: frames that are usually given and then imagined.
        parts: train, validation, test -> number of clips; those that are there.
        frames, height, width, channels: T, H, W and C of every clip.
        binary: whether pixels are only on or off.
        truth: names that `read` knows, such as positions, groups, objects/mass or labels/possible.
        places_known: whether positions, if there are any, lie where groups show the objects.
        imported: what `videopred import` found out about the films; empty if it did not make the file.
        remarks: what is odd about what is there, and what was made of it; a word -> a sentence.
    """

    path: Path
    name: str
    recipe: DatasetSettings | None
    seed: int | None
    context: int
    horizon: int
    parts: dict[str, int]
    frames: int
    height: int
    width: int
    channels: int
    binary: bool
    truth: tuple[str, ...]
    places_known: bool = True
    imported: Mapping[str, Any] = MappingProxyType({})
    remarks: Mapping[str, str] = MappingProxyType({})

    def __repr__(self) -> str:
        frames = f"{self.frames} frames of {self.height} x {self.width} px, {self.pixel_values()}"
        return f"<{type(self).__name__} {self.path}: {parts_told(self.parts)} clips of {frames}>"

    @abstractmethod
    def read_frames(self, part: str, start: int, stop: int) -> np.ndarray:
        """Frames of the clips from `start` up to `stop`.

        Returns:
            (B, T, H, W, C) uint8, 0 to 255.

        Raises:
            ValueError: no such part or clips, or they cannot be read.
        """

    def read_window(self, part: str, clip: int, start: int, stop: int) -> np.ndarray:
        """Frames of one clip from `start` up to `stop`; sources that can do so read no others.

        Returns:
            (T, H, W, C) uint8, 0 to 255.

        Raises:
            ValueError: no such part, clip or frames, or they cannot be read.
        """
        clip = self.check_clip(part, clip)
        self.check_window(start, stop)
        return self.read_frames(part, clip, clip + 1)[0, start:stop]

    @abstractmethod
    def read(self, part: str, name: str, start: int, stop: int) -> np.ndarray:
        """One kind of truth about the clips from `start` up to `stop`, and nothing else of them.

        Args:
            name: one of `truth`; names and types are those of the layout in file_layout.py.

        Returns:
            (B, T, ...) for what changes with time, (B, ...) for objects/… and labels/…; groups and collisions are
            (B, T, H, W), events (B, T).

        Raises:
            ValueError: no such part, clips or name, or they cannot be read.
        """

    @abstractmethod
    def clip(self, part: str, index: int) -> Clip:
        """A clip with its truth.

        Raises:
            ValueError: no such part or clip, it cannot be read, or its truth is not known.
        """

    def count(self, part: str) -> int:
        """Number of clips in a part.

        Raises:
            ValueError: there is no such part; the message lists those there are.
        """
        return self.parts[check.one_of("--part", part, self.parts)]

    @property
    def film_shape(self) -> tuple[int, int, int]:
        """C, H and W of every clip as a film."""
        return self.channels, self.height, self.width

    @property
    def part_to_judge(self) -> str:
        """The part to judge a model on: test if it has clips, else validation, else train."""
        return next((part for part in ("test", "validation") if self.parts.get(part)), "train")

    @property
    def bytes_per_clip(self) -> int:
        """What the frames of a clip take in memory."""
        return self.frames * self.height * self.width * self.channels

    def at_once(self, most: int) -> int:
        """How many clips to read at a time: `most`, or fewer of large ones, one at least."""
        return max(1, min(most, _BYTES_AT_ONCE // self.bytes_per_clip))

    def check_clips(self, part: str, start: int, stop: int) -> None:
        """Raise unless `start` and `stop` are whole numbers (TypeError) and the clips between there (ValueError)."""
        _require_whole_numbers("clips", start, stop)
        count = self.count(part)
        must = f"be at least one, between 0 and {count} (the clips of {part} in {self.path})"
        check.require(0 <= start < stop <= count, "clips", must, f"{start} to {stop}", "ask for those that are there")

    def check_clip(self, part: str, clip: int) -> int:
        """Return the number of a clip, as Python's; raise as `check_clips` does unless it is there."""
        _require_whole_numbers("clips", clip)
        self.check_clips(part, int(clip), int(clip) + 1)
        return int(clip)

    def check_window(self, start: int, stop: int) -> None:
        """Raise unless `start` and `stop` are whole numbers (TypeError) and the frames in a clip (ValueError)."""
        _require_whole_numbers("frames", start, stop)
        must = f"be at least one, between 0 and {self.frames} (the frames of a clip in {self.path})"
        there = 0 <= start < stop <= self.frames
        check.require(there, "frames", must, f"{start} to {stop}", "ask for those that are there")

    def check_rollout(self, context: int, horizon: int) -> None:
        """Check that a rollout fits into the clips.

        Raises:
            ValueError: context or horizon is below 1, or together they are longer than a clip.
            TypeError: one is no whole number.
        """
        context = check.whole_number("--context", context, 1, "give at least one frame to start from")
        horizon = check.whole_number("--horizon", horizon, 1, "ask for at least one frame")
        lower = "both"
        if context < self.frames:
            lower = f"--horizon to {self.frames - context}"
        elif horizon < self.frames:
            lower = f"--context to {self.frames - horizon}"
        longer = "give longer films" if self.recipe is None else "generate longer clips with --frames"
        must, got = f"be at most {self.frames}, the frames of a clip", f"{context} + {horizon} = {context + horizon}"
        fits = context + horizon <= self.frames
        check.require(fits, "--context plus --horizon", must, got, f"lower {lower}, or {longer}")

    def pixel_values(self) -> str:
        """What pixels may be, in words."""
        return "binary" if self.binary else "grey levels" if self.channels == 1 else "colors"

    def files(self) -> list[Path]:
        """The files that hold the clips."""
        return [self.path]

    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, that differs when a clip does: of values, or of what they are made from."""

    def close(self) -> None:  # noqa: B027 - most sources have nothing to let go of
        """Let go of files; the next use opens them again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _require_whole_numbers(what: str, *numbers: object) -> None:
    for one in numbers:  # of NumPy, too
        whole = hasattr(one, "__index__") and not isinstance(one, bool)
        check.require_kind(whole, what, "be whole numbers", repr(one), "count them from 0")
