"""How the folders of the IntPhys benchmark are laid out, and what the names and status.json in them say.

    train/NNNNN/              films of the part train; validation/NNNNN/ alike
    dev/O1/NN/{1,2,3,4}/      the four films of a scene, of the part test and not validation: no model should be
                              chosen by films half of which are impossible
    test/O1/NNNN/{1,2,3,4}/   the same without labels; of the part test if there is no dev

Each film has scene/scene_001.png and so on, 8-bit red, green and blue; masks/ alike, in grey; depth/, which is not
read and may be missing; and status.json. Which grey is whose stands there in `frames[].masks`, frame by frame, or, in
the release of 2017, in `header.masks`.

Source: bootphon/intphys (saver.py, Utils.cpp), rronan/IntPhys-Baselines (utils.py).
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from videopred import check
from videopred.datasets.foreign_films import visible, whole_source
from videopred.datasets.scene_names import BLOCKS

PARTS = {"train": "train", "validation": "validation", "dev": "test", "test": "test"}
"""Folder -> the part that its films become."""
REFETCH = "fetch or write it again"
"""What to do about a damaged file."""


class Film(NamedTuple):
    """Where a film is, and what its path says."""

    path: Path
    scene: int
    """Counted from 0 over all blocks of a part."""
    block: int
    """1 to 3; 0 in train and validation."""


def holds_intphys(path: Path) -> bool:
    """Whether a path is a folder of IntPhys, or one of its parts; only names are looked at."""
    return path.is_dir() and bool(part_folders(path))


def part_folders(folder: Path) -> dict[str, Path]:
    """Name of a part, such as train -> the folder that holds its films; only names are looked at."""
    there = {name: folder / name for name in PARTS if _holds_blocks(folder / name) or _holds_films(folder / name)}
    if not there and _holds_blocks(folder):
        return {"test": folder}
    whole = folder.resolve()
    scene = whole.parent.name in BLOCKS  # its four films are of test, but a scene alone is no part
    part = "validation" if whole.name == "validation" else "train"
    return there or ({part: folder} if _holds_films(folder) and not scene else {})


def part_around(folder: Path) -> Path | None:
    """The dev or test that a folder is a block or a scene of; only names are looked at."""
    whole = folder.resolve()
    above = [whole.parent] if whole.name in BLOCKS else [whole.parent.parent] if whole.parent.name in BLOCKS else []
    return next((part for part in above if folder.is_dir() and part.name in PARTS), None)


def _holds_blocks(folder: Path) -> bool:
    return any((folder / block).is_dir() for block in BLOCKS)


def _holds_films(folder: Path) -> bool:
    return folder.is_dir() and any(path.name.isdecimal() and (path / "scene").is_dir() for path in folder.iterdir())


def _numbered(folder: Path) -> list[Path]:
    """The folders in it whose names are numbers, in their order; no other may hold films."""
    folders = [path for path in visible(folder) if path.is_dir()]
    odd = next((path for path in folders if not path.name.isdecimal() and _holds_pictures(path)), None)
    must, fix = "hold films and scenes in folders whose names are numbers", "give it a number, or move it away"
    check.require_sound(odd is None, "SOURCE", must, odd, fix)
    return [path for path in folders if path.name.isdecimal()]


def _holds_pictures(folder: Path) -> bool:
    """Whether it seems to be a film, a scene or a block, whatever it and the folders in it are called."""
    return any(any(folder.glob(f"{above}scene")) for above in ("", "*/", "*/*/"))


def films_in(folder: Path) -> Iterator[Film]:
    """The films of a folder such as train or dev, in the order of blocks, scenes and numbers."""
    if not _holds_blocks(folder):
        yield from (Film(path, scene, 0) for scene, path in enumerate(_numbered(folder)))
        return
    others = [path for path in visible(folder) if path.name not in BLOCKS and path.is_dir()]
    beside = ", ".join(path.name for path in others if _holds_pictures(path))
    require_in(not beside, f"hold scenes in {', '.join(BLOCKS)} alone", beside, folder)
    blocks = {number: folder / name for number, name in enumerate(BLOCKS, start=1) if (folder / name).is_dir()}
    scenes = [(number, scene) for number, block in blocks.items() for scene in _numbered(block)]
    require_in(bool(scenes), "hold scenes such as O1/01", "none", folder)
    for number, (block, scene) in enumerate(scenes):
        films = _numbered(scene)
        names = ", ".join(film.name for film in films)
        require_in(names == "1, 2, 3, 4", "hold films 1, 2, 3, 4 of every scene", names or "none", scene)
        yield from (Film(film, number, block) for film in films)


def pictures_of(film: Path, kind: str) -> list[Path]:
    """The pictures of one kind of a film, such as scene_001.png, none of which is missing."""
    folder, form = film / kind, re.compile(rf"{kind}_(\d+)\.png")
    numbers: dict[int, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if named := form.fullmatch(path.name):
            other = numbers.setdefault(int(named[1]), path)
            require_in(other is path, "hold each frame once", f"{other.name} and {path.name}", folder)
    missing = next((number for number in range(1, len(numbers) + 1) if number not in numbers), None)
    require_in(bool(numbers), f"hold pictures such as {kind}_001.png", "none", folder)
    require_in(missing is None, "hold every frame, counted from 1", f"none of number {missing}", folder)
    return [numbers[number] for number in sorted(numbers)]


def status_of(film: Path) -> dict[str, Any]:
    """What status.json says."""
    path = film / "status.json"
    with whole_source(path, (OSError, ValueError), "hold status.json files", REFETCH):
        status = json.loads(path.read_text(encoding="utf-8"))
    sound = isinstance(status, dict) and isinstance(status.get("header"), dict)
    require_in(sound, "hold status.json files with a header", "none", path)
    frames = status.get("frames", [])
    sound = isinstance(frames, list) and all(isinstance(frame, dict) for frame in frames)
    require_in(sound, "hold status.json files with a list of what is in each frame", "something else", path)
    return status


def greys_at(status: Mapping[str, Any], t: int) -> Mapping[str, int] | None:
    """Name -> grey level at a frame; None if status.json does not say."""
    if "masks" in status["header"]:
        return status["header"]["masks"]
    frames = status.get("frames", [])
    return frames[t].get("masks") if t < len(frames) else None


def require_in(condition: bool, must: str, got: Any, where: Path) -> None:
    """Raise FaultyFileError unless the condition, which is about what is at a path, holds."""
    check.require_sound(condition, "SOURCE", must, f"{got} in {where}", "complete or remove it")
