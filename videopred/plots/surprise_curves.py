"""Surprise as pictures: the curves of a scene beside its films, still and moving. A door of matplotlib.

Films stand beside the one that begins alike, so that the two curves of a panel are the same until something differs.
The moment of the trick is where the impossible film goes on as the other run, which may be hidden; where it is not
known, the first frame that differs is marked. Frames are counted from 1.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from videopred import pictures
from videopred.check import require
from videopred.datasets.quadruplets import Quadruplets
from videopred.eval.mates import differences, mates
from videopred.eval.plausibility_scores import PlausibilityScores
from videopred.files import write_bytes
from videopred.palette import BLUE, GREEN, VERMILION
from videopred.rendering.canvas import hue, our_style
from videopred.rendering.lettering import text_width
from videopred.rendering.page import LETTERS, Page, blank_page, enlarged, points

POSSIBLE, IMPOSSIBLE, OTHER = BLUE, VERMILION, GREEN
"""Colours of films; the last is for films that are not known to be possible or impossible."""
TRICK, CALM = (80, 80, 80), (200, 206, 212)
UNITS = {"bce": "surprise, nats", "kl": "surprise, nats", "mse": "surprise, MSE"}

_MARGIN, _BORDER, _COLUMNS, _LINE = 16, 4, 9, 18


class Pair(NamedTuple):
    """Two films that begin alike, the possible one first."""

    names: tuple[str, str]
    known: bool
    """Whether it is known which is possible; else they stand in the order of their numbers."""
    shown: np.ndarray
    """(2, T, H, W, 3) uint8."""
    numbers: np.ndarray
    """(T,) the numbers of the frames shown."""
    surprise: np.ndarray
    """(2, T - burn-in) float64, of the last of them."""
    marks: Sequence[int]
    """The numbers of the frames at which something happens."""
    marked: str
    """What happens there."""

    @property
    def labels(self) -> tuple[str, str]:
        """The names, each with what its curve looks like on paper without colours."""
        return f"{self.names[0]} – –", f"{self.names[1]} —"


def pairs_of(scores: PlausibilityScores, films: Quadruplets, scene: int) -> list[Pair]:
    """The two pairs of a scene, with what is drawn of them.

    Args:
        scores: of a run.
        films: the films that were scored.
        scene: counted from 0.

    Raises:
        ValueError: the scores are not of a run: they hold no surprise of frames.
    """
    held, fix = scores.surprise is not None, "give those of a run, not of a score file"
    require(held, "scores", "hold the surprise of frames", "none", fix)
    assert scores.surprise is not None
    shown, surprise = films.read(scene), scores.surprise[scene]
    possible = None if scores.scenes.possible is None else scores.scenes.possible[scene]
    numbers, different = 1 + films.every * np.arange(films.frames), differences(shown)
    pairs = []
    for one, other in enumerate(mates(different, possible)):
        if one > other if possible is None else not possible[one]:
            continue
        if films.splices is None:
            marks, marked = numbers[different[one, other]][:1].tolist(), "first difference"
        else:
            marks, marked = [int(numbers[at]) for at in films.splices[scene] if 0 <= at < len(numbers)], "trick"
        words = ("", "") if possible is None else (", possible", ", impossible")
        colored = np.broadcast_to(shown[[one, other]], (2, *shown.shape[1:-1], 3))
        names = f"film {one + 1}{words[0]}", f"film {other + 1}{words[1]}"
        pairs.append(Pair(names, possible is not None, colored, numbers, surprise[[one, other]], marks, marked))
    return pairs


def draw_scenes(scores: PlausibilityScores, films: Quadruplets, scenes: Sequence[int], folder: Path) -> list[Path]:
    """Write scene-<number>.png and scene-<number>.gif of scenes, and return their paths. Files there are replaced."""
    paths = []
    for scene in scenes:
        pairs, name = pairs_of(scores, films, scene), scores.scenes.names[scene][0].rpartition("/")[0]
        unit = UNITS.get(scores.settings["surprise"], "surprise")  # of a scorer of one's own, no unit is known
        still, film = scene_still(pairs, name, unit), scene_gif_frames(pairs, name, unit)
        paths.append(write_bytes(folder / f"scene-{scene}.png", pictures.png_bytes(still)))
        paths.append(write_bytes(folder / f"scene-{scene}.gif", pictures.gif_bytes(film)))
    return paths


@our_style()
def scene_still(pairs: Sequence[Pair], name: str, unit: str) -> np.ndarray:
    """Strips of the films of each pair, and their curves below.

    Args:
        pairs: of the scene.
        name: of the scene.
        unit: what is written beside the curves.

    Returns:
        (height, width, 3) uint8.
    """
    _, frames, height, width, _ = pairs[0].shown.shape
    shown = np.unique(np.linspace(0, frames - 1, _COLUMNS).round().astype(int))
    scale, left = max(1, 88 // max(height, width)), 150
    high, pitch = max(height * scale, 2 * _LINE) + 6, width * scale + 4
    inset = (high - 6 - height * scale) // 2
    tall, span = 2 * high + 250, len(shown) * pitch - 4
    page = Page(blank_page(52 + len(pairs) * tall, left + span + _MARGIN))
    page.write(name, _MARGIN, 22, align="left", size=LETTERS + 3)
    for number, pair in enumerate(pairs):
        top = 48 + number * tall
        for row in range(2):
            for line, words in enumerate(pair.labels[row].split(", ")):
                page.write(
                    words, left - 10, top + row * high + high / 2 - 12 + _LINE * line, _color(pair, row), "right"
                )
            for column, t in enumerate(shown):
                page.paste(pair.shown[row, t], scale, left + column * pitch, top + row * high + inset)
        for column, t in enumerate(shown):
            page.write(f"{pair.numbers[t]}", left + column * pitch + width * scale / 2, top + 2 * high + 8)
        _plot(page.axes(left, top + 2 * high + 28, span, 160), pair, unit)
    return page.drawn()


@our_style()
def scene_gif_frames(pairs: Sequence[Pair], name: str, unit: str, *, panel_px: int = 176) -> np.ndarray:
    """The films of both pairs side by side, and their curves growing below.

    The impossible film's border turns vermilion at the first mark.

    Args:
        pairs, name, unit: as for `scene_still`.
        panel_px: longest side of a film at most, but for larger frames; a pixel becomes a square of whole pixels.

    Returns:
        (T, height, width, 3) uint8.
    """
    height, width = pairs[0].shown.shape[2:4]
    widest = max(text_width(label, LETTERS) for pair in pairs for label in pair.labels)
    layout = _Layout.of(height, width, panel_px, widest)
    bare, full = (_gif_page(pairs, name, unit, layout, curves=curves) for curves in (False, True))
    made = []
    for t in range(len(pairs[0].numbers)):
        image = bare.copy()
        for number, pair in enumerate(pairs):
            left = layout.plot_left(number)
            last, now = t == len(pair.numbers) - 1, round(layout.span * pair.numbers[t] / _end(pair))
            drawn = slice(left, left + (layout.span if last else now + 1))  # the last dot goes beyond its frame
            image[layout.below :, drawn] = full[layout.below :, drawn]
            for film in range(2):
                tricked = film == 1 and len(pair.marks) > 0 and pair.numbers[t] >= pair.marks[0]
                x, y = layout.film_left(number, film), layout.top
                image[y - _BORDER : y + layout.high + _BORDER, x - _BORDER : x + layout.wide + _BORDER] = (
                    IMPOSSIBLE if tricked and pair.known else CALM
                )
                image[y : y + layout.high, x : x + layout.wide] = enlarged(pair.shown[film, t], layout.scale)
        made.append(image)
    return np.stack(made)


class _Layout(NamedTuple):
    """Where things lie on a frame of the GIF, in px."""

    scale: int
    high: int
    wide: int
    """Width of a film, without its border."""
    across: int
    """Width of a film with its border, or of its caption if that is wider."""
    top: int = 74
    """Upper edge of the films."""

    @classmethod
    def of(cls, height: int, width: int, panel_px: int, caption: int) -> "_Layout":
        scale = max(1, panel_px // max(height, width))
        return cls(scale, height * scale, width * scale, max(width * scale + 2 * _BORDER, caption))

    @property
    def span(self) -> int:
        """Width of a plot."""
        return max(2 * self.across + 12, 330)

    @property
    def below(self) -> int:
        """Row from which on plots lie."""
        return self.top + self.high + _BORDER + 10

    def plot_left(self, pair: int) -> int:
        return 76 + pair * (self.span + 76)

    def film_left(self, pair: int, film: int) -> int:
        step = self.across + 12
        return self.plot_left(pair) + (self.span - 2 * step + 12) // 2 + film * step + (self.across - self.wide) // 2


def _gif_page(pairs: Sequence[Pair], name: str, unit: str, layout: _Layout, *, curves: bool) -> np.ndarray:
    """What all frames of a GIF share, without the curves or with all of them."""
    page = Page(blank_page(layout.below + 230, layout.plot_left(len(pairs)) - 76 + _MARGIN))
    page.write(name, _MARGIN, 20, align="left", size=LETTERS + 3)
    for number, pair in enumerate(pairs):
        for film, label in enumerate(pair.labels):
            page.write(label, layout.film_left(number, film) + layout.wide / 2, layout.top - 18, _color(pair, film))
        _plot(page.axes(layout.plot_left(number), layout.below + 12, layout.span, 160), pair, unit, curves=curves)
    return page.drawn()


# --- parts of a page -----------------------------------------------------------------------------------------


def _plot(axes: Axes, pair: Pair, unit: str, *, curves: bool = True) -> None:
    """The curves of a pair, the possible film's on top, thinner and dashed, so that both are seen where they agree."""
    low, high = float(pair.surprise.min()), float(pair.surprise.max())
    room = (high - low or 1.0) * 0.08
    axes.set(xlim=(0, _end(pair)), ylim=(low - room, high + 3 * room))
    axes.set_xlabel("frame", size=points(LETTERS))
    axes.tick_params(labelsize=points(LETTERS - 2))
    axes.ticklabel_format(axis="y", scilimits=(-2, 5), useMathText=True)  # small ones would not fit beside the plot
    numbers = axes.yaxis.get_major_formatter()
    numbers.set_locs(list(axes.yaxis.get_majorticklocs()))
    axes.set_ylabel(f"{unit} {numbers.get_offset()}".rstrip(), size=points(LETTERS))
    axes.yaxis.get_offset_text().set_visible(False)  # it would lie on numbers, of frames above or of its own axis
    axes.spines[["top", "right"]].set_visible(False)
    for place in pair.marks:
        axes.axvline(place, color=hue(TRICK), linestyle="--", linewidth=1.2)
    for place in pair.marks[:1]:  # its name is where there is room
        axes.annotate(
            f" {pair.marked} ", (place, 1), xycoords=("data", "axes fraction"), size=points(LETTERS - 2), va="top",
            ha="right" if place > _end(pair) / 2 else "left", color=hue(TRICK),
        )  # fmt: skip
    frames = pair.numbers[-pair.surprise.shape[1] :]
    dot = "o" if len(frames) == 1 else None  # through a single value there is no line
    for row, width, style in ((1, 3.2, "-"), (0, 1.6, (0, (4, 2)))):
        axes.plot(
            frames,
            pair.surprise[row],
            color=hue(_color(pair, row)),
            linewidth=width,
            linestyle=style,
            marker=dot,
            markersize=3 * width,
            visible=curves,
        )


def _end(pair: Pair) -> int:
    """Where the axis of frames ends; it begins at 0."""
    return int(pair.numbers[-1]) + 1


def _color(pair: Pair, row: int) -> tuple[int, int, int]:
    return (POSSIBLE, IMPOSSIBLE)[row] if pair.known else (TRICK, OTHER)[row]
