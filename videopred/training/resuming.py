"""Going on with a run as if it had never stopped: where from, and whether settings and data are still its own."""

import math
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from videopred import check, check_path
from videopred.checkpoint import (
    BEST,
    LAST,
    LOOKS_KEY,
    DamagedCheckpointError,
    RunConfig,
    choices,
    folder_settings,
    settings_in,
    whole_checkpoint,
)
from videopred.datasets.clip_source import ClipSource
from videopred.models.settings import PredictorConfig
from videopred.run_files import RECORD, SETTINGS
from videopred.run_record import read_record, updates_saved
from videopred.settings import TrainingConfig
from videopred.systems import replace, shell_quoted
from videopred.training.places import state_of

PREVIOUS = "previous.ckpt"

_PARTS = (
    "global_step", "state_dict", "optimizer_states", "lr_schedulers", "loops", "pytorch-lightning_version", LOOKS_KEY
)  # fmt: skip
"""What training goes on from."""


class StartingPoint(NamedTuple):
    """Where a run begins: from nothing, unless a checkpoint is given."""

    checkpoint: Path | None = None
    """None: nothing was saved, and it starts over."""
    done: int = 0
    """Updates that are in the checkpoint."""
    best_so_far: float = float("inf")
    """Loss of the best checkpoint that is there."""


def read_settings(run: Path) -> tuple[RunConfig, dict[str, Any]]:
    """Settings and record of a run folder; of a record that is damaged, nothing.

    Raises:
        FileNotFoundError: there is no run. ValueError: its settings are damaged, or it is an export.
    """
    must, fix = "be a run folder", "an export has no checkpoint to go on from; start from it with --init-from"
    check.require(not check_path.run_folder(run).is_file(), "--resume", must, run, fix)
    return folder_settings(run), _record(run)


def is_finished(run: Path) -> bool:
    """Whether a run has nothing left to learn, as its record says."""
    return state_of(run) == "finished"


def _record(run: Path) -> dict[str, Any]:
    try:
        return read_record(run)
    except check.FaultyFileError:
        return {}  # checkpoints are what counts; `RunFolder.go_on` keeps it and says so


def find_start(run: Path, config: RunConfig) -> StartingPoint:
    """The latest whole checkpoint of a run; damaged ones get a name that nothing reads.

    Says on stderr which were damaged, or that there is none.

    Raises:
        FaultyFileError: a whole checkpoint is of another run or another program, and is left where it is; or all are
            gone.
        FileNotFoundError: it starts from scratch, and the run that gave its first weights is gone.
        OSError, MemoryError: the system does not give one out.
    """
    start, damaged = _latest_whole(run / "checkpoints", config)
    gone = None if start.checkpoint else _gone_source(config)
    if start.checkpoint is None and not damaged:
        _check_nothing_saved(run)
        if gone is None:
            print(f"videopred: {run} has saved nothing yet; it starts from scratch", file=sys.stderr)
    nothing = "nothing else is saved, so it starts from scratch"
    instead = nothing if start.checkpoint is None else f"resuming from {start.checkpoint.name}"
    for name, said in damaged.items():
        print(f"videopred: {said}; {'the best from here on is kept' if name == BEST else instead}", file=sys.stderr)
    if gone is not None:
        fix = f"put it back, or train anew with --out {shell_quoted([str(run)])} --overwrite"
        raise check_path.not_found_error("--init-from", "be where it was", gone, fix, None)
    return start


def _latest_whole(folder: Path, config: RunConfig) -> tuple[StartingPoint, dict[str, str]]:
    """Where a run's checkpoints let it begin, and what is wrong with each that is damaged and gets another name."""
    start, damaged, kept = StartingPoint(), {}, _kept(folder)
    for name in (BEST, PREVIOUS, LAST, *sorted(kept, key=lambda name: -kept[name])):
        path = folder / name
        if kept.get(name, math.inf) <= start.done:
            continue
        try:
            content = whole_checkpoint(path)
        except FileNotFoundError:
            continue
        except DamagedCheckpointError as error:
            damaged[name] = error.args[0].partition(";")[0]
            with suppress(FileNotFoundError):  # another process of this training was faster
                replace(path, path.with_name(f"{name}.damaged"))
            continue
        _check_own(path, content, settings_in(content, path, config), config)
        if name == BEST:
            start = start._replace(best_so_far=content[LOOKS_KEY]["latest"])
        if content["global_step"] >= start.done:
            start = start._replace(checkpoint=path, done=content["global_step"])
    return start, damaged


