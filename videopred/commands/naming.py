"""Runs on the command line: which of the paths they are, and what several of them are called."""

from collections.abc import Collection, Sequence
from pathlib import Path

from videopred import check
from videopred.eval.settings import FilmsConfig
from videopred.run_files import looks_like_run, run_name


def runs_and_data(paths: Sequence[Path], otherwise: str = "") -> tuple[list[Path], Path]:
    """The runs and the data among the paths: the data comes last.

    Args:
        paths: as they were given.
        otherwise: what else can be done where there are no two.

    Raises:
        ValueError: there are fewer than two, or a run comes last.
    """
    got, fix = " ".join(map(str, paths)) or "nothing", f"put both before the options{otherwise}; see --help"
    check.require(len(paths) >= 2, "RUN and DATA", "be given", got, fix)
    *runs, data = paths
    fix = "put the data behind all runs"
    check.require(not looks_like_run(data), "DATA", "be the last path", f"{data}, a run", fix)
    return runs, data


def runs_and_true_films(
    paths: Sequence[Path], films: FilmsConfig, *, beside_runs: bool = False
) -> tuple[list[Path], Path | None]:
    """The runs and the data among the paths; films made elsewhere stand for runs, and true ones for data.

    Args:
        paths: as they were given.
        films: those made elsewhere; without any, there must be runs and data.
        beside_runs: whether there may be runs besides them.

    Raises:
        ValueError: there are too few paths, or too many, or a run comes last.
    """
    if not films.pred:
        return runs_and_data(paths, ", or give --pred for films made elsewhere")
    there = films.true is not None or len(paths) > 0
    fix = "name the true films; DATA comes before the options"
    check.require(there, "DATA or --true", "be given with --pred", "neither", fix)
    must = "be left out with --pred and --true" if films.true else "be DATA alone with --pred"
    fits = len(paths) <= (0 if films.true else 1) or (beside_runs and not films.true)
    fix = "give the true films as DATA behind the runs" if beside_runs else "judge runs by themselves"
    check.require(fits, "RUN and DATA", must, " ".join(map(str, paths)), fix)
    return runs_and_data(paths) if len(paths) > 1 else ([], paths[0] if paths else None)


def read_names(words: Sequence[str], of: str, there: Collection[str]) -> dict[str, str]:
    """What --names says: name of a row or run -> what it is to be called.

    Args:
        words: as they were given.
        of: what is named, as in the help: ROW or RUN.
        there: the names that there are, of which some may hold a =, as lr=0.01 does.

    Raises:
        ValueError: words of another form, or one that is named twice.
    """
    told = []
    for word in words:
        one = max((name for name in there if word.startswith(f"{name}=")), key=len, default=word.partition("=")[0])
        name = word[len(one) + 1 :]
        check.require(bool(one and name), "--names", f"be {of}=NAME", word, "write e.g. scoff-balls4=SCOFF")
        told.append((one, name))
    check.each_once("--names", [one for one, _ in told], f"name each {of.lower()} once")
    return dict(told)


def own_names(runs: Sequence[Path]) -> list[str]:
    """The names of runs, with as many of the folders around them as tell them apart.

    Raises:
        ValueError: a run is given twice.
    """
    from videopred.eval.data_names import names_of

    check.each_once("RUN", [run.resolve() for run in runs], "be given once each")
    names = [run_name(run) for run in runs]
    return names if len(set(names)) == len(names) else names_of([str(run.resolve()) for run in runs])


def called(runs: Sequence[Path], words: Sequence[str], films: Sequence[Path] = ()) -> list[str]:
    """What runs, and films made elsewhere, are called: as --names says, else by their own names.

    Args:
        runs: paths of runs or of folders of seeds.
        words: values of --names.
        films: paths of films made elsewhere; where one is called as a run is, they keep their endings or folders.

    Raises:
        ValueError: there is no such run, or two would be called the same.
    """
    from videopred.eval.data_names import file_names

    check.each_once("--pred", [path.resolve() for path in films], "be given once each")
    own, of_films = own_names(runs), file_names([path.absolute() for path in films])
    if not set(own).isdisjoint(of_films):
        of_films = [path.name if path.is_file() else "/".join(path.absolute().parts[-2:]) for path in films]
    own += of_films
    told = read_names(words, "RUN", own)
    check.require(not told or len(own) > 1, "--names", "be given with several runs", " ".join(words), "leave it out")
    for name in told:
        check.one_of("--names", name, own)
    found = [told.get(name, name) for name in own]
    check.each_once("--names", found, "tell all runs apart", "choose another name")
    return found
