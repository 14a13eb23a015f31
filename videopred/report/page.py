"""From runs to the page. The only door of jinja2."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from videopred import check, check_path
from videopred.amounts import size
from videopred.device import pick_device
from videopred.eval.file_names import ScoreFile, score_files
from videopred.eval.plausibility_text import ABSOLUTE, NO_LABELS, RELATIVE, UNSOUND
from videopred.eval.saved_scores import load_scores
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.files import whole_file
from videopred.printable import printable_lines
from videopred.rendering import OF_CHANGES, USUAL_ROWS
from videopred.report.charts import Line, line_chart, styles
from videopred.report.clips import PredictedClips, bytes_of
from videopred.report.facts import settings_beside, thinned
from videopred.report.found import FoundRun, find_run
from videopred.report.section import Section, tell_run
from videopred.report.tables import ScoreBlock, Table, comparison_block, plausibility_beside
from videopred.run_files import data_name
from videopred.training.metrics_rows import curves, losses

LARGEST = 5_000_000
"""Bytes of a page at most."""


class Common(NamedTuple):
    """Scores of several runs on the same data."""

    data: str
    """Name of the data."""
    tables: Mapping[str, Scores]
    """Name -> table; some may be of several of the runs, which were judged together."""
    each: Mapping[str, Scores]
    """Run -> its own row of its table, in the order of the runs."""


class Compared(NamedTuple):
    """Several runs side by side."""

    scores: ScoreBlock | None
    """Means and differences; None if the runs cannot be compared."""
    problem: str
    """Why they cannot."""
    plausibility: Mapping[str, Table]
    """Name of data -> their relative errors."""
    settings: Table | None
    """Those by which they differ; None if they have the same."""
    learning: Mapping[str, Sequence[str]]
    """SVG of validation losses of one kind -> the runs that have it."""
    styles: dict[str, str]
    """Run -> class of its line in that."""


def write_report(
    runs: Sequence[Path],
    out: Path,
    *,
    data: Path | None = None,
    results: Path = Path("eval"),
    by: str | None = None,
    rows: Sequence[str] = USUAL_ROWS,
    device: str = "auto",
    overwrite: bool = False,
) -> Path:
    """Write one HTML file about runs, which needs no other file and no network, and return its path.

    What a run has not, such as scores, the page names with the command that makes it.

    Args:
        runs: run folders or exports, one or more.
        out: the file.
        data: the clips to show; None is what each run learned from, if it still is there.
        results: where `videopred evaluate` and `videopred plausibility` wrote.
        by: the metric that says which clips are worst and best; the first that was scored when None.
        rows: what is drawn of the clips, names of `videopred.rendering.ROWS`.
        device: where the clips are predicted; see `pick_device`.
        overwrite: replace a file that is there already.

    Raises:
        FileNotFoundError: no run or no data is there. FileExistsError: the file is there already.
        ValueError: data that does not fit a run, an unknown metric, or a page that cannot be made small enough.
    """
    changed, fix = ",".join(name for name in rows if name in OF_CHANGES), "draw it with `videopred render`"
    check.require(not changed, "--rows", "be of runs as they are", changed, fix)
    found = [find_run(run, results) for run in runs]
    files = score_files(results)
    if len(found) == 1:
        found = [_with_scores_among_others(found[0], files)]
    names = [run.name for run in found]
    check.each_once("RUN", names, "be runs of different names", "leave one out, or rename a folder")
    where = pick_device(device)
    common, compared = _compared(found, data, files) if len(found) > 1 else (None, None)
    sections = []
    for run in found:
        shown = data or run.data
        name = data_name(shown) if shown else ""
        beside = common if common and name in ("", common.data) else None
        like, together = _asked_on(name, found, beside), bool(beside and compared and compared.scores)
        among = None if name in run.scores else _with_scores_among_others(run, files).scores.get(name)
        sections.append(tell_run(run, shown, by, where, rows=rows, like=like, among=among, together=together))
    _leave_out_rows([section.predicted for section in sections if section.predicted])
    text = set_page(_with_clips(sections, compared), compared)
    length = len(text.encode())
    must, got = f"make a page of at most {size(LARGEST)}", size(length)
    check.require(length <= LARGEST, "RUN", must, got, "report on fewer runs, or on smaller films")
    check_path.absent("--out", out, overwrite)  # another command may have made it meanwhile
    with whole_file(out, "--out") as partial:
        partial.write_text(text, encoding="utf-8")
    return out


def set_page(sections: Sequence[Section], compared: Compared | None) -> str:
    """The page as HTML; whatever stands in settings, names and commands is text there, and can be printed."""
    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(here), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style = (here / "style.css").read_text(encoding="utf-8")
    *others, last = (one.run.name for one in sections)
    title = f"{', '.join(others)} and {last}" if others else last
    template = environment.get_template("page.html")
    words = {"no_labels": NO_LABELS, "relative": RELATIVE, "absolute": ABSOLUTE, "unsound": UNSOUND}
    text = template.render(title=title, sections=sections, compared=compared, style=style, **words)
    return printable_lines(text)


def _asked_on(data: str, runs: Sequence[FoundRun], common: Common | None) -> Protocol | None:
    """What was asked of the first run that has scores on the data, by itself or else with others; None if none has."""
    scores = [run.scores[data] for run in runs if data in run.scores]
    scores += common.tables.values() if common else []
    return scores[0].protocol if scores else None


def _leave_out_rows(predicted: Sequence[PredictedClips]) -> None:
    """Of each run, leave out rows that it lacks and another has; those that none has are refused as they are drawn."""
    somewhere = {row for one in predicted for row in one.possible_rows}
    for one in predicted:
        one.rows = [row for row in one.rows if row in one.possible_rows or row not in somewhere] or one.rows


def _with_clips(sections: Sequence[Section], compared: Compared | None) -> list[Section]:
    """The sections with their clips, which share what room there is on the page beside all else.

    Scenes of films whose surprise was drawn come in one size; where they would take half of the page, they stand still.
    """
    if len(set_page(sections, compared).encode()) > LARGEST / 2:
        sections = [one.with_still_scenes() for one in sections]
    room, drawn = LARGEST - len(set_page(sections, compared).encode()), []
    for place, section in enumerate(sections):
        clips = section.predicted.draw(room // (len(sections) - place)) if section.predicted else ()
        room -= bytes_of(clips)
        drawn.append(section._replace(clips=clips))
    return drawn


def _with_scores_among_others(run: FoundRun, files: Sequence[ScoreFile]) -> FoundRun:
    """A run that is shown by itself, with its scores also on data on which it was judged with others only."""
    among: dict[str, Scores] = {}
    for file in files:
        rows = file.rows_of({run.name: run.stamp})
        if rows and file.filed_under != run.name and file.data not in {**run.scores, **among}:
            among[file.data] = load_scores(file.path).of_models(list(rows.values()))
    return run._replace(scores=dict(sorted({**among, **run.scores}.items())))


def _compared(
    runs: Sequence[FoundRun], data: Path | None, files: Sequence[ScoreFile]
) -> tuple[Common | None, Compared]:
    """Scores of several runs on the same data, if all have some, and what can be said of the runs together."""
    where = styles([run.name for run in runs], [])
    of_kinds: dict[str, dict[str, Line]] = {}
    for run in runs:
        for kind, curve in losses(curves(run.log), "validation").items():
            of_kinds.setdefault(kind, {})[run.name] = thinned(*curve, where[run.name])
    charts = {
        line_chart(f"validation loss ({kind})", lines, "updates"): list(lines) for kind, lines in of_kinds.items()
    }
    learning = {chart: names for chart, names in charts.items() if chart}
    plausibility: dict[str, Table] = {}
    for name in runs[0].plausibility:
        if all(name in run.plausibility for run in runs):
            beside = plausibility_beside({run.name: run.plausibility[name] for run in runs})
            plausibility |= {name: beside} if beside else {}
    common, block, problem = _best_common(_common_scores(runs, data, files))
    return common, Compared(block, problem, plausibility, settings_beside(runs), learning, where)


def _best_common(scores: Iterable[Common]) -> tuple[Common | None, ScoreBlock | None, str]:
    """The first scores on which runs can be compared, with the comparison; else the first, and why they cannot."""
    where = "where report looks, in eval/ or the folder of --scores"
    fix = "evaluate them on it without --out, together or each by itself"
    first, problem = None, f"They have no scores on the same data {where}: {fix}."
    for common in scores:
        try:
            return common, comparison_block(common.each, common.tables), ""
        except ValueError as error:
            if first is None:
                first, problem = common, f"Their scores cannot be compared: {error}."
    return first, None, problem


def _common_scores(runs: Sequence[FoundRun], data: Path | None, files: Sequence[ScoreFile]) -> Iterator[Common]:
    """Scores of all runs on the same data: each run's own, or else those of runs that were judged together.

    Of several data sets, those on which each was judged by itself come first, and of these one whose clips are shown.
    """
    shown = {data_name(run.data) for run in runs if run.data is not None}
    own = set.intersection(*(set(run.scores) for run in runs))
    names = sorted(own | {file.data for file in files}, key=lambda name: (name not in own, name not in shown, name))
    for name in names if data is None else [data_name(data)]:
        if name in own:
            tables = {run.name: run.scores[name] for run in runs}
            yield Common(name, tables, tables)
        else:
            common = _tables_of({run.name: run.stamp for run in runs}, [one for one in files if one.data == name])
            if common is not None:
                yield common


def _tables_of(runs: Mapping[str, str | None], files: Sequence[ScoreFile]) -> Common | None:
    """The scores of these runs, in few tables and without others that were judged with them; none if one has none.

    Args:
        runs: name -> its stamp.
        files: of scores on the same data.
    """
    tables: dict[str, Scores] = {}
    each: dict[str, Scores] = {}
    left = runs
    while left:
        first = next(iter(left))
        holding = [file for file in files if first in file.rows_of(left)]
        if not holding:
            return None
        most = max(holding, key=lambda file: len(file.rows_of(left)))
        rows, scores = most.rows_of(left), load_scores(most.path)
        tables[first if len(rows) == 1 else most.filed_under] = scores.of_models(list(rows.values()))
        each |= {run: scores.of_models([row]) for run, row in rows.items()}
        left = {run: stamp for run, stamp in left.items() if run not in rows}
    return Common(files[0].data, tables, {run: each[run] for run in runs})
