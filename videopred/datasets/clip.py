"""One clip: its address, its random stream, and its arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from videopred.amounts import shapes_told

PARTS = {"train": "training", "validation": "validation", "test": "test"}
"""Parts of a data set: the word on the command line -> the group in the file. Order is the address of a part."""

PART_OF = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validate", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "tests", "testing"), "test"),
}
"""What others call parts, in small letters -> the part."""


def clip_seed(seed: int, part: str, index: int) -> np.random.SeedSequence:
    """The random source of one clip, which depends on (seed, part, index) alone.

    So clip `index` is the same whatever is made before it, beside it, by how many workers or in which shard.
    """
    return np.random.SeedSequence(seed, spawn_key=(list(PARTS).index(part), index))


@dataclass(frozen=True, eq=False)  # it holds arrays
class Clip:
    """A film with the truth that made it.

    Coordinates are pixels: x to the right (columns), y down (rows), pixel centres at +0.5.
    """

    frames: np.ndarray
    """(T, H, W, C) uint8, 0 to 255."""
    masks: np.ndarray
    """(T, H, W) uint8: which object is seen at each pixel, counted from 1; 0 is background."""
    positions: np.ndarray
    """(T, N, 2) float32, px: x and y of each object's centre; NaN where the clip has fewer than N objects."""
    velocities: np.ndarray
    """(T, N, 2) float32, px per frame, at the time of the frame; NaN as above."""
    collisions: np.ndarray
    """(T, H, W) bool: pixels of the objects that collide between this frame and the next."""
    events: np.ndarray
    """(T,) uint8: number of collisions between this frame and the next."""
    visibility: np.ndarray
    """(T, N) float16 in [0, 1]: share of each object's own pixels that is seen; NaN for absent objects."""
    contacts: np.ndarray
    """(E,) structured: every collision of the clip, in the order of time."""
    objects: Mapping[str, np.ndarray] = field(default_factory=dict)
    """name -> (N, ...): what stays the same of each object during the clip (radius, mass, digit, …)."""
    series: Mapping[str, np.ndarray] = field(default_factory=dict)
    """name -> (T, ...): what changes during the clip and belongs to no object (a lit bulb, an occluder's place, …)."""
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)
    """name -> (...): what is true of the clip as a whole (the curtain's place, whether it is possible, …)."""

    def __repr__(self) -> str:
        arrays = {name: value for name, value in vars(self).items() if not isinstance(value, Mapping)}
        for name, more in {"objects": self.objects, "series": self.series, "labels": self.labels}.items():
            arrays |= {f"{name}/{each}": values for each, values in more.items()}
        return f"<{type(self).__name__}: {shapes_told(arrays)}>"
