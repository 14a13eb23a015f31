"""Recipes refuse what no world can be made of, in one line that says what to do."""

import json
import re
import subprocess
import sys

import pytest

from videopred.check import FaultyFileError
from videopred.datasets import find_recipe, make_world, read_recipe
from videopred.datasets.settings import (
    BallsConfig,
    MotionConfig,
    MovingMNISTConfig,
    OcclusionConfig,
    SwitchingConfig,
    load_recipe,
)
from videopred.files import write_json


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"masses": (1.0,)},
            "--masses must be 2 numbers, one for each of --radii, got 1; give one mass per radius",
        ),
        ({"radii": (0.8, 5.0)}, "--radii must be below 5 arena units, half the shorter side of the arena, got"),
        ({"radii": (0.8, 3.75), "width": 48}, "--radii must be below 3.75 arena units, half the shorter side"),
        ({"radii": (0.1, 1.0)}, "--radii must be at least 0.1105 arena units, 0.71 px, got 0.1 1; choose larger"),
        ({"balls": (3, 13)}, "got 13 balls of radius 1 = 40.8 %; choose fewer or smaller balls"),
        ({"masses": (1.0, 1e39)}, "--masses must be less than or equal to 1000000, got 1e+39"),
        ({"masses": (1.0, -6.0)}, "--masses must be greater than or equal to 0.000001, got -6.0"),
        ({"balls": ()}, "balls must"),
        ({"balls": (0,)}, "--balls must be greater than or equal to 1, got 0"),
        ({"frames": 1}, "frames must be greater than or equal to 2, got 1"),
        ({"speed": 0.0}, "speed must be greater than 0, got 0.0"),
        ({"speed": 10.1}, "--speed must be less than or equal to 10, got 10.1"),
        ({"gravity": 1.1}, "--gravity must be less than or equal to 1, got 1.1"),
        ({"drag": 1.0}, "drag must be a known setting"),
        ({"gravity": -0.1}, "gravity must be greater than or equal to 0, got -0.1"),
        ({"restitution": 0.0}, "restitution must be greater than 0, got 0.0"),
        ({"restitution": 1.1}, "restitution must be less than or equal to 1, got 1.1"),
        ({"engine": "euler"}, "engine must be 'exact', 'rnem' or 'sutskever', got 'euler'"),
        (
            {"balls": (254,), "radii": (0.12,), "masses": (1.0,), "fixed": ((3.0, 3.0), (4.0, 4.0))},
            "--balls must be at most 255 together with the --fixed ones: masks hold no more, got 256; choose",
        ),
        (
            {"fixed": ((5.0, 5.0), (0.7, 5.0))},
            "--fixed must lie within the walls: x from 0.8 to 9.2, y from 0.8 to 9.2"
            ", got 0.7 5; move it, or choose a smaller first of --radii",
        ),
        ({"fixed": ((5.0, 9.5),), "width": 96}, "--fixed must lie within the walls: x from 0.8 to 14.2, y from 0.8 to"),
        (
            {"fixed": ((5.0, 5.0), (5.0, 6.5))},
            "--fixed must be at least 1.6 arena units apart, two radii, got 5 5 and 5 6.5; move one of them",
        ),
        (
            {"fixed": ((5.0, 5.0),), "gravity": 0.1},
            "--fixed must be left out with --gravity, got 5 5; no law",
        ),
        (
            {"engine": "rnem", "gravity": 0.1},
            "--engine must be exact with --gravity, got rnem; choose --engine exact or leave out --gravity",
        ),
        (
            {"engine": "sutskever", "restitution": 0.9},
            "--engine must be exact with --restitution below 1, got sutskever",
        ),
        ({"engine": "rnem", "walls": False}, "--engine must be exact with --no-walls, got rnem; choose --engine exact"),
        ({"engine": "sutskever", "fixed": ((5.0, 5.0),)}, "--engine must be exact with --fixed, got sutskever; choose"),
        ({"curtain": (65, 8)}, "--curtain must be within the frame, at most 64 64, got 65 8; choose a smaller curtain"),
        (
            {"curtain": (64, 64)},
            "--curtain must leave some of the frame to be seen, got 64 64; choose a smaller",
        ),
        (
            {"curtain": (8, 49), "width": 48},
            "--curtain must be within the frame, at most 64 48, got 8 49; choose a sma",
        ),
        ({"curtain_place": "center"}, "--curtain-place must come with --curtain, got center; give --curtain, or leave"),
        ({"curtain": (-1, 8)}, "curtain must be greater than or equal to 0, got -1"),
        (
            {"colors": "distinct", "balls": (2, 5)},
            "--colors must be white or palette with more than 4 balls, got distinct"
            " with 5 balls; choose fewer balls, or let colors repeat",
        ),
        ({"colors": "distinct", "balls": (4,), "fixed": ((5.0, 5.0),)}, "got distinct with 5 balls"),
        ({"height": 64.0}, "height must be a valid integer"),
    ],
)
def test_balls_that_cannot_be(changes, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        BallsConfig(**changes)


def test_balls_at_every_bound_can_be_placed():
    tight = BallsConfig(frames=2, height=32, width=44, balls=(9,), radii=(1.39,), masses=(1.0,))
    assert len(list(make_world(tight).clips(0, "train", range(20)))) == 20


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"digit_size": 45, "height": 48}, "--digit-size must be at most 44, the frame's shorter side less --speed"),
        ({"digits": ()}, "--digits must have at least 1 item"),
        ({"digits": (4,)}, "--digits must be less than or equal to 3, got 4"),
        ({"test_digits": (10,)}, "--test-digits must be less than or equal to 9, got 10"),
        ({"speed": 0}, "speed must be greater than 0, got 0"),
        (
            {"speed": 1e9},
            "--speed must be at most 63, a pixel less than the frame's shorter side, got 1000000",
        ),
        ({"digit_size": 65}, "--digit-size must be at most 60, the frame's shorter side less --speed, got 65; choose"),
        ({"digit_size": 62, "speed": 2.5, "law": "srivastava"}, "--digit-size must be at most 61, the frame's"),
        ({"frames": 0}, "--frames must be greater than or equal to 2, got 0"),
        ({"speed": 3.6}, "--speed must be a whole number by the law fixed, got 3.6; choose e.g. 4, or --law sriv"),
        ({"digits": (1, 2), "law": "svg"}, "--digits must be one number by the law svg, got 1 2; choose e.g. 2,"),
        (
            {"train_digits": ()},
            "--train-digits must name at least one class of digits, and none twice, got nothing; choose",
        ),
        ({"validation_digits": ()}, "--validation-digits must name at least one class of digits, and none twice, got"),
        ({"test_digits": (3, 8, 3)}, "--test-digits must name at least one class of digits, and none twice, got 3 8 3"),
        ({"train_digits": (-1,)}, "--train-digits must be greater than or equal to 0, got -1"),
        ({"validation_digits": (10,)}, "--validation-digits must be less than or equal to 9, got 10"),
        ({"overlap": "sum"}, "--overlap must be 'add' or 'max', got 'sum'"),
    ],
)
def test_digits_that_cannot_be(changes, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        MovingMNISTConfig(**changes)


def test_the_least_that_messages_name_is_allowed():
    """Also where it is rounded, or where a difference of floats is a little less."""
    assert BallsConfig(radii=(0.1105,), masses=(1.0,)).radii == (0.1105,)
    assert SwitchingConfig(radius=0.1105).radius == 0.1105
    assert len(BallsConfig(fixed=((4.5, 5.0), (6.1, 5.0))).fixed) == 2
    assert [BallsConfig(curtain=(rows, columns)).has_curtain for rows, columns in ((64, 63), (63, 64), (0, 64))] == [
        True, True, False
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"--fixed must lie within the walls: x from 0\.8 to 15\.8667, y from"):
        BallsConfig(height=48, width=80, fixed=((15.87, 5.0),))
    assert len(BallsConfig(height=48, width=80, fixed=((15.8667, 5.0),)).fixed) == 1


def test_what_frames_look_like_follows_from_the_recipe():
    assert (BallsConfig().channels, BallsConfig().binary) == (1, True)
    assert (BallsConfig(colors="palette").channels, BallsConfig(colors="palette").binary) == (3, False)
    assert (BallsConfig(edges="smooth").channels, BallsConfig(edges="smooth").binary) == (1, False)
    assert (BallsConfig(curtain=(9, 9)).channels, BallsConfig(curtain=(9, 9)).binary) == (1, True)


@pytest.mark.parametrize(
    ("settings", "changes", "complaint"),
    [
        (
            MotionConfig,
            {"radius": 5.0},
            "--radius must be below 5 arena units, half the shorter side of the box, got 5",
        ),
        (MotionConfig, {"radius": 4.0, "width": 48}, "--radius must be below 3.75 arena units, half the shorter side"),
        (
            SwitchingConfig,
            {"radius": 0.1},
            "--radius must be at least 0.1105 arena units, 0.71 px, got 0.1; choose a",
        ),
        (MotionConfig, {"walk_speed": (0.2, 0.1)}, "--walk-speed must be the least, then the greatest, got 0.2 0.1; s"),
        (MotionConfig, {"walk_speed": (0.2, 9.0)}, "--walk-speed must be at most 8.39992, from wall to wall in a fra"),
        (
            MotionConfig,
            {"frames": 60},
            "--acceleration must be at most 0.00466662, with which the ball stays inside for 60 frames, got 0.006; cho",
        ),
        (
            MotionConfig,
            {"frames": 60, "modes": ("constant",)},
            "--constant-speed must be at most 0.139999, with which the ball stays inside for 60 frames, got 0.15; cho",
        ),
        (MotionConfig, {"modes": ()}, "--modes must have at least 1 item"),
        (MotionConfig, {"modes": ("run",)}, "--modes must be 'accelerate', 'constant' or 'walk', got 'run'"),
        (MotionConfig, {"turn": -1.0}, "--turn must be greater than or equal to 0, got -1.0"),
        (MotionConfig, {"acceleration": (0.0, 0.1)}, "--acceleration must be greater than 0, got 0.0"),
        (SwitchingConfig, {"speed": (0.3, 0.2)}, "--speed must be the least, then the greatest, got 0.3 0.2; swap"),
        (SwitchingConfig, {"speed": (0.3, 8.5)}, "--speed must be at most 8.39992, from wall to wall in a frame, got"),
        (SwitchingConfig, {"switch": (9, 51)}, "--switch must be at most 50, the last frame, got 51; choose a smaller"),
        (SwitchingConfig, {"switch": (9, 8)}, "--switch must be the least, then the greatest, got 9 8; swap them"),
        (SwitchingConfig, {"switch": (0, 8)}, "--switch must be greater than 0, got 0"),
        (SwitchingConfig, {"height": 23}, "--height must be greater than or equal to 24, got 23"),
        (SwitchingConfig, {"width": 26}, "--width must be at least 27, for the bulbs, the ball and an arena unit"),
        (SwitchingConfig, {"frames": 0}, "--frames must be greater than or equal to 2, got 0"),
    ],
)
def test_single_balls_that_cannot_be(settings, changes, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        settings(**changes)


def test_the_greatest_value_that_a_complaint_names_is_allowed():
    assert MotionConfig(
        frames=60, modes=("accelerate", "constant"), acceleration=(0.001, 0.00466662), constant_speed=(0.1, 0.139999)
    )


def test_the_papers_protocols():
    assert (BallsConfig().context, BallsConfig().horizon) == (15, 35)
    assert (MovingMNISTConfig().context, MovingMNISTConfig().horizon) == (5, 25)
    assert (OcclusionConfig().context, OcclusionConfig().horizon) == (20, 80)
    short = BallsConfig(frames=7)
    assert (short.context, short.horizon) == (3, 4), "at most half is given, and the rest imagined"


def test_an_unknown_preset_offers_the_nearest():
    with pytest.raises(ValueError, match=r"must be one of .*balls4.*, got bals4; did you mean balls4\?"):
        find_recipe("bals4")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"kind": "cubes"}', "does not match any of the expected tags: 'balls', 'moving-mnist'"),
        ('{"kind": "balls", "drag": 1}', "drag must be a known setting"),
        ('{"balls": [4]}', "Unable to extract tag"),
        ("{", "Invalid JSON"),
    ],
)
def test_a_foreign_recipe_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        load_recipe(text)


def test_listing_the_worlds_is_light():
    code = "import sys, videopred.datasets; print(sorted({'torch', 'numpy', 'h5py', 'PIL'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_settings_beside_a_recipe_are_refused_and_what_inspect_tells_of_a_file_is_not(tmp_path):
    path, recipe = tmp_path / "mine.json", json.loads(find_recipe("balls4").model_dump_json())
    write_json(path, {"recipe": recipe, "name": "mine", "frames": 20, "height": 64})
    assert read_recipe("DATA", "be a recipe", path) == find_recipe("balls4")
    write_json(path, {"recipe": recipe, "curtain": [20, 20]})
    with pytest.raises(ValueError, match=r"\(curtain must stand within recipe, got it beside; move it there\)"):
        read_recipe("DATA", "be a recipe", path)
    for other in (3, "curtain", None):
        write_json(path, {"recipe": other, "curtain": [20, 20]})
        with pytest.raises(FaultyFileError, match=r"mine\.json \("):
            read_recipe("DATA", "be a recipe", path)
