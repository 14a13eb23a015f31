"""Recipes: what a world is made of. Light: pydantic only, so that help and usage errors load no NumPy."""

import math
from itertools import chain, combinations
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, TypeAdapter, model_validator
from tyro.conf import Suppress

from videopred import check
from videopred.amounts import counted
from videopred.datasets.one_ball_settings import MotionConfig, SwitchingConfig
from videopred.datasets.world_settings import ArenaSettings, DatasetSettings

Count = Annotated[int, Field(ge=1, le=255)]
"""A number of objects: masks hold 255 at most."""
Digit = Annotated[int, Field(ge=0, le=9)]

Mass = Annotated[float, Field(ge=1e-6, le=1e6)]
"""Files hold masses as float32, where larger and smaller ones would be infinite, or nothing."""


class BallsConfig(ArenaSettings):
    """Bouncing balls: hard discs in a box 10 arena units high and as wide as the frame's shape says.

    The defaults are R-NEM's balls4mass as reconstructed from its published films, but with exact contacts.
    """

    usual_context: ClassVar[int] = 15  # RIMs, figure 3: 15 frames given, 35 imagined
    usual_horizon: ClassVar[int] = 35

    kind: Suppress[Literal["balls"]] = "balls"
    frames: Annotated[int, Field(ge=2)] = 51
    """Frames of a clip, at least 2."""
    engine: Literal["exact", "rnem", "sutskever"] = "exact"
    """Law of motion: contacts exact in time, R-NEM's steps of one frame, or Sutskever's of half a frame."""
    balls: Annotated[tuple[Count, ...], Field(min_length=1)] = (4,)
    """Numbers of moving balls that a clip may have (1 to 255), each equally likely."""
    radii: Annotated[tuple[PositiveFloat, ...], Field(min_length=1)] = (0.8, 1.0)
    """Radii that a ball may have, each equally likely, in arena units."""
    masses: Annotated[tuple[Mass, ...], Field(min_length=1)] = (1.0, 6.0)
    """Mass that goes with each radius, in [1e-6, 1e6]; only ratios matter."""
    speed: Annotated[float, Field(gt=0, le=10)] = 1 / 3
    """Speed at the start, in (0, 10] arena units per frame; directions are Gaussian."""
    speed_norm: Literal["total", "per-ball"] = "total"
    """Whether that is the root of the sum of all balls' squared speeds, or the speed of each ball."""
    gravity: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Downward acceleration, in [0, 1] arena units per squared frame."""
    restitution: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share in (0, 1] of the speed along the normal that a contact keeps; all, less than a frame after another."""
    walls: bool = True
    """Whether the box holds the balls; without, they fly out of sight."""
    fixed: tuple[tuple[float, float], ...] = ()
    """Centres (x, y) of balls that never move, in arena units; they have the first radius."""
    curtain: tuple[NonNegativeInt, NonNegativeInt] = (0, 0)
    """Rows and columns of a black rectangle in front of the balls, in pixels; 0 of either is none."""
    curtain_place: Literal["random", "center"] = "random"
    """Where the curtain hangs in a clip: anywhere within the frame, or in its middle."""
    colors: Literal["white", "palette", "distinct"] = "white"
    """White balls, one of four colors for each ball at random, or a different one for each of at most four balls."""
    edges: Literal["hard", "smooth", "sutskever"] = "hard"
    """Pixels on or off, pixels about as bright as the share of them that is covered, or Sutskever's soft blobs."""

    @property
    def channels(self) -> int:
        """Channels of a frame: 1 for grey, 3 for red, green and blue."""
        return 1 if self.colors == "white" else 3

    @property
    def binary(self) -> bool:
        """Whether pixels are only on or off."""
        return self.colors == "white" and self.edges == "hard"

    @property
    def objects(self) -> int:
        """Largest number of balls in a clip, fixed ones included."""
        return len(self.fixed) + max(self.balls)

    @property
    def has_curtain(self) -> bool:
        """Whether something hangs in front of the balls."""
        return min(self.curtain) > 0

    @model_validator(mode="after")
    def _balls_fit(self) -> "BallsConfig":
        check.each_once("--balls", self.balls)
        radii, masses = check.as_typed(self.radii), check.as_typed(self.masses)
        must = f"be {counted(len(self.radii), 'number')}, one for each of --radii"
        check.require(len(self.masses) == len(self.radii), "--masses", must, masses, "give one mass per radius")
        largest = max(self.radii)
        must = f"be below {min(self.arena) / 2:g} arena units, half the shorter side of the arena"
        check.require(2 * largest < min(self.arena), "--radii", must, radii, "choose smaller balls")
        self._require_seen("--radii", self.radii, "choose larger balls or larger frames")
        # Balls thrown in at random, one after the other, jam at 0.55 of the area; walls make it less.
        share = self.objects * math.pi * largest**2 / (self.arena[0] * self.arena[1])
        must = "fit into the arena: at their largest, balls may cover 40 % of it"
        got = f"{self.objects} balls of radius {largest:g} = {100 * share:.3g} %"
        check.require(share <= 0.4, "--balls", must, got, "choose fewer or smaller balls")
        must = "be at most 255 together with the --fixed ones: masks hold no more"
        check.require(self.objects <= 255, "--balls", must, self.objects, "choose fewer balls")
        return self

    @model_validator(mode="after")
    def _fixed_balls_have_room(self) -> "BallsConfig":
        r, (width, height), slack = self.radii[0], self.arena, 1e-4  # as numbers are told, and 6.1 - 4.5 < 1.6
        for x, y in self.fixed:
            must = f"lie within the walls: x from {r:g} to {width - r:g}, y from {r:g} to {height - r:g}"
            inside = all(r - slack <= at <= side - r + slack for at, side in ((x, width), (y, height)))
            got, fix = check.as_typed((x, y)), "move it, or choose a smaller first of --radii"
            check.require(inside, "--fixed", must, got, fix)
        for one, other in combinations(self.fixed, 2):
            must = f"be at least {2 * r:g} arena units apart, two radii"
            got = f"{check.as_typed(one)} and {check.as_typed(other)}"
            check.require(math.dist(one, other) >= 2 * r - slack, "--fixed", must, got, "move one of them")
        must, fix = "be left out with --gravity", "no law here lets balls fall onto fixed ones"
        check.require(not (self.fixed and self.gravity), "--fixed", must, check.as_typed(chain(*self.fixed)), fix)
        return self

    @model_validator(mode="after")
    def _engine_knows_the_law(self) -> "BallsConfig":
        unknown = {
            "--gravity": self.gravity > 0,
            "--restitution below 1": self.restitution < 1,
            "--no-walls": not self.walls,
            "--fixed": bool(self.fixed),
        }
        for flag in (flag for flag, given in unknown.items() if given):
            must, fix = f"be exact with {flag}", f"choose --engine exact or leave out {flag}"
            check.require(self.engine == "exact", "--engine", must, self.engine, fix)
        return self

    @model_validator(mode="after")
    def _picture_is_possible(self) -> "BallsConfig":
        rows, columns = self.curtain
        must = f"be within the frame, at most {self.height} {self.width}"
        inside, got = rows <= self.height and columns <= self.width, f"{rows} {columns}"
        check.require(inside, "--curtain", must, got, "choose a smaller curtain")
        part = rows < self.height or columns < self.width
        check.require(part, "--curtain", "leave some of the frame to be seen", got, "choose a smaller curtain")
        placed, fix = self.has_curtain or self.curtain_place == "random", "give --curtain, or leave it out"
        check.require(placed, "--curtain-place", "come with --curtain", self.curtain_place, fix)
        must, got = "be white or palette with more than 4 balls", f"distinct with {self.objects} balls"
        few = self.colors != "distinct" or self.objects <= 4
        check.require(few, "--colors", must, got, "choose fewer balls, or let colors repeat")
        return self