def _check_own(path: Path, content: dict[str, Any], stored: RunConfig, config: RunConfig) -> None:
    """Refuse a whole checkpoint that is of another run of the same model, or lacks what a resume goes on from.

    Args:
        path: its file.
        content: what is in it.
        stored: the settings in it.
        config: those of the run, which may have been changed by hand since.
    """
    missing = [name for name in _PARTS if name not in content]
    fix = "put back the run's own checkpoint, or train again"
    must = "hold all that training goes on from"
    check.require_sound(not missing, str(path), must, f"no {', '.join(missing)}", fix)
    kinds = {
        "global_step": isinstance(content["global_step"], int),
        "state_dict": isinstance(content["state_dict"], dict),
        "optimizer_states": isinstance(content["optimizer_states"], list) and len(content["optimizer_states"]) == 1,
        "loops": isinstance(content["loops"], dict) and "fit_loop" in content["loops"],
        LOOKS_KEY: isinstance(content[LOOKS_KEY], dict) and "latest" in content[LOOKS_KEY],
    }
    odd = [name for name, sound in kinds.items() if not sound]
    check.require_sound(not odd, str(path), must, f"something else as {', '.join(odd)}", fix)
    ours, theirs = (
        one.training.model_dump() | {"data": one.data.sha256 if one.data else None} for one in (config, stored)
    )
    for name, value in ours.items():
        must = f"be of the run in {SETTINGS}, with {name} {value}"
        fix = f"put back the run's own {SETTINGS}, or its own checkpoint"
        check.require_sound(theirs[name] == value, str(path), must, theirs[name], fix)


def _gone_source(config: RunConfig) -> Path | None:
    """The run or export whose weights were to be the first, if it is gone."""
    source = None if config.init_from is None else Path(config.init_from)
    return None if source is None or source.exists() else source


def _check_nothing_saved(run: Path) -> None:
    """Refuse a run whose checkpoints somebody has taken away: it would silently begin again."""
    record, damaged = _record(run), any((run / "checkpoints").glob("*.damaged"))  # of which it was said
    saved = updates_saved(record) or 0
    got = f"{run} without any, though {RECORD} says that {saved} updates were saved"
    fix = f"put checkpoints/ back, or train it anew with --out {shell_quoted([str(run)])} --overwrite"
    check.require_sound(damaged or not saved, "--resume", "hold its checkpoints", got, fix)


def _kept(folder: Path) -> dict[str, int]:
    """Name of each checkpoint that `keep_every` asked for -> its updates."""
    named = {path.name: re.fullmatch(r"update-(\d+)\.ckpt", path.name) for path in folder.glob("update-*.ckpt")}
    return {name: int(number[1]) for name, number in named.items() if number}


def check_same(config: RunConfig, model: PredictorConfig | None, training: TrainingConfig | None) -> None:
    """Refuse settings that are not those of the run; None asks for the run's own.

    Raises:
        ValueError: names the first that differs.
    """
    asked = config.model_copy(update={"model": model or config.model, "training": training or config.training})
    ours, theirs = (choices(one) | one.training.model_dump() for one in (config, asked))
    for name, value in theirs.items():  # of two cores that differ, their name comes before their settings
        must = f"be {ours[name]}, as in the run that is resumed"
        fix = "leave it out, or train another run, which may begin with --init-from"
        check.require(ours[name] == value, check.flag(name), must, value, fix)


def check_data(config: RunConfig, file: ClipSource, data: Path | str) -> None:
    """Refuse clips that are not those the run has learned from.

    Args:
        config: settings of the run.
        file: the clips.
        data: what they were opened as, which complaints name: those of a recipe are in no file.

    Raises:
        ValueError: says whether the shape of frames or the content differs.
    """
    record, shape = config.data, file.film_shape
    must, fix = "hold the clips that the run has learned from", "give that file, or train another run"
    got = f"{data} with frames {'×'.join(map(str, shape))} instead of {'×'.join(map(str, config.film_shape))}"
    check.require(shape == config.film_shape, "DATA", must, got, fix)
    if record is None:
        return
    found = file.fingerprint()
    got = f"{data}, whose fingerprint has changed from {record.sha256[:12]}… to {found[:12]}…"
    check.require(record.sha256 == found, "DATA", must, got, fix)


def as_if_between_updates(checkpoint: dict[str, Any], training: TrainingConfig) -> None:
    """Set a checkpoint's counters as they are between two updates, after the look at validation clips if one is due.

    Lightning's counters depend on where in its loop a checkpoint is saved, and a resumed loop goes on from them.
    """
    done, loops = checkpoint["global_step"], checkpoint["loops"]["fit_loop"]
    # At the beginning of a piece of a batch, Lightning has counted it as ready.
    loops["epoch_loop.batch_progress"]["total"]["ready"] = done * training.accumulate
    # Where a look is due, Lightning first passes by it and counts a step for that.
    looked = done % training.validate_every == 0
    loops["epoch_loop.state_dict"]["_batches_that_stepped"] = done - looked
