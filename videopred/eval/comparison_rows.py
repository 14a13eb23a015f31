"""Rows of a comparison: a model's run, a model's runs from several seeds, or a trivial baseline."""

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from videopred import check
from videopred.eval.intervals import UNKNOWN, Estimate, Interval, mean_over_steps, over_clips
from videopred.eval.scores import Scores


def relative_error(value: float, other: float, best: float) -> float:
    """A value's distance from the best, divided by that of another; NaN if that is 0, or if there is no best value.

    For errors, whose best is 0, it is the error relative to the other (SCOFF, figure 5).
    """
    return (best - value) / (best - other) + 0.0 if other != best and np.isfinite(best) else float("nan")  # never -0.0


class ComparedRow(NamedTuple):
    """A row of a comparison."""

    scores: Scores
    runs: tuple[str, ...]
    """Rows of the table: one, or those of runs that differ only in their seed."""

    @property
    def mark(self) -> str | None:
        """What runs these are, and what was measured of them, in short; None where nothing says what runs."""
        stamps, measured = [self.scores.stamps.get(run, "") for run in self.runs], sha256()
        for run in self.runs:
            for arrays in self.scores.measurements[run].values():
                for values in arrays.values():
                    measured.update(values.tobytes())
        return f"{', '.join(stamps)}: {measured.hexdigest()}" if all(stamps) else None

    @property
    def is_model(self) -> bool:
        """Whether it is a model, not a trivial baseline."""
        return self.runs[0] in self.scores.models

    def means(self, column: str, steps: int | None = None) -> np.ndarray:
        """(S,): each run's mean over the first steps; over all when None. NaN where they have values at different
        ones."""
        alike = self.scores.of_like_steps(self.runs, column, steps)
        return np.array([self.scores.mean(run, column, steps) if alike else np.nan for run in self.runs])

    def deviation(self, column: str, steps: int | None = None) -> float:
        """Standard deviation of these means over seeds; NaN of a single run."""
        return float(np.std(self.means(column, steps), ddof=1)) if len(self.runs) > 1 else float("nan")

    def of_like_steps(self, other: "ComparedRow", column: str, steps: int | None = None) -> bool:
        """Whether all runs of both rows have values at the same steps."""
        alike = np.array_equal(np.isnan(self.values(column)[:steps]), np.isnan(other.values(column)[:steps]))
        return alike and all(row.scores.of_like_steps(row.runs, column, steps) for row in (self, other))

    def clips(self, column: str, steps: int | None = None) -> int:
        """How many clips have a value at any of the first steps, of the run with the fewest."""
        return min(self.scores.clips_with_values(run, column, steps) for run in self.runs)

    def drawn(self, column: str, steps: int | None = None) -> np.ndarray | None:
        """(R,): the mean of `means` for resampled clips, the same for all runs; None for a single clip."""
        drawn = self.scores.drawn
        if drawn is None:
            return None
        of_runs: np.ndarray = np.mean([mean_over_steps(drawn[run][column][:, :steps]) for run in self.runs], axis=0)
        return of_runs

    def mean(self, column: str, steps: int | None = None) -> Estimate:
        """The mean of `means`, with its interval over clips, or scenes, and seeds, NaN for a single one."""
        means, drawn = self.means(column, steps), self.drawn(column, steps)
        ends = over_clips(drawn, self.clips(column, steps), means) if drawn is not None else UNKNOWN[1:]
        return Estimate(float(means.mean()), *map(float, ends))

    def relative_to(self, other: "ComparedRow", column: str, steps: int | None = None) -> Estimate:
        """The `relative_error` of this row's mean to another's, with its interval.

        Both rows are resampled on the same clips. A seed is taken to change the ratio in proportion to the change in
        either error. NaN where the rows have values at different steps.
        """
        if not self.of_like_steps(other, column, steps):
            return UNKNOWN
        best = self.scores.metrics[column].best
        means, others_means = self.means(column, steps), other.means(column, steps)
        ratio = relative_error(float(means.mean()), float(others_means.mean()), best)
        if np.isnan(ratio):
            return UNKNOWN
        drawn, others = self.drawn(column, steps), other.drawn(column, steps)
        if drawn is None or others is None:
            return Estimate(ratio)
        perfect = others == best
        ratios = np.where(perfect, np.nan, (best - drawn) / np.where(perfect, 1, best - others))
        short = best - others_means.mean()
        sides = () if other is self else ((best - means) / short, ratio * (best - others_means) / short)
        clips = min(self.clips(column, steps), other.clips(column, steps))
        return Estimate(ratio, *map(float, over_clips(ratios, clips, *sides)))

    def values(self, column: str) -> np.ndarray:
        """(horizon,): the mean over runs at each step."""
        values: np.ndarray = np.mean([self.scores.values[run][column] for run in self.runs], axis=0)
        return values

    def intervals(self, column: str) -> Interval | None:
        """The 95 % interval of `values` over clips, or scenes, and seeds: two ends, each (horizon,); None for a single
        clip or scene."""
        drawn = self.scores.drawn
        if drawn is None:
            return None
        of_runs = np.mean([drawn[run][column] for run in self.runs], axis=0)
        clips = np.min([self.scores.clips_at_steps(run, column) for run in self.runs], axis=0)
        return over_clips(of_runs, clips, np.stack([self.scores.values[run][column] for run in self.runs]))


