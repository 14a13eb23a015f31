"""What the files of scores are called, and where they are.

Light: commands look whether they are there before torch is loaded.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from videopred.amounts import counted
from videopred.run_files import data_name, is_seed_folder

SCORES = "scores.json"
"""The file by which a folder of scores is known."""
SCORE_FILES = (SCORES, "scores.csv", "measurements.npz")
"""What `Scores.save` writes in its folder."""
PLAUSIBILITY_FILES = ("plausibility.json", "plausibility.csv", "films.csv", "surprise.npz")
"""What `PlausibilityScores.save` writes in its folder; the last only of a run."""
OVER_SEEDS_FILES = ("plausibility-over-seeds.json", "plausibility-over-seeds.csv")
"""What `save_over_seeds` writes in its folder."""
COMPARED_FILES = tuple(f"plausibility-compared{ending}" for ending in (".json", ".csv", ".md", ".tex"))
"""What `PlausibilityComparison.save` writes in its folder."""


class ScoreFile(NamedTuple):
    """A file of scores, and which runs are told of in it."""

    path: Path
    filed_under: str
    """Its folder of results, which is called after the first run."""
    rows: Mapping[str, str]
    """Name of a run -> its row."""
    content: Mapping[str, Any]
    """All that it says."""

    @property
    def data(self) -> str:
        """Name of the data: that of its file, or, where it is not told, of the folder that scores on it go to."""
        file = self.content.get("file")
        return data_name(Path(file)) if isinstance(file, str) else self.path.parent.name

    @property
    def asked(self) -> str:
        """Data, the frames that were given and predicted, and what else is not usual, such as `x 8+10, train part`."""
        protocol = self.content.get("protocol")
        protocol = protocol if isinstance(protocol, dict) else {}
        spans = {"context", "horizon"} <= protocol.keys()
        told = f"{self.data} {protocol['context']}+{protocol['horizon']}" if spans else self.data
        if (part := protocol.get("part", "test")) != "test":
            told += f", {part} part"
        clips, in_part = protocol.get("clips"), self.content.get("clips_in_part")
        if isinstance(clips, int) and clips != in_part:
            first = "first " if isinstance(in_part, int) else ""  # where it does not say whether there were more
            told += f", {first}{counted(clips, 'clip')}"
        if (feedback := protocol.get("feedback", "soft")) not in ("soft", "elsewhere"):
            told += f", feedback {feedback}"
        if (samples := protocol.get("samples", 1)) != 1:
            told += f", {samples} samples"
        if changed := protocol.get("metric_settings"):
            told += f", {' '.join(map(str, changed))}"
        return told

    def rows_of(self, runs: Mapping[str, str | None]) -> dict[str, str]:
        """Name -> row of those runs that are told of; the only seed of a folder is filed under the folder's name.

        Args:
            runs: name -> its stamp, see `videopred.run_record`; None if that is not known.
        """
        rows = {run: self.rows.get(run) or self.rows.get(run.rpartition("/")[0]) for run in runs}
        said = self.content.get("stamps", {})
        if not isinstance(said, dict):
            return {}
        found = {run: row for run, row in rows.items() if row and said.get(row, runs[run]) == runs[run]}
        return found if len(set(found.values())) == len(found) else {}  # it does not say which of several seeds it is


def scores_in(results: Path, stamps: Collection[str] | None = None) -> list[Path]:
    """The files of scores among the results of a run, one for each data.

    Args:
        results: eval/<run>.
        stamps: of the run, or of those from several seeds: files that are of others are passed over.
    """
    return [file for file in sorted(results.glob(f"*/{SCORES}")) if may_be_of(file, stamps)]


def may_be_of(file: Path, stamps: Collection[str] | None) -> bool:
    """Whether a file of scores or of plausibility is of runs with these stamps, as far as can be told.

    What is no file is of none: a pipe would be waited for.
    """
    return file.is_file() and (stamps is None or not (said := stamps_in(file)) or not said.isdisjoint(stamps))


def stamps_in(file: Path) -> set[str]:
    """The stamps of the runs that a file of scores or of plausibility is of; nothing where it does not say."""
    try:
        return set(json.loads(file.read_text(encoding="utf-8"))["stamps"].values())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return set()


def score_files(results: Path) -> list[ScoreFile]:
    """All files of scores that runs left, by themselves or with others; those of the fewest runs come first.

    Files that are damaged are passed over.
    """
    found = []
    for path in sorted(path for above in ("*", "*/*") for path in results.glob(f"{above}/*/{SCORES}")):
        if not path.is_file():  # as in `may_be_of`
            continue
        filed_under = path.parent.parent.relative_to(results).as_posix()
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            models = content["models"]
            rows = {_name_of(row, filed_under): row for row in models} if len(models) > 1 else {filed_under: models[0]}
        except (ValueError, LookupError, TypeError, RecursionError, OSError):  # the last of what has just gone
            continue
        found.append(ScoreFile(path, filed_under, rows, content))
    return sorted(found, key=lambda file: len(file.rows))


def _name_of(row: str, filed_under: str) -> str:
    """The name of a run whose row this is among others: a row of a seed without a folder is of the one it lies in."""
    return f"{filed_under.partition('/')[0]}/{row}" if is_seed_folder(row) else row
