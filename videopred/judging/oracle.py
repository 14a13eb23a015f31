"""The physics oracle: balls moved on from their true state by the law of the data, and drawn."""

import numpy as np
import torch
from torch import Tensor

from videopred.datasets.balls import BouncingBalls
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.physics import State
from videopred.datasets.settings import BallsConfig
from videopred.datasets.starts import Start
from videopred.frames import to_film
from videopred.judging.batches import Batch

NEEDED = ("positions", "velocities", "objects/radius", "objects/mass")
"""What a file must know of its balls."""


def knows_physics(file: ClipSource) -> bool:
    """Whether the future of a file's clips can be computed: balls of ours, with their states."""
    return isinstance(file.recipe, BallsConfig) and all(name in file.truth for name in NEEDED)


def physics_oracle(batch: Batch) -> Tensor:
    """The frames that follow from the true state at the end of the context: (B, horizon, C, H, W) float in [0, 1].

    A ceiling, not a model: it is told positions, velocities, radii and masses that no frame shows exactly. It is not
    perfect either: files hold states as float32, and collisions make small differences grow; and with a restitution
    below 1 it does not know which balls have only just lost speed, and may take some again. With predictions of one
    step, every frame follows from the true state at the frame before it.
    """
    steps = range(batch.given - 1, batch.given + batch.horizon - 1) if batch.one_step else [batch.given - 1]
    ahead = 1 if batch.one_step else batch.horizon
    return torch.cat([_moved_on(batch, step, ahead) for step in steps], dim=1).to(batch.film)


def _moved_on(batch: Batch, step: int, ahead: int) -> Tensor:
    """The film of the frames after one step: (B, ahead, C, H, W)."""
    recipe = batch.file.recipe
    assert isinstance(recipe, BallsConfig)

    def read(name: str) -> np.ndarray:
        return batch.file.read(batch.part, name, batch.start, batch.start + len(batch.film))

    radius, mass = read("objects/radius").astype(np.float64), read("objects/mass").astype(np.float64)
    places, speeds = (read(name)[:, step].astype(np.float64) for name in ("positions", "velocities"))
    white = np.full((*radius.shape, 3), 255, np.uint8)
    start = Start(
        State(places, speeds, radius, mass),
        read("objects/color") if "objects/color" in batch.file.truth else white,
        read("labels/curtain") if "labels/curtain" in batch.file.truth else np.zeros((len(radius), 4), np.int16),
    )
    world = BouncingBalls(recipe.model_copy(update={"frames": ahead + 1}))
    return to_film(np.stack([clip.frames for clip in world.film(start)]))[:, 1:]
