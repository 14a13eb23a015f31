"""Scenes of four films, two of them possible, for judging plausibility: from data files or folders of IntPhys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from videopred import check, check_path
from videopred.datasets import open_dataset
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.intphys import ScoredFilms, frames_shown, scored_films
from videopred.datasets.intphys_layout import holds_intphys, part_around
from videopred.datasets.scene_names import (
    BLOCKS,
    MOVEMENTS,
    condition,
    condition_in,
    conditions_in,
    names_in,
    number_scenes,
)
from videopred.run_files import named_path

_NAMES = {"SOURCE": "DATA"}
"""What readers, which `import` uses as well, call their argument -> what it is called here."""
_LABELS = ("scene", "possible", "block", "occluded", "movement", "objects", "splices")
"""Labels of a data file that say something of its scenes."""
_RANGES = {"block": (1, len(BLOCKS)), "movement": (0, len(MOVEMENTS) - 1)}


@dataclass(frozen=True)
class Quadruplets:
    """Scenes of four films, read scene by scene when they are asked for."""

    path: Path
    """Where they are, as the user gave it."""
    part: str
    """The part of a data file, or dev or test of IntPhys."""
    names: Sequence[Sequence[str]]
    """Names of the four films of each scene; if its condition is known, as answers to the benchmark have them."""
    folders: Sequence[Sequence[str]]
    """Their folders: the names without conditions."""
    possible: np.ndarray | None
    """(scenes, 4) bool; None if it is not known."""
    conditions: Mapping[str, Sequence[str]]
    """Those of block, occlusion, movement and objects that are known -> the value of each scene."""
    splices: np.ndarray | None
    """(scenes, 2) int: the frames, of those shown, at which the impossible films change over, -1 for none; None if
    they are not known."""
    every: int
    """Every n-th frame is shown."""
    frames: int
    """How many frames of each film are shown."""
    read: Callable[[int], np.ndarray]
    """Scene -> (4, T, H, W, C) uint8, 0 to 255."""

    def check_burn_in(self, burn_in: int) -> None:
        """Refuse to give all frames of a film before surprise counts."""
        must = f"be below {self.frames}, the frames of a film as it is shown"
        check.require(burn_in < self.frames, "--burn-in", must, burn_in, "lower it")

    def check_drawn(self, scenes: Sequence[int]) -> None:
        """Refuse to draw scenes that are not there."""
        must = f"lie in 0 to {len(self.names) - 1}, the scenes of {self.path}"
        for scene in scenes:
            check.require(0 <= scene < len(self.names), "--draw", must, scene, "choose one of these")


def open_quadruplets(
    path: Path | str,
    *,
    part: str = "test",
    height: int = 64,
    width: int = 64,
    every: int | None = None,
    film_names: Path | None = None,
) -> Quadruplets:
    """The scenes at a path.

    Args:
        path: a data file of `videopred generate occlusion` or `videopred import`, or a folder of IntPhys (its dev, or
            test if there is no dev).
        part: of a data file.
        height, width: what pictures of a folder are brought to; a data file's frames stay as they are.
        every: show every n-th frame; None is 2 of folders, as is usual, and 1 of data files.
        film_names: text file with the names of a folder's films in answers, one a line; None takes dev_ids.txt or
            test_ids.txt beside dev or test, if it is there.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: it holds no scenes of four films, or is not whole.
    """
    path = named_path(check_path.existing("DATA", check_path.as_path("DATA", path)))
    check.whole_number("--every", 1 if every is None else every, 1, "1 shows every frame")
    if holds_intphys(path):
        must, fix = "be left out for folders of IntPhys", "dev is judged, or test where there is no dev"
        check.require(part == "test", "--part", must, part, fix)
        return _of_folder(path, height, width, every or 2, film_names)
    around = part_around(path)
    must = "be a whole folder of IntPhys, or its dev or test"
    check.require(around is None, "DATA", must, path, f"give {around}")
    got, fix = f"{film_names} for {path}", "the labels of a data file name its films"
    check.require(film_names is None, "--film-names", "be left out, except for folders of IntPhys", got, fix)
    return scenes_of(open_dataset(path), part, every or 1)


def _of_folder(path: Path, height: int, width: int, every: int, film_names: Path | None) -> Quadruplets:
    with check.named(_NAMES):
        films = scored_films(path, height=height, width=width, every=every)
    beside = films.place.parent / f"{films.place.name}_ids.txt"
    if film_names is not None:
        given = check_path.existing_file("--film-names", film_names, "give a text file, one name a line")
        known = _named(given, films.folders)
    elif beside.is_file():
        known = _named(beside, films.folders)
    else:
        blocks = [str(header.get("block_name", "")) for header in films.headers or [{}] * len(films.folders)]
        known = [_with_condition(*film) for film in zip(films.folders, blocks, strict=True)]
    possible = None
    if films.headers is not None:
        possible = np.array([header["is_possible"] for header in films.headers]).reshape(-1, 4)
    return Quadruplets(
        path=path,
        part=films.place.name,
        names=_by_four(known),
        folders=_by_four(films.folders),
        possible=possible,
        conditions=_conditions(known[::4]),
        splices=None,
        every=every,
        frames=films.frames,
        read=lambda scene: _read_scene(films, scene),
    )


@check.named(_NAMES)
def _read_scene(films: ScoredFilms, scene: int) -> np.ndarray:
    return np.stack([films.read(4 * scene + film) for film in range(4)])


def _named(path: Path, folders: Sequence[str]) -> list[str]:
    """The names of films in these folders, which a text file gives."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors put a mark before the text
    except UnicodeDecodeError as error:
        complaint = check.complaint(str(path), "be text in UTF-8", error, "give names of films, one per line")
        raise check.FaultyFileError(complaint) from None
    names = names_in(text, str(path))
    missing = [folder for folder in folders if folder not in names]
    must, got = "name every film of DATA", f"{len(missing)} without a name, such as {''.join(missing[:1])}"
    check.require(not missing, str(path), must, got, "add a line for each")
    return [names[folder] for folder in folders]


