"""From a path to the films of others that are there: the table of what can be read."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from videopred import check, check_path
from videopred.datasets.clip import PART_OF, PARTS
from videopred.datasets.converting import convert
from videopred.datasets.foreign_films import ConvertedFilms, RawFilms, visible
from videopred.datasets.h5_arrays import SUFFIXES, read_h5
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.intphys import read_intphys
from videopred.datasets.intphys_layout import holds_intphys
from videopred.datasets.numpy_arrays import read_npy, read_npz
from videopred.datasets.picture_films import read_gifs, read_pngs
from videopred.datasets.video_films import read_videos

_ALWAYS = ("part", "range", "frames", "height", "width", "color")


class Format(NamedTuple):
    """A way in which others keep films."""

    fits: Callable[[Path], bool]
    """Whether a path, which is there, looks like it; only names are looked at."""
    read: Callable[[Path, ImportConfig], RawFilms | ConvertedFilms]
    heeds: tuple[str, ...] = _ALWAYS
    """The settings that mean something here."""


def _file(*suffixes: str) -> Callable[[Path], bool]:
    """Whether a path is a file with one of these suffixes."""
    return lambda path: path.is_file() and path.suffix.lower() in suffixes


def _file_or_folder(suffix: str) -> Callable[[Path], bool]:
    """Whether a path is a file with this suffix, or a folder that holds some."""
    return lambda path: any(map(_file(suffix), visible(path) if path.is_dir() else [path]))


def _holds_frames(path: Path) -> bool:
    """Whether a path is a folder of PNG files, or of such folders."""
    folders = [path, *filter(Path.is_dir, visible(path))] if path.is_dir() else []
    return any(file.suffix.lower() == ".png" for folder in folders for file in visible(folder))


FORMATS: dict[str, Format] = {
    ".npy": Format(_file(".npy"), read_npy, (*_ALWAYS, "axes")),
    ".npz": Format(_file(".npz"), read_npz, (*_ALWAYS, "axes", "array")),
    ".h5 or .hdf5": Format(_file(*SUFFIXES), read_h5, (*_ALWAYS, "axes", "array")),
    "PNG frames in a folder or in folders in it": Format(_holds_frames, read_pngs),
    "GIF or a folder of GIFs": Format(_file_or_folder(".gif"), read_gifs),
    "MP4 or a folder of MP4s": Format(_file_or_folder(".mp4"), read_videos),
    "IntPhys' folders train, dev or test": Format(holds_intphys, read_intphys, ("height", "width", "every")),
}
"""What it is, in the words of a complaint -> how it is known and read."""


def read_films(source: Path | str, config: ImportConfig | None = None, *, progress: bool = False) -> ConvertedFilms:
    """The films at a path, and what was found out about them.

    Args:
        source: a file or folder of one of FORMATS, or a folder that holds one for each part.
        config: what is said of the films, and asked for; None says nothing.
        progress: show a bar on stderr while they are looked at.

    Raises:
        FileNotFoundError: nothing is there.
        ValueError: it is of no such format or of several, or as the reader of its format says.
    """
    config = ImportConfig() if config is None else config
    check.require_instance("config", config, ImportConfig)
    source = check_path.as_path("SOURCE", source)
    folders = _parts_in(source)
    films = _read_parts(source, folders, config) if folders else _read(source, config)
    return convert(films, config, progress=progress) if isinstance(films, RawFilms) else films


def read_raw_films(source: Path | str, config: ImportConfig) -> RawFilms:
    """The films at a path with their numbers as they are kept, whatever these mean; otherwise as `read_films`.

    Raises:
        ValueError: they are of a benchmark's layout, which says more than films.
    """
    films = _read(check_path.as_path("SOURCE", source), config)
    must, fix = "be films and nothing else", "bring it in with `videopred import` first"
    check.require(isinstance(films, RawFilms), "SOURCE", must, source, fix)
    assert isinstance(films, RawFilms)
    return films


def _parts_in(source: Path) -> dict[str, Path]:
    """Part -> the folder in it that holds its films; none of a folder that has films itself, or other folders."""
    there = visible(source) if source.is_dir() and not holds_intphys(source) else []
    inside = [] if any(map(_file(".png", ".gif", ".mp4"), there)) else [path for path in there if path.is_dir()]
    named: dict[str, Path] = {}
    for path in inside:
        part = PART_OF.get(path.name.lower(), "")
        if other := named.get(part) if part else None:
            raise _mixed(f"{path.name} and {other.name} in {source}, which are one part")
        named[part] = path
    if len(named) > 1 and "" in named:
        raise _mixed(f"{named.pop('').name} beside {' and '.join(path.name for path in named.values())} in {source}")
    return {part: named[part] for part in PARTS if part in named} if "" not in named else {}


def _mixed(got: str) -> check.FaultyFileError:
    """The complaint about folders some of which are called as parts are: else films of all would be one part."""
    must, fix = "hold a folder for each part, or none that is called as one", "rename folders, or move some away"
    return check.FaultyFileError(check.complaint("SOURCE", must, got, fix))


def _read_parts(source: Path, folders: Mapping[str, Path], config: ImportConfig) -> RawFilms:
    """The films of all parts, part after part."""
    got, fix = f"{config.part} for folders of all parts", "leave it out, or give one of these folders"
    check.require(config.part is None, "--part", "be left out", got, fix)
    films = {part: read_raw_films(folder, config) for part, folder in folders.items()}
    places = [(of, clip) for of in films.values() for clip in range(len(of.names))]
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for of in films.values() for name in of.found):
        told = {part: of.found[name] for part, of in films.items() if name in of.found}
        alike = len(told) == len(films) and len(set(told.values())) == 1
        found[name] = next(iter(told.values())) if alike else ", ".join(f"{part}: {one}" for part, one in told.items())
    return RawFilms(
        source,
        found,
        [of.names[clip] for of, clip in places],
        lambda number: places[number][0].frames(places[number][1]),
        lambda number, frame: places[number][0].called(places[number][1], frame),
        parts={part: len(of.names) for part, of in films.items()},
        grey_in_color=all(of.grey_in_color for of in films.values()),
    )


def _read(source: Path, config: ImportConfig) -> RawFilms | ConvertedFilms:
    """What the reader of its format makes of a path."""
    check_path.existing("SOURCE", source)
    fitting = [name for name, form in FORMATS.items() if form.fits(source)]
    must = f"be one of: {'; '.join(FORMATS)}; or pictures or videos in folders train, validation and test"
    got, fix = f"{source}, which is none of them", "save it as one of them"
    if fitting:
        got, fix = f"{source}, which is several at once: {'; '.join(fitting)}", "bring in one kind at a time"
    check.require_sound(len(fitting) == 1, "SOURCE", must, got, fix)
    form = FORMATS[fitting[0]]
    for name, default in ImportConfig().model_dump().items():
        given = getattr(config, name)
        shown = check.as_typed(given) if isinstance(given, tuple) else given
        fits, fix = given == default or name in form.heeds, "it means nothing here"
        check.require(fits, f"--{name}", "be left out", f"{shown} for {source}", fix)
    return form.read(source, config)