class MovingMNISTConfig(DatasetSettings):
    """Moving MNIST: handwritten digits that fly straight and turn at the walls (Srivastava; Denton & Fergus)."""

    usual_context: ClassVar[int] = 5  # SVG, section 4.1: 5 frames given, up to 25 imagined
    usual_horizon: ClassVar[int] = 25

    kind: Suppress[Literal["moving-mnist"]] = "moving-mnist"
    law: Literal["fixed", "svg", "srivastava"] = "fixed"
    """How digits leave a wall: at random (fixed), as in SVG's code to the bit (svg), or reflected (srivastava)."""
    frames: Annotated[int, Field(ge=2)] = 30
    """Frames of a clip, at least 2."""
    digits: Annotated[tuple[Annotated[int, Field(ge=1, le=3)], ...], Field(min_length=1)] = (2,)
    """Numbers of digits that a clip may have (1 to 3), each equally likely."""
    digit_size: PositiveInt = 32
    """Side of the square that holds a digit, in pixels."""
    speed: PositiveFloat = 4.0
    """Largest speed along each axis, a whole number of pixels per frame; by the law srivastava, each digit's speed."""
    deterministic: bool = False
    """Reflect digits at walls instead of sending them off at random; the law srivastava always does."""
    overlap: Literal["add", "max"] = "add"
    """Where digits overlap: their sum cut at white, or the brightest."""
    train_digits: tuple[Digit, ...] = (0, 1, 2, 3, 4, 5, 6, 7)
    """Classes of digits (0 to 9) in the part train."""
    validation_digits: tuple[Digit, ...] | None = None
    """Classes of digits (0 to 9) in the part validation; default: those of train."""
    test_digits: tuple[Digit, ...] = (8, 9)
    """Classes of digits (0 to 9) in the part test."""
    mnist_sha256: str = ""
    """Hash of the digits used. Leave it empty: it is filled in, so that making the set again takes the same digits."""

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
        check.each_once("--digits", self.digits)
        side = min(self.height, self.width)
        most = side - math.ceil(self.speed)
        must = f"be at most {side - 1}, a pixel less than the frame's shorter side"
        fix = "choose a lower speed or larger frames"
        check.require(most > 0, "--speed", must, self.speed, fix)
        must = f"be at most {most}, the frame's shorter side less --speed"
        fix = "choose smaller digits or larger frames"
        check.require(self.digit_size <= most, "--digit-size", must, self.digit_size, fix)
        must, fix = f"be a whole number by the law {self.law}", "choose e.g. 4, or --law srivastava"
        check.require(self.law == "srivastava" or self.speed.is_integer(), "--speed", must, self.speed, fix)
        must, fix = "be one number by the law svg", "choose e.g. 2, or --law fixed"
        check.require(self.law != "svg" or len(self.digits) == 1, "--digits", must, check.as_typed(self.digits), fix)
        return self

    @model_validator(mode="after")
    def _parts_have_digits(self) -> "MovingMNISTConfig":
        for part in ("train", "validation", "test"):
            classes = self.classes(part)
            must, fix = "name at least one class of digits, and none twice", "choose from 0 to 9"
            once = 0 < len(classes) == len(set(classes))
            check.require(once, f"--{part}-digits", must, check.as_typed(classes), fix)
        return self


