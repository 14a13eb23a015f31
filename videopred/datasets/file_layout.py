"""What is kept of a clip, by the names that files give it: one layout for whoever writes and whoever reads.

    /training, /validation, /test        T frames, N clips, K objects; time first
        features                         bool or uint8 (T, N, H, W, C)
        groups                           uint8 (T, N, H, W, 1), the object seen, counted from 1; 0 is background
        collisions                       bool (T, N, H, W, 1), pixels of objects that collide in (t, t + 1]
        events                           uint8 (T, N, 1, 1, 1), number of contacts in (t, t + 1], at most 255
        positions, velocities            float32 (T, N, K, 2), px and px per frame
        visibility/fraction              float16 (T, N, K)
        series/<name>                    (T, N, ...)
        objects/<name>                   (N, K, ...)
        labels/<name>                    (N, ...)
        contacts, contact_offsets        CONTACT (E,) and int64 (N + 1,): clip i has rows offsets[i]:offsets[i + 1]
        seed, index                      uint64 (N,) first word of each clip's random source, int64 (N,) its address

R-NEM's files hold the first six; the rest is ours. A *record* is all of that of one clip: a name in the file -> an
array without the axis N. Films of another origin need only `features`. Coordinates are px, where R-NEM's are said to be
units of the arena; the attribute `units` says so.
"""

from collections.abc import Mapping

import numpy as np

from videopred.datasets.clip import Clip, clip_seed

FORMAT = "videopred/1"
"""What our files call their layout."""

Record = Mapping[str, np.ndarray]
"""Name in the file -> what it holds of one clip."""

CONTACTS = "contacts"
"""The one array that has as many rows of a clip as happen to be."""

_WITHOUT_TIME = (CONTACTS, "contact_offsets", "seed", "index")

NOT_TRUTH = ("features", *_WITHOUT_TIME)
"""Names in the file that are no truth to be read clip by clip."""

NAMES = (
    *("features", "groups", "collisions", "events", "positions", "velocities", "visibility", "series", "objects"),
    *("labels", *_WITHOUT_TIME),
)
"""What the group of a part may hold: arrays, and groups of arrays."""

_THIN_AXES = {"groups": 1, "collisions": 1, "events": 3}  # axes of length 1 at the end, for R-NEM's readers


def record_of(clip: Clip) -> dict[str, np.ndarray]:
    """Name in the file -> what it holds of a clip, (T, ...) or, of objects/… and labels/…, (...).

    All but the contacts, whose number differs from clip to clip, and its address.
    """
    return {
        "features": clip.frames,
        "groups": clip.masks[..., None],
        "collisions": clip.collisions[..., None],
        "events": clip.events[:, None, None, None],
        "positions": clip.positions,
        "velocities": clip.velocities,
        "visibility/fraction": clip.visibility,
        **{f"series/{name}": values for name, values in clip.series.items()},
        **{f"objects/{name}": values for name, values in clip.objects.items()},
        **{f"labels/{name}": np.asarray(value) for name, value in clip.labels.items()},
    }


def full_record(clip: Clip, binary: bool, seed: int, part: str, index: int) -> dict[str, np.ndarray]:
    """All that the file holds of a clip of ours.

    Args:
        clip: the clip.
        binary: whether pixels are only on or off, so that bool holds them.
        seed: seed of the data set.
        part: train, validation or test.
        index: which clip of the part.
    """
    return record_of(clip) | {
        "features": clip.frames > 0 if binary else clip.frames,
        CONTACTS: clip.contacts,
        "seed": clip_seed(seed, part, index).generate_state(1, np.uint64)[0],
        "index": np.int64(index),
    }


def has_time(name: str) -> bool:
    """Whether the file holds (T, N, ...) under a name, and not (N, ...)."""
    return not name.startswith(("objects/", "labels/")) and name not in _WITHOUT_TIME


def without_thin_axes(name: str, values: np.ndarray) -> np.ndarray:
    """Values (B, T, ...) without the axes of length 1 at their end, which arrays of this name have in files alone."""
    for _ in range(_THIN_AXES.get(name, 0)):
        if values.ndim > 2 and values.shape[-1] == 1:  # files of others may do without
            values = values[..., 0]
    return values
