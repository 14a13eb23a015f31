"""Runs on the command line: which of the paths they are, and what several of them are called."""

from collections.abc import Collection, Sequence
from pathlib import Path

from videopred import check
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


def called(runs: Sequence[Path], words: Sequence[str]) -> list[str]:
    """What runs are called: as --names says, else by their own names.

    Args:
        runs: paths of runs or of folders of seeds.
        words: values of --names.

    Raises:
        ValueError: there is no such run, or two would be called the same.
    """
    own = own_names(runs)
    told = read_names(words, "RUN", own)
    check.require(not told or len(runs) > 1, "--names", "be given with several runs", " ".join(words), "leave it out")
    for name in told:
        check.one_of("--names", name, own)
    found = [told.get(name, name) for name in own]
    check.each_once("--names", found, "tell all runs apart", "choose another name")
    return found
