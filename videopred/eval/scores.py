"""Scores: what comes out of judging, kept as JSON, CSV and the measurements behind them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check, check_path
from videopred.amounts import counted
from videopred.eval.file_names import SCORE_FILES
from videopred.eval.intervals import (
    Interval,
    Measured,
    having_value,
    mean_over_steps,
    over_clips,
    over_runs,
    reduce,
    resample,
    tensors_of,
)
from videopred.eval.metric import Quantity, naming
from videopred.eval.score_text import score_csv, score_dict
from videopred.eval.settings import Protocol
from videopred.eval.skill import skill
from videopred.eval.tables import COPY_LAST, check_step, score_table
from videopred.files import array_bytes, json_text, write_all

SCENES = "scenes"
"""The array of `Scores.scenes` beside those of measurements, which have slashes in their names."""
MEASURED = "measurements"
"""What SCORES calls the SHA-256 of the file of measurements beside it."""


@dataclass(frozen=True, eq=False)  # it holds arrays
class Scores:
    """How well each row (the models, and the trivial baselines) did at each step of the rollout."""

    measurements: Mapping[str, Mapping[str, Measured]]
    """row -> column -> what was measured of every clip, in the order of the clips: name -> (B, T) float64."""
    metrics: Mapping[str, Quantity]
    """column -> its metric, with convention and direction. A column has the metric's name, with more words where
    there were several samples, as in `ssim best of 10`."""
    file: str
    """Path of the file whose clips were predicted."""
    fingerprint: str
    """Fingerprint of that file."""
    reference: str | None
    """Path of the file whose training part gave the mean frame and the calibration; None if there was none."""
    protocol: Protocol
    """What was asked; `clips` is filled in."""
    clips_in_part: int | None = None
    """How many clips the part has, of which these may be the first; None of scores that do not say."""
    models: tuple[str, ...] = ("model",)
    """Rows that are models'; the others are trivial baselines."""
    seeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name -> rows of models that differ only in the seed of their training."""
    stamps: Mapping[str, str] = field(default_factory=dict)
    """Row of a run -> what tells it from others of its name, see `videopred.run_record`; nothing of other models."""
    notes: tuple[str, ...] = ()
    """What else a reader should know."""
    best_of: Mapping[str, Mapping[str, Mapping[int, float]]] = field(default_factory=dict)
    """Row of a model -> metric -> n -> mean over the rollout of the best of the first n samples; empty for a single
    sample."""
    scenes: np.ndarray | None = None
    """(clips,) int64: the scene that each clip is a film of; None where each is of its own. Films of one scene are
    alike, so intervals are over scenes."""
    predictable: int | None = None
    """Frames for which somebody can predict this world who knows its law and, almost exactly, its state; None if not
    known. See `videopred.datasets.predictability`."""
    code: Mapping[str, str] | None = None
    """Address of an own metric -> mark of the file it is in, see `videopred.own_code`, of scores that were saved; None
    of new ones, which are by the code that is imported."""

    def __repr__(self) -> str:
        rows, metrics = ", ".join(self.measurements), ", ".join(self.metrics)
        asked = f"{self.protocol.context} + {self.protocol.horizon} frames of {counted(self.clips, 'clip')}"
        return f"<{type(self).__name__} of {rows} by {metrics}: {asked} of {self.file}>"

    @property
    def clips(self) -> int:
        """How many were predicted."""
        assert self.protocol.clips is not None  # of scores it is known
        return self.protocol.clips

    @property
    def unit(self) -> str:
        """What intervals are over, and `clips_with_values` counts: `clip` or `scene`."""
        return "clip" if self.scenes is None else "scene"

    @cached_property
    def values(self) -> dict[str, dict[str, np.ndarray]]:
        """row -> column -> (horizon,) float64, which cannot be changed."""
        values = {
            row: {name: reduce(self.metrics[name], measured) for name, measured in of_row.items()}
            for row, of_row in self.measurements.items()
        }
        for steps in (steps for of_row in values.values() for steps in of_row.values()):
            steps.setflags(write=False)  # they are kept, for all that is said of the scores
        return values

    @cached_property
    def drawn(self) -> dict[str, dict[str, np.ndarray]] | None:
        """row -> column -> (draws, horizon): the values for resampled clips or scenes; None for a single one."""
        single = self.clips == 1 if self.scenes is None else len(np.unique(self.scenes)) == 1
        return None if single else resample(self.measurements, self.metrics, self.scenes)

    @cached_property
    def _having_value(self) -> dict[str, dict[str, np.ndarray]]:
        """row -> column -> (clips, horizon) bool: which clips have a value by themselves."""
        return {
            row: {name: having_value(self.metrics[name], measured) for name, measured in of_row.items()}
            for row, of_row in self.measurements.items()
        }

    def clips_with_values(self, row: str, column: str, steps: int | None = None) -> int:
        """How many clips, or scenes, have a value at any of the first steps: the interval of the mean rests on them."""
        return int(self._counted(np.any(self._of(self._having_value, row, column, steps), axis=1)))

    def clips_at_steps(self, row: str, column: str) -> np.ndarray:
        """How many clips, or scenes, have a value at each step: (horizon,)."""
        return self._counted(self._of(self._having_value, row, column))

    def _counted(self, clips: np.ndarray) -> np.ndarray:
        """How many of the clips, (clips, ...) bool, or of the scenes that any of them is a film of."""
        if self.scenes is None:
            return clips.sum(0)
        in_order = np.argsort(self.scenes, kind="stable")
        starts = np.unique(self.scenes[in_order], return_index=True)[1]
        return np.logical_or.reduceat(clips[in_order], starts).sum(0)

    def mean(self, row: str, column: str, steps: int | None = None) -> float:
        """Mean over the first steps of the rollout; over all when None.

        Raises:
            ValueError: there is no such row or column, or the steps are not in the rollout, here and below.
            TypeError: no whole number of steps.
        """
        return float(mean_over_steps(self._of(self.values, row, column, steps)))

    def interval(self, row: str, column: str, steps: int | None = None) -> Interval | None:
        """The 95 % interval over clips, or scenes, of the mean over the first steps; None for a single one.

        Its ends are NaN where fewer than two have a value, here and below.
        """
        clips = self.clips_with_values(row, column, steps)
        if self.drawn is None:
            return None
        return over_clips(mean_over_steps(self._of(self.drawn, row, column, steps)), clips)

    def intervals(self, row: str, column: str) -> Interval | None:
        """The interval at every step: two ends, each (horizon,); None for a single clip or scene."""
        clips = self.clips_at_steps(row, column)
        return None if self.drawn is None else over_clips(self._of(self.drawn, row, column), clips)

    def _of(
        self, values: dict[str, dict[str, np.ndarray]], row: str, column: str, steps: int | None = None
    ) -> np.ndarray:
        """What is of a row and a column, at the first steps."""
        if steps is not None:
            check_step(steps, self.protocol.horizon)
        return values[check.one_of("row", row, values)][check.one_of("column", column, self.metrics)][..., :steps]

    def skill(self, row: str, column: str) -> float | None:
        """How much of the way from copy last to the metric's best value: 0 is copy last, below 0 worse; see `skill`.

        None where copy last is missing or perfect or has values at other steps, or the metric has no finite best value.
        """
        if COPY_LAST not in self.values:
            return None
        ours, theirs = (self._of(self.values, name, column) for name in (row, COPY_LAST))
        best, to_beat = self.metrics[column].best, self.mean(COPY_LAST, column)
        won = float(skill(self.mean(row, column), to_beat, self.metrics[column]))
        alike = np.array_equal(np.isnan(ours), np.isnan(theirs))
        return won if np.isfinite([won, best]).all() and alike and to_beat != best else None

    def over_seeds(self, name: str, column: str, steps: int | None = None) -> tuple[float, float]:
        """Mean over the runs of `seeds` and the first steps, and half of its 95 % interval (Student's t over runs).

        Both are NaN where one has no value, or they have values at different steps.
        """
        rows = self.seeds[check.one_of("name", name, self.seeds)]
        alike = self.of_like_steps(rows, column, steps)
        means = [self.mean(row, column, steps) if alike else np.nan for row in rows]
        return float(np.mean(means)), over_runs(means)

    def of_like_steps(self, rows: Sequence[str], column: str, steps: int | None = None) -> bool:
        """Whether these rows have values at the same of the first steps: where objects are lost, some have none."""
        first, *others = (np.isnan(self._of(self.values, row, column, steps)) for row in rows)
        return all(np.array_equal(first, other) for other in others)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of single scores, such as how many frames were capped."""
        return tuple(
            f"{self.label(column)} of {row}: {remark}"
            for column in self.metrics
            for row in self.values
            for remark in self.remarks_on(row, column)
        ) + tuple(
            f"{self.label(column)} of {name}: {remark}"
            for column in self.metrics
            for name, rows in self.seeds.items()
            for remark in self.remarks_on_seeds(rows, column)
        )

    def remarks_on(self, row: str, column: str) -> list[str]:
        """The remarks on a row's scores by one metric."""
        metric, measured = self.metrics[column], self.measurements[row][column]
        with naming(metric):
            capped = metric.remark(tensors_of(measured))
        time = self._time(row, column) if metric.is_time and row in self.models else ""
        lone = self.drawn is not None and self.clips_with_values(row, column) == 1
        single = f"a single {self.unit} has a value, so there is no interval" if lone else ""
        return [remark for remark in (capped, self._coverage(row, column), single, time) if remark]

    def remarks_on_seeds(self, rows: Sequence[str], column: str) -> list[str]:
        """Why runs that differ in their seeds have no mean by one metric; empty if they have."""
        silent = [f"no mean, as {row} has no value" for row in rows if np.isnan(self.mean(row, column))]
        if silent or self.of_like_steps(rows, column):
            return silent
        return ["no mean, as its runs have values at different steps"]

    def _coverage(self, row: str, column: str) -> str:
        """Over how many steps the mean is, if other rows have values at more; of a model, also if no row has any."""
        said = ~np.isnan(self.values[row][column])
        any_row = np.any([~np.isnan(of_row[column]) for of_row in self.values.values()], axis=0)
        if not any_row.any() and row in self.models:
            return (
                "no value at any step, nor has another row one: these clips, or all rows, show nothing that it measures"
            )
        if not said.any() or (said == any_row).all():
            return ""
        return f"the mean is over {said.sum()} of {any_row.sum()} steps; it has no value at the others"

    def _time(self, row: str, column: str) -> str:
        """The mean time to divergence, in frames, and beside what can be predicted at all."""
        horizon = self.protocol.horizon
        frames = self.mean(row, column) * horizon
        time = f"{frames:.1f} frames on average until a clip is lost, at most {horizon:,}"
        if self.predictable is None or self.predictable >= horizon:  # nobody could be told to have reached it
            return time
        share = frames / self.predictable
        return f"{time}; {share:.2f} of the {self.predictable} for which this world can be predicted"

    def only(self, columns: Collection[str]) -> "Scores":
        """The same scores by some of the metrics."""
        return replace(
            self,
            measurements={
                row: {column: measured for column, measured in of_row.items() if column in columns}
                for row, of_row in self.measurements.items()
            },
            metrics={column: metric for column, metric in self.metrics.items() if column in columns},
        )

    def of_models(self, rows: Sequence[str]) -> "Scores":
        """The same scores of some of the models, in this order, beside trivial baselines; of seeds, whole groups."""
        trivial = [row for row in self.measurements if row not in self.models]
        return replace(
            self,
            measurements={row: self.measurements[row] for row in (*rows, *trivial)},
            models=tuple(rows),
            seeds={name: of_name for name, of_name in self.seeds.items() if set(of_name) <= set(rows)},
            stamps={row: self.stamps[row] for row in rows if row in self.stamps},
            best_of={row: self.best_of[row] for row in rows if row in self.best_of},
        )

    def label(self, column: str) -> str:
        """Head of a column."""
        metric = self.metrics[check.one_of("column", column, self.metrics)]
        return metric.label + column.removeprefix(metric.name)

    def table(self, steps: Sequence[int] | None = None) -> str:
        """Plain text for a terminal: means over the rollout, then every metric at a few steps.

        Args:
            steps: rollout steps to show, from 1 to the horizon; None chooses about five.

        Raises:
            ValueError: a step is outside the rollout. TypeError: what are no numbers of steps.
        """
        return score_table(self, steps)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the measurements, in types that JSON knows; null where nothing can be said."""
        return score_dict(self)

    def to_csv(self) -> str:
        """One line for each row, column and step, under a head line; values and intervals in full precision."""
        return score_csv(self)

    def save(self, folder: Path | str, *, overwrite: bool = False) -> list[Path]:
        """Write scores.json, scores.csv and measurements.npz, all or none, and return their paths.

        Raises:
            FileExistsError: one is there and `overwrite` is false; then none is written.
            TypeError: no path.
        """
        folder = check_path.as_path("--out", folder)
        arrays = {
            f"{row}/{column}/{key}": values
            for row, of_row in self.measurements.items()
            for column, measured in of_row.items()
            for key, values in measured.items()
        }
        if self.scenes is not None:
            arrays[SCENES] = self.scenes
        paths = [folder / name for name in SCORE_FILES]
        measured = array_bytes(arrays)
        told = {**self.to_dict(), MEASURED: sha256(measured).hexdigest()}
        contents = (json_text(told), self.to_csv(), measured)
        return write_all(dict(zip(paths, contents, strict=True)), overwrite=overwrite)
