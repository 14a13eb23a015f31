"""Films of the IntPhys benchmark, or of what `videopred export intphys` wrote; intphys_layout.py says where they are.

Our masks count what is called object_1 and so on from 1; all else is background, occluders too.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from videopred import check
from videopred.amounts import parts_told
from videopred.datasets.foreign_films import ConvertedFilms, whole_source
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.intphys_layout import (
    PARTS,
    REFETCH,
    Film,
    films_in,
    greys_at,
    part_folders,
    pictures_of,
    require_in,
    status_of,
)
from videopred.datasets.scene_names import number_scenes

_NO_GROUPS = "left out; not every film has masks, and a status.json that says which grey is whose"


class _Known(NamedTuple):
    """What is the same in all films, and what is known of every one of them."""

    frames: int
    height: int
    width: int
    possible: bool
    """Whether it is known of every film if it is possible."""
    groups: bool
    """Whether it is known of every film which grey of its masks is which object."""
    deep: int
    """How many films have a folder `depth`."""


@dataclass(frozen=True)
class ScoredFilms:
    """The films of dev or test, four of each scene, read one by one when they are asked for."""

    place: Path
    """The folder dev or test, or the one given that holds O1, O2 or O3."""
    folders: Sequence[str]
    """The folder of each film, such as O1/0001/1."""
    headers: Sequence[Mapping[str, Any]] | None
    """The header in each film's status.json; None if the films have none."""
    frames: int
    """How many frames of each film are shown."""
    read: Callable[[int], np.ndarray]
    """Film -> (T, H, W, 3) uint8, 0 to 255."""


def read_intphys(folder: Path, config: ImportConfig = ImportConfig()) -> ConvertedFilms:
    """The films in a folder of IntPhys, read one by one when they are asked for.

    Records hold features, labels/scene, labels/block (0 in train) and, if they are known of all films, labels/possible
    and groups. Films of train are possible, whether or not they say so; those that say they are not are refused.

    Args:
        folder: the benchmark's folder, or its train, validation, dev or test.
        config: which frames to keep, and the size to bring them to: pictures by Pillow's bilinear filter, masks by the
            nearest pixel.

    Raises:
        ValueError: the folder has another layout, a film lacks frames, or films differ in length; and, when a film
            is asked for: a picture is damaged or of another size or kind, or its status.json makes no sense.
    """
    folders = part_folders(folder)
    left_out = folders.pop("test", None) if "dev" in folders else None
    parts = {PARTS[name]: list(films_in(place)) for name, place in folders.items()}
    known = _look([film for films in parts.values() for film in films])
    counts = {part: len(films) for part, films in parts.items()}
    size, every = config.size or (known.height, known.width), config.every

    def record(part: str, index: int) -> dict[str, np.ndarray]:
        return _record(parts[part][index], known, size, every)

    found = _found(known, size, counts, every)
    if left_out is not None:
        found["left_out"] = f"{left_out}, because dev becomes the part test; import it separately"
    first_films = [film for film in parts.get("test", ()) if film.block][::4]
    numbers = [int(name.rpartition("/")[2]) for name in number_scenes(film.block for film in first_films)]
    if numbers != [int(film.path.parent.name) for film in first_films]:
        found["scenes"] = "counted anew in each block, as numbers are missing among their folders"
    return ConvertedFilms(found, counts, record)


def scored_films(folder: Path, *, height: int, width: int, every: int) -> ScoredFilms:
    """The films of a folder of IntPhys that are to be scored: those of dev or, if there is none, of test.

    Args:
        folder: the benchmark's folder, or its dev or test.
        height, width: size that pictures are brought to, by Pillow's bilinear filter.
        every: show every n-th picture, from the first on.

    Raises:
        ValueError: as `read_intphys`; fewer than two frames would be left, or a status.json does not say whether its
            film is possible.
    """
    folders = part_folders(folder)
    place = folders.get("dev") or folders.get("test")
    require_in(place is not None, "hold films to be scored, such as dev/O1/01/1/scene", "none", folder)
    assert place is not None
    films = list(films_in(place))
    known = _look(films)
    shown = frames_shown(known.frames, every)
    headers = [status_of(film.path)["header"] for film in films] if known.possible else None
    for film, header in zip(films, headers or [], strict=False):
        _require_label(film, header)

    def read(index: int) -> np.ndarray:
        pictures = _read(films[index].path, "scene", "RGB", known, every)
        return np.stack([_resized(pixels, (height, width), Image.Resampling.BILINEAR) for pixels in pictures])

    return ScoredFilms(place, ["/".join(film.path.parts[-3:]) for film in films], headers, shown, read)


def frames_shown(frames: int, every: int) -> int:
    """How many frames are left of a film of which every n-th is shown; fewer than two are refused."""
    shown = len(range(0, frames, every))
    must, fix = f"leave two frames or more of {frames}", "lower it"
    check.require(shown > 1, "--every", must, f"{every}, which leaves {shown}", fix)
    return shown


def _found(known: _Known, size: tuple[int, int], clips: Mapping[str, int], every: int) -> dict[str, Any]:
    """What `import` tells the user of the films: name -> value."""
    before = (
        f"from {known.height} x {known.width} (height x width), by Pillow's bilinear filter, masks by nearest pixel"
    )
    return {
        "format": "folder of IntPhys",
        "clips": parts_told(clips),
        "frames": frames_shown(known.frames, every),
        "every": every,
        "height": size[0],
        "width": size[1],
        "channels": 3,
        "labels": "possible, scene, block" if known.possible else "scene, block; no status.json says what is possible",
        "groups": "objects, but not occluders" if known.groups else _NO_GROUPS,
        "depth": _depth(known.deep, sum(clips.values())),
        "resized": "no" if size == (known.height, known.width) else before,
    }


