"""What the files of scores are called, and where they are.

Light: commands look whether they are there before torch is loaded.
"""

import json
from collections.abc import Iterator
from pathlib import Path

SCORES = "scores.json"
"""The file by which a folder of scores is known."""
SCORE_FILES = (SCORES, "scores.csv", "measurements.npz")
"""What `Scores.save` writes in its folder."""
PLAUSIBILITY_FILES = ("plausibility.json", "plausibility.csv", "films.csv", "surprise.npz")
"""What `PlausibilityScores.save` writes in its folder; the last only of a run."""
OVER_SEEDS_FILES = ("plausibility-over-seeds.json", "plausibility-over-seeds.csv")
"""What `save_over_seeds` writes in its folder."""


def scores_in(results: Path) -> list[Path]:
    """The files of scores among the results of a run, one for each data."""
    return sorted(results.glob(f"*/{SCORES}"))


def scores_of_several(results: Path, models: set[str]) -> Iterator[Path]:
    """The files of scores of runs that were judged together, these models among them; the folder of a seed is deeper.

    Files that are damaged are passed over.
    """
    for file in sorted(file for above in ("", "*/") for file in results.glob(f"{above}*-and-*-more/*/{SCORES}")):
        try:
            if models <= set(json.loads(file.read_text(encoding="utf-8"))["models"]):
                yield file
        except (ValueError, KeyError, TypeError):
            continue
