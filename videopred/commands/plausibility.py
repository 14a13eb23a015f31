"""The command that judges how plausible films look to a model."""

from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.opening import results
from videopred.commands.options import Device, Json, Overwrite
from videopred.eval.file_names import PLAUSIBILITY_FILES
from videopred.eval.plausibility_settings import PlausibilityConfig

_OF_SCORES = {"part", "names", "resamples", "seed"}
"""Settings that mean something for scores that were made elsewhere."""


def plausibility(
    places: Annotated[
        Positional[tuple[Path, ...]],
        arg(
            metavar="[RUN] DATA",
            help="Run folder, and clips of `occlusion` or a folder of IntPhys; DATA with --scores.",
        ),
    ],
    *,
    scores: Annotated[
        Path | None, arg(help="Score this table (.csv) or these answers of films, made elsewhere, and no run.")
    ] = None,
    config: OmitArgPrefixes[PlausibilityConfig] = PlausibilityConfig(),
    answers: Annotated[
        Path | None, arg(help="Write answers to the benchmark there, of the first of --aggregates.")
    ] = None,
    draw: Annotated[
        tuple[int, ...], arg(metavar="SCENE", help="Scenes to draw, counted from 0: a PNG and a GIF of each.")
    ] = (),
    out: Annotated[Path | None, arg(help="Folder; default: eval/<run>/<data>.")] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Tell possible from impossible films by a model's surprise, as IntPhys does."""
    *runs, data = _places(places, scores)
    check.device_kind(device)
    _check_idle(config, scores, draw, device)
    check.require(len(set(draw)) == len(draw), "--draw", "name each scene once", draw, "leave one out")
    for run in runs:
        check.run_folder(run)
    check.existing("DATA", data)
    if scores is not None:
        check.existing_file("--scores", scores, "give a table or answers, one line per film")
    folder = out or (Path("eval") / scores.stem / data.stem if scores else results(runs[0], data))
    pictures = [folder / f"scene-{scene}{suffix}" for scene in draw for suffix in (".png", ".gif")]
    for path in [*(folder / name for name in PLAUSIBILITY_FILES), *pictures, *([answers] if answers else [])]:
        check.absent("--answers" if path == answers else "--out", path, overwrite)
    from videopred import surprise

    if scores is not None:
        found = surprise.score_file(scores, data, config)
    else:
        watched = terminal.watched()
        found, films = surprise.judge_run(
            runs[0], data, config, answers=answers is not None, device=device, progress=watched, scenes=draw
        )
    paths = found.save(folder, answers=answers, overwrite=overwrite)
    if draw:
        from videopred import surprise_curves

        paths += surprise_curves.draw_scenes(found, films, draw, folder)
    if json_:
        terminal.print_json(found.to_dict() | {"files": [str(path) for path in paths]})
        return
    print(found.table(), end="\n\n")
    terminal.print_files(paths, False)


def _places(places: tuple[Path, ...], scores: Path | None) -> tuple[Path, ...]:
    """RUN and DATA, or DATA alone when scores are given."""
    given = " ".join(map(str, places)) or "nothing"
    if scores is None:
        fix = "give a run folder and films, as in `videopred plausibility models/mine datasets/occlusion.h5`"
        check.require(len(places) == 2, "RUN and DATA", "be two paths", given, fix)
    else:
        fix = "leave out RUN: --scores stands for it"
        check.require(len(places) == 1, "DATA", "be one path with --scores", given, fix)
    return places


def _check_idle(config: PlausibilityConfig, scores: Path | None, draw: tuple[int, ...], device: str) -> None:
    """Refuse what would mean nothing with scores that were made elsewhere."""
    if scores is None:
        return
    idle = [name for name, value in PlausibilityConfig() if getattr(config, name) != value and name not in _OF_SCORES]
    idle += ["draw"] * bool(draw) + ["device"] * (device != "auto")
    flags, fix = ", ".join(f"--{name.replace('_', '-')}" for name in idle), "it is about a run's surprise at frames"
    check.require(not idle, flags, "be left out with --scores", "both", fix)
