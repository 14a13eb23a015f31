"""Recipes: what a world is made of. Light: pydantic only, so that help and usage errors load no NumPy."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, TypeAdapter, model_validator
from tyro.conf import Suppress

from videopred import check
from videopred.settings import Settings

ARENA_HEIGHT = 10.0
"""Height of the balls' arena, in arena units, whatever the frame's height in pixels."""

Count = Annotated[int, Field(ge=1, le=255)]
"""A number of objects: masks hold 255 at most."""
Digit = Annotated[int, Field(ge=0, le=9)]


class DatasetSettings(Settings):
    """What every world has: a length, a frame size, and a usual way to be scored."""

    usual_context: ClassVar[int]
    usual_horizon: ClassVar[int]

    frames: Annotated[int, Field(ge=2)]
    """Frames of a clip."""
    height: Annotated[int, Field(ge=8)] = 64
    """Rows of a frame, in pixels."""
    width: Annotated[int, Field(ge=8)] = 64
    """Columns of a frame, in pixels."""

    @property
    def channels(self) -> int:
        """Channels of a frame: 1 for grey, 3 for red, green and blue."""
        return 1

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

    @property
    def context(self) -> int:
        """True frames that a model is usually given: the papers' number, at most half of a short clip."""
        return min(self.usual_context, self.frames // 2)

    @property
    def horizon(self) -> int:
        """Frames that a model then usually imagines: the papers' number, or what is left of a short clip."""
        return min(self.usual_horizon, self.frames - self.context)


class BallsConfig(DatasetSettings):
    """Bouncing balls: hard discs, elastic, in a box 10 arena units high and as wide as the frame's shape says.

    The defaults are R-NEM's balls4mass as reconstructed from its published films.
    """

    usual_context: ClassVar[int] = 15  # RIMs, figure 3: 15 frames given, 35 imagined
    usual_horizon: ClassVar[int] = 35

    kind: Suppress[Literal["balls"]] = "balls"
    frames: Annotated[int, Field(ge=2)] = 51
    """Frames of a clip."""
    balls: Annotated[tuple[Count, ...], Field(min_length=1)] = (4,)
    """Numbers of balls that a clip may have, each equally likely."""
    radii: Annotated[tuple[PositiveFloat, ...], Field(min_length=1)] = (0.8, 1.0)
    """Radii that a ball may have, each equally likely, in arena units."""
    masses: Annotated[tuple[PositiveFloat, ...], Field(min_length=1)] = (1.0, 6.0)
    """Mass that goes with each radius; only ratios matter."""
    speed: Annotated[float, Field(gt=0, le=10)] = 1 / 3
    """Root of the sum of all balls' squared speeds, in arena units per frame; directions are Gaussian."""

    @property
    def binary(self) -> bool:
        """Whether pixels are only on or off."""
        return True

    @property
    def px_per_unit(self) -> float:
        """Pixels per arena unit."""
        return self.height / ARENA_HEIGHT

    @property
    def arena(self) -> tuple[float, float]:
        """Width and height of the box, in arena units."""
        return self.width / self.px_per_unit, ARENA_HEIGHT

    @model_validator(mode="after")
    def _sizes_agree(self) -> "BallsConfig":
        if len(self.masses) != len(self.radii):
            must, fix = f"be {len(self.radii)} numbers, one for each of --radii", "give one mass per radius"
            raise ValueError(check.complaint("--masses", must, self.masses, fix))
        largest = max(self.radii)
        if 2 * largest >= min(self.arena):
            must = f"be below {min(self.arena) / 2:g} arena units, half the shorter side of the arena"
            raise ValueError(check.complaint("--radii", must, self.radii, "choose smaller balls"))
        # A disc of radius sqrt(1/2) px holds a pixel centre wherever it lies, so every ball is always seen.
        smallest = math.sqrt(0.5) / self.px_per_unit
        if min(self.radii) < smallest:
            must = f"be at least {smallest:.3g} arena units, 0.71 px"
            fix = "choose larger balls or larger frames"
            raise ValueError(check.complaint("--radii", must, self.radii, fix))
        # Balls thrown in at random, one after the other, jam at 0.55 of the area; walls make it less.
        share = max(self.balls) * math.pi * largest**2 / (self.arena[0] * self.arena[1])
        if share > 0.4:
            must = "fit into the arena: at their largest, balls may cover 40 % of it"
            got = f"{max(self.balls)} balls of radius {largest:g} = {100 * share:.0f} %"
            raise ValueError(check.complaint("--balls", must, got, "choose fewer or smaller balls"))
        return self


class MovingMNISTConfig(DatasetSettings):
    """Moving MNIST: handwritten digits that fly straight and turn at the walls (Srivastava; Denton & Fergus)."""

    usual_context: ClassVar[int] = 5  # SVG, section 4.1: 5 frames given, up to 25 imagined
    usual_horizon: ClassVar[int] = 25

    kind: Suppress[Literal["moving-mnist"]] = "moving-mnist"
    law: Literal["fixed", "svg", "srivastava"] = "fixed"
    """How digits move: fixed leaves a wall at random; svg does as SVG's code, to the bit; srivastava reflects."""
    frames: Annotated[int, Field(ge=2)] = 30
    """Frames of a clip."""
    digits: Annotated[tuple[Annotated[int, Field(ge=1, le=3)], ...], Field(min_length=1)] = (2,)
    """Numbers of digits that a clip may have (1 to 3), each equally likely."""
    digit_size: PositiveInt = 32
    """Side of the square that holds a digit, in pixels."""
    speed: PositiveFloat = 4.0
    """Pixels per frame: the largest along each axis, a whole number; by the law srivastava, that of every digit."""
    deterministic: bool = False
    """Turn round at walls instead of leaving them at random; the law srivastava does so anyway."""
    overlap: Literal["add", "max"] = "add"
    """Where digits overlap: their sum cut at white, or the brightest."""
    train_digits: tuple[Digit, ...] = (0, 1, 2, 3, 4, 5, 6, 7)
    """Classes of digits in the part train."""
    validation_digits: tuple[Digit, ...] | None = None
    """Classes of digits in the part validation; those of train when None."""
    test_digits: tuple[Digit, ...] = (8, 9)
    """Classes of digits in the part test."""
    mnist_sha256: str = ""
    """Hash of the digits used. Leave empty: it is filled in, and refuses other digits when made again."""

    @property
    def in_order(self) -> bool:
        """Whether clips come from one stream, each depending on those before: for laws that know no addresses."""
        return self.law == "svg"

    @property
    def context(self) -> int:
        """True frames that a model is usually given: the papers' number, at most half of a short clip."""
        return min(10, self.frames // 2) if self.law == "srivastava" else super().context

    @property
    def horizon(self) -> int:
        """Frames that a model then usually imagines: the papers' number, or what is left of a short clip."""
        return min(10, self.frames - self.context) if self.law == "srivastava" else super().horizon

    def classes(self, part: str) -> tuple[int, ...]:
        """Classes of digits that a part shows."""
        validation = self.train_digits if self.validation_digits is None else self.validation_digits
        return {"train": self.train_digits, "validation": validation, "test": self.test_digits}[part]

    @model_validator(mode="after")
    def _digits_can_move(self) -> "MovingMNISTConfig":
        room = min(self.height, self.width) - self.digit_size
        if room < self.speed:
            most = min(self.height, self.width) - math.ceil(self.speed)
            must = f"be at most {most}, the frame's shorter side less --speed"
            fix = "choose smaller digits or larger frames"
            raise ValueError(check.complaint("--digit-size", must, self.digit_size, fix))
        if self.law != "srivastava" and not self.speed.is_integer():
            must, fix = f"be a whole number by the law {self.law}", "choose e.g. 4, or --law srivastava"
            raise ValueError(check.complaint("--speed", must, self.speed, fix))
        if self.law == "svg" and len(self.digits) > 1:
            fix = "choose e.g. 2, or --law fixed"
            raise ValueError(check.complaint("--digits", "be one number by the law svg", self.digits, fix))
        return self

    @model_validator(mode="after")
    def _parts_have_digits(self) -> "MovingMNISTConfig":
        for part in ("train", "validation", "test"):
            classes = self.classes(part)
            if not classes or len(set(classes)) < len(classes):
                must, fix = "name at least one class of digits, and none twice", "choose from 0 to 9"
                raise ValueError(check.complaint(f"--{part}-digits", must, classes, fix))
        return self


Recipe = Annotated[BallsConfig | MovingMNISTConfig, Field(discriminator="kind")]
"""The recipe of any world; `kind` says which."""

_RECIPE: TypeAdapter[BallsConfig | MovingMNISTConfig] = TypeAdapter(Recipe)


def dump_recipe(recipe: DatasetSettings) -> str:
    """The recipe as one line of JSON, all its settings named."""
    return recipe.model_dump_json()


def load_recipe(text: str) -> BallsConfig | MovingMNISTConfig:
    """The recipe that `dump_recipe` wrote.

    Raises:
        ValueError: the text is no recipe of this version.
    """
    return _RECIPE.validate_json(text)
