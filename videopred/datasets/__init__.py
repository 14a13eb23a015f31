"""Worlds: recipes of data sets, and the files that hold them.

Conventions of every world:

- A *recipe* (frozen settings) and an address (seed, part, index) fix a clip to the byte.
- Coordinates are pixels, x to the right and y down; the centre of the top left pixel is (0.5, 0.5).
- Objects count from 0 in tables and from 1 in masks, where 0 is background; a later object hides an earlier.
- What is said of frame t about *collisions* and *events* happens after it, in the time (t, t + 1]: it goes with
  predicting frame t + 1.

A new world is a file with a class like `World`, a settings class that `Recipe` names in settings.py, and a line in
DATASETS; a new preset of a world is a line in DATASETS.

The modules, by what they are about:

    recipes       settings, world_settings, one_ball_settings
    any world     world, clip, chance, contacts, raster
    balls         balls: starts, physics, stepping, painting
    single balls  motion, switching: one_ball
    digits        moving_mnist: digits, digit_walks
    occlusion     occlusion: scenes, shapes
    generating    generation: plan, shards, making, workers, resuming, forecasting
    files         file_layout; to write: writer, piece, unfailing_file; to read: clip_file, clip_folder, stored_arrays,
                  linked_arrays, foreign_values
    any clips     clip_source, recipe_clips; for training: loader, crops
    any path      advice
    checking      description, predictability, verification, fingerprint
    importing     importing, import_settings: film_formats, foreign_films, converting
    its formats   array_films: numpy_arrays, h5_arrays; picture_films: gif_times; video_films
    IntPhys       intphys, intphys_layout, intphys_export, scene_names, quadruplets
"""

import json
from codecs import BOM_UTF8
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from videopred import check, check_path
from videopred.addresses import find
from videopred.datasets.settings import (
    BallsConfig,
    DatasetSettings,
    MotionConfig,
    MovingMNISTConfig,
    OcclusionConfig,
    SwitchingConfig,
    load_recipe,
)
from videopred.explaining import explain
from videopred.files import keys_once

if TYPE_CHECKING:
    from videopred.datasets.clip_source import ClipSource
    from videopred.datasets.world import World


class Preset(NamedTuple):
    """A named recipe."""

    summary: str
    """What it is, in one line of a terminal."""
    recipe: DatasetSettings
    world: str
    """Where its class is, "module:Class"; imported on use, so that help stays light."""


_BALLS = "videopred.datasets.balls:BouncingBalls"
_DIGITS = "videopred.datasets.moving_mnist:MovingMNIST"
_ALL_DIGITS = tuple(range(10))

_CURTAIN = BallsConfig(balls=(3,), radii=(1.2,), masses=(1.0,), speed=0.5, curtain=(28, 28))
_SUTSKEVER = BallsConfig(
    engine="sutskever",
    edges="sutskever",
    balls=(3,),
    radii=(1.2,),
    masses=(1.0,),
    speed=0.5,
    frames=100,
    height=30,
    width=30,
)


def _crops(balls: int) -> BallsConfig:
    return BallsConfig(
        balls=(balls,),
        fixed=((5.0, 5.0),),
        radii=(0.8,),
        masses=(1.0,),
        speed=0.25,
        speed_norm="per-ball",
        frames=100,
        height=48,
        width=48,
    )


DATASETS: dict[str, Preset] = {
    "balls4": Preset("Four bouncing balls of two sizes and masses (R-NEM, RIMs, SCOFF, BRIMs).", BallsConfig(), _BALLS),
    "balls678": Preset(
        "Six, seven or eight balls, as balls4 (R-NEM, RIMs, SCOFF).", BallsConfig(balls=(6, 7, 8)), _BALLS
    ),
    "curtain": Preset("Three equal balls behind an invisible curtain (R-NEM, RIMs, SCOFF, BRIMs).", _CURTAIN, _BALLS),
    "colored4": Preset("As balls4, each ball in one of four colors (SCOFF).", BallsConfig(colors="palette"), _BALLS),
    "colored678": Preset(
        "As balls678, each ball in one of four colors (SCOFF).", BallsConfig(balls=(6, 7, 8), colors="palette"), _BALLS
    ),
    **{
        f"balls{balls}": Preset("As balls4, with as many balls as the name says.", BallsConfig(balls=(balls,)), _BALLS)
        for balls in (1, 2, 3, 5, 6, 7, 8)
    },
    "balls-sutskever": Preset(
        "Three soft balls by the old law, which lets them overlap (Sutskever, Hinton & Taylor).", _SUTSKEVER, _BALLS
    ),
    "crops": Preset("Three balls around a fixed one, to be seen in crops (RIMs, appendix D.5).", _crops(3), _BALLS),
    **{
        f"crops{balls}": Preset("As crops, with as many moving balls as the name says.", _crops(balls), _BALLS)
        for balls in range(1, 7)
    },
    "sm-mnist": Preset(
        "Stochastic Moving MNIST: digits bounce off walls in random directions; 0-7 train, 8-9 test (SVG, BRIMs).",
        MovingMNISTConfig(),
        _DIGITS,
    ),
    "sm-mnist-svg": Preset(
        "The same by SVG's own code, to the bit: all ten classes, clips in order from one stream (SVG).",
        MovingMNISTConfig(law="svg", train_digits=_ALL_DIGITS, test_digits=_ALL_DIGITS),
        _DIGITS,
    ),
    "srivastava": Preset(
        "Moving MNIST: two digits bounce off the walls; overlaps show the brighter pixel (Srivastava, OpenSTL).",
        MovingMNISTConfig(
            law="srivastava",
            frames=20,
            digit_size=28,
            speed=3.6,
            overlap="max",
            train_digits=_ALL_DIGITS,
            test_digits=_ALL_DIGITS,
        ),
        _DIGITS,
    ),
    "motion3": Preset(
        "One ball that accelerates, keeps its velocity or walks at random (SCOFF).",
        MotionConfig(),
        "videopred.datasets.motion:OneMotion",
    ),
    "switching": Preset(
        "One ball that oscillates along x or y and switches once; two bulbs say which (SCOFF).",
        SwitchingConfig(),
        "videopred.datasets.switching:SwitchingMotion",
    ),
    "occlusion": Preset(
        "Objects that pass behind screens; in the test part some vanish, change or jump (in the style of IntPhys).",
        OcclusionConfig(),
        "videopred.datasets.occlusion:Occlusion",
    ),
}
"""Name -> preset."""