def _depth(films: int, of: int) -> str:
    """What the user is told of depth maps, given how many of the films have them."""
    there = "there" if films == of else f"in {films} of {of} films"
    return f"{there}, but not read" if films else "none"


def _look(films: Sequence[Film]) -> _Known:
    """What is known of all films. Only the first of each kind is opened; of the others, names are looked at."""
    lengths: dict[int, Path] = {}
    for film in films:
        lengths.setdefault(len(pictures_of(film.path, "scene")), film.path)
    got = " and ".join(f"{frames} frames in {path}" for frames, path in lengths.items())
    check.require_sound(len(lengths) == 1, "SOURCE", "hold films of one length", got, "complete or remove some")
    [(frames, first)] = lengths.items()
    require_in(frames > 1, "hold films of two frames or more", frames, first)
    scored, others = ([film.path for film in films if bool(film.block) is kind] for kind in (True, False))
    possible = _all_have(scored, "status.json")
    masks = _all_have(scored, "masks"), _all_have(others, "masks")
    height, width, _ = _picture(pictures_of(first, "scene")[0], "RGB").shape
    told = all(masks) and all((film.path / "status.json").is_file() for film in films)
    groups = told and all(greys_at(status_of(kind[0]), 0) is not None for kind in (scored, others) if kind)
    return _Known(frames, height, width, possible, groups, sum((film.path / "depth").is_dir() for film in films))


def _all_have(films: Sequence[Path], name: str) -> bool:
    """Whether films have a file or folder of that name: all of them, or else none."""
    without = [film for film in films if not (film / name).exists()]
    for film in without:
        require_in(len(without) == len(films), f"have {name} in all films or in none", "none", film)
    return not without


def _record(film: Film, known: _Known, size: tuple[int, int], every: int) -> dict[str, np.ndarray]:
    """A film as our files have it, of every n-th frame."""
    status = status_of(film.path) if (film.path / "status.json").is_file() else {"header": {}}
    features = [
        _resized(pixels, size, Image.Resampling.BILINEAR) for pixels in _read(film.path, "scene", "RGB", known, every)
    ]
    record = {"features": np.stack(features)}
    if known.groups:
        masks = zip(range(0, known.frames, every), _read(film.path, "masks", "L", known, every), strict=True)
        numbers = (_numbers(film.path, greys_at(status, t))[grey] for t, grey in masks)
        record["groups"] = np.stack([_resized(number, size, Image.Resampling.NEAREST) for number in numbers])[..., None]
    record["labels/scene"] = np.array(film.scene, np.int64)
    record["labels/block"] = np.array(film.block, np.uint8)
    if known.possible:
        record["labels/possible"] = np.array(_require_label(film, status["header"]) if film.block else True)
    wrong = not film.block and status["header"].get("is_possible") is False
    require_in(not wrong, "hold no impossible film outside dev and test", "is_possible = False", film.path)
    return record


def _require_label(film: Film, header: Mapping[str, Any]) -> bool:
    """Whether a film is possible, if its status.json says so."""
    possible = header.get("is_possible")
    must = "say in status.json whether it is possible"
    require_in(isinstance(possible, bool), must, f"is_possible = {possible}", film.path)
    return bool(possible)


def _read(film: Path, kind: str, mode: str, known: _Known, every: int) -> Iterator[np.ndarray]:
    """Every n-th picture of one kind of a film, of the size and number that are known."""
    paths = pictures_of(film, kind)
    require_in(len(paths) == known.frames, f"hold {known.frames} pictures, as many as frames", len(paths), film / kind)
    for path in paths[::every]:
        pixels = _picture(path, mode)
        got, must = f"{pixels.shape[0]} x {pixels.shape[1]}", f"{known.height} x {known.width} (height x width)"
        same = pixels.shape[:2] == (known.height, known.width)
        require_in(same, f"hold pictures of one size, {must}", got, path)
        yield pixels


def _picture(path: Path, mode: str) -> np.ndarray:
    """(H, W) or (H, W, 3) uint8: the pixels of a PNG file."""
    damage = (OSError, SyntaxError, ValueError)  # what Pillow raises of it
    with whole_source(path, damage, "hold whole PNG files", REFETCH), Image.open(path) as image:
        image.load()
    must, got = f"hold 8-bit {'grey levels' if mode == 'L' else mode}", f"mode {image.mode} in {path}"
    check.require_sound(image.mode == mode, "SOURCE", must, got, f"save such pictures anew in Pillow's mode {mode}")
    return np.asarray(image)


def _resized(pixels: np.ndarray, size: tuple[int, int], how: Image.Resampling) -> np.ndarray:
    if pixels.shape[:2] == size:
        return pixels
    return np.asarray(Image.fromarray(pixels).resize(size[::-1], how))


def _numbers(film: Path, greys: Mapping[str, int] | None) -> np.ndarray:
    """(256,) uint8: the object's number of each grey level; 0 for all that is no object."""
    require_in(isinstance(greys, dict), "say in status.json which grey is whose, in every frame", "nothing", film)
    numbers, levels = np.zeros(256, np.uint8), [*(greys or {}).values()]
    for name, grey in (greys or {}).items():
        if found := re.fullmatch(r"object_(\d+)", name):
            sound = isinstance(grey, int) and grey in range(256) and int(found[1]) in range(1, 256)
            alone = sound and levels.count(grey) == 1
            require_in(alone, "give each object, 1 to 255, a grey level of its own", f"{grey} for {name}", film)
            numbers[grey] = int(found[1])
    return numbers
