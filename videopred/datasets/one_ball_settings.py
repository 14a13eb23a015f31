"""Recipes of single balls. Light: pydantic only."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from tyro.conf import Suppress

from videopred import check
from videopred.datasets.world_settings import ARENA_HEIGHT, ArenaSettings

Mode = Literal["accelerate", "constant", "walk"]
"""How the ball of a `MotionConfig` moves."""
BULBS = ((0.5, ARENA_HEIGHT - 0.5), (1.3, ARENA_HEIGHT - 0.5))
"""Centres of the two bulbs of a `SwitchingConfig`, in arena units: one for x, one for y."""
BULB_RADIUS = 0.3
"""Radius of a bulb, in arena units."""


class OneBallSettings(ArenaSettings):
    """One ball in a box 10 arena units high and as wide as the frame's shape says."""

    usual_context: ClassVar[int] = 5
    usual_horizon: ClassVar[int] = 46

    frames: Annotated[int, Field(ge=2)] = 51
    """Frames of a clip, at least 2."""
    radius: PositiveFloat = 0.8
    """Radius of the ball, in arena units."""

    @property
    def room(self) -> tuple[float, float]:
        """How far the ball can move along x and y, in arena units."""
        width, height = self.arena
        return width - 2 * self.radius, height - 2 * self.radius

    @model_validator(mode="after")
    def _ball_fits_and_is_seen(self) -> "OneBallSettings":
        must = f"be below {min(self.arena) / 2:g} arena units, half the shorter side of the box"
        check.require(min(self.room) > 0, "--radius", must, self.radius, "choose a smaller ball")
        self._require_seen("--radius", [self.radius], "choose a larger ball or larger frames")
        return self

    def _check_span(self, flag: str, span: tuple[float, float], most: float, why: str) -> None:
        """Refuse a span whose ends are swapped, or that reaches beyond `most`."""
        low, high = span
        check.require(low <= high, flag, "be the least, then the greatest", f"{low:g} {high:g}", "swap them")
        # Rounded down, so that the number shown is itself allowed.
        must = f"be at most {most - most / 1e5:g}, {why}" if isinstance(most, float) else f"be at most {most}, {why}"
        check.require(high <= most, flag, must, f"{high:g}", "choose a smaller one")


class MotionConfig(OneBallSettings):
    """One ball that accelerates, flies at constant speed or walks at random (SCOFF)."""

    kind: Suppress[Literal["motion"]] = "motion"
    modes: Annotated[tuple[Mode, ...], Field(min_length=1)] = ("accelerate", "constant", "walk")
    """Ways to move that a clip may have, each equally likely; labels/mode: 0 accelerate, 1 constant, 2 walk."""
    acceleration: tuple[PositiveFloat, PositiveFloat] = (0.002, 0.006)
    """Least and greatest acceleration, in arena units per frame²; from rest."""
    constant_speed: tuple[PositiveFloat, PositiveFloat] = (0.05, 0.15)
    """Least and greatest speed of constant motion, in arena units per frame."""
    walk_speed: tuple[PositiveFloat, PositiveFloat] = (0.1, 0.2)
    """Least and greatest speed of a walk, in arena units per frame."""
    turn: Annotated[float, Field(ge=0)] = 45.0
    """Standard deviation of the angle by which a walk turns at each frame, in degrees."""

    @property
    def binary(self) -> bool:
        """Whether pixels are only on or off."""
        return True

    @property
    def unused(self) -> dict[str, str]:
        beside = f"--modes {' '.join(self.modes)}"
        settings = {"accelerate": ["acceleration"], "constant": ["constant_speed"], "walk": ["walk_speed", "turn"]}
        return {name: beside for mode, names in settings.items() if mode not in self.modes for name in names}

    @model_validator(mode="after")
    def _motion_stays_inside(self) -> "MotionConfig":
        check.each_once("--modes", self.modes)
        room = min(self.room)
        why = f"with which the ball stays inside for {self.frames} frames"
        if "accelerate" in self.modes:
            self._check_span("--acceleration", self.acceleration, 2 * room / self.frames**2, why)
        if "constant" in self.modes:
            self._check_span("--constant-speed", self.constant_speed, room / self.frames, why)
        if "walk" in self.modes:
            self._check_span("--walk-speed", self.walk_speed, room, "from wall to wall in a frame")
        return self


class SwitchingConfig(OneBallSettings):
    """One ball that oscillates along x or y and switches once; bulbs in the frame say which it does (SCOFF)."""

    kind: Suppress[Literal["switching"]] = "switching"
    height: Annotated[int, Field(ge=24)] = 64
    """Rows of a frame, in pixels, at least 24; in fewer the bulbs would not be seen."""
    speed: tuple[PositiveFloat, PositiveFloat] = (0.2, 0.4)
    """Least and greatest speed, in arena units per frame."""
    switch: tuple[PositiveInt, PositiveInt] | None = None
    """First and last frame at which the switch may be, all equally likely; default: the middle frame."""

    @property
    def switch_frames(self) -> tuple[int, int]:
        """First and last frame that may be the first of the second dynamics."""
        return self.switch or (self.frames // 2, self.frames // 2)

    @model_validator(mode="after")
    def _ball_has_room_to_switch(self) -> "SwitchingConfig":
        self._check_span("--speed", self.speed, min(self.room), "from wall to wall in a frame")
        self._check_span("--switch", self.switch_frames, self.frames - 1, "the last frame")
        least = math.ceil((BULBS[-1][0] + BULB_RADIUS + 2 * self.radius + 1) * self.px_per_unit)
        must = f"be at least {least}, for the bulbs, the ball and an arena unit between them"
        check.require(self.width >= least, "--width", must, self.width, "choose wider frames, or a smaller ball")
        return self
