"""Commands that draw."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check, check_path
from videopred.commands import terminal
from videopred.commands.naming import called, runs_and_true_films
from videopred.commands.opening import results, results_of_films, say_unfinished
from videopred.commands.options import Context, Device, Horizon, Json, Names, Overwrite, out_flag
from videopred.commands.question import Question
from videopred.datasets import open_dataset
from videopred.eval import METRICS, find_metric
from videopred.eval.settings import FilmsConfig
from videopred.models.intervention_settings import Intervention
from videopred.rendering.planning import check_intervention, check_several, known_clips, new_paths
from videopred.rendering.settings import ClipChoice, PictureConfig
from videopred.run_files import looks_like_run
from videopred.settings import Part

if TYPE_CHECKING:
    from videopred.datasets import ClipSource
    from videopred.judging.views import Source


def render(
    paths: Annotated[
        Positional[tuple[Path, ...]],
        arg(
            metavar="RUN... DATA",
            help="A run or export, or several to draw beside one another; then the data. With --pred, runs may be left "
            "out.",
        ),
    ] = (),
    *,
    part: Annotated[Part, arg(help="Part of the data.")] = "test",
    choice: OmitArgPrefixes[ClipChoice] = ClipChoice(),
    picture: OmitArgPrefixes[PictureConfig] = PictureConfig(),
    intervention: OmitArgPrefixes[Intervention] = Intervention(),
    films: OmitArgPrefixes[FilmsConfig] = FilmsConfig(),
    names: Names = (),
    context: Context = None,
    horizon: Horizon = None,
    out: Annotated[
        Path | None,
        out_flag(
            "Folder, or for one clip a .gif, .mp4, .png or, with --figure, .svg or .pdf; default: eval/<run>/<data>."
        ),
    ] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Draw clips as films and strips, with truth, prediction, difference and more, or a figure of the papers.

    With --without, --freeze, --swap or --schema, the model is rolled out a second time under that intervention.
    """
    runs, data = runs_and_true_films(paths, films, beside_runs=True)
    find_metric("--by", choice.by, METRICS)
    kinds = picture.kinds(out)
    check.device_kind(device)
    for run in runs:
        check_path.run_folder(run)
    file = None if data is None else open_dataset(data)
    check_several(len(runs) + len(films.pred), intervention, picture)
    for path in films.pred:
        check.require(not looks_like_run(path), "--pred", "be films", f"{path}, a run", "name it before the data")
    together = called(runs, names, films.pred)
    if "mp4" in kinds:
        from videopred.pictures import check_mp4

        check_mp4()
    place = out or _place(runs, data, films)
    said = {"part": part, "context": context, "horizon": horizon}
    question = Question(None, {name: word for name, word in said.items() if word is not None})
    if file is not None and not films.pred:  # which may be of fewer clips
        asked = question.protocol(file)
        file.check_rollout(asked.context, asked.horizon)
        check_intervention(intervention, picture, asked.horizon)
        if (chosen := known_clips(choice, file.count(part))) is not None:
            new_paths(place, part, chosen, picture, overwrite)
    say_unfinished(runs)
    from videopred.checkpoint import load_run
    from videopred.judging.drawing import draw_sources

    sources: list[Source] = []
    count = None
    if films.pred:
        from videopred.device import pick_device

        pick_device(device)  # without runs, nothing is computed there
        sources, file, count = _open_films(films, file, question)
    assert file is not None  # else there are films
    asked = question.protocol(file)
    made = draw_sources(
        dict(zip(together, [*(load_run(run, device) for run in runs), *sources], strict=True)),
        file,
        choice=choice,
        part=part,
        context=asked.context,
        horizon=asked.horizon,
        picture=picture,
        intervention=intervention,
        out=place,
        overwrite=overwrite,
        count=count,
    )
    terminal.print_files(made, json_)


def _place(runs: list[Path], data: Path | None, films: FilmsConfig) -> Path:
    """Where pictures go unless --out says otherwise."""
    if data is None or not runs:
        return results_of_films(films, data)
    return results(runs[0], data, len(runs) + len(films.pred) - 1)


def _open_films(
    films: FilmsConfig, file: "ClipSource | None", question: Question
) -> "tuple[list[Source], ClipSource, int]":
    """Films made elsewhere, their truth, and how many clips they are of; says what should be known of them."""
    from videopred.judging import given_flags, given_scores
    from videopred.judging.fitting import check_part

    part = question.said["part"]
    predicted, truth = given_flags.open_given(films, part, file)
    count = min(check_part(part, truth), *(of.clips for of in predicted.values()))
    notes: list[str] = []
    for name, of in predicted.items():
        held = {"clips": min(of.clips, truth.parts[part]), "samples": of.samples}
        notes += given_scores.hold_against({name: of}, truth, question.protocol(truth).model_copy(update=held))
        if of.samples > 1:
            notes.append(f"of the {of.samples} films of each clip in {of.path}, the first is drawn")
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)
    given_scores.check_made_alike(list(predicted.values()))
    horizon = question.protocol(truth).horizon
    return [given_scores.reading(of, horizon) for of in predicted.values()], truth, count
