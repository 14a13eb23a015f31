"""What `videopred train` does with an experiment besides training: its clips, its file, what comes next."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from videopred import check
from videopred.commands import terminal
from videopred.experiments.asking import Asked
from videopred.experiments.settings import ExperimentConfig

if TYPE_CHECKING:
    from videopred.checkpoint import ExperimentRecord


def write(experiment: ExperimentConfig, path: Path, overwrite: bool, json_: bool) -> None:
    """Write an experiment to a file that `videopred train` takes."""
    check.require(path.suffix == ".json", "--write", "end in .json", path, "rename it")
    check.absent("--write", path, overwrite)
    from videopred.files import whole_file

    with whole_file(path) as partial:
        partial.write_text(experiment.model_dump_json(indent=2) + "\n")
    terminal.print_files([path], json_)


def clips_of(asked: Asked, given: Path | None, dry_run: bool) -> Path:
    """The data file that an experiment learns from: its own, made if it is not there, or one that was given.

    Raises:
        FileNotFoundError: it would have to be made, which a dry run does not.
    """
    if asked.scale != "paper":
        print(asked.told(), file=sys.stderr)
    if given is not None:
        return given
    from videopred.experiments.clips import find_or_make_clips

    if dry_run:
        check.existing_file("DATA", asked.scaled.data_file, "leave out --dry-run to make it, or give --data")
    return find_or_make_clips(asked.scaled, progress=terminal.watched())


def record_of(asked: Asked, run: ExperimentConfig) -> "ExperimentRecord":
    """What the settings of a run say of the experiment that it is of, and of what flags changed in it."""
    from videopred.checkpoint import ExperimentRecord
    from videopred.experiments.scales import changes

    changed = {setting: after for setting, (_, after) in changes(asked.scaled, run).items()}
    return ExperimentRecord(name=asked.name, scale=asked.scale, changed=changed)
