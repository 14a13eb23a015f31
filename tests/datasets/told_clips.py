"""Clips that tell where they come from, for tests of what is taken of them."""

from pathlib import Path

import numpy as np

from videopred.datasets.clip_source import ClipSource


class Told(ClipSource):
    """Clips whose every number says where it stands: 20 times the clip, plus the frame."""

    name, recipe, seed, context, horizon, binary = "told", None, None, 1, 1, False
    path, parts, height, width, channels = Path("told.h5"), {"test": 5}, 2, 3, 3
    truth = ("labels/kind", "labels/name", "objects/mass", "positions", "series/bulb")

    def __init__(self, frames: int) -> None:
        self.frames = frames

    def _by_frame(self, start, stop, *rest):
        address = 20 * np.arange(start, stop)[:, None] + np.arange(self.frames)
        return np.broadcast_to(address.reshape(stop - start, self.frames, *(1 for _ in rest)), (*address.shape, *rest))

    def read_frames(self, part, start, stop):
        self.check_clips(part, start, stop)
        return self._by_frame(start, stop, 2, 3, 3).astype(np.uint8) + np.arange(3, dtype=np.uint8) * 80

    def read(self, part, name, start, stop):
        if name == "labels/name":
            return np.array([b"O1"] * (stop - start))
        if name.startswith(("labels", "objects")):
            return np.arange(start, stop) * 20 if name == "labels/kind" else np.full((stop - start, 4), 7.0)
        return self._by_frame(start, stop, 4, 2).astype(np.float32)

    def clip(self, part, index): ...

    def fingerprint(self): ...
