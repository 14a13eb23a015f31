"""Films in pictures: folders of PNG frames, and GIFs."""

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from PIL import Image

from videopred import check, check_path
from videopred.amounts import counted
from videopred.datasets.foreign_films import RawFilms, visible, whole_source
from videopred.datasets.gif_times import TICK_MS, read_times
from videopred.datasets.import_settings import ImportConfig


def read_pngs(source: Path, config: ImportConfig) -> RawFilms:
    """The film of a folder of numbered PNG frames, or the films of a folder of such folders.

    Raises:
        ValueError: a frame is missing, damaged or transparent, or has no number.
    """
    folders = [source] if any(map(_is_png, visible(source))) else [path for path in visible(source) if path.is_dir()]
    films = [_numbered(folder) for folder in folders]
    there = {path for folder in (source, *folders) for path in visible(folder)}
    others = sum(not _is_png(path) for path in there - set(folders))

    def frames(clip: int) -> Iterator[np.ndarray]:
        for path in films[clip]:
            with _whole(path) as image:
                yield _pixels(image, path)

    found = {"format": "folder of PNG frames" if folders == [source] else "folder of folders of PNG frames"}
    if others:
        found["left_out"] = "1 that is no PNG frame" if others == 1 else f"{others:,} that are no PNG frames"
    if any(map(_has_alpha, chain.from_iterable((film[0], film[-1]) for film in films))):
        found["alpha"] = "opaque, left out"
    names = [str(folder) for folder in folders]
    return RawFilms(source, found, names, frames, lambda clip, frame: str(films[clip][frame]), grey_in_color=True)


_UNTOLD = "not told, as frames have no times: equal ones in a row, which writers merge, came once"


def read_gifs(source: Path, config: ImportConfig) -> RawFilms:
    """The film of a GIF, or the films of a folder of them.

    Writers of GIFs merge equal frames into one that is shown longer. So a frame that is shown for n periods comes n
    times.

    Raises:
        ValueError: a GIF is damaged or transparent, or its frames do not follow at one rate that can be told.
    """
    paths = [source] if source.is_file() else [path for path in visible(source) if path.suffix.lower() == ".gif"]
    times = [_times(path) for path in paths]
    readings = read_times(times)
    must, fix = "show frames at one rate, each for one period or several", "save its frames as PNG"
    shown = [TICK_MS * time for film in times for time in film]
    got = f"times of {min(shown)} to {max(shown)} ms in {source}"
    check.require_sound(len(readings) > 0, "SOURCE", must, got, fix)
    if len(readings) > 1:
        rates = sorted(100 / period for period in readings.values())
        got += f", which may be at {len(rates)} rates, from {rates[0]:.4g} to {rates[-1]:.4g} frames a second"
    check.require_sound(len(readings) == 1, "SOURCE", must, got, fix)
    [(repeats, period)] = readings.items()

    def frames(clip: int) -> Iterator[np.ndarray]:
        path = paths[clip]
        with _whole(path) as image:
            for index, times_shown in enumerate(repeats[clip]):
                image.seek(index)
                pixels = _pixels(image, path, color=True)
                for _ in range(times_shown):
                    yield pixels

    again = sum(sum(counts) - len(counts) for counts in repeats)
    period_ms, longer = round(TICK_MS * period, 1), f"{counted(again, 'frame')} shown for longer than others"
    found = {
        "format": "GIF" if source.is_file() else "folder of GIFs",
        "frame_ms": period_ms if period_ms % 1 else int(period_ms),
        "repeated": longer if again else "none" if period else _UNTOLD,
    }
    names = [str(path) for path in paths]
    return RawFilms(source, found, names, frames, grey_in_color=True)


def _has_alpha(path: Path) -> bool:
    """Whether a picture has a channel of opacity; of others than opaque ones none is taken."""
    with _whole(path) as image:
        return bool(image.has_transparency_data)


def _is_png(path: Path) -> bool:
    return path.suffix.lower() == ".png"


