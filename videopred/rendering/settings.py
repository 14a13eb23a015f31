"""Settings of pictures: which clips, which rows, which files."""

from typing import Literal

from videopred.settings import Settings


class ClipChoice(Settings):
    """Which clips of a part to draw; the first three unless one of these is given."""

    clips: tuple[int, ...] = ()
    """Their indices, counted from 0."""
    worst: int | None = None
    """As many as this, those that the model predicts worst."""
    best: int | None = None
    """As many as this, those that the model predicts best."""
    random: int | None = None
    """As many as this, any."""
    by: str = "mse"
    """The metric of `videopred list metrics` that says what is worst and best, a mean over the horizon."""
    first: int | None = None
    """Among how many clips, from the first on, to look; default: all."""
    seed: int = 0
    """Chance of --random."""


class PictureConfig(Settings):
    """What is drawn of a clip, and into which files."""

    rows: str | None = None
    """Any of truth, pred, diff, overlay, modules, attention, schemata, masks, changed, change, boxes, with commas
    between them; default: truth,pred,diff, or with an intervention truth,pred,changed,change."""
    format: tuple[Literal["gif", "mp4", "png"], ...] = ("gif", "png")
    """Films as gif or mp4 (which takes PyAV), a strip of stills as png. If --out is a file, its suffix says it."""
    figure: str | None = None
    """Instead of films: strip, activation, activation-position, schemata, top-down or mask-out, as PNG and SVG."""
    frame_ms: int = 100
    """Time per frame of a film; GIF counts in steps of 10."""
