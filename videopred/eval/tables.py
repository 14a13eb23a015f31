"""Tables of scores as plain text."""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, isclose, isnan, log10, nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from videopred.amounts import counted
from videopred.check import as_tuple, is_whole, require, require_kind
from videopred.eval.intervals import OVER_CLIPS, mean_over_steps
from videopred.eval.metric import Quantity
from videopred.eval.settings import Protocol
from videopred.eval.text import aligned

if TYPE_CHECKING:
    from videopred.eval.scores import Scores


CEILING = "physics oracle"
"""The row that knows what no frame shows. It gets no star."""

COPY_LAST = "copy last"
"""The row that skills are measured from."""


def score_table(scores: "Scores", steps: Sequence[int] | None) -> str:
    """Means with intervals, skill, every metric at a few steps, and a legend; see `Scores.table`."""
    if steps is not None:
        steps = as_tuple("steps", steps, "be numbers of steps", "write e.g. steps=[1, 5]")
    for step in steps or ():
        check_step(step, scores.protocol.horizon)
    blocks = [
        f"{Path(scores.file).name}: {what_was_asked(scores)}; * marks the best of a column",
        *(_means(scores, *block) for block in _blocks(scores)),
        *(_over_seeds(scores, *block) for block in _blocks(scores) if scores.seeds),
        *_best_of(scores),
        *(_skills(scores, columns) for columns in _side_by_side(scores)),
        *(
            _at_steps(scores, column, _few_steps(scores, column) if steps is None else steps)
            for column in scores.metrics
        ),
        _legend(scores),
    ]
    return "\n\n".join(filter(None, blocks))


def check_step(step: int, horizon: int) -> None:
    """Refuse with a ValueError a step outside the rollout, and with a TypeError what is no whole number."""
    fix = "step 1 is the first predicted frame"
    require_kind(is_whole(step), "steps", "be whole numbers", repr(step), fix)
    require(1 <= step <= horizon, "steps", f"lie in 1 to {horizon}", step, fix)


def arrow(metric: Quantity) -> str:
    """Which way a metric is better."""
    return "↑" if metric.higher_is_better else "↓"


def head(scores: "Scores", column: str) -> str:
    """The label of a column, and which way its metric is better."""
    return f"{scores.label(column)} {arrow(scores.metrics[column])}"


def curve_title(label: str, metric: Quantity) -> str:
    """The label of a metric, which way it is better, and its unit."""
    return f"{label} {arrow(metric)}{', ' if metric.unit else ''}{metric.unit}"


def written(value: float, metric: Quantity) -> str:
    """A value with a metric's decimals, or a few more for a small error; a dash for NaN."""
    return with_half(value, nan, _decimals(value, metric))


def written_interval(low: float, high: float, metric: Quantity) -> str:
    """Both ends, each as a value is written; one dash where there is no interval."""
    return "–" if isnan(low) else f"{written(low, metric)} to {written(high, metric)}"


def with_half(value: float, half: float, decimals: int) -> str:
    """A value ± half of its interval, if it has one; a dash for NaN."""
    return "–" if isnan(value) else f"{value:z.{decimals}f}" + ("" if isnan(half) else f" ±{half:.{decimals}f}")


def value_with_half(value: float, half: float, metric: Quantity) -> str:
    """A value as it is written, ± half of its interval with as many decimals."""
    return with_half(value, half, _decimals(value, metric))


def _decimals(value: float, metric: Quantity) -> int:
    """A metric's, or up to two more that show two digits of a small error, unless it is next to nothing."""
    usual = metric.decimals
    if not metric.higher_is_better and 10.0 ** -(usual + 2) <= abs(value) < 10.0 ** (1 - usual):
        return min(1 - floor(log10(abs(value))), usual + 2)
    return usual


def mean_with_half(scores: "Scores", row: str, column: str, steps: int | None = None) -> str:
    """The mean over the first steps ± half of its interval over clips, or scenes."""
    mean, interval = scores.mean(row, column, steps), scores.interval(row, column, steps)
    return value_with_half(mean, nan if interval is None else interval.half, scores.metrics[column])


