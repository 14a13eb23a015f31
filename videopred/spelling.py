"""What a word or a path that means nothing was likely meant to be."""

import difflib
from collections.abc import Iterable
from pathlib import Path


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that is most like a word, or the only one that begins with it, if any is."""
    there = list(names)
    longer = [name for name in there if len(word) > 2 and name.startswith(word)]
    return next(iter(difflib.get_close_matches(word, there, n=1, cutoff=0.5)), longer[0] if len(longer) == 1 else None)


def nearest_path(path: Path, names: Iterable[str] = ()) -> str | None:
    """What a path to nothing is most like: a file of its kind beside it, or one of the names that could stand for it.

    Endings are not compared, as all files of a kind are alike in them. A folder on the way may be misspelt as well.
    """
    if not path.parent.exists() and (folder := nearest_path(path.parent)):
        path = Path(folder) / path.name
        if path.exists():
            return str(path)
    beside = [found for found in _beside(path) if path.suffix in ("", found.suffix) and found.exists()]
    meant = {name: name for name in names} | {found.stem: str(found) for found in beside}
    near = nearest(path.stem, meant)
    return None if near is None else meant[near]


def nearest_run(path: Path) -> str | None:
    """The run or export that a path to none is most like: beside it, or in models/."""
    around = [*_beside(path), *_beside(Path("models") / path.name)]
    runs = [run for run in around if run.suffix == ".safetensors" or _holds_runs(run)]
    meant = {run.name.removesuffix(".safetensors"): str(run) for run in runs}
    near = nearest(path.name.removesuffix(".safetensors"), meant)
    return None if near is None else meant[near]


def _holds_runs(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("settings.json", "seeds.json"))


def _beside(path: Path) -> list[Path]:
    """What there is in the folder of a path, but for hidden files."""
    try:
        return [found for found in sorted(path.parent.iterdir()) if not found.name.startswith(".")]
    except OSError:
        return []
