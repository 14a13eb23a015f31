"""How far ahead a world of balls can be predicted by somebody who knows its law and, but for small errors, its state.

Balls that bounce multiply every error, so beyond some frame no model can say where they are, and scores there tell of
chance. Starts that differ a little from the true ones are moved by the true law; the mean distance of the balls from
their true places, frame by frame, says where that is.
"""

import numpy as np

from videopred.datasets.balls import BouncingBalls
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.physics import State
from videopred.datasets.settings import BallsConfig

POSITION_ERROR_PX = 0.1
VELOCITY_ERROR_PX_PER_FRAME = 0.03
"""Standard deviations, along each axis, of the errors in a ball's state at frame 0: about those of a fit of discs."""
LOST_PX = 2.0
"""A mean distance from the true places beyond which balls count as lost."""


def error_growth(source: ClipSource, part: str, clips: int) -> np.ndarray:
    """Mean distance of balls from their true places, by frame, when there are small errors in their start.

    Args:
        source: clips of bouncing balls, with their recipe.
        part: train, validation or test.
        clips: how many, from the first on.

    Returns:
        (T,) float64, px, over all balls that move.

    Raises:
        ValueError: no such part or clips.
    """
    assert isinstance(source.recipe, BallsConfig), "only worlds of balls can be moved again"

    def read(name: str) -> np.ndarray:
        return source.read(part, name, 0, clips).astype(float)

    radius, mass = read("objects/radius"), read("objects/mass")
    true = State(read("positions")[:, 0], read("velocities")[:, 0], radius, mass)
    chance = np.random.default_rng(0)  # the same errors at every look
    moves = np.isfinite(mass)
    noise = chance.standard_normal((2, *true.position.shape)) * moves[..., None]
    position = true.position + POSITION_ERROR_PX * noise[0]
    almost = true._replace(
        position=_inside(position, radius, source) if source.recipe.walls else position,
        velocity=true.velocity + VELOCITY_ERROR_PX_PER_FRAME * noise[1],
    )
    world = BouncingBalls(source.recipe)
    apart = world.move(almost).positions - world.move(true).positions  # (clips, T, N, 2)
    return np.linalg.norm(apart, axis=-1).swapaxes(1, 2)[moves].mean(0)


def frames_predictable(growth: np.ndarray) -> int:
    """Frames after the first until balls are lost: the first t with a mean distance above LOST_PX, or T if none."""
    lost = growth > LOST_PX
    return int(lost.argmax()) if lost.any() else len(growth)


def _inside(position: np.ndarray, radius: np.ndarray, source: ClipSource) -> np.ndarray:
    """Centres (clips, N, 2) no closer to a wall than their radius: an error does not put a ball into the wall."""
    near = radius[..., None]
    return np.clip(position, near, np.array([source.width, source.height]) - near)
