"""Commands that look after runs."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.options import Json, Overwrite


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
