"""What runs there are, how far they came and how good they are, read off their folders without torch.

A run that says it is running is believed as long as its process lives, where that can be seen, and it writes.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from videopred import check, check_path
from videopred.amounts import duration, four_digits
from videopred.differing import differing
from videopred.eval.file_names import ScoreFile, score_files
from videopred.eval.text import aligned_lines
from videopred.files import read_json
from videopred.run_files import EXPORT, RECORD, SETTINGS, run_name
from videopred.run_record import read_record, stamp_of, updates_learned, updates_saved
from videopred.spelling import nearest_path
from videopred.systems import home_of_processes, is_alive
from videopred.training.metrics_rows import curves, losses, lowest, read_metrics
from videopred.weights import read_header

SILENT = 3600.0
"""Seconds without a written file after which a run that says it is running is taken for dead."""

_DEPTH = 3  # levels of folders in which runs are looked for


class Run(NamedTuple):
    """A run, as its folder or file shows it."""

    path: str
    state: str
    """finished, interrupted, failed, running, dead, export or damaged."""
    updates: int | None = None
    """Updates done, and saved if it has ended."""
    asked: int | None = None
    """Updates asked for."""
    loss: float | None = None
    """Last training loss in the log."""
    validation: float | None = None
    """Lowest validation loss in the log."""
    seconds: float | None = None
    """How long it trained, by the clock."""
    cpu_seconds: float | None = None
    """CPU time that it took."""
    idle: float | None = None
    """Seconds since it last wrote a file."""
    scores: Mapping[str, Mapping[str, float]] = {}
    """Data, frames given and predicted, and the part if that is not test -> metric -> mean over the rollout, of each
    evaluation."""
    problem: str = ""
    """Why it is damaged."""
    kind_of_loss: str = ""
    """What its losses are, such as bce."""
    settings: Mapping[str, Any] = {}
    """What was asked for, as in its settings.json."""


def run_stamp(run: Path) -> str | None:
    """What tells a run from others of its name, and from itself before it was resumed; an export has that of its run.

    Args:
        run: run folder, or export.
    """
    try:
        return stamp_of(read_header(run)[1] if run.is_file() else read_record(run))
    except (OSError, ValueError):
        return None


def how_far(run: Path) -> str | None:
    """How far a run has learned that is not finished, as `25 of 700 updates`, or the export of one, or of a checkpoint
    on the way; None of any other."""
    try:
        if run.is_file():
            settings, record = read_header(run)
            done = updates_learned(record)
        else:
            settings, record = _read_json(run / SETTINGS), read_record(run)
            done = updates_saved(record)
        done, asked = done or 0, settings["training"]["updates"]
        on_the_way = record.get("checkpoint", "last") != "last" and done < asked
        return None if record["state"] == "finished" and not on_the_way else f"{done:,} of {asked:,} updates"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def list_runs(folder: Path = Path("models"), *, scores: Path = Path("eval"), now: float | None = None) -> list[Run]:
    """The runs and exports in a folder and in folders in it, in order of their names; never changes any.

    Args:
        folder: where to look; may be a run itself.
        scores: where `videopred evaluate` wrote.
        now: seconds since 1970; None asks the clock.

    Raises:
        FileNotFoundError: no such folder.
    """
    if not folder.exists():
        fix = "train a run with `videopred train`, or give the folder that runs are in"
        near = nearest_path(folder, folder=True)
        raise check_path.not_found_error("FOLDER", "be an existing folder", folder, fix, near)
    now = time.time() if now is None else now
    files = score_files(scores)
    return [_look_at(path, files, now) for path in _find(folder, _DEPTH)]


def to_dict(run: Run) -> dict[str, Any]:
    """What is known of a run, in types that JSON knows; null for a loss that is not finite."""
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in run._asdict().items()
    }


def table(runs: list[Run]) -> str:
    """Plain text for a terminal: a line for each run, and one more for each further evaluation."""
    if not runs:
        return "no runs"
    heads = ("run", "state", "updates", "loss", "validation", "time", "CPU time", "idle", "scores")
    lines = [heads, *(line for run in runs for line in _lines(run))]
    return aligned_lines(lines, left=(0, 1, len(heads) - 1))


def settings_table(runs: list[Run]) -> str:
    """Plain text for a terminal: the settings by which runs differ, their lowest validation losses, and what is wrong
    with the runs whose settings are not known."""
    sound = [run for run in runs if run.settings]
    unsound = [f"{run.path} is {run.state}: {run.problem}" for run in runs if not run.settings]
    found = differing({run.path: run.settings for run in sound})
    if not found:
        told = "all runs have the same settings" if len(sound) > 1 else "there are fewer than two sound runs"
        return "\n".join([told, *unsound])
    paths, validation = [run.path for run in sound], [_loss(run.validation) for run in sound]
    lines = [("run", *found, "validation"), *zip(paths, *found.values(), validation, strict=True)]
    return "\n".join([aligned_lines(lines), *unsound])


def _loss(loss: float | None) -> str:
    return "" if loss is None else f"{loss:.6g}"


def _lines(run: Run) -> Iterator[tuple[str, ...]]:
    done = "?" if run.updates is None else str(run.updates)
    updates = "" if run.asked is None else f"{done}/{run.asked}"
    losses = [_loss(run.loss), _loss(run.validation)]
    losses[0] = f"{run.kind_of_loss} {losses[0]}" if losses[0] and run.kind_of_loss else losses[0]
    times = ["" if time is None else duration(time) for time in (run.seconds, run.cpu_seconds, run.idle)]
    scores = {data: [f"{name} {four_digits(value)}" for name, value in of.items()] for data, of in run.scores.items()}
    said = [f"{data}: {', '.join(of)}" for data, of in scores.items()]
    first, *others = said or [run.problem]
    yield run.path, run.state, updates, *losses, *times, first
    yield from (("",) * 8 + (other,) for other in others)


def _find(folder: Path, depth: int) -> list[Path]:
    """Runs and exports in a folder and so many levels of folders in it, as far as they can be looked into."""
    try:
        if folder.is_file() or _is_run(folder):
            return [folder]
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        inside = [path for path in inside if path.suffix == EXPORT or (path.is_dir() and depth > 0)]
    except OSError:  # it may not be looked into, or has just gone
        if depth == _DEPTH:
            raise
        return []
    return [run for path in inside for run in _find(path, depth - 1)]


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (SETTINGS, RECORD, "checkpoints"))


def _look_at(path: Path, scores: Sequence[ScoreFile], now: float) -> Run:
    try:
        if path.is_file():
            settings, record = read_header(path)
            losses: tuple[float | None, float | None, int | None] = (None, None, None)
            state, written = "export", path.stat().st_mtime
        else:
            settings, record = (_read_json(path / name) for name in (SETTINGS, RECORD))
            losses, written = _losses(path), _last_written(path)
            state = _state(record, now - written)
        loss, validation, logged = losses
        # Of what `save_model` wrote, nobody knows how it was trained.
        training = settings.get("training", {"updates": None}) if state == "export" else settings["training"]
        learned, asked = updates_learned(record), training["updates"]
        for updates in (learned, asked):
            if not isinstance(updates, int | None):
                raise ValueError(f"{updates!r} updates in it")
        return Run(
            str(path),
            state,
            updates=logged if learned is None else learned,
            asked=asked,
            loss=loss,
            kind_of_loss=str(training.get("loss", "")),
            validation=validation,
            seconds=_number(record, "seconds"),
            cpu_seconds=_number(record, "cpu_seconds"),
            idle=max(0.0, now - written),
            scores=_scores({run_name(path): stamp_of(record)}, scores),
            settings=settings,
        )
    except (ValueError, KeyError, TypeError, AttributeError, OSError, OverflowError) as error:
        problem = f"no {error}" if isinstance(error, KeyError) else str(error)
        return Run(str(path), "damaged", problem=problem)


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"no {path.name} in it")
    try:
        return read_record(path.parent) if path.name == RECORD else read_json(path)
    except check.FaultyFileError:
        raise ValueError(f"{path.name} is not what was written there") from None


def _number(record: Mapping[str, Any], name: str) -> float | None:
    """A number in a record, which must be finite; None if there is none."""
    if name not in record:
        return None
    number = float(record[name])
    if not isfinite(number):
        raise ValueError(f"{name} {number} in it")
    return number


def _state(record: dict[str, Any], idle: float) -> str:
    state = str(record["state"])
    if state != "running":
        return state
    gone = record.get("home") == home_of_processes() and not is_alive(int(record["process"]))
    return "dead" if gone or idle > SILENT else "running"


def _last_written(run: Path) -> float:
    """When the youngest of its files was written, in seconds since 1970."""
    found = 0.0
    for path in run.rglob("*"):
        with suppress(FileNotFoundError):  # a training has just given it its last name
            found = max(found, path.stat().st_mtime if path.is_file() else 0.0)
    return found


def _losses(run: Path) -> tuple[float | None, float | None, int | None]:
    """Last training loss, lowest validation loss, and updates done, as its log has them."""
    found = curves(read_metrics(run / "logs" / "metrics.csv"))
    training, validation = (
        [value for _, values in losses(found, part).values() for value in values] for part in ("train", "validation")
    )
    done = max((int(max(steps)) for steps, _ in found.values()), default=None)
    return training[-1] if training else None, lowest(validation) if validation else None, done


def _scores(run: Mapping[str, str | None], files: Sequence[ScoreFile]) -> dict[str, dict[str, float]]:
    """What was scored, see `Run.scores` -> metric -> mean of a run, from what `videopred evaluate` wrote.

    What is not of the run is passed over. Of a run that was judged by itself and with others on the same data, what was
    said of it alone.

    Args:
        run: its name, and its stamp.
        files: of this and of other runs.
    """
    found: dict[str, dict[str, float]] = {}
    clips: dict[str, object] = {}
    for file in files:
        content = file.content.get("fingerprint")
        known = clips.get(file.asked, content) == content  # else other clips of the same name
        asked = file.asked if known else f"{file.asked}, in {file.filed_under}/{file.path.parent.name}"
        if asked in found:
            continue
        try:
            for row in file.rows_of(run).values():
                cells = file.content["rows"][row]
                means = {column: cell["mean"] for column, cell in cells.items()}  # null where there is no value
                told = {column: float(mean) for column, mean in means.items() if mean is not None}
                found[asked] = {column: mean for column, mean in told.items() if isfinite(mean)}
                clips.setdefault(asked, content)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            continue
    return dict(sorted(found.items()))
