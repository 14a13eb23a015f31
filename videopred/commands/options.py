"""Flags and arguments that several commands share."""

from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from videopred import check

Run = Annotated[Positional[Path], arg(metavar="RUN", help="Run folder, or file of `videopred export`.")]
Data = Annotated[Positional[Path], arg(metavar="DATA", help="HDF5 file of clips, or a folder of shards.")]
Context = Annotated[int | None, arg(metavar="FRAMES", help="True frames to start from; default: the data's own.")]
Horizon = Annotated[int | None, arg(metavar="FRAMES", help="Frames to predict; default: the data's own.")]
Device = Annotated[
    str, arg(metavar="DEVICE", help="auto, cpu, cuda, cuda:1 or mps; auto takes a CUDA device if there is one.")
]
Overwrite = Annotated[bool, arg(help="Replace what is there.")]
Json = Annotated[bool, arg(name="json", help="Print JSON instead of tables.")]

CORE_HELP = "A core or preset of `videopred list`, or MODULE:CLASS of your own: see docs/cores.md."


def out_flag(said: str) -> Any:
    """What makes --out, with this help, -o as well."""
    return arg(aliases=["-o"], help=said)


def read_names(words: tuple[str, ...], of: str) -> dict[str, str]:
    """What --names says: name of a row or run -> what it is to be called.

    Args:
        words: as they were given.
        of: what is named, as in the help: ROW or RUN.
    """
    for word in words:
        one, sign, name = word.partition("=")
        check.require(bool(one and sign and name), "--names", f"be {of}=NAME", word, "write e.g. scoff-balls4=SCOFF")
    named = [word.partition("=")[0] for word in words]
    twice = " ".join(word for word, one in zip(words, named, strict=True) if named.count(one) > 1)
    check.require(not twice, "--names", f"name each {of.lower()} once", twice, "leave one out")
    return {one: word.partition("=")[2] for word, one in zip(words, named, strict=True)}
