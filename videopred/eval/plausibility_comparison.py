"""Plausibility of several models side by side: relative errors in scenes of each kind, and how far they differ.

All are asked about the same films, so scenes are paired: the interval of a difference is narrower than those of the two
errors say. It is over scenes, and over seeds where models have several.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from videopred import check
from videopred.eval.file_names import COMPARED_FILES
from videopred.eval.intervals import UNKNOWN, Estimate, of_shares
from videopred.eval.latex import latex
from videopred.eval.plausibility import kinds_of, wrong
from videopred.eval.plausibility_scores import PlausibilityScores
from videopred.eval.plausibility_settings import asked_alike, asked_of_films
from videopred.eval.plausibility_text import NO_LABELS, RELATIVE, Line, cell, kinds_block, kinds_table
from videopred.eval.text import Block, csv_text, markdown, without_nan
from videopred.files import json_text, write_all
from videopred.run_files import run_name


class ComparedModel(NamedTuple):
    """A model's relative error in scenes of one kind."""

    relative: float
    """Mean over its seeds; 0 is best, 0.5 is chance."""
    deviation: float
    """Standard deviation over its seeds; NaN of a single one."""
    difference: float
    """Its error less that of the first model."""
    low: float
    """The 95 % interval of the difference; NaN of the first model."""
    high: float

    @property
    def told_apart(self) -> bool:
        """Whether the interval excludes 0."""
        return Estimate(self.difference, self.low, self.high).excludes(0)


class Kind(NamedTuple):
    """Scenes of one kind, and how wrong the models are in them."""

    where: Mapping[str, str]
    """Condition -> value that the scenes share; empty for all."""
    scenes: int
    models: Mapping[str, ComparedModel]


