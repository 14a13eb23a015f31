"""Writes clips of the occlusion world in the folders of the IntPhys benchmark.

    train/NNNNN/               a film of the training part; validation/NNNNN/ alike, which IntPhys has not
    dev/O1/NNNN/{1,2,3,4}/     the four films of a scene of the test part, with their labels, by block; or, unlabelled,
    test/O1/NNNN/{1,2,3,4}/    the same without status.json
    dev_ids.txt, test_ids.txt  a line for each film: its name in answers to the benchmark, which scorers cut into a path
                               (first seven and last two characters) and conditions (occluded or visible)

Of each film:

    scene/scene_001.png        8-bit red, green and blue; counted from 1, with the digits of the number of frames
    depth/depth_001.png        16-bit, 65535 less 10 per cm. Our layers are flat, so their distances are chosen: wall
                               2000 cm, floor 1500 cm, object k 1000 - 100 k cm, occluders 500 cm
    masks/masks_001.png        8-bit grey: walls 0, floor 1, occluder_k 10 + k, object_k 100 + k; or, as in IntPhys,
                               other levels by chance in each frame
    status.json                header: block_name, block_type, is_possible, floor, labels (all of ours); frames: where
                               objects and occluders are, and which grey is whose in `masks`

Scenes count from 1 in each block, in our order; films 1 to 4 stand in the order of our clips, which is random. Folders
have five digits (train) or four (scenes), more if need be. The names of scenes' conditions are in no path.

Source: bootphon/intphys (saver.py, Utils.cpp, DepthCapture.cpp, MasksCapture.cpp) for the layout. We differ in what
we know of a film, and in levels that stay.
"""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tqdm import tqdm

from videopred import check, check_path
from videopred.datasets.chance import open_sources
from videopred.datasets.clip import Clip
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.quadruplets import scenes_of
from videopred.datasets.scene_names import condition
from videopred.datasets.settings import OcclusionConfig
from videopred.datasets.shapes import SHAPES
from videopred.files import whole_folder

_WALLS, _FLOOR, _OCCLUDER, _OBJECT = 0, 1, 10, 100
_FOLDERS = re.compile(r"(train|validation)(/\d{5,})?|(dev|test)(/O[123])?")
_FILES = re.compile(r"(dev|test)_ids\.txt|(.*/)?\.DS_Store")
_LABELS = ("block", "floor", "movement", "objects", "occluded", "possible", "scene", "splices")
_NEEDED = {
    *(f"labels/{name}" for name in _LABELS),
    "objects/color",
    "objects/size",
    "series/occluders",
    "series/shapes",
}
"""What the folders tell of a film, beside what is known of any."""


