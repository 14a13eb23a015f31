"""What the page says of one run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from videopred import check
from videopred.checkpoint import checkpoint_file, load_run
from videopred.datasets.description import describe
from videopred.datasets.opening import open_dataset
from videopred.eval.scores import Scores
from videopred.report import again, tables
from videopred.report.charts import Line, line_chart
from videopred.report.clips import Chosen, Predicted, Shown, choose_clips
from videopred.report.found import FoundRun, curves
from videopred.report.tables import Table

if TYPE_CHECKING:
    from videopred.datasets.source import ClipSource

_POINTS = 300
"""Points of a curve at most; of more rows, means of as many as it takes are drawn."""


class Missing(NamedTuple):
    """What a page could show, and the command that makes it."""

    what: str
    command: str


class ScoreBlock(NamedTuple):
    """Scores on one data set."""

    title: str
    table: Table
    charts: Sequence[str]
    legend: Mapping[str, str]
    """Metric -> its convention."""
    notes: Sequence[str]


class Section(NamedTuple):
    """What the page says of one run, ready to be set."""

    run: FoundRun
    facts: Mapping[str, str]
    """What is to be seen first."""
    predicted: Predicted | None
    """Clips to watch; None if they cannot be predicted."""
    span: str
    """How the clips were predicted."""
    scores: Sequence[ScoreBlock]
    plausibility: Sequence[tuple[str, Table]]
    """Name of data and errors."""
    learning: Sequence[str]
    """SVGs of its curves."""
    data: Mapping[str, Mapping[str, str]]
    """What it saw: part of the card -> name -> value."""
    settings: Mapping[str, Mapping[str, str]]
    """Part of the settings -> name -> value."""
    provenance: Mapping[str, str]
    commands: Mapping[str, str]
    """What a command makes -> the command."""
    missing: Sequence[Missing]
    clips: Sequence[Shown] = ()
    """The clips as they are drawn, once their size is known."""


def tell_run(run: FoundRun, data: Path | None, by: str | None, device: torch.device) -> Section:
    """What there is to say of a run.

    Args:
        run: what was found of it.
        data: the clips to show; None if they are not here.
        by: the metric that says which clips are worst and best; the first that was scored when None.

    Raises:
        ValueError: the data does not fit the run, or the metric was not scored.
    """
    missing: list[Missing] = []
    predicted: Predicted | None = None
    span, card, made = "", {"": _data_record(run)}, None
    scores = run.scores.get(data.stem) if data else None
    if by is not None:
        scored = list(scores.metrics) if scores else []
        check.require(bool(scored), "--by", f"come with scores of {run.name}", by, "score it with `videopred evaluate`")
        check.one_of("--by", by, scored)
    named = str(data or "DATA")
    if scores is None:
        missing.append(Missing(f"scores on {data.name if data else 'data'}", f"videopred evaluate {run.path} {named}"))
    if not run.plausibility:
        what = "plausibility: how surprised it is by impossible films of the data set `occlusion`, or of IntPhys"
        missing.append(Missing(what, f"videopred plausibility {run.path} DATA"))
    if data is None:
        what = "clips that play: what it learned from is not where it was"
        missing.append(Missing(what, f"videopred report {run.path} --data DATA --out OTHER.html"))
    else:
        with open_dataset(data) as file:
            card, made = _data_card(describe(file), file.fingerprint(), run), again.generate_command(file)
            if _has_checkpoint(run.path):
                predicted, span = _predicted(run, file, scores, by, device)
            else:
                missing.append(Missing("clips that play: no checkpoint", f"videopred train --resume {run.path}"))
            commands = _commands(run, made, data, file.parts)
    if data is None:
        commands = _commands(run, None, None, {})
    return Section(
        run=run,
        facts=_facts(run, scores),
        predicted=predicted,
        span=span,
        scores=[_score_block(name, scored) for name, scored in run.scores.items()],
        plausibility=[(name, tables.plausibility_table(judged)) for name, judged in run.plausibility.items()],
        learning=_learning(run),
        data=card,
        settings=_settings(run),
        provenance=_provenance(run),
        commands=commands,
        missing=missing,
    )


def _has_checkpoint(run: Path) -> bool:
    if run.is_file():
        return True
    try:
        return checkpoint_file(run).is_file()
    except FileNotFoundError:
        return False


def _predicted(
    run: FoundRun, file: "ClipSource", scores: Scores | None, by: str | None, device: torch.device
) -> tuple[Predicted, str]:
    """The worst, median and best clip, or the first three if nothing says which these are; and how it went."""
    part = next((name for name in ("test", "validation", "train") if file.parts.get(name)), "test")
    context, horizon = file.context, file.horizon
    chosen: list[Chosen] = []
    if scores is not None and scores.fingerprint == file.fingerprint():
        part, context, horizon = scores.protocol.part, scores.protocol.context, scores.protocol.horizon
        chosen = choose_clips(scores, by or next(iter(scores.metrics)))
    chosen = chosen or [Chosen(clip, f"Clip {clip}") for clip in range(min(3, file.count(part)))]
    predicted = Predicted(load_run(run.path, device), file, part, chosen, context, horizon)
    given = f"{context} true frame{'' if context == 1 else 's'}"
    return predicted, f"{given} (grey border), then {horizon} of its own (orange), fed back as probabilities"


def _facts(run: FoundRun, scores: Scores | None) -> dict[str, str]:
    found: dict[str, str] = {"core": run.core}
    frames = run.settings.get("film_shape")
    if frames:
        found["frames"] = f"{frames[1]} × {frames[2]}" + (" in color" if frames[0] == 3 else "")
    if "updates" in run.record:
        found["updates"] = f"{run.record['updates']:,}".replace(",", "\u202f")
    found |= {"state": str(run.record["state"])} if "state" in run.record else {}
    lowest = [min(values) for name, (_, values) in curves(run).items() if name.startswith("validation_")]
    found |= {"lowest validation loss": f"{lowest[0]:.4g}"} if lowest else {}
    if scores is not None:
        column = next(iter(scores.metrics))
        (model, *_) = scores.models
        found[f"{scores.label(column)} {tables.arrow(scores.metrics[column])}"] = tables.written(
            scores.mean(model, column), scores.metrics[column]
        )
    return found


def _score_block(name: str, scores: Scores) -> ScoreBlock:
    asked = scores.protocol
    said = f"{asked.clips} clips of the {asked.part} part, {asked.context} frames given, {asked.horizon} predicted"
    title = f"{name}: {asked.name + ', ' if asked.name else ''}{said}, feedback {asked.feedback}"
    legend = {scores.label(column): metric.convention for column, metric in scores.metrics.items()}
    if scores.drawn is not None:
        legend["±"] = "half of the 95 % interval over clips (bootstrap); shaded in the curves"
    return ScoreBlock(title, tables.score_table(scores), tables.score_charts(scores), legend, scores.notes)


def _learning(run: FoundRun) -> list[str]:
    """The losses in one chart, and every other curve that moves in one of its own."""
    found = curves(run)
    losses: dict[str, Line] = {}
    others = []
    for name, (steps, values) in found.items():
        kind, _, loss = name.partition("_")
        if kind in ("train", "validation") and loss:
            losses[f"{kind} {loss}"] = thinned(steps, values, f"line-{int(kind == 'validation')}")
        elif len(set(values)) > 1:
            others.append(line_chart(name.replace("_", " "), {name: thinned(steps, values, "line-0")}, "updates"))
    return [chart for chart in [line_chart("loss", losses, "updates"), *others] if chart]


def thinned(steps: Sequence[float], values: Sequence[float], style: str) -> Line:
    """A curve of so many points at most, each the mean of as many neighbours."""
    pieces = min(len(steps), _POINTS)
    x, y = ([float(piece.mean()) for piece in np.array_split(np.array(axis), pieces)] for axis in (steps, values))
    return Line(x, y, style=style)


def _data_record(run: FoundRun) -> dict[str, str]:
    """What a run says of the data that it learned from."""
    record = run.settings.get("data") or run.record.get("data") or {}
    return {name: str(value) for name, value in record.items()}


def _data_card(facts: Mapping[str, Any], fingerprint: str, run: FoundRun) -> dict[str, dict[str, str]]:
    """What there is to say of the data shown."""
    trained = _data_record(run).get("sha256")
    same = "what it learned from" if trained == fingerprint else "other data than it learned from"
    alone = {name: value for name, value in facts.items() if name not in ("recipe", "parts")}
    alone |= {"sha256": fingerprint} | ({"this is": same} if trained else {})
    parts = {part: of_part for part, of_part in facts["parts"].items() if of_part["clips"]}
    return _written_groups({"": alone, **parts, "recipe": facts["recipe"] or {}})


def _settings(run: FoundRun) -> dict[str, dict[str, str]]:
    """Settings by part, flat in each."""
    model = run.settings["model"]
    groups: dict[str, Any] = {name: value for name, value in model.items() if isinstance(value, dict)}
    alone = {name: value for name, value in model.items() if not isinstance(value, dict)}
    alone |= {name: run.settings[name] for name in ("film_shape", "init_from") if run.settings.get(name) is not None}
    groups |= {"films": alone}
    groups |= {name: run.settings[name] for name in ("training", "compute") if name in run.settings}
    return _written_groups(groups)


def _written_groups(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    return {
        group: {name.replace("_", " "): _written(value) for name, value in rows.items()}
        for group, rows in groups.items()
        if rows
    }


def _provenance(run: FoundRun) -> dict[str, str]:
    """Where it came from; not the name of the machine, which is nobody's matter who reads the page."""
    record = run.record
    names = ("started", "finished", "seconds", "device", "threads", "python", "machine", "commit")
    found = {name: _written(record[name]) for name in names if record.get(name) is not None}
    return found | {name: str(number) for name, number in record.get("versions", {}).items()}


def _commands(run: FoundRun, made: str | None, data: Path | None, parts: Mapping[str, int]) -> dict[str, str]:
    found = {"the data": made} if made else {}
    if "command" in run.record:
        found["the run"] = str(run.record["command"])
    for name, scores in run.scores.items():
        count = parts.get(scores.protocol.part) if data is not None and data.stem == name else None
        found[f"scores on {name}"] = again.evaluate_command(run.path, scores.file, scores.protocol, count)
    for name, judged in run.plausibility.items():
        found[f"plausibility on {name}"] = again.plausibility_command(run.path, judged)
    return found


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return "–" if value is None else str(value)
