"""Which clips are drawn into which files, as far as that is known before the model is loaded. Light."""

from pathlib import Path

from videopred import check, check_path
from videopred.models.intervention_settings import Intervention
from videopred.rendering import OF_ALL_CLIPS, OF_SEVERAL_MODELS, ROWS, rows_in
from videopred.rendering.settings import ClipChoice, PictureConfig, is_file_name

USUAL_CLIPS = 3
"""How many clips are drawn when nobody says which."""


def check_intervention(intervention: Intervention, picture: PictureConfig, horizon: int) -> None:
    """Refuse an intervention that would do nothing, or that what is drawn does not show.

    Raises:
        ValueError: a figure under an intervention, rows of which it changes none, or a beginning without one or after
            the rollout.
    """
    fits, fix = picture.figure is None or intervention.idle, "a figure draws the untouched model"
    check.require(fits, "--figure", "be left out with an intervention", picture.figure, fix)
    if picture.rows is not None and not intervention.idle:
        # What a model did is drawn twice, untouched and changed; its prediction is not.
        showing = [name for name, row in ROWS.items() if set(row.needs).difference({"masks of objects"})]
        must = f"name any of {', '.join(showing)} with an intervention"
        fix = "the others are of the untouched model: add changed, or leave the intervention out"
        shown = not set(showing).isdisjoint(rows_in(picture.rows))
        check.require(shown, "--rows", must, picture.rows, fix)
    intervention.check_beginning(horizon)


def check_several(models: int, intervention: Intervention, picture: PictureConfig) -> None:
    """Refuse what cannot be drawn of several models side by side.

    Raises:
        ValueError: an intervention, whose modules are of one model, or a figure of one model.
    """
    if models < 2:
        return
    flags = ", ".join(f"--{flag}" for flag in intervention.changes)
    fix = "modules are of one model: draw it alone"
    check.require(not flags, flags, "be left out with several runs or films", "both", fix)
    fits = picture.figure is None or picture.figure in OF_SEVERAL_MODELS
    must, fix = f"be {' or '.join(OF_SEVERAL_MODELS)} with several runs or films", "draw them one by one"
    check.require(fits, "--figure", must, picture.figure, fix)


def known_clips(choice: ClipChoice, count: int, of: str = "the part") -> list[int] | None:
    """The clips that are chosen without a look at them; None if it takes one.

    Args:
        choice: which.
        count: how many clips there are.
        of: what has so many.

    Raises:
        ValueError: there are not so many.
    """
    among = count if choice.first is None else choice.first
    check.require(among <= count, "--first", f"be at most {count}, the clips of {of}", among, "lower it")
    if choice.random is not None:
        return random_clips(among, choice.random, choice.seed)
    if choice.ranked:
        return None
    for clip in choice.clips:
        must = f"lie in 0 to {count - 1}, the clips of {of}"
        check.require(0 <= clip < count, "--clips", must, clip, "choose one of these")
    return list(choice.clips) or list(range(min(USUAL_CLIPS, among)))


def random_clips(clips: int, count: int, seed: int) -> list[int]:
    """Indices of some clips, each at most once, in the order of the part; the same for the same seed.

    Raises:
        ValueError: there are not so many.
    """
    import numpy as np

    check.require(count <= clips, "--random", f"be at most {clips}, the clips there are", count, "lower it")
    return sorted(int(clip) for clip in np.random.default_rng(seed).choice(clips, count, replace=False))


def new_paths(out: Path, part: str, clips: list[int], picture: PictureConfig, overwrite: bool) -> list[list[Path]]:
    """Where the files of each clip go, or those of the one figure of all of them.

    Raises:
        ValueError: one file for several clips, or of a kind that cannot hold it. FileExistsError: one is there.
    """
    kinds, together = picture.kinds(out), picture.figure in OF_ALL_CLIPS
    if is_file_name(out):
        alone = together or len(clips) == 1
        fix = "give a folder, or choose one clip, as by --clips 0 alone"
        check.require(alone, "--out", "be a folder for several clips", out, fix)
        return [[check_path.absent("--out", out, overwrite)]]
    ending = f"-{picture.figure}" if picture.figure else ""
    names = [f"{part}{ending}"] if together else [f"{part}-{clip}{ending}" for clip in clips]
    return [[check_path.absent("--out", out / f"{name}.{kind}", overwrite) for kind in kinds] for name in names]
