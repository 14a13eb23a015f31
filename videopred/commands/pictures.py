"""Commands that draw."""

from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, arg

from videopred.commands import terminal
from videopred.commands.opening import opened, results
from videopred.commands.options import Context, Data, Device, Horizon, Json, Overwrite, Run, out_flag
from videopred.eval import METRICS, known
from videopred.models.intervention_settings import Intervention
from videopred.rendering.planning import check_intervention, known_clips, new_paths
from videopred.rendering.settings import ClipChoice, PictureConfig
from videopred.settings import Part


def render(
    run: Run,
    data: Data,
    *,
    part: Annotated[Part, arg(help="Part of the data.")] = "test",
    choice: OmitArgPrefixes[ClipChoice] = ClipChoice(),
    picture: OmitArgPrefixes[PictureConfig] = PictureConfig(),
    intervention: OmitArgPrefixes[Intervention] = Intervention(),
    context: Context = None,
    horizon: Horizon = None,
    out: Annotated[
        Path | None, out_flag("Folder, or for one clip a .gif, .mp4, .png or .svg file; default: eval/<run>/<data>.")
    ] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Draw clips as films and strips, with truth, prediction, difference and more, or a figure of the papers.

    With --without, --freeze, --swap or --schema, the model is rolled out a second time under that intervention.
    """
    known("--by", choice.by, METRICS)
    kinds = picture.kinds(out)
    asked = opened(data, device, run, context, horizon)
    check_intervention(intervention, picture, asked.horizon)
    if "mp4" in kinds:
        from videopred.pictures import check_mp4

        check_mp4()
    place = out or results(run, data)
    chosen = known_clips(choice, asked.file.count(part))
    if chosen is not None:
        new_paths(place, part, chosen, picture, overwrite)
    from videopred.checkpoint import load_run
    from videopred.device import pick_device
    from videopred.judging.drawing import render

    predictor, clips = load_run(run, pick_device(device)), choice if chosen is None else chosen
    made = render(
        predictor,
        asked.file,
        clips=clips,
        part=part,
        context=asked.context,
        horizon=asked.horizon,
        picture=picture,
        intervention=intervention,
        out=place,
        overwrite=overwrite,
    )
    terminal.print_files(made, json_)
