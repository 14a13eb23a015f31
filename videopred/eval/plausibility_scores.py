"""What comes out when plausibility is judged: a table as text, JSON and CSV, and the films' own numbers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check_path
from videopred.amounts import counted
from videopred.eval.answers import write_answers
from videopred.eval.file_names import PLAUSIBILITY_FILES
from videopred.eval.intervals import OVER_CLIPS
from videopred.eval.plausibility import Errors, Plausible, Scenes
from videopred.eval.plausibility_text import NO_LABELS, Line, cell, kinds_table, legend_of
from videopred.eval.text import csv_text, without_nan
from videopred.files import array_bytes, json_text, write_all
from videopred.run_files import run_name


@dataclass(frozen=True, eq=False)  # it holds arrays
class PlausibilityScores:
    """How plausible films are, and the errors that follow where it is known which of them are possible."""

    scenes: Scenes
    plausible: Mapping[str, Plausible]
    """Aggregate -> how plausible films are."""
    errors: Mapping[str, Sequence[Errors]]
    """Aggregate -> errors in all scenes, and in those of each kind; none without labels."""
    settings: Mapping[str, Any]
    """What was asked, of which data: ready for JSON."""
    surprise: np.ndarray | None = None
    """(scenes, 4, T) float64, of the frames after the burn-in; None for scores that were made elsewhere."""
    differs: np.ndarray | None = None
    """(scenes, 4, T) bool: frames at which a film differs from the one with the same beginning; None likewise."""
    stamp: str | None = None
    """What tells the run from others of its name, see `videopred.run_record`; None if not known, or of no run."""
    notes: tuple[str, ...] = ()
    """What else a reader should know, such as that the run is not finished."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"

    @property
    def title(self) -> str:
        """Which films were judged, and what was asked."""
        shown = {name: value for name, value in self.settings.items() if name not in ("data", "run", "pixels")}
        told = {name.replace("_", "-"): value for name, value in shown.items()}
        asked = ", ".join(f"{name} {value}" for name, value in told.items())
        return f"{Path(self.settings['data']).name}: {counted(len(self.scenes.names), 'scene')} of four films; {asked}"

    def table(self) -> str:
        """Plain text for a terminal: one table for each aggregate, without the kinds of three conditions."""
        run = self.settings.get("run")
        title = self.title if run is None else f"{run_name(Path(run))} on {self.title}"
        if self.scenes.possible is None:
            return "\n".join([title, NO_LABELS, *self.notes])
        intervals = f"95 % intervals over scenes (Wilson's; of absolute: {OVER_CLIPS}; – for one scene)"
        legend = legend_of(self.errors, f"from and to: {intervals}", self.notes)
        return "\n\n".join([title, *(_errors_table(name, rows) for name, rows in self.errors.items()), legend])

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows, null where nothing can be said; scores of films in full precision."""
        possible = self.scenes.possible
        return {
            "settings": dict(self.settings),
            "stamps": {} if self.stamp is None else {"model": self.stamp},
            "notes": list(self.notes),
            "errors": without_nan({name: [_plain(row) for row in rows] for name, rows in self.errors.items()}),
            "scenes": [
                {
                    "films": list(films),
                    **{name: values[scene] for name, values in self.scenes.conditions.items()},
                    "possible": None if possible is None else possible[scene].tolist(),
                    "plausibility": {name: of.films[scene].tolist() for name, of in self.plausible.items()},
                }
                for scene, films in enumerate(self.scenes.names)
            ],
        }

    def to_csv(self) -> str:
        """One line for each aggregate and kind of scenes; an empty condition means all, an empty bound none."""
        heads, lines = list(self.scenes.conditions), []
        for name, rows in self.errors.items():
            for row in rows:
                where = [row.where.get(head, "") for head in heads]
                numbers = [*row.relative, row.strict, row.ties, *row.absolute]
                lines.append([name, *where, row.scenes, *numbers])
        estimates = ["relative", "relative_low", "relative_high", "strict", "ties"]
        estimates += ["absolute", "absolute_low", "absolute_high"]
        return csv_text(["aggregate", *heads, "scenes", *estimates], lines)

    def films_csv(self) -> str:
        """One line for each film and aggregate, which `--scores` reads; `possible` is empty if it is not known."""
        conditions, lines = self.scenes.conditions, []
        for name, plausible in self.plausible.items():
            for scene, films in enumerate(self.scenes.names):
                where = [values[scene] for values in conditions.values()]
                for number, film in enumerate(films):
                    known = self.scenes.possible
                    label = "" if known is None else str(bool(known[scene, number])).lower()
                    lines.append([film, *where, label, name, float(plausible.films[scene, number])])
        return csv_text(["film", *conditions, "possible", "aggregate", "plausibility"], lines)

    def answers(self) -> str:
        """Answers for the benchmark's script, of the first aggregate; see `write_answers`."""
        plausible = next(iter(self.plausible.values()))
        return write_answers(self.scenes.names, plausible.films, self.scenes.possible, plausible.margins)

    def save(
        self,
        folder: Path | str,
        *,
        answers: Path | str | None = None,
        overwrite: bool = False,
        summaries: Iterable[Path] = (),
    ) -> list[Path]:
        """Write plausibility.json, plausibility.csv, films.csv and surprise.npz, all or none, and return their paths.

        Args:
            folder: made if it is not there.
            answers: where answers for the benchmark's script go, if they are wanted.
            overwrite: replace files that are there, and remove pictures of scenes, and surprise, of what was before.
            summaries: files that told of what was before beside other runs, and go with it if they are there.

        Raises:
            FileExistsError: one is there and `overwrite` is false; then none is written.
            ValueError: answers are wanted, and the films have no names for them.
        """
        folder = check_path.as_path("--out", folder)
        contents: dict[Path, bytes | str] = {
            folder / PLAUSIBILITY_FILES[0]: json_text(self.to_dict()),
            folder / PLAUSIBILITY_FILES[1]: self.to_csv(),
            folder / PLAUSIBILITY_FILES[2]: self.films_csv(),
        }
        if answers is not None:
            path = check_path.as_path("--answers", answers)
            contents[check_path.absent("--answers", path, overwrite)] = self.answers()
        if self.surprise is not None and self.differs is not None:
            arrays = {"surprise": self.surprise, "differs": self.differs, "films": np.array(self.scenes.names)}
            contents[folder / PLAUSIBILITY_FILES[3]] = array_bytes(arrays)
        ours = re.compile(rf"scene-\d+\.(png|gif)|{re.escape(PLAUSIBILITY_FILES[3])}")
        there = [path for path in folder.glob("*") if path.is_file() or path.is_symlink()] if overwrite else []
        before = [path for path in there if ours.fullmatch(path.name) and path not in contents]
        before += [path for path in summaries if path.is_file()] if overwrite else []
        return write_all(contents, overwrite=overwrite, obsolete=before)


def _plain(row: Errors) -> dict[str, Any]:
    return asdict(row) | {"relative": row.relative._asdict(), "absolute": row.absolute._asdict()}


def _errors_table(aggregate: str, rows: Sequence[Errors]) -> str:
    heads = ["relative", "from", "to", "strict", "ties", "absolute", "from", "to"]
    return kinds_table(aggregate, heads, [Line(row.where, row.scenes, _cells(row)) for row in rows])


def _cells(row: Errors) -> list[str]:
    return [*map(cell, row.relative), cell(row.strict), str(row.ties), *map(cell, row.absolute)]
