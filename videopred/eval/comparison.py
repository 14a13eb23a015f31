"""Comparison: several models on the same clips, with intervals of differences over clips, or scenes, and seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from videopred import check, check_path
from videopred.eval.comparison_rows import ComparedRow, model_rows, relative_error
from videopred.eval.intervals import OVER_CLIPS, Estimate, over_clips
from videopred.eval.latex import latex
from videopred.eval.scores import Scores
from videopred.eval.tables import head, own_feedback, what_was_asked, written, written_interval
from videopred.eval.text import Block, aligned, csv_text, markdown, without_nan


class Difference(NamedTuple):
    """How a row differs from the reference row, in the mean over some first steps."""

    value: float
    """The row's own mean; for several seeds, the mean over them."""
    difference: float
    """Its mean minus the reference's. NaN, like all that follows, where the two have values at different steps."""
    low: float
    high: float
    """The 95 % interval of the difference: over clips, or scenes, paired, and over seeds where rows have several; NaN
    for a single clip or scene."""
    ratio: float
    """Its distance from the metric's best value, divided by the reference's: for an error, whose best value is 0, the
    relative error (SCOFF, figure 5). NaN where the reference is perfect."""
    seeds: int
    """How many runs the row is the mean of."""
    deviation: float
    """Standard deviation of `value` over these seeds; NaN of a single run."""
    value_low: float
    value_high: float
    """The 95 % interval of `value`: over clips, or scenes, and over seeds where the row has several; NaN for a single
    clip or scene."""

    @property
    def told_apart(self) -> bool:
        """Whether the interval excludes 0."""
        return Estimate(self.difference, self.low, self.high).excludes(0)