OBJECT_SIDE = 0.12
"""Side of the square that an object of occlusion has the area of, as a share of the frame's shorter side."""


class OcclusionConfig(DatasetSettings):
    """Objects that pass behind screens, and come out again or not: intuitive physics in the style of IntPhys."""

    usual_context: ClassVar[int] = 20  # the screens are up
    usual_horizon: ClassVar[int] = 80

    kind: Suppress[Literal["occlusion"]] = "occlusion"
    frames: Annotated[int, Field(ge=30)] = 100
    """Frames of a clip, 30 to 32,767; in shorter ones nothing would be hidden for two frames."""
    height: Annotated[int, Field(ge=24)] = 64
    """Rows of a frame, in pixels, at least 24; objects grow with the shorter side."""
    width: Annotated[int, Field(ge=24)] = 64
    """Columns of a frame, in pixels, at least 24."""
    blocks: Annotated[tuple[Literal["O1", "O2", "O3"], ...], Field(min_length=1)] = ("O1", "O2", "O3")
    """What is impossible in test: O1 an object appears or vanishes, O2 it changes its shape, O3 it jumps."""
    movements: Annotated[tuple[Literal["static", "dynamic-1", "dynamic-2"], ...], Field(min_length=1)] = (
        "static", "dynamic-1", "dynamic-2"
    )  # fmt: skip
    """How that object moves: not at all, past one screen, or past two with the change between them."""
    occlusion: Annotated[tuple[Literal["occluded", "visible"], ...], Field(min_length=1)] = ("occluded", "visible")
    """Whether it happens behind a screen, or in full view."""
    objects: Annotated[tuple[Annotated[int, Field(ge=1, le=3)], ...], Field(min_length=1)] = (1, 2, 3)
    """Numbers of objects that a scene may have (1 to 3); something happens to one of them."""

    @model_validator(mode="after")
    def _choices_differ(self) -> "OcclusionConfig":
        for name in ("blocks", "movements", "occlusion", "objects"):
            check.each_once(f"--{name}", getattr(self, name))
        return self

    def check_use(self) -> None:
        """Refuse scenes in which an object that moves by more than a side a frame might pass between screens unseen."""
        super().check_use()
        check.require(self.frames <= 32767, "--frames", "be at most 32,767", self.frames, "ask for less")
        most = math.floor(OBJECT_SIDE * min(self.height, self.width) * (self.frames - 1))
        passes = "dynamic-2" in self.movements and "occluded" in self.occlusion
        must = f"be at most {most} px with {self.frames} frames of {self.height} rows, else objects pass a gap unseen"
        fix = "choose fewer columns, more frames or rows, or leave dynamic-2 out of --movements"
        check.require(self.width <= most or not passes, "--width", must, self.width, fix)

    @property
    def channels(self) -> int:
        """Channels of a frame: red, green and blue."""
        return 3

    def clips_per_scene(self, part: str) -> int:
        """In test, two possible and two impossible clips of each scene; else one possible clip."""
        return 4 if part == "test" else 1


AnyRecipe = BallsConfig | MovingMNISTConfig | MotionConfig | SwitchingConfig | OcclusionConfig
Recipe = Annotated[AnyRecipe, Field(discriminator="kind")]
"""The recipe of any world; `kind` says which."""

_RECIPE: TypeAdapter[AnyRecipe] = TypeAdapter(Recipe)


def load_recipe(text: str | bytes) -> AnyRecipe:
    """The recipe whose `model_dump_json` this is.

    Raises:
        ValueError: the text is no recipe of this version.
    """
    return _RECIPE.validate_json(text)
