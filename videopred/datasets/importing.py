"""Brings films of others into a data file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from videopred import check, check_path
from videopred.datasets.file_layout import Record
from videopred.datasets.film_formats import read_films
from videopred.datasets.foreign_films import ConvertedFilms
from videopred.datasets.import_settings import ImportConfig
from videopred.datasets.writer import new_file


class Imported(NamedTuple):
    """A data file of films of others."""

    path: Path
    found: dict[str, Any]
    """What was found out about them, ready for JSON."""


def import_films(
    source: Path | str,
    out: Path | str,
    config: ImportConfig | None = None,
    *,
    overwrite: bool = False,
    progress: bool = False,
) -> Imported:
    """Make a data file of films made elsewhere, and return what was found out about them.

    The file has no recipe. It is read as R-NEM's files are: 15 frames are usually given and 35 imagined, fewer of
    short clips.

    Args:
        source: a file or folder; see FORMATS in film_formats.py.
        out: the data file, which ends in .h5.
        config: what is said of the films, and asked for; None says nothing.
        overwrite: replace a file that is there.
        progress: show bars on stderr: one while the films are looked at, one while they are written.

    Raises:
        FileNotFoundError, ValueError: see `read_films`; nothing is left under the file's name.
        FileExistsError: the file is there and `overwrite` is false.
        TypeError: an argument of another kind.
        OSError: the file cannot be written.
    """
    out = check_path.as_path("--out", out)
    check.require(out.suffix == ".h5", "--out", "end in .h5", out, "rename it")
    differ = out.resolve() != check_path.as_path("SOURCE", source).resolve()
    check.require(differ, "--out", "be another file than SOURCE", out, "rename it")
    check_path.absent("--out", out, overwrite)
    films = read_films(source, config, progress=progress)
    found = {"source": Path(source).resolve().name, **films.found}
    with (
        tqdm(total=sum(films.parts.values()), unit="clip", desc=out.stem, disable=not progress) as bar,
        new_file(out, {"name": out.stem, "source": json.dumps(found)}) as writer,
    ):
        for part, count in films.parts.items():
            writer.write_part(part, _records(films, part, count, bar), count)
        check_path.absent("--out", out, overwrite)  # another command may have made it meanwhile
    return Imported(out, found)


def _records(films: ConvertedFilms, part: str, count: int, bar: tqdm) -> Iterator[Record]:
    """What the file holds of each clip, each moving the bar."""
    for index in range(count):
        yield films.record(part, index)
        bar.update()
