"""What the page says of one run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from videopred import check
from videopred.amounts import counted
from videopred.checkpoint import checkpoint_file, load_run
from videopred.command_lines import (
    evaluate_words,
    generate_words,
    plausibility_words,
    training_words,
    unlimited,
    words_with_data,
)
from videopred.datasets import open_dataset
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.description import describe
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.rendering import USUAL_ROWS
from videopred.report import tables
from videopred.report.clips import Chosen, PredictedClips, Shown, address, choose_clips
from videopred.report.facts import data_card, data_record, first_facts, learning_charts, provenance, settings_by_part
from videopred.report.found import FoundRun
from videopred.report.tables import ScoreBlock, Table
from videopred.run_files import EXPORT, data_name, export_of
from videopred.run_record import updates_saved
from videopred.systems import shell_quoted
from videopred.typed_commands import resume_command, typed_command


class Missing(NamedTuple):
    """What a page could show, and the command that makes it."""

    what: str
    command: str


_ALONE = " of this run alone; those side by side are of several runs together"
"""What is missing where runs, such as those of one folder of seeds, were scored together only."""


class Section(NamedTuple):
    """What the page says of one run, ready to be set."""

    run: FoundRun
    facts: Mapping[str, str]
    """The facts at the top: name -> value."""
    scores: Sequence[ScoreBlock]
    plausibility: Sequence[tuple[str, Table | None, Sequence[Shown]]]
    """Name of data, errors if it is known which films are possible, and scenes whose surprise was drawn."""
    learning: Sequence[str]
    """SVGs of its curves."""
    data: Mapping[str, Mapping[str, str]]
    """What it saw: part of the card -> name -> value."""
    settings: Mapping[str, Mapping[str, str]]
    """Part of the settings -> name -> value."""
    provenance: Mapping[str, str]
    commands: Mapping[str, str]
    """What a command makes -> the command."""
    missing: list[Missing]
    predicted: PredictedClips | None = None
    """Clips to watch; None if they cannot be predicted."""
    span: str = ""
    """How the clips were predicted."""
    clips: Sequence[Shown] = ()
    """The clips as they are drawn, once their size is known."""

    def with_still_scenes(self) -> "Section":
        """This section without the films of its scenes; their stills and curves stay."""
        still = [
            (name, table, [scene._replace(film="") for scene in scenes]) for name, table, scenes in self.plausibility
        ]
        return self._replace(plausibility=still)


def tell_run(
    run: FoundRun,
    data: Path | None,
    by: str | None,
    device: torch.device,
    *,
    rows: Sequence[str] = USUAL_ROWS,
    like: Protocol | None = None,
    among: Scores | None = None,
    together: bool = False,
) -> Section:
    """What there is to say of a run.

    Args:
        run: what was found of it.
        data: the clips to show; None if they are not here.
        by: the metric that says which clips are worst and best; the first that was scored when None.
        device: where they are predicted.
        rows: what is drawn of them, names of `videopred.rendering.ROWS`.
        like: how others were scored on the data, which this run should be if it was not.
        among: its scores on the data where it was judged with others, by which clips are chosen if it has none alone.
        together: whether the page has its scores on the data side by side with those of others.

    Raises:
        ValueError: the data does not fit the run, or the metric was not scored.
    """
    scores = run.scores.get(data_name(data)) if data else None
    choosing = among if scores is None else scores
    if by is not None:
        found, fix = f"{by}, but no clips of {run.name} were found", "name their file with --data"
        check.require(data is not None, "--by", "come with clips to show", found, fix)
        _check_by(by, run, choosing)
    section = Section(
        run=run,
        facts=first_facts(run, scores),
        scores=[tables.score_block(name, scored) for name, scored in run.scores.items()],
        plausibility=[
            (name, tables.plausibility_table(judged), [_scene_shown(*one) for one in run.surprise[name]])
            for name, judged in run.plausibility.items()
        ],
        learning=learning_charts(run),
        settings=settings_by_part(run),
        provenance=provenance(run),
        missing=_missing(run, data, together),
        data={"": data_record(run)},
        commands=_commands(run, None, None),
    )
    if data is None:
        return section
    with open_dataset(data) as file:
        fingerprint = file.fingerprint()
        section = section._replace(
            data=data_card(describe(file), fingerprint, run),
            commands=_commands(run, _making(file), data, fingerprint),
        )
        if scores is None and not _is_gone(run):
            section.missing.append(_missing_scores(run, data, file, like, together))
        if not _has_checkpoint(run.path):
            return section
        same = choosing if choosing is not None and choosing.fingerprint == fingerprint else None
        predicted, span = _predicted(run, file, same, by, device, rows)
        if choosing is not same:
            span += f". The scores on {data_name(data)} are of other clips than {data} holds, and say nothing of these"
        return section._replace(predicted=predicted, span=span)


def _check_by(by: str, run: FoundRun, scores: Scores | None) -> None:
    """Refuse a metric that was not scored on the clips to show."""
    scored = list(scores.metrics) if scores else []
    check.require(bool(scored), "--by", f"come with scores of {run.name}", by, "score it with `videopred evaluate`")
    check.one_of("--by", by, scored)


def _missing_scores(run: FoundRun, data: Path, file: ClipSource, like: Protocol | None, together: bool) -> Missing:
    """Scores on the clips shown, asked for as others were scored, or as is usual."""
    asked = like or Protocol(part=file.part_to_judge, context=file.context, horizon=file.horizon)
    words = evaluate_words(str(run.path), str(data), asked, file.parts.get(asked.part))
    return Missing(f"scores on {data.name}{_ALONE if together else ''}", typed_command(words))


def _making(file: ClipSource) -> str | None:
    """The command that makes a data file, clip for clip; None if it is not ours."""
    if file.recipe is None or file.seed is None:
        return None
    return typed_command(generate_words(file.recipe, file.parts, file.seed, str(file.path), len(file.files())))


def _missing(run: FoundRun, data: Path | None, together: bool) -> list[Missing]:
    """What the page cannot show of a run, with the commands that would make it."""
    found = []
    if data is None:
        what = "clips: no file of its clips was found"
        found.append(Missing(what, typed_command(("report", str(run.path), "--data", "DATA", "--out", "OTHER.html"))))
    elif not _has_checkpoint(run.path):
        what, command = "clips: the run has no checkpoint", resume_command(run.path)
        if _is_gone(run):
            export = export_of(run.path) if export_of(run.path).is_file() else f"EXPORT{EXPORT}"
            what += "; an export of it shows them"
            command = typed_command(("report", str(export), "--data", str(data), "--out", "OTHER.html"))
        found.append(Missing(what, command))
    if data is None and not run.scores:
        found.append(Missing(f"scores{_ALONE if together else ''}", typed_command(("evaluate", str(run.path), "DATA"))))
    for name, judged in run.plausibility.items():
        if not run.surprise[name]:
            words = (*plausibility_words(str(run.path), judged), "--draw", "0", "--overwrite")
            found.append(Missing(f"films of {name} beside the model's surprise at them", typed_command(words)))
    if not run.plausibility:
        what = "plausibility: how much impossible films surprise it, on the data set `occlusion` or IntPhys"
        found.append(Missing(what, typed_command(("plausibility", str(run.path), "DATA"))))
    return found


def _is_gone(run: FoundRun) -> bool:
    """Whether a run has lost checkpoints that it had, so that no resume brings them back."""
    return (updates_saved(run.record) or 0) > 0 and not _has_checkpoint(run.path)


def _has_checkpoint(run: Path) -> bool:
    if run.is_file():
        return True
    try:
        return checkpoint_file(run).is_file()
    except FileNotFoundError:
        return False


def _predicted(
    run: FoundRun,
    file: ClipSource,
    scores: Scores | None,
    by: str | None,
    device: torch.device,
    rows: Sequence[str],
) -> tuple[PredictedClips, str]:
    """The worst, median and best clip, or the first three without scores; and in words how they are predicted."""
    part, context, horizon = file.part_to_judge, file.context, file.horizon
    chosen: list[Chosen] = []
    if scores is not None:
        part, context, horizon = scores.protocol.part, scores.protocol.context, scores.protocol.horizon
        chosen = choose_clips(scores, by or next(iter(scores.metrics)))
    chosen = chosen or [Chosen(clip, f"Clip {clip}") for clip in range(min(3, file.count(part)))]
    predicted = PredictedClips(load_run(run.path, device), file, part, chosen, context, horizon, rows)
    given = f"{counted(context, 'true frame')} (blue-grey border)"
    return predicted, f"{given}, then {horizon} of its own (orange), fed back as probabilities"


def _scene_shown(film: Path, still: Path) -> Shown:
    """A scene's films and the surprise at them, as `videopred plausibility --draw` wrote them."""
    title = film.stem.replace("-", " ").capitalize()
    alt = f"{title}: films that are possible and impossible, above the curves of the surprise at their frames."
    return Shown(title, alt, address("gif", film.read_bytes()), address("png", still.read_bytes()), [])


def _commands(run: FoundRun, made: str | None, data: Path | None, fingerprint: str = "") -> dict[str, str]:
    """The commands that make the data shown, the run and its scores.

    Args:
        fingerprint: that of the data; commands for scores on it name it as is done here, where the run is named, too.
    """
    learned = bool(fingerprint) and data_record(run).get("sha256") == fingerprint
    found = {"the data" if learned else "the clips shown": made} if made else {}
    if command := str(run.record.get("command", "")):
        told = shell_quoted(unlimited(command))
        if learned and run.path.is_dir():
            told = shell_quoted(words_with_data(command, data_record(run)["path"], str(data)))
        elif learned and (words := training_words(command, str(data), str(data))):
            told = typed_command(words)
        found |= {"the run": told} if told else {}
    for name, scores in run.scores.items():
        file = str(data) if scores.fingerprint == fingerprint else scores.file
        reference = None if scores.reference == scores.file else scores.reference
        words = evaluate_words(str(run.path), file, scores.protocol, scores.clips_in_part, reference)
        found[f"scores on {name}"] = typed_command(words)
    for name, judged in run.plausibility.items():
        found[f"plausibility on {name}"] = typed_command(plausibility_words(str(run.path), judged))
    return found
