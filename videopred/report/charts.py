"""Charts as SVG that takes its colours from the page, so that it is read by day, by night and on paper.

Lines have the classes `line-0`, `line-1`, … of models and `faint-0`, … of trivial baselines, which the page's style
sheet colours; matplotlib's SVG has fixed colours, and shapes in the place of letters.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

import numpy as np

from videopred.amounts import four_digits
from videopred.palette import SCHEMA_COLORS

WIDTH, HEIGHT = 420, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 30, 30, 40
"""Sizes of a chart and its margins, in units of its view box."""
_LETTERS = 7
"""How many of a number fit to the left of a chart; more are set closer."""
_MIDDLE = (_LEFT + WIDTH - _RIGHT) / 2
COLOURS = 7
"""How many colours and kinds of line the style sheet has, the first of which is solid: on paper without colours lines
are told by their dashes. Further lines take the colours again, each with other dashes."""

_Scale = Callable[[float], float]
"""From values to places on a chart."""


class Line(NamedTuple):
    """A curve, and where it could lie as well."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: str = "line-0"


def styles(models: Sequence[str], others: Sequence[str]) -> dict[str, str]:
    """Name of a line -> its class, one colour for a name in every chart of a page."""
    found = {}
    for place, name in enumerate(models):
        again, colour = divmod(place, COLOURS)
        found[name] = f"line-{colour} dash-{(colour + again) % COLOURS}" if again else f"line-{colour}"
    return found | {name: f"faint-{place}" for place, name in enumerate(others)}


def line_chart(title: str, lines: Mapping[str, Line], x_name: str, ends: tuple[float, float] | None = None) -> str:
    """An SVG of curves over a common axis, which begins at 0 where that wastes less than half of the height.

    Curves that leave it are cut off there, and named beside an arrow.

    Args:
        title: above the chart.
        lines: name, for who points at a curve or has it read out, -> curve; values that are not finite leave a gap.
        x_name: what the horizontal axis counts.
        ends: what the vertical axis must hold; all values and bands when None.
    """
    drawn = {name: line for name, line in lines.items() if any(map(isfinite, line.y))}
    if not drawn:
        return ""
    columns = [x for line in drawn.values() for x in line.x]
    heights = ends or _heights(drawn.values())
    up = _with_room_for_names(_ticks(*_span(heights)), heights, drawn)
    across = _ticks(min(columns), max(columns), whole=True) if max(columns) > min(columns) else columns[:1]
    to_x = _scale(min(columns), max(columns), _LEFT, WIDTH - _RIGHT)
    to_y = _scale(up[0], up[-1], HEIGHT - _BOTTOM, _TOP)
    body = [f'<text class="chart-title" x="{_LEFT}" y="16">{escape(title)}</text>']
    for tick in up:
        y = to_y(tick)
        body.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        said = _number(tick)
        room = f' textLength="{_LEFT - 8}" lengthAdjust="spacingAndGlyphs"' if len(said) > _LETTERS else ""
        body.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end"{room}>{said}</text>')
    for tick in across:
        if min(columns) <= tick <= max(columns):
            place = f'x="{to_x(tick):.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle"'
            body.append(f'<text class="tick" {place}>{_number(tick)}</text>')
    body.append(f'<text class="tick" x="{_MIDDLE}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_name)}</text>')
    curves = [_drawn(name, line, to_x, to_y) for name, line in drawn.items()]
    body += [_cut(curves), *_leaving(drawn, up[0], up[-1])]
    said = f"{title} over the {x_name}: " + "; ".join(_said(name, line) for name, line in drawn.items())
    return _svg(HEIGHT, said, body)


