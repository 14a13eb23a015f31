"""Points: scores with data sets along x, as figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from videopred.plots.curves import Look, draw_panels, limit, looks
from videopred.plots.score_panel import Curve, ScorePanel
from videopred.rendering.canvas import literal

APART, JOINED = 0.6, 0.2
"""How much of the room of a data set its points take, if those of a model are not joined, and if they are."""


def draw_points(
    panels: Mapping[str, ScorePanel],
    data: Sequence[str],
    *,
    title: str = "",
    along: str = "",
    joined: bool = False,
) -> Figure:
    """A figure with a panel for each metric: a point for each model on each data set, on the line where it could lie.

    Trivial baselines are levels across the room of a data set, or dashed lines where points are joined. One that is
    worse than all models, by more than the models differ among themselves, is outside the panel; an arrow names it.

    Args:
        panels: title -> what stands in it, values over D data sets.
        data: what stands below each data set.
        title: above all panels.
        along: what these are.
        joined: whether the data sets are in an order, so that the points of a model are joined.
    """

    def draw(plot: Any, head: str) -> None:
        _draw(plot, panels[head], data, joined)
        slanted = sum(map(len, data)) > 40
        plot.set_xticks(
            range(len(data)), list(map(literal, data)), **({"rotation": 25, "ha": "right"} if slanted else {})
        )

    return draw_panels(list(panels), draw, title=title, along=along)


def _draw(plot: Any, panel: ScorePanel, data: Sequence[str], joined: bool) -> None:
    """The points of a panel; those of several models on a data set lie beside each other."""
    rows = panel.rows
    models = [name for name, row in rows.items() if not row.faint]
    for name, look in looks(rows).items():
        if rows[name].faint:
            _draw_levels(plot, name, rows[name].values, look, joined)
        else:
            aside = (JOINED if joined else APART) * ((models.index(name) + 0.5) / len(models) - 0.5)
            _draw_points(plot, name, rows[name], look, aside, joined)
    limit(plot, panel, () if joined else data)


def _draw_points(plot: Any, name: str, row: Curve, look: Look, aside: float, joined: bool) -> None:
    """A model."""
    places = np.arange(len(row.values)) + aside
    style = look._asdict() | {"linestyle": look.linestyle if joined else "none", "linewidth": 1.2}
    plot.plot(places, row.values, **style, markersize=6, label=literal(name))
    plot.vlines(places, row.low, row.high, color=look.color, linewidth=1.8)


def _draw_levels(plot: Any, name: str, values: np.ndarray, look: Look, joined: bool) -> None:
    """A trivial baseline."""
    places = np.arange(len(values), dtype=float)
    if not joined:  # from the left end of a room to its right end, and a gap
        places = (places[:, None] + [-0.4, 0.4, np.nan]).ravel()
        values = values.repeat(3)
    plot.plot(places, values, **look._asdict(), zorder=1.5, label=literal(name))  # below the marks of models
