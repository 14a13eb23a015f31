"""Commands that look after runs."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.options import Json, Overwrite


def runs(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Folder with runs, or a run.")] = Path("models"),
    *,
    scores: Annotated[Path, arg(help="Folder that `videopred evaluate` wrote to.")] = Path("eval"),
    json_: Json = False,
) -> None:
    """List runs: state, updates, losses, and scores."""
    from videopred.runs import list_runs, table

    found = list_runs(folder, scores=scores)
    if json_:
        terminal.print_json({"runs": [run._asdict() for run in found]})
    else:
        print(table(found))


def export(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Run folder that `videopred train` wrote.")],
    *,
    out: Annotated[Path | None, arg(help="File that ends in .safetensors; default: RUN.safetensors.")] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write a trained model as one small file, which every command takes for its run."""
    check.run_folder(run)
    from videopred.export import export_run

    terminal.print_files([export_run(run, out, overwrite=overwrite)], json_)
