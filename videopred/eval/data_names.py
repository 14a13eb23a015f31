"""Names of several tables of scores: what each is called, which are of one data set, and what each set is called."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, NamedTuple

from videopred import check
from videopred.run_files import data_name, is_seed_folder

if TYPE_CHECKING:
    from videopred.eval.scores import Scores


class Series(NamedTuple):
    """Names that differ in one number alone, such as balls1, balls2 and balls3."""

    pattern: str
    """What they share, with * for the number."""
    numbers: tuple[float, ...]
    """The number of each."""


def table_names(tables: Mapping[Path, "Scores"]) -> dict[Path, str]:
    """What each table is called: after its run where it lies in eval/<run>/<data>, else after its folder.

    A folder with several tables of the same data is no run's: in it, each is called after its own folder.

    Args:
        tables: folder of the scores -> the table.
    """
    runs = {folder: _run_part(folder.resolve()) for folder in tables}  # `.` has no name
    often = Counter((runs[folder], table.fingerprint) for folder, table in tables.items())
    paths = {
        folder: str(folder.resolve() if often[runs[folder], table.fingerprint] > 1 else runs[folder])
        for folder, table in tables.items()
    }
    once = list(dict.fromkeys(paths.values()))
    names = dict(zip(once, names_of(once), strict=True))
    return {folder: names[path] for folder, path in paths.items()}


def by_data(tables: Sequence[tuple[str, "Scores"]]) -> dict[str, dict[str, "Scores"]]:
    """Name of a data set -> name of a table -> the table.

    A data set is known by its fingerprint and called after its file, with as many of the folders around it as tell all
    apart. Names that differ in one number come in its order, others as they were given.

    Args:
        tables: name and table, of each.

    Raises:
        ValueError: a table is given twice, or there are scores of two contents of one file.
    """
    tables_of: dict[str, dict[str, Scores]] = {}
    for name, table in tables:
        named = tables_of.setdefault(table.fingerprint, {})
        check.require(name not in named, "SCORES", "be given once each", f"{name} on {table.file}", "leave one out")
        named[name] = table
    of_data = dict(zip(_data_names(tables_of), tables_of.values(), strict=True))
    if series := series_of(list(of_data)):
        of_data = dict(one for _, one in sorted(zip(series.numbers, of_data.items(), strict=True)))  # each number once
    return of_data


def series_of(names: Sequence[str]) -> Series | None:
    """The one number in which names differ; None if they differ otherwise.

    A dot in it is a decimal point, unless a 0 ends any of them, as versions 1.9 and 1.10 do.
    """
    for number in (r"(\d+(?:\.\d+)?)", r"(\d+)"):
        parts = [re.split(number, name) for name in names]
        differing = [place for place, words in enumerate(zip(*parts, strict=False)) if len(set(words)) > 1]
        alike = len({len(words) for words in parts}) == 1
        if not alike or len(differing) != 1 or differing[0] % 2 == 0:  # at even places stands what is no number
            continue
        (place,) = differing
        told = [words[place] for words in parts]
        if any("." in one and one.endswith("0") for one in told):
            continue
        numbers = tuple(float(one) if "." in one else int(one) for one in told)
        pattern = "".join([*parts[0][:place], "*", *parts[0][place + 1 :]])
        return Series(pattern, numbers) if len(set(numbers)) == len(numbers) else None
    return None


def file_names(files: Sequence[Path]) -> list[str]:
    """A short name for each file, as in `names_of`, without their endings if that leaves them told apart."""
    short = [str(file.parent / data_name(file)) for file in files]
    return names_of(short if len(set(short)) == len(short) else list(map(str, files)))  # such as a.h5 and a.npz


def names_of(paths: Sequence[str]) -> list[str]:
    """A short name for each path, of any system: as few of its last parts as tell all apart, with slashes between."""
    read = [PureWindowsPath(path) for path in paths]  # which takes slashes for separators too
    parts = [path.relative_to(path.anchor).parts for path in read]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    check.each_once("SCORES", paths, "be given once each")
    return list(paths)  # such as /a and a, whose parts are the same


def _run_part(folder: Path) -> Path:
    """The part of a path of scores that names the run: eval/<run> of eval/<run>/<data>; elsewhere the whole folder.

    The <run> of one seed is two folders, <experiment>/seed-<n>, also where more were judged with it.
    """
    run = folder.parent
    first = re.sub(r"-and-\d+-more$", "", run.name)
    above = run.parent.parent if is_seed_folder(first) else run.parent
    return run if above.name == "eval" else folder


def _data_names(tables_of: Mapping[str, Mapping[str, "Scores"]]) -> list[str]:
    """A short name for each fingerprint."""
    files = {fingerprint: next(iter(tables.values())).file for fingerprint, tables in tables_of.items()}
    for file, count in Counter(files.values()).items():
        contents = [fingerprint for fingerprint, named in files.items() if named == file]
        got = ", and ".join(f"{' and '.join(tables_of[one])} with {one}" for one in contents)
        fix = "evaluate all again on the same clips, or, if these are two files, from one folder"
        check.require(count == 1, "SCORES", f"be of one content of {file}", got, fix)
    return file_names(list(map(Path, files.values())))
