"""What `videopred train` does with an experiment besides training: its clips, its file, what comes next."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from videopred import check, check_path
from videopred.command_lines import Words, from_here
from videopred.commands import terminal
from videopred.datasets import DATASETS, open_dataset
from videopred.datasets.advice import kept_clips
from videopred.experiments import experiment_names
from videopred.experiments.asking import Asked, ask_by_name
from videopred.experiments.settings import ExperimentConfig
from videopred.training.places import first_of

if TYPE_CHECKING:
    from videopred.checkpoint import ExperimentRecord
    from videopred.datasets.clip_source import ClipSource


def write(experiment: ExperimentConfig, path: Path, overwrite: bool, json_: bool) -> None:
    """Write an experiment to a file that `videopred train` takes."""
    check.require(path.suffix == ".json", "--write", "end in .json", path, "rename it")
    check_path.absent("--write", path, overwrite)
    from videopred.files import write_text

    terminal.print_files([write_text(path, experiment.model_dump_json(indent=2) + "\n")], json_)


def clips_of(asked: Asked, run: ExperimentConfig, given: Path | None) -> Path:
    """The data file that an experiment learns from: its own, made if it is not there, or one that was given.

    Stderr says what its scale changed, as far as flags left that in the run.
    """
    _say_scale(asked, run, given)
    if given is not None:
        return given
    from videopred.experiments.clips import find_or_make_clips

    return find_or_make_clips(asked.scaled, progress=terminal.watched())


def foreseen_clips(asked: Asked, run: ExperimentConfig, given: Path | None) -> "Path | ClipSource":
    """The clips that `clips_of` would give, without making them; stderr says what making them would take."""
    clips = clips_to_make(asked, given)
    if clips is None:
        return clips_of(asked, run, given)
    _say_scale(asked, run, given)
    from videopred.datasets import generation

    scaled = asked.scaled
    told = generation.foresee(scaled.data, scaled.clips, recipe=scaled.recipe, out=scaled.data_file)
    print(f"{scaled.data_file} is not there; {told}", file=sys.stderr)
    return clips


def clips_to_make(asked: Asked, given: Path | None) -> "ClipSource | None":
    """The clips of an experiment if `clips_of` has yet to make them, each made when it is read; else None."""
    if given is not None or asked.scaled.data_file.exists():
        return None
    from videopred.datasets.recipe_clips import open_recipe

    return open_recipe(asked.scaled.recipe, asked.scaled.clips)


def _say_scale(asked: Asked, run: ExperimentConfig, given: Path | None) -> None:
    if told := asked.told(run, own_clips=given is None):
        print(told, file=sys.stderr)


def record_of(asked: Asked, run: ExperimentConfig) -> "ExperimentRecord":
    """What the settings of a run say of its experiment, and of what flags changed in it."""
    from videopred.checkpoint import ExperimentRecord
    from videopred.experiments.scales import changes

    after = {setting: value for setting, (_, value) in changes(asked.scaled, run).items()}
    changed = {setting: list(value) if isinstance(value, tuple) else value for setting, value in after.items()}
    return ExperimentRecord(name=asked.name, own_file=asked.own_file, scale=asked.scale, changed=changed)


def next_command(folder: Path, asked: Asked | None = None) -> Words | None:
    """The command that judges a run, or runs from several seeds, on the data they learned from.

    Of a run of an experiment it is its own, if the data has test clips, which all experiments are judged by. Of a run
    that learned from clips made as they were needed, it is the one that makes test clips, or that judges on those in
    datasets/<name>.h5. None where clips are gone, are of another size, or were of a recipe in a file, of which no
    command makes any; or where its checkpoints are gone.

    Args:
        folder: the run, or the folder of runs.
        asked: the experiment; if None, that of the name that the run keeps, if there is one.
    """
    from videopred.checkpoint import BEST, LAST
    from videopred.training.resuming import read_settings

    run = first_of(folder)
    config, _ = read_settings(run)
    if not any((run / "checkpoints" / name).is_file() for name in (BEST, LAST)):
        return None
    kept = kept_clips(config.data.path) if config.data else None
    if config.data and config.data.path in DATASETS:
        kept = Path("datasets") / f"{config.data.path}.h5"
        if not kept.exists():
            return ("generate", config.data.path, "--clips", "test=200", "--out", str(kept))
    if kept is None:
        return None
    data = from_here(kept)
    clips = _opened(data)
    if clips is not None and clips.film_shape != config.film_shape:
        return None
    part = clips.part_to_judge if clips else "test"
    if part != "test":
        return ("evaluate", str(folder), str(data), "--part", part)
    record = config.experiment
    if asked is None and record is not None and not record.own_file and record.name in experiment_names():
        asked = ask_by_name(record.name, record.scale)
    return asked.next_command(folder, data, clips) if asked else ("evaluate", str(folder), str(data))


def _opened(data: Path) -> "ClipSource | None":
    """The data; None if it cannot be opened, which the next command says."""
    try:
        return open_dataset(data)
    except (ValueError, OSError):
        return None
