"""Flags and arguments that several commands share."""

from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

Run = Annotated[Positional[Path], arg(metavar="RUN", help="Run folder, or file of `videopred export`.")]
Data = Annotated[Positional[Path], arg(metavar="DATA", help="HDF5 file of clips, or a folder of shards.")]
Context = Annotated[int | None, arg(metavar="FRAMES", help="True frames to start from; default: the data's own.")]
Horizon = Annotated[int | None, arg(metavar="FRAMES", help="Frames to predict; default: the data's own.")]
Means = Annotated[
    tuple[int, ...], arg(metavar="STEPS...", help="Report means over the first so many steps, too, such as 5 10.")
]
Device = Annotated[
    str, arg(metavar="DEVICE", help="auto, cpu, cuda, cuda:1 or mps; auto takes a CUDA device if there is one.")
]
Overwrite = Annotated[bool, arg(help="Replace what is there.")]
Names = Annotated[tuple[str, ...], arg(metavar="RUN=NAME...", help="What several runs are called instead.")]
Json = Annotated[bool, arg(name="json", help="Print JSON instead of tables.")]

RESULTS_HELP = "Folder; default: eval/<run>/<data>, of several runs eval/<first>-and-1-more/<data> and so on."
CORE_HELP = "A core or preset of `videopred list`, or MODULE:CLASS of your own: see docs/cores.md."


def out_flag(said: str) -> Any:
    """What makes --out, with this help, -o as well."""
    return arg(aliases=["-o"], help=said)
