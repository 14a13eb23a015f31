"""Commands that draw."""

from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check_path
from videopred.commands import terminal
from videopred.commands.naming import called, runs_and_data
from videopred.commands.opening import opened, results, say_unfinished
from videopred.commands.options import Context, Device, Horizon, Json, Names, Overwrite, out_flag
from videopred.eval import METRICS, find_metric
from videopred.models.intervention_settings import Intervention
from videopred.rendering.planning import check_intervention, check_several, known_clips, new_paths
from videopred.rendering.settings import ClipChoice, PictureConfig
from videopred.settings import Part


def render(
    paths: Annotated[
        Positional[tuple[Path, ...]],
        arg(metavar="RUN... DATA", help="A run or export, or several to draw beside one another; then the data."),
    ],
    *,
    part: Annotated[Part, arg(help="Part of the data.")] = "test",
    choice: OmitArgPrefixes[ClipChoice] = ClipChoice(),
    picture: OmitArgPrefixes[PictureConfig] = PictureConfig(),
    intervention: OmitArgPrefixes[Intervention] = Intervention(),
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
    runs, data = runs_and_data(paths)
    find_metric("--by", choice.by, METRICS)
    kinds = picture.kinds(out)
    for run in runs[1:]:
        check_path.run_folder(run)
    asked = opened(runs[0], data, device, context, horizon)
    check_intervention(intervention, picture, asked.horizon)
    check_several(len(runs), intervention, picture)
    models = dict(zip(called(runs, names), runs, strict=True))
    if "mp4" in kinds:
        from videopred.pictures import check_mp4

        check_mp4()
    place = out or results(runs[0], data, len(runs) - 1)
    chosen = known_clips(choice, asked.file.count(part))
    if chosen is not None:
        new_paths(place, part, chosen, picture, overwrite)
    say_unfinished(runs)
    from videopred.checkpoint import load_run
    from videopred.judging.drawing import render

    made = render(
        {name: load_run(run, device) for name, run in models.items()},
        asked.file,
        clips=choice,
        part=part,
        context=asked.context,
        horizon=asked.horizon,
        picture=picture,
        intervention=intervention,
        out=place,
        overwrite=overwrite,
    )
    terminal.print_files(made, json_)