def raster(title: str, shares: np.ndarray, context: int, *, chosen: bool, first: int = 0, word: str = "module") -> str:
    """An SVG with a band for each module, a cell for each frame that a step led to, and a line before the rollout.

    Read aloud, it is the mean of each band, or what is chosen there most often.

    Args:
        title: above the bands.
        shares: (T, K), of steps that led to frames 2, 3, …; in [0, 1], or choices.
        context: true frames given, after which the line stands.
        chosen: whether they are choices: whole numbers, each with a colour of its own, and −1 none.
        first: number of the first module.
        word: what a module is called.
    """
    steps, bands = shares.shape
    high = max(10, min(22, 200 // bands))
    wide = (WIDTH - _LEFT - _RIGHT) / steps
    body = [f'<text class="chart-title" x="{_LEFT}" y="16">{escape(title)}</text>']
    if chosen:
        body += _choices(np.unique(shares[shares >= 0]).astype(int).tolist())
    for k in range(bands):
        y = _TOP + k * high
        if k % (1 if high >= 12 else 2) == 0:  # letters are 12 high
            body.append(
                f'<text class="tick" x="{_LEFT - 6}" y="{y + high / 2 + 4}" text-anchor="end">{first + k}</text>'
            )
        for t in range(steps):
            value = float(shares[t, k])
            if not isfinite(value) or value < 0 or (value == 0 and not chosen):
                continue
            style = f"schema-{int(value) % len(SCHEMA_COLORS)}" if chosen else f"cell-{(first + k) % COLOURS}"
            faint = "" if chosen else f' fill-opacity="{min(1.0, value):.2f}"'
            place = f'x="{_LEFT + t * wide:.1f}" y="{y + 1}" width="{wide:.2f}" height="{high - 2}"'
            body.append(f'<rect class="{style}" {place}{faint}/>')
    bottom = _TOP + bands * high
    frame = f'x="{_LEFT}" y="{_TOP}" width="{WIDTH - _LEFT - _RIGHT}" height="{bands * high}"'
    body.append(f'<rect class="frame" {frame}/>')
    x = _LEFT + (context - 1) * wide
    for style in ("halo", "turn"):  # a dark line is not seen on a dark cell
        body.append(f'<line class="{style}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{bottom + 4}"/>')
    for t in range(0, steps, max(1, steps // 6)):
        place = f'x="{_LEFT + (t + 0.5) * wide:.1f}" y="{bottom + 16}" text-anchor="middle"'
        body.append(f'<text class="tick" {place}>{t + 2}</text>')
    body.append(f'<text class="tick" x="{_MIDDLE}" y="{bottom + 34}" text-anchor="middle">frame</text>')
    told = "; ".join(f"{word} {first + k}: {_band_said(shares[:, k], chosen)}" for k in range(bands))
    span = f"over frames 2 to {steps + 1}, where the rollout begins after frame {context}"
    return _svg(bottom + 40, f"{title} {span}. {told}", body)


def _band_said(values: np.ndarray, chosen: bool) -> str:
    """A band of a raster in words; values that are not known do not count."""
    known = values[np.isfinite(values)]
    if not len(known):
        return "unknown"
    if not chosen:
        return f"mean {known.mean():.2f}"
    numbers, counts = np.unique(known.astype(int), return_counts=True)
    number = numbers[counts.argmax()]
    return f"mostly {'none' if number < 0 else number}, in {counts.max()} of {len(known)}"


def _choices(choices: Sequence[int]) -> list[str]:
    """Which colour is which choice, in their order, from the right end of a title on to the left."""
    parts, x = [], WIDTH - _RIGHT
    for choice in reversed(choices):
        parts.append(f'<text class="tick" x="{x}" y="16" text-anchor="end">{choice}</text>')
        x -= 10 + 7 * len(str(choice))
        parts.append(f'<rect class="schema-{choice % len(SCHEMA_COLORS)}" x="{x - 2}" y="7" width="10" height="10"/>')
        x -= 12
    return parts


def _svg(height: float, said: str, body: Sequence[str]) -> str:
    head = f'<svg role="img" viewBox="0 0 {WIDTH} {height}" aria-label="{escape(said)}">'
    return "\n".join([head, *body, "</svg>"])


def _drawn(name: str, line: Line, to_x: _Scale, to_y: _Scale) -> str:
    """Band and curve of a line."""
    parts = []
    points = zip(line.x, line.y, line.low or line.y, line.high or line.y, strict=True)
    for run in (list(run) for finite, run in groupby(points, lambda point: isfinite(point[1])) if finite):
        curve, low, high = ([(to_x(point[0]), to_y(point[side])) for point in run] for side in (1, 2, 3))
        banded = line.low is not None and all(isfinite(end) for point in run for end in point[2:])
        if len(run) > 1:
            parts += [f'<polygon class="band" points="{_path(low + high[::-1], ",", " ")}"/>'] * banded
            parts.append(f'<path class="curve" d="M{_path(curve, " ", " L")}"/>')
        else:
            [(x, y)] = curve
            parts += [f'<path class="curve" d="M{_path(low + high, " ", " L")}"/>'] * banded
            parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
    return f'<g class="{line.style}"><title>{escape(name)}</title>{"".join(parts)}</g>'


def _path(points: Iterable[tuple[float, float]], within: str, between: str) -> str:
    """Points, with what SVG wants within each and between them."""
    return between.join(f"{x:.1f}{within}{y:.1f}" for x, y in points)


def _cut(curves: Sequence[str]) -> str:
    """Curves without what lies outside of the axes, but for the width of a line."""
    box = _LEFT - 4, _TOP - 4, WIDTH - _LEFT - _RIGHT + 8, HEIGHT - _TOP - _BOTTOM + 8
    x, y, width, height = box
    view = " ".join(map(str, box))
    head = f'<svg x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{view}" aria-hidden="true">'
    return "\n".join([head, *curves, "</svg>"])


def _leaving(lines: Mapping[str, Line], low: float, high: float) -> list[str]:
    """Words at the ends of an axis for the curves that go on beyond them."""
    above, below = _beyond(lines, low, high)
    places = (("↑", above, _TOP + 10), ("↓", below, HEIGHT - _BOTTOM - 6))
    return [
        f'<text class="leaving" x="{_LEFT + 6}" y="{y}">{arrow} {escape(", ".join(names))}</text>'
        for arrow, names, y in places
        if names
    ]


def _beyond(lines: Mapping[str, Line], low: float, high: float) -> tuple[list[str], list[str]]:
    """The names of the curves that go on above an axis, and of those that go on below."""
    above = [name for name, line in lines.items() if any(y > high for y in line.y)]
    return above, [name for name, line in lines.items() if any(y < low for y in line.y)]


def _with_room_for_names(ticks: list[float], heights: Sequence[float], lines: Mapping[str, Line]) -> list[float]:
    """The ticks, and one more at an end where the names of curves that leave would stand on what reaches so far."""
    above, below = _beyond(lines, ticks[0], ticks[-1])
    step, room = ticks[1] - ticks[0], 0.1 * (ticks[-1] - ticks[0])
    if above and max(heights) > ticks[-1] - room:
        ticks = [*ticks, ticks[-1] + step]
    if below and min(heights) < ticks[0] + room:
        ticks = [ticks[0] - step, *ticks]
    return ticks


def _heights(lines: Iterable[Line]) -> list[float]:
    """All that curves and bands reach."""
    return [y for line in lines for side in (line.y, line.low, line.high) for y in side or () if isfinite(y)]


def _said(name: str, line: Line) -> str:
    known = [y for y in line.y if isfinite(y)]
    return f"{name} from {four_digits(known[0])} to {four_digits(known[-1])}"


def _span(heights: Sequence[float]) -> tuple[float, float]:
    low, high = min(heights), max(heights)
    return (0.0, high) if 0 <= low <= high / 2 else (low, high)


def _scale(low: float, high: float, start: float, stop: float) -> _Scale:
    """The scale that has `low` at `start` and `high` at `stop`."""
    factor = (stop - start) / ((high - low) or 1)
    return lambda value: start + (value - low) * factor


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Up to about six round numbers that hold both ends between them."""
    high = high if high > low else low + (abs(low) or 1)
    rough = (high - low) / 4
    power = 10 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.799)
    step = max(1, round(step)) if whole else step
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(first + 1, last) + 1)]  # two, also where rounding makes one


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.12g}"  # 0.1 + 0.2 is 0.3
