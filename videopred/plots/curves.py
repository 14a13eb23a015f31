"""Curves: how scores change over the horizon, as figures."""

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from videopred.palette import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from videopred.plots.score_panel import Curve, ScorePanel
from videopred.rendering.canvas import empty_figure, hue, literal

COLOURS = tuple(map(hue, (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, (0, 0, 0))))
"""Colours of models; from the eighth model on they come again, dashed and with other markers."""
MARKERS = "os^DvPX"
"""One for each colour, since in grey these are much alike; at about eight steps."""
STYLES = ("solid", (0, (5, 2)), (0, (1, 1.5)))
ALONE, ABREAST = (4.2, 3.1), (3.0, 2.6)
"""Width and height of a panel, in inches; of two beside each other, so that letters stay large enough on a page."""
_LETTERS = 14.5
"""Letters of a title in an inch; those of a panel are larger."""
ASIDE = 0.5
"""Over how much of a step the models lie beside each other, where there is no other step."""
FAINT = "#8A8A8A"
"""The colour of all trivial baselines, so that models stand out; they differ in their dashes."""
FAINT_STYLES = ((0, (1, 1)), (0, (4, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (7, 2)), (0, (2, 4)), "solid")


def draw_curves(
    panels: Mapping[str, ScorePanel],
    *,
    title: str = "",
    steps: str = "rollout step",
    marks: Sequence[int] = (),
) -> Figure:
    """A figure with a panel for each metric: values over the steps of the rollout, shaded where they could lie; a bar
    says it of a value that stands alone.

    Trivial baselines leave a panel where they are far worse than all models, and the physics oracle where it is far
    better; an arrow names them.

    Args:
        panels: title -> what stands in it.
        title: above all panels.
        steps: what is counted along x.
        marks: steps to mark with a vertical line.
    """

    def draw(plot: Any, head: str) -> None:
        _draw(plot, panels[head], marks)
        if any(panel.along for panel in panels.values()):
            plot.set_xlabel(panels[head].along or steps, fontsize=9)

    return draw_panels(list(panels), draw, title=title, along=steps)


def draw_panels(heads: Sequence[str], draw: Callable[[Any, str], None], *, title: str, along: str) -> Figure:
    """A figure with a panel for each head, two beside each other, and one legend.

    Args:
        heads: titles of the panels.
        draw: puts into a plot what belongs under a head; what has a label in the first stands in the legend.
        title: above all panels.
        along: what x is.
    """
    columns = min(2, len(heads))
    rows = -(-len(heads) // columns)
    wide, high = ALONE if columns == 1 else ABREAST
    figure = empty_figure(wide * columns, high * rows + 0.3)
    letters = round(_LETTERS * wide)
    above = literal(_in_even_lines(title, letters * columns))  # clear of the legend
    figure.suptitle(above, x=0.02, ha="left", fontsize=9)
    for index, head in enumerate(heads, 1):
        plot = figure.add_subplot(rows, columns, index)
        draw(plot, head)
        plot.set_title(literal(_in_even_lines(head, round(letters * 0.83))), fontsize=10, loc="left")
        plot.spines[["top", "right"]].set_visible(False)
        plot.tick_params(labelsize=8)
        if index > len(heads) - columns and not plot.get_xlabel():
            plot.set_xlabel(along, fontsize=9)
    _add_legend(figure, None if len(heads) == rows * columns else (rows, columns, rows * columns))
    return figure


def _add_legend(figure: Figure, free: tuple[int, int, int] | None) -> None:
    """What has a label in the first panel, in the free place of a panel if it fits, or else to the right of all."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    look: dict[str, Any] = {"fontsize": 8, "frameon": False, "handlelength": 3.5}
    width, height = 0.8 + 0.068 * max(map(len, labels), default=0), 0.2 + 0.176 * len(labels)  # inches that it takes
    if free is not None and width < ABREAST[0] and height < ABREAST[1]:
        place = figure.add_subplot(*free)
        place.set_axis_off()
        place.legend(handles, labels, loc="upper left", **look)
        return
    wide, tall = figure.get_size_inches()
    figure.set_size_inches(wide + max(2.4, width), max(tall, height))
    figure.legend(handles, labels, loc="outside right upper", **look)


def _wrapped(title: str, width: int) -> list[str]:
    """Its lines, in which names of models with hyphens stay whole."""
    return wrap(title, width, break_on_hyphens=False)


def _in_even_lines(title: str, width: int) -> str:
    """A title in as few lines as it needs, about as long as each other, so that no word stands alone."""
    needed, longest = len(_wrapped(title, width)), max(map(len, title.split()), default=1)
    widths = range(min(longest, width), width + 1)  # none that would break a word
    return "\n".join(next(lines for to in widths if len(lines := _wrapped(title, to)) <= needed))


def _draw(plot: Any, panel: ScorePanel, marks: Sequence[int]) -> None:
    """The lines of a panel."""
    longest = max([1, *(len(line.values) for line in panel.rows.values())])
    models = [name for name, line in panel.rows.items() if not line.faint]
    for name, look in looks(panel.rows).items():
        line = panel.rows[name]
        steps = np.arange(1.0, len(line.values) + 1)
        if longest == 1 and name in models:  # beside each other, as bars at one place would hide each other
            steps += ASIDE * ((models.index(name) + 0.5) / len(models) - 0.5)
        every = -(-len(steps) // 8)
        plot.plot(steps, line.values, **look._asdict(), markersize=5, markevery=every, label=literal(name))
        plot.fill_between(steps, line.low, line.high, color=look.color, alpha=0.15, linewidth=0)
        _draw_alone(plot, steps, line, look)
    for step in marks:
        plot.axvline(step, color="#D0D0D0", linewidth=1, zorder=0)
    room = max(0.5, 0.04 * longest)
    plot.set_xlim(1 - room, longest + room)
    plot.locator_params(axis="x", integer=True)
    if longest == 1:
        plot.set_xticks([1])
    limit(plot, panel)


def _draw_alone(plot: Any, steps: np.ndarray, line: Curve, look: "Look") -> None:
    """Mark each value with none before and after it, through which no line goes: a model's, with a bar in the place of
    a band, or a level of a line."""
    known, half = np.pad(~np.isnan(line.values), 1), max(0.4, 0.02 * len(steps))  # wide enough to be seen among many
    for at in np.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:]):
        step, level = steps[at], [line.values[at]] * 2
        if look.marker:
            plot.plot([step], level[:1], **look._asdict(), markersize=5)
            plot.vlines(step, line.low[at], line.high[at], color=look.color, linewidth=1.8)
        else:
            plot.plot([step - half, step + half], level, **look._asdict())


def limit(plot: Any, panel: ScorePanel, places: Sequence[str] = ()) -> None:
    """End the axis of values where models can be told apart, and name the lines that leave it, if there are any.

    Args:
        plot: where the lines are drawn.
        panel: what they are.
        places: names of the places along x, to say at which of them a line leaves if it does not at others.
    """
    if all(np.isnan(row.values).all() for row in panel.rows.values()):
        plot.text(0.5, 0.5, "no value", transform=plot.transAxes, fontsize=8, color=FAINT, ha="center")
    trivial = {name: row.values for name, row in panel.rows.items() if row.faint}
    low, high = panel.ends
    room = 0.05 * (high - low or abs(high) or 1.0)
    low, high = low - room, high + room
    # Room for the names of lines that leave, in which some may end.
    above, below = _leaving(trivial, -np.inf, high), _leaving(trivial, low, np.inf)
    low, high = low - 2 * room if below else low, high + 2 * room if above else high
    for arrow, outside, y, edge in (
        ("↑", _leaving(trivial, -np.inf, high), 0.98, "top"),
        ("↓", _leaving(trivial, low, np.inf), 0.02, "bottom"),
    ):
        if outside:
            named = [name + _at_which(places, ends) for name, ends in outside.items()]
            words, paper = literal(f"{arrow} {', '.join(named)}"), {"color": "white", "pad": 1, "alpha": 0.7}
            plot.text(0.02, y, words, transform=plot.transAxes, fontsize=8, color=FAINT, va=edge, bbox=paper)
    plot.set_ylim(low, high)


def _leaving(lines: Mapping[str, np.ndarray], low: float, high: float) -> dict[str, np.ndarray]:
    """The names of the lines that are not between two values throughout, and where they are not, (T,) bool."""
    outside = {name: (values < low) | (values > high) for name, values in lines.items()}
    return {name: where for name, where in outside.items() if where.any()}


def _at_which(places: Sequence[str], where: np.ndarray) -> str:
    """At which of these places, (T,) bool; empty where it need not be said, as none has a name or it is at all."""
    chosen = [place for place, there in zip(places, where, strict=False) if there]
    return f" on {' and '.join(chosen)}" if len(chosen) < len(places) else ""


class Look(NamedTuple):
    """How a line is drawn, in matplotlib's words."""

    color: Any
    marker: str
    linestyle: Any
    linewidth: float


def looks(lines: Mapping[str, Curve]) -> dict[str, Look]:
    """Name of a line -> its look, which is that of its place among models, or among trivial baselines."""
    models = [name for name, line in lines.items() if not line.faint]
    trivial = [name for name, line in lines.items() if line.faint]
    found = {}
    for place, name in enumerate(models):
        again, number = divmod(place, len(COLOURS))
        found[name] = Look(COLOURS[number], MARKERS[(number + again) % len(MARKERS)], STYLES[again % len(STYLES)], 2.0)
    for place, name in enumerate(trivial):
        found[name] = Look(FAINT, "", FAINT_STYLES[place % len(FAINT_STYLES)], 1.2)
    return found