@dataclass(frozen=True)
class PlausibilityComparison:
    """Models that were asked about the same films in the same way, held against the first of them.

    Raises:
        ValueError: they were not.
    """

    models: Mapping[str, Sequence[PlausibilityScores]]
    """Name -> its scores, from each of its seeds."""

    def __post_init__(self) -> None:
        for name, runs in self.models.items():
            for run in runs:
                alike = run.scenes.names == self._first.scenes.names and asked_alike(run.settings, self._first.settings)
                must = "be asked about the same films in the same way"
                got, fix = f"{name} with others than {self.relative_to}", "judge them together"
                check.require(alike, "models", must, got, fix)

    @property
    def _first(self) -> PlausibilityScores:
        """What says which films there are, and what was asked of all."""
        return next(iter(self.models.values()))[0]

    @property
    def _asked(self) -> dict[str, Any]:
        """What was asked of all."""
        return asked_of_films(self._first.settings)

    @property
    def relative_to(self) -> str:
        """The first model, which the others are held against."""
        return next(iter(self.models))

    @property
    def labelled(self) -> bool:
        """Whether it is known which films are possible; else there are no errors to compare."""
        return self._first.scenes.possible is not None

    @cached_property
    def kinds(self) -> dict[str, list[Kind]]:
        """Aggregate -> kinds of scenes, all scenes first; none without labels."""
        kinds = kinds_of(self._first.scenes) if self.labelled else []
        return {
            name: [Kind(where, len(chosen), self._compared(name, chosen)) for where, chosen in kinds]
            for name in self._first.plausible
        }

    def _compared(self, aggregate: str, chosen: np.ndarray) -> dict[str, ComparedModel]:
        """Model -> its relative error in these scenes."""
        each = {
            name: np.stack([wrong(of_run.plausible[aggregate])[chosen] for of_run in runs])  # seeds, scenes
            for name, runs in self.models.items()
        }
        theirs = next(iter(each.values()))
        found = {}
        for number, (name, ours) in enumerate(each.items()):
            of_seeds = ours.mean(1)
            deviation = statistics.stdev(of_seeds.tolist()) if len(ours) > 1 else nan
            difference = ours.mean(0) - theirs.mean(0)
            ends = map(float, of_shares(difference, of_seeds, theirs.mean(1))) if number else UNKNOWN[1:]
            found[name] = ComparedModel(float(ours.mean()), deviation, float(difference.mean()), *ends)
        return found

    def table(self) -> str:
        """Plain text for a terminal: a table for each aggregate, without the kinds of three conditions."""
        if not self.labelled:
            return "\n".join([self._title, NO_LABELS, *self.notes])
        return "\n\n".join([self._title, *(kinds_table(*table) for table in self._tables()), "\n".join(self._legend())])

    def markdown(self) -> str:
        """The same as a document in Markdown."""
        return markdown(self._title, *self._told())

    def latex(self) -> str:
        """The same as tables for a paper."""
        return latex(self._title, *self._told())

    def _told(self) -> tuple[list[Block], list[str]]:
        """Tables, and what is to be said of them."""
        if not self.labelled:
            return [], [NO_LABELS, *self.notes]
        return [kinds_block(*table) for table in self._tables()], self._legend()

    @property
    def notes(self) -> list[str]:
        """What else a reader should know, each with the name of a model, and of a seed's run if it has several."""
        return [
            f"{name if len(runs) == 1 else run_name(Path(run.settings['run']))}: {note}"
            for name, runs in self.models.items()
            for run in runs
            for note in run.notes
        ]

    @property
    def _title(self) -> str:
        return f"{', '.join(self.models)} on {self._first.title}"

    def _tables(self) -> list[tuple[str, list[str], list[Line]]]:
        """For each aggregate its name, heads and lines."""
        heads = [head for name in self.models for head in ((f"{name} ", "sd") if self._of_seeds else (f"{name} ",))]
        return [
            (name, heads, [Line(kind.where, kind.scenes, self._cells(kind)) for kind in kinds])
            for name, kinds in self.kinds.items()
        ]

    @property
    def _of_seeds(self) -> bool:
        return any(len(runs) > 1 for runs in self.models.values())

    def _cells(self, kind: Kind) -> list[str]:
        cells = []
        for one in kind.models.values():
            cells.append(f"{cell(one.relative)}{'!' if one.told_apart else ' '}")
            if self._of_seeds:
                cells.append(cell(one.deviation))
        return cells

    def _legend(self) -> list[str]:
        chances = "scenes (paired, Agresti and Min's, widened by Student's t)"
        lines = [f"relative errors: {RELATIVE}", "0 is best, 0.5 is chance"]
        if self._of_seeds:
            chances += " and seeds (Welch's t); a single run stands for itself alone"
            lines.append("sd: standard deviation over seeds (– for one)")
        lines.append(f"! where the 95 % interval of the difference from {self.relative_to} excludes 0: over {chances}")
        return [*lines, "intervals are not corrected for several comparisons", *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows; null where nothing can be said."""
        return {
            "settings": self._asked,
            "relative_to": self.relative_to,
            "models": {name: [run.settings["run"] for run in runs] for name, runs in self.models.items()},
            "notes": self.notes,
            "compared": {
                aggregate: [
                    {
                        "where": dict(kind.where),
                        "scenes": kind.scenes,
                        "models": {name: without_nan(one._asdict()) for name, one in kind.models.items()},
                    }
                    for kind in kinds
                ]
                for aggregate, kinds in self.kinds.items()
            },
        }

    def to_csv(self) -> str:
        """A line for each aggregate, kind of scenes and model; an empty condition means all."""
        heads = list(self._first.scenes.conditions)
        lines = [
            [aggregate, *(kind.where.get(head, "") for head in heads), kind.scenes, name, *one]
            for aggregate, kinds in self.kinds.items()
            for kind in kinds
            for name, one in kind.models.items()
        ]
        return csv_text(["aggregate", *heads, "scenes", "model", *ComparedModel._fields], lines)

    def save(self, folder: Path, *, overwrite: bool = False) -> list[Path]:
        """Write plausibility-compared.json, .csv, .md and .tex, all or none, and return their paths.

        Args:
            folder: made if it is not there.
            overwrite: replace files that are there.

        Raises:
            FileExistsError: one is there and `overwrite` is false; then none is written.
        """
        texts = (json_text(self.to_dict()), self.to_csv(), self.markdown(), self.latex())
        paths = [folder / name for name in COMPARED_FILES]
        return write_all(dict(zip(paths, texts, strict=True)), overwrite=overwrite)