def model_rows(scores: Mapping[str, Scores], names: Mapping[str, str] | None = None) -> dict[str, ComparedRow]:
    """The models of several tables, each by a name of its own; a model's runs from several seeds are one row.

    One is called after its table if it is the only one there, else as in the table, with the table's name before it
    where others have the same; and then as `names` say.

    Raises:
        ValueError: `names` call two rows alike.
    """
    rows, renamed = _named_by_tables(scores), dict(names or {})
    called = {name: renamed.get(name, name) for name in rows}
    for name in Counter(called.values()) - Counter(set(called.values())):
        alike = " and ".join(row for row, of_row in called.items() if of_row == name)
        fix = f"all are on {Path(next(iter(scores.values())).file).name}"
        must = "be another for each row on the same data"
        raise ValueError(check.complaint("--names", must, f"{name} for {alike}", fix))
    return {called[name]: row for name, row in rows.items()}


def repeated(tables: Mapping[Path, Scores]) -> list[Path]:
    """Tables all of whose models are in tables before them: the same runs with the same scores on the same clips, as of
    a data file under two names."""
    seen: set[tuple[str, str | None]] = set()
    found = []
    for folder, table in tables.items():
        marks = {(table.fingerprint, row.mark) for row in _models(table).values()}
        if marks and marks <= seen:
            found.append(folder)
        seen |= {(clips, mark) for clips, mark in marks if mark}
    return found


def _named_by_tables(scores: Mapping[str, Scores]) -> dict[str, ComparedRow]:
    """The models of several tables by the names that the tables give them, each with the same runs and scores once."""
    tables = {name: _models(of) for name, of in scores.items()}
    seen: set[str | None] = set()
    for name, rows in tables.items():
        named = dict(zip([name], rows.values(), strict=True)) if len(rows) == 1 else rows
        tables[name] = {row: made for row, made in named.items() if made.mark not in seen}
        seen |= {row.mark for row in rows.values()} - {None}
    often = Counter(row for rows in tables.values() for row in rows)
    return {
        f"{name}/{row}" if row != name and often[row] > 1 else row: made
        for name, rows in tables.items()
        for row, made in rows.items()
    }


def _models(scores: Scores) -> dict[str, ComparedRow]:
    """The models of a table, in its order; runs from several seeds are called after their folder if they share one."""
    folders = {name: {run.rpartition("/")[0] for run in runs} for name, runs in scores.seeds.items()}
    called = [min(of) if len(of) == 1 and "" not in of else name for name, of in folders.items()]
    clear = len({*called, *scores.models}) == len(called) + len(scores.models)
    found = dict(zip(called if clear else folders, scores.seeds.values(), strict=True))
    grouped = {run for runs in scores.seeds.values() for run in runs}
    found |= {model: (model,) for model in scores.models if model not in grouped}
    in_order = sorted(found.items(), key=lambda one: scores.models.index(one[1][0]))
    return {name: ComparedRow(scores, runs) for name, runs in in_order}