def find_recipe(name: str, **changes: Any) -> DatasetSettings:
    """The recipe of a preset, or one that differs from it.

    Args:
        name: one of DATASETS.
        changes: values that differ, e.g. `height=24`; `videopred generate NAME --help` lists them.

    Raises:
        ValueError: no preset has that name, or its recipe has no such setting or does not take such a value.
    """
    recipe = DATASETS[check.one_of("the data set", name, DATASETS)].recipe
    return type(recipe)(**{**dict(recipe), **changes}) if changes else recipe


def read_recipe(argument: str, must: str, path: Path) -> DatasetSettings:
    """The recipe in a JSON file, alone or under `recipe`: as in cards, and in what `videopred inspect --json` prints.

    Args:
        argument: what the user gave the path as.
        must: what that must be.
        path: the file.

    Raises:
        FileNotFoundError: it is not there. FaultyFileError: it holds no recipe of this version.
    """
    fix = "write one, as `videopred inspect FILE --json` does"
    text = check_path.existing_file(argument, path, fix).read_bytes().removeprefix(BOM_UTF8)
    try:
        with suppress(json.JSONDecodeError, UnicodeDecodeError, RecursionError):  # no JSON, which `load_recipe` tells
            content = json.loads(text, object_pairs_hook=keys_once)
            if isinstance(content, dict) and "recipe" in content:
                _check_beside(content)
                text = json.dumps(content["recipe"]).encode()
        return load_recipe(text)
    except ValueError as error:
        got = f"{path} ({explain(error) if isinstance(error, ValidationError) else error})"
        raise check.FaultyFileError(check.complaint(argument, must, got, fix)) from None


def _check_beside(content: dict[str, Any]) -> None:
    """Refuse settings of a recipe that stand beside it, where they would change nothing."""
    told = {"frames", "height", "width"}  # of a file, as `inspect` tells them
    settings = content["recipe"] if isinstance(content["recipe"], dict) else {}
    beside = [name for name in content if name in settings and name not in told]
    check.require(not beside, ", ".join(beside), "stand within recipe", "it beside", "move it there")


def check_recipe(recipe: Any) -> None:
    """Raise TypeError unless it is the settings of a world."""
    got, fix = f"{recipe!r}, of class {type(recipe).__name__}", "make one with videopred.find_recipe(…)"
    known = isinstance(recipe, tuple(type(preset.recipe) for preset in DATASETS.values()))
    check.require_kind(known, "recipe", "be settings of a world", got, fix)


def open_dataset(path: Path | str) -> "ClipSource":
    """The clips at a path, open for reading: a data file, or a folder of shards.

    Raises:
        FileNotFoundError, ValueError: see `ClipFile` and `ClipFolder`.
        TypeError: it is no path.
    """
    path = check_path.as_path("DATA", path)
    source = "videopred.datasets.clip_folder:ClipFolder" if path.is_dir() else "videopred.datasets.clip_file:ClipFile"
    return find(source)(path)


def make_world(recipe: DatasetSettings | str, mnist: Path | None = None) -> "World":
    """The world that makes clips by a recipe.

    Args:
        recipe: settings of any world, or the name of a preset.
        mnist: folder with the full MNIST, for worlds of digits; the package's own digits when None.

    Raises:
        ValueError: unknown preset; `mnist` for a world without digits; digits that the recipe does not name.
        FileNotFoundError: `mnist` lacks a file.
    """
    if isinstance(recipe, str):
        recipe = find_recipe(recipe)
    world = find(next(preset.world for preset in DATASETS.values() if isinstance(recipe, type(preset.recipe))))
    if isinstance(recipe, MovingMNISTConfig):
        return world(recipe, mnist)
    check.require(mnist is None, "--mnist", "be left out", mnist, "this data set has no digits")
    return world(recipe)