def _with_condition(folder: str, block_name: str) -> str:
    """A film's name in answers, if its block's name tells the condition; else its folder."""
    scene, _, film = folder.rpartition("/")
    told = condition_in(block_name)
    return f"{scene}_{told}/{film}" if told else folder


def scenes_of(source: ClipSource, part: str = "test", every: int = 1) -> Quadruplets:
    """The scenes of a part of clips; see `open_quadruplets`."""
    shown = frames_shown(source.frames, every)
    clips, labels = _films_of(source, part)
    scenes = [{name: values[scene, 0] for name, values in labels.items()} for scene in range(len(clips))]
    folders = number_scenes(labels["block"][:, 0]) if "block" in labels else [f"scene-{s['scene']}" for s in scenes]
    names = [folder + _ending(scene) for folder, scene in zip(folders, scenes, strict=True)]
    splices = labels["splices"][:, 0] if "splices" in labels else None

    def read(scene: int) -> np.ndarray:
        return np.concatenate([source.read_frames(part, clip, clip + 1) for clip in clips[scene].tolist()])[:, ::every]

    return Quadruplets(
        path=source.path,
        part=part,
        names=[[f"{name}/{film}" for film in range(1, 5)] for name in names],
        folders=[[f"{folder}/{film}" for film in range(1, 5)] for folder in folders],
        possible=labels.get("possible"),
        conditions=_conditions(names),
        splices=None if splices is None else np.where(splices < 0, -1, -(-splices // every)),
        every=every,
        frames=shown,
        read=read,
    )


def _films_of(source: ClipSource, part: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The clips (scenes, 4) of each scene, and their labels (scenes, 4, ...)."""
    count = source.count(part)
    fix = "make some with `videopred generate occlusion`, or bring in IntPhys with `videopred import`"
    must, got = "say which clips are of one scene", f"{source.path}, which does not"
    check.require("labels/scene" in source.truth, "DATA", must, got, fix)
    labels = {name: f"labels/{name}" for name in _LABELS if f"labels/{name}" in source.truth}
    read = {name: source.read(part, label, 0, count) for name, label in labels.items()}
    for name, values in read.items():
        low, high = _RANGES.get(name, (-np.inf, np.inf))
        fits = values.shape[1:] == ((2,) if name == "splices" else ()) and ((values >= low) & (values <= high)).all()
        must = f"hold for each clip {'two numbers' if name == 'splices' else 'one number'} as {labels[name]}"
        must += f", from {low} to {high}" if name in _RANGES else ""
        got = f"an array {values.shape} with {values.min()} to {values.max()} in {source.path}"
        check.require_sound(bool(fits), "DATA", must, got, f"mend {labels[name]}, or remove it")
    clips = np.argsort(read["scene"], kind="stable")
    for scene, films in zip(*np.unique(read["scene"], return_counts=True), strict=True):
        got, fix = f"{films} of scene {scene} in {part} of {source.path}", "take the test part of whole scenes"
        check.require(films == 4, "DATA", "hold four films of each scene", got, fix)
    return clips.reshape(-1, 4), {
        name: values[clips].reshape(-1, 4, *values.shape[1:]) for name, values in read.items()
    }


def _ending(labels: Mapping[str, np.ndarray]) -> str:
    """What the name of a scene says of its condition, if its labels tell."""
    if not {"occluded", "movement", "objects"} <= set(labels):
        return ""
    return f"_{condition(bool(labels['occluded']), int(labels['movement']), int(labels['objects']))}"


def _conditions(names: Sequence[str]) -> dict[str, list[str]]:
    """Condition -> its value for each scene, if the names of all scenes say it."""
    scenes = [conditions_in(name) for name in names]
    return {name: [scene[name] for scene in scenes] for name in scenes[0] if all(name in scene for scene in scenes)}


def _by_four(films: Sequence[str]) -> list[list[str]]:
    return [list(films[start : start + 4]) for start in range(0, len(films), 4)]
