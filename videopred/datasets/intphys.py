"""Films in the folders of the IntPhys benchmark: the benchmark itself, or what `videopred export intphys` wrote.

    train/NNNNN/              films of the part train; validation/NNNNN/ alike
    dev/O1/NN/{1,2,3,4}/      the four films of a scene, of the part test: half of them are impossible, which is nothing
                              to choose a model by
    test/O1/NNNN/{1,2,3,4}/   the same without labels; of the part test if there is no dev

Each film has scene/scene_001.png and so on, 8-bit red, green and blue; masks/ alike, in grey; depth/, which is not
read and may be missing; and status.json. Which grey is whose stands there in `frames[].masks`, frame by frame, or, in
the release of 2017, in `header.masks`. Our masks count what is called object_1 and so on from 1; all else is
background, occluders too.

Source: bootphon/intphys (saver.py, Utils.cpp), rronan/IntPhys-Baselines (utils.py).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from videopred import check
from videopred.datasets.foreign import ForeignFilms

_PARTS = {"train": "train", "validation": "validation", "dev": "test", "test": "test"}
"""Folder -> the part that its films become."""
_BLOCKS = ("O1", "O2", "O3")


class _Film(NamedTuple):
    """Where a film is, and what its path says."""

    path: Path
    scene: int
    """Counted from 0 over all blocks of a part."""
    block: int
    """1 to 3; 0 in train and validation."""


class _Known(NamedTuple):
    """What is known of all films."""

    frames: int
    height: int
    width: int
    possible: bool
    """Whether they are possible."""
    groups: bool
    """Which grey is whose."""
    deep: int
    """How many films have a folder depth."""


@dataclass(frozen=True)
class ScoredFilms:
    """The films of dev or test, four of each scene, read one by one when they are asked for."""

    place: Path
    """The folder dev or test, or the one given that holds O1, O2 or O3."""
    folders: Sequence[str]
    """Of each film, such as O1/0001/1."""
    headers: Sequence[Mapping[str, Any]] | None
    """Of their status.json; None if they have none."""
    frames: int
    """Of each film, as many as are shown."""
    read: Callable[[int], np.ndarray]
    """Film -> (T, H, W, 3) uint8, 0 to 255."""


def holds_intphys(path: Path) -> bool:
    """Whether a path is a folder of IntPhys, or one of its parts; only names are looked at."""
    return path.is_dir() and bool(_folders(path))


def read_intphys(
    folder: Path | str,
    *,
    height: int | None = None,
    width: int | None = None,
    every: int = 1,
    labels_needed: bool = True,
) -> ForeignFilms:
    """The films in a folder of IntPhys, read one by one when they are asked for.

    Records hold features, labels/scene, labels/block (0 in train) and, if they are known of all films, labels/possible
    and groups. Films of train are possible, whether or not they say so.

    Args:
        folder: the benchmark's folder, or its train, dev or test.
        height, width: size that pictures are brought to, by Pillow's bilinear filter, and masks, by the nearest pixel;
            as they are when None.
        every: keep every n-th frame, from the first on.
        labels_needed: refuse films to be scored that do not say whether they are possible.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: it has another layout, a film lacks frames or labels, or films differ in length; and, when a film
            is asked for: a picture is damaged or of another size or kind, or its status.json makes no sense.
    """
    folder = Path(folder)
    if not folder.is_dir():
        fix = "give the folder that holds train, dev or test"
        raise FileNotFoundError(check.complaint("SOURCE", "be an existing folder", folder, fix))
    folders = _folders(folder)
    _require(bool(folders), "hold films such as train/00001/scene or dev/O1/01/1/scene", "none", folder)
    left_out = folders.pop("test", None) if "dev" in folders else None
    parts = {_PARTS[name]: list(_films(place)) for name, place in folders.items()}
    known = _look([film for films in parts.values() for film in films], labels_needed)
    shown = _shown(known, every)
    size = (known.height, known.width) if height is None or width is None else (height, width)

    def record(part: str, index: int) -> dict[str, np.ndarray]:
        return _record(parts[part][index], known, size, every)

    found = _found(known, size, {part: len(films) for part, films in parts.items()})
    found |= {"frames": shown, "every": every}
    if left_out is not None:
        found["left_out"] = f"{left_out}, because dev is the part test; import it alone"
    return ForeignFilms(found, {part: len(films) for part, films in parts.items()}, record)


def scored_films(folder: Path | str, *, height: int, width: int, every: int = 1) -> ScoredFilms:
    """The films of a folder of IntPhys that are to be scored: those of dev or, if there is none, of test.

    Args:
        folder: the benchmark's folder, or its dev or test.
        height, width: size that pictures are brought to, by Pillow's bilinear filter.
        every: show every n-th picture, from the first on.

    Raises:
        FileNotFoundError, ValueError: as `read_intphys`; fewer than two frames would be left, or a status.json does
            not say whether its film is possible.
    """
    folder = Path(folder)
    folders = _folders(folder) if folder.is_dir() else {}
    place = folders.get("dev") or folders.get("test")
    _require(place is not None, "hold films to be scored, such as dev/O1/01/1/scene", "none", folder)
    assert place is not None
    films = list(_films(place))
    known = _look(films, labels_needed=False)
    shown = _shown(known, every)
    headers = [_status(film.path)["header"] for film in films] if known.possible else None
    for film, header in zip(films, headers or [], strict=False):
        _require_label(film, header)

    def read(index: int) -> np.ndarray:
        pictures = _read(films[index].path, "scene", "RGB", known, every)
        return np.stack([_resized(pixels, (height, width), Image.Resampling.BILINEAR) for pixels in pictures])

    return ScoredFilms(place, ["/".join(film.path.parts[-3:]) for film in films], headers, shown, read)


def _shown(known: _Known, every: int) -> int:
    """How many frames are left of a film."""
    shown = len(range(0, known.frames, every))
    must, fix = f"leave two frames or more of {known.frames}", "lower it"
    check.require(shown > 1, "--every", must, f"{every}, which leaves {shown}", fix)
    return shown


def _found(known: _Known, size: tuple[int, int], clips: Mapping[str, int]) -> dict[str, Any]:
    """What is said to the user."""
    before = (
        f"from {known.height} x {known.width} (height x width), by Pillow's bilinear filter, masks by nearest pixel"
    )
    return {
        "format": "folder of IntPhys",
        "clips": ", ".join(f"{part} {count}" for part, count in clips.items()),
        "frames": known.frames,
        "height": size[0],
        "width": size[1],
        "channels": 3,
        "labels": "possible, scene, block" if known.possible else "scene, block; no status.json says what is possible",
        "groups": "objects, but not occluders" if known.groups else "left out; nothing says which grey is whose",
        "depth": _depth(known.deep, sum(clips.values())),
        "resized": "no" if size == (known.height, known.width) else before,
    }


def _depth(films: int, of: int) -> str:
    """What is said of depth maps."""
    there = "there" if films == of else f"in {films} of {of} films" if films else "not there"
    return f"{there}; nothing here reads it"


# --- where films are -----------------------------------------------------------------------------------------


def _folders(folder: Path) -> dict[str, Path]:
    """Name such as train -> the folder that holds films so; only names are looked at."""
    there = {name: folder / name for name in _PARTS if _holds_blocks(folder / name) or _holds_films(folder / name)}
    if not there and _holds_blocks(folder):
        return {"test": folder}
    return there or ({"train": folder} if _holds_films(folder) else {})


def _holds_blocks(folder: Path) -> bool:
    return any((folder / block).is_dir() for block in _BLOCKS)


def _holds_films(folder: Path) -> bool:
    return folder.is_dir() and any(path.name.isdecimal() and (path / "scene").is_dir() for path in folder.iterdir())


def _numbered(folder: Path) -> list[Path]:
    """The folders in it whose names are numbers, in their order."""
    return sorted((path for path in folder.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))


def _films(folder: Path) -> Iterator[_Film]:
    """The films of a folder such as train or dev, in the order of blocks, scenes and numbers."""
    if not _holds_blocks(folder):
        yield from (_Film(path, scene, 0) for scene, path in enumerate(_numbered(folder)))
        return
    blocks = {number: folder / name for number, name in enumerate(_BLOCKS, start=1) if (folder / name).is_dir()}
    scenes = [(number, scene) for number, block in blocks.items() for scene in _numbered(block)]
    _require(bool(scenes), "hold scenes such as O1/01", "none", folder)
    for number, (block, scene) in enumerate(scenes):
        films = _numbered(scene)
        names = ", ".join(film.name for film in films)
        _require(names == "1, 2, 3, 4", "hold films 1, 2, 3, 4 of every scene", names or "none", scene)
        yield from (_Film(film, number, block) for film in films)


# --- what is known of all of them ----------------------------------------------------------------------------


def _look(films: Sequence[_Film], labels_needed: bool) -> _Known:
    """What is known of all films. Only the first is opened; of the others, names are looked at."""
    lengths: dict[int, Path] = {}
    for film in films:
        lengths.setdefault(len(_pictures(film.path, "scene")), film.path)
    got = " and ".join(f"{frames} frames in {path}" for frames, path in lengths.items())
    check.require_sound(len(lengths) == 1, "SOURCE", "hold films of one length", got, "complete or remove some")
    [(frames, first)] = lengths.items()
    _require(frames > 1, "hold films of two frames or more", frames, first)
    scored = [film.path for film in films if film.block]
    silent = [path for path in scored if not (path / "status.json").is_file()]
    where = silent[0] if silent else first
    _require(len(silent) in (0, len(scored)), "have status.json in all films or in none", "none", where)
    _require(not (silent and labels_needed), "be labelled: have status.json in each film", "none", where)
    for mates in (scored, [film.path for film in films if not film.block]):
        bare = [path for path in mates if not (path / "masks").is_dir()]
        missing = bare[0] if bare else first
        _require(len(bare) in (0, len(mates)), "have masks in all films or in none", "none", missing)
    height, width, _ = _picture(_pictures(first, "scene")[0], "RGB").shape
    told = all((film.path / "status.json").is_file() and (film.path / "masks").is_dir() for film in films)
    groups = told and _greys(_status(first), 0) is not None
    return _Known(frames, height, width, not silent, groups, sum((film.path / "depth").is_dir() for film in films))


def _pictures(film: Path, kind: str) -> list[Path]:
    """The pictures of one kind of a film, such as scene_001.png, none of which is missing."""
    folder, form = film / kind, re.compile(rf"{kind}_(\d+)\.png")
    named = {path: form.fullmatch(path.name) for path in (folder.iterdir() if folder.is_dir() else ())}
    numbers = {int(name[1]): path for path, name in named.items() if name}
    missing = next((number for number in range(1, len(numbers) + 1) if number not in numbers), None)
    _require(bool(numbers), f"hold pictures such as {kind}_001.png", "none", folder)
    _require(missing is None, "hold every frame", f"none of number {missing}", folder)
    return [numbers[number] for number in sorted(numbers)]


# --- one film ------------------------------------------------------------------------------------------------


def _record(film: _Film, known: _Known, size: tuple[int, int], every: int) -> dict[str, np.ndarray]:
    """A film as our files have it, of every n-th frame."""
    status = _status(film.path) if known.groups or (known.possible and film.block) else {}
    features = [
        _resized(pixels, size, Image.Resampling.BILINEAR) for pixels in _read(film.path, "scene", "RGB", known, every)
    ]
    record = {"features": np.stack(features)}
    if known.groups:
        masks = zip(range(0, known.frames, every), _read(film.path, "masks", "L", known, every), strict=True)
        numbers = (_numbers(film.path, _greys(status, t))[grey] for t, grey in masks)
        record["groups"] = np.stack([_resized(number, size, Image.Resampling.NEAREST) for number in numbers])[..., None]
    record["labels/scene"] = np.array(film.scene, np.int64)
    record["labels/block"] = np.array(film.block, np.uint8)
    if known.possible:
        record["labels/possible"] = np.array(_require_label(film, status["header"]) if film.block else True)
    return record


def _require_label(film: _Film, header: Mapping[str, Any]) -> bool:
    """Whether a film is possible, if its status.json says so."""
    possible = header.get("is_possible")
    must = "say in status.json whether it is possible"
    _require(isinstance(possible, bool), must, f"is_possible = {possible}", film.path)
    return bool(possible)


def _read(film: Path, kind: str, mode: str, known: _Known, every: int = 1) -> Iterator[np.ndarray]:
    """The pictures of one kind of a film, or every n-th of them, of the size and number that are known."""
    paths = _pictures(film, kind)
    _require(len(paths) == known.frames, f"hold {known.frames} pictures, as many as frames", len(paths), film / kind)
    for path in paths[::every]:
        pixels = _picture(path, mode)
        got, must = f"{pixels.shape[0]} x {pixels.shape[1]}", f"{known.height} x {known.width} (height x width)"
        same = pixels.shape[:2] == (known.height, known.width)
        _require(same, f"hold pictures of one size, {must}", got, path)
        yield pixels


def _picture(path: Path, mode: str) -> np.ndarray:
    """(H, W) or (H, W, 3) uint8: the pixels of a PNG file."""
    try:
        with Image.open(path) as image:
            image.load()
    except (OSError, SyntaxError, ValueError) as error:  # Pillow raises all three on damage
        fix = "fetch or write it again"
        raise check.FaultyFileError(
            check.complaint("SOURCE", "hold whole PNG files", f"{path} ({error})", fix)
        ) from None
    _require(image.mode == mode, f"hold 8-bit {'grey levels' if mode == 'L' else mode}", f"mode {image.mode}", path)
    return np.asarray(image)


def _resized(pixels: np.ndarray, size: tuple[int, int], how: Image.Resampling) -> np.ndarray:
    if pixels.shape[:2] == size:
        return pixels
    return np.asarray(Image.fromarray(pixels).resize(size[::-1], how))


def _status(film: Path) -> dict[str, Any]:
    """What status.json says."""
    path = film / "status.json"
    try:
        status = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        fix = "fetch or write it again"
        raise check.FaultyFileError(
            check.complaint("SOURCE", "hold status.json files", f"{path} ({error})", fix)
        ) from None
    sound = isinstance(status, dict) and isinstance(status.get("header"), dict)
    _require(sound, "hold status.json files with a header", "none", path)
    return status


def _greys(status: Mapping[str, Any], t: int) -> Mapping[str, int] | None:
    """Name -> grey level at a frame; None if status.json does not say."""
    if "masks" in status["header"]:
        return status["header"]["masks"]
    frames = status.get("frames", [])
    return frames[t].get("masks") if t < len(frames) else None


def _numbers(film: Path, greys: Mapping[str, int] | None) -> np.ndarray:
    """(256,) uint8: the object's number of each grey level; 0 for all that is no object."""
    _require(isinstance(greys, dict), "say in status.json which grey is whose, in every frame", "nothing", film)
    numbers, levels = np.zeros(256, np.uint8), [*(greys or {}).values()]
    for name, grey in (greys or {}).items():
        if found := re.fullmatch(r"object_(\d+)", name):
            alone = levels.count(grey) == 1 and grey in range(256) and int(found[1]) in range(1, 256)
            _require(alone, "give each object, 1 to 255, a grey level of its own", f"{grey} for {name}", film)
            numbers[grey] = int(found[1])
    return numbers


def _require(condition: bool, must: str, got: Any, where: Path) -> None:
    check.require_sound(condition, "SOURCE", must, f"{got} in {where}", "complete or remove it")
