"""The command that holds the scores of models against each other."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from videopred import check, check_path
from videopred.command_lines import Words, evaluate_words
from videopred.commands import terminal
from videopred.commands.naming import read_names
from videopred.commands.opening import each_run
from videopred.commands.options import Json, Means, Overwrite, out_flag
from videopred.eval.file_names import PLAUSIBILITY_FILES, SCORES, score_files, scores_in, stamps_in
from videopred.printable import printable
from videopred.run_files import data_name, looks_like_run, run_name
from videopred.spelling import nearest, nearest_path, nearest_run
from videopred.systems import shell_quoted
from videopred.typed_commands import typed_command

if TYPE_CHECKING:
    from videopred.eval.comparison import Comparison
    from videopred.eval.comparison_over_data import DataComparison


def compare(
    paths: Annotated[
        Positional[tuple[Path, ...]],
        arg(
            metavar="SCORES...",
            help="Folders that `evaluate` wrote; or runs or folders of seeds, whose scores are in eval/<run>/<data>.",
        ),
    ],
    *,
    data: Annotated[
        tuple[str, ...],
        arg(metavar="NAME...", help="Compare the runs' scores on these data sets only; default: all."),
    ] = (),
    relative_to: Annotated[
        str | None,
        arg(metavar="ROW", help="Row to compare all others with; default: the first model, or none over data sets."),
    ] = None,
    names: Annotated[
        tuple[str, ...],
        arg(metavar="ROW=NAME...", help="Rename rows; equal names on different data become one row."),
    ] = (),
    means: Means = (),
    curves: Annotated[
        bool, arg(help="Draw curves over the horizon of several data sets, too, a panel for each, not their means.")
    ] = False,
    out: Annotated[Path, out_flag("Folder for comparison.md, .tex, .csv, .png, .svg, .pdf.")] = Path("eval/comparison"),
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Compare models: differences, ratios and curves on the same clips, or a table over several data sets."""
    check.require(len(paths) > 0, "SCORES", "be given", "nothing", "name folders that `videopred evaluate` wrote")
    of_runs = [path for path in paths if not _holds_scores(path)]
    fix = "leave it out: a folder of scores is of one data set"
    check.require(not data or len(of_runs) > 0, "--data", "be given with runs", " ".join(data), fix)
    files = {suffix: f"comparison{suffix}" for suffix in (".md", ".tex", ".csv", ".png", ".svg", ".pdf")}
    check_path.folder_for(out, files.values())
    scored: dict[str, Path] = {}
    for run in of_runs:
        for name in _scored_on(run):
            scored.setdefault(name, _results(run) / name)
    folders = [folder for path in paths for folder in _scores_of(path, data, scored)]
    targets = {suffix: out / name for suffix, name in files.items()}
    for target in targets.values():
        check_path.absent("--out", target, overwrite)
    from videopred.eval.comparison import Comparison
    from videopred.plots.comparison import save_comparison

    compared = _compare(folders, means, relative_to, names)
    several, fix = not isinstance(compared, Comparison), "on one, curves are drawn anyway"
    check.require(several or not curves, "--curves", "be given with scores on several data sets", "one", fix)
    fix = "relative errors are of means: leave one out"
    check.require(relative_to is None or not curves, "--relative-to", "be left out with --curves", relative_to, fix)
    save_comparison(compared, targets, curves=curves, overwrite=overwrite)
    terminal.print_found(compared.to_dict(), list(targets.values()), json_, compared.table())


def _compare(
    folders: list[Path], means: tuple[int, ...], relative_to: str | None, words: tuple[str, ...]
) -> "Comparison | DataComparison":
    """The scores in these folders side by side, with rows called as the words of --names say.

    Means over fewer steps are those that the first scores were asked for, unless others are.
    """
    from videopred.eval.comparison import compare
    from videopred.eval.comparison_over_data import compare_over_data
    from videopred.eval.comparison_rows import model_rows, repeated
    from videopred.eval.data_names import by_data, table_names
    from videopred.eval.saved_scores import load_scores

    tables = {folder: load_scores(folder) for folder in folders}
    for folder in repeated(tables):
        del tables[folder]
        told = f"{folder} is left out: its scores are those of the same runs on the same clips in another folder"
        print(f"videopred: {printable(told)}", file=sys.stderr)
    if means:
        for folder, table in tables.items():
            tables[folder] = replace(table, protocol=table.protocol.model_copy(update={"means": means}))
    names = table_names(tables)
    data = by_data([(names[folder], tables[folder]) for folder in folders if folder in tables])
    called = read_names(words, "ROW", {row for of_data in data.values() for row in model_rows(of_data)})
    if relative_to not in called.values():  # as it is called now, or was before
        relative_to = called.get(relative_to or "", relative_to)
    if len(data) == 1:
        return compare(next(iter(data.values())), relative_to, called)
    return compare_over_data(data, relative_to, called)


def _holds_scores(path: Path) -> bool:
    return path.name == SCORES or (path / SCORES).is_file()


