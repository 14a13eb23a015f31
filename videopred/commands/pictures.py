"""Commands that draw."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import OmitArgPrefixes, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.models import opened, results
from videopred.commands.options import Context, Data, Device, Horizon, Json, Overwrite, Part, Run
from videopred.eval import METRICS
from videopred.rendering import check_rows
from videopred.rendering.settings import ClipChoice, PictureConfig

if TYPE_CHECKING:
    from videopred.datasets.source import ClipSource
    from videopred.models.predictor import Predictor


def render(
    run: Run,
    data: Data,
    *,
    part: Part = "test",
    choice: OmitArgPrefixes[ClipChoice] = ClipChoice(),
    picture: OmitArgPrefixes[PictureConfig] = PictureConfig(),
    context: Context = None,
    horizon: Horizon = None,
    out: Annotated[
        Path | None, arg(help="Folder, or for one clip a .gif, .mp4 or .png file; default: eval/<run>/<data>.")
    ] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Draw clips as films and strips: truth, prediction and difference, or other rows."""
    rows = check_rows(tuple(picture.rows.split(",")))
    _check_choice(choice)
    formats = _formats(out, picture)
    asked = opened(data, device, run, context, horizon)
    if "mp4" in formats:
        from videopred.pictures import check_mp4

        check_mp4()
    known = _known_clips(choice, asked.file.count(part))
    if known is not None:
        _paths(out or results(run, data), part, known, formats, overwrite)
    from videopred.checkpoint import load_run
    from videopred.device import pick_device
    from videopred.judging import imagine

    predictor = load_run(run, pick_device(device))
    clips = known or _extreme(choice, predictor, asked.file, part, asked.context, asked.horizon)
    paths = _paths(out or results(run, data), part, clips, formats, overwrite)
    rollout, truth = imagine(predictor, asked.file, part, clips, asked.context, asked.horizon)
    from videopred.rendering.scene import scene_of_rollout
    from videopred.rendering.writing import write_scene

    frames, written = asked.context + asked.horizon, []
    for i, clip in enumerate(clips):
        masks = None
        if "groups" in asked.file.truth:
            masks = asked.file.read(part, "groups", clip, clip + 1)[0, :frames]
        scene = scene_of_rollout(rollout, truth, i, masks, predictor.encoder.map_shape)
        written += write_scene(scene, paths[i], rows, frame_ms=picture.frame_ms)
    terminal.print_files(written, json_)


def _check_choice(choice: ClipChoice) -> None:
    """Refuse two ways at once to say which clips."""
    named = {"--clips": choice.clips or None, "--worst": choice.worst, "--best": choice.best, "--random": choice.random}
    given = [flag for flag, value in named.items() if value is not None]
    for flag in given:
        value = named[flag]
        check.require(flag == given[0], flag, f"be left out with {given[0]}", value, "leave one out")
        if isinstance(value, int):
            check.whole_number(flag, value, 1, "ask for at least one clip")
    check.one_of("--by", choice.by, METRICS)
    once = len(set(choice.clips)) == len(choice.clips)
    check.require(once, "--clips", "name each clip once", choice.clips, "leave one out")


def _formats(out: Path | None, picture: PictureConfig) -> tuple[str, ...]:
    """The suffixes of the files to write of each clip."""
    check.require(len(picture.format) > 0, "--format", "name at least one", "none", "choose among gif, mp4 and png")
    if "gif" in picture.format:
        slow = picture.frame_ms >= 20 and picture.frame_ms % 10 == 0
        must, fix = "be a multiple of 10, at least 20, for a GIF", "try 100, ten frames a second"
        check.require(slow, "--frame-ms", must, picture.frame_ms, fix)
    check.whole_number("--frame-ms", picture.frame_ms, 1, "try 100, ten frames a second")
    if out is None or not out.suffix:
        return picture.format
    must = "be a folder, or end in .gif or .mp4 for a film or .png for a strip"
    check.require(out.suffix in (".gif", ".mp4", ".png"), "--out", must, out, "rename it")
    return (out.suffix[1:],)


def _known_clips(choice: ClipChoice, count: int) -> list[int] | None:
    """The clips that are chosen without a look at them; None if it takes one."""
    among = count if choice.first is None else choice.first
    check.whole_number("--first", among, 1, "look at one clip at least")
    check.require(among <= count, "--first", f"be at most {count}, the clips of the part", among, "lower it")
    if choice.random is not None:
        from videopred.judging.choosing import random_clips

        return random_clips(among, choice.random, choice.seed)
    if choice.worst is None and choice.best is None:
        return list(choice.clips) or list(range(min(3, among)))
    return None


def _extreme(
    choice: ClipChoice, predictor: "Predictor", file: "ClipSource", part: str, context: int, horizon: int
) -> list[int]:
    """The clips that are predicted worst or best."""
    from videopred.judging.choosing import clip_scores, extreme_clips

    scores = clip_scores(predictor, file, part, choice.by, context, horizon, first=choice.first)
    if choice.worst is not None:
        return extreme_clips(scores, choice.by, "worst", choice.worst)
    assert choice.best is not None
    return extreme_clips(scores, choice.by, "best", choice.best)


def _paths(out: Path, part: str, clips: list[int], formats: tuple[str, ...], overwrite: bool) -> list[list[Path]]:
    """Where the files of each clip go; nothing is there yet."""
    if out.suffix:
        check.require(len(clips) == 1, "--out", "be a folder for several clips", out, "give a folder, or --clips 0")
        return [[check.absent("--out", out, overwrite)]]
    return [[check.absent("--out", out / f"{part}-{clip}.{kind}", overwrite) for kind in formats] for clip in clips]
