"""What to do about a path: the commands that make a data file of it, and whether clips of a run are still there."""

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

from videopred.datasets import DATASETS
from videopred.run_files import looks_like_run
from videopred.typed_commands import resume_command, typed_command

_OF_FILMS = (".npy", ".npz", ".gif", ".mp4", ".png")
"""Suffixes that `videopred import` reads, and that no data file has."""

_LOOKED_AT = 1000
"""How many things in a folder are looked at, at most, to tell what it holds."""


def how_to_make(path: Path) -> str:
    """The command that makes a missing data file: of the preset that the file is named after, if there is one."""
    return f"make one with `videopred generate {path.stem if path.stem in DATASETS else 'NAME'}`"


def how_to_import(path: Path, flags: Sequence[str] = ()) -> str:
    """The command that makes a data file of films of others, with flags that say how they are kept."""
    name = path.resolve().stem  # of the folder one is in, too
    out = f"{name}-films.h5" if path.suffix == ".h5" else f"{name}.h5"
    return f"`{typed_command(('import', str(path), *flags, '--out', out))}`"


def how_to_mend(path: Path) -> str:
    """What to do about a path that is no data file: import films, follow a recipe, look at a run, or make it again."""
    if path.is_dir() and (files := sorted(path.glob("*.h5"))):
        return f"name one of its files, such as {files[0]}"
    if path.is_dir() and (files := sorted(path.glob("*/*.h5"))):
        return f"name a folder in it, such as {files[0].parent}"
    if not looks_like_run(path) and any(map(looks_like_run, path.glob("*/"))):
        return f"it holds runs: list them with `{typed_command(('runs', str(path)))}`"
    if any(path.glob("*/scores.json")) or any(path.glob("*/*/scores.json")):
        return "it holds scores: name the data that they are of"
    from videopred.datasets.intphys_layout import holds_intphys

    there = islice(chain(path.glob("*"), path.glob("*/*")), _LOOKED_AT) if path.is_dir() else [path]
    if holds_intphys(path) or any(one.suffix.lower() in _OF_FILMS for one in there):
        return f"bring it in with {how_to_import(path)}"
    if path.suffix == ".json":
        return f"if it is a recipe, make its clips with `{typed_command(('generate', str(path)))}`"
    if looks_like_run(path):
        go_on = f", or go on with it by `{resume_command(path)}`" if path.is_dir() else ""
        return f"it is a run: look at it with `{typed_command(('runs', str(path)))}`{go_on}"
    return "make it again with `videopred generate` or `videopred import`"


def kept_clips(learned_from: str) -> Path | None:
    """Where the clips are that a run learned from, as its settings name them; None if they are in no file, or gone."""
    path = Path(learned_from)
    return path if path.exists() and path.suffix != ".json" else None  # a recipe, which they were made from