def _scores_of(path: Path, data: Sequence[str], scored: Mapping[str, Path]) -> list[Path]:
    """The folders of scores that a path means: itself, or where `evaluate` puts those of a run.

    Args:
        path: a folder of scores, a run or a folder of seeds.
        data: names of those data of which a run's scores are meant; all when empty.
        scored: names of those on which any of the runs was scored, each with the scores of the first that was; to ask
            for others is refused.
    """
    if _holds_scores(path):
        return [path.parent if path.name == SCORES else path]
    if not looks_like_run(path):
        raise _not_scores(path)
    there, nowhere = _scored_on(path), [name for name in data if name not in scored]
    missing = nowhere or [name for name in data if name not in there]
    named = [_results(path) / name for name in data or there if name in there]
    if nowhere or not named:
        like = scored.get(missing[0]) if missing else next(iter(scored.values()), None)
        raise _not_scored(path, there, missing, list(scored) if nowhere else [], like)
    return named


def _not_scores(path: Path) -> FileNotFoundError:
    """The complaint of a path where there are neither scores nor a run."""
    must, make = "be a folder of scores or a run", "make them with `videopred evaluate`"
    if not path.exists():
        beside = nearest_path(path) if len(path.parts) > 1 else None  # a single word is likely the name of a run
        near = beside or nearest_run(path) or nearest_path(path)
        return check_path.not_found_error("SCORES", must, path, make, near)
    fix = _offer_below(path) or make
    if (path / PLAUSIBILITY_FILES[0]).is_file():
        fix = "errors of plausibility are compared by `videopred plausibility RUN... DATA`"
    return FileNotFoundError(check.complaint("SCORES", must, f"{path} (no {SCORES} there)", fix))


def _not_scored(
    run: Path, there: Sequence[str], missing: Sequence[str], offered: list[str], like: Path | None
) -> ValueError:
    """The complaint of a run that lacks scores.

    Args:
        run: folder of the run, or of its seeds, or its export.
        there: names of the data on which it was scored.
        missing: of those that are asked for, on which it was not; nothing when all would do.
        offered: names of data that may be meant instead of one on which nothing was scored.
        like: scores of another run on the data that are meant.
    """
    from videopred.runs import run_stamp

    named = {run_name(one): run_stamp(one) for one in each_run([run])}
    several = [file for file in score_files(Path("eval")) if len(file.rows) > 1]
    files = [file for file in several if len(file.rows_of(named)) == len(named)]
    among = [file.path.parent for file in files if not missing or file.data in missing]
    folder = f"{among[0]}, where it was scored with others" if among else "the folder of its scores"
    words = _as_asked(run, like) if like else ("evaluate", str(run), "DATA")
    fix = f"score it with `{typed_command(words)}`, or name {folder}"
    if not missing and not there and scores_in(_results(run)):
        again = typed_command((*words, "--overwrite"))
        fix = f"score it with `{again}`, as what is in {_results(run)} is of an earlier state of it, or of another run"
    near = nearest(missing[0], offered) if missing else None
    fix = f"did you mean --data {shell_quoted([near])}?" if near else fix
    got = f"{run}, of which {', '.join(there) or 'nothing'} {'are' if len(there) > 1 else 'is'} in {_results(run)}"
    must = f"have scores of {', '.join(missing)}" if missing else "have scores"
    return ValueError(check.complaint("SCORES", must, got, fix))


def _as_asked(run: Path, like: Path) -> Words:
    """The command that scores a run as another was scored, if that can be told, in a folder of the same name."""
    from videopred.eval.saved_scores import load_scores

    try:
        scores = load_scores(like)
    except (OSError, ValueError):  # damaged, or by a metric that is not there
        return ("evaluate", str(run), "DATA")
    words = evaluate_words(str(run), scores.file, scores.protocol, scores.clips_in_part, scores.reference)
    usual = like.name == data_name(Path(scores.file))
    return words if usual else (*words, "--out", str(_results(run) / like.name))


def _scored_on(run: Path) -> list[str]:
    """Names of the data on which a run, or those of a folder of seeds, were scored by themselves."""
    from videopred.runs import run_stamp

    runs = [run, *(one for one in run.glob("seed-*") if one.is_dir())]  # exports beside them may be of older ones
    stamps = {told for one in runs if (told := run_stamp(one))}
    said = {file.parent.name: stamps_in(file) for file in scores_in(_results(run))}
    return [name for name, scored in said.items() if not scored or scored >= stamps]


def _results(run: Path) -> Path:
    """Where `evaluate` puts the scores of a run."""
    return Path("eval") / run_name(run)


def _offer_below(path: Path) -> str:
    """A question for folders of scores that lie in a folder, or in its folders; nothing if there are none."""
    inside = scores_in(path) or sorted(path.glob(f"*/*/{SCORES}"))
    named = shell_quoted([str(scores.parent) for scores in inside[:3]])
    return f"did you mean {named}{' …' if len(inside) > 3 else ''}?" if inside else ""
