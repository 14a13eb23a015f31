"""Clips to watch: which of them, what the model makes of them, and what its modules do meanwhile."""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from videopred import pictures
from videopred.eval.intervals import tensors_of
from videopred.eval.metric import clip_means
from videopred.eval.scores import Scores
from videopred.eval.tables import written
from videopred.judging.views import views_of
from videopred.rendering import ROWS, USUAL_ROWS
from videopred.rendering.activity_figure import drawable, first_modules
from videopred.rendering.clip_view import available
from videopred.rendering.film import film_frames
from videopred.rendering.strip import strip
from videopred.report.charts import raster

if TYPE_CHECKING:
    from videopred.datasets.clip_source import ClipSource
    from videopred.models.predictor import Predictor


SIZES = ((224, 1), (160, 1), (96, 1), (64, 1), (64, 2), (64, 4), (64, 8))
"""Longest side of a film's panels, px, and which share of its frames is shown: one in so many. Largest first."""
_MARKUP = 1_000
"""Bytes of the page around a clip, about."""


class Chosen(NamedTuple):
    """A clip, and why it is shown."""

    clip: int
    """Its index in the part."""
    why: str


class Shown(NamedTuple):
    """A clip as the page has it."""

    title: str
    alt: str
    """The text in place of the strip, for those who cannot see it; a film is said to be of the same."""
    film: str
    """A GIF, as a data: address; empty where there is no room for one."""
    strip: str
    """A PNG of every n-th frame, likewise: for paper, and for who wants nothing to move."""
    activity: Sequence[str]
    """SVGs of what its modules did."""


def choose_clips(scores: Scores, column: str) -> list[Chosen]:
    """The worst, the median and the best clip of the first model by a metric's mean over the rollout.

    A clip by which nothing can be said, as when nothing is lit in it, is passed over.
    """
    measured, metric = scores.measurements[scores.models[0]][column], scores.metrics[column]
    means = clip_means(metric, tensors_of(measured)).numpy()
    order = [int(clip) for clip in np.argsort(means if metric.higher_is_better else -means, kind="stable")]
    order = [clip for clip in order if np.isfinite(means[clip])]
    if not order:
        return []
    places = {order[len(order) // 2]: "Median", order[0]: "Worst", order[-1]: "Best"}  # of two, none is the median
    label = scores.label(column)
    return [
        Chosen(clip, f"{places[clip]} of {len(order)}: {label} {written(float(means[clip]), metric)}")
        for clip in sorted(places, key=order.index)
    ]


class PredictedClips:
    """What a model predicts of chosen clips, to be drawn in one size or another, with these rows.

    Raises:
        ValueError: see `imagine`; a row that the model has not, when it is drawn.
    """

    def __init__(
        self,
        predictor: "Predictor",
        file: "ClipSource",
        part: str,
        chosen: Sequence[Chosen],
        context: int,
        horizon: int,
        rows: Sequence[str] = USUAL_ROWS,
    ) -> None:
        self.part, self.chosen, self.context, self.horizon, self.rows = part, chosen, context, horizon, rows
        self._views = views_of(predictor, file, part, [one.clip for one in chosen], context, horizon)
        self._traces = drawable(self._views[0].trace, predictor.core.trace_axes)

    @property
    def possible_rows(self) -> set[str]:
        """Rows that can be drawn of this model and data."""
        return set(available(self._views[0]))

    def draw(self, room: int) -> list[Shown]:
        """Films and strips of the clips in the largest of SIZES that fits into so many bytes; else in the smallest."""
        *larger, smallest = SIZES
        for size in larger:
            if shown := self._fitting(room, *size):
                return shown
        return [self._draw(place, *smallest) for place in range(len(self.chosen))]

    def _fitting(self, room: int, panel_px: int, every: int) -> list[Shown]:
        """The clips in that size; none as soon as those drawn so far tell that all would not fit: drawing is slow."""
        shown: list[Shown] = []
        for place in range(len(self.chosen)):
            shown.append(self._draw(place, panel_px, every))
            if bytes_of(shown) * len(self.chosen) > room * len(shown):
                return []
        return shown

    def _draw(self, place: int, panel_px: int, every: int) -> Shown:
        view, one = self._views[place], self.chosen[place]
        frames = film_frames(view, self.rows, panel_px=panel_px)[::every]
        gif = pictures.gif_bytes(frames, frame_ms=100 * every)
        still = pictures.png_bytes(strip(view, self.rows, panel_px=min(panel_px, 96)))
        seen = " ".join(ROWS[row].summary for row in self.rows)
        sparse = f"; the film shows one in {every}" if every > 1 else ""
        alt = (
            f"Clip {one.clip} of the {self.part} part, from left to right. One below the other: {seen} "
            f"{self.context} frames are given and {self.horizon} predicted{sparse}."
        )
        firsts = first_modules({name: view.trace[name] for name in self._traces})
        activity = [
            raster(
                name.replace("_", " "),
                view.trace[name][1:],
                self.context,
                chosen=name.endswith("schema"),
                first=first,
                word=view.word_for_module,
            )
            for name, first in firsts.items()
        ]
        return Shown(one.why, alt, address("gif", gif), address("png", still), activity)


def bytes_of(clips: Sequence[Shown]) -> int:
    """What clips take of a page, about."""
    return sum(_MARKUP + sum(map(len, (one.alt, one.film, one.strip, *one.activity))) for one in clips)


def address(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