def export_intphys(
    source: ClipSource,
    folder: Path | str,
    *,
    part: str | None = None,
    unlabelled: bool = False,
    random_levels: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Write clips in the folders of IntPhys, and return the folder, which appears whole or not at all.

    Args:
        source: clips of the occlusion world.
        folder: the folder to make.
        part: train, validation or test; all that there are when None.
        unlabelled: leave status.json out of the test part, as the benchmark does.
        random_levels: masks with other grey levels in each frame, as the benchmark's.
        overwrite: replace a folder that is there, if it holds nothing but such films.
        progress: show a bar on stderr.

    Raises:
        ValueError: the clips are of another world, there is no such part, the folder ends as a file does, or what would
            be replaced is something else.
        FileExistsError: the folder is there, not empty, and `overwrite` is false.
        OSError: the folder cannot be written; nothing is left.
    """
    known = isinstance(source.recipe, OcclusionConfig)
    fix = "make some with `videopred generate occlusion`"
    check.require_sound(known, "DATA", "hold clips of the occlusion world", f"those of {source.name}", fix)
    missing = ", ".join(sorted(_NEEDED.difference(source.truth)))
    check.require_sound(not missing, "DATA", "hold the whole truth", f"{source.path} without {missing}", f"{fix} again")
    parts = source.parts if part is None else {part: source.count(part)}
    must, got = "be left out where no part test is written", ", ".join(parts)
    check.require("test" in parts or not unlabelled, "--unlabelled", must, f"it beside {got}", "leave it out")
    is_folder = Path(folder).suffix not in (".h5", ".tar", ".gz", ".zip")
    check.require(is_folder, "--out", "be a folder", folder, "name it without that ending, and pack it afterwards")
    folder = check_path.free_folder(Path(folder), overwrite).absolute()
    there = {path.relative_to(folder).as_posix(): path for path in (*folder.glob("*"), *folder.glob("*/*"))}
    ours = {name for name, path in there.items() if (_FOLDERS if path.is_dir() else _FILES).fullmatch(name)}
    others = sorted(there.keys() - ours)
    check.require(not others and not folder.is_file(), "--out", "be a folder of such films, or a new one",
                  f"{folder} with {', '.join(others[:3]) or 'a file'}", "choose another name")  # fmt: skip
    with whole_folder(folder) as partial, tqdm(total=sum(parts.values()), unit="film", disable=not progress) as bar:
        for name, count in parts.items():
            kind = ("test" if unlabelled else "dev") if name == "test" else name
            if name == "test":
                scenes = scenes_of(source)
                names = "".join(f"{film}\n" for film in chain.from_iterable(scenes.names))
                (partial / f"{kind}_ids.txt").write_text(names, encoding="utf-8")
                places = [*chain.from_iterable(scenes.folders)]
                clips = np.argsort(source.read(name, "labels/scene", 0, count), kind="stable").tolist()
            else:
                digits = max(5, len(str(count)))
                places, clips = [f"{index:0{digits}}" for index in range(1, count + 1)], list(range(count))
            for index, place in zip(clips, places, strict=True):
                chance = open_sources(0, name, [index])[0] if random_levels else None
                _write_film(source.clip(name, index), partial / kind / place, chance, labelled=kind != "test")
                bar.update()
        check_path.free_folder(folder, overwrite)  # another command may have made it meanwhile
    return folder


def _write_film(clip: Clip, folder: Path, chance: np.random.Generator | None, *, labelled: bool) -> None:
    """Write the pictures of a film, and what is known of it."""
    ids, frames = _who_is_seen(clip), []
    digits = len(str(len(ids)))
    for kind in ("scene", "depth", "masks"):
        (folder / kind).mkdir(parents=True)
    for t, seen in enumerate(ids):
        levels = np.arange(256, dtype=np.uint8) if chance is None else chance.permutation(256).astype(np.uint8)
        pictures = {"scene": clip.frames[t], "depth": _DEPTHS[seen], "masks": levels[seen]}
        for kind, picture in pictures.items():
            Image.fromarray(picture).save(folder / kind / f"{kind}_{t + 1:0{digits}}.png")
        frames.append(_actors(clip, t) | {"masks": {_name(who): int(levels[who]) for who in np.unique(seen)}})
    if labelled:
        (folder / "status.json").write_text(json.dumps({"header": _header(clip), "frames": frames}), encoding="utf-8")


def _who_is_seen(clip: Clip) -> np.ndarray:
    """(T, H, W) uint8: the stable level of what is seen at each pixel."""
    ids = np.where(clip.masks > 0, clip.masks + np.uint8(_OBJECT), np.uint8(_WALLS))
    below = ids[:, int(clip.labels["floor"]) :]
    below[below == _WALLS] = _FLOOR
    for t, places in enumerate(clip.series["occluders"]):
        for number, (top, left, height, width) in enumerate(places, start=1):
            ids[t, top : top + height, left : left + width] = _OCCLUDER + number
    return ids


def _distances() -> np.ndarray:
    """(256,) uint16: the level in a depth picture of each stable level of a mask."""
    centimetres = np.full(256, 2000)
    centimetres[_FLOOR], centimetres[_OCCLUDER : _OCCLUDER + 10] = 1500, 500
    centimetres[_OBJECT + 1 : _OBJECT + 4] = 1000 - 100 * np.arange(1, 4)
    return (65535 - 10 * centimetres).astype(np.uint16)


_DEPTHS = _distances()


def _name(who: int) -> str:
    """The name in status.json of a stable level."""
    if who > _OBJECT:
        return f"object_{who - _OBJECT}"
    return f"occluder_{who - _OCCLUDER}" if who > _OCCLUDER else ("walls", "floor")[who]


def _header(clip: Clip) -> dict[str, Any]:
    """What status.json says of a film as a whole."""
    labels = {name: value.tolist() for name, value in clip.labels.items()}
    return {
        "block_name": f"O{labels['block']}_{condition(labels['occluded'], labels['movement'], labels['objects'])}",
        "block_type": "train" if labels["splices"] == [-1, -1] else "test",
        "is_possible": labels["possible"],
        "floor": {"row": labels["floor"]},
        "labels": labels,
    }


def _actors(clip: Clip, t: int) -> dict[str, Any]:
    """What status.json says of the objects and occluders at a frame; lengths in px."""
    actors: dict[str, Any] = {}
    for number in map(int, np.flatnonzero(clip.series["shapes"][t] >= 0)):
        actors[f"object_{number + 1}"] = {
            "shape": SHAPES[clip.series["shapes"][t, number]],
            "location": clip.positions[t, number].tolist(),
            "velocity": clip.velocities[t, number].tolist(),
            "scale": float(clip.objects["size"][number]),
            "material": clip.objects["color"][number].tolist(),
        }
    for number, (top, left, height, width) in enumerate(clip.series["occluders"][t].tolist(), start=1):
        if height > 0:
            actors[f"occluder_{number}"] = {"location": [left, top], "scale": [width, height]}
    return actors
