"""What the settings of all worlds share. Light: pydantic only."""

import math
from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from videopred import check
from videopred.settings import Settings

ARENA_HEIGHT = 10.0
"""Height of the balls' arena, in arena units, whatever the frame's height in pixels."""
_LARGEST = 1_000_000_000
"""Frames, rows and columns at most: of larger numbers NumPy says something else than that memory is lacking."""
_WIDEST = 4096
"""Rows and columns that are made: tables of columns grow with their square, and files have places in 16 bits."""


class DatasetSettings(Settings):
    """What every world has: a length, a frame size, and a usual way to be scored."""

    usual_context: ClassVar[int]
    usual_horizon: ClassVar[int]

    frames: Annotated[int, Field(ge=2)]
    """Frames of a clip, at least 2."""
    height: Annotated[int, Field(ge=8)] = 64
    """Rows of a frame, in pixels, 8 to 4,096."""
    width: Annotated[int, Field(ge=8)] = 64
    """Columns of a frame, in pixels, 8 to 4,096."""

    @model_validator(mode="after")
    def _can_be_counted(self) -> "DatasetSettings":
        for name in ("frames", "height", "width"):
            size = getattr(self, name)
            check.require(size <= _LARGEST, f"--{name}", f"be at most {_LARGEST:,}", size, "ask for less")
        return self

    def check_use(self) -> None:
        """Refuse what makes clips of no use. A file of them that is there can be read, and training on them resumed."""
        for name in ("height", "width"):
            size = getattr(self, name)
            check.require(size <= _WIDEST, f"--{name}", f"be at most {_WIDEST:,}", size, "ask for less")

    @property
    def channels(self) -> int:
        """Channels of a frame: 1 for grey, 3 for red, green and blue."""
        return 1

    @property
    def values_per_clip(self) -> int:
        """Numbers in the frames of a clip."""
        return self.frames * self.height * self.width * self.channels

    @property
    def binary(self) -> bool:
        """Whether pixels are only on or off."""
        return False

    @property
    def in_order(self) -> bool:
        """Whether clips come from one stream, each depending on those before: for laws that know no addresses."""
        return False

    def clips_per_scene(self, part: str) -> int:
        """Clips that belong together, one after the other; a part holds whole scenes only."""
        return 1

    def differing(self, other: "DatasetSettings", free: Collection[str]) -> list[str]:
        """Settings in which it differs from another, `kind` of another world, but for those that are free."""
        return [name for name, value in self if name not in free and value != getattr(other, name, None)]

    @property
    def context(self) -> int:
        """True frames that a model is usually given: the papers' number, at most half of a short clip."""
        return min(self.usual_context, self.frames // 2)

    @property
    def horizon(self) -> int:
        """Frames that a model then usually imagines: the papers' number, or what is left of a short clip."""
        return min(self.usual_horizon, self.frames - self.context)


class ArenaSettings(DatasetSettings):
    """What worlds have whose sizes are told in arena units, ten of which are the height of a frame."""

    @property
    def px_per_unit(self) -> float:
        """Pixels per arena unit."""
        return self.height / ARENA_HEIGHT

    @property
    def arena(self) -> tuple[float, float]:
        """Width and height of the box, in arena units."""
        return self.width / self.px_per_unit, ARENA_HEIGHT

    def _require_seen(self, flag: str, radii: Sequence[float], fix: str) -> None:
        """Refuse balls that may hold no pixel's centre; a disc of radius sqrt(1/2) px holds one wherever it lies."""
        least = math.ceil(1e4 * math.sqrt(0.5) / self.px_per_unit) / 1e4  # as it is told, so that it is allowed itself
        must = f"be at least {least:g} arena units, 0.71 px"
        check.require(min(radii) >= least, flag, must, check.as_typed(radii), fix)
