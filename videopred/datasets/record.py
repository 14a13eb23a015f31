"""What is kept of a clip, by the names that files give it."""

import numpy as np

from videopred.datasets.clip import Clip

_THIN_AXES = {"groups": 1, "collisions": 1, "events": 3}  # axes of length 1 at the end, for R-NEM's readers


def record_of(clip: Clip) -> dict[str, np.ndarray]:
    """Name in the file -> what it holds of a clip, (T, ...) or, of objects/… and labels/…, (...).

    All but the contacts, whose number differs from clip to clip.
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


def has_time(name: str) -> bool:
    """Whether the file holds (T, N, ...) under a name, and not (N, ...)."""
    return not name.startswith(("objects/", "labels/"))


def without_thin_axes(name: str, values: np.ndarray) -> np.ndarray:
    """The same values without the axes of length 1 that only files have, at the end of what stands under this name."""
    return values.reshape(values.shape[: values.ndim - _THIN_AXES.get(name, 0)])
