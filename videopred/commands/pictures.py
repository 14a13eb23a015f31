"""Commands that draw."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import OmitArgPrefixes, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.models import opened, results
from videopred.commands.options import Context, Data, Device, Horizon, Json, Overwrite, Part, Run
from videopred.eval import METRICS
from videopred.models.intervention_settings import Intervention
from videopred.rendering import FIGURES, OF_ALL_CLIPS, USUAL_CHANGED_ROWS, USUAL_ROWS, check_rows
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
    intervention: OmitArgPrefixes[Intervention] = Intervention(),
    context: Context = None,
    horizon: Horizon = None,
    out: Annotated[
        Path | None, arg(help="Folder, or for one clip a .gif, .mp4, .png or .svg file; default: eval/<run>/<data>.")
    ] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Draw clips: films and strips with truth, prediction, difference or other rows, or a figure of the papers.

    With --without, --freeze, --swap or --schema, the model is rolled out a second time under that intervention.
    """
    usual = USUAL_ROWS if intervention.idle else USUAL_CHANGED_ROWS
    rows = usual if picture.rows is None else check_rows(tuple(picture.rows.split(",")))
    _check_choice(choice)
    untouched, fix = picture.figure is None or intervention.idle, "a figure draws the untouched model"
    check.require(untouched, "--figure", "be left out with an intervention", picture.figure, fix)
    begins = intervention.from_step
    to_do = begins == Intervention().from_step or not intervention.idle
    fix = "give --without, --freeze, --swap or --schema"
    check.require(to_do, "--from-step", "be left out without an intervention", begins, fix)
    formats = _formats(out, picture)
    asked = opened(data, device, run, context, horizon)
    must = f"be at most {asked.horizon}, the steps of the rollout"
    check.require(begins <= asked.horizon, "--from-step", must, begins, "lower it")
    if "mp4" in formats:
        from videopred.pictures import check_mp4

        check_mp4()
    known = _known_clips(choice, asked.file.count(part))
    place = out or results(run, data)
    if known is not None:
        _paths(place, part, known, formats, overwrite, picture.figure)
    from videopred.checkpoint import load_run
    from videopred.device import pick_device
    from videopred.judging.drawing import scenes_of
    from videopred.rendering.writing import write_figure, write_scene

    predictor = load_run(run, pick_device(device))
    clips = known or _extreme(choice, predictor, asked.file, part, asked.context, asked.horizon)
    paths = _paths(place, part, clips, formats, overwrite, picture.figure)
    scenes = scenes_of(predictor, asked.file, part, clips, asked.context, asked.horizon, intervention)
    if picture.figure == "mask-out":
        from videopred.models.interventions import without_each

        for changed in without_each(predictor, asked.context):
            scenes += scenes_of(changed, asked.file, part, clips, asked.context, asked.horizon)
    if picture.figure is None:
        made = [write_scene(*one, rows, frame_ms=picture.frame_ms) for one in zip(scenes, paths, strict=True)]
    else:
        groups = [scenes] if picture.figure in OF_ALL_CLIPS else [[scene] for scene in scenes]
        made = [write_figure(picture.figure, *one) for one in zip(groups, paths, strict=True)]
    terminal.print_files([path for written in made for path in written], json_)


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
    ranked = choice.worst is not None or choice.best is not None
    for flag, usual, told, fits, fix in (
        ("--by", ClipChoice().by, choice.by, ranked, "--worst or --best"),
        ("--first", None, choice.first, not choice.clips, "--worst, --best or --random"),
        ("--seed", ClipChoice().seed, choice.seed, choice.random is not None, "--random"),
    ):
        check.require(fits or told == usual, flag, f"go with {fix}", told, "leave it out")
    once = len(set(choice.clips)) == len(choice.clips)
    check.require(once, "--clips", "name each clip once", choice.clips, "leave one out")


def _formats(out: Path | None, picture: PictureConfig) -> tuple[str, ...]:
    """The suffixes of the files to write of each clip, or of each figure."""
    usual = PictureConfig()
    allowed: tuple[str, ...]
    of_film: tuple[str, ...]
    check.whole_number("--frame-ms", picture.frame_ms, 1, "try 100, ten frames a second")
    if picture.figure is not None:
        check.one_of("--figure", picture.figure, FIGURES)
        for flag, same in (
            ("--rows", picture.rows == usual.rows),
            ("--format", picture.format == usual.format),
            ("--frame-ms", picture.frame_ms == usual.frame_ms),
        ):
            check.require(same, flag, "be left out with --figure", "one", "a figure has rows and formats of its own")
        allowed, of_film, must = ("png", "svg"), ("png", "svg"), "be a folder, or end in .png or .svg for a figure"
    else:
        allowed, of_film = ("gif", "mp4", "png"), picture.format
        must = "be a folder, or end in .gif or .mp4 for a film or .png for a strip"
    check.require(len(of_film) > 0, "--format", "name at least one", "none", "choose among gif, mp4 and png")
    formats = of_film if out is None or not out.suffix else (out.suffix[1:],)
    check.require(set(formats) <= set(allowed), "--out", must, out, "rename it")
    if "gif" in formats:
        fits = picture.frame_ms >= 20 and picture.frame_ms % 10 == 0
        slow = "be a multiple of 10, at least 20, for a GIF"
        check.require(fits, "--frame-ms", slow, picture.frame_ms, "try 100, ten frames a second")
    return formats


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


def _paths(
    out: Path, part: str, clips: list[int], formats: tuple[str, ...], overwrite: bool, figure: str | None
) -> list[list[Path]]:
    """Where the files of each clip, or of the figure of all of them, go; nothing is there yet."""
    together = figure in OF_ALL_CLIPS
    if out.suffix:
        alone = together or len(clips) == 1
        check.require(alone, "--out", "be a folder for several clips", out, "give a folder, or --clips 0")
        return [[check.absent("--out", out, overwrite)]]
    ending = f"-{figure}" if figure else ""
    names = [f"{part}{ending}"] if together else [f"{part}-{clip}{ending}" for clip in clips]
    return [[check.absent("--out", out / f"{name}.{kind}", overwrite) for kind in formats] for name in names]