def conventions(scores: "Scores") -> dict[str, str]:
    """Label of a metric -> what fixes its numbers; with several samples also how the best is chosen."""
    found = {metric.label: metric.convention for metric in scores.metrics.values()}
    if scores.protocol.samples > 1:
        found["best"] = (
            "of the first samples of a clip by that metric's mean over the steps, chosen with the truth at hand"
        )
    return found


def what_was_asked(scores: "Scores") -> str:
    """The protocol, which clips, how many frames, and what was fed back, in a line."""
    asked = scores.protocol
    name = f"{asked.called}, " if asked.name else ""
    return f"{name}{counted(scores.clips, 'clip')} of the {asked.part} part, {how_asked(asked)}"


def how_asked(asked: Protocol) -> str:
    """How many frames, and what was fed back, in a line."""
    known = {"true": "every frame from the true ones before it", "elsewhere": "films made elsewhere"}
    fed = known.get(asked.feedback, f"feedback {asked.feedback}")
    several = f", {asked.samples} samples of a clip" if asked.samples > 1 else ""
    return f"{counted(asked.context, 'frame')} of context, {asked.horizon:,} predicted, {fed}{several}"


def own_feedback(asked: Iterable[Protocol]) -> str:
    """What follows the line of what was asked of several, where only of some the feedback is known."""
    feedbacks = {one.feedback for one in asked}
    return "; films made elsewhere have their own feedback" if len(feedbacks) > 1 else ""


def what_steps_are(asked: Protocol) -> str:
    """What stands along the steps of a curve."""
    return "frame predicted" if asked.one_step else "rollout step"


def _blocks(scores: "Scores") -> list[tuple[int, list[str]]]:
    """The first steps over which means are told, and the columns that stand in one block, of each block of means."""
    return [(span, columns) for span in scores.protocol.spans for columns in _side_by_side(scores)]


def _side_by_side(scores: "Scores") -> list[list[str]]:
    """The columns of each block: all in one, or with several samples those of the best and those of the means."""
    found: dict[str, list[str]] = {}
    for column, metric in scores.metrics.items():
        found.setdefault(column.removeprefix(metric.name), []).append(column)
    return list(found.values())


def _heads(scores: "Scores", columns: Sequence[str]) -> list[str]:
    return [f"{head(scores, column)} " for column in columns]


def _means(scores: "Scores", span: int, shown: Sequence[str]) -> str:
    """Means over the first steps, each with half of its interval."""
    columns = []
    for column in shown:
        stars = _stars(scores, column, slice(span))
        starred = zip(scores.values, stars, strict=True)
        columns.append([f"{mean_with_half(scores, row, column, span)}{star}" for row, star in starred])
    corner = f"mean of {counted(span, 'step')}"
    return aligned(corner, _heads(scores, shown), list(scores.values), columns)


def _over_seeds(scores: "Scores", span: int, shown: Sequence[str]) -> str:
    columns = []
    for column in shown:
        halves = [scores.over_seeds(name, column, span) for name in scores.seeds]
        columns.append([f"{value_with_half(*half, scores.metrics[column])} " for half in halves])
    corner = f"mean over runs{_of_how_many(scores, span)}"
    return aligned(corner, _heads(scores, shown), list(scores.seeds), columns)


def _of_how_many(scores: "Scores", steps: int) -> str:
    """Of how many steps a number is, where means over several are told."""
    return f", {counted(steps, 'step')}" if len(scores.protocol.spans) > 1 else ""


def _best_of(scores: "Scores") -> list[str]:
    """How the best grows with the number of samples, for each metric."""
    if not scores.best_of:
        return []
    blocks = []
    for metric in dict.fromkeys(scores.metrics.values()):
        curves = {row: of_row[metric.name] for row, of_row in scores.best_of.items()}
        counts = list(next(iter(curves.values())))
        columns = [[written(curve[count], metric) for curve in curves.values()] for count in counts]
        corner = f"{metric.label} {arrow(metric)}, best of"
        blocks.append(aligned(corner, [str(count) for count in counts], list(curves), columns))
    return blocks


