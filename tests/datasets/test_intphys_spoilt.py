"""Folders of IntPhys with something wrong: one clear line that names it."""

import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from videopred.check import FaultyFileError
from videopred.datasets.intphys import read_intphys


def rewrite(path: Path, **changes: object) -> None:
    status = json.loads(path.read_text())
    status["header"] |= changes
    path.write_text(json.dumps(status))


def say(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def shrink(path: Path) -> None:
    with Image.open(path) as image:
        image.resize((20, 10)).save(path)


def make_grey(path: Path) -> None:
    with Image.open(path) as image:
        image.convert("L").save(path)


SPOILT = {
    "a missing frame": (
        lambda dev, train: (dev / "2/scene/scene_09.png").unlink(),
        "SOURCE must hold every frame, counted from 1, got none of number 9 in ",
    ),
    "frames counted from 0": (
        lambda dev, train: [
            (dev / f"2/scene/scene_{number:02}.png").rename(dev / f"2/scene/scene_{number - 1:02}.png")
            for number in range(1, 32)
        ],
        "SOURCE must hold every frame, counted from 1, got none of number 31 in ",
    ),
    "a missing last frame": (
        lambda dev, train: (dev / "2/scene/scene_31.png").unlink(),
        "SOURCE must hold films of one length, got 31 frames in ",
    ),
    "a missing mask": (
        lambda dev, train: (dev / "2/masks/masks_09.png").unlink(),
        "SOURCE must hold every frame, counted from 1, got none of number 9 in ",
    ),
    "too few masks": (
        lambda dev, train: (dev / "2/masks/masks_31.png").unlink(),
        "SOURCE must hold 31 pictures, as many as frames, got 30 in ",
    ),
    "no scene": (
        lambda dev, train: shutil.rmtree(dev / "2/scene"),
        "SOURCE must hold pictures such as scene_001.png, got none in ",
    ),
    "a missing film": (
        lambda dev, train: shutil.rmtree(dev / "3"),
        "SOURCE must hold films 1, 2, 3, 4 of every scene, got 1, 2, 4 in ",
    ),
    "a block of another name": (
        lambda dev, train: shutil.copytree(dev.parent, dev.parents[1] / "block 4"),
        "SOURCE must hold scenes in O1, O2, O3 alone, got block 4 in ",
    ),
    "a block and a scene of other names": (
        lambda dev, train: shutil.copytree(dev, dev.parents[1] / "block 4" / "scene1"),
        "SOURCE must hold scenes in O1, O2, O3 alone, got block 4 in ",
    ),
    "a scene without a number": (
        lambda dev, train: shutil.copytree(dev, dev.parent / "scene1"),
        "SOURCE must hold films and scenes in folders whose names are numbers, got {dev}/O1/scene1; give it a number",
    ),
    "a film of a scene without a number": (
        lambda dev, train: shutil.copytree(dev / "2", dev / "2b"),
        "SOURCE must hold films and scenes in folders whose names are numbers, got {dev}/O1/0001/2b; give it a number",
    ),
    "a film of train without a number": (
        lambda dev, train: (train / "00001").rename(train / "first"),
        "SOURCE must hold films and scenes in folders whose names are numbers, got {train}/first; give it a number",
    ),
    "frames that are numbers": (
        lambda dev, train: say(dev / "2/status.json", frames=[1, 2, 3]),
        "SOURCE must hold status.json files with a list of what is in each frame, got something else in ",
    ),
    "no list of frames": (
        lambda dev, train: say(dev / "2/status.json", frames=None),
        "SOURCE must hold status.json files with a list of what is in each frame, got something else in ",
    ),
    "one status.json less": (
        lambda dev, train: (dev / "2/status.json").unlink(),
        "SOURCE must have status.json in all films or in none, got none in ",
    ),
    "masks of one film less": (
        lambda dev, train: shutil.rmtree(dev / "2/masks"),
        "SOURCE must have masks in all films or in none, got none in ",
    ),
    "a damaged status.json": (
        lambda dev, train: (dev / "2/status.json").write_text('{"header":'),
        "SOURCE must hold status.json files, got ",
    ),
    "a strange status.json": (
        lambda dev, train: (dev / "2/status.json").write_text("[]"),
        "SOURCE must hold status.json files with a header, got none in ",
    ),
    "no label": (
        lambda dev, train: rewrite(dev / "2/status.json", is_possible="yes"),
        "SOURCE must say in status.json whether it is possible, got is_possible = yes in ",
    ),
    "shared levels": (
        lambda dev, train: rewrite(dev / "2/status.json", masks={"floor": 1, "object_1": 1}),
        "SOURCE must give each object, 1 to 255, a grey level of its own, got 1 for object_1 in ",
    ),
    "levels that are none": (
        lambda dev, train: rewrite(dev / "2/status.json", masks={"object_1": 300}),
        "SOURCE must give each object, 1 to 255, a grey level of its own, got 300 for object_1 in ",
    ),
    "an object with the number of the background": (
        lambda dev, train: rewrite(dev / "2/status.json", masks={"object_0": 101}),
        "SOURCE must give each object, 1 to 255, a grey level of its own, got 101 for object_0 in ",
    ),
    "a level that is no whole number": (
        lambda dev, train: rewrite(dev / "2/status.json", masks={"object_1": 101.0}),
        "SOURCE must give each object, 1 to 255, a grey level of its own, got 101.0 for object_1 in ",
    ),
    "two pictures of one frame": (
        lambda dev, train: (dev / "2/scene/scene_9.png").write_bytes((dev / "2/scene/scene_09.png").read_bytes()),
        "SOURCE must hold each frame once, got scene_09.png and scene_9.png in ",
    ),
    "no levels in one film": (
        lambda dev, train: (dev / "2/status.json").write_text('{"header": {"is_possible": true}}'),
        "SOURCE must say in status.json which grey is whose, in every frame, got nothing in ",
    ),
    "a damaged picture": (
        lambda dev, train: (dev / "2/scene/scene_09.png").write_bytes(b"\x89PNG\r\n\x1a\nhalf"),
        "SOURCE must hold whole PNG files, got ",
    ),
    "half a picture": (
        lambda dev, train: (dev / "2/scene/scene_09.png").write_bytes((dev / "1/scene/scene_09.png").read_bytes()[:90]),
        "SOURCE must hold whole PNG files, got ",
    ),
    "a smaller picture": (
        lambda dev, train: shrink(dev / "2/scene/scene_09.png"),
        "SOURCE must hold pictures of one size, 26 x 38 (height x width), got 10 x 20 in ",
    ),
    "a grey picture": (
        lambda dev, train: make_grey(dev / "2/scene/scene_09.png"),
        "SOURCE must hold 8-bit RGB, got mode L in ",
    ),
    "an empty block": (
        lambda dev, train: shutil.rmtree(dev),
        "SOURCE must hold scenes such as O1/01, got none in ",
    ),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_what_is_wrong_is_one_clear_line(intphys_copy, spoil):
    spoiled, complaint = SPOILT[spoil]
    assert read_intphys(intphys_copy).record("test", 1)["features"].any()
    spoiled(intphys_copy / "dev/O1/0001", intphys_copy / "train")
    places = {part: intphys_copy / part for part in ("dev", "train")}
    with pytest.raises(ValueError, match=re.escape(complaint.format(**places))) as caught:
        read_intphys(intphys_copy).record("test", 1)
    assert "\n" not in str(caught.value)
    assert str(intphys_copy) in str(caught.value)


def test_what_holds_no_films_is_passed_by_and_what_is_hidden(intphys_copy):
    before = read_intphys(intphys_copy)
    (intphys_copy / "dev/O1/0001/7").write_text("mine")
    for name in ("train", "dev", "dev/O1", "dev/O1/0001"):
        (intphys_copy / name / "models" / "run").mkdir(parents=True)
        shutil.copytree(intphys_copy / "train/00002", intphys_copy / name / ".kept/00003")
    assert read_intphys(intphys_copy).parts == before.parts


@pytest.mark.parametrize("masks", [True, False])
def test_impossible_films_of_train_are_refused(intphys_copy, masks):
    """A model would learn from them what it must not see, and their label would say that they are possible."""
    rewrite(intphys_copy / "train/00002/status.json", is_possible=False)
    if not masks:
        for place in intphys_copy.glob("train/*/masks"):
            shutil.rmtree(place)
    found = read_intphys(intphys_copy)
    assert found.record("train", 0)["labels/possible"]
    message = r"^SOURCE must hold no impossible film outside dev and test, got is_possible = False in .*00002; complete"
    with pytest.raises(FaultyFileError, match=message):
        found.record("train", 1)


def test_pictures_of_another_kind_are_to_be_saved_anew(intphys_copy):
    """They are whole: to complete or remove them would not help."""
    make_grey(intphys_copy / "dev/O1/0001/2/scene/scene_09.png")
    with pytest.raises(ValueError, match=r"scene_09\.png; save such pictures anew in Pillow's mode RGB$"):
        read_intphys(intphys_copy).record("test", 1)
