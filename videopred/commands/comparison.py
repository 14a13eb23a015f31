"""The command that holds the scores of models against each other."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from videopred import again, check
from videopred.commands import terminal
from videopred.commands.options import Json, Overwrite, out_flag
from videopred.eval.file_names import SCORES, scores_in
from videopred.spelling import nearest_path, nearest_run
from videopred.training.places import SUMMARY


def compare(
    paths: Annotated[
        Positional[tuple[Path, ...]],
        arg(
            metavar="SCORES...",
            help="Folders that `evaluate` wrote, or runs or folders of seeds: then eval/<run>/<--data>.",
        ),
    ],
    *,
    data: Annotated[str | None, arg(metavar="NAME", help="Which scores of the runs: the name of the data.")] = None,
    relative_to: Annotated[
        str | None, arg(metavar="ROW", help="Hold all rows against this one; default: the first model.")
    ] = None,
    out: Annotated[Path, out_flag("Folder for comparison.md, .csv, .png and .svg.")] = Path("eval/comparison"),
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Hold models against each other on the same clips: paired differences, ratios, curves."""
    check.require(len(paths) > 0, "SCORES", "be given", "nothing", "name folders that `videopred evaluate` wrote")
    of_runs = [path for path in paths if not _holds_scores(path)]
    fix = "leave it out: a folder of scores is of one data set"
    check.require(data is None or len(of_runs) > 0, "--data", "be given with runs", data, fix)
    folders = [_scores_of(path, data) for path in paths]
    targets = {suffix: out / f"comparison{suffix}" for suffix in (".md", ".csv", ".png", ".svg")}
    for target in targets.values():
        check.absent("--out", target, overwrite)
    from videopred.eval import comparison
    from videopred.eval.scores import load_scores

    names = comparison.names_of([str(_unlike(folder)) for folder in folders])
    tables = {name: load_scores(folder) for name, folder in zip(names, folders, strict=True)}
    compared = comparison.compare(tables, relative_to)
    from videopred.comparing import save_comparison

    save_comparison(compared, targets, overwrite=overwrite)
    if json_:
        terminal.print_json(compared.to_dict() | {"files": [str(path) for path in targets.values()]})
        return
    print(compared.table(), end="\n\n")
    terminal.print_files(list(targets.values()), False)


def _holds_scores(path: Path) -> bool:
    return path.name == SCORES or (path / SCORES).is_file()


def _scores_of(path: Path, data: str | None) -> Path:
    """The folder of scores that a path means: itself, or where `evaluate` puts those of a run."""
    if _holds_scores(path):
        return path
    is_run = any((path / name).is_file() for name in ("settings.json", SUMMARY)) or path.suffix == ".safetensors"
    if not is_run:
        inside, make = scores_in(path), "make them with `videopred evaluate`"
        if not path.exists():
            near = nearest_run(path) or nearest_path(path)
            raise check.nothing_there("SCORES", "be a folder of scores or a run", path, make, near)
        fix = f"did you mean {inside[0].parent}?" if inside else make
        check.existing_file("SCORES", path / SCORES, fix)
    from videopred.runs import run_name

    found = Path("eval") / run_name(path)
    there = [file.parent.name for file in scores_in(found)]
    fix = f"score it with `{again.typed(('evaluate', str(path), 'DATA'))}`, or name the folder of its scores"
    got = f"{path}, of which {', '.join(there) or 'nothing'} is in {found}"
    must = "have scores of one data set" if data is None else f"have scores of {data}"
    fits = len(there) == 1 if data is None else data in there
    check.require(fits, "SCORES", must, got, fix)
    return found / (data or there[0])


def _unlike(folder: Path) -> Path:
    """The part of a path that names a run, where `evaluate` wrote eval/<run>/<data>; a run of a seed is two folders."""
    folder = folder.parent if folder.name == SCORES else folder
    run = folder.parent
    above = run.parent.parent if run.name.startswith("seed-") else run.parent
    return run if above.name == "eval" else folder