def _skills(scores: "Scores", of: Sequence[str]) -> str:
    """How much better than copy last; empty where no metric has a skill."""
    known = COPY_LAST in scores.values
    shown = [column for column in of if known and scores.skill(COPY_LAST, column) is not None]
    if not shown:
        return ""
    rows = [row for row in scores.values if row != COPY_LAST]
    skills = [[scores.skill(row, column) for row in rows] for column in shown]
    if all(skill is None for of_column in skills for skill in of_column):
        return ""
    columns = [["– " if skill is None else f"{skill:z.3f} " for skill in of_column] for of_column in skills]
    corner = f"skill{_of_how_many(scores, scores.protocol.horizon)}"
    return aligned(corner, [f"{scores.label(column)} " for column in shown], rows, columns)


def _at_steps(scores: "Scores", column: str, steps: Sequence[int]) -> str:
    metric = scores.metrics[column]
    columns = []
    for step in steps:
        stars = _stars(scores, column, slice(step - 1, step))
        values = [float(of_row[column][step - 1]) for of_row in scores.values.values()]
        columns.append([f"{written(value, metric)}{star}" for value, star in zip(values, stars, strict=True)])
    heads = [f"{step} " for step in steps]
    along = f"by {metric.along}" if metric.along else "at step"
    return aligned(f"{head(scores, column)} {along}", heads, list(scores.values), columns)


def best_rows(values: Mapping[str, np.ndarray], metric: Quantity) -> set[str]:
    """The best rows by their means over steps, but for rounding, as films are in single precision; none where all are.

    Rows with values at fewer steps than others, because objects are lost for example, take no part: their values are of
    the easy steps. Where those with most have values at different steps, none is best.

    Args:
        values: row -> (T,), the values at these steps.
        metric: says which way is better.
    """
    said = {row: ~np.isnan(of_row) for row, of_row in values.items() if row != CEILING}
    most = max((steps.sum() for steps in said.values()), default=0)
    fullest = {row: steps for row, steps in said.items() if steps.sum() == most > 0}
    alike = len({steps.tobytes() for steps in fullest.values()}) == 1
    means = {row: float(mean_over_steps(values[row])) for row in fullest} if alike else {}
    best = max if metric.higher_is_better else min
    won = best(means.values(), default=nan)
    ahead = {row for row, mean in means.items() if mean == won or isclose(mean, won, rel_tol=1e-6)}
    return ahead if len(ahead) < len(means) else set()


def _stars(scores: "Scores", column: str, steps: slice) -> list[str]:
    """A star for the best rows of a column, a space for the others."""
    best = best_rows({row: of[column][steps] for row, of in scores.values.items()}, scores.metrics[column])
    return ["*" if row in best else " " for row in scores.values]


def _legend(scores: "Scores") -> str:
    """What the numbers mean, a line each."""
    lines = conventions(scores)
    if scores.drawn is None:
        lines["±"] = f"not given for a single {scores.unit}"
    else:
        lines["±"] = f"half of the 95 % interval over {scores.unit}s ({OVER_CLIPS})"
    if scores.seeds:
        lines["±"] += "; of means over runs, over runs that differ in their seed (Student's t)"
    if _skills(scores, list(scores.metrics)):
        lines["skill"] = "of the mean: 0 is copy last, 1 the metric's best value"
    width = max(4, *map(len, lines))
    told = [f"{name.ljust(width)}  {meaning}" for name, meaning in lines.items()]
    return "\n".join([*told, *scores.remarks, *scores.notes])


def _few_steps(scores: "Scores", column: str) -> list[int]:
    """The first step, the last, and a few round ones between; of a curve along something else, such as hidden frames,
    a few of those where any row has a value."""
    horizon, values = scores.protocol.horizon, [of_row[column] for of_row in scores.values.values()]
    there = np.flatnonzero(~np.isnan(values).all(0)) + 1
    if scores.metrics[column].along and len(there):
        return there[np.unique(np.linspace(0, len(there) - 1, 8).round().astype(int))].tolist()
    return [step for step in (1, 2, 5, 10, 20, 50, 100) if step < horizon] + [horizon]