def _numbered(folder: Path) -> list[Path]:
    """The PNG frames of a folder by their numbers, none of which is missing."""
    paths = [path for path in visible(folder) if _is_png(path)]
    check.require_sound(
        len(paths) > 0, "SOURCE", "hold PNG frames in each of its folders", f"none in {folder}", "add them"
    )
    frames: dict[int, Path] = {}
    prefix = None
    for path in paths:
        numbered = re.fullmatch(r"(.*?)(\d+)", path.stem)
        if numbered is None:
            must, fix = "hold frames with numbers at the end of their names", "name them e.g. frame_001.png"
            raise check.FaultyFileError(check.complaint("SOURCE", must, path, fix))
        prefix = numbered[1] if prefix is None else prefix
        one = numbered[1] == prefix and int(numbered[2]) not in frames
        other = frames.get(int(numbered[2])) or next(iter(frames.values()), path)
        got = f"{path.name} beside {other.name} in {folder}"
        fix = "move the others away, or rename them: the last number in a name is that of the frame"
        check.require_sound(one, "SOURCE", "hold one film in a folder, and each number once", got, fix)
        frames[int(numbered[2])] = path
    numbers = sorted(frames)
    gaps = [number + 1 for number, following in pairwise(numbers) if following != number + 1]
    must = f"hold every frame from {numbers[0]} to {numbers[-1]}"
    fix = "add what is missing, or number what is there without gaps"
    check.require_sound(not gaps, "SOURCE", must, f"none of number {min(gaps, default=0)} in {folder}", fix)
    return [frames[number] for number in numbers]


def _times(path: Path) -> list[int]:
    """For how many ticks each frame of a GIF is shown."""
    with _whole(path) as image:
        times = []
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            times.append(int(image.info.get("duration", 0)) // TICK_MS)
        whole = path.read_bytes().rstrip(b"\0").endswith(b";")
        check.require_sound(whole, "SOURCE", "hold whole pictures", f"{path}, which has no end", "replace it")
        return times


def _pixels(image: Image.Image, path: Path, *, color: bool = False) -> np.ndarray:
    """A picture as (H, W, C): bool, or whole numbers as they are kept; colours of a palette as red, green and blue.

    Args:
        image: the picture.
        path: its file.
        color: three channels whatever there is.

    Raises:
        ValueError: something is seen through it, or it is an animated PNG.
    """
    if image.format == "PNG":
        still, fix = getattr(image, "n_frames", 1) == 1, "save each frame of it as a PNG of its own"
        check.require_sound(still, "SOURCE", "hold one picture in each PNG file", f"an animation in {path}", fix)
    if image.has_transparency_data:
        fix = "draw it on a background, and save it without alpha"
        check.require_sound(
            _is_opaque(image, path), "SOURCE", "hold opaque pictures", f"{path}, which is transparent", fix
        )
    if image.mode not in ("1", "L", "I;16", "I"):
        _check_depth(image, path)
    if color or image.mode not in ("1", "L", "LA", "I;16", "I"):
        return np.asarray((image.convert("RGBA") if image.has_transparency_data else image).convert("RGB"))
    pixels = np.asarray(image.convert("L") if image.mode == "LA" else image)[..., None]
    return pixels > 0 if image.mode == "1" else pixels  # Pillow's own True is the byte 255, which files would keep


def _is_opaque(image: Image.Image, path: Path) -> bool:
    """Whether nothing is seen through a picture."""
    clear = image.info.get("transparency")
    if image.format == "PNG" and image.mode in ("L", "I;16") and isinstance(clear, int):
        depth = _depth(path)  # Pillow brings pixels of fewer bits to 8, but not the grey that is clear
        return clear * (255 // (2**depth - 1) if depth < 8 else 1) not in np.asarray(image)
    return bool(np.asarray(image.convert("RGBA"))[..., 3].min() == 255)


def _check_depth(image: Image.Image, path: Path) -> None:
    """Refuse a PNG of 16 bits a channel where Pillow drops 8 of them, as it does but for grey without alpha."""
    if image.format == "PNG":
        depth, fix = _depth(path), "save 8 bits a channel, or grey without alpha"
        check.require_sound(depth <= 8, "SOURCE", "hold colors of 8 bits", f"{depth} in {path}", fix)


def _depth(path: Path) -> int:
    """How many bits a channel of a PNG has."""
    with path.open("rb") as file:
        return file.read(25)[24]  # of the first chunk, which is always this


_DAMAGE = (OSError, SyntaxError, EOFError, IndexError, ValueError, struct.error, Image.DecompressionBombError)
"""What Pillow raises where a picture is damaged; ValueError and the last of sizes that make no sense."""


@contextmanager
def _whole(path: Path) -> Iterator[Image.Image]:
    """The picture in a file; what Pillow says of damage becomes one line."""
    check_path.existing_file("SOURCE", path, "replace it")  # a pipe would be waited for
    kind = "PNG" if _is_png(path) else "GIF"  # whatever else is called so may hold several pictures, too
    fix = f"replace it, or save it as {kind} if it is another kind of picture"
    with whole_source(path, _DAMAGE, "hold whole pictures", fix), Image.open(path, formats=[kind]) as image:
        yield image
