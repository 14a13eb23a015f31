"""Commands that look after runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from videopred import check, check_path
from videopred.commands import terminal
from videopred.commands.opening import each_run
from videopred.commands.options import Device, Json, Overwrite, out_flag
from videopred.printable import printable
from videopred.rendering import USUAL_ROWS, check_rows, rows_in
from videopred.run_files import EXPORT, run_name


def runs(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Folder with runs, or a run.")] = Path("models"),
    *,
    scores: Annotated[Path | None, arg(help="Folder with scores in RUN/DATA; default: eval.")] = None,
    settings: Annotated[bool, arg(help="List the settings by which the runs differ instead.")] = False,
    json_: Json = False,
) -> None:
    """List runs: state, updates, losses, and scores."""
    check.require(not (settings and json_), "--settings", "be left out with --json", "both", "JSON has all settings")
    from videopred.runs import list_runs, settings_table, table, to_dict

    found = list_runs(folder, scores=Path("eval") if scores is None else check_path.existing("--scores", scores))
    if found and scores is not None and not any(run.scores for run in found):
        told = f"{scores} holds no scores of these runs in folders RUN/DATA"
        print(f"videopred: {printable(told)}", file=sys.stderr)
    if json_:
        terminal.print_json({"runs": [to_dict(run) for run in found]})
    else:
        print(settings_table(found) if settings else table(found))


def export(
    runs: Annotated[
        Positional[tuple[Path, ...]], arg(metavar="RUN...", help="Run folders, or folders of `train --seeds`.")
    ],
    *,
    checkpoint: Annotated[
        str | None, arg(metavar="NAME", help="Such as last, or update-0001000 of --keep-every; default: the best.")
    ] = None,
    card: Annotated[bool, arg(help="Write a card (.md) and a film (.gif) of the model as well.")] = False,
    data: Annotated[
        Path | None, arg(metavar="DATA", help="Clips that a card shows; default: what its run learned from.")
    ] = None,
    scores: Annotated[Path, arg(help="Folder of results, or of a run's scores, for the card.")] = Path("eval"),
    half: Annotated[bool, arg(help="Round the weights to 16 bits: half the size, slightly other scores.")] = False,
    out: Annotated[
        Path | None, out_flag("File, or folder, as for several runs; default: RUN[-NAME].safetensors.")
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write trained models as small files, each of which every command takes in place of its run."""
    check.require(len(runs) > 0, "RUN", "be given", "nothing", "name a run folder, e.g. models/balls4-rims")
    for flag, given in (("--data", data), ("--scores", None if scores == Path("eval") else scores)):
        check.require(card or given is None, flag, "come with --card", given, "leave it out")
        if given is not None:
            check_path.existing(flag, given)
    fix = "leave it out; scores on a card are those of the best"
    check.require(not card or checkpoint is None, "--checkpoint", "be left out with --card", checkpoint, fix)
    each = each_run(runs)
    check.each_once("RUN", [run.resolve() for run in each], "be given once each")
    places = _export_places(each, out, checkpoint)
    for named in filter(None, places):
        check_path.absent("--out", check_path.export_name(named), overwrite)
    from videopred.export import export_file, export_run

    for run, place in zip(each, places, strict=True):  # before any of them is written
        file = export_file(run, place, overwrite, checkpoint)
        for suffix in (".md", ".gif") if card else ():
            check_path.absent("--out", file.with_suffix(suffix), overwrite)
    made: list[Path] = []
    try:
        for run, place in zip(each, places, strict=True):
            if card:
                from videopred.export.with_card import export_with_card

                made += export_with_card(run, place, data=data, results=scores, half=half, overwrite=overwrite)
            else:
                made.append(export_run(run, place, checkpoint=checkpoint, half=half, overwrite=overwrite))
    finally:  # of several, one may fail when others are there
        if made:
            terminal.print_files(made, json_)


def _export_places(runs: Sequence[Path], out: Path | None, checkpoint: str | None) -> list[Path | None]:
    """Where --out has the export of each run: itself, or in a folder, as it is for several, after their names."""
    if out is None or (len(runs) == 1 and not out.is_dir()):
        return [out] * len(runs)
    fix = f"leave {EXPORT} out"
    check.require(out.suffix.lower() != EXPORT, "--out", "be a folder for several runs", out, fix)
    names = [run_name(run) for run in runs]
    check.each_once("RUN", names, "differ in name with --out", "export them apart")
    return [out / f"{name}{f'-{checkpoint}' if checkpoint else ''}{EXPORT}" for name in names]


def report(
    runs: Annotated[
        Positional[tuple[Path, ...]],
        arg(metavar="RUN...", help="Run folders, files of `videopred export` or folders of `train --seeds`."),
    ],
    *,
    data: Annotated[
        Path | None, arg(metavar="DATA", help="Clips to show; default: what each run learned from.")
    ] = None,
    by: Annotated[
        str | None, arg(metavar="METRIC", help="Metric that says which are worst and best; default: the first scored.")
    ] = None,
    rows: Annotated[str, arg(help="What is drawn of the clips, as `videopred render --rows`.")] = ",".join(USUAL_ROWS),
    scores: Annotated[Path, arg(help="Folder with scores in <run>/<data>/, as `evaluate` writes them.")] = Path("eval"),
    out: Annotated[Path, out_flag("HTML file.")] = Path("report.html"),
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write one self-contained HTML file that shows and explains runs."""
    check.require(len(runs) > 0, "RUN", "be given", "nothing", "name a run folder, e.g. models/balls4-rims")
    check.device_kind(device)
    check.require(out.suffix == ".html", "--out", "end in .html", out, "rename it")
    check_path.absent("--out", out, overwrite)
    runs = tuple(each_run(runs))
    if data is not None:
        check_path.existing("--data", data)
    if scores != Path("eval"):
        check_path.existing("--scores", scores)
    names = check_rows(rows_in(rows))
    from videopred.report.page import write_report

    path = write_report(runs, out, data=data, results=scores, by=by, rows=names, device=device, overwrite=overwrite)
    terminal.print_files([path], json_)