@dataclass(frozen=True)
class Comparison:
    """Rows of several tables of scores, compared with one of them.

    Raises:
        ValueError: the scores are of other clips, or under another protocol; or there is no such row.
    """

    scores: Mapping[str, Scores]
    """Name of a table -> the table."""
    relative_to: str
    """The reference row, which all others are compared with; see `rows`."""
    left_out: tuple[str, ...] = ()
    """Metrics that not all tables have, and that are not compared."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Name of a model's row -> what it is called instead."""

    def __post_init__(self) -> None:
        check_asked_alike(self.scores)
        trivial = {row for scores in self.scores.values() for row in scores.values if row not in scores.models}
        for row in self.names:
            check.one_of("--names", row, model_rows(self.scores))
        taken = [row for row in model_rows(self.scores, self.names) if row in trivial]
        given = bool({*taken} & {*self.names.values()})
        flag, fix = ("--names", "choose others") if given else ("SCORES", "rename the folder")
        check.require(not taken, flag, "have other names than the trivial baselines", ", ".join(taken), fix)
        check.one_of("--relative-to", self.relative_to, self.rows)

    def __repr__(self) -> str:
        metrics = ", ".join(self.first.metrics)
        return f"<{type(self).__name__} of {', '.join(self.rows)} with {self.relative_to} by {metrics}>"

    @property
    def first(self) -> Scores:
        """The first table whose feedback is known, if there is one, which says what was asked of all."""
        return first_known(self.scores.values())

    @cached_property
    def rows(self) -> dict[str, ComparedRow]:
        """Name -> row: the models of all tables, then the trivial baselines that are the same in all tables.

        Those that learn from a training part differ between tables with different `--reference`.
        """
        first = self.first
        trivial = [row for row in first.values if row not in first.models]
        return model_rows(self.scores, self.names) | {
            row: ComparedRow(first, (row,))
            for row in trivial
            if all(_same_row(row, first, of) for of in self.scores.values())
        }

    @property
    def unlike(self) -> list[str]:
        """Trivial rows that differ between tables, and so are not rows here."""
        return [row for row in self.first.values if row not in (*self.first.models, *self.rows)]

    def difference(self, row: str, column: str, steps: int | None = None) -> Difference:
        """How a row differs from `relative_to` in the mean over the first steps; over all when None.

        Raises:
            ValueError: there is no such row or column, or the steps are not in the rollout.
            TypeError: no whole number of steps.
        """
        ours, theirs = self.rows[check.one_of("row", row, self.rows)], self.rows[self.relative_to]
        means, others = ours.means(column, steps), theirs.means(column, steps)
        value, other = float(means.mean()), float(others.mean())
        own = (len(means), ours.deviation(column, steps), *ours.mean(column, steps)[1:])
        if not ours.of_like_steps(theirs, column, steps):
            return Difference(value, nan, nan, nan, nan, *own)
        low = high = nan
        drawn, others_drawn = ours.drawn(column, steps), theirs.drawn(column, steps)
        if drawn is not None and others_drawn is not None:
            # Tables of the same clips are drawn alike, so draw r of one is draw r of the other.
            sides = () if row == self.relative_to else (means, others)
            clips = min(ours.clips(column, steps), theirs.clips(column, steps))
            low, high = map(float, over_clips(drawn - others_drawn, clips, *sides))
        ratio = relative_error(value, other, ours.scores.metrics[column].best)
        return Difference(value, value - other, low, high, ratio, *own)

    @property
    def remarks(self) -> list[str]:
        """What a reader must know of single scores; see `Scores.remarks`."""
        return [
            f"{self.first.label(column)} of {name if len(row.runs) == 1 else f'{name} ({run})'}: {remark}"
            for column in self.first.metrics
            for name, row in self.rows.items()
            for run in row.runs
            for remark in row.scores.remarks_on(run, column)
        ] + [
            f"{self.first.label(column)} of {name}: {remark}"
            for column in self.first.metrics
            for name, row in self.rows.items()
            for remark in row.scores.remarks_on_seeds(row.runs, column)
            if len(row.runs) > 1
        ]

    @property
    def notes(self) -> list[str]:
        """What else a reader should know of the tables; see `Scores.notes`. Of all, unless it says of which."""
        told = []
        for name, table in self.scores.items():
            rows = [row for row, made in self.rows.items() if made.is_model and made.scores is table]
            of = rows[0] if len(rows) == 1 and len(self.rows[rows[0]].runs) == len(table.models) else name
            alone = f"{table.models[0]} " if len(table.models) == 1 else "\n"
            for note in table.notes:
                apart = f"{of} {note.removeprefix(alone)}" if note.startswith(alone) else f"{of}: {note}"
                told.append(note if all(note in other.notes for other in self.scores.values()) else apart)
        return list(dict.fromkeys(told))

    def table(self) -> str:
        """Plain text for a terminal: values, differences with intervals, and ratios."""
        blocks = (aligned(*block) for block in self._blocks())
        return "\n\n".join([self._title(), *blocks, "\n".join(self._legend())])

    def markdown(self) -> str:
        """The same as a document in Markdown."""
        return markdown(self._title(), self._blocks(), self._legend())

    def latex(self) -> str:
        """The same as tables for a paper."""
        return latex(self._title(), self._blocks(), self._legend())

    def to_csv(self) -> str:
        """A line for each row, column and span of steps, in full precision."""
        heads = ["row", "relative to", "metric", "steps", "value", "difference", "difference low", "difference high"]
        heads += ["relative error", "seeds", "deviation over seeds", "low", "high"]
        lines = [
            [row, self.relative_to, column, steps, *self.difference(row, column, steps)]
            for row in self.rows
            for column in self.first.metrics
            for steps in self.first.protocol.spans
        ]
        return csv_text(heads, lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows; null where nothing can be said."""
        rows: dict[str, Any] = {
            row: {
                column: {
                    str(steps): without_nan(self.difference(row, column, steps)._asdict())
                    for steps in self.first.protocol.spans
                }
                for column in self.first.metrics
            }
            for row in self.rows
        }
        return {
            "relative_to": self.relative_to,
            "scores": list(self.scores),
            "file": self.first.file,
            "fingerprint": self.first.fingerprint,
            "protocol": self.first.protocol.model_dump(mode="json"),
            "notes": self.notes,
            "rows": rows,
        }

    @property
    def asked(self) -> str:
        """The data, and what was asked of all."""
        others = own_feedback(of.protocol for of in self.scores.values())
        return f"{Path(self.first.file).name}: {what_was_asked(self.first)}{others}"

    def _title(self) -> str:
        return f"{self.asked}; relative to {self.relative_to}"

    def _blocks(self) -> list[Block]:
        """A table for each metric and span of steps."""
        return [self._block(column, steps) for column in self.first.metrics for steps in self.first.protocol.spans]

    def _block(self, column: str, steps: int) -> Block:
        metric, found = self.first.metrics[column], [self.difference(row, column, steps) for row in self.rows]
        columns = {
            f"mean of {steps:,}": [written(one.value, metric) for one in found],
            "sd over seeds": [written(one.deviation, metric) for one in found],
            "difference ": [f"{written(one.difference, metric)}{'!' if one.told_apart else ' '}" for one in found],
            "interval": [written_interval(one.low, one.high, metric) for one in found],
            "relative error": ["–" if isnan(one.ratio) else f"{one.ratio:z.3f}" for one in found],
        }
        if all(len(row.runs) == 1 for row in self.rows.values()):
            del columns["sd over seeds"]
        return Block(head(self.first, column), list(columns), list(self.rows), list(columns.values()))

    def _legend(self) -> list[str]:
        lines = [f"{metric.label}: {metric.convention}" for metric in dict.fromkeys(self.first.metrics.values())]
        if self.left_out:
            lines.append(f"left out, as not all tables have them: {', '.join(self.left_out)}")
        if self.unlike:
            lines.append(f"left out, as they differ between tables (see --reference): {', '.join(self.unlike)}")
        told = f"no interval for a single {self.first.unit}"
        several = {row: of.runs for row, of in self.rows.items() if len(of.runs) > 1}
        lines += [f"{row}: mean of {len(runs)} seeds ({', '.join(runs)})" for row, runs in several.items()]
        if self.first.drawn is not None:
            chances = f"{self.first.unit}s (paired {OVER_CLIPS})"
            if several:
                chances += " and seeds (Welch's t); a single run stands for itself alone"
            told = f"interval of the difference: 95 % over {chances}; ! where it excludes 0, "
            told += "not corrected for several comparisons"
        relative = "relative error: distance from the best value, divided by that of the row in the title"
        return [*lines, told, relative, *self.remarks, *self.notes]


def compare(
    scores: Mapping[str, Scores], relative_to: str | None = None, names: Mapping[str, str] | None = None
) -> Comparison:
    """Several tables of scores on the same clips, compared with one row.

    Args:
        scores: name -> table. A table with one model gives a row of the table's name.
        relative_to: the row that all are compared with; the first model when None.
        names: name of a model's row -> what it is called instead.

    Raises:
        ValueError: the tables are not of the same clips under the same protocol, share no metric, or have a model of a
            trivial baseline's name; or there is no such row.
        TypeError: no dict of tables.
    """
    fix = 'write {"RIMs": …}, with what videopred.evaluate or load_scores returned'
    check.require_kind(isinstance(scores, Mapping), "scores", "be a dict of scores by name", type(scores).__name__, fix)
    called = names_by_row(names)
    for name, table in scores.items():
        check.require_kind(isinstance(name, str), "scores", "be called by text", repr(name), fix)
        check_path.not_a_path(f"scores of {name}", table, "be scores", "load_scores")
        check.require_kind(isinstance(table, Scores), f"scores of {name}", "be scores", type(table).__name__, fix)
    check.require(len(scores) > 0, "SCORES", "be given", "nothing", "name what `videopred evaluate` wrote")
    same, left_out = by_shared_metrics(scores)
    first = next(iter(model_rows(scores, called)))
    return Comparison(same, first if relative_to is None else relative_to, left_out, called)


def names_by_row(names: Mapping[str, str] | None) -> Mapping[str, str]:
    """What rows are called instead; nothing for None. TypeError for anything else than a dict of names."""
    called = {} if names is None else names
    fits = isinstance(called, Mapping) and all(isinstance(name, str) and name for name in called.values())
    check.require_kind(fits, "names", "be a dict of rows and what they are called", repr(names), "leave it out")
    return called


def by_shared_metrics(scores: Mapping[str, Scores]) -> tuple[dict[str, Scores], tuple[str, ...]]:
    """The tables by the metrics that all of them have, and the metrics that not all have.

    Raises:
        ValueError: there is no metric that all have.
    """
    every = dict.fromkeys(column for of in scores.values() for column in of.metrics)
    shared = [column for column in every if all(column in of.metrics for of in scores.values())]
    got = "; ".join(f"{name} with {', '.join(of.metrics)}" for name, of in scores.items())
    samples = {of.protocol.samples for of in scores.values()}
    fix = f"evaluate them with the same --{'samples' if len(samples) > 1 else 'metrics'}"
    check.require(len(shared) > 0, "SCORES", "share a metric", got, fix)
    left_out = tuple(column for column in every if column not in shared)
    return {name: of.only(shared) for name, of in scores.items()}, left_out


def check_asked_alike(scores: Mapping[str, Scores], *, on_the_same_clips: bool = True) -> None:
    """Refuse tables under several protocols; on other data, the number of clips may differ."""
    # Films made elsewhere fit any rollout's feedback, so all are held against a table whose feedback is known.
    first = first_known(scores.values())
    first_name = next(name for name, table in scores.items() if table is first)
    for name, table in scores.items():
        asked: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
            ("protocol", _asked(first, table, on_the_same_clips), _asked(table, first, on_the_same_clips)),
            ("settings of metrics", _conventions(first), _conventions(table)),
        ]
        fix = "evaluate both in the same way"
        if on_the_same_clips:
            asked.insert(0, ("data", _data(first), _data(table)))
            fix += ", on the same clips"
        for what, ours, theirs in asked:
            must = f"be of the same {what} as {first_name}"
            differing = [setting for setting in {**ours, **theirs} if ours.get(setting) != theirs.get(setting)]
            got = f"{name} with {_told(theirs, differing)}, and {first_name} with {_told(ours, differing)}"
            check.require(not differing, "SCORES", must, got, fix)


def first_known(tables: Iterable[Scores]) -> Scores:
    """The first table whose feedback is known, or else the first: of films made elsewhere, it is not known."""
    return min(tables, key=lambda table: table.protocol.feedback == "elsewhere")


def _data(scores: Scores) -> dict[str, str]:
    """Which clips, and what is drawn anew of them, as `difference` pairs draws."""
    return {"fingerprint": scores.fingerprint, "intervals over": f"{scores.unit}s"}


def _told(asked: Mapping[str, Any], settings: Sequence[str]) -> str:
    """Some of what was asked, in words."""
    values = {setting: asked.get(setting) for setting in settings}
    values = {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in values.items()}
    return ", ".join(f"{name} {'not given' if value in (None, '') else value}" for name, value in values.items())


def _same_row(row: str, ours: Scores, theirs: Scores) -> bool:
    """Whether two tables have a row with the same values, but for rounding."""
    return row in theirs.values and all(
        np.allclose(values, theirs.values[row][column], rtol=1e-6, atol=1e-9, equal_nan=True)
        for column, values in ours.values[row].items()
    )


def _conventions(scores: Scores) -> dict[str, str]:
    """What fixes each number."""
    return {column: metric.convention for column, metric in scores.metrics.items()}


def _asked(scores: Scores, other: Scores, on_the_same_clips: bool) -> dict[str, Any]:
    """Setting -> what was asked. The name says nothing more, nor the feedback of two rollouts where one is not known;
    what is asked of each metric is held against the other's by itself, and means are made of what was measured."""
    apart = {"name", "changed", "metrics", "metric_settings", "means"}
    fed = {scores.protocol.feedback, other.protocol.feedback}
    apart |= {"feedback"} if "elsewhere" in fed and "true" not in fed else set()
    apart |= set() if on_the_same_clips else {"clips"}
    return scores.protocol.model_dump(mode="json", exclude=apart)
