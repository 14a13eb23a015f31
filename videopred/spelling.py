"""What a word or a path that means nothing was likely meant to be."""

import difflib
from collections.abc import Iterable
from pathlib import Path

from videopred.run_files import EXPORT, looks_like_run


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that a word all but is, else is the first part of, else is most like, or alone begins with, if any is.

    Capitals may differ in names that are more like it. Of several, the first: bf16 means bf16-mixed, before bf16-true.
    """
    there = list(names)
    kinds = [name for name in there if name.startswith(f"{word}-")]
    for written, least in (str, 0.8), (str, 0.5), (str.lower, 0.65):
        if least < 0.8 and kinds:
            return kinds[0]
        likeness = [difflib.SequenceMatcher(None, written(name), written(word)).ratio() for name in there]
        if max(likeness, default=0) >= least:
            return there[likeness.index(max(likeness))]
    longer = [name for name in there if len(word) > 2 and name.startswith(word)]
    return longer[0] if len(longer) == 1 else None


def nearest_path(path: Path, names: Iterable[str] = (), *, folder: bool = False) -> str | None:
    """What a path to nothing is most like: a file of its kind beside it, or one of the names that could stand for it.

    Data files are also looked for in the current folder and in datasets/. Endings are not compared, as all files of a
    kind are alike in them. A folder on the way may be misspelt as well. Of a name alone, it is the data of that name.

    Args:
        path: where nothing is.
        names: what else it could be.
        folder: whether only a folder could be meant.
    """
    named = [Path(f"{path}.h5"), Path("datasets") / f"{path}.h5"] if path == Path(path.stem) and not folder else []
    for made in filter(Path.is_file, named):
        return str(made)
    if not path.parent.exists() and (above := nearest_path(path.parent, folder=True)):
        path = Path(above) / path.name
        if path.is_dir() or (path.exists() and not folder):
            return str(path)
    around = _around(path, "datasets") if path.suffix == ".h5" else _inside(path.parent)
    there = Path.is_dir if folder else Path.exists
    beside = [found for found in around if path.suffix in ("", found.suffix) and there(found)]
    meant = {name: name for name in names} | {found.stem: str(found) for found in beside}
    near = nearest(path.stem, meant)
    return None if near is None else meant[near]


def nearest_run(path: Path) -> str | None:
    """The run or export that a path to none is most like: beside it, in the current folder, or in models/."""
    runs = [run for run in _around(path, "models") if looks_like_run(run)]
    meant = {run.name.removesuffix(EXPORT): str(run) for run in runs}
    near = nearest(path.name.removesuffix(EXPORT), meant)
    return None if near is None else meant[near]


def _around(path: Path, usual: str) -> list[Path]:
    """What there is in the usual folder, in the current one, and last in that of a path."""
    return [found for folder in (Path(usual), Path(), path.parent) for found in _inside(folder)]


def _inside(folder: Path) -> list[Path]:
    """What there is in a folder, but for hidden files; nothing if it cannot be read."""
    try:
        return [found for found in sorted(folder.iterdir()) if not found.name.startswith(".")]
    except OSError:
        return []
