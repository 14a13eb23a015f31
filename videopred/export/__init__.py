"""Share a trained model: from a run folder to one small file, which stands for the run wherever one is asked for."""

import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from torch import Tensor

from videopred import check, check_path
from videopred.checkpoint import BEST, RunConfig, checkpoint_file, read_checkpoint
from videopred.files import write_all
from videopred.run_files import export_of, last_name
from videopred.run_record import read_record, updates_learned
from videopred.weights import Export, export_bytes

OF_THIS_MACHINE = ("host", "process", "home", "job", "resumed")
"""What of a record has a meaning on this machine only."""


def export_run(
    run: Path, out: Path | None = None, *, checkpoint: str | None = None, half: bool = False, overwrite: bool = False
) -> Path:
    """Write the settings and the weights of a run, its best unless told otherwise, as one file, and return its path.

    It holds no state of the optimiser, so training cannot be resumed from it, only begun.

    Args:
        run: a run folder.
        out: the file; ends in .safetensors. None is the run's name beside the run, and behind it that of `checkpoint`.
        checkpoint: which of its checkpoints in the place of the best, such as last or update-0001000.
        half: round the weights to 16 bits, which halves the file and changes scores a little.
        overwrite: replace a file that is there already.

    Raises:
        FileNotFoundError, ValueError: no run or no such checkpoint there, or a damaged one.
        FileExistsError: the file is there already.
    """
    out = export_file(run, out, overwrite, checkpoint)
    write_all({out: export_bytes(gather(run, half, checkpoint))}, overwrite=overwrite)
    return out


def export_file(run: Path, out: Path | None, overwrite: bool, checkpoint: str | None = None) -> Path:
    """Where the export of a run goes, after a look whether it may; see `export_run`.

    Raises:
        FileNotFoundError: there is no such run.
        ValueError: it is an export, it has no such checkpoint, or the file is not called as exports are.
        FileExistsError: the file is there and `overwrite` is false.
    """
    check_path.run_folder(run)
    check.require(run.is_dir(), "RUN", "be a run folder", f"{run}, an export", "copy the file")
    which = None if checkpoint is None else checkpoint_file(run, checkpoint).stem
    out = check_path.export_name(out or export_of(run, which))
    return check_path.absent("--out", out, overwrite)


def gather(run: Path, half: bool, checkpoint: str | None = None) -> Export:
    """What an export of a run folder holds: settings, record and weights, without what is of this machine only.

    Args:
        run: a run folder.
        half: round the weights to float16; who loads them has float32 again.
        checkpoint: see `export_run`.

    Raises:
        ValueError: a weight is too large for float16; or see `read_checkpoint`.
    """
    config, weights, done = read_checkpoint(run, checkpoint)
    weights = in_16_bits(weights, "RUN") if half else weights
    kept, record = checkpoint_file(run, checkpoint), _record(run, config)
    if kept.name != BEST:
        record |= {"checkpoint": kept.stem, "updates": done}
    elif updates_learned(record) is None:  # it was killed, or still goes on
        record["learned"] = done
    unlike = [] if checkpoint is None or kept.name == BEST else [kept.stem]
    if half or unlike:  # scores of the one are none of the other
        record["weights"] = ", ".join([*unlike, *(["16 bits"] if half else [])])
    return Export(_settings(config), record, weights)


def in_16_bits(weights: Mapping[str, Tensor], argument: str) -> dict[str, Tensor]:
    """Weights by name, rounded to float16; who loads them has float32 again.

    Args:
        weights: finite numbers.
        argument: what messages call the model that they are of.

    Raises:
        ValueError: one is too large for float16.
    """
    rounded = {name: value.half() if value.is_floating_point() else value for name, value in weights.items()}
    for name, value in rounded.items():
        fits, fix = bool(value.isfinite().all()), "leave --half out"
        check.require(fits, argument, "have weights below 65,504 for --half", f"larger ones in {name}", fix)
    return rounded


def _path(text: str) -> PurePosixPath:
    """A path, also one of Windows, as a run may be exported on another machine than it was trained on."""
    return PurePosixPath(text.replace("\\", "/"))


def _settings(config: RunConfig) -> dict[str, Any]:
    """The settings, with names of files in the place of paths, which have a meaning on this machine only."""
    settings = config.model_dump(mode="json")
    if config.data is not None:
        settings["data"]["path"] = _path(config.data.path).name
    if config.init_from is not None:
        settings["init_from"] = last_name(_path(config.init_from))
    return settings


def _record(run: Path, config: RunConfig) -> dict[str, Any]:
    """What run.json says, without what has a meaning on this machine only."""
    record = {name: value for name, value in read_record(run).items() if name not in OF_THIS_MACHINE}
    if record.get("data"):
        record["data"] = {name: value for name, value in record["data"].items() if name != "path"}
    if not record.get("command", "").startswith("videopred "):  # what a program of one's own was given may be secret
        record.pop("command", None)
    else:
        learned = _path("" if config.data is None else config.data.path).name
        place, source = last_name(run.resolve()), config.init_from and last_name(_path(config.init_from))
        words = shlex.split(record["command"])
        if any(word.partition("=")[0] == "--seeds" for word in words):  # which are trained in one folder
            place = run.resolve().parent.name
        record["command"] = shlex.join(
            _elsewhere(before, word, {"--data": learned, "--out": place, "-o": place, "--init-from": source})
            for before, word in pairwise(["", *words])
        )
    return record


def _elsewhere(before: str, word: str, names: Mapping[str, str | None]) -> str:
    """A word of a command without folders: in the place of the one that `train` was given in, or one above it, a name.

    Args:
        before: the word before it.
        word: as it was typed.
        names: flag -> the name of what comes with it; --data is also that of words without a flag.
    """
    flag, equals, value = word.partition("=") if word.startswith("--") and "=" in word else (before, "", word)
    name = names.get(flag) if equals or flag in names else names["--data"]
    is_folder = bool(value) and not value.startswith("-") and Path(value).name in ("", "..")
    if name and (is_folder or flag == "--init-from"):  # whose seed-1 says nothing without the folder around it
        value = name
    elif {"/", "\\"} & {*value}:
        value = last_name(_path(value))
    return f"{flag}={value}" if equals else value
