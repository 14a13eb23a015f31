"""Commands to begin with: what there is, and all of it at once."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.options import Device, Json, Overwrite, out_flag
from videopred.datasets import DATASETS
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.eval.protocols import PROTOCOLS
from videopred.experiments import experiment_summaries
from videopred.experiments.figures import PAPER_FIGURES
from videopred.models import CODECS, CORES, DECODERS
from videopred.models.presets import PRESETS

Shelf = Literal[
    "all",
    "datasets",
    "cores",
    "presets",
    "codecs",
    "decoders",
    "metrics",
    "object-metrics",
    "protocols",
    "experiments",
    "figures",
]


def list_shelves(
    shelf: Annotated[Positional[Shelf], arg(help="The SHELF to list.")] = "all",
    *,
    json_: Json = False,
) -> None:
    """List what there is: data sets, cores and presets, codecs, decoders, metrics, protocols, experiments, figures."""
    shelves = {
        "datasets": {name: preset.summary for name, preset in DATASETS.items()},
        "cores": {name: terminal.first_line(settings) for name, (settings, _) in CORES.items()},
        "presets": {name: preset.summary for name, preset in PRESETS.items()},
        "codecs": {name: terminal.first_line(settings) for name, (settings, _) in CODECS.items()},
        "decoders": {name: terminal.first_line(settings) for name, (settings, _) in DECODERS.items()},
        "metrics": {name: terminal.first_line(settings) for name, (settings, _) in METRICS.items()},
        "object-metrics": {name: terminal.first_line(settings) for name, (settings, _) in OBJECT_METRICS.items()},
        "protocols": {name: card.summary for name, card in PROTOCOLS.items()},
        "experiments": experiment_summaries(),
        "figures": {name: f"{figure.place}: {figure.summary}" for name, figure in PAPER_FIGURES.items()},
    }
    chosen: dict[str, dict[str, str]] = shelves if shelf == "all" else {shelf: shelves[shelf]}
    if json_:
        terminal.print_json(chosen)
        return
    for title, rows in chosen.items():
        print(title)
        terminal.print_rows(rows)


def demo(
    *,
    out: Annotated[Path, out_flag("Folder for data, run, scores and pictures.")] = Path("eval/demo"),
    tiny: Annotated[bool, arg(help="Only a few updates, to show that everything works; learns nothing.")] = False,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Run the whole flow on a small example: generate, train, roll out, score, draw."""
    check.device_kind(device)
    from videopred.demo import RESULTS, run_demo

    try:
        outcome = run_demo(out, tiny=tiny, device=device, overwrite=overwrite, progress=True)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command with --overwrite begins the demo again") from None
    if json_:
        terminal.print_json(outcome.to_dict())
        return
    print(outcome.scores.table(), end="\n\n")
    print(outcome.verdict, end="\n\n")
    terminal.print_files(outcome.files, False)
    terminal.print_next(("report", str(out / "run"), "--scores", str(out / RESULTS)))
