"""Which object is where, in every frame of a batch of clips. The plain type that object metrics compare."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from videopred.check import require

SEEN = float(np.float16(0.05))  # as files hold such shares
"""Share of an object's pixels from which on it counts as seen; below, it is hidden."""

TRUTH = {
    "positions": "positions",
    "groups": "masks",
    "visibility/fraction": "visibility",
    "collisions": "collisions",
    "film": "film",
    "objects/radius": "radius",
    "objects/mass": "mass",
}
"""Name of a truth in a data file -> the field of `Objects` that holds it."""


@dataclass(frozen=True)
class Objects:
    """Objects in B clips. Frame 0 is the last frame that was observed; frames 1 to T are those that are predicted.

    True and predicted ones are of the same clips and frames; their numbers may differ.
    """

    positions: Tensor
    """(B, 1 + T, N, 2) float64, px: x and y of centres; NaN where an object is not there, or was not found."""
    film: Tensor | None = None
    """(B, 1 + T, C, H, W) float in [0, 1]."""
    masks: Tensor | None = None
    """(B, 1 + T, H, W) whole numbers: the object at each pixel, counted from 1; 0 is none."""
    own_masks: Tensor | None = None
    """The same of predicted objects by the model's own account: the module to which each pixel belongs. `masks` are of
    the objects found in its pictures. The first frame is not read."""
    visibility: Tensor | None = None
    """(B, 1 + T, N) float in [0, 1]: the share of an object that is seen; NaN where it is not there."""
    collisions: Tensor | None = None
    """(B, 1 + T, H, W) bool: pixels of the objects that collide between this frame and the next."""
    radius: Tensor | None = None
    """(B, N) float64, px; NaN for objects that are not there."""
    mass: Tensor | None = None
    """(B, N) float64; infinite for what never moves, NaN for objects that are not there."""

    @property
    def seen(self) -> Tensor:
        """(B, 1 + T, N) bool: objects that are there and not hidden."""
        there = ~self.positions.isnan().any(-1)
        return there if self.visibility is None else there & (self.visibility >= SEEN)


def check_objects(predicted: Objects, true: Objects) -> None:
    """Refuse true and predicted objects that are not of the same clips and frames.

    Raises:
        ValueError: a field has other axes than `Objects` says, or other clips, frames or objects than the positions
            beside it; the two differ in clips or frames; or no frame is predicted.
    """
    for name, objects in (("predicted", predicted), ("true", true)):
        for field, values in vars(objects).items():
            if values is not None:
                _check_field(f"{name} {field}", values, objects.positions)
    ours, theirs = predicted.positions.shape[:2], true.positions.shape[:2]
    must = f"have the clips and frames of the true ones, {tuple(theirs)}"
    require(ours == theirs, "predicted positions", must, tuple(ours), "describe the same clips and frames")
    must, fix = "have at least two frames, the first being the last observed", "put the last frame of the context first"
    require(theirs[1] > 1, "true positions", must, theirs[1], fix)


_AXES = {
    "positions": "clips frames objects 2",
    "film": "clips frames channels height width",
    "masks": "clips frames height width",
    "own_masks": "clips frames height width",
    "visibility": "clips frames objects",
    "collisions": "clips frames height width",
    "radius": "clips objects",
    "mass": "clips objects",
}


def _check_field(name: str, values: Tensor, positions: Tensor) -> None:
    """Refuse a field of other axes, or of other clips, frames or objects than the positions have."""
    axes = _AXES[name.split()[1]].split()
    known = dict(zip(("clips", "frames", "objects"), positions.shape, strict=False)) | {"2": 2}
    fits = values.dim() == len(axes) and all(
        size == known.get(axis, size) for axis, size in zip(axes, values.shape, strict=True)
    )
    must = f"have the axes ({', '.join(axes)}) of the positions"
    require(fits, name, must, f"shape {tuple(values.shape)}", "see videopred.eval.objects.Objects")
