"""Settings of pictures: which clips, which rows, which files."""

from pathlib import Path
from typing import Literal

from pydantic import model_validator

from videopred import check
from videopred.rendering import FIGURES, USUAL_CHANGED_ROWS, USUAL_ROWS, USUAL_ROWS_OF_SEVERAL, check_rows, rows_in
from videopred.settings import Settings

_FILE_ENDINGS = {
    ".gif", ".mp4", ".png", ".svg", ".apng", ".avi", ".bmp", ".eps", ".flv", ".jpeg", ".jpg", ".m4v", ".mkv", ".mov",
    ".mpeg", ".mpg", ".ogv", ".pdf", ".tif", ".tiff", ".webm", ".webp", ".wmv",
}  # fmt: skip
"""Endings of pictures and films, drawn here or not; any other ending is part of a folder's name, such as balls-0.5."""


def is_file_name(out: Path) -> bool:
    """Whether --out means a file: it ends as pictures or films do, also with letters swapped, and is no folder."""
    return sorted(out.suffix.lower()) in map(sorted, _FILE_ENDINGS) and not out.is_dir()


class ClipChoice(Settings):
    """Which clips of a part to draw; the first three unless one of these is given."""

    clips: tuple[int, ...] = ()
    """Their indices, counted from 0."""
    worst: int | None = None
    """Draw this many clips that the model predicts worst."""
    best: int | None = None
    """Draw this many clips that the model predicts best."""
    random: int | None = None
    """Draw this many clips chosen at random."""
    by: str = "mse"
    """The metric that decides what is worst and best, as a mean over the horizon: one of `videopred list metrics`, or
    MODULE:CLASS of your own (docs/adding.md)."""
    first: int | None = None
    """Choose among the first so many clips; default: all."""
    seed: int = 0
    """Random seed of --random."""

    @model_validator(mode="after")
    def _is_one_choice(self) -> "ClipChoice":
        named = {"--clips": self.clips or None, "--worst": self.worst, "--best": self.best, "--random": self.random}
        given = {flag: value for flag, value in named.items() if value is not None}
        for flag, value in given.items():
            chosen = next(iter(given))
            check.require(flag == chosen, flag, f"be left out with {chosen}", value, "leave one out")
            if isinstance(value, int):
                check.whole_number(flag, value, 1, "ask for at least one clip")
        check.each_once("--clips", self.clips)
        check.whole_number("--seed", self.seed, 0, "give a whole number such as 0")
        for flag, fits, told, choices in (
            ("--by", self.by == "mse" or self.ranked, self.by, "--worst or --best"),
            ("--first", self.first is None or not self.clips, self.first, "--worst, --best or --random"),
            ("--seed", self.seed == 0 or self.random is not None, self.seed, "--random"),
        ):
            check.require(fits, flag, f"go with {choices}", told, "leave it out")
        if self.first is not None:
            check.whole_number("--first", self.first, 1, "look at one clip at least")
        return self

    @property
    def ranked(self) -> bool:
        """Whether it takes the model to know which clips are meant."""
        return self.worst is not None or self.best is not None


class PictureConfig(Settings):
    """What is drawn of a clip, and into which files."""

    rows: str | None = None
    """Any of truth, pred, diff, overlay, modules, attention, null, top-down, schemata, masks, changed, change, boxes,
    with commas between them; default: truth,pred,diff, or with an intervention truth,pred,changed,change, or of several
    models truth,pred."""
    format: tuple[Literal["gif", "mp4", "png"], ...] = ("gif", "png")
    """Films as gif or mp4 (which needs PyAV), a strip of stills as png. If --out is a file, its suffix says it."""
    figure: str | None = None
    """Instead of films, as PNG, SVG and PDF: strip, strips, activation, activation-position, schemata, communication,
    top-down or mask-out."""
    frame_ms: int = 100
    """Time per frame of a film; GIF counts in steps of 10."""

    @model_validator(mode="after")
    def _can_be_drawn(self) -> "PictureConfig":
        fix = "try 100, ten frames a second"
        check.whole_number("--frame-ms", self.frame_ms, 1, fix)
        check.require(self.frame_ms <= 655_350, "--frame-ms", "be at most 655350, as GIFs have it", self.frame_ms, fix)
        check.require(len(self.format) > 0, "--format", "name at least one", "none", "choose among gif, mp4 and png")
        check.each_once("--format", self.format)
        if self.rows is not None:
            check_rows(rows_in(self.rows))
        if self.figure is None:
            return self
        check.one_of("--figure", self.figure, FIGURES)
        for name in ("rows", "format", "frame_ms"):
            told = getattr(self, name)
            same, got = told == type(self).model_fields[name].default, " ".join(told) if name == "format" else told
            fix = "a figure has rows and formats of its own"
            check.require(same, check.flag(name), "be left out with --figure", got, fix)
        return self

    def row_names(self, *, changed: bool = False, several: bool = False) -> tuple[str, ...]:
        """Names in ROWS, the usual ones unless some were named.

        Args:
            changed: whether there is an intervention.
            several: whether several models are drawn.
        """
        if self.rows:
            return rows_in(self.rows)
        return USUAL_CHANGED_ROWS if changed else USUAL_ROWS_OF_SEVERAL if several else USUAL_ROWS

    def kinds(self, out: Path | None) -> tuple[str, ...]:
        """Suffixes, without the dot, of the files of each clip or figure.

        Args:
            out: a folder, or the file, whose suffix then says the kind.

        Raises:
            ValueError: a suffix that cannot hold it, or that --format contradicts, or a time that no GIF can have, or
                that stills have none of.
        """
        usual: tuple[str, ...] = self.format
        allowed, must = {"gif", "mp4", "png"}, "be a folder, or end in .gif or .mp4 for a film or .png for a strip"
        if self.figure:
            usual = ("png", "svg", "pdf")
            allowed, must = {*usual}, "be a folder, or end in .png, .svg or .pdf for a figure"
        of_file = (out.suffix[1:],) if out is not None and is_file_name(out) else ()
        check.require(allowed.issuperset(of_file), "--out", must, out, "rename it")
        told = self.format != type(self).model_fields["format"].default
        agree = not of_file or not told or of_file == self.format
        fix = "leave --format out, or give a folder"
        check.require(agree, "--format", f"be {' '.join(of_file)}, as --out ends so", " ".join(self.format), fix)
        kinds = of_file or usual
        if "gif" in kinds:
            fits, must = self.frame_ms >= 20 and self.frame_ms % 10 == 0, "be a multiple of 10, at least 20, for a GIF"
            check.require(fits, "--frame-ms", must, self.frame_ms, "try 100, ten frames a second")
        timed = self.frame_ms != type(self).model_fields["frame_ms"].default
        films, fix = bool({"gif", "mp4"} & {*kinds}), "leave it out for stills"
        check.require(films or not timed, "--frame-ms", "go with a film", self.frame_ms, fix)
        return kinds
